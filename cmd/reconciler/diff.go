package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"reconciler/money"
	"reconciler/postgres"
	"reconciler/reconcile"
	"reconciler/reports"
)

// diffShown is how many records of each sort are listed unless more are asked for.
const diffShown = 200

func (a *app) diffCommand() *cobra.Command {
	limit := diffShown
	cmd := &cobra.Command{
		Use:   "diff ID [BEFORE]",
		Short: "What changed from one statement to another, and what rested on it",
		Long: `Compare a statement with the one in whose place it came (or with another one):
which records it added, which changed and in what, which are gone; and which
operations rested on what changed, with their status.

Both are read from the archive under the source's present mapping, documents in
quarantine too, as far as they can be read.`,
		Example: `  reconciler statements diff 19
  reconciler statements diff 19 12
  reconciler statements diff 19 -o json | jq '.changed[].fields'`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return a.diff(cmd.Context(), args, limit) },
	}
	cmd.Flags().IntVar(&limit, "limit", diffShown, "list at most so many records of each sort; all are counted")
	return cmd
}

// diffAnswer is what `statements diff` answers.
type diffAnswer struct {
	Before  diffSide     `json:"before"`
	After   diffSide     `json:"after"`
	Counts  diffCounts   `json:"counts"`
	Added   []diffRecord `json:"added"`
	Changed []diffRecord `json:"changed"`
	Gone    []diffRecord `json:"gone"`
	// Operations rested on a record that changed or is gone.
	Operations []diffOperation `json:"operations"`
	// Absences is how many operations were proven absent by the earlier one.
	Absences int64 `json:"absences_on_before"`
}

type diffSide struct {
	StatementID int64  `json:"statement_id"`
	Statement   string `json:"statement"`
	State       string `json:"state"`
	Records     int64  `json:"record_count"`
	Rejects     int64  `json:"reject_count"`
	Refused     string `json:"refused,omitempty"`
	// OtherMapping: it was loaded under another mapping than the present one.
	OtherMapping bool `json:"other_mapping"`
}

type diffCounts struct {
	Same    int64 `json:"same"`
	Added   int64 `json:"added"`
	Changed int64 `json:"changed"`
	Gone    int64 `json:"gone"`
}

type diffRecord struct {
	RecordKey           string      `json:"record_key"`
	Line                int         `json:"line"`
	ProviderOperationID string      `json:"provider_operation_id,omitempty"`
	BusinessReference   string      `json:"business_reference,omitempty"`
	AmountMinor         *int64      `json:"amount_minor"`
	Currency            string      `json:"currency,omitempty"`
	Direction           string      `json:"direction,omitempty"`
	Kind                string      `json:"kind,omitempty"`
	Status              string      `json:"status"`
	OccurredAt          *time.Time  `json:"occurred_at"`
	Fields              []diffField `json:"fields,omitempty"`
}

type diffField struct {
	Field  string `json:"field"`
	Before string `json:"before"`
	After  string `json:"after"`
}

type diffOperation struct {
	IdempotencyKey string `json:"idempotency_key"`
	Status         string `json:"status"`
	ReasonCode     string `json:"reason_code"`
	RecordKey      string `json:"record_key"`
}

func (a *app) diff(ctx context.Context, args []string, limit int) error {
	if limit < 0 {
		return usage("--limit is %d; it can't be negative", limit)
	}
	id, err := statementNumber(args[0])
	if err != nil {
		return err
	}
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	after, src, err := s.kept(ctx, id)
	if err != nil {
		return err
	}
	before, err := s.keptBefore(ctx, id, args[1:])
	if err != nil {
		return err
	}
	if before.Source != after.Source {
		return usage("statement %d is of %s, statement %d of %s; only statements of one source can be compared", before.ID, before.Source, after.ID, after.Source)
	}
	c, err := reconcile.Compare(ctx, s.archive(), reconcile.CompareRequest{Source: src, Before: before, After: after, Limit: limit})
	if err != nil {
		return err
	}
	out, err := s.diffAnswer(ctx, src, c)
	if err != nil {
		return err
	}
	if a.output == "json" {
		return a.printJSON(out)
	}
	return a.printDiff(out)
}

// keptBefore is the other statement: the one that is named, or the one that
// the first has superseded.
func (s *session) keptBefore(ctx context.Context, id int64, named []string) (reconcile.Kept, error) {
	var other int64
	var err error
	if len(named) > 0 {
		other, err = statementNumber(named[0])
	} else if other, err = s.store.Before(ctx, id); err == nil && other == 0 {
		err = usage("statement %d came in the place of no other; name the one to compare it with: 'reconciler statements diff %d BEFORE'", id, id)
	}
	if err != nil {
		return reconcile.Kept{}, err
	}
	kept, _, err := s.kept(ctx, other)
	return kept, err
}

