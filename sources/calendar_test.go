package sources_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"reconciler/sources"
)

func zone(tb testing.TB, name string) *time.Location {
	tb.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		tb.Fatal(err)
	}
	return z
}

func names(c sources.Calendar, list []sources.Expectation) []string {
	var out []string
	for _, e := range list {
		out = append(out, e.Name(c))
	}
	return out
}

func TestCalendarOverdue(t *testing.T) {
	t.Parallel()
	vienna := zone(t, "Europe/Vienna")
	at := func(text string) time.Time {
		got, err := time.ParseInLocation("2006-01-02 15:04", text, vienna)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	daily := sources.Calendar{Every: sources.Daily, At: 6 * time.Hour, Grace: 2 * time.Hour, Zone: vienna}
	business := daily
	business.Every, business.Holidays = sources.BusinessDays, map[string]bool{"2026-12-08": true}
	monthly := daily
	monthly.Every, monthly.After = sources.Monthly, 2
	week := sources.NewRanges(sources.Period{From: at("2026-12-01 00:00"), To: at("2026-12-04 00:00")})
	for name, tt := range map[string]struct {
		calendar  sources.Calendar
		delivered sources.Ranges
		now       string
		want      []string
	}{
		"everything is there":                     {daily, week, "2026-12-04 09:00", nil},
		"due but inside the grace":                {daily, week, "2026-12-05 07:59", nil},
		"late by the minute":                      {daily, week, "2026-12-05 08:00", []string{"2026-12-04"}},
		"every missing day is told":               {daily, week, "2026-12-07 08:00", []string{"2026-12-04", "2026-12-05", "2026-12-06"}},
		"a weekend is not expected":               {business, week, "2026-12-06 12:00", nil},
		"friday is due on monday":                 {business, week, "2026-12-07 08:00", []string{"2026-12-04"}},
		"monday before a holiday is due after it": {business, sources.NewRanges(sources.Period{From: at("2026-12-01 00:00"), To: at("2026-12-05 00:00")}), "2026-12-08 23:00", nil},
		"and late after it":                       {business, sources.NewRanges(sources.Period{From: at("2026-12-01 00:00"), To: at("2026-12-05 00:00")}), "2026-12-09 08:00", []string{"2026-12-07"}},
		"half a day is not a day": {daily, sources.NewRanges(
			sources.Period{From: at("2026-12-01 00:00"), To: at("2026-12-02 12:00")}), "2026-12-03 08:00", []string{"2026-12-02"}},
		"a month is due on its third day": {monthly, nil, "2027-01-03 07:59", nil},
		"a month that is late":            {monthly, nil, "2027-01-03 08:00", []string{"2026-12"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := names(tt.calendar, tt.calendar.Overdue(tt.delivered, at("2026-12-01 00:00"), at(tt.now)))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Overdue (-want +got):\n%s", diff)
			}
		})
	}
}

// The day on which clocks change has 25 hours, and is one day all the same.
func TestCalendarAcrossClockChange(t *testing.T) {
	t.Parallel()
	berlin := zone(t, "Europe/Berlin")
	c := sources.Calendar{Every: sources.Daily, At: 6 * time.Hour, Zone: berlin}
	for e := range c.From(time.Date(2026, 10, 25, 12, 0, 0, 0, berlin)) {
		if got := e.Period.To.Sub(e.Period.From); got != 25*time.Hour {
			t.Errorf("the day has %v, want 25h", got)
		}
		if want := time.Date(2026, 10, 26, 5, 0, 0, 0, time.UTC); !e.DueAt.Equal(want) {
			t.Errorf("due at %v, want %v", e.DueAt, want)
		}
		break
	}
}

func TestCalendarLaws(t *testing.T) {
	t.Parallel()
	vienna := zone(t, "Europe/Vienna")
	rapid.Check(t, func(t *rapid.T) {
		c := sources.Calendar{
			Every: rapid.SampledFrom([]sources.Rhythm{sources.Daily, sources.BusinessDays, sources.Monthly}).Draw(t, "every"),
			At:    time.Duration(rapid.IntRange(0, 1439).Draw(t, "minute")) * time.Minute,
			After: rapid.IntRange(0, 5).Draw(t, "after"), Zone: vienna,
		}
		start := time.Unix(rapid.Int64Range(1_700_000_000, 1_900_000_000).Draw(t, "start"), 0)
		now := start.Add(time.Duration(rapid.IntRange(0, 2000).Draw(t, "hours")) * time.Hour)
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
		late := c.Overdue(nil, start, now)
		for i, e := range late {
			if e.LateAt.After(now) || !e.Period.From.Before(e.Period.To) || e.DueAt.Before(e.Period.To) {
				t.Fatalf("expectation %v at %v", e, now)
			}
			if i > 0 && e.Period.From.Before(late[i-1].Period.To) {
				t.Fatalf("%v begins before %v ends", e, late[i-1])
			}
		}
		// What has been delivered whole is never missed.
		if left := c.Overdue(sources.Ranges{{From: start.AddDate(0, -2, 0), To: now}}, start, now); len(left) > 0 {
			t.Fatalf("missing although delivered: %v", left)
		}
		if next := c.Next(now); !next.DueAt.After(now) {
			t.Fatalf("next is due at %v, now is %v", next.DueAt, now)
		}
	})
}
