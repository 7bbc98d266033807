package matcher

import (
	"time"

	"reconciler/journal"
	"reconciler/sources"
)

// centuryYears from now a lease counts as one without end: this is how
// lease_until = 'infinity' arrives here.
const centuryYears = 100

// longestDay is the length of the day on which clocks go back.
const longestDay = 25 * time.Hour

// timing is what the clock says about one operation.
type timing struct {
	op     journal.Operation
	policy Policy
	now    time.Time
	// updatedAt is when a worker last changed the row.
	updatedAt time.Time
}

func newTiming(f Facts, p Policy, now time.Time) timing {
	updatedAt := f.WorkerUpdatedAt
	if updatedAt.IsZero() {
		updatedAt = f.Operation.UpdatedAt
	}
	return timing{op: f.Operation, policy: p, now: now, updatedAt: updatedAt}
}

// leaseEnd is when the lease of an executing operation expires. Without a
// lease it is the later of the last update and the last attempt, plus the
// grace.
func (t timing) leaseEnd() time.Time {
	if !t.op.LeaseUntil.IsZero() {
		return t.op.LeaseUntil
	}
	return latest(t.updatedAt, t.op.LastAttemptAt).Add(t.policy.LeaseGrace)
}

// live reports that a worker still holds the operation.
func (t timing) live() bool {
	return t.op.Status == journal.Executing && t.now.Before(t.leaseEnd())
}

// overheld reports that a live lease is older than it may be, or has no end.
func (t timing) overheld() bool {
	if t.endless() {
		return true
	}
	return t.policy.MaxLease > 0 && t.now.Sub(t.heldSince()) > t.policy.MaxLease
}

// heldSince is when the worker of the present attempt took the operation.
func (t timing) heldSince() time.Time {
	if t.op.LastAttemptAt.IsZero() {
		return t.updatedAt
	}
	return t.op.LastAttemptAt
}

// abandoned reports that the grace after an expired lease has passed, so that
// executing becomes unknown. A missing lease has the grace in its end already.
func (t timing) abandoned() bool {
	if t.op.Status != journal.Executing {
		return false
	}
	end := t.leaseEnd()
	if !t.op.LeaseUntil.IsZero() {
		end = end.Add(t.policy.LeaseGrace)
	}
	return !t.now.Before(end)
}

func (t timing) endless() bool {
	return t.op.LeaseUntil.After(t.now.AddDate(centuryYears, 0, 0))
}

// lastCall is the latest moment at which a call may have ended.
func (t timing) lastCall() time.Time {
	return latest(t.op.CreatedAt, t.updatedAt, t.op.LastAttemptAt, t.op.LeaseUntil).Add(t.policy.MaxCall)
}

// lastCallKnown is lastCall without a lease that never ends: limits after
// which a person must look may not wait for ever.
func (t timing) lastCallKnown() time.Time {
	if !t.endless() {
		return t.lastCall()
	}
	return latest(t.op.CreatedAt, t.updatedAt, t.op.LastAttemptAt).Add(t.policy.MaxCall)
}

// window is the evidence window of the operation in one source: from its
// creation to its last possible effect, by the source's clock.
func (t timing) window(s SourceRule) sources.Period {
	to := t.lastCall().Add(s.ClockSkew)
	if s.DatedBy == sources.ByBooking {
		to = to.Add(s.SettlementLag)
	}
	return sources.Period{From: t.op.CreatedAt.Add(-s.ClockSkew), To: to}
}

// shownBy is when the source must have shown an effect of the operation; an
// as_of of that time covers the window, whatever the source is dated by.
func (t timing) shownBy(s SourceRule) time.Time {
	return t.lastCall().Add(s.ClockSkew + s.SettlementLag)
}

// overdueAt is when an operation without anything decisive goes to a person.
func (t timing) overdueAt(required []SourceRule) time.Time {
	var reach time.Duration
	for _, s := range required {
		reach = max(reach, s.ClockSkew+s.SettlementLag)
	}
	return t.lastCallKnown().Add(reach + t.policy.OverdueAfter)
}

// firstAttempt is when the life of the provider's memory of our key began.
func (t timing) firstAttempt() time.Time {
	if t.op.FirstAttemptAt.IsZero() {
		return t.op.CreatedAt
	}
	return t.op.FirstAttemptAt
}

// before reports that a record is dated before the window, so that it can't
// be this operation's effect. Where only a day is given the whole day must
// lie before; a record without a date is taken as inside.
func before(w sources.Period, rec sources.Record) bool {
	switch {
	case !rec.OccurredTo.IsZero():
		return !rec.OccurredTo.After(w.From)
	case !rec.OccurredAt.IsZero():
		return rec.OccurredAt.Before(w.From)
	case !rec.BookedAt.IsZero():
		// Booking follows the effect, and is often only a day.
		return !rec.BookedAt.Add(longestDay).After(w.From)
	}
	return false
}

// judged is the union of the windows of the given sources; without a source
// it is the operation's own time.
func (t timing) judged(rules []SourceRule) sources.Period {
	if len(rules) == 0 {
		return t.window(SourceRule{})
	}
	out := t.window(rules[0])
	for _, s := range rules[1:] {
		w := t.window(s)
		if w.From.Before(out.From) {
			out.From = w.From
		}
		out.To = latest(out.To, w.To)
	}
	return out
}

func latest(times ...time.Time) time.Time {
	var out time.Time
	for _, t := range times {
		if t.After(out) {
			out = t
		}
	}
	return out
}
