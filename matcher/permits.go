package matcher

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"reconciler/sources"
)

// speaks lists what speaks against an automatic retry or failure although
// the provider shows nothing (or only refusals). The list is split, because a
// conclusion of the past is measured by evidence only, not by later limits.
type speaks struct {
	evidence, limits []string
}

func (s speaks) all() []string { return append(append([]string(nil), s.evidence...), s.limits...) }

func (s speaks) silent() bool { return len(s.evidence)+len(s.limits) == 0 }

// against collects what speaks against an automatic conclusion.
func (q *inquiry) against() speaks {
	var out speaks
	if q.proof.covered && !q.proof.proven {
		out.evidence = append(out.evidence, "the coverage rests on a statement whose end is only assumed")
	}
	for i, c := range q.ev.strange {
		if i == listed {
			out.evidence = append(out.evidence, fmt.Sprintf("%s more matched as well", count(len(q.ev.strange)-listed)))
			break
		}
		out.evidence = append(out.evidence, q.why(c))
	}
	if len(q.ev.reversals) > 0 {
		out.evidence = append(out.evidence, "a reversal is shown without the effect that it takes back")
	}
	if list := q.facts.UnownedSameAmount; len(list) > 0 && q.op.HasAmount {
		out.evidence = append(out.evidence, fmt.Sprintf("%s of the same amount and currency in the window without an owner (%s)", count(len(list)), places(list)))
	}
	if list := q.facts.UnownedWithoutReference; len(list) > 0 {
		out.evidence = append(out.evidence, fmt.Sprintf("%s in the window without a usable reference (%s)", count(len(list)), places(list)))
	}
	if q.nameless() {
		out.evidence = append(out.evidence, "it bears no name that the provider shows: no business reference, and the sources do not echo our key")
	}
	if q.facts.LateSuccess {
		out.evidence = append(out.evidence, "a worker whose lease had run out reported a success")
	}
	if q.facts.Reviewed {
		out.limits = append(out.limits, "it is with a person already, and only a decision goes on from here")
	}
	if q.policy.MaxRetryAge > 0 && !q.now.Before(q.op.CreatedAt.Add(q.policy.MaxRetryAge)) {
		out.limits = append(out.limits, "it is older than max_retry_age")
	}
	if q.policy.MaxAttempts > 0 && q.op.AttemptCount >= q.policy.MaxAttempts {
		out.limits = append(out.limits, fmt.Sprintf("max_attempts is used up (%d)", q.op.AttemptCount))
	}
	return out
}

// nameless reports that the provider could not show the operation if it
// wanted to: that nothing is found then proves little.
func (q *inquiry) nameless() bool {
	return q.op.BusinessReference == "" && q.op.ProviderOperationID == "" && len(q.facts.Candidates) == 0 &&
		!slices.ContainsFunc(q.facts.Sources, func(s SourceRule) bool { return s.EchoesKey })
}

// places names where records stand, in a fixed order.
func places(list []Unowned) string {
	var out []string
	for _, u := range list {
		place := u.Source + " " + u.RecordKey
		if u.Statement != "" {
			place = fmt.Sprintf("%s line %d", u.Statement, u.Line)
		}
		out = append(out, place)
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// why says in words what a strange record is.
func (q *inquiry) why(c Candidate) string {
	name := fmt.Sprintf("record %s of %s", c.RecordKey, c.Source)
	switch {
	case c.Replaced:
		return name + " matched, and was replaced by a later statement"
	case c.Ownership == OwnedByOther:
		return name + " matches, but belongs to another operation"
	case foreign(q.facts, c):
		return name + " matches, but is of another provider or account"
	case before(q.time.window(ruleOf(q.facts.Sources, c.Source)), c.Record):
		return name + " matches, but is dated before the operation"
	case c.Record.Status == sources.Failed && saysExists(c.Record):
		return name + " says that the provider has it already"
	}
	return name + " matches, but is of another kind, direction or status"
}

func count(n int) string {
	if n == 1 {
		return "1 record"
	}
	return fmt.Sprintf("%d records", n)
}

// permit bounds a permit.
type permit struct {
	notBefore, notAfter time.Time
}

// keyEnd is when the provider may have forgotten our key: a call that begins
// before it ends inside the key's life.
func (q *inquiry) keyEnd() time.Time {
	return q.time.firstAttempt().Add(q.policy.KeyTTL - q.policy.KeyMargin - q.policy.MaxCall)
}

// keyAlive reports that the provider still knows our key, so that a
// repetition has no second effect.
func (q *inquiry) keyAlive() bool {
	return q.now.Before(q.keyEnd())
}

// permitOn gives the permit that proven absence allows, or why it allows none.
func (q *inquiry) permitOn() (permit, []string) {
	if q.policy.PermitsOff {
		return permit{}, []string{"permits are switched off"}
	}
	out := permit{notBefore: q.now}
	if q.policy.MaxRetryAge > 0 {
		out.notAfter = q.op.CreatedAt.Add(q.policy.MaxRetryAge)
	}
	if q.policy.RetryNeeds == NeedsAbsence {
		if !q.policy.SenderDeadlineEnforced {
			return permit{}, []string{"the policy does not say that writers stop sending at their lease (sender_deadline: enforced)"}
		}
		return out, nil
	}
	// key, both, and whatever is not known: the stricter side.
	if !q.keyAlive() {
		return permit{}, []string{"the provider may have forgotten our key"}
	}
	if out.notAfter.IsZero() || q.keyEnd().Before(out.notAfter) {
		out.notAfter = q.keyEnd()
	}
	return out, nil
}
