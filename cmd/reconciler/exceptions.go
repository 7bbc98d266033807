package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reconciler/postgres"
	"reconciler/reports"
)

func (a *app) exceptionsCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "exceptions",
		Short: "The cases that wait for a person",
		Long: `The cases that the reconciler could not settle by itself. A case is open until
somebody takes it up (acknowledged), and closes by itself when its cause has
gone (auto_resolved); it opens again when the cause is back.`,
		Example: "  reconciler exceptions list\n  reconciler exceptions show EX-4TQ2ZC6NHJSTWB7K\n  reconciler exceptions acknowledge EX-4TQ2ZC6NHJSTWB7K --comment 'asked the bank'",
	}, a.exceptionsListCommand(), a.exceptionsShowCommand(), a.acknowledgeCommand())
}

func exceptionStates() []string { return []string{"open", "acknowledged", "resolved", "auto_resolved"} }

func (a *app) exceptionsListCommand() *cobra.Command {
	var f postgres.ExceptionFilter
	var state string
	var all bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List cases, the worst first, then the oldest",
		Long: `List the cases that wait for somebody: open and acknowledged. The exit code is 0
whatever is open; 'reconciler run --exit-code' is for scripts.`,
		Example: `  reconciler exceptions list
  reconciler exceptions list --kind duplicate_effect
  reconciler exceptions list --state acknowledged
  reconciler exceptions list --all -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch kinds := reports.NewWords().Kinds(); {
			case f.Kind != "" && !slices.Contains(kinds, f.Kind):
				return usage("--kind is %q; it can be %s", f.Kind, strings.Join(kinds, ", "))
			case all && state != "":
				return usage("--all and --state exclude each other")
			case all:
				f.States = exceptionStates()
			case state != "" && !slices.Contains(exceptionStates(), state):
				return usage("--state is %q; it can be %s", state, strings.Join(exceptionStates(), ", "))
			case state != "":
				f.States = []string{state}
			}
			return a.listExceptions(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Kind, "kind", "", "only cases of this kind, as in duplicate_effect")
	completeFlag(cmd, "kind", fixed(reports.NewWords().Kinds()...))
	flags.StringVar(&state, "state", "", "only cases in this state: "+strings.Join(exceptionStates(), ", "))
	flags.BoolVar(&all, "all", false, "also the closed ones")
	completeFlag(cmd, "state", fixed(exceptionStates()...))
	return cmd
}

// exceptionLine is what is answered about one case.
type exceptionLine struct {
	ExceptionID    string    `json:"exception_id"`
	Kind           string    `json:"kind"`
	Severity       string    `json:"severity"`
	State          string    `json:"state"`
	Source         string    `json:"source,omitempty"`
	IdempotencyKey string    `json:"idempotency_key,omitempty"`
	RecordKey      string    `json:"record_key,omitempty"`
	AmountMinor    *int64    `json:"amount_minor"`
	Currency       string    `json:"currency,omitempty"`
	Assignee       string    `json:"assignee,omitempty"`
	FirstSeenAt    time.Time `json:"first_seen_at"`
	LastSeenAt     time.Time `json:"last_seen_at"`
	FirstRunID     string    `json:"first_run_id"`
	Note           string    `json:"note"`
}

func exceptionLineOf(x reports.Exception) exceptionLine {
	return exceptionLine{
		ExceptionID: x.ExceptionID, Kind: x.Kind, Severity: x.Severity, State: x.State, Source: x.Source, IdempotencyKey: x.IdempotencyKey,
		RecordKey: x.RecordKey, AmountMinor: optionalAmount(x.AmountMinor, x.HasAmount), Currency: x.Currency, Assignee: x.Assignee,
		FirstSeenAt: x.FirstSeenAt, LastSeenAt: x.LastSeenAt, FirstRunID: x.FirstRunID, Note: x.Note,
	}
}

// subject names what a case is about, as shortly as it can be named.
func subject(x reports.Exception) string {
	for _, name := range []string{x.IdempotencyKey, x.RecordKey, x.Source} {
		if name != "" {
			return reports.Visible(name)
		}
	}
	return "–"
}

func (a *app) listExceptions(ctx context.Context, f postgres.ExceptionFilter) error {
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	list, err := s.store.Exceptions(ctx, f)
	if err != nil {
		return err
	}
	if a.output == "json" {
		lines := make([]exceptionLine, 0, len(list))
		for _, x := range list {
			lines = append(lines, exceptionLineOf(x))
		}
		return a.printJSON(lines)
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(a.stdout, "no exceptions")
		return err
	}
	now, err := s.store.Now(ctx)
	if err != nil {
		return err
	}
	t := newTable(a.stdout, "id", "severity", "kind", "state", "about", "at risk", "age", "assignee")
	for _, x := range list {
		t.AppendRow([]any{
			x.ExceptionID, x.Severity, x.Kind, x.State, subject(x), dash(amount(x.AmountMinor, x.HasAmount, x.Currency)),
			age(x.FirstSeenAt, now), dash(x.Assignee),
		})
	}
	t.Render()
	return nil
}

func (a *app) exceptionsShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "One case: what is wrong, the evidence, the history",
		Example: "  reconciler exceptions show EX-4TQ2ZC6NHJSTWB7K",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.showException(cmd.Context(), args[0]) },
	}
	cmd.ValidArgsFunction = a.fromDatabase(waitingExceptions)
	return cmd
}

// exceptionAnswer is what `exceptions show` answers.
type exceptionAnswer struct {
	exceptionLine
	Operation *exceptionOperation `json:"operation"`
	Evidence  json.RawMessage     `json:"evidence"`
	History   []exceptionStep     `json:"history"`
}

// exceptionOperation is the journal's row as it stands now.
type exceptionOperation struct {
	ActionType        string     `json:"action_type"`
	WorkflowID        string     `json:"workflow_id,omitempty"`
	Status            string     `json:"status"`
	AttemptCount      int        `json:"attempt_count"`
	BusinessReference string     `json:"business_reference,omitempty"`
	AmountMinor       *int64     `json:"amount_minor"`
	Currency          string     `json:"currency,omitempty"`
	CreatedAt         *time.Time `json:"created_at"`
	LastAttemptAt     *time.Time `json:"last_attempt_at"`
}

type exceptionStep struct {
	At       time.Time       `json:"at"`
	Event    string          `json:"event"`
	Actor    string          `json:"actor"`
	RunID    string          `json:"run_id,omitempty"`
	Comment  string          `json:"comment,omitempty"`
	Evidence json.RawMessage `json:"evidence,omitempty"`
}

func (a *app) showException(ctx context.Context, id string) error {
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	list, err := s.store.Exceptions(ctx, postgres.ExceptionFilter{ID: strings.ToUpper(id)})
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return noException(id)
	}
	history, err := s.store.ExceptionEvents(ctx, list[0].ExceptionID)
	if err != nil {
		return err
	}
	if a.output == "json" {
		return a.printJSON(exceptionAnswerOf(list[0], history))
	}
	return a.printException(list[0], history, s.cfg.Zone)
}

func noException(id string) error {
	return usage("there is no exception %q; 'reconciler exceptions list --all' shows all", id)
}

func exceptionAnswerOf(x reports.Exception, history []postgres.ExceptionEvent) exceptionAnswer {
	out := exceptionAnswer{exceptionLine: exceptionLineOf(x), Evidence: x.Evidence, History: []exceptionStep{}}
	if op := x.Operation; op != nil {
		out.Operation = &exceptionOperation{
			ActionType: op.ActionType, WorkflowID: op.WorkflowID, Status: op.Status, AttemptCount: op.AttemptCount,
			BusinessReference: op.BusinessReference, AmountMinor: optionalAmount(op.AmountMinor, op.HasAmount), Currency: op.Currency,
			CreatedAt: optional(op.CreatedAt), LastAttemptAt: optional(op.LastAttemptAt),
		}
	}
	for _, e := range history {
		out.History = append(out.History, exceptionStep(e))
	}
	return out
}

// zoneOf names the zone of a source's days; nil if nobody knows it.
type zoneOf func(source string) *time.Location

func (a *app) printException(x reports.Exception, history []postgres.ExceptionEvent, zone zoneOf) error {
	p := &printer{w: a.stdout}
	word := reports.NewWords().Of(x.Kind)
	p.line("%s: %s (%s, %s)", x.ExceptionID, word.Title, x.Severity, x.State)
	p.lines(reports.Visible(x.Note))
	if word.Do != "" {
		p.fact("what to do", "%s", word.Do)
	}
	p.fact("kind", "%s", x.Kind)
	if x.HasAmount {
		p.fact("at risk", "%s", amount(x.AmountMinor, true, x.Currency))
	}
	if x.Source != "" {
		p.fact("source", "%s", x.Source)
	}
	if x.RecordKey != "" {
		p.fact("record", "%s", reports.Visible(x.RecordKey))
	}
	p.fact("since", "%s, %s", utc(x.FirstSeenAt), x.FirstRunID)
	p.fact("last seen", "%s", utc(x.LastSeenAt))
	if x.Assignee != "" {
		p.fact("assignee", "%s", reports.Visible(x.Assignee))
	}
	if op := x.Operation; op != nil {
		p.fact("operation", "%s (%s), %s now", reports.Visible(op.IdempotencyKey), reports.Visible(op.ActionType), op.Status)
		p.fact("ordered", "%s under reference %s on %s", dash(amount(op.AmountMinor, op.HasAmount, op.Currency)), orKey(op.BusinessReference), utc(op.CreatedAt))
	}
	if p.err != nil {
		return p.err
	}
	a.printEvidence(p, x, zone)
	p.heading("history")
	for _, e := range history {
		comment := ""
		if e.Comment != "" {
			comment = ": " + reports.Visible(e.Comment)
		}
		p.line("  %s  %s by %s%s", utc(e.At), e.Event, reports.Visible(e.Actor), comment)
	}
	if x.IdempotencyKey != "" {
		p.line("\nthe whole story of the operation: reconciler explain %q", x.IdempotencyKey)
	}
	return p.err
}

// orKey names a reference, or says that there is none.
func orKey(reference string) string {
	if reference == "" {
		return "(none: its key stands for it)"
	}
	return reports.Visible(reference)
}

func (a *app) printEvidence(p *printer, x reports.Exception, zone zoneOf) {
	e := reports.ReadEvidence(x.Evidence)
	p.heading("evidence")
	if e.Window != (reports.Range{}) {
		p.fact("window", "an effect may stand between %s and %s", utc(e.Window.From), utc(e.Window.To))
	}
	for _, c := range e.Coverage {
		p.fact("covered", "%s, account %s: %s", reports.Visible(c.Source), dash(c.Account), coveredBy(c, zone(c.Source)))
	}
	if e.StatementID != 0 {
		p.fact("statement", "%d, %s, sha256 %s", e.StatementID, reports.Visible(e.Statement), e.SHA256)
	}
	if e.Missing != (reports.Range{}) {
		p.fact("missing", "account %s: %s", dash(e.Account), span(e.Missing.From, e.Missing.To, zone(x.Source)))
	}
	if !e.DueAt.IsZero() {
		p.fact("was due", "%s", utc(e.DueAt))
	}
	for _, why := range e.SpeaksAgainst {
		p.fact("speaks against", "%s", reports.Visible(why))
	}
	if d := e.Earlier; d != nil {
		p.fact("earlier", "%s → %s (%s)", reports.Visible(d.From), reports.Visible(d.To), reports.Visible(d.Reason))
	}
	if !e.ProvableAt.IsZero() {
		p.fact("provable at", "%s", utc(e.ProvableAt))
	}
	for _, o := range e.Others {
		p.fact(reports.Visible(o.Name), "%s", reports.Visible(o.Value))
	}
	if p.err == nil && len(x.Records) > 0 {
		a.printRecords(x.Records)
	}
}

// coveredBy says which of a window complete statements cover.
func coveredBy(c reports.EvidenceCoverage, zone *time.Location) string {
	list, assumed := c.Proven, ""
	if len(list) == 0 {
		list, assumed = c.All, " (the end is only assumed)"
	}
	if len(list) == 0 {
		return "none of that time"
	}
	var out []string
	for _, r := range list {
		out = append(out, span(r.From, r.To, zone))
	}
	return strings.Join(out, "; ") + assumed
}

func (a *app) printRecords(records []reports.Record) {
	t := newTable(a.stdout, "source", "statement", "line", "provider's id", "reference", "amount", "kind", "status", "occurred (UTC)", "")
	for _, r := range records {
		t.AppendRow([]any{
			dash(r.Source), reports.Visible(r.Statement), r.Line, dash(r.ProviderOperationID), dash(r.BusinessReference),
			dash(amount(r.AmountMinor, r.HasAmount, r.Currency)), dash(strings.TrimSpace(r.Direction + " " + r.Kind)), dash(r.Status),
			dash(moment(r.OccurredAt)), r.Remark(),
		})
	}
	t.Render()
}

func (a *app) acknowledgeCommand() *cobra.Command {
	var comment string
	cmd := &cobra.Command{
		Use:   "acknowledge ID",
		Short: "Take up a case: open becomes acknowledged",
		Long: `Take up a case, so that others see that somebody works on it. It stays among
the cases that wait, and still closes by itself when its cause has gone.

Acknowledging an operation's case also stops automatic permits for it: from then
on the operation may be retried only by a person's decision, whatever its policy
says, because a person may have called the provider meanwhile. Evidence is still
looked for, and a proven effect still settles it. The next run looks at the
operation again.

A second time changes nothing; a comment is added to the history. A closed case
can't be acknowledged.`,
		Example: "  reconciler exceptions acknowledge EX-4TQ2ZC6NHJSTWB7K --comment 'asked the bank, ticket 4711'",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.acknowledge(cmd.Context(), args[0], comment) },
	}
	cmd.Flags().StringVar(&comment, "comment", "", "a note for the history")
	cmd.ValidArgsFunction = a.fromDatabase(waitingExceptions)
	return cmd
}

