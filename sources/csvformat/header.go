package csvformat

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"reconciler/sources"
)

// positions are the columns of everything that is read, from 0; noColumn
// where it is not mapped.
type positions struct {
	columns [fieldCount]int
	// sides are the debit and the credit column of amounts that have two.
	sides       [fieldCount][2]int
	timeColumns [fieldCount]int
	zoneColumns [fieldCount]int
	feeColumns  []int
	rowColumn   int
	// footer columns.
	countColumn, sumColumn, debitColumn, creditColumn int
	runningColumn, sequenceColumn                     int
	fromColumn, toColumn                              int
}

// findHeader reads the preamble and the header.
func (r *reader) findHeader() error {
	rule := r.format.form.header
	if rule == nil {
		for range r.format.form.headerRow - 1 {
			if err := r.preambleLine(); err != nil {
				return r.noHeader(err)
			}
		}
		return r.readHeader()
	}
	for range rule.within {
		line, err := r.scan.peekLine()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if r.looksLikeHeader(rule, line) {
			return r.readHeader()
		}
		if err := r.preambleLine(); err != nil {
			return err
		}
	}
	what := fmt.Sprintf("no line matches csv.header.match \"%s\"", rule.match)
	if rule.match == nil {
		what = "no line has the headers " + listed(rule.contains)
	}
	return &sources.Refusal{
		Reason: fmt.Sprintf("%s, within the first %d lines", what, rule.within),
		Remedy: "the provider renamed a column, or csv.delimiter, csv.encoding or csv.header is wrong",
	}
}

func (r *reader) looksLikeHeader(rule *headerRule, line []byte) bool {
	if rule.match != nil {
		return rule.match.Match(line)
	}
	cells := looseCells(string(line), r.scan.delimiter, r.scan.quote)
	for _, want := range rule.contains {
		if !slices.ContainsFunc(cells, func(cell string) bool { return strings.EqualFold(cell, strings.TrimSpace(want)) }) {
			return false
		}
	}
	return true
}

// looseCells cuts a line that may follow no rule at all: that of a preamble.
func looseCells(line string, delimiter, quote byte) []string {
	var cells []string
	for {
		if quote != 0 && line != "" && line[0] == quote {
			cell, rest, ok := strings.Cut(line[1:], string(quote))
			if ok && (rest == "" || rest[0] == delimiter) {
				cells = append(cells, strings.TrimSpace(cell))
				if rest == "" {
					return cells
				}
				line = rest[1:]
				continue
			}
		}
		cell, rest, ok := strings.Cut(line, string(delimiter))
		cells = append(cells, strings.TrimSpace(cell))
		if !ok {
			return cells
		}
		line = rest
	}
}

// preambleLine drops a line, or finds places in it.
func (r *reader) preambleLine() error {
	number := r.scan.line
	line, err := r.scan.skipLine()
	if err != nil || len(r.format.places) == 0 {
		return err
	}
	return r.inPreamble(string(line), number)
}

func (r *reader) readHeader() error {
	cells, line, err := r.scan.row()
	if err != nil {
		return r.noHeader(err)
	}
	if r.format.form.trimEnd {
		cells = trimEnd(cells, 1)
	}
	r.header = make([]string, len(cells))
	r.rawHeader = make([]string, len(cells))
	for i, cell := range cells {
		r.rawHeader[i] = string(cell)
		r.header[i] = strings.TrimSpace(r.rawHeader[i])
	}
	r.width, r.headerLine = len(cells), line
	return r.findColumns(line)
}

func (r *reader) noHeader(err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	return &sources.Refusal{
		Line: r.format.form.headerRow, Reason: "the file ends before its header",
		Remedy: "the file is cut short, or csv.header_row is wrong",
	}
}

// findColumns resolves the mapping against the header, or against the width of
// the first row where there is none.
func (r *reader) findColumns(line int) error {
	f := r.format
	find := func(c *sources.Column) (int, error) {
		if c == nil {
			return noColumn, nil
		}
		return r.find(*c, line)
	}
	var err error
	set := func(at *int, c *sources.Column) {
		if err == nil {
			*at, err = find(c)
		}
	}
	for id := range fieldCount {
		field := &f.plan.fields[id]
		r.columns[id], r.timeColumns[id], r.zoneColumns[id] = noColumn, noColumn, noColumn
		if field.spec == nil {
			continue
		}
		set(&r.columns[id], field.spec.Column)
		if sides := field.amount.sides; sides != nil {
			set(&r.sides[id][0], sides[0].column)
			set(&r.sides[id][1], sides[1].column)
		}
		set(&r.timeColumns[id], field.spec.TimeColumn)
		set(&r.zoneColumns[id], field.spec.ZoneColumn)
		for i := range field.spec.Columns {
			at := noColumn
			set(&at, &field.spec.Columns[i])
			r.feeColumns = append(r.feeColumns, at)
		}
	}
	if f.plan.rows != nil {
		set(&r.rowColumn, f.plan.rows.column)
	}
	r.countColumn, r.sumColumn, r.debitColumn, r.creditColumn = noColumn, noColumn, noColumn, noColumn
	if f.footer != nil {
		set(&r.countColumn, f.footer.count)
		set(&r.sumColumn, f.footer.sum)
		set(&r.debitColumn, f.footer.debit)
		set(&r.creditColumn, f.footer.credit)
	}
	r.runningColumn, r.sequenceColumn, r.fromColumn, r.toColumn = noColumn, noColumn, noColumn, noColumn
	set(&r.runningColumn, f.balances.running)
	set(&r.sequenceColumn, f.sequence.column)
	if f.period != nil {
		set(&r.fromColumn, f.period.fromColumn)
		set(&r.toColumn, f.period.toColumn)
	}
	for i := range f.places {
		if c := f.places[i].column; c != nil && c.Header != "" {
			at := noColumn
			set(&at, c)
			r.places[i].column = at
		}
	}
	return err
}
