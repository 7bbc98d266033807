package matcher

import (
	"slices"
	"time"

	"reconciler/journal"
)

// Decide concludes from the facts what is true of one operation, and what
// follows from it under the policy, at the instant now. It is total: it always
// gives exactly one reason code, and asks only for moves that the journal
// accepts from the reconciler. Where several rows of the decision table could
// apply, the first in the table's order does.
func Decide(f Facts, p Policy, now time.Time) Decision {
	q := newInquiry(f, p, now)
	d := q.decide()
	d.Window = q.time.judged(q.proof.required)
	if len(d.Breaks) > 0 {
		d.Settled = false
	}
	return d
}

// inquiry is one operation with everything that is derived from its facts once.
type inquiry struct {
	facts  Facts
	policy Policy
	now    time.Time
	op     journal.Operation
	time   timing
	ev     evidence
	proof  proof
}

func newInquiry(f Facts, p Policy, now time.Time) *inquiry {
	t := newTiming(f, p, now)
	return &inquiry{
		facts: f, policy: p, now: now, op: f.Operation, time: t,
		ev: gather(f, p, t), proof: prove(f, p, t),
	}
}

// reopened is the same inquiry with the operation unknown, to ask what would
// be decided if it were still open.
func (q *inquiry) reopened() *inquiry {
	other := *q
	other.op.Status = journal.Unknown
	other.time.op.Status = journal.Unknown
	return &other
}

func (q *inquiry) decide() Decision {
	if q.time.live() {
		return q.leased()
	}
	if d, ok := q.reconsider(); ok {
		return d
	}
	return q.natural()
}

// leased: a worker holds the operation; it is never touched.
func (q *inquiry) leased() Decision {
	if q.time.overheld() {
		return Decision{Reason: LeaseOverheld, Outcome: OutcomeUncertain, Breaks: []Break{q.leaseOverheld()}}
	}
	return Decision{Reason: InProgress, Outcome: OutcomeUncertain}
}

// natural is the decision on the evidence alone, without regard to what was
// decided before.
func (q *inquiry) natural() Decision {
	switch {
	case q.ev.unclear():
		return q.stays(Decision{
			Reason: AmbiguousReference, Outcome: OutcomeUncertain, Breaks: []Break{q.ambiguous()},
			RestsOn: candidateIDs(slices.Concat(q.ev.contested, q.ev.conflicted)),
		})
	case len(q.ev.standing) > 0:
		return q.shown(q.ev.find(q.money(), q.policy))
	case len(q.ev.reversed) > 0:
		return q.happened(Decision{
			Reason: ReversedAtProvider, Outcome: OutcomeReversed, Breaks: []Break{q.takenBack()},
		}, q.ev.reversed[0])
	case len(q.ev.pending) > 0:
		return q.pending()
	}
	return q.nothing()
}

// shown: at least one effect stands.
func (q *inquiry) shown(found finding) Decision {
	if q.op.Status == journal.FailedFinal {
		d := Decision{Reason: EffectAfterFailure, Outcome: OutcomeDisputed, Breaks: []Break{q.afterFailure(found)}}
		if found.reason == DuplicateEffect {
			d.Reason = DuplicateEffect
			d.Breaks = []Break{q.duplicate(found), q.afterFailure(found)}
		}
		return q.rests(d)
	}
	d := Decision{Reason: found.reason, Outcome: OutcomeDisputed}
	switch {
	case found.reason == Confirmed:
		return q.confirmed(found)
	case found.reason != DuplicateEffect:
		d.Breaks = []Break{q.differs(found)}
	default:
		d.Breaks = []Break{q.duplicate(found)}
		if found.agreeing != nil {
			return q.happened(d, found.agreeing)
		}
	}
	return q.stays(q.rests(d))
}

func (q *inquiry) confirmed(found finding) Decision {
	d := Decision{Reason: Confirmed, Outcome: OutcomeEffect}
	switch {
	case q.op.Status == journal.Succeeded:
		d.Reason, d.Settled = Settled, true
	case q.idle():
		d.Reason = ConfirmedBeforeRetry
	}
	// Parts that add up have no single identifier to keep.
	return q.happened(d, found.agreeing)
}

// happened moves the operation to succeeded, unless it is settled already; e
// names the effect, and may be nil.
func (q *inquiry) happened(d Decision, e *effect) Decision {
	d = q.rests(d)
	if q.op.Status.Terminal() {
		return d
	}
	d.Transition = &Transition{From: q.op.Status, To: journal.Succeeded, Reason: d.Reason}
	if e != nil && q.op.ProviderOperationID == "" {
		d.Transition.ProviderOperationID = e.id()
	}
	return d
}

