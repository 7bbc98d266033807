package reports

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gocarina/gocsv"
)

// text is a cell of words from outside: made visible, and guarded against
// running as a formula. Numbers and times of our own are plain strings.
type text string

// MarshalCSV implements gocsv.TypeMarshaller.
func (t text) MarshalCSV() (string, error) {
	return GuardFormula(Visible(string(t))), nil
}

// row is one line of exceptions.csv. Columns are only ever added at the end.
type row struct {
	ExceptionID          text   `csv:"exception_id"`
	Kind                 text   `csv:"kind"`
	Severity             text   `csv:"severity"`
	State                text   `csv:"state"`
	Source               text   `csv:"source"`
	IdempotencyKey       text   `csv:"idempotency_key"`
	BusinessReference    text   `csv:"business_reference"`
	ActionType           text   `csv:"action_type"`
	WorkflowID           text   `csv:"workflow_id"`
	OperationStatus      text   `csv:"operation_status"`
	Provider             text   `csv:"provider"`
	Account              text   `csv:"account"`
	AmountAtRisk         string `csv:"amount_at_risk"`
	Currency             text   `csv:"currency"`
	OperationAmount      string `csv:"operation_amount"`
	AgeDays              string `csv:"age_days"`
	FirstSeenAt          string `csv:"first_seen_at"`
	LastSeenAt           string `csv:"last_seen_at"`
	Assignee             text   `csv:"assignee"`
	ProviderOperationIDs text   `csv:"provider_operation_ids"`
	Statement            text   `csv:"statement"`
	Line                 string `csv:"line"`
	WhatToDo             text   `csv:"what_to_do"`
	AmountAtRiskMinor    string `csv:"amount_at_risk_minor"`
	OperationCurrency    text   `csv:"operation_currency"`
	RecordKey            text   `csv:"record_key"`
	NewInThisRun         bool   `csv:"new_in_this_run"`
	RecordRemarks        text   `csv:"record_remarks"`
}

// joiner stands between several values in one cell. It is no list separator
// of any country.
const joiner = " | "

// csvBatch bounds how many rows are held as structs at a time.
const csvBatch = 1000

// WriteCSV writes the open exceptions as UTF-8 with commas, one header line
// and one line per exception, worst first. Amounts are decimals in major
// units, times are RFC 3339 in the report's zone. Text that a spreadsheet
// would run as a formula carries an apostrophe in front (see [GuardFormula]).
func WriteCSV(w io.Writer, r Report) error {
	r = r.ordered()
	words := NewWords()
	out := csv.NewWriter(w)
	if err := gocsv.MarshalCSV([]row{}, out); err != nil {
		return fmt.Errorf("write header of exceptions: %w", err)
	}
	batch := make([]row, 0, csvBatch)
	for i, e := range r.Exceptions {
		batch = append(batch, r.row(e, words))
		if len(batch) < csvBatch && i < len(r.Exceptions)-1 {
			continue
		}
		if err := gocsv.MarshalCSVWithoutHeaders(batch, out); err != nil {
			return fmt.Errorf("write exceptions up to %s: %w", e.ExceptionID, err)
		}
		batch = batch[:0]
	}
	return nil
}

// row flattens one exception.
func (r Report) row(e Exception, words Words) row {
	out := row{
		ExceptionID: text(e.ExceptionID), Kind: text(e.Kind), Severity: text(e.Severity), State: text(e.State),
		Source: text(e.Source), IdempotencyKey: text(e.IdempotencyKey), Currency: text(e.Currency),
		FirstSeenAt: r.instant(e.FirstSeenAt), LastSeenAt: r.instant(e.LastSeenAt), Assignee: text(e.Assignee),
		WhatToDo: text(advice(e, words)), RecordKey: text(e.RecordKey), NewInThisRun: e.New,
	}
	if e.HasAmount {
		// Without a known exponent the decimal stays empty; the minor units say it.
		out.AmountAtRisk, _ = decimal(e.AmountMinor, e.Currency)
		out.AmountAtRiskMinor = minorText(e.AmountMinor)
	}
	if days, ok := r.ageDays(e.FirstSeenAt); ok {
		out.AgeDays = strconv.Itoa(days)
	}
	if op := e.Operation; op != nil {
		out.BusinessReference, out.ActionType = text(op.BusinessReference), text(op.ActionType)
		out.WorkflowID, out.OperationStatus = text(op.WorkflowID), text(op.Status)
		out.Provider, out.Account = text(op.Provider), text(op.Account)
		out.OperationCurrency = text(op.Currency)
		if op.HasAmount {
			out.OperationAmount, _ = decimal(op.AmountMinor, op.Currency)
		}
	}
	ev := evidenceOf(e)
	out.ProviderOperationIDs, out.Statement, out.Line, out.RecordRemarks = text(ev.ids), text(ev.statements), ev.lines, text(ev.remarks)
	return out
}

// evidence is what an exception's records say, flattened for one line.
type evidence struct{ ids, statements, lines, remarks string }

// evidenceOf joins the records' ids, statements, lines and remarks; the columns
// keep the same order, so the second line belongs to the second id, and one
// that counts as it stands is marked "current" beside one that does not. A
// statement that holds all of them is named once.
func evidenceOf(e Exception) evidence {
	ids := make([]string, len(e.Records))
	statements := make([]string, len(e.Records))
	lines := make([]string, len(e.Records))
	remarks := make([]string, len(e.Records))
	remarked := false
	for i, rec := range e.Records {
		ids[i], statements[i] = rec.ProviderOperationID, rec.Statement
		if rec.Line > 0 {
			lines[i] = strconv.Itoa(rec.Line)
		}
		remarks[i] = cmp.Or(rec.Remark(), "current")
		remarked = remarked || rec.Remark() != ""
	}
	if !remarked {
		remarks = nil
	}
	if len(slices.Compact(slices.Clone(statements))) == 1 {
		statements = statements[:1]
	}
	return evidence{joined(ids), joined(statements), joined(lines), joined(remarks)}
}

// joined joins values unless all of them are empty.
func joined(values []string) string {
	if strings.Join(values, "") == "" {
		return ""
	}
	return strings.Join(values, joiner)
}

// advice is the note of the exception, or what its kind asks for.
func advice(e Exception, words Words) string {
	if e.Note != "" {
		return e.Note
	}
	word := words.Of(e.Kind)
	return strings.TrimSpace(word.Meaning + " " + word.Do)
}

// instant writes t as RFC 3339 in the report's zone; the zero time is empty.
func (r Report) instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(r.zone()).Format(time.RFC3339)
}

// minorText writes a count of minor units.
func minorText(minor int64) string {
	return strconv.FormatInt(minor, 10)
}
