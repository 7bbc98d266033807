package matcher

import (
	"slices"

	"reconciler/sources"
)

// evidence is what the provider shows of one operation, sorted by what it
// means for it.
type evidence struct {
	// contested records are claimed by another operation just as strongly;
	// conflicted ones contradict themselves between statements.
	contested, conflicted []Candidate
	// standing effects are left after netting, reversed ones were taken back whole.
	standing, reversed []*effect
	// reversals and representments, whether or not they found an effect.
	reversals []*effect
	pending   []*effect
	refusals  []*effect
	// strange records matched, but are no evidence for anything: replaced,
	// dated before the window, owned by another, of another kind.
	strange []Candidate
	// exists: the provider refused a repetition because it has the first one.
	exists bool
}

// gather sorts the candidates. Their order does not matter.
func gather(f Facts, p Policy, t timing) evidence {
	candidates := slices.Clone(f.Candidates)
	for i, c := range candidates {
		if c.Provider == "" {
			candidates[i].Provider = ruleOf(f.Sources, c.Source).Provider
		}
	}
	slices.SortFunc(candidates, compareCandidates)

	var ev evidence
	var own []Candidate
	for _, c := range candidates {
		rec := c.Record
		stray := c.Replaced || c.Ownership == OwnedByOther || foreign(f, c) ||
			before(t.window(ruleOf(f.Sources, c.Source)), rec)
		other := roleOf(rec.Kind, rec.Direction, p) == roleOther
		switch {
		case stray, other && c.Ownership != Owned:
			ev.strange = append(ev.strange, c)
		case c.Ownership != Owned:
			ev.contested = append(ev.contested, c)
		case c.Conflicted && !other:
			ev.conflicted = append(ev.conflicted, c)
		default:
			own = append(own, c)
		}
	}
	ev.sortEffects(mergeViews(own, p), p)
	ev.forgiveOlderRefusals()
	return ev
}

// ruleOf finds the rule of a source; a source that the policy does not name
// has no skew, no lag, and is its own provider.
func ruleOf(rules []SourceRule, source string) SourceRule {
	at := slices.IndexFunc(rules, func(s SourceRule) bool { return s.Name == source })
	if at < 0 {
		return SourceRule{Name: source, Provider: source}
	}
	return rules[at]
}

// foreign reports that a record belongs to another provider or account than
// the operation: they are part of the identity, so it is no match at all.
func foreign(f Facts, c Candidate) bool {
	op := f.Operation
	return op.Provider != "" && c.Provider != op.Provider || op.Account != "" && c.Record.Account != op.Account
}

func (ev *evidence) sortEffects(all []*effect, p Policy) {
	var effects, reversals, representments []*effect
	for _, e := range all {
		switch {
		case e.role == roleEffect && e.status == sources.Succeeded:
			effects = append(effects, e)
		case e.role == roleEffect && e.status == sources.Reversed:
			e.gone, e.restMinor = true, 0
			effects = append(effects, e)
		case e.role == roleEffect && e.status == sources.Pending:
			ev.pending = append(ev.pending, e)
		case e.refused():
			ev.refusals = append(ev.refusals, e)
		case e.role == roleReversal && e.status == sources.Succeeded:
			reversals = append(reversals, e)
		case e.role == roleRepresentment && e.status == sources.Succeeded:
			representments = append(representments, e)
		default:
			ev.exists = ev.exists || e.alreadyThere()
			ev.strange = append(ev.strange, e.views...)
		}
	}
	net(effects, reversals, representments, p)
	ev.reversals = append(reversals, representments...)
	for _, e := range effects {
		if e.gone {
			ev.reversed = append(ev.reversed, e)
		} else {
			ev.standing = append(ev.standing, e)
		}
	}
}

// refused reports a plain no of the provider.
func (e *effect) refused() bool {
	return e.role == roleEffect && e.status == sources.Failed && !e.alreadyThere()
}

// alreadyThere reports that the provider refused a repetition only.
func (e *effect) alreadyThere() bool {
	return e.role == roleEffect && e.status == sources.Failed &&
		slices.ContainsFunc(e.views, func(v Candidate) bool { return saysExists(v.Record) })
}

