package sources_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"reconciler/sources"
)

// hours is a small world of time in which everything can be tried out.
const hours = 48

func at(hour int) time.Time {
	return time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(hour) * time.Hour)
}

func hour(t time.Time) int { return int(t.Sub(at(0)) / time.Hour) }

func drawPeriod(t *rapid.T, name string) sources.Period {
	return sources.Period{
		From: at(rapid.IntRange(0, hours).Draw(t, name+" from")),
		To:   at(rapid.IntRange(0, hours).Draw(t, name+" to")),
	}
}

// in is the set of hours of some periods, hour by hour.
func in(periods ...sources.Period) [hours]bool {
	var set [hours]bool
	for _, p := range periods {
		for h := max(hour(p.From), 0); h < min(hour(p.To), hours); h++ {
			set[h] = true
		}
	}
	return set
}

func checkForm(t *rapid.T, r sources.Ranges) {
	for i, p := range r {
		if !p.From.Before(p.To) {
			t.Fatalf("range %d is empty: %v", i, r)
		}
		if i > 0 && !r[i-1].To.Before(p.From) {
			t.Fatalf("ranges %d and %d are out of order, overlap or touch: %v", i-1, i, r)
		}
	}
}

func TestRangesHoldTheSameTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		periods := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) sources.Period { return drawPeriod(t, "period") }), 0, 8).Draw(t, "periods")
		r := sources.NewRanges(periods...)
		checkForm(t, r)
		if diff := cmp.Diff(in(periods...), in(r...)); diff != "" {
			t.Fatalf("NewRanges(%v) = %v holds other hours:\n%s", periods, r, diff)
		}
		if again := sources.NewRanges(r...); !cmp.Equal(r, again) {
			t.Fatalf("NewRanges(%v) = %v, want it unchanged", r, again)
		}
		var end time.Time
		if len(r) > 0 {
			end = r[len(r)-1].To
		}
		if !r.End().Equal(end) {
			t.Fatalf("End() = %v, want %v", r.End(), end)
		}
	})
}

func TestMissingIsTheRest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		periods := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) sources.Period { return drawPeriod(t, "period") }), 0, 8).Draw(t, "periods")
		asked := drawPeriod(t, "asked")
		r := sources.NewRanges(periods...)
		missing := r.Missing(asked)
		checkForm(t, missing)
		covered, want, lacks := in(periods...), in(asked), in(missing...)
		whole := true
		for h := range hours {
			want[h] = want[h] && !covered[h]
			whole = whole && !want[h]
		}
		if diff := cmp.Diff(want, lacks); diff != "" {
			t.Fatalf("%v.Missing(%v) = %v:\n%s", r, asked, missing, diff)
		}
		if got := r.Covers(asked); got != whole {
			t.Fatalf("%v.Covers(%v) = %v, want %v", r, asked, got, whole)
		}
	})
}

func TestRangesDoNotChangeTheirInput(t *testing.T) {
	t.Parallel()
	periods := []sources.Period{{From: at(5), To: at(9)}, {From: at(1), To: at(6)}, {From: at(3), To: at(3)}}
	before := append([]sources.Period(nil), periods...)
	want := sources.Ranges{{From: at(1), To: at(9)}}
	if diff := cmp.Diff(want, sources.NewRanges(periods...)); diff != "" {
		t.Errorf("NewRanges (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, periods); diff != "" {
		t.Errorf("the input changed (-want +got):\n%s", diff)
	}
	if end := (sources.Ranges{}).End(); !end.IsZero() {
		t.Errorf("End of nothing = %v, want zero", end)
	}
}

func TestCovered(t *testing.T) {
	t.Parallel()
	period := sources.Period{From: at(0), To: at(24)}
	lag := 6 * time.Hour
	for _, tt := range []struct {
		name string
		rule sources.CoverageRule
		asOf int
		want sources.Period
	}{
		{"by booking, spoken after the end", sources.CoverageRule{DatedBy: sources.ByBooking, SettlementLag: lag}, 30, period},
		{"by booking, spoken before the end", sources.CoverageRule{DatedBy: sources.ByBooking, SettlementLag: lag}, 20, sources.Period{From: at(0), To: at(20)}},
		{"by occurrence, the lag is over", sources.CoverageRule{DatedBy: sources.ByOccurrence, SettlementLag: lag}, 30, period},
		{"by occurrence, the lag still runs", sources.CoverageRule{DatedBy: sources.ByOccurrence, SettlementLag: lag}, 25, sources.Period{From: at(0), To: at(19)}},
		{"undated is by occurrence", sources.CoverageRule{SettlementLag: lag}, 25, sources.Period{From: at(0), To: at(19)}},
		{"spoken before it began", sources.CoverageRule{SettlementLag: lag}, 6, sources.Period{}},
		{"forgotten in part", sources.CoverageRule{DatedBy: sources.ByBooking, Retention: 20 * time.Hour}, 30, sources.Period{From: at(10), To: at(24)}},
		{"forgotten", sources.CoverageRule{DatedBy: sources.ByBooking, Retention: time.Hour}, 30, sources.Period{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, tt.rule.Covered(period, at(tt.asOf))); diff != "" {
				t.Errorf("Covered (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCoveredIsNeverMore: nothing outside of the period, nothing after as_of,
// and a later word never covers less unless the provider forgets.
func TestCoveredIsNeverMore(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rule := sources.CoverageRule{
			DatedBy:       rapid.SampledFrom([]sources.Dating{sources.ByBooking, sources.ByOccurrence}).Draw(t, "dated by"),
			SettlementLag: time.Duration(rapid.IntRange(0, hours).Draw(t, "lag")) * time.Hour,
			Retention:     time.Duration(rapid.IntRange(0, hours).Draw(t, "retention")) * time.Hour,
		}
		p := drawPeriod(t, "period")
		asOf := at(rapid.IntRange(0, 2*hours).Draw(t, "as of"))
		got := rule.Covered(p, asOf)
		if got.IsZero() {
			return
		}
		if !got.From.Before(got.To) || got.From.Before(p.From) || got.To.After(p.To) || got.To.After(asOf) {
			t.Fatalf("Covered(%v, %v) = %v", p, asOf, got)
		}
		if rule.DatedBy == sources.ByOccurrence && got.To.Add(rule.SettlementLag).After(asOf) {
			t.Fatalf("Covered(%v, %v) = %v, although the lag of %v still runs", p, asOf, got, rule.SettlementLag)
		}
		if rule.Retention == 0 {
			later := rule.Covered(p, asOf.Add(time.Hour))
			if later.To.Before(got.To) || !later.From.Equal(got.From) {
				t.Fatalf("an hour later %v is covered, before it was %v", later, got)
			}
		}
	})
}
