package postgres_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"reconciler/matcher"
	"reconciler/postgres"
	"reconciler/reconcile"
	"reconciler/sources"
)

// The view that people read and the coverage that decisions rest on are two
// computations of the same thing.
func TestCoverageOfViewAndDecisionsAgree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rapid.Check(t, func(rt *rapid.T) {
		for _, table := range []string{"records", "record_versions", "statement_repeats", "statements"} {
			w.exec(`DELETE FROM reconciler.` + table)
		}
		w.rule.Accounts = rapid.SampledFrom([][]string{{"main"}, {"main", "second"}}).Draw(rt, "accounts")
		w.rule.DatedBy = rapid.SampledFrom([]sources.Dating{sources.ByOccurrence, sources.ByBooking}).Draw(rt, "dated by")
		w.rule.SettlementLag = time.Duration(rapid.IntRange(0, 3).Draw(rt, "lag")) * 24 * time.Hour
		w.rule.Retention = time.Duration(rapid.IntRange(0, 4).Draw(rt, "retention")) * 24 * time.Hour
		w.put(w.rule)
		for range rapid.IntRange(1, 7).Draw(rt, "statements") {
			from := rapid.IntRange(0, 6).Draw(rt, "from")
			s := w.of(from, from+rapid.IntRange(1, 3).Draw(rt, "days"), rapid.IntRange(0, 10).Draw(rt, "as of"))
			s.end = rapid.SampledFrom([]sources.EndProof{sources.EndFooter, sources.EndAssumed, sources.EndUnproven}).Draw(rt, "end")
			s.Name = rapid.SampledFrom([]string{"a", "b", s.Name}).Draw(rt, "name")
			if rapid.IntRange(0, 3).Draw(rt, "quarantine") == 0 {
				reg := w.quarantine(s)
				if s.rows = []any{w.rec("a")}; rapid.Bool().Draw(rt, "release") {
					by := reconcile.Handling{Actor: "ann", Reason: "we need it", At: w.day(11)}
					if _, err := w.store.Release(t.Context(), reg.ID, s.Document, s.reader(), by); err != nil && !errors.Is(err, postgres.ErrNotQuarantined) {
						rt.Fatal(err)
					}
				}
			} else {
				w.load(s)
			}
			compareCoverage(rt, w)
		}
	})
}

func compareCoverage(rt *rapid.T, w *world) {
	decisions, err := w.store.CoverageOfDecisions(w.t.Context())
	if err != nil {
		rt.Fatal(err)
	}
	view, err := w.store.Coverage(w.t.Context(), []string{"bank"})
	if err != nil {
		rt.Fatal(err)
	}
	var got, want []string
	for _, c := range decisions {
		if len(c.All) == 0 {
			continue
		}
		line := c.Account
		for _, p := range c.All {
			line += " " + p.String()
		}
		got = append(got, line)
		if proven := sources.NewRanges(slices.Concat(c.All, c.Proven)...); fmt.Sprint(proven) != fmt.Sprint(c.All) {
			rt.Fatalf("proven %v goes beyond all %v", c.Proven, c.All)
		}
	}
	for _, c := range view {
		if len(c.Ranges) == 0 {
			continue
		}
		line := c.Account
		for _, p := range c.Ranges {
			line += " " + sources.Period{From: p.From, To: p.To}.String()
		}
		want = append(want, line)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		rt.Fatalf("decisions rest on\n%s\nthe view says\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestQuarantineTakesCoverageAway(t *testing.T) {
	t.Parallel()
	for name, repair := range map[string]func(broken, repaired *statement){
		"under the same name": func(broken, repaired *statement) { repaired.Name = broken.Name },
		"under another name":  func(_, _ *statement) {},
		"under the same name, but old": func(broken, repaired *statement) {
			repaired.Name, repaired.ModifiedAt = broken.Name, broken.ModifiedAt.Add(-time.Hour)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			covered := func() string {
				t.Helper()
				c, err := w.store.Coverage(t.Context(), []string{"bank"})
				if err != nil {
					t.Fatal(err)
				}
				var days []string
				for _, r := range c[0].Ranges {
					days = append(days, fmt.Sprintf("%d-%d", int(r.From.Sub(w.zero).Hours()/24), int(r.To.Sub(w.zero).Hours()/24)))
				}
				return strings.Join(days, " ")
			}
			incomplete := func() int {
				t.Helper()
				i, err := w.store.Rejected(t.Context(), reconcile.Scope{JobSources: []string{"bank"}})
				if err != nil {
					t.Fatal(err)
				}
				return len(i.Reasons)
			}
			for day := range 3 {
				w.load(w.of(day, day+1, 5))
			}
			equal(t, "covered", covered(), "0-3")
			broken := w.of(1, 2, 7)
			w.quarantine(broken)
			equal(t, "with a newer version in quarantine", covered(), "0-1 2-3")
			equal(t, "reasons", incomplete(), 1)
			// Of another period: nothing is repaired.
			w.load(w.of(3, 4, 8))
			equal(t, "after another", covered(), "0-1 2-4")
			repaired := w.of(1, 2, 9)
			repair(&broken, &repaired)
			w.load(repaired)
			equal(t, "repaired", covered(), "0-4")
			equal(t, "reasons", incomplete(), 0)
		})
	}
}

// An older file that turns up does not stand in for a newer one in quarantine.
func TestOlderFileDoesNotRepairANewerOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.quarantine(w.of(1, 2, 7))
	old := w.of(1, 2, 9)
	old.ModifiedAt = w.day(3)
	w.load(old)
	if n := get[int](w, `SELECT count(*) FROM reconciler.coverage WHERE covered <> '{}'`); n != 0 {
		t.Error("the older file covers what the newer one contests")
	}
}

