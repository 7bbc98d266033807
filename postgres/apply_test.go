package postgres_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reconciler/journal"
	"reconciler/matcher"
	"reconciler/reconcile"
	"reconciler/sources"
)

// What a writer may do to an operation between reading and applying.
const (
	finishes = `UPDATE agent_operations SET status = 'succeeded', provider_operation_id = 'theirs', updated_at = now() WHERE idempotency_key = 'k'`
	fails    = `UPDATE agent_operations SET status = 'failed_final', last_error_code = 'no', updated_at = now() WHERE idempotency_key = 'k'`
	extends  = `UPDATE agent_operations SET lease_until = now() + interval '5 minutes' WHERE idempotency_key = 'k'`
	marks    = `UPDATE agent_operations SET status = 'unknown' WHERE idempotency_key = 'k'`
	claims   = `UPDATE agent_operations SET status = 'executing', attempt_count = attempt_count + 1, lease_until = now() + interval '5 minutes' WHERE idempotency_key = 'k'`
)

func TestWriterWinsTheRace(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status journal.Status
		record bool
		policy matcher.OnAbsent
		writer string
	}{
		"finishes, confirmed":        {journal.Unknown, true, matcher.Review, finishes},
		"finishes, absent":           {journal.Unknown, false, matcher.Fail, finishes},
		"finishes, for review":       {journal.Unknown, false, matcher.Review, finishes},
		"fails, confirmed":           {journal.Executing, true, matcher.Review, fails},
		"extends its lease, absent":  {journal.Executing, false, matcher.Fail, extends},
		"extends its lease, review":  {journal.Executing, false, matcher.Review, extends},
		"marks it unknown":           {journal.Executing, true, matcher.Review, marks},
		"claims what is planned":     {journal.Planned, true, matcher.Review, claims},
		"claims what may be retried": {journal.FailedRetryable, true, matcher.Review, claims},
		"claims what only waits":     {journal.Planned, false, matcher.Review, claims},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.insert(w.op("k", in(tc.status)), w.op("l"))
			w.load(w.of(0, 2, 9, w.rec("l")))
			if tc.record {
				w.load(w.of(2, 3, 9, w.rec("k")))
			}
			scope := w.scope(onAbsent(tc.policy))
			b, verdicts := w.batch(scope)
			w.exec(tc.writer)
			row := w.lines(`SELECT o::text FROM agent_operations o WHERE idempotency_key = 'k'`)
			queue := get[int](w, `SELECT count(*) FROM agent_operation_changes WHERE idempotency_key = 'k'`)
			out, err := w.store.Apply(t.Context(), w.run(1), b, verdicts)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "lost", out.Lost, "[k]")
			equal(t, "the other", out.Transitions, "[{l unknown succeeded confirmed}]")
			if diff := cmp.Diff(row, w.lines(`SELECT o::text FROM agent_operations o WHERE idempotency_key = 'k'`)); diff != "" {
				t.Errorf("the operation (-before +after):\n%s", diff)
			}
			equal(t, "our events", get[int](w, `SELECT count(*) FROM agent_operation_events WHERE idempotency_key = 'k' AND actor_kind <> 'worker'`), 0)
			equal(t, "decision", w.reason("k"), "")
			equal(t, "cases", len(w.cases()), 0)
			equal(t, "owned", get[int](w, `SELECT count(*) FROM reconciler.records WHERE owner_key = 'k'`), 0)
			equal(t, "list of work", get[int](w, `SELECT count(*) FROM agent_operation_changes WHERE idempotency_key = 'k'`), queue)
			if queue < 2 {
				t.Errorf("the writer's change is not on the list of work (%d)", queue)
			}
		})
	}
}

// A change that a writer commits after the reading, but that leaves the row as
// read (late news), keeps the operation on the list of work.
func TestLateNewsIsLookedAt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.insert(w.op("k"))
	w.load(w.of(0, 2, 9))
	scope := w.scope(onAbsent(matcher.Fail))
	b, verdicts := w.batch(scope)
	w.exec(`SELECT agent_operation_late_news('k', 1, 'late_success', '{}')`)
	if _, err := w.store.Apply(t.Context(), w.run(1), b, verdicts); err != nil {
		t.Fatal(err)
	}
	equal(t, "status", w.status("k"), "failed_final")
	if f := w.facts(scope, "k"); !f.LateSuccess {
		t.Error("the late success is not among the facts of the next look")
	}
}

