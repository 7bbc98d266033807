package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reconciler/matcher"
	"reconciler/postgres"
	"reconciler/postgres/postgrestest"
	"reconciler/reconcile"
	"reconciler/reports"
	"reconciler/sources"
)

// shelf is a location of statements in memory, their format, and the archive.
type shelf struct {
	mu         sync.Mutex
	statements []statement
	kept       map[string][]byte
}

func (s *shelf) put(all ...statement) { s.statements = append(s.statements, all...) }

func (s *shelf) List(context.Context) iter.Seq2[sources.Delivery, error] {
	return func(yield func(sources.Delivery, error) bool) {
		for _, st := range s.statements {
			if !yield(sources.Delivery{Name: st.Name, Size: -1, ModifiedAt: st.ModifiedAt}, nil) {
				return
			}
		}
	}
}

func (s *shelf) find(name string) statement {
	for _, st := range s.statements {
		if st.Name == name {
			return st
		}
	}
	return statement{}
}

// Every document's bytes are its name and its rows.
func (s *shelf) Open(_ context.Context, d sources.Delivery) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(d.Name + fmt.Sprint(s.find(d.Name).rows))), nil
}

type shelfFormat struct{ *shelf }

func (shelfFormat) Name() string   { return "memory" }
func (shelfFormat) Digest() string { return "m" }

func (s shelfFormat) Period(d sources.Delivery) (sources.Period, error) {
	return s.find(d.Name).Period, nil
}

func (s shelfFormat) Open(r io.Reader, d sources.Delivery) (sources.Reader, error) {
	if _, err := io.Copy(io.Discard, r); err != nil {
		return nil, err
	}
	return s.find(d.Name).reader(), nil
}

type shelfArchive struct{ *shelf }

func (s shelfArchive) Put(_ context.Context, r io.Reader) (string, int64, error) {
	all, err := io.ReadAll(r)
	if err != nil {
		return "", 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil {
		s.kept = map[string][]byte{}
	}
	sum := digest(string(all))
	s.kept[sum] = all
	return sum, int64(len(all)), nil
}

func (s shelfArchive) Open(_ context.Context, sum string) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return io.NopCloser(bytes.NewReader(s.kept[sum])), nil
}

// runner runs the job of the world's scope on the shelf.
func (w *world) runner(s *shelf, change ...func(*matcher.Policy)) (*reconcile.Runner, reconcile.Job) {
	scope := w.scope(change...)
	r := &reconcile.Runner{
		Store: w.store, Archive: shelfArchive{s}, Log: slog.New(slog.DiscardHandler), Holder: "test", Dead: alive, BatchSize: 3,
	}
	return r, reconcile.Job{
		Name: "payments", ActionTypes: scope.ActionTypes, Policies: scope.Policies, Rules: scope.Sources,
		Sources: []reconcile.Source{{
			Rule: w.rule, Location: s, Format: shelfFormat{s}, Identity: sources.IdentityRule{Source: "bank", Provider: "acme"},
			Unjournaled: true,
		}},
		Folds: map[string]*sources.Fold{"bank": {Case: true}},
	}
}

func (w *world) runJob(s *shelf, change ...func(*matcher.Policy)) reports.Report {
	w.t.Helper()
	r, job := w.runner(s, change...)
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	report, err := r.Run(ctx, job, reconcile.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	return report
}

// story is a shelf and a journal with something of everything.
func (w *world) story() *shelf {
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		w.insert(w.op(key))
	}
	w.insert(w.op("young", func(o *operation) { o.created = time.Now().UTC() }))
	s := &shelf{}
	s.put(w.of(0, 2, 9, w.rec("a"), w.rec("b", amount(7)), w.rec("c"), w.rec("c2", ref("ref-c")), w.rec("d", status(sources.Failed)),
		w.rec("e", status(sources.Pending))),
		w.of(2, 3, 9), w.of(4, 5, 9))
	return s
}

func TestRunTwice(t *testing.T) {
	t.Parallel()
	for name, setting := range map[string]string{
		"on one connection": "&pool_max_conns=1",
		// As behind a proxy that pools by transaction.
		"without prepared statements": "&default_query_exec_mode=exec",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			runTwice(t, worldAt(t, w.url+setting, w.schemas))
		})
	}
}

