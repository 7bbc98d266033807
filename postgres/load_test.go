package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reconciler/reconcile"
	"reconciler/sources"
)

func TestLoadTellsWhatIsNew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.of(0, 1, 2, w.rec("a"), w.rec("b", status(sources.Pending)), w.rec("c"))
	got := w.load(first)
	if got.State != "accepted" || !got.Complete || got.New != 3 {
		t.Errorf("first = %+v, want 3 new records in a complete statement", got)
	}
	before := w.tables()
	if again := w.load(first); !again.Known || again.ID != got.ID {
		t.Errorf("the same again = %+v, want it known as %d", again, got.ID)
	}
	if diff := cmp.Diff(before, w.tables()); diff != "" {
		t.Errorf("a known statement changed something (-before +after):\n%s", diff)
	}

	second := w.load(w.of(0, 1, 3, w.rec("a"), w.rec("b"), w.rec("d")))
	if second.New != 1 || second.Changed != 1 || second.Repeated != 1 || second.Gone != 1 {
		t.Errorf("second = new %d changed %d repeated %d gone %d, want 1 each", second.New, second.Changed, second.Repeated, second.Gone)
	}
	want := []string{"a 100 succeeded bank-2.csv ", "b 100 succeeded bank-2.csv ", "d 100 succeeded bank-2.csv "}
	if diff := cmp.Diff(want, w.current()); diff != "" {
		t.Errorf("current records (-want +got):\n%s", diff)
	}
	want = []string{"b pending changed", "c succeeded gone"}
	if diff := cmp.Diff(want, w.lines(`SELECT provider_operation_id, status, replaced_reason FROM reconciler.record_versions ORDER BY 1`)); diff != "" {
		t.Errorf("replaced versions (-want +got):\n%s", diff)
	}
	w.checkCounts()
}

func TestLoadOfAnOlderVersionReplacesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(w.of(0, 1, 5, w.rec("a", amount(200)), w.rec("b")))
	old := w.load(w.of(0, 1, 3, w.rec("a", amount(100)), w.rec("c"), w.rec("b")))
	if old.State != "superseded" {
		t.Errorf("state = %q, want superseded", old.State)
	}
	want := []string{"a 200 succeeded bank-1.csv ", "b 100 succeeded bank-1.csv "}
	if diff := cmp.Diff(want, w.current()); diff != "" {
		t.Errorf("current records (-want +got):\n%s", diff)
	}
	want = []string{"a 100 older", "c 100 older"}
	if diff := cmp.Diff(want, w.lines(`SELECT provider_operation_id, amount_minor, replaced_reason FROM reconciler.record_versions ORDER BY 1`)); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	if n := get[int](w, `SELECT count(*) FROM reconciler.coverage`); n != 1 {
		t.Errorf("coverage has %d rows, want 1", n)
	}
}

func TestRecordsOfOverlappingPeriods(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.load(w.of(0, 1, 2, w.rec("a"), w.rec("b"), w.rec("c", status(sources.Pending))))
	w.load(w.of(0, 2, 3, w.rec("a"), w.rec("c")))
	w.checkCounts()
	// The first is superseded by one that lacks them all.
	w.load(w.of(0, 1, 4))
	want := []string{"a 100 succeeded bank-2.csv ", "c 100 succeeded bank-2.csv "}
	if diff := cmp.Diff(want, w.current()); diff != "" {
		t.Errorf("current records (-want +got):\n%s", diff)
	}
	w.checkCounts()
	// And so is the second: nothing is left.
	w.load(w.of(0, 2, 5))
	if got := w.current(); len(got) > 0 {
		t.Errorf("current records = %v, want none", got)
	}
	if n := get[int](w, `SELECT count(DISTINCT record_key) FROM reconciler.record_versions`); n != 3 {
		t.Errorf("%d records are kept, want 3 (statement %d)", n, first.ID)
	}
}

// What a superseded statement had changed is again as the others say.
func TestSupersededChangeIsTakenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(w.of(0, 1, 2, w.rec("a", status(sources.Pending))))
	w.load(w.of(0, 2, 3, w.rec("a", status(sources.Pending)))) // repeats it
	w.load(w.of(0, 3, 4, w.rec("a")))                          // changes it
	w.load(w.of(0, 1, 5))                                      // the first no longer has it
	w.load(w.of(0, 3, 6))                                      // nor has the third
	want := []string{"a 100 pending bank-2.csv "}
	if diff := cmp.Diff(want, w.current()); diff != "" {
		t.Errorf("current records (-want +got):\n%s", diff)
	}
	w.checkCounts()
}

