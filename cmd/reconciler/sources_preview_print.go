package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"reconciler/config"
	"reconciler/money"
	"reconciler/reports"
	"reconciler/sources"
	"reconciler/sources/csvguess"
)

// previewAnswer is what `sources preview` answers.
type previewAnswer struct {
	Source  string `json:"source"`
	Profile string `json:"profile,omitempty"`
	File    string `json:"file"`
	// Complete: it would be accepted, and be complete.
	Complete bool            `json:"complete"`
	Because  []string        `json:"because"`
	Refusal  *previewRefusal `json:"refusal"`
	Encoding previewEncoding `json:"encoding"`
	// Delimiter as declared, and the one by which the file looks best.
	Delimiter      string           `json:"delimiter"`
	DelimiterFound string           `json:"delimiter_found"`
	HeaderLine     int              `json:"header_line"`
	Columns        []previewColumn  `json:"columns"`
	Zone           string           `json:"timezone"`
	Read           bool             `json:"read_to_the_end"`
	Records        int64            `json:"records"`
	Rejects        int64            `json:"rejects"`
	Skipped        int64            `json:"skipped"`
	Sums           []previewSum     `json:"sums"`
	First          []previewRecord  `json:"first_records"`
	Rejected       []rejectLine     `json:"first_rejects"`
	Declared       sources.Controls `json:"declared"`
	Computed       sources.Controls `json:"computed"`
	Period         period           `json:"period"`
	AsOf           *time.Time       `json:"as_of"`
	AsOfRule       string           `json:"as_of_rule"`
	EndProof       sources.EndProof `json:"end_proof"`
	Notes          []string         `json:"notes"`

	// local is the zone.
	local   *time.Location
	summary sources.Summary
	stated  sources.Period
	// earliest and latest bound the times by which records are filed.
	earliest, latest time.Time
}

// previewRefusal says why the document as a whole would be put in quarantine.
type previewRefusal struct {
	Line   int    `json:"line,omitempty"`
	Column string `json:"column,omitempty"`
	Reason string `json:"reason"`
	Remedy string `json:"remedy"`
}

type previewEncoding struct {
	Declared string `json:"declared"`
	Found    string `json:"found"`
}

// previewColumn is a column of the file, and the keys that read it.
type previewColumn struct {
	Number int      `json:"number"`
	Name   string   `json:"name"`
	Keys   []string `json:"keys"`
	First  string   `json:"first_value"`
}

// previewSum is what the records of one currency, direction and status come to.
type previewSum struct {
	Currency    string `json:"currency"`
	Direction   string `json:"direction"`
	Status      string `json:"status"`
	Records     int64  `json:"records"`
	AmountMinor int64  `json:"amount_minor"`
	// Overflow says that the sum does not fit.
	Overflow bool `json:"overflow,omitempty"`
}

// previewRecord is a record as it would be stored.
type previewRecord struct {
	Line                int        `json:"line"`
	Account             string     `json:"account"`
	ProviderOperationID string     `json:"provider_operation_id"`
	IdempotencyKey      string     `json:"idempotency_key"`
	BusinessReference   string     `json:"business_reference"`
	FoldedReferences    []string   `json:"folded_references"`
	AmountMinor         *int64     `json:"amount_minor"`
	Currency            string     `json:"currency"`
	Direction           string     `json:"direction"`
	Kind                string     `json:"kind"`
	Status              string     `json:"status"`
	ProviderStatus      string     `json:"provider_status"`
	OccurredAt          *time.Time `json:"occurred_at"`
	OccurredTo          *time.Time `json:"occurred_to"`
	BookedAt            *time.Time `json:"booked_at"`
	SettledAt           *time.Time `json:"settled_at"`
	FeeMinor            *int64     `json:"fee_minor"`
	BatchID             string     `json:"batch_id"`
	RelatedID           string     `json:"related_id"`
}

func previewRecordOf(r *sources.Record) previewRecord {
	out := previewRecord{
		Line: r.Line, Account: r.Account, ProviderOperationID: r.ProviderOperationID, IdempotencyKey: r.IdempotencyKey,
		BusinessReference: r.BusinessReference, FoldedReferences: slices.Clone(r.FoldedReferences), AmountMinor: optionalAmount(r.AmountMinor, r.HasAmount),
		Currency: r.Currency, Direction: string(r.Direction), Kind: string(r.Kind), Status: string(r.Status), ProviderStatus: r.ProviderStatus,
		OccurredAt: optional(r.OccurredAt), OccurredTo: optional(r.OccurredTo), BookedAt: optional(r.BookedAt), SettledAt: optional(r.SettledAt),
		FeeMinor: optionalAmount(r.FeeMinor, r.HasFee), BatchID: r.BatchID, RelatedID: r.RelatedID,
	}
	if out.FoldedReferences == nil {
		out.FoldedReferences = []string{}
	}
	return out
}

