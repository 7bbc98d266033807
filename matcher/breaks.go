package matcher

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"reconciler/journal"
	"reconciler/money"
)

// risk makes a break over the operation's own amount, if it has one.
func (q *inquiry) risk(kind ReasonCode, severity Severity, note string) Break {
	b := Break{Kind: kind, Severity: severity, Note: note}
	if q.op.HasAmount && q.op.Currency != "" {
		b.RiskMinor, b.HasRisk, b.Currency = q.op.AmountMinor, true, q.op.Currency
	}
	return b
}

// grave is the severity of a case whose weight depends on whether money moves.
func (q *inquiry) grave(financial, otherwise Severity) Severity {
	if q.policy.Class == Irreversible || q.policy.Class == Idempotent {
		return otherwise
	}
	return financial
}

func (q *inquiry) leaseOverheld() Break {
	note := fmt.Sprintf("A worker has held this operation since %s, longer than max_lease (%s); find the worker, and stop it or let it finish.",
		instant(q.time.heldSince()), howLong(q.policy.MaxLease))
	if q.time.endless() {
		note = "A worker holds this operation with a lease that never ends; find the worker, and set lease_until to a real time."
	}
	return q.risk(LeaseOverheld, High, note)
}

func (q *inquiry) ambiguous() Break {
	if len(q.ev.contested) == 0 {
		return q.risk(AmbiguousReference, High, fmt.Sprintf(
			"The provider gives the same identifier two different contents (%s); ask the provider which one is right before anything is concluded.",
			names(q.ev.conflicted)))
	}
	var rivals []string
	for _, c := range q.ev.contested {
		rivals = append(rivals, c.Rivals...)
	}
	note := fmt.Sprintf("The provider shows %s, which fits this operation and another one equally well", names(q.ev.contested))
	if rivals = uniqueSorted(rivals); len(rivals) > 0 {
		note += " (" + list(rivals, ", ") + ")"
	}
	return q.risk(AmbiguousReference, High, note+"; decide which operation it belongs to.")
}

func (q *inquiry) duplicate(found finding) Break {
	b := Break{Kind: DuplicateEffect, Severity: Critical}
	atRisk := operationMoney{hasAmount: true, currency: q.op.Currency}
	var others []*effect
	for _, e := range q.ev.standing {
		if e != found.agreeing {
			others = append(others, e)
		}
	}
	sum, ok := atRisk.sum(others)
	if found.agreeing == nil {
		// Which of them is the right one nobody knows: what exceeds the amount is at risk.
		ok = ok && q.op.HasAmount
		sum = max(sum-q.op.AmountMinor, 0)
	}
	if ok {
		b.RiskMinor, b.HasRisk, b.Currency = sum, true, q.op.Currency
	}
	extra := "have the surplus returned"
	if b.HasRisk {
		extra = fmt.Sprintf("have the surplus of %s returned", amount(sum, q.op.Currency))
	}
	b.Note = fmt.Sprintf("The provider shows this operation %d times (%s); check with the provider, and %s.",
		len(q.ev.standing), shownAs(q.ev.standing), extra)
	return b
}

func (q *inquiry) differs(found finding) Break {
	shown := shownAs(q.ev.standing)
	wanted := amount(q.op.AmountMinor, q.op.Currency)
	if !q.op.HasAmount {
		wanted = q.op.Currency + " without an amount"
	}
	if found.reason == CurrencyMismatch {
		return q.risk(CurrencyMismatch, Critical, fmt.Sprintf(
			"The provider shows %s where the journal has %s: another currency; find out which is right, then confirm or correct it.", shown, wanted))
	}
	if found.reason == AmountUnknown {
		b := q.risk(AmountUnknown, High, fmt.Sprintf(
			"The provider shows %s, but amount or currency is missing on one side, so it can't be compared; check it by hand and confirm it.", shown))
		if !b.HasRisk {
			b.RiskMinor, b.Currency, b.HasRisk = q.ev.shownMoney()
		}
		return b
	}
	if found.reason == PartialEffect {
		b := q.risk(PartialEffect, High, fmt.Sprintf(
			"Only a part stands at the provider: %s of %s; wait for the rest, or accept the difference.", shown, wanted))
		if found.comparable {
			b.RiskMinor = q.op.AmountMinor - found.sumMinor
		}
		return b
	}
	b := q.risk(AmountMismatch, Critical, fmt.Sprintf(
		"The provider shows %s where the journal has %s; find out which is right, then accept the difference or have it corrected.", shown, wanted))
	if found.comparable {
		b.RiskMinor = max(q.op.AmountMinor-found.sumMinor, found.sumMinor-q.op.AmountMinor)
	}
	return b
}

