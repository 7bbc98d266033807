package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reconciler/config"
	"reconciler/matcher"
	"reconciler/postgres"
	"reconciler/reconcile"
)

func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain KEY",
		Short: "Why an operation stands where it stands",
		Long: `Tell the story of one operation: what the provider shows of it and by which name
it was found, who else claims those records, which time is covered and which is
not, what a run would decide at this moment, what was decided before and by
whom, when it can be proven, and whether its owner may (re)try it.

It reads the evidence as a run does and decides by the same rules, and stores
nothing. Statements that have not been loaded yet are not seen.`,
		Example: `  reconciler explain v1:5f0c…
  reconciler explain v1:5f0c… -o json | jq .decision`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.explain(cmd.Context(), args[0]) },
	}
}

// story is everything that explain tells.
type story struct {
	postgres.Examined
	// Job that works on the action type; empty if none does, and then nothing
	// is decided.
	Job      string
	Now      time.Time
	Decision matcher.Decision
	Required []matcher.RequiredCoverage
	// Never: no coverage helps, for no source shows its provider or account.
	Never bool

	policy matcher.Policy
	// zones of the sources' days.
	zones map[string]*time.Location
}

// early reports that a record is dated before the time in which the operation
// can have had its effect.
func (st story) early(c matcher.Candidate) bool {
	return st.Job != "" && matcher.TooEarly(st.Facts, st.policy, c, st.Now)
}

func (a *app) explain(ctx context.Context, key string) error {
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	known, err := s.store.ListOperations(ctx, postgres.OperationFilter{Key: key})
	if err != nil {
		return err
	}
	if len(known) == 0 {
		return s.noOperation(ctx, key)
	}
	st, err := s.tell(ctx, known[0])
	if errors.Is(err, postgres.ErrNoOperation) {
		return s.noOperation(ctx, key)
	}
	if err != nil {
		return err
	}
	if a.output == "json" {
		return a.printJSON(st.answer())
	}
	return a.printStory(st)
}

// tell reads the operation and decides on it as a run would at this moment.
func (s *session) tell(ctx context.Context, op postgres.OperationStatus) (story, error) {
	st := story{Job: jobOf(s.cfg, op.ActionType), zones: map[string]*time.Location{}}
	var err error
	if st.Now, err = s.store.Now(ctx); err != nil {
		return st, err
	}
	job := reconcile.Job{}
	if st.Job != "" {
		if job, err = buildJob(s.cfg, st.Job, nil); err != nil {
			return st, err
		}
	}
	scope := reconcile.Scope{
		Job: job.Name, ActionTypes: job.ActionTypes, Policies: job.Policies, Sources: job.Rules, Folds: job.Folds, Now: st.Now,
		Operation: op.IdempotencyKey,
	}
	if st.Examined, err = s.store.Examine(ctx, scope, op.IdempotencyKey); err != nil || st.Job == "" {
		return st, err
	}
	for name := range job.Rules {
		st.zones[name] = s.cfg.Zone(name)
	}
	st.policy = job.Policies[op.ActionType]
	st.Decision = matcher.Decide(st.Facts, st.policy, st.Now)
	st.Required, st.Never = matcher.Required(st.Facts, st.policy, st.Now)
	return st, nil
}

// jobOf is the job that works on an action type; there is at most one.
func jobOf(cfg *config.Config, actionType string) string {
	for _, name := range cfg.JobNames() {
		if job, _ := cfg.Job(name); slices.Contains(job.ActionTypes, actionType) {
			return name
		}
	}
	return ""
}

// suggestions is how many operations are named when a key is unknown.
const suggestions = 5

// noOperation says that there is no such key, and whose reference or provider's
// id it is, if it is one.
func (s *session) noOperation(ctx context.Context, key string) error {
	named, err := s.store.ListOperations(ctx, postgres.OperationFilter{Name: key, Limit: suggestions})
	if err != nil {
		return err
	}
	if len(named) == 0 {
		return usage("the journal has no operation with the idempotency key %q; 'reconciler operations' lists what it has", key)
	}
	keys := make([]string, 0, len(named))
	for _, op := range named {
		keys = append(keys, op.IdempotencyKey)
	}
	return usage("the journal has no operation with the idempotency key %q, but it is the reference or the provider's id of: %s", key, strings.Join(keys, ", "))
}