func TestEvidenceThatMovedStopsTheBatch(t *testing.T) {
	t.Parallel()
	other := matcher.SourceRule{
		Name: "elsewhere", Provider: "other", Accounts: []string{"main"}, CoverageRule: sources.CoverageRule{DatedBy: sources.ByBooking},
	}
	for name, tc := range map[string]struct {
		between func(w *world)
		moved   bool
	}{
		"a statement":    {func(w *world) { w.load(w.of(5, 6, 9)) }, true},
		"one refused":    {func(w *world) { w.quarantine(w.of(0, 2, 9)) }, true},
		"a changed rule": {func(w *world) { r := w.rule; r.SettlementLag = time.Hour; w.put(r) }, true},
		"another provider's": {func(w *world) {
			s := w.of(5, 6, 9)
			s.Source, s.Provider = other.Name, other.Provider
			w.load(s)
		}, false},
		"its own rule again": {func(w *world) { w.put(w.rule) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.put(other)
			w.insert(w.op("k"))
			w.load(w.of(0, 2, 9, w.rec("k")))
			b, verdicts := w.batch(w.scope())
			tc.between(w)
			before := w.tables()
			out, err := w.store.Apply(t.Context(), w.run(1), b, verdicts)
			if moved := errors.Is(err, reconcile.ErrEvidenceMoved); moved != tc.moved {
				t.Fatalf("apply = %+v, %v, want moved %t", out, err, tc.moved)
			}
			if !tc.moved {
				equal(t, "status", w.status("k"), "succeeded")
				return
			}
			if diff := cmp.Diff(before, w.tables()); diff != "" {
				t.Errorf("something was applied (-before +after):\n%s", diff)
			}
		})
	}
}

func TestSameBatchAppliedAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var rows []any
	for i := range 20 {
		key := fmt.Sprint("k", i)
		w.insert(w.op(key))
		if i%2 == 0 {
			rows = append(rows, w.rec(key))
		}
	}
	w.load(w.of(0, 2, 9, rows...))
	scope := w.scope(onAbsent(matcher.Retry))
	var wg sync.WaitGroup
	var moved [8]int
	var batches [8]reconcile.Batch
	var verdicts [8][]reconcile.Verdict
	for n := range batches {
		batches[n], verdicts[n] = w.batch(scope)
	}
	for n := range moved {
		wg.Go(func() {
			out, err := w.store.Apply(t.Context(), w.run(n), batches[n], verdicts[n])
			if err != nil {
				t.Errorf("apply: %v", err)
			}
			moved[n] = len(out.Transitions)
			if len(out.Transitions)+len(out.Lost) != 20 {
				t.Errorf("%d moved, %d lost, want 20 together", len(out.Transitions), len(out.Lost))
			}
		})
	}
	wg.Wait()
	total := 0
	for _, n := range moved {
		total += n
	}
	equal(t, "moves", total, 20)
	equal(t, "events", get[int](w, `SELECT count(*) FROM agent_operation_events`), 20)
	equal(t, "operations with one event", get[int](w, `SELECT count(DISTINCT idempotency_key) FROM agent_operation_events`), 20)
}

func TestSecondRunChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.insert(w.op("confirmed"), w.op("absent"), w.op("late", func(o *operation) { o.created = w.day(12) }),
		w.op("planned", in(journal.Planned)), w.op("mismatch"), w.op("expired", in(journal.Executing)), w.op("twice"),
		w.op("gone", in(journal.Succeeded)), w.op("failed", in(journal.FailedFinal)))
	w.load(w.of(0, 3, 9, w.rec("confirmed"), w.rec("mismatch", amount(7)), w.rec("twice"), w.rec("twice2", ref("ref-twice")), w.rec("failed")))
	w.load(w.of(5, 6, 9))
	w.quarantine(w.of(6, 7, 9))
	scope := w.scope()
	// The first two settle everything: what moved is looked at once more.
	for range 2 {
		w.decide(scope)
	}
	leave := []string{"reconciler.exceptions"} // the last sighting
	before := w.tables(leave...)
	cases := w.lines(`SELECT exception_id, kind, state, first_seen_at, first_run_id, note, evidence::text FROM reconciler.exceptions ORDER BY 1`)
	if len(cases) < 4 {
		t.Errorf("only %d cases: %v", len(cases), w.cases())
	}
	out := w.decide(scope)
	equal(t, "moves", len(out.Transitions), 0)
	equal(t, "opened", out.Opened, "{0 0}")
	if diff := cmp.Diff(before, w.tables(leave...)); diff != "" {
		t.Errorf("tables (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(cases, w.lines(`SELECT exception_id, kind, state, first_seen_at, first_run_id, note, evidence::text FROM reconciler.exceptions ORDER BY 1`)); diff != "" {
		t.Errorf("cases (-before +after):\n%s", diff)
	}
}

// A statement that has lost rows proves no absence.
func TestTornStatementProvesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.insert(w.op("k"))
	w.load(w.of(0, 2, 9, w.rec("a"), w.rec("b")))
	w.exec(`DELETE FROM reconciler.records WHERE provider_operation_id = 'b'`)
	b, verdicts := w.batch(w.scope(onAbsent(matcher.Fail)))
	before := w.tables()
	if _, err := w.store.Apply(t.Context(), w.run(1), b, verdicts); err == nil {
		t.Error("an absence was proven by a statement without one of its records")
	}
	if diff := cmp.Diff(before, w.tables()); diff != "" {
		t.Errorf("applied (-before +after):\n%s", diff)
	}
}

func TestLifeOfACase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.insert(w.op("k"), w.op("l"))
	w.load(w.of(0, 2, 5, w.rec("k", amount(7)), w.rec("l", amount(7))))
	state := func() string {
		t.Helper()
		return fmt.Sprint(w.cases(), w.lines(`SELECT x.subject, e.event FROM reconciler.exception_events e JOIN reconciler.exceptions x USING (exception_id)
			ORDER BY x.subject, e.event_id`))
	}
	w.decide(w.scope())
	equal(t, "opened", state(), "[amount_mismatch k open amount_mismatch l open] [k opened l opened]")
	w.decide(w.scope())
	equal(t, "seen again", state(), "[amount_mismatch k open amount_mismatch l open] [k opened l opened]")
	w.exec(`UPDATE reconciler.exceptions SET state = 'acknowledged' WHERE subject = 'l'`)
	w.load(w.of(0, 2, 6, w.rec("k", amount(8)), w.rec("l", amount(8))))
	w.decide(w.scope())
	equal(t, "changed", state(), "[amount_mismatch k open amount_mismatch l acknowledged] [k opened k changed l opened l changed]")
	w.load(w.of(0, 2, 7, w.rec("k"), w.rec("l", amount(8))))
	w.decide(w.scope())
	equal(t, "resolved by itself", state(), "[amount_mismatch k auto_resolved amount_mismatch l acknowledged] [k opened k changed k auto_resolved l opened l changed]")
	equal(t, "status", w.status("k"), "succeeded")
	w.load(w.of(0, 2, 8, w.rec("k", amount(8)), w.rec("l", amount(8))))
	w.decide(w.scope())
	if got := w.lines(`SELECT kind, state FROM reconciler.exceptions WHERE subject = 'k' ORDER BY 1`); !slices.Equal(got, []string{"amount_mismatch open", "evidence_changed open"}) {
		t.Errorf("reopened = %v", got)
	}
	equal(t, "status after all", w.status("k"), "succeeded")
	w.exec(`UPDATE reconciler.exceptions SET state = 'resolved' WHERE subject = 'l'`)
	w.decide(w.scope())
	equal(t, "resolved by a person", w.lines(`SELECT state FROM reconciler.exceptions WHERE subject = 'l'`), "[resolved]")
	w.load(w.of(0, 2, 9, w.rec("k"), w.rec("l", amount(9))))
	w.decide(w.scope())
	equal(t, "on new evidence", w.lines(`SELECT state FROM reconciler.exceptions WHERE subject = 'l'`), "[open]")
	equal(t, "k agrees again", w.lines(`SELECT state FROM reconciler.exceptions WHERE subject = 'k'`), "[auto_resolved auto_resolved]")
}