// What an absence rests on was replaced: the operation is looked at again.
func TestSupersededAbsence(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		policy  matcher.OnAbsent
		between func(w *world)
		status  string
		cases   string
		retry   bool
	}{
		"failed, replaced by the same": {
			matcher.Fail, func(w *world) { w.load(w.of(0, 2, 10)) }, "failed_final", "[]", false,
		},
		"failed, and now shown": {
			matcher.Fail, func(w *world) { w.load(w.of(0, 2, 10, w.rec("k"))) }, "failed_final",
			"[effect_after_failure k open evidence_changed k open]", false,
		},
		"failed, and in quarantine": {
			matcher.Fail, func(w *world) { w.quarantine(w.of(0, 2, 10)) }, "failed_final", "[evidence_changed k open]", false,
		},
		"failed, shown by a statement of another period": {
			matcher.Fail, func(w *world) { w.load(w.of(0, 4, 10, w.rec("k"))) }, "failed_final", "[effect_after_failure k open]", false,
		},
		"permitted, replaced by the same": {
			matcher.Retry, func(w *world) { w.load(w.of(0, 2, 10)) }, "failed_retryable", "[]", true,
		},
		"permitted, and now shown": {
			matcher.Retry, func(w *world) { w.load(w.of(0, 2, 10, w.rec("k"))) }, "succeeded", "[]", false,
		},
		"permitted, and now pending": {
			matcher.Retry, func(w *world) { w.load(w.of(0, 2, 10, w.rec("k", status(sources.Pending)))) }, "unknown", "[pending_too_long k open]", false,
		},
		"permitted, and in quarantine": {
			matcher.Retry, func(w *world) { w.quarantine(w.of(0, 2, 10)) }, "unknown", "[evidence_changed k open]", false,
		},
		"permitted, and an unowned record appears": {
			matcher.Retry, func(w *world) { w.load(w.of(0, 2, 10, w.rec("x"))) }, "unknown",
			"[absent_needs_decision k open evidence_changed k open]", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.insert(w.op("k"))
			w.load(w.of(0, 2, 9))
			scope := w.scope(onAbsent(tc.policy))
			scope.Now = time.Now().UTC()
			w.decide(scope)
			first := "failed_final"
			if tc.policy == matcher.Retry {
				first = "failed_retryable"
			}
			equal(t, "at first", w.status("k"), first)
			equal(t, "may retry", get[bool](w, `SELECT may_retry FROM reconciler.operation_status`), tc.policy == matcher.Retry)
			tc.between(w)
			w.decide(scope)
			equal(t, "status", w.status("k"), tc.status)
			equal(t, "cases", w.cases(), tc.cases)
			equal(t, "may retry in the end", get[bool](w, `SELECT may_retry FROM reconciler.operation_status`), tc.retry)
			w.decide(scope)
			before := w.tables("reconciler.exceptions")
			w.decide(scope)
			if diff := cmp.Diff(before, w.tables("reconciler.exceptions")); diff != "" {
				t.Errorf("it goes on changing (-before +after):\n%s", diff)
			}
			equal(t, "status after looking again", w.status("k"), tc.status)
		})
	}
}

// A repaired statement ends the doubt.
func TestDoubtAboutAnAbsenceEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.insert(w.op("k"))
	w.load(w.of(0, 2, 9))
	scope := w.scope(onAbsent(matcher.Fail))
	w.decide(scope)
	w.quarantine(w.of(0, 2, 10))
	w.decide(scope)
	equal(t, "cases", w.cases(), "[evidence_changed k open]")
	w.load(w.of(0, 2, 11))
	w.decide(scope)
	equal(t, "repaired", w.cases(), "[evidence_changed k auto_resolved]")
	equal(t, "status", w.status("k"), "failed_final")
	w.decide(scope)
	equal(t, "list of work", get[int](w, `SELECT count(*) FROM agent_operation_changes`), 0)
}

func TestSupersededConfirmation(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		next  []func(*sources.Record)
		cases string
	}{
		"other amount":     {[]func(*sources.Record){amount(7)}, "[amount_mismatch k open evidence_changed k open]"},
		"gone":             {nil, "[evidence_changed k open missing_at_provider k open]"},
		"now refused":      {[]func(*sources.Record){status(sources.Failed)}, "[evidence_changed k open refused_after_success k open]"},
		"other reference":  {[]func(*sources.Record){ref("other")}, "[]"}, // its id is still there
		"the same, moved":  {[]func(*sources.Record){on(time.Time{})}, "[]"},
		"exactly the same": {[]func(*sources.Record){amount(100)}, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.insert(w.op("k"))
			w.load(w.of(0, 2, 9, w.rec("k")))
			w.decide(w.scope())
			equal(t, "status", w.status("k"), "succeeded")
			equal(t, "list of work", get[int](w, `SELECT count(*) FROM agent_operation_changes`), 0)
			var rows []any
			for _, change := range tc.next {
				rows = append(rows, w.rec("k", change))
			}
			w.load(w.of(0, 2, 10, rows...))
			w.decide(w.scope())
			equal(t, "cases", w.cases(), tc.cases)
			equal(t, "status", w.status("k"), "succeeded")
			// The record comes back as it was.
			w.load(w.of(0, 2, 11, w.rec("k")))
			w.decide(w.scope())
			if n := get[int](w, `SELECT count(*) FROM reconciler.exceptions WHERE state <> 'auto_resolved'`); n != 0 {
				t.Errorf("open in the end: %v", w.cases())
			}
			equal(t, "events", get[int](w, `SELECT count(*) FROM agent_operation_events`), 1)
		})
	}
}
