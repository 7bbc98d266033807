package reports

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
}

// columns lists the columns in the order in which a person works through
// them: what is wrong, how much, what to do, then how to find it.
func (b *workbook) columns() []column {
	in := " (" + Visible(b.report.zone().String()) + ")"
	return []column{
		{"Severity", 10, b.severityCell},
		b.textColumn("Problem", 26, b.plain, func(l xlsxLine) string { return b.words.Of(l.Kind).Title }),
		{"At risk", 17, func(l xlsxLine) (any, error) {
			if !l.HasAmount {
				return nil, nil
			}
			return b.amount(l.AmountMinor, l.Currency)
		}},
		b.textColumn("Currency", 9, b.plain, func(l xlsxLine) string { return l.Currency }),
		{"Age, days", 8, func(l xlsxLine) (any, error) {
			if days, ok := b.report.ageDays(l.FirstSeenAt); ok {
				return b.count(days), nil
			}
			return nil, nil
		}},
		b.textColumn("What to do", adviceWidth, b.wrapped, func(l xlsxLine) string { return string(l.row.WhatToDo) }),
		b.textColumn("Business reference", 24, b.plain, func(l xlsxLine) string { return string(l.row.BusinessReference) }),
		{"Operation amount", 17, func(l xlsxLine) (any, error) {
			if l.Operation == nil || !l.Operation.HasAmount {
				return nil, nil
			}
			return b.amount(l.Operation.AmountMinor, l.Operation.Currency)
		}},
		b.textColumn("Operation currency", 11, b.plain, func(l xlsxLine) string { return string(l.row.OperationCurrency) }),
		b.textColumn("Provider operation ids", 28, b.plain, func(l xlsxLine) string { return string(l.row.ProviderOperationIDs) }),
		b.textColumn("Statement", 34, b.plain, func(l xlsxLine) string { return string(l.row.Statement) }),
		b.textColumn("Line", 9, b.plain, func(l xlsxLine) string { return l.row.Line }),
		b.textColumn("State", 13, b.plain, func(l xlsxLine) string { return b.words.Of(l.State).Title }),
		b.textColumn("Assignee", 18, b.plain, func(l xlsxLine) string { return l.Assignee }),
		{"First seen" + in, 19, func(l xlsxLine) (any, error) { return b.at(l.FirstSeenAt), nil }},
		{"Last seen" + in, 19, func(l xlsxLine) (any, error) { return b.at(l.LastSeenAt), nil }},
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
		b.textColumn("New in this run", 9, b.plain, func(l xlsxLine) string { return yes(l.New) }),
	}
}

// textColumn is a column of text cells in one style; empty text leaves the
// cell empty.
func (b *workbook) textColumn(title string, width int, style int, value func(xlsxLine) string) column {
	return column{title, width, func(l xlsxLine) (any, error) {
		if s := value(l); s != "" {
			return b.text(s, style), nil
		}
		return nil, nil
	}}
}

func (b *workbook) severityCell(l xlsxLine) (any, error) {
	style, ok := b.severity[l.Severity]
	if !ok {
		style = b.plain
	}
	return b.text(b.words.Of(l.Severity).Title, style), nil
}

//nolint:revive // a word for a cell, not a switch of behaviour
func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}