// shownMoney is what the provider shows as moved, where all of it has an amount
// in one currency: what is at risk if the journal has none.
func (ev *evidence) shownMoney() (minor int64, currency string, ok bool) {
	if len(ev.standing) == 0 {
		return 0, "", false
	}
	currency = ev.standing[0].currency
	minor, ok = operationMoney{hasAmount: true, currency: currency}.sum(ev.standing)
	if !ok {
		return 0, "", false
	}
	return minor, currency, true
}

func (q *inquiry) takenBack() Break {
	return q.risk(ReversedAtProvider, q.grave(High, Medium), fmt.Sprintf(
		"It did happen, and the provider has taken it back (%s reversed); find out why, and do not repeat it without a decision.", shownAs(q.ev.reversed)))
}

func (q *inquiry) reversalOnly() Break {
	if q.op.Status == journal.FailedFinal {
		return q.risk(EffectAfterFailure, High,
			"The journal says that this failed, but the provider shows that it was taken back, so it may have happened; look for the effect at the provider.")
	}
	return q.risk(ReversedAtProvider, q.grave(High, Medium),
		"The provider shows that this was taken back, though not the effect itself; find out why, and do not repeat it without a decision.")
}

func (q *inquiry) afterFailure(found finding) Break {
	b := q.risk(EffectAfterFailure, Critical, fmt.Sprintf(
		"The journal says that this failed, but the provider shows %s; if it was sent again elsewhere it happened twice: confirm it, or have it returned.", shownAs(q.ev.standing)))
	if found.comparable {
		b.RiskMinor = found.sumMinor
	}
	return b
}

func (q *inquiry) lateSuccess() Break {
	return q.risk(EffectAfterFailure, High,
		"The journal says that this failed, but a worker whose lease had run out reported a success, and no complete statement covers the time yet; ask the provider.")
}

func (q *inquiry) pendingTooLong() Break {
	return q.risk(PendingTooLong, q.grave(High, Medium), fmt.Sprintf(
		"The provider has shown this as pending for more than %s after the last call; ask the provider what it waits for.", howLong(q.policy.PendingLimit)))
}

func (q *inquiry) refusalNeedsDecision(d Decision) Break {
	return q.risk(Refused, q.grave(High, Medium), fmt.Sprintf(
		"The provider refused this%s, but it can't be closed by itself: %s; decide whether it failed or may be tried again.",
		refusalText(q.ev.refusals), list(d.Speaks, "; ")))
}

func (q *inquiry) refusedAfterSuccess() Break {
	return q.risk(RefusedAfterSuccess, Critical, fmt.Sprintf(
		"The journal says that this succeeded, but the provider shows only a refusal%s; check with the provider, whoever relied on it must hear of it.",
		refusalText(q.ev.refusals)))
}

func (q *inquiry) absentNeedsDecision(d Decision) Break {
	note := "The provider's complete statements do not show this; decide whether it failed or may be tried again."
	if len(d.Speaks) > 0 {
		note = fmt.Sprintf("The provider's statements do not show this as done, but it is not safe to go on by itself: %s; decide whether it failed or may be tried again.",
			list(d.Speaks, "; "))
	}
	return q.risk(AbsentNeedsDecision, q.grave(High, Medium), note)
}

func (q *inquiry) missing() Break {
	note := "The journal says that this succeeded, but the provider's complete statements do not show it; ask the provider for proof, or have it done."
	if speaks := q.against().evidence; len(speaks) > 0 {
		note = fmt.Sprintf("The journal says that this succeeded, but the provider's statements do not show it as done (%s); ask the provider for proof.",
			list(speaks, "; "))
	}
	return q.risk(MissingAtProvider, q.grave(Critical, High), note)
}