func TestCasesOfSources(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	kinds := []string{"statement_rejected", "record_key_conflict", "unjournaled_effect"}
	look := func(job string, kinds []string, extra ...reconcile.Finding) {
		t.Helper()
		scope := w.scope()
		rejected, err := w.store.Rejected(t.Context(), scope)
		if err != nil {
			t.Fatal(err)
		}
		run := w.run(1)
		run.Job, run.ID = job, "run-"+job
		w.exec(`INSERT INTO reconciler.runs (run_id, job, scope, started_at, version, config_digest) VALUES ($1, $2, '{}', now(), '', '') ON CONFLICT DO NOTHING`, run.ID, job)
		if _, err := w.store.SyncFindings(t.Context(), run, scope, kinds, append(rejected.Findings, extra...)); err != nil {
			t.Fatal(err)
		}
	}
	w.load(w.of(0, 1, 5))
	broken := w.of(0, 1, 6)
	w.quarantine(broken)
	look("payments", kinds)
	equal(t, "rejected", w.lines(`SELECT kind, state FROM reconciler.exceptions`), "[statement_rejected open]")
	before := w.tables("reconciler.exceptions")
	look("payments", kinds)
	if diff := cmp.Diff(before, w.tables("reconciler.exceptions")); diff != "" {
		t.Errorf("seen again (-before +after):\n%s", diff)
	}
	repaired := w.of(0, 1, 7, w.rec("a"))
	repaired.Name = broken.Name
	w.load(repaired)
	look("payments", kinds)
	equal(t, "repaired", w.lines(`SELECT kind, state FROM reconciler.exceptions`), "[statement_rejected auto_resolved]")

	// A gap is closed by a whole run of the job that sees it no more.
	gap := reconcile.Finding{Kind: "coverage_gap", Severity: matcher.Medium, Source: "bank", Subject: "main gap", Note: "n"}
	all := append(slices.Clone(kinds), "coverage_gap")
	gaps := func() []string { return w.lines(`SELECT state FROM reconciler.exceptions WHERE kind = 'coverage_gap'`) }
	look("payments", all, gap)
	equal(t, "gap", gaps(), "[open]")
	look("payments", kinds)
	equal(t, "a part of the job", gaps(), "[open]")
	look("refunds", all)
	equal(t, "another job", gaps(), "[open]")
	look("payments", all)
	equal(t, "closed", gaps(), "[auto_resolved]")
}

func TestUnjournaledEffects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ours := func(r *sources.Record) { r.Ours = true }
	scope := w.scope()
	find := func() []string {
		t.Helper()
		found, err := w.store.Unjournaled(t.Context(), scope, map[string]time.Duration{"bank": 24 * time.Hour}, w.day(3))
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, f := range found {
			out = append(out, f.RecordKey)
		}
		return out
	}
	w.insert(w.op("known"), w.op("far", func(o *operation) { o.provider = "other" }))
	w.load(w.of(0, 3, 5, w.rec("known", ours), w.rec("a", ours), w.rec("far", ours), w.rec("young", ours, on(w.day(2, 12))),
		w.rec("not ours"), w.rec("pending", ours, status(sources.Pending))))
	equal(t, "found", find(), "[main|a|payment|debit main|far|payment|debit]")
	// Gone with a new version, and back with the next.
	w.load(w.of(0, 3, 6))
	equal(t, "gone", find(), "[]")
	w.load(w.of(0, 3, 7, w.rec("a", ours)))
	equal(t, "back", find(), "[main|a|payment|debit]")
	w.insert(w.op("a"))
	equal(t, "journaled", find(), "[]")
	w.decide(scope)
	equal(t, "owned", find(), "[]")
}