func (q *inquiry) rests(d Decision) Decision {
	d.RestsOn = recordIDs(q.ev.standing, q.ev.reversed, q.ev.reversals)
	return d
}

// stays: nothing can be concluded. An open operation stays open (an executing
// one whose worker is gone becomes unknown); one that could be claimed may
// not be while this stands.
func (q *inquiry) stays(d Decision) Decision {
	switch {
	case q.idle():
		d.Transition = q.toUnknown(d.Reason)
	case q.time.abandoned():
		d.Transition = q.toUnknown(LeaseExpired)
	}
	return d
}

func (q *inquiry) toUnknown(reason ReasonCode) *Transition {
	return &Transition{From: q.op.Status, To: journal.Unknown, Reason: reason}
}

// idle: nobody is at it, and a worker could claim it.
func (q *inquiry) idle() bool {
	return q.op.Status == journal.Planned || q.op.Status == journal.FailedRetryable
}

func (q *inquiry) pending() Decision {
	d := Decision{Reason: PendingAtProvider, Outcome: OutcomePending, RestsOn: recordIDs(q.ev.pending)}
	if q.now.After(q.time.lastCallKnown().Add(q.policy.PendingLimit)) {
		d.Reason = PendingTooLong
		d.Breaks = []Break{q.pendingTooLong()}
	}
	return q.stays(d)
}

// nothing: no effect, none taken back, none pending; perhaps refusals, perhaps
// records that prove nothing.
func (q *inquiry) nothing() Decision {
	switch q.op.Status {
	case journal.Planned, journal.FailedRetryable:
		return q.claimable()
	case journal.Succeeded:
		return q.unseen()
	case journal.FailedFinal:
		return q.failed()
	case journal.Unknown, journal.Executing:
	}
	switch {
	case len(q.ev.refusals) > 0:
		return q.refused()
	case q.proof.covered:
		return q.absent()
	}
	if d, ok := q.byKey(); ok {
		return d
	}
	return q.unproven(Decision{Reason: NotYetProvable, Outcome: OutcomeUncertain})
}

// claimable: planned or failed_retryable, and no effect is in sight.
func (q *inquiry) claimable() Decision {
	switch {
	case q.ev.loneReversal(), (q.ev.exists || q.facts.LateSuccess) && !q.facts.Reviewed:
		// No effect is shown, but something says that there was one. A person
		// who has seen that may have permitted the retry all the same.
		d := q.reopened().natural()
		d.Transition = q.toUnknown(d.Reason)
		return d
	case q.permitExpired():
		return q.expired()
	}
	d := Decision{
		Reason: Waiting, Outcome: OutcomeUncertain, MayRetry: !q.now.Before(q.op.RetryNotBefore),
		RestsOn: recordIDs(q.ev.refusals),
	}
	if q.op.Status != journal.Planned {
		return d
	}
	if q.op.AttemptCount == 0 {
		d.Outcome = OutcomeNotTried
	}
	if q.policy.PlanLimit > 0 && q.now.After(q.op.CreatedAt.Add(q.policy.PlanLimit)) {
		d.Reason = NeverClaimed
		d.Breaks = []Break{q.neverClaimed()}
	}
	return d
}

// unseen: the journal says succeeded, and the provider does not show it.
func (q *inquiry) unseen() Decision {
	switch {
	case q.ev.loneReversal():
		return q.rests(Decision{
			Reason: ReversedAtProvider, Outcome: OutcomeReversed, Breaks: []Break{q.reversalOnly()},
		})
	case len(q.ev.refusals) > 0:
		return Decision{
			Reason: RefusedAfterSuccess, Outcome: OutcomeDisputed, Breaks: []Break{q.refusedAfterSuccess()},
			RestsOn: recordIDs(q.ev.refusals),
		}
	case q.proof.covered:
		return Decision{
			Reason: MissingAtProvider, Outcome: OutcomeDisputed, Breaks: []Break{q.missing()},
			Absence: true, Proof: q.proof.relied,
		}
	}
	return Decision{Reason: NotYetProvable, Outcome: OutcomeEffect, ProvableAt: q.proof.provableAt}
}

// failed: failed_final, and no effect is shown. A reversal, or the word of a
// worker that came too late, says that there may have been one.
func (q *inquiry) failed() Decision {
	d := Decision{Reason: EffectAfterFailure, Outcome: OutcomeDisputed}
	switch {
	case q.ev.loneReversal():
		d.Breaks = []Break{q.reversalOnly()}
		return q.rests(d)
	case q.facts.LateSuccess && !q.proof.covered:
		d.Breaks = []Break{q.lateSuccess()}
		return d
	}
	return Decision{
		Reason: Settled, Outcome: OutcomeNoEffect, Settled: true, RestsOn: recordIDs(q.ev.refusals),
	}
}