// explanation is what `explain` answers in JSON.
type explanation struct {
	IdempotencyKey string `json:"idempotency_key"`
	// MayRetry is whether the owner may (re)try it now, within the limits.
	MayRetry   bool            `json:"may_retry"`
	NotBefore  *time.Time      `json:"retry_not_before"`
	NotAfter   *time.Time      `json:"retry_not_after"`
	ReasonCode string          `json:"reason_code"`
	ProvableAt *time.Time      `json:"provable_at"`
	Job        *string         `json:"job"`
	Now        time.Time       `json:"now"`
	Operation  operationLine   `json:"operation"`
	Decision   *decisionAnswer `json:"decision"`
	Window     *period         `json:"window"`
	Records    []recordAnswer  `json:"records"`
	Coverage   []coverAnswer   `json:"coverage"`
	Concluded  *concluded      `json:"concluded"`
	Queued     bool            `json:"queued"`
	Events     []eventAnswer   `json:"events"`
	Exceptions []exceptionLine `json:"exceptions"`
}

// decisionAnswer is what a run would decide now.
type decisionAnswer struct {
	ReasonCode    string        `json:"reason_code"`
	Outcome       string        `json:"outcome"`
	Transition    *transition   `json:"transition"`
	ProvableAt    *time.Time    `json:"provable_at"`
	Absence       bool          `json:"rests_on_absence"`
	SpeaksAgainst []string      `json:"speaks_against"`
	Breaks        []breakAnswer `json:"breaks"`
	Settled       bool          `json:"settled"`
}

type transition struct {
	From      string     `json:"from"`
	To        string     `json:"to"`
	Reason    string     `json:"reason_code"`
	NotBefore *time.Time `json:"retry_not_before"`
	NotAfter  *time.Time `json:"retry_not_after"`
}

type breakAnswer struct {
	Kind        string `json:"kind"`
	Severity    string `json:"severity"`
	AmountMinor *int64 `json:"amount_minor"`
	Currency    string `json:"currency,omitempty"`
	Note        string `json:"note"`
}

// recordAnswer is one record that some rule connects with the operation.
type recordAnswer struct {
	Source              string     `json:"source"`
	RecordKey           string     `json:"record_key"`
	StatementID         int64      `json:"statement_id"`
	Statement           string     `json:"statement"`
	Line                int        `json:"line"`
	Current             bool       `json:"current"`
	Conflicted          bool       `json:"conflicted"`
	Tier                string     `json:"tier"`
	Ownership           string     `json:"ownership"`
	Rivals              []string   `json:"rivals"`
	Account             string     `json:"account"`
	ProviderOperationID string     `json:"provider_operation_id,omitempty"`
	BusinessReference   string     `json:"business_reference,omitempty"`
	AmountMinor         *int64     `json:"amount_minor"`
	Currency            string     `json:"currency,omitempty"`
	Direction           string     `json:"direction,omitempty"`
	Kind                string     `json:"kind,omitempty"`
	Status              string     `json:"status"`
	ProviderStatus      string     `json:"provider_status,omitempty"`
	OccurredAt          *time.Time `json:"occurred_at"`
	// TooEarly: dated before the evidence window, so no evidence.
	TooEarly bool `json:"too_early"`
}

// coverAnswer says how far one account covers its window.
type coverAnswer struct {
	Source   string    `json:"source"`
	Account  string    `json:"account"`
	Window   period    `json:"window"`
	Missing  []period  `json:"missing"`
	Unproven []period  `json:"unproven"`
	ShownBy  time.Time `json:"shown_by"`
}

// concluded is what a run last concluded.
type concluded struct {
	Status       string          `json:"status"`
	AttemptCount int             `json:"attempt_count"`
	ReasonCode   string          `json:"reason_code"`
	Outcome      string          `json:"outcome"`
	Settled      bool            `json:"settled"`
	ProvableAt   *time.Time      `json:"provable_at"`
	DecidedAt    time.Time       `json:"decided_at"`
	RunID        string          `json:"run_id"`
	Evidence     json.RawMessage `json:"evidence"`
}

type eventAnswer struct {
	At           time.Time       `json:"at"`
	From         string          `json:"from_status,omitempty"`
	To           string          `json:"to_status,omitempty"`
	AttemptCount int             `json:"attempt_count"`
	ActorKind    string          `json:"actor_kind"`
	Actor        string          `json:"actor,omitempty"`
	RunID        string          `json:"run_id,omitempty"`
	ReasonCode   string          `json:"reason_code,omitempty"`
	Evidence     json.RawMessage `json:"evidence,omitempty"`
}

