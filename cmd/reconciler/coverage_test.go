package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reconciler/reports"
)

func TestCoverage(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	stdout, _ := h.must(codeDone, "coverage")
	mustContain(t, stdout, "acme", "main", "nothing yet")

	h.writeStatement("acme-2026-03-01_2026-03-05.csv", acmeStatement(0, 0), past(8, 0))
	h.writeStatement("acme-2026-03-08_2026-03-10.csv", acmeStatement(0, 0), past(20, 0))
	h.must(codeDone, "ingest", "acme")
	stdout, _ = h.must(codeDone, "coverage", "acme")
	mustContain(t, stdout, "covered  2026-03-01 … 2026-03-05", "GAP      2026-03-06 … 2026-03-07", "covered  2026-03-08 … 2026-03-10", "2026-03-11 00:00 UTC")

	var got []coverageLine
	h.json(codeDone, &got, "coverage", "acme")
	range2 := func(from, to time.Time) period { return period{From: &from, To: &to} }
	end := past(11, 0)
	want := []coverageLine{{
		Source: "acme", Account: "main", CoveredTo: &end,
		Covered: []period{range2(past(1, 0), past(6, 0)), range2(past(8, 0), end)},
		Gaps:    []period{range2(past(6, 0), past(8, 0))},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("coverage -o json (-want +got):\n%s", diff)
	}
	_, stderr := h.must(codeUsage, "coverage", "acmee")
	mustContain(t, stderr, `no source "acmee"`)
}

func TestStrip(t *testing.T) {
	t.Parallel()
	from := past(1, 0)
	to := from.Add(stripWidth * time.Hour)
	c := reports.Coverage{Ranges: []reports.Range{
		{From: from.AddDate(-1, 0, 0), To: from.Add(2 * time.Hour)},
		{From: from.Add(150 * time.Minute), To: from.Add(4 * time.Hour)},
		{From: from.Add((stripWidth - 1) * time.Hour), To: to.AddDate(1, 0, 0)},
	}}
	want := "██▒█" + strings.Repeat("·", stripWidth-5) + "█"
	if got := strip(c, from, to); got != want {
		t.Errorf("strip() =\n%s, want\n%s", got, want)
	}
	if got := strip(reports.Coverage{}, from, from); strings.Trim(got, "·") != "" {
		t.Errorf("strip() of no time = %q, want only dots", got)
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	moscow := time.FixedZone("MSK", 3*60*60)
	for _, c := range []struct {
		from, to time.Time
		zone     *time.Location
		want     string
	}{
		{past(1, 0), past(2, 0), nil, "2026-03-01"},
		{past(1, 0), past(3, 0), time.UTC, "2026-03-01 … 2026-03-02"},
		{past(1, 21), past(2, 21), moscow, "2026-03-02 (MSK)"},
		{past(1, 12), past(2, 21), moscow, "2026-03-01 12:00 UTC … 2026-03-02 21:00 UTC"},
		{past(1, 0), past(1, 12), time.UTC, "2026-03-01 00:00 UTC … 2026-03-01 12:00 UTC"},
		{time.Time{}, past(1, 12), time.UTC, "the beginning … 2026-03-01 12:00 UTC"},
		{past(1, 12), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), time.UTC, "2026-03-01 12:00 UTC … the end of time"},
		{past(1, 0), past(1, 0), time.UTC, "2026-03-01 00:00 UTC … 2026-03-01 00:00 UTC"},
		{time.Time{}, time.Time{}, time.UTC, "–"},
	} {
		if got := span(c.from, c.to, c.zone); got != c.want {
			t.Errorf("span(%v, %v) = %q, want %q", c.from, c.to, got, c.want)
		}
	}
}