// refused: open, and the provider shows only refusals.
func (q *inquiry) refused() Decision {
	d := Decision{Reason: Refused, Outcome: OutcomeNoEffect, RestsOn: recordIDs(q.ev.refusals)}
	if !q.proof.covered {
		d.Reason, d.Outcome, d.ProvableAt = RefusedNotFinal, OutcomeUncertain, q.proof.provableAt
		d.Breaks = q.unprovenBreaks()
		return q.stays(d)
	}
	d.Absence, d.Proof = true, q.proof.relied
	d.Speaks = q.against().all()
	switch {
	case len(d.Speaks) == 0 && q.safe():
		return q.permitOr(d, q.refusalNeedsDecision)
	case len(d.Speaks) == 0:
		d.Transition = &Transition{From: q.op.Status, To: journal.FailedFinal, Reason: Refused}
		return d
	}
	return q.review(d, q.refusalNeedsDecision)
}

// safe reports that every refusal is one that the policy lists as safe.
func (q *inquiry) safe() bool {
	for _, e := range q.ev.refusals {
		for _, v := range e.views {
			if !safeRefusal(v.Record, q.policy) {
				return false
			}
		}
	}
	return true
}

// absent: open, covered, and the provider shows nothing.
func (q *inquiry) absent() Decision {
	d := Decision{
		Reason: Absent, Outcome: OutcomeNoEffect, Absence: true, Proof: q.proof.relied, Speaks: q.against().all(),
	}
	switch {
	case len(d.Speaks) > 0:
		return q.review(d, q.absentNeedsDecision)
	case q.policy.OnAbsent == Retry:
		return q.permitOr(d, q.absentNeedsDecision)
	case q.policy.OnAbsent == Fail:
		d.Transition = &Transition{From: q.op.Status, To: journal.FailedFinal, Reason: Absent}
		return d
	}
	return q.review(d, q.absentNeedsDecision)
}

// permitOr gives a permit, or sends to a person with the reason why not.
func (q *inquiry) permitOr(d Decision, needs func(Decision) Break) Decision {
	bounds, why := q.permitOn()
	if len(why) > 0 {
		d.Speaks = append(d.Speaks, why...)
		return q.review(d, needs)
	}
	return q.permitted(d, bounds)
}

func (q *inquiry) permitted(d Decision, bounds permit) Decision {
	d.MayRetry = true
	d.Transition = &Transition{
		From: q.op.Status, To: journal.FailedRetryable, Reason: d.Reason,
		RetryNotBefore: bounds.notBefore, RetryNotAfter: bounds.notAfter,
	}
	return d
}

// review sends the operation to a person.
func (q *inquiry) review(d Decision, needs func(Decision) Break) Decision {
	if len(d.Speaks) > 0 {
		d.Outcome = OutcomeUncertain
	}
	d.Breaks = []Break{needs(d)}
	if q.op.Status != journal.Unknown {
		d.Transition = q.toUnknown(d.Reason)
	}
	return d
}

// byKey gives a permit that rests on the provider's memory of our key and
// needs no proof of absence.
func (q *inquiry) byKey() (Decision, bool) {
	if q.policy.RetryNeeds != NeedsKey || q.policy.OnAbsent != Retry || !q.against().silent() {
		return Decision{}, false
	}
	bounds, why := q.permitOn()
	if len(why) > 0 {
		return Decision{}, false
	}
	return q.permitted(Decision{Reason: PermittedByKey, Outcome: OutcomeUncertain}, bounds), true
}

// unproven: open, and the statements do not reach far enough.
func (q *inquiry) unproven(d Decision) Decision {
	d.ProvableAt = q.proof.provableAt
	d.Breaks = q.unprovenBreaks()
	if len(q.proof.holes) > 0 {
		d.Reason = CoverageGap
	}
	if q.overdue() {
		d.Reason = UnresolvedOverdue
	}
	return q.stays(d)
}

func (q *inquiry) unprovenBreaks() []Break {
	var out []Break
	if q.overdue() {
		out = append(out, q.unresolvedOverdue())
	}
	for _, h := range q.proof.holes {
		out = append(out, q.coverageGap(h))
	}
	return out
}

func (q *inquiry) overdue() bool {
	return q.policy.OverdueAfter > 0 && q.now.After(q.time.overdueAt(q.proof.required))
}

func (q *inquiry) money() operationMoney {
	return operationMoney{amountMinor: q.op.AmountMinor, hasAmount: q.op.HasAmount, currency: q.op.Currency}
}