// see notes what the file looks like, beside what is declared.
func (p *previewAnswer) see(look *csvguess.Look, src config.Source) {
	p.Because, p.Columns, p.First, p.Rejected, p.Sums = []string{}, []previewColumn{}, []previewRecord{}, []rejectLine{}, []previewSum{}
	p.Encoding.Declared, p.Delimiter = src.CSV.Encoding, src.CSV.Delimiter
	if look == nil {
		return
	}
	p.Encoding.Found = encodingWords(look.Encoding)
	p.DelimiterFound, p.HeaderLine = look.Delimiter, look.HeaderLine
	for _, c := range look.Columns {
		column := previewColumn{Number: c.Number, Name: c.Name, First: c.First, Keys: []string{}}
		for key, named := range sources.NamedColumns(&src.Fields, src.Rows, &src.Completeness) {
			if outsideRows(key) {
				continue
			}
			if named.Number == c.Number || named.Number == 0 && strings.EqualFold(strings.TrimSpace(named.Header), c.Name) {
				column.Keys = append(column.Keys, shortKey(key))
			}
		}
		p.Columns = append(p.Columns, column)
	}
}

// outsideRows: the column is one of a line that is no row.
func outsideRows(key string) bool {
	for _, place := range []string{"period.cells.", "as_of.", "count.", "sum.", "balances.opening.", "balances.closing."} {
		if strings.HasPrefix(key, "completeness."+place) {
			return true
		}
	}
	return false
}

// shortKey is the key as people say it: amount, not fields.amount.column.
func shortKey(key string) string {
	return strings.TrimSuffix(strings.TrimPrefix(key, "fields."), ".column")
}

func encodingWords(e csvguess.Encoding) string {
	switch {
	case e.Mark:
		return e.Name + " by its byte order mark"
	case e.ASCII:
		return "plain ASCII, which fits nearly every encoding"
	case e.Sure:
		return e.Name
	}
	text := fmt.Sprintf("reads %q", e.Sample)
	for i, other := range e.Others {
		if i == 2 {
			break
		}
		text += fmt.Sprintf("; %s would read %q as %q", other.Name, other.Instead, other.Sample)
	}
	return text
}

func (a *app) printPreview(p *previewAnswer) error {
	if a.output == "json" {
		return a.printJSON(p)
	}
	out := &printer{w: a.stdout}
	out.line("%s, read as %s: %s", reports.Visible(p.File), p.Source, p.verdict())
	if r := p.Refusal; r != nil {
		refusal := sources.Refusal{Line: r.Line, Column: r.Column, Reason: r.Reason}
		out.line("  ! %s", reports.Visible(refusal.Error()))
		if r.Remedy != "" {
			out.line("    %s", reports.Visible(r.Remedy))
		}
	}
	for _, why := range p.Because {
		out.line("  ! %s", why)
	}
	out.fact("encoding", "declared %s; the file: %s", p.Encoding.Declared, dash(p.Encoding.Found))
	header := fmt.Sprintf("header in line %d", p.HeaderLine)
	if p.HeaderLine == 0 {
		header = "no header"
	}
	out.fact("form", "cells between %q, %s", p.Delimiter, header)
	out.fact("period", "%s", span(deref(p.Period.From), deref(p.Period.To), p.local))
	out.fact("as of", "%s (%s)", utc(deref(p.AsOf)), p.AsOfRule)
	out.fact("end", "%s", endWords(p))
	rows := p.Records + p.Rejects + p.Skipped
	until := ""
	if !p.Read {
		until = " until it was refused"
	}
	out.fact("rows", "%s%s: %s, %s, %s skipped", thousands(rows), until, count(p.Records, "record"), count(p.Rejects, "reject"), thousands(p.Skipped))
	for _, note := range p.Notes {
		out.fact("note", "%s", reports.Visible(note))
	}
	if out.err != nil {
		return out.err
	}
	a.printTotals(out, p)
	a.printColumns(out, p)
	a.printFirst(out, p)
	return out.err
}

func (p *previewAnswer) verdict() string {
	switch {
	case p.Refusal != nil:
		return "it would go to quarantine"
	case p.Complete && p.EndProof == sources.EndAssumed:
		return "it would be accepted, complete by assumption: an absence is only ever reviewed"
	case p.Complete:
		return "it would be accepted, complete"
	}
	return "it would be accepted, and not be complete: it shows presence, never absence"
}