// forgiveOlderRefusals drops the replaced versions of a refusal that still
// stands as one: that it was said before does not speak against it.
func (ev *evidence) forgiveOlderRefusals() {
	standing := recordIDs(ev.refusals)
	ev.strange = slices.DeleteFunc(ev.strange, func(c Candidate) bool {
		return c.Replaced && c.Record.Status == sources.Failed && !saysExists(c.Record) &&
			slices.Contains(standing, c.RecordID)
	})
}

// happened reports that some effect exists, standing or taken back.
func (ev *evidence) happened() bool { return len(ev.standing)+len(ev.reversed) > 0 }

// loneReversal reports that something was taken back of which the statements
// do not show that it happened.
func (ev *evidence) loneReversal() bool { return !ev.happened() && len(ev.reversals) > 0 }

// unclear reports records of which it is not clear that they are about this
// operation, or what they say.
func (ev *evidence) unclear() bool { return len(ev.contested)+len(ev.conflicted) > 0 }

// finding is what the standing effects say about the operation together.
type finding struct {
	// reason is Confirmed, DuplicateEffect, or why the effect does not agree.
	reason ReasonCode
	// agreeing is the earliest effect that agrees by itself; nil if none does.
	agreeing *effect
	// sumMinor of what stands, if comparable.
	sumMinor   int64
	comparable bool
}

// find judges what netting has left standing; there is at least one effect.
func (ev *evidence) find(op operationMoney, p Policy) finding {
	out := finding{}
	reasons := make([]ReasonCode, len(ev.standing))
	for i, e := range ev.standing {
		reasons[i] = op.compare(e, p)
		if reasons[i] == Confirmed && out.agreeing == nil {
			out.agreeing = e
		}
	}
	out.sumMinor, out.comparable = op.sum(ev.standing)
	switch {
	case len(ev.standing) == 1:
		out.reason = reasons[0]
	case out.agreeing != nil || !out.comparable || out.sumMinor > op.amountMinor:
		out.reason = DuplicateEffect
	case out.sumMinor < op.amountMinor:
		out.reason = PartialEffect
	default:
		out.reason = Confirmed
	}
	return out
}

// operationMoney is what the journal says about the amount.
type operationMoney struct {
	amountMinor int64
	hasAmount   bool
	currency    string
}

// compare says how one effect stands to the operation: Confirmed if amount
// and currency agree in every view of it.
func (m operationMoney) compare(e *effect, p Policy) ReasonCode {
	financial := p.Class != Irreversible && p.Class != Idempotent
	known := m.hasAmount && m.currency != ""
	if !known && financial {
		return AmountUnknown
	}
	seen := false
	for _, v := range e.views {
		rec := v.Record
		if m.currency != "" && rec.Currency != "" && rec.Currency != m.currency {
			return CurrencyMismatch
		}
		if !known || !rec.HasAmount || rec.Currency == "" {
			continue
		}
		seen = true
		if !e.reduced && !p.Tolerance.Allows(m.amountMinor, rec.AmountMinor, m.currency) {
			return AmountMismatch
		}
	}
	switch {
	case !seen && financial:
		return AmountUnknown
	case seen && e.reduced && e.disputed():
		return AmountMismatch
	case !seen || !e.reduced || p.Tolerance.Allows(m.amountMinor, e.restMinor, m.currency):
		return Confirmed
	case e.restMinor < m.amountMinor:
		return PartialEffect
	}
	return AmountMismatch
}

// sum adds up what stands; ok is false where amounts or currencies are
// missing, differ from the operation's, or do not fit.
func (m operationMoney) sum(effects []*effect) (sumMinor int64, ok bool) {
	if !m.hasAmount || m.currency == "" {
		return 0, false
	}
	for _, e := range effects {
		next := sumMinor + e.restMinor
		if !e.hasAmount || e.currency != m.currency || next < sumMinor || e.disputed() {
			return 0, false
		}
		sumMinor = next
	}
	return sumMinor, true
}

// disputed reports that two views of one effect give different amounts.
func (e *effect) disputed() bool {
	return slices.ContainsFunc(e.views, func(v Candidate) bool {
		return v.Record.HasAmount && (v.Record.AmountMinor != e.amountMinor || v.Record.Currency != e.currency)
	})
}
