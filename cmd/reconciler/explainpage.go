package main

import (
	"fmt"
	"strings"
	"time"

	"reconciler/journal"
	"reconciler/matcher"
	"reconciler/reports"
	"reconciler/sources"
)

// printStory tells the story for people: where it stands and what that means,
// then the evidence, then the past.
func (a *app) printStory(st story) error {
	p := &printer{w: a.stdout}
	st.printOperation(p)
	st.printDecision(p)
	if p.err != nil {
		return p.err
	}
	a.printCandidates(p, st)
	st.printCoverage(p)
	st.printConcluded(p)
	st.printPast(p)
	return p.err
}

func (st story) printOperation(p *printer) {
	op := st.Status
	p.line("%s is %s", reports.Visible(op.IdempotencyKey), op.Status)
	what := []string{reports.Visible(op.ActionType)}
	if op.HasAmount {
		what = append(what, amount(op.AmountMinor, true, op.Currency))
	}
	if op.BusinessReference != "" {
		what = append(what, "reference "+reports.Visible(op.BusinessReference))
	}
	if op.WorkflowID != "" {
		what = append(what, "workflow "+reports.Visible(op.WorkflowID))
	}
	p.fact("what", "%s", strings.Join(what, ", "))
	p.fact("where", "provider %s, account %s", orAny(op.Provider, "any of the policy's"), orAny(op.Account, "any of the provider's"))
	if op.ProviderOperationID != "" {
		p.fact("provider's id", "%s", reports.Visible(op.ProviderOperationID))
	}
	p.fact("created", "%s", utc(op.CreatedAt))
	switch {
	case !op.LastAttemptAt.IsZero():
		p.fact("last attempt", "%s, number %d", utc(op.LastAttemptAt), op.AttemptCount)
	case op.AttemptCount > 0:
		p.fact("last attempt", "number %d, at a time that its writer did not record", op.AttemptCount)
	default:
		p.fact("last attempt", "none")
	}
	if op.Status == journal.Executing {
		p.fact("lease", "%s", lease(op.LeaseUntil))
	}
	if op.LastErrorCode != "" {
		p.fact("last error", "%s", reports.Visible(op.LastErrorCode))
	}
	p.fact("may retry", "%s", st.mayRetry())
}

func orAny(name, otherwise string) string {
	if name == "" {
		return otherwise
	}
	return reports.Visible(name)
}

func lease(until time.Time) string {
	if until.IsZero() {
		return "none, so nobody can say when its worker has given up"
	}
	return "until " + utc(until)
}

// mayRetry says whether the owner may claim it now, with the limits of a permit.
func (st story) mayRetry() string {
	op := st.Status
	switch {
	case op.MayRetry && !op.RetryNotAfter.IsZero():
		return "yes, until " + utc(op.RetryNotAfter)
	case op.MayRetry:
		return "yes"
	case op.Status == journal.FailedRetryable && !op.RetryNotBefore.IsZero() && st.Now.Before(op.RetryNotBefore):
		return "not before " + utc(op.RetryNotBefore)
	case op.Status == journal.FailedRetryable && !op.RetryNotAfter.IsZero() && st.Now.After(op.RetryNotAfter):
		return "no more: the permit ended " + utc(op.RetryNotAfter)
	}
	return "no"
}

func (st story) printDecision(p *printer) {
	if st.Job == "" {
		p.heading("No job of the configuration works on action type %s, so nobody decides on this operation.", reports.Visible(st.Status.ActionType))
		return
	}
	d := st.Decision
	word := reports.NewWords().Of(string(d.Reason))
	p.heading("What a run of job %s would say now: %s (%s)", st.Job, word.Title, d.Reason)
	if word.Meaning != "" {
		p.line("  %s", word.Meaning)
	}
	switch t := d.Transition; {
	case t != nil && t.To == journal.FailedRetryable:
		p.line("  It would permit another attempt: %s → %s%s.", t.From, t.To, permitLimits(t))
	case t != nil:
		p.line("  It would move: %s → %s (%s).", t.From, t.To, t.Reason)
	case st.Status.Status.Terminal():
		p.line("  It would move nothing.")
	default:
		p.line("  It would leave it %s.", st.Status.Status)
	}
	switch {
	case d.ProvableAt.IsZero():
	case d.ProvableAt.After(st.Now):
		p.line("  It can become certain by itself from %s on, when the statements of that time are there.", utc(d.ProvableAt))
	default:
		p.line("  It was due to become certain at %s, and waits for the next statement that covers its time.", utc(d.ProvableAt))
	}
	for _, why := range d.Speaks {
		p.line("  Against an automatic step speaks: %s.", reports.Visible(why))
	}
	for _, br := range d.Breaks {
		risk := ""
		if br.HasRisk {
			risk = ", at risk " + amount(br.RiskMinor, true, br.Currency)
		}
		p.line("  %s (%s%s): %s", br.Kind, br.Severity, risk, reports.Visible(br.Note))
	}
}