// A late statement does not undo what a newer one has said again.
func TestNewerRepetitionOutweighsOlderChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(w.of(0, 1, 2, w.rec("a")))
	w.load(w.of(0, 2, 6, w.rec("a")))
	w.load(w.of(0, 3, 4, w.rec("a", status(sources.Pending))))
	want := []string{"a 100 succeeded bank-1.csv "}
	if diff := cmp.Diff(want, w.current()); diff != "" {
		t.Errorf("current records (-want +got):\n%s", diff)
	}
	// Nor does a new version of the first, that is still older.
	w.load(w.of(0, 1, 3, w.rec("a", status(sources.Failed))))
	want = []string{"a 100 succeeded bank-2.csv "}
	if diff := cmp.Diff(want, w.current()); diff != "" {
		t.Errorf("current records (-want +got):\n%s", diff)
	}
	w.checkCounts()
}

func TestConflictsBeginAndEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	scope := reconcile.Scope{JobSources: []string{"bank"}}
	conflicts := func() int {
		t.Helper()
		found, err := w.store.Conflicts(t.Context(), scope)
		if err != nil {
			t.Fatal(err)
		}
		w.checkCounts()
		return len(found)
	}
	w.load(w.of(0, 1, 2, w.rec("a"), w.rec("b")))
	w.load(w.of(0, 2, 3, w.rec("a", amount(200)), w.rec("b")))
	if n := conflicts(); n != 1 {
		t.Errorf("%d conflicts, want 1", n)
	}
	if diff := cmp.Diff([]string{"a 100 succeeded bank-1.csv conflicted", "b 100 succeeded bank-1.csv "}, w.current()); diff != "" {
		t.Errorf("conflict between periods (-want +got):\n%s", diff)
	}
	// A new version of the first that still contradicts the second.
	w.load(w.of(0, 1, 4, w.rec("a", amount(300)), w.rec("b")))
	if n := conflicts(); n != 1 {
		t.Errorf("%d conflicts after the first was replaced, want 1", n)
	}
	// The second is mended.
	w.load(w.of(0, 2, 5, w.rec("a", amount(300)), w.rec("b")))
	if n := conflicts(); n != 0 {
		t.Errorf("%d conflicts after both agree, want none: %v", n, w.current())
	}
	// The second changes alone what both say: they contradict each other.
	w.load(w.of(0, 2, 6, w.rec("a", amount(300)), w.rec("b", amount(1))))
	if n := conflicts(); n != 1 {
		t.Errorf("%d conflicts after one of them changed b, want 1: %v", n, w.current())
	}
	// The first goes: what the second says is left.
	w.load(w.of(0, 1, 7))
	if n := conflicts(); n != 0 {
		t.Errorf("%d conflicts with one statement left", n)
	}
	if diff := cmp.Diff([]string{"a 300 succeeded bank-5.csv ", "b 1 succeeded bank-5.csv "}, w.current()); diff != "" {
		t.Errorf("in the end (-want +got):\n%s", diff)
	}
}

func TestRepetitionsWithinOneFile(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 2, 3, 100} {
		t.Run(fmt.Sprint("batches of ", size), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.store.SetLoadBatch(size)
			w.load(w.of(0, 1, 2,
				w.rec("same"), w.rec("life"), w.rec("clash"), w.rec("same"), w.rec("life", status(sources.Pending)),
				w.rec("clash", amount(5)), w.rec("twin", noID), w.rec("twin", noID), w.rec("life", status(sources.Reversed))))
			want := []string{
				"clash 100 succeeded bank-1.csv conflicted", "life 100 reversed bank-1.csv ",
				"main|" + w.zero.Format("2006-01-02") + "|100|EUR|debit|payment|ref-twin||#0 100 succeeded bank-1.csv ",
				"main|" + w.zero.Format("2006-01-02") + "|100|EUR|debit|payment|ref-twin||#1 100 succeeded bank-1.csv ",
				"same 100 succeeded bank-1.csv ",
			}
			if diff := cmp.Diff(want, w.current()); diff != "" {
				t.Errorf("current records (-want +got):\n%s", diff)
			}
			want = []string{"clash 5 succeeded", "life 100 pending", "life 100 succeeded"}
			if diff := cmp.Diff(want, w.lines(`SELECT provider_operation_id, amount_minor, status FROM reconciler.record_versions ORDER BY 1, 3`)); diff != "" {
				t.Errorf("versions (-want +got):\n%s", diff)
			}
			w.checkCounts()
		})
	}
}