func endWords(p *previewAnswer) string {
	switch p.EndProof {
	case sources.EndFooter:
		return "proven by its footer"
	case sources.EndDeclared:
		return "proven: a declared count or sum agrees"
	case sources.EndBalance:
		return "proven by its balances"
	case sources.EndManifest:
		return "proven by its manifest"
	case sources.EndAssumed:
		return "assumed"
	case sources.EndUnproven:
		return "not proven"
	}
	return "not reached"
}

func deref(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

func (a *app) printTotals(out *printer, p *previewAnswer) {
	out.heading("control totals")
	t := newTable(a.stdout, "", "declared", "computed")
	t.AppendRow([]any{"count", number(p.Declared.Count), number(p.Computed.Count)})
	t.AppendRow([]any{"sum", total(p.Declared.Sum, p.Declared.Currency), total(p.Computed.Sum, p.Computed.Currency)})
	if p.Declared.Opening != nil || p.Computed.Opening != nil {
		t.AppendRow([]any{"opening", total(p.Declared.Opening, p.Computed.Currency), total(p.Computed.Opening, p.Computed.Currency)})
		t.AppendRow([]any{"closing", total(p.Declared.Closing, p.Computed.Currency), total(p.Computed.Closing, p.Computed.Currency)})
	}
	t.Render()
	if len(p.Sums) == 0 {
		return
	}
	out.heading("what the records come to")
	t = newTable(a.stdout, "currency", "direction", "status", "records", "sum")
	for _, s := range p.Sums {
		sum := money.FormatMinor(s.AmountMinor, s.Currency)
		if s.Overflow {
			sum = "too large to be shown"
		}
		t.AppendRow([]any{s.Currency, dash(s.Direction), s.Status, thousands(s.Records), sum})
	}
	t.Render()
}

// mostShown bounds the width of a cell, in characters.
const mostShown = 40

func short(text string) string {
	if r := []rune(text); len(r) > mostShown {
		text = string(r[:mostShown]) + "…"
	}
	return dash(text)
}

func (a *app) printColumns(out *printer, p *previewAnswer) {
	if len(p.Columns) == 0 {
		return
	}
	out.heading("columns")
	t := newTable(a.stdout, "", "column", "read as", "first value")
	for _, c := range p.Columns {
		t.AppendRow([]any{c.Number, short(c.Name), dash(strings.Join(c.Keys, ", ")), short(c.First)})
	}
	t.Render()
}

func (a *app) printFirst(out *printer, p *previewAnswer) {
	if len(p.First) > 0 {
		out.heading("first records (times in %s)", p.Zone)
		t := newTable(a.stdout, "line", "occurred", "amount", "direction", "kind", "status", "reference", "provider's id")
		for _, r := range p.First {
			amount := "–"
			if r.AmountMinor != nil {
				amount = money.FormatMinor(*r.AmountMinor, r.Currency) + " " + r.Currency
			}
			status := r.Status
			if r.ProviderStatus != "" && !strings.EqualFold(r.ProviderStatus, r.Status) {
				status += " (" + r.ProviderStatus + ")"
			}
			reference := r.BusinessReference
			if reference == "" && len(r.FoldedReferences) > 0 {
				reference = "~ " + strings.Join(r.FoldedReferences, ", ~ ")
			}
			t.AppendRow([]any{r.Line, p.when(r), amount, dash(r.Direction), dash(r.Kind), short(status), short(reference), short(r.ProviderOperationID)})
		}
		t.Render()
	}
	if len(p.Rejected) > 0 {
		out.heading("rejects: rows that could not be understood")
		t := newTable(a.stdout, "line", "field", "reason")
		for _, r := range p.Rejected {
			t.AppendRow([]any{r.Line, dash(r.Field), reports.Visible(r.Reason)})
		}
		t.Render()
		if more := p.Rejects - int64(len(p.Rejected)); more > 0 {
			out.line("  %s more; --rejects %d shows them", thousands(more), p.Rejects)
		}
	}
}

// when writes the time of a record in the source's zone; a day as a day.
func (p *previewAnswer) when(r previewRecord) string {
	at := r.OccurredAt
	if at == nil {
		at = r.BookedAt
	}
	if at == nil {
		return "–"
	}
	local := at.In(p.local)
	if r.OccurredTo != nil && r.OccurredTo.Sub(*at) >= shortestDayShown {
		return local.Format(time.DateOnly)
	}
	return local.Format("2006-01-02 15:04:05")
}

// shortestDayShown tells a day from a time that the clock showed twice.
const shortestDayShown = 12 * time.Hour