func permitLimits(t *matcher.Transition) string {
	out := ""
	if !t.RetryNotBefore.IsZero() {
		out += ", not before " + utc(t.RetryNotBefore)
	}
	if !t.RetryNotAfter.IsZero() {
		out += ", not after " + utc(t.RetryNotAfter)
	}
	return out
}

func (a *app) printCandidates(p *printer, st story) {
	list := st.candidates()
	if len(list) == 0 {
		p.heading("The provider shows nothing of it: no record bears its key, its reference or its provider's id.")
		return
	}
	p.heading("What the provider shows: %s", count(int64(len(list)), "record"))
	if p.err != nil {
		return
	}
	t := newTable(a.stdout, "  statement", "line", "found by", "whose", "provider's id", "reference", "amount", "what", "status", "occurred (UTC)", "")
	for _, c := range list {
		r := st.record(c)
		t.AppendRow([]any{
			"  " + reports.Visible(r.Statement), r.Line, r.Tier, whose(c), dash(r.ProviderOperationID), dash(r.BusinessReference),
			dash(amount(c.Record.AmountMinor, c.Record.HasAmount, r.Currency)), dash(strings.TrimSpace(r.Direction + " " + r.Kind)),
			recordStatus(c.Record), dash(moment(c.Record.OccurredAt)), strings.Join(remarks(r), ", "),
		})
	}
	t.Render()
	for _, c := range list {
		if len(c.Rivals) > 0 {
			p.line("  Line %d of %s is also claimed by: %s.", c.Record.Line, reports.Visible(c.Statement), reports.Visible(strings.Join(c.Rivals, ", ")))
		}
	}
}

// whose says to which operation a record belongs.
func whose(c matcher.Candidate) string {
	switch c.Ownership {
	case matcher.Owned:
		return "its own"
	case matcher.OwnedByOther:
		return "another's"
	case matcher.Contested:
		return "contested"
	}
	return string(c.Ownership)
}

func recordStatus(rec sources.Record) string {
	if rec.ProviderStatus == "" {
		return string(rec.Status)
	}
	return fmt.Sprintf("%s (%s)", rec.Status, reports.Visible(rec.ProviderStatus))
}

// remarks say why a record may not count.
func remarks(r recordAnswer) []string {
	var out []string
	if !r.Current {
		out = append(out, "replaced by a newer statement")
	}
	if r.Conflicted {
		out = append(out, "the provider contradicts itself")
	}
	if r.TooEarly {
		out = append(out, "dated before the operation")
	}
	return out
}

func (st story) printCoverage(p *printer) {
	if st.Job == "" {
		return
	}
	w := st.Decision.Window
	p.heading("When it may have happened: %s … %s", utc(w.From), utc(w.To))
	if st.Never {
		p.line("  No source of the policy shows provider %s, account %s: its absence can never be proven.",
			orAny(st.Status.Provider, "(none)"), orAny(st.Status.Account, "(none)"))
	}
	for _, r := range st.Required {
		zone := st.zones[r.Source]
		switch {
		case len(r.Missing) == 0 && len(r.Unproven) == 0:
			p.line("  %s, account %s: covered", r.Source, r.Account)
		case len(r.Missing) == 0:
			p.line("  %s, account %s: covered, but the end of a statement is only assumed; that permits nothing by itself", r.Source, r.Account)
		default:
			p.line("  %s, account %s: not covered; a complete statement as of %s or later covers it. Missing:", r.Source, r.Account, utc(r.ShownBy))
			for _, m := range r.Missing {
				p.line("    %s", span(m.From, m.To, zone))
			}
		}
	}
}

func (st story) printConcluded(p *printer) {
	c := st.Concluded
	if c == nil {
		p.heading("No run has looked at it yet.")
		return
	}
	word := reports.NewWords().Of(c.ReasonCode)
	p.heading("Last conclusion: %s (%s), %s, on status %s, attempt %d, by %s", word.Title, c.ReasonCode, utc(c.DecidedAt), c.Status, c.AttemptCount, c.RunID)
	if st.Queued {
		p.line("  It is on the list of work: the next run looks at it again.")
	}
}

func (st story) printPast(p *printer) {
	if len(st.Events) > 0 {
		p.heading("History")
	}
	for _, e := range st.Events {
		move := e.From + " → " + e.To
		if e.From == e.To {
			move = "stays " + e.To
		}
		why := ""
		if e.ReasonCode != "" {
			why = " (" + reports.Visible(e.ReasonCode) + ")"
		}
		by := e.ActorKind
		switch {
		case e.RunID != "":
			by += " " + reports.Visible(e.RunID)
		case e.Actor != "":
			by += " " + reports.Visible(e.Actor)
		}
		p.line("  %s  %s%s, attempt %d, by %s", utc(e.At), move, why, e.AttemptCount, by)
	}
	if len(st.Exceptions) > 0 {
		p.heading("Exceptions")
	}
	for _, x := range st.Exceptions {
		p.line("  %s  %s, %s, %s, since %s", x.ExceptionID, x.Kind, x.Severity, x.State, utc(x.FirstSeenAt))
	}
}
