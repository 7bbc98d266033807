package csvformat

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"reconciler/sources"
)

func zones(tb testing.TB) []*time.Location {
	tb.Helper()
	var out []*time.Location
	for _, name := range []string{
		"UTC", "Europe/Berlin", "Europe/Moscow", "America/New_York", "America/Sao_Paulo", "Australia/Lord_Howe",
		"Pacific/Apia", "Asia/Kolkata", "Africa/Cairo", "America/Havana", "Antarctica/Troll",
	} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, zone)
	}
	return out
}

// TestLocalInstant: an instant of the zone, written by its clock, is found
// again or is the later one of two that the clock shows; what is found shows
// the same clock; and what is not found is never shown.
func TestLocalInstant(t *testing.T) {
	t.Parallel()
	all := zones(t)
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom(all).Draw(t, "zone")
		from := time.Date(1995, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
		to := time.Date(2035, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
		instant := time.Unix(rapid.Int64Range(from, to).Draw(t, "instant"), 0).In(zone)
		if rapid.Bool().Draw(t, "near a change") {
			if start, _ := instant.ZoneBounds(); !start.IsZero() {
				instant = start.Add(time.Duration(rapid.IntRange(-7200, 7200).Draw(t, "off")) * time.Second).In(zone)
			}
		}
		got, _, ok := localInstants(zone, clockOf(instant))
		if !ok || got > instant.Unix() {
			t.Fatalf("%v: got %d, %v; want %d or earlier", instant, got, ok, instant.Unix())
		}
		if shown := clockOf(time.Unix(got, 0).In(zone)); shown != clockOf(instant) {
			t.Fatalf("%v: at %d the clock shows %+v", instant, got, shown)
		}
		skipped := clockOf(instant)
		skipped.hour, skipped.minute = 2, rapid.IntRange(0, 59).Draw(t, "minute")
		made := time.Date(skipped.year, time.Month(skipped.month), skipped.day, skipped.hour, skipped.minute, skipped.second, 0, zone)
		if _, _, ok := localInstants(zone, skipped); ok != (clockOf(made) == skipped) {
			t.Fatalf("%+v in %v: exists %v, the time package makes %v of it", skipped, zone, ok, made)
		}
	})
}

// TestDaysMeet: every day ends where the next one begins, and lasts 22 to 26
// hours; but an island once skipped a whole day.
func TestDaysMeet(t *testing.T) {
	t.Parallel()
	for _, zone := range zones(t) {
		previous := startOfDay(zone, 2009, 12, 31)
		for d := time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC); d.Year() < 2030; d = d.AddDate(0, 0, 1) {
			start := startOfDay(zone, d.Year(), int(d.Month()), d.Day())
			next := startOfDay(zone, d.Year(), int(d.Month()), d.Day()+1)
			if zone.String() == "Pacific/Apia" && d.Year() == 2011 && d.Month() == time.December && d.Day() >= 29 {
				previous = start
				continue
			}
			if length := start.Sub(previous); length < 22*time.Hour || length > 26*time.Hour {
				t.Errorf("%v: the day before %s lasts %v", zone, d.Format(time.DateOnly), length)
			}
			before, at := start.Add(-time.Second).In(zone), start.In(zone)
			if at.Format(time.DateOnly) != d.Format(time.DateOnly) || before.Format(time.DateOnly) >= d.Format(time.DateOnly) {
				t.Errorf("%v: %s begins at %v, a second earlier it is %v", zone, d.Format(time.DateOnly), at, before)
			}
			if !next.After(start) {
				t.Errorf("%v: %s ends at %v, before it begins", zone, d.Format(time.DateOnly), next)
			}
			previous = start
		}
	}
}

func TestDaysSinceEpoch(t *testing.T) {
	t.Parallel()
	for d := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC); d.Year() < 2500; d = d.AddDate(0, 0, 1) {
		if got := daysSinceEpoch(d.Year(), int(d.Month()), d.Day()); got != d.Unix()/86400 {
			t.Fatalf("%s is day %d, want %d", d.Format(time.DateOnly), got, d.Unix()/86400)
		}
		if last := d.AddDate(0, 0, 1).Day() == 1; last != (daysIn(d.Year(), int(d.Month())) == d.Day()) {
			t.Fatalf("%s: daysIn says %d", d.Format(time.DateOnly), daysIn(d.Year(), int(d.Month())))
		}
	}
}

// FuzzTimes: what the fast way understands is what the time package reads.
func FuzzTimes(f *testing.F) {
	layouts := []string{
		time.RFC3339, "2006-01-02", "02.01.2006", "02.01.06", "2006-01-02 15:04:05", "02/01/2006 15:04", "20060102150405",
		"2006-01-02T15:04:05", "2006-01-02 15:04:05.000", "2.1.2006", "02 Jan 2006", "2006-01-02 15:04:05 -0700", "15:04:05, 02.01.2006",
	}
	for i := range layouts {
		for _, text := range []string{
			"2026-11-01T10:00:00Z", "2026-11-01T10:00:00.25+03:00", "2026-11-01", "01.11.2026", "29.02.24", "30.02.2026", "2026-11-01 24:00:00",
			"2026-13-01", "31/12/2026 9:05", "20261101235959", "2026-11-01 10:00:00,5", "1.1.2026", "01 Nov 2026", "2026-03-29 02:30:00",
			"10:00:00.5, 01.11.2026", "2026-11-01T10:00:00-00:00", "2026-11-01T10:00:60Z", "0000-00-00",
		} {
			f.Add(uint8(i), text)
		}
	}
	all := zones(f)
	f.Fuzz(func(t *testing.T, i uint8, text string) {
		layoutText := layouts[int(i)%len(layouts)]
		zone := all[int(i)/len(layouts)%len(all)]
		l, err := newLayout(layoutText, zone)
		if err != nil {
			t.Fatal(err)
		}
		r := newTimeReader(zone, sources.Period{}, time.Time{})
		got, end, err := r.parse(l, []byte(text))
		again, _, errAgain := r.parse(l, []byte(text))
		if !got.Equal(again) || !errors.Is(errAgain, err) {
			t.Fatalf("%q: %v, %v the first time, then %v, %v", text, got, err, again, errAgain)
		}
		reading := time.UTC
		if l.zoned {
			reading = zone
		}
		want, wantErr := time.ParseInLocation(layoutText, text, reading)
		switch {
		case err == nil && wantErr != nil:
			t.Fatalf("%q under %q is read as %v; the time package says %v", text, layoutText, got, wantErr)
		case err == nil && l.zoned && !got.Equal(want):
			t.Fatalf("%q under %q is read as %v, want %v", text, layoutText, got, want)
		case err == nil && l.day:
			if shown := got.In(zone).Format(time.DateOnly); shown != want.Format(time.DateOnly) {
				t.Fatalf("%q under %q is the day from %v, which is %s", text, layoutText, got, shown)
			}
			if !end.After(got) {
				t.Fatalf("%q under %q: the day from %v ends at %v", text, layoutText, got, end)
			}
		case err == nil && !l.zoned:
			if clockOf(got.In(zone)) != clockOf(want) {
				t.Fatalf("%q under %q in %v is read as %v, where the clock shows %v", text, layoutText, zone, got, got.In(zone))
			}
		case err != nil && wantErr == nil && !errors.Is(err, errFarAway) && !errors.Is(err, errGap):
			t.Fatalf("%q under %q: %v; the time package reads %v", text, layoutText, err, want)
		}
	})
}
