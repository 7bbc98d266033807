package reports

import (
	"cmp"

	"github.com/xuri/excelize/v2"
)

// adviceWidth is the width of the column that says what to do.
const adviceWidth = 64

// xlsxLine is what the cells of one row are made from.
type xlsxLine struct {
	Exception
	row row
}

// column is one column of the exceptions sheet. Widths are in characters.
type column struct {
	title string
	width int
	cell  func(xlsxLine) (any, error)
	// number puts the title over the right end, as the numbers stand.
	number bool
}

// columns lists the columns in the order in which a person works through
// them: what is wrong, how much, what to do, then how to find it.
func (b *workbook) columns() []column {
	in := " (" + Visible(b.report.zone().String()) + ")"
	return []column{
		{title: "Severity", width: 11, cell: b.severityCell},
		b.textColumn("Problem", 26, b.plain, func(l xlsxLine) string { return b.words.Of(l.Kind).Title }),
		{title: "At risk", width: 17, number: true, cell: b.riskCell},
		b.textColumn("Currency", 11, b.plain, func(l xlsxLine) string { return l.Currency }),
		{title: "Age, days", width: 8, number: true, cell: b.ageCell},
		b.textColumn("What to do", adviceWidth, b.wrapped, func(l xlsxLine) string { return string(l.row.WhatToDo) }),
		b.textColumn("Business reference (or key)", 24, b.plain, func(l xlsxLine) string {
			return cmp.Or(string(l.row.BusinessReference), l.IdempotencyKey)
		}),
		{title: "Operation amount", width: 17, number: true, cell: b.operationAmountCell},
		b.textColumn("Operation currency", 12, b.plain, func(l xlsxLine) string { return string(l.row.OperationCurrency) }),
		b.textColumn("Provider operation ids", 36, b.plain, func(l xlsxLine) string { return string(l.row.ProviderOperationIDs) }),
		b.textColumn("Statement", 34, b.plain, func(l xlsxLine) string { return string(l.row.Statement) }),
		b.textColumn("Line", 14, b.plain, func(l xlsxLine) string { return l.row.Line }),
		b.textColumn("State", 15, b.plain, func(l xlsxLine) string { return b.words.Of(l.State).Title }),
		b.textColumn("Assignee", 24, b.plain, func(l xlsxLine) string { return l.Assignee }),
		{title: "First seen" + in, width: 19, cell: func(l xlsxLine) (any, error) { return b.at(l.FirstSeenAt), nil }},
		{title: "Last seen" + in, width: 19, cell: func(l xlsxLine) (any, error) { return b.at(l.LastSeenAt), nil }},
		b.textColumn("Action", 24, b.plain, func(l xlsxLine) string { return string(l.row.ActionType) }),
		b.textColumn("Workflow", 22, b.plain, func(l xlsxLine) string { return string(l.row.WorkflowID) }),
		b.textColumn("Journal status", 16, b.plain, func(l xlsxLine) string { return string(l.row.OperationStatus) }),
		b.textColumn("Provider", 14, b.plain, func(l xlsxLine) string { return string(l.row.Provider) }),
		b.textColumn("Account", 16, b.plain, func(l xlsxLine) string { return string(l.row.Account) }),
		b.textColumn("Source", 16, b.plain, func(l xlsxLine) string { return l.Source }),
		b.textColumn("Idempotency key", 40, b.plain, func(l xlsxLine) string { return l.IdempotencyKey }),
		b.textColumn("Exception id", 22, b.plain, func(l xlsxLine) string { return l.ExceptionID }),
		b.textColumn("Code", 24, b.plain, func(l xlsxLine) string { return l.Kind }),
		b.textColumn("At risk, exact", 18, b.plain, func(l xlsxLine) string { return l.row.AmountAtRisk }),
		b.textColumn("At risk, minor units", 18, b.plain, func(l xlsxLine) string { return l.row.AmountAtRiskMinor }),
		b.textColumn("First seen, ISO 8601", 26, b.plain, func(l xlsxLine) string { return l.row.FirstSeenAt }),
		b.textColumn("Records' standing", 36, b.plain, func(l xlsxLine) string { return string(l.row.RecordRemarks) }),
		b.textColumn("New in this run", 9, b.plain, func(l xlsxLine) string { return yes(l.New) }),
	}
}

// textColumn is a column of text cells in one style; empty text leaves the
// cell empty.
func (b *workbook) textColumn(title string, width int, style int, value func(xlsxLine) string) column {
	return column{title: title, width: width, cell: func(l xlsxLine) (any, error) {
		if s := value(l); s != "" {
			return b.text(s, style), nil
		}
		return excelize.Cell{}, nil
	}}
}

func (b *workbook) riskCell(l xlsxLine) (any, error) {
	if !l.HasAmount {
		return excelize.Cell{}, nil
	}
	return b.amount(l.AmountMinor, l.Currency)
}

func (b *workbook) operationAmountCell(l xlsxLine) (any, error) {
	if l.Operation == nil || !l.Operation.HasAmount {
		return excelize.Cell{}, nil
	}
	return b.amount(l.Operation.AmountMinor, l.Operation.Currency)
}

func (b *workbook) ageCell(l xlsxLine) (any, error) {
	days, ok := b.report.ageDays(l.FirstSeenAt)
	if !ok {
		return excelize.Cell{}, nil
	}
	return b.count(days), nil
}

func (b *workbook) severityCell(l xlsxLine) (any, error) {
	style, ok := b.severity[l.Severity]
	if !ok {
		style = b.plain
	}
	return b.text(b.words.Of(l.Severity).Title, style), nil
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}