func runTwice(t *testing.T, w *world) {
	t.Helper()
	w.store.SetLoadBatch(2)
	s := w.story()
	broken := w.of(6, 7, 9, &sources.Reject{Field: "amount", Reason: "no amount"})
	broken.fail = &sources.Refusal{Reason: "torn"}
	s.put(broken)
	report := w.runJob(s)
	equal(t, "verdict", report.Summary.Verdict, "incomplete")
	equal(t, "moves", len(report.Summary.Transitions), 3)
	equal(t, "accepted", report.Summary.Statements.Accepted, 3)
	equal(t, "runs", w.lines(`SELECT job, verdict FROM reconciler.runs`), "[payments incomplete]")

	// What was confirmed bears the provider's id now, and is found by it: the
	// evidence of the cases that are still open says so once.
	counts := w.counts()
	w.runJob(s)
	counts["reconciler.runs"]++
	if diff := cmp.Diff(counts, w.counts()); diff != "" {
		t.Errorf("a second run added or dropped rows (-before +after):\n%s", diff)
	}

	leave := []string{"reconciler.exceptions", "reconciler.runs"}
	before := w.tables(leave...)
	again := w.runJob(s)
	equal(t, "moves of the third run", len(again.Summary.Transitions), 0)
	equal(t, "duplicates", again.Summary.Statements.Duplicate, 4)
	equal(t, "opened", again.Summary.Exceptions.Opened, 0)
	if diff := cmp.Diff(before, w.tables(leave...)); diff != "" {
		t.Errorf("a third run changed tables (-before +after):\n%s", diff)
	}
}

func TestRehearsalStoresNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w = worldAt(t, w.url+"&pool_max_conns=1", w.schemas)
	s := w.story()
	before := w.tables()
	err := w.store.Rehearse(t.Context(), func(store *postgres.Store) error {
		r, job := w.runner(s)
		r.Store = store
		report, err := r.Run(t.Context(), job, reconcile.Options{DryRun: true})
		equal(t, "moves", len(report.Summary.Transitions), 3)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, w.tables()); diff != "" {
		t.Errorf("something was stored (-before +after):\n%s", diff)
	}
}

func TestRunsOfOneJobExcludeEachOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.story()
	var wg sync.WaitGroup
	var errs [4]error
	for n := range errs {
		r, job := w.runner(s)
		wg.Go(func() { _, errs[n] = r.Run(t.Context(), job, reconcile.Options{}) })
	}
	wg.Wait()
	for _, err := range errs {
		var locked *reconcile.LockedError
		if err != nil && !errors.As(err, &locked) {
			t.Errorf("run = %v", err)
		}
	}
	equal(t, "events", get[int](w, `SELECT count(*) FROM agent_operation_events`), 3)
	equal(t, "locks", get[int](w, `SELECT count(*) FROM reconciler.job_locks`), 0)
}

// All runs, whole, in any schemas, whatever the search path is.
func TestRunInOddSchemas(t *testing.T) {
	t.Parallel()
	for name, schemas := range map[string]postgres.Schemas{
		"one schema for both": {Journal: "tenant", Reconciler: "tenant"},
		"odd names":           {Journal: `We"ird`, Reconciler: `Rec O'nciler`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := postgrestest.Empty(t)
			if err := postgres.Migrate(t.Context(), url, schemas); err != nil {
				t.Fatal(err)
			}
			w := worldAt(t, url+"&search_path=pg_catalog", schemas)
			journal := `"` + strings.ReplaceAll(schemas.Journal, `"`, `""`) + `"`
			w.exec(`INSERT INTO `+journal+`.agent_operations (idempotency_key, action_type, status, attempt_count, business_reference, amount_minor, currency, created_at, updated_at)
				SELECT k, $1, 'unknown', 1, 'ref-' || k, 100, 'EUR', $2, $2 FROM unnest('{a,b}'::text[]) AS k`, act, w.day(0, 11))
			s := &shelf{}
			s.put(w.of(0, 2, 9, w.rec("a"), w.rec("x", ref("other"), amount(3))), w.of(0, 2, 10, w.rec("a"), w.rec("y", ref("ref-y"), amount(5))))
			broken := w.of(4, 5, 9)
			broken.fail = &sources.Refusal{Reason: "torn"}
			s.put(broken)
			report := w.runJob(s, onAbsent(matcher.Fail))
			equal(t, "moves", report.Summary.Transitions, "[{a unknown succeeded confirmed} {b unknown failed_final absent}]")
			equal(t, "verdict", report.Summary.Verdict, "incomplete")
			again := w.runJob(s, onAbsent(matcher.Fail))
			equal(t, "moves of the second run", len(again.Summary.Transitions), 0)
			equal(t, "elsewhere", get[int](w, `SELECT count(*) FROM pg_tables WHERE schemaname IN ('public', 'reconciler')`), 0)
		})
	}
}

func TestStatusAsAgentsSeeIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	view := func(key string) string {
		t.Helper()
		rows := w.lines(`SELECT status, outcome, may_retry, reason_code FROM reconciler.operation_status WHERE idempotency_key = $1`, key)
		return strings.Join(rows, "|")
	}
	w.insert(w.op("k"), w.op("planned", in("planned"), func(o *operation) { o.attempts = 0 }), w.op("done", in("succeeded")), w.op("own", in("failed_retryable")))
	equal(t, "not examined", view("k"), "unknown uncertain false not_examined")
	equal(t, "not examined, planned", view("planned"), "planned not_tried true not_examined")
	equal(t, "not examined, done", view("done"), "succeeded effect false not_examined")
	equal(t, "not examined, for retry", view("own"), "failed_retryable uncertain true not_examined")

	retry := func(p *matcher.Policy) { p.OnAbsent, p.MaxRetryAge = matcher.Retry, 100*24*time.Hour }
	scope := w.scope(retry)
	scope.Now = time.Now().UTC()
	w.decide(scope)
	equal(t, "open", view("k"), "unknown uncertain false not_yet_provable")
	if get[*time.Time](w, `SELECT provable_at FROM reconciler.operation_status WHERE idempotency_key = 'k'`) == nil {
		t.Error("provable_at is not known")
	}
	w.load(w.of(0, 2, 9))
	scope.Now = time.Now().UTC()
	w.decide(scope)
	equal(t, "permitted", view("k"), "failed_retryable no_effect true absent")
	bounds := w.lines(`SELECT not_before IS NOT NULL, not_after > now() FROM reconciler.operation_status WHERE idempotency_key = 'k'`)
	equal(t, "bounds", bounds, "[true true]")

	// What the permit rests on is gone: nobody may use it until it is decided again.
	w.quarantine(w.of(0, 2, 10))
	equal(t, "evidence replaced", view("k"), "failed_retryable no_effect false absent")
	w.load(w.of(0, 2, 11))
	w.decide(scope)
	equal(t, "waiting", view("k"), "failed_retryable uncertain true waiting")

	// An agent uses the permit: what was concluded is about another attempt.
	if n := w.exec(`UPDATE agent_operations SET status = 'executing', attempt_count = attempt_count + 1, lease_until = now() + interval '1 minute', updated_at = now()
		WHERE idempotency_key = 'k' AND status IN ('planned', 'failed_retryable')`); n != 1 {
		t.Fatalf("claim changed %d rows", n)
	}
	equal(t, "claimed", view("k"), "executing uncertain false not_examined")

	// A permit of a worker's own that is not yet good, as decided, and once it is.
	w.exec(`UPDATE agent_operations SET status = 'failed_retryable', retry_not_before = now() + interval '1 hour', updated_at = now() WHERE idempotency_key = 'k'`)
	scope.Now = time.Now().UTC()
	w.decide(scope)
	equal(t, "too early", view("k"), "failed_retryable uncertain false waiting")
	w.exec(`SELECT set_config('reconciler.actor_kind', 'reconciler', false)`)
	w.exec(`ALTER TABLE agent_operations DISABLE TRIGGER USER`)
	w.exec(`UPDATE agent_operations SET retry_not_before = now() - interval '1 second' WHERE idempotency_key = 'k'`)
	equal(t, "in time", view("k"), "failed_retryable uncertain true waiting")
	w.exec(`UPDATE agent_operations SET retry_not_before = NULL, retry_not_after = now() - interval '1 second' WHERE idempotency_key = 'k'`)
	equal(t, "too late", view("k"), "failed_retryable uncertain false waiting")
}

// Not parallel: it counts the goroutines of the program.
func TestNoGoroutineIsLeft(t *testing.T) { //nolint:paralleltest // see above
	w := newWorld(t)
	s := w.story()
	w.runJob(s)
	before := runtime.NumGoroutine()
	for i := range 5 {
		ctx, cancel := context.WithCancel(t.Context())
		st := w.of(0, 2, 10+i, w.rec("a"), w.rec("b"))
		st.hook = func(int) { cancel() }
		if _, err := w.tryLoad(ctx, st); err == nil {
			t.Error("a load outlived its context")
		}
		w.store.SetLockTTL(300 * time.Millisecond)
		lost, release, err := w.store.Lock(t.Context(), "payments", "x", alive)
		if err != nil {
			t.Fatal(err)
		}
		w.exec(`DELETE FROM reconciler.job_locks`)
		<-lost
		release()
		w.store.SetLockTTL(time.Minute)
		w.runJob(s)
	}
	w.eventually(func() bool { return runtime.NumGoroutine() <= before+2 })
}
