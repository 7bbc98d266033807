package matcher

import (
	"slices"

	"reconciler/journal"
)

// reconsider looks again at what the reconciler itself concluded, if that was
// the last move. A permit that nobody has claimed is measured every time: it
// is withdrawn as soon as it would not be given any more. A verdict
// (succeeded, failed_final) is measured when something that it rested on was
// replaced; if it no longer holds a person hears of it, and it is never
// turned back. ok is false where there is nothing to say beyond the natural
// decision.
func (q *inquiry) reconsider() (Decision, bool) {
	earlier := q.facts.Earlier
	if earlier == nil || earlier.To != q.op.Status {
		return Decision{}, false
	}
	switch earlier.To {
	case journal.FailedRetryable:
		return q.permitAgain()
	case journal.Succeeded, journal.FailedFinal:
		if earlier.EvidenceReplaced && !q.holds(earlier.To) {
			return q.changed(), true
		}
	case journal.Planned, journal.Executing, journal.Unknown:
	}
	return Decision{}, false
}

// permitAgain withdraws a permit of ours that would not be given any more.
// Evidence of an effect, and a permit that has run out by itself, are the
// natural decision's business.
func (q *inquiry) permitAgain() (Decision, bool) {
	natural := q.natural()
	if natural.Reason != Waiting || q.stillPermitted() {
		return Decision{}, false
	}
	d := q.reopened().natural()
	return Decision{
		Reason: EvidenceChanged, Outcome: OutcomeUncertain, ProvableAt: d.ProvableAt, Speaks: d.Speaks,
		Transition: q.toUnknown(EvidenceChanged),
		Breaks:     append([]Break{q.permitWithdrawn()}, d.Breaks...),
	}, true
}

// stillPermitted asks whether the permit would be given now. A refusal that
// came since does not speak against a retry.
func (q *inquiry) stillPermitted() bool {
	open := q.reopened()
	if permits(open.natural()) {
		return true
	}
	open.ev.refusals = nil
	return permits(open.natural())
}

func permits(d Decision) bool {
	return d.Transition != nil && d.Transition.To == journal.FailedRetryable
}

// permitExpired: nobody claimed in time, and now nobody can.
func (q *inquiry) permitExpired() bool {
	return q.op.Status == journal.FailedRetryable &&
		!q.op.RetryNotAfter.IsZero() && !q.now.Before(q.op.RetryNotAfter)
}

// expired decides an operation whose permit has run out as if it were open,
// so that it does not wait for ever for a claim that can't come.
func (q *inquiry) expired() Decision {
	d := q.reopened().natural()
	if d.Transition == nil || !d.Transition.To.Terminal() {
		d.MayRetry = false
		d.Transition = q.toUnknown(d.Reason)
		return d
	}
	d.Transition.From = q.op.Status
	return d
}

// holds reports that the evidence of today still carries an earlier verdict.
// Only evidence counts: that max_retry_age has passed since does not make an
// absence of then doubtful.
func (q *inquiry) holds(verdict journal.Status) bool {
	open := q.reopened()
	if verdict == journal.Succeeded {
		d := open.natural()
		return d.Transition != nil && d.Transition.To == journal.Succeeded
	}
	ev := open.ev
	clean := !ev.unclear() && !ev.happened() && len(ev.pending) == 0
	if q.facts.Earlier.ReasonCode == Refused && len(ev.refusals) == 0 && q.policy.OnAbsent != Fail {
		return false
	}
	return clean && open.proof.covered && len(open.against().evidence) == 0
}

// changed: the evidence no longer carries the verdict. The status stays; a
// person decides.
func (q *inquiry) changed() Decision {
	d := q.natural()
	severity := High
	if slices.ContainsFunc(d.Breaks, func(b Break) bool { return b.Kind == EffectAfterFailure }) {
		severity = Critical
	}
	d.Breaks = append([]Break{q.evidenceChanged(severity)}, d.Breaks...)
	d.Reason, d.Outcome, d.Settled = EvidenceChanged, OutcomeDisputed, false
	return d
}