// acknowledged is what `exceptions acknowledge` answers.
type acknowledged struct {
	ExceptionID string `json:"exception_id"`
	State       string `json:"state"`
	Changed     bool   `json:"changed"`
	Actor       string `json:"actor"`
}

func (a *app) acknowledge(ctx context.Context, id, comment string) error {
	id = strings.ToUpper(id)
	actor, err := person()
	if err != nil {
		return err
	}
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	changed, err := s.store.Acknowledge(ctx, id, actor, comment)
	switch {
	case errors.Is(err, postgres.ErrNoException):
		return noException(id)
	case errors.Is(err, postgres.ErrExceptionClosed):
		return usage("%w: its cause has gone or a person has settled it, so there is nothing to take up", err)
	case err != nil:
		return err
	}
	if a.output == "json" {
		return a.printJSON(acknowledged{ExceptionID: id, State: "acknowledged", Changed: changed, Actor: actor})
	}
	said := "acknowledged by " + actor
	if !changed {
		said = "was acknowledged already"
		if comment != "" {
			said += "; the comment was added"
		}
	}
	_, err = fmt.Fprintf(a.stdout, "%s: %s\n", id, said)
	return err
}

// person names who sits at the keyboard.
func person() (string, error) {
	u, err := user.Current()
	if err != nil {
		return "", fmt.Errorf("find out who acts: %w", err)
	}
	if u.Username != "" {
		return u.Username, nil
	}
	return "uid " + u.Uid, nil
}
