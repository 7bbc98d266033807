package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reconciler/config"
	"reconciler/journal"
	"reconciler/postgres"
	"reconciler/reports"
)

// operationsShown is how many operations are listed unless more are asked for.
const operationsShown = 100

func (a *app) operationsCommand() *cobra.Command {
	var f postgres.OperationFilter
	cmd := &cobra.Command{
		Use:   "operations",
		Short: "List operations of the journal with what is concluded about them",
		Long: `List operations of the journal, the youngest first, each with the reason code of
the last conclusion, the earliest moment at which it can be proven, and whether
its owner may (re)try it now. Nothing is changed.

'reconciler explain KEY' tells the whole story of one.`,
		Example: `  reconciler operations --workflow W-17
  reconciler operations --status unknown --action-type payment_order.create
  reconciler operations --limit 0 -o json   # all of them`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.listOperations(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.WorkflowID, "workflow", "", "only operations of this workflow")
	flags.StringVar(&f.Status, "status", "", "only operations in this status: "+strings.Join(statuses(), ", "))
	flags.StringVar(&f.ActionType, "action-type", "", "only operations of this action type")
	flags.IntVar(&f.Limit, "limit", operationsShown, "list at most so many; 0 lists all")
	completeFlag(cmd, "status", fixed(statuses()...))
	completeFlag(cmd, "action-type", a.fromConfig(0, actionTypes))
	return cmd
}

func statuses() []string {
	var out []string
	for _, s := range journal.Statuses() {
		out = append(out, string(s))
	}
	return out
}

// actionTypes are all that the configuration has a policy for.
func actionTypes(cfg *config.Config) []string {
	var out []string
	for name := range cfg.Policies {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// operationLine is what is answered about one operation.
type operationLine struct {
	IdempotencyKey      string     `json:"idempotency_key"`
	ActionType          string     `json:"action_type"`
	WorkflowID          string     `json:"workflow_id,omitempty"`
	Step                string     `json:"step,omitempty"`
	Status              string     `json:"status"`
	AttemptCount        int        `json:"attempt_count"`
	Provider            string     `json:"provider,omitempty"`
	Account             string     `json:"account,omitempty"`
	BusinessReference   string     `json:"business_reference,omitempty"`
	ProviderOperationID string     `json:"provider_operation_id,omitempty"`
	AmountMinor         *int64     `json:"amount_minor"`
	Currency            string     `json:"currency,omitempty"`
	LastErrorCode       string     `json:"last_error_code,omitempty"`
	LeaseUntil          *time.Time `json:"lease_until"`
	CreatedAt           *time.Time `json:"created_at"`
	UpdatedAt           *time.Time `json:"updated_at"`
	FirstAttemptAt      *time.Time `json:"first_attempt_at"`
	LastAttemptAt       *time.Time `json:"last_attempt_at"`
	Outcome             string     `json:"outcome"`
	ReasonCode          string     `json:"reason_code"`
	MayRetry            bool       `json:"may_retry"`
	NotBefore           *time.Time `json:"retry_not_before"`
	NotAfter            *time.Time `json:"retry_not_after"`
	ProvableAt          *time.Time `json:"provable_at"`
}

func operationLineOf(op postgres.OperationStatus) operationLine {
	return operationLine{
		IdempotencyKey: op.IdempotencyKey, ActionType: op.ActionType, WorkflowID: op.WorkflowID, Step: op.Step, Status: string(op.Status),
		AttemptCount: op.AttemptCount, Provider: op.Provider, Account: op.Account, BusinessReference: op.BusinessReference,
		ProviderOperationID: op.ProviderOperationID, AmountMinor: optionalAmount(op.AmountMinor, op.HasAmount), Currency: op.Currency,
		LastErrorCode: op.LastErrorCode, LeaseUntil: optional(op.LeaseUntil), CreatedAt: optional(op.CreatedAt), UpdatedAt: optional(op.UpdatedAt),
		FirstAttemptAt: optional(op.FirstAttemptAt), LastAttemptAt: optional(op.LastAttemptAt), Outcome: op.Outcome, ReasonCode: op.ReasonCode,
		MayRetry: op.MayRetry, NotBefore: optional(op.RetryNotBefore), NotAfter: optional(op.RetryNotAfter), ProvableAt: optional(op.ProvableAt),
	}
}

// provable says when something can be proven; what is past waits for a
// statement only.
func provable(at, now time.Time) string {
	if at.IsZero() || at.After(now) {
		return dash(moment(at))
	}
	return moment(at) + ", waits for a statement"
}

func (a *app) listOperations(ctx context.Context, f postgres.OperationFilter) error {
	if f.Status != "" && !slices.Contains(statuses(), f.Status) {
		return usage("--status is %q; it can be %s", f.Status, strings.Join(statuses(), ", "))
	}
	if f.Limit < 0 {
		return usage("--limit is %d; it can't be negative", f.Limit)
	}
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	most := f.Limit
	if most > 0 {
		f.Limit++ // one more tells whether there are more
	}
	list, err := s.store.ListOperations(ctx, f)
	if err != nil {
		return err
	}
	more := most > 0 && len(list) > most
	if more {
		list = list[:most]
	}
	if a.output == "json" {
		if more {
			s.log.Warn("there are more operations than listed", "listed", most, "remedy", "--limit")
		}
		lines := make([]operationLine, 0, len(list))
		for _, op := range list {
			lines = append(lines, operationLineOf(op))
		}
		return a.printJSON(lines)
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(a.stdout, "no operations")
		return err
	}
	now, err := s.store.Now(ctx)
	if err != nil {
		return err
	}
	t := newTable(a.stdout, "key", "action type", "workflow", "status", "try", "amount", "reference", "created (UTC)", "reason", "provable at (UTC)", "may retry")
	for _, op := range list {
		t.AppendRow([]any{
			reports.Visible(op.IdempotencyKey), reports.Visible(op.ActionType), dash(op.WorkflowID), op.Status, op.AttemptCount,
			dash(amount(op.AmountMinor, op.HasAmount, op.Currency)), dash(op.BusinessReference), moment(op.CreatedAt), op.ReasonCode,
			provable(op.ProvableAt, now), yesNo(op.MayRetry),
		})
	}
	t.Render()
	if more {
		_, err = fmt.Fprintf(a.stdout, "\nthe youngest %s; --limit N lists more, --limit 0 all\n", thousands(int64(most)))
	}
	return err
}