func (q *inquiry) unresolvedOverdue() Break {
	return q.risk(UnresolvedOverdue, q.grave(High, Medium), fmt.Sprintf(
		"Nothing decisive has come for this %s after its last possible effect; see that the missing statements are delivered, or ask the provider.", howLong(q.policy.OverdueAfter)))
}

func (q *inquiry) coverageGap(h hole) Break {
	note := fmt.Sprintf("No complete statement of %s, account %s, covers the time from %s to %s, though later ones are there; have the missing one delivered.",
		h.source, h.account, instant(h.period.From), instant(h.period.To))
	if h.tooFresh {
		note = fmt.Sprintf("The statements of %s, account %s, for the time from %s to %s were made before its settlement lag had passed, so effects may be missing from them; have that time delivered once more, or fetch statements later.",
			h.source, h.account, instant(h.period.From), instant(h.period.To))
	}
	if h.period.From.IsZero() {
		note = fmt.Sprintf("The statements of %s, account %s, begin at %s, later than operations that are still open; have the earlier ones delivered.",
			h.source, h.account, instant(h.period.To))
	}
	return Break{Kind: CoverageGap, Severity: Medium, Note: note, Source: h.source, Account: h.account, Gap: h.period}
}

func (q *inquiry) neverClaimed() Break {
	return q.risk(NeverClaimed, Medium, fmt.Sprintf(
		"This was planned on %s, and no worker has claimed it since; see that the workers run, or withdraw it.", instant(q.op.CreatedAt)))
}

func (q *inquiry) permitWithdrawn() Break {
	return q.risk(EvidenceChanged, Medium,
		"A permit to try again was withdrawn before anybody used it, because what it rested on no longer holds; nothing to do until it is decided again.")
}

func (q *inquiry) evidenceChanged(severity Severity) Break {
	return q.risk(EvidenceChanged, severity, fmt.Sprintf(
		"This was set to %s on a statement that has since been replaced, and what is there now does not say so any more; the status was left alone: look at it again.", q.op.Status))
}

func refusalText(refusals []*effect) string {
	var said []string
	for _, e := range refusals {
		for _, v := range e.views {
			if v.Record.ProviderStatus != "" {
				said = append(said, fmt.Sprintf("%q", v.Record.ProviderStatus))
			}
		}
	}
	if said = uniqueSorted(said); len(said) == 0 {
		return ""
	}
	return " (" + list(said, ", ") + ")"
}

func shownAs(effects []*effect) string {
	var out []string
	for _, e := range effects {
		text := "a record without an amount"
		if e.hasAmount {
			text = amount(e.restOrAmount(), e.currency)
		}
		if id := e.id(); id != "" {
			text += " under " + id
		}
		out = append(out, text)
	}
	return list(out, ", ")
}

func (e *effect) restOrAmount() int64 {
	if e.gone {
		return e.amountMinor
	}
	return e.restMinor
}

func amount(minor int64, currency string) string {
	if currency == "" {
		return fmt.Sprintf("%d minor units of an unknown currency", minor)
	}
	return money.FormatMinor(minor, currency) + " " + currency
}

// howLong writes a duration in words. Up to three days it counts hours, as
// people do who wait for a bank.
func howLong(d time.Duration) string {
	const day = 24 * time.Hour
	if d > 3*day && d%day == 0 {
		return units(int64(d/day), "day")
	}
	var out []string
	for _, u := range []struct {
		size time.Duration
		name string
	}{{time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		if n := int64(d / u.size); n > 0 {
			out = append(out, units(n, u.name))
			d %= u.size
		}
	}
	if len(out) == 0 {
		return "0 seconds"
	}
	return strings.Join(out, " ")
}

func units(n int64, name string) string {
	if n == 1 {
		return "1 " + name
	}
	return fmt.Sprintf("%d %ss", n, name)
}

func instant(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

func names(candidates []Candidate) string {
	var out []string
	for _, c := range candidates {
		out = append(out, "record "+c.RecordKey+" of "+c.Source)
	}
	return list(out, ", ")
}

// listed is how many things a note names before it counts the others: it is
// read in a spreadsheet cell.
const listed = 5

func list(items []string, sep string) string {
	if extra := len(items) - listed; extra > 0 {
		items = append(slices.Clone(items[:listed]), fmt.Sprintf("and %d more", extra))
	}
	return strings.Join(items, sep)
}