func (s *session) diffAnswer(ctx context.Context, src reconcile.Source, c reconcile.Comparison) (diffAnswer, error) {
	out := diffAnswer{
		Counts: diffCounts{Same: c.Same, Added: c.AddedN, Changed: c.ChangedN, Gone: c.GoneN},
		Added:  diffRecords(c.Added), Changed: diffRecords(c.Changed), Gone: diffRecords(c.Gone), Operations: []diffOperation{},
	}
	var err error
	for _, side := range []struct {
		from reconcile.Side
		to   *diffSide
	}{{c.Before, &out.Before}, {c.After, &out.After}} {
		k := side.from.Kept
		*side.to = diffSide{StatementID: k.ID, Statement: k.Name, State: k.State, Records: side.from.Records, Rejects: side.from.Rejects, Refused: side.from.Refused}
		if side.to.OtherMapping, err = k.Outdated(ctx, s.archive(), src); err != nil {
			return out, err
		}
	}
	rested, err := s.store.RestedOn(ctx, src.Rule.Name, src.Rule.Provider, c.Touched)
	if err != nil {
		return out, err
	}
	for _, r := range rested {
		out.Operations = append(out.Operations, operationOf(r))
	}
	out.Absences, err = s.store.AbsencesOn(ctx, c.Before.Kept.ID)
	return out, err
}

func operationOf(r postgres.Rested) diffOperation {
	return diffOperation{IdempotencyKey: r.IdempotencyKey, Status: r.Status, ReasonCode: r.ReasonCode, RecordKey: r.RecordKey}
}

func diffRecords(changes []reconcile.Change) []diffRecord {
	out := make([]diffRecord, 0, len(changes))
	for i := range changes {
		rec := changes[i].Record()
		d := diffRecord{
			RecordKey: changes[i].Key, Line: rec.Line, ProviderOperationID: rec.ProviderOperationID, BusinessReference: rec.BusinessReference,
			AmountMinor: optionalAmount(rec.AmountMinor, rec.HasAmount), Currency: rec.Currency, Direction: string(rec.Direction),
			Kind: string(rec.Kind), Status: string(rec.Status), OccurredAt: optional(rec.OccurredAt),
		}
		for _, f := range changes[i].Fields {
			d.Fields = append(d.Fields, diffField(f))
		}
		if d.BusinessReference == "" && len(rec.FoldedReferences) > 0 {
			d.BusinessReference = rec.FoldedReferences[0]
		}
		out = append(out, d)
	}
	return out
}

func (a *app) printDiff(d diffAnswer) error {
	p := &printer{w: a.stdout}
	p.line("from statement %d to statement %d", d.Before.StatementID, d.After.StatementID)
	for _, side := range []struct {
		name string
		diffSide
	}{{"before", d.Before}, {"after", d.After}} {
		p.fact(side.name, "statement %d, %s, %s: %s, %s", side.StatementID, reports.Visible(side.Statement), side.State,
			count(side.Records, "record"), count(side.Rejects, "reject"))
		if side.Refused != "" {
			p.fact("", "read as far as it goes: %s", reports.Visible(side.Refused))
		}
		if side.OtherMapping {
			p.fact("", "it was loaded under another mapping than the present one, under which it is compared")
		}
	}
	p.fact("records", "%s the same, %s changed, %s added, %s gone", thousands(d.Counts.Same), thousands(d.Counts.Changed),
		thousands(d.Counts.Added), thousands(d.Counts.Gone))
	a.printDiffRecords(p, "changed", d.Changed, d.Counts.Changed)
	a.printDiffRecords(p, "added", d.Added, d.Counts.Added)
	a.printDiffRecords(p, "gone", d.Gone, d.Counts.Gone)
	if len(d.Operations) > 0 {
		p.heading("operations that rested on what changed or is gone")
		t := newTable(a.stdout, "operation", "status", "reason", "record")
		for _, o := range d.Operations {
			t.AppendRow([]any{reports.Visible(o.IdempotencyKey), o.Status, o.ReasonCode, reports.Visible(o.RecordKey)})
		}
		if p.err == nil {
			t.Render()
		}
	}
	if d.Absences > 0 {
		p.line("\n%s proven absent by statement %d", count(d.Absences, "operation"), d.Before.StatementID)
	}
	return p.err
}

func (a *app) printDiffRecords(p *printer, what string, list []diffRecord, all int64) {
	if all == 0 {
		return
	}
	p.heading("%s", what)
	if p.err != nil {
		return
	}
	header := []any{"line", "record", "reference", "amount", "status"}
	if what == "changed" {
		header = []any{"line", "record", "field", "before", "after"}
	}
	t := newTable(a.stdout, header...)
	for _, r := range list {
		name := r.ProviderOperationID
		if name == "" {
			name = r.RecordKey
		}
		if what != "changed" {
			t.AppendRow([]any{r.Line, reports.Visible(name), reports.Visible(r.BusinessReference), minorAmount(r), r.Status})
			continue
		}
		for i, f := range r.Fields {
			if i == 0 {
				t.AppendRow([]any{r.Line, reports.Visible(name), f.Field, reports.Visible(f.Before), reports.Visible(f.After)})
			} else {
				t.AppendRow([]any{"", "", f.Field, reports.Visible(f.Before), reports.Visible(f.After)})
			}
		}
	}
	t.Render()
	if left := all - int64(len(list)); left > 0 {
		p.line("  %s more; --limit %d lists them", thousands(left), all)
	}
}

func minorAmount(r diffRecord) string {
	if r.AmountMinor == nil {
		return ""
	}
	return money.FormatMinor(*r.AmountMinor, r.Currency) + " " + r.Currency
}