func (st story) answer() explanation {
	op := st.Status
	out := explanation{
		IdempotencyKey: op.IdempotencyKey, MayRetry: op.MayRetry, NotBefore: optional(op.RetryNotBefore), NotAfter: optional(op.RetryNotAfter),
		ReasonCode: op.ReasonCode, ProvableAt: optional(op.ProvableAt), Now: st.Now, Operation: operationLineOf(op), Queued: st.Queued,
		Records: []recordAnswer{}, Coverage: []coverAnswer{}, Events: []eventAnswer{}, Exceptions: []exceptionLine{},
	}
	for _, c := range st.candidates() {
		out.Records = append(out.Records, st.record(c))
	}
	for _, e := range st.Events {
		out.Events = append(out.Events, eventAnswer(e))
	}
	for _, x := range st.Exceptions {
		out.Exceptions = append(out.Exceptions, exceptionLineOf(x))
	}
	if c := st.Concluded; c != nil {
		out.Concluded = &concluded{
			Status: c.Status, AttemptCount: c.AttemptCount, ReasonCode: c.ReasonCode, Outcome: c.Outcome, Settled: c.Settled,
			ProvableAt: optional(c.ProvableAt), DecidedAt: c.DecidedAt, RunID: c.RunID, Evidence: c.Evidence,
		}
	}
	if st.Job == "" {
		return out
	}
	out.Job, out.Decision = &st.Job, decisionAnswerOf(st.Decision)
	out.ReasonCode, out.ProvableAt = out.Decision.ReasonCode, out.Decision.ProvableAt
	window := periodOf(st.Decision.Window.From, st.Decision.Window.To)
	out.Window = &window
	for _, r := range st.Required {
		c := coverAnswer{
			Source: r.Source, Account: r.Account, Window: periodOf(r.Window.From, r.Window.To), Missing: []period{}, Unproven: []period{},
			ShownBy: r.ShownBy.UTC(),
		}
		for _, m := range r.Missing {
			c.Missing = append(c.Missing, periodOf(m.From, m.To))
		}
		for _, m := range r.Unproven {
			c.Unproven = append(c.Unproven, periodOf(m.From, m.To))
		}
		out.Coverage = append(out.Coverage, c)
	}
	return out
}

func decisionAnswerOf(d matcher.Decision) *decisionAnswer {
	out := &decisionAnswer{
		ReasonCode: string(d.Reason), Outcome: string(d.Outcome), ProvableAt: optional(d.ProvableAt), Absence: d.Absence,
		SpeaksAgainst: append([]string{}, d.Speaks...), Breaks: []breakAnswer{}, Settled: d.Settled,
	}
	if t := d.Transition; t != nil {
		out.Transition = &transition{string(t.From), string(t.To), string(t.Reason), optional(t.RetryNotBefore), optional(t.RetryNotAfter)}
	}
	for _, br := range d.Breaks {
		out.Breaks = append(out.Breaks, breakAnswer{
			Kind: string(br.Kind), Severity: string(br.Severity), AmountMinor: optionalAmount(br.RiskMinor, br.HasRisk), Currency: br.Currency, Note: br.Note,
		})
	}
	return out
}

// candidates are the records in the order of a story: current ones first, then
// by time and place.
func (st story) candidates() []matcher.Candidate {
	out := slices.Clone(st.Facts.Candidates)
	slices.SortFunc(out, func(a, b matcher.Candidate) int {
		if a.Replaced != b.Replaced {
			if b.Replaced {
				return -1
			}
			return 1
		}
		if c := a.Record.OccurredAt.Compare(b.Record.OccurredAt); c != 0 {
			return c
		}
		if c := strings.Compare(a.Statement, b.Statement); c != 0 {
			return c
		}
		return a.Record.Line - b.Record.Line
	})
	return out
}

func (st story) record(c matcher.Candidate) recordAnswer {
	rec := c.Record
	out := recordAnswer{
		Source: c.Source, RecordKey: c.RecordKey, StatementID: c.StatementID, Statement: c.Statement, Line: rec.Line, Current: !c.Replaced,
		Conflicted: c.Conflicted, Tier: c.Tier.String(), Ownership: string(c.Ownership), Rivals: append([]string{}, c.Rivals...),
		Account: rec.Account, ProviderOperationID: rec.ProviderOperationID, BusinessReference: rec.BusinessReference,
		AmountMinor: optionalAmount(rec.AmountMinor, rec.HasAmount), Currency: rec.Currency, Direction: string(rec.Direction), Kind: string(rec.Kind),
		Status: string(rec.Status), ProviderStatus: rec.ProviderStatus, OccurredAt: optional(rec.OccurredAt), TooEarly: st.early(c),
	}
	if out.BusinessReference == "" && len(rec.FoldedReferences) > 0 {
		out.BusinessReference = rec.FoldedReferences[0]
	}
	return out
}