func TestStatementsThatAreNotComplete(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, tc := range map[string]struct {
		s    statement
		want string
	}{
		"reject":         {w.of(0, 1, 9, w.rec("a"), &sources.Reject{Field: "amount", Reason: `"x" is no amount`}), "1 row could not be understood"},
		"no end":         {func() statement { s := w.of(1, 2, 9); s.end = sources.EndUnproven; return s }(), "nothing proves"},
		"no period":      {func() statement { s := w.of(2, 3, 9); s.Period = sources.Period{}; return s }(), "period is not known"},
		"outside period": {w.of(3, 4, 9, w.rec("b", on(w.day(5)))), "dated outside"},
	} {
		got := w.load(tc.s)
		if got.State != "accepted" || got.Complete || !strings.Contains(got.Reason, tc.want) {
			t.Errorf("%s: %+v, want it accepted, not complete, because %s", name, got.Registered, tc.want)
		}
	}
	if got := w.lines(`SELECT line, field FROM reconciler.rejects`); len(got) != 1 || got[0] != "3 amount" {
		t.Errorf("rejects = %v, want line 3, amount", got)
	}
	if n := get[int](w, `SELECT count(*) FROM reconciler.coverage`); n != 0 {
		t.Errorf("incomplete statements cover %d", n)
	}
}

func TestSameStatementAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 20 {
		s := w.of(i, i+1, i+2, w.rec(fmt.Sprint("a", i), on(w.day(i, 3))), w.rec(fmt.Sprint("b", i), on(w.day(i, 3))))
		var wg sync.WaitGroup
		var got [2]reconcile.Loaded
		var errs [2]error
		for n := range got {
			wg.Go(func() { got[n], errs[n] = w.tryLoad(t.Context(), s) })
		}
		wg.Wait()
		if err := errors.Join(errs[:]...); err != nil {
			t.Fatal(err)
		}
		if got[0].Known == got[1].Known || got[0].ID != got[1].ID {
			t.Fatalf("loads = %+v, want one of them known", got)
		}
	}
	if n := get[int](w, `SELECT count(*) FROM reconciler.records`); n != 40 {
		t.Errorf("%d records, want 40", n)
	}
	if n := get[int](w, `SELECT count(*) FROM reconciler.statements`); n != 20 {
		t.Errorf("%d statements, want 20", n)
	}
}

func TestLoadThatIsCutLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]func(w *world, s *statement) context.Context{
		"reader fails": func(w *world, s *statement) context.Context {
			s.fail = errReader
			return w.t.Context()
		},
		"context ends": func(w *world, s *statement) context.Context {
			ctx, cancel := context.WithCancel(w.t.Context())
			s.hook = func(n int) {
				if n == 7 {
					cancel()
				}
			}
			return ctx
		},
		"backend dies": func(w *world, s *statement) context.Context {
			s.hook = func(n int) {
				if n == 7 && get[int](w, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
					WHERE datname = current_database() AND pid <> pg_backend_pid() AND state LIKE 'idle in transaction%'`) != 1 {
					w.t.Error("no load was in progress")
				}
			}
			return w.t.Context()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.store.SetLoadBatch(3)
			w.load(w.of(0, 1, 2, w.rec("r0"), w.rec("r1", status(sources.Pending)), w.rec("old")))
			before := w.tables()
			var rows []any
			for i := range 10 {
				rows = append(rows, w.rec(fmt.Sprint("r", i)))
			}
			s := w.of(0, 1, 3, rows...)
			broken := s
			ctx := cut(w, &broken)
			if got, err := w.tryLoad(ctx, broken); err == nil || got.ID != 0 {
				t.Fatalf("load = %+v, %v, want an error", got, err)
			}
			if diff := cmp.Diff(before, w.tables()); diff != "" {
				t.Errorf("something of it is visible (-before +after):\n%s", diff)
			}
			if got := w.load(s); got.Known || got.New != 8 || got.Gone != 1 || got.Changed != 1 {
				t.Errorf("next load = %+v, want 8 new, 1 changed, 1 gone", got)
			}
			w.checkCounts()
		})
	}
}

func TestRefusedLoadGoesToQuarantine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.of(0, 1, 2, w.rec("a"))
	s.fail = &sources.Refusal{Reason: "the footer differs"}
	_, err := w.tryLoad(t.Context(), s)
	var refusal *sources.Refusal
	if !errors.As(err, &refusal) {
		t.Fatalf("load = %v, want the refusal", err)
	}
	reg := w.quarantine(s)
	if reg.State != "quarantined" || reg.Complete {
		t.Errorf("registered = %+v", reg)
	}
	before := w.tables()
	if again := w.quarantine(s); again.ID != reg.ID {
		t.Errorf("again = %+v, want %d", again, reg.ID)
	}
	if got := w.load(s); !got.Known || got.State != "quarantined" {
		t.Errorf("load of what is in quarantine = %+v, want it known", got)
	}
	if diff := cmp.Diff(before, w.tables()); diff != "" {
		t.Errorf("changed (-before +after):\n%s", diff)
	}
}
