package reports

import (
	"cmp"
	"slices"
	"time"
)

const (
	severityCritical = "critical"
	severityHigh     = "high"
	severityMedium   = "medium"
	severityLow      = "low"
)

// severities lists the severities, worst first.
func severities() []string {
	return []string{severityCritical, severityHigh, severityMedium, severityLow}
}

// rank orders severities; one that is not known stands first, because nobody
// has said that it is harmless.
func rank(severity string) int {
	return slices.Index(severities(), severity)
}

// zone returns the report's zone; without one it is UTC.
func (r Report) zone() *time.Location {
	if r.Zone == nil {
		return time.UTC
	}
	return r.Zone
}

// ordered returns r with its lists in the order in which reports show it, so that
// the order in which a database gave the rows does not show. Ties are broken
// by identity.
func (r Report) ordered() Report {
	r.Exceptions = sorted(r.Exceptions, func(a, b Exception) int {
		return cmp.Or(
			cmp.Compare(rank(a.Severity), rank(b.Severity)),
			a.FirstSeenAt.Compare(b.FirstSeenAt),
			cmp.Compare(a.ExceptionID, b.ExceptionID),
		)
	})
	r.Settled = sorted(r.Settled, func(a, b Settled) int {
		return cmp.Compare(a.IdempotencyKey, b.IdempotencyKey)
	})
	r.Waiting = sorted(r.Waiting, func(a, b Waiting) int {
		return cmp.Or(
			compareZeroLast(a.ProvableAt, b.ProvableAt),
			cmp.Compare(a.Operation.IdempotencyKey, b.Operation.IdempotencyKey),
		)
	})
	r.Coverage = sorted(r.Coverage, func(a, b Coverage) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Account, b.Account))
	})
	return r
}

// sorted returns in if it is in order, and a sorted copy otherwise: a report of
// many thousands is not copied without need.
func sorted[T any](in []T, compare func(a, b T) int) []T {
	if slices.IsSortedFunc(in, compare) {
		return in
	}
	out := slices.Clone(in)
	slices.SortStableFunc(out, compare)
	return out
}

func compareZeroLast(a, b time.Time) int {
	switch {
	case a.IsZero() && b.IsZero():
		return 0
	case a.IsZero():
		return 1
	case b.IsZero():
		return -1
	}
	return a.Compare(b)
}

// ageDays returns the age in calendar days of the report's zone: a case of
// yesterday evening is one day old this morning. ok is false without a start.
func (r Report) ageDays(since time.Time) (days int, ok bool) {
	if since.IsZero() || r.GeneratedAt.IsZero() {
		return 0, false
	}
	// Dates are compared as UTC midnights, because a day in the zone may have
	// 23 or 25 hours.
	days = int(midnightUTC(r.GeneratedAt.In(r.zone())).Sub(midnightUTC(since.In(r.zone()))) / (24 * time.Hour))
	return max(days, 0), true
}

func midnightUTC(local time.Time) time.Time {
	y, m, d := local.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// kindCount says how many exceptions are of a kind.
type kindCount struct {
	kind string
	n    int
}

// kindCounts counts the exceptions by kind, most first.
func kindCounts(exceptions []Exception) []kindCount {
	counts := map[string]int{}
	for _, e := range exceptions {
		counts[e.Kind]++
	}
	out := make([]kindCount, 0, len(counts))
	for kind, n := range counts {
		out = append(out, kindCount{kind, n})
	}
	slices.SortFunc(out, func(a, b kindCount) int {
		return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.kind, b.kind))
	})
	return out
}
