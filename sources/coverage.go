package sources

import (
	"slices"
	"time"
)

// Ranges is a set of half-open time ranges, sorted, disjoint and not touching.
type Ranges []Period

// NewRanges brings periods into that form; empty ones are dropped.
func NewRanges(periods ...Period) Ranges {
	sorted := slices.Clone(periods)
	slices.SortFunc(sorted, func(a, b Period) int { return a.From.Compare(b.From) })
	var out Ranges
	for _, p := range sorted {
		if !p.From.Before(p.To) {
			continue
		}
		if n := len(out); n > 0 && !p.From.After(out[n-1].To) {
			if p.To.After(out[n-1].To) {
				out[n-1].To = p.To
			}
			continue
		}
		out = append(out, p)
	}
	return out
}

// Missing returns the parts of p that the ranges do not cover.
func (r Ranges) Missing(p Period) Ranges {
	var out Ranges
	at := p.From
	for _, c := range r {
		if !c.To.After(at) {
			continue
		}
		if !c.From.Before(p.To) {
			break
		}
		if c.From.After(at) {
			out = append(out, Period{From: at, To: c.From})
		}
		at = c.To
	}
	if at.Before(p.To) {
		out = append(out, Period{From: at, To: p.To})
	}
	return out
}

// Covers reports whether every instant of p lies in the ranges.
func (r Ranges) Covers(p Period) bool { return len(r.Missing(p)) == 0 }

// End is the end of the last range; zero if there is none.
func (r Ranges) End() time.Time {
	if len(r) == 0 {
		return time.Time{}
	}
	return r[len(r)-1].To
}

// Dating says by which time a source files its records, and so what a period covers.
type Dating string

// The two datings.
const (
	// ByOccurrence: a record stands in the period in which the effect happened,
	// but may be listed up to the settlement lag later.
	ByOccurrence Dating = "occurred"
	// ByBooking: a record stands in the period in which it was booked, up to
	// the settlement lag after the effect.
	ByBooking Dating = "booked"
)

// CoverageRule turns accepted periods into covered time.
type CoverageRule struct {
	DatedBy       Dating
	SettlementLag time.Duration
	// Retention is how long the provider remembers; 0 = for ever.
	Retention time.Duration
}

// Covered is the part of a complete statement's period that it covers:
// nothing after as_of (less the lag, for a source dated by occurrence), and
// nothing that the provider had forgotten by then. Empty ranges are zero.
func (c CoverageRule) Covered(p Period, asOf time.Time) Period {
	limit := asOf
	if c.DatedBy != ByBooking {
		limit = asOf.Add(-c.SettlementLag)
	}
	if limit.Before(p.To) {
		p.To = limit
	}
	if c.Retention > 0 {
		if from := asOf.Add(-c.Retention); from.After(p.From) {
			p.From = from
		}
	}
	if !p.From.Before(p.To) {
		return Period{}
	}
	return p
}
