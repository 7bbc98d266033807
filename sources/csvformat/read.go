package csvformat

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"reconciler/sources"
)

// maxListed bounds how many offending lines or columns a refusal names.
const maxListed = 20

// noColumn marks a field that comes from no column.
const noColumn = -1

// reader reads one document.
type reader struct {
	format *Format
	scan   *scanner
	times  timeReader
	// columns of the fields, from 0.
	columns [fieldCount]int
	// width of every row; 0 until it is known.
	width  int
	header []string
	// countColumn and sumColumn of the footer, from 0.
	countColumn, sumColumn int
	footer                 *footer
	arena                  strings.Builder
	currency               word // the last one that was read
	totals                 totals
	summary                sources.Summary
	// ended is what Next answers from now on.
	ended error
}

// open reads up to the header, and finds the columns.
func (r *reader) open() error {
	err := r.scan.start()
	if errors.Is(err, io.EOF) {
		return &sources.Refusal{
			Reason: "the file is empty", Remedy: "fetch it again; an empty register still has its header",
		}
	}
	if err != nil {
		return err
	}
	if r.scan.hasZeroByte() {
		return &sources.Refusal{
			Line: 1, Reason: "the file begins with zero bytes between its characters: it is written in UTF-16, without a byte order mark",
			Remedy: "declare csv.encoding: utf-16le or utf-16be",
		}
	}
	if r.format.headerRow == 0 {
		return nil // the first row tells the width
	}
	for range r.format.headerRow - 1 {
		if err := r.scan.skipLine(); err != nil {
			return r.noHeader(err)
		}
	}
	cells, line, err := r.scan.row()
	if err != nil {
		return r.noHeader(err)
	}
	r.header = make([]string, len(cells))
	for i, cell := range cells {
		r.header[i] = strings.TrimSpace(string(cell))
	}
	r.width = len(cells)
	return r.findColumns(line)
}

func (r *reader) noHeader(err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	return &sources.Refusal{
		Line: r.format.headerRow, Reason: "the file ends before its header",
		Remedy: "the file is cut short, or csv.header_row is wrong",
	}
}

// findColumns resolves the mapping against the header, or against the width of
// the first row where there is none.
func (r *reader) findColumns(line int) error {
	for id := range fieldCount {
		r.columns[id] = noColumn
		f := &r.format.plan.fields[id]
		if !f.mapped() {
			continue
		}
		at, err := r.find(*f.spec.Column, line)
		if err != nil {
			return err
		}
		r.columns[id] = at
	}
	r.countColumn, r.sumColumn = noColumn, noColumn
	rule := r.format.footer
	if rule == nil {
		return nil
	}
	var err error
	if rule.count != nil {
		if r.countColumn, err = r.find(*rule.count, line); err != nil {
			return err
		}
	}
	if rule.sum != nil {
		r.sumColumn, err = r.find(*rule.sum, line)
	}
	return err
}

// find returns the position of a column. Headers are compared without regard
// to case and outer blanks, and must be there exactly once.
func (r *reader) find(c sources.Column, line int) (int, error) {
	if c.Number > 0 {
		if c.Number > r.width {
			return 0, &sources.Refusal{
				Line: line, Column: fmt.Sprint(c.Number), Reason: fmt.Sprintf("there is no such column: the row has %d", r.width),
				Remedy: "check csv.delimiter and the column numbers",
			}
		}
		return c.Number - 1, nil
	}
	found := noColumn
	want := strings.TrimSpace(c.Header)
	for i, name := range r.header {
		if !strings.EqualFold(name, want) {
			continue
		}
		if found != noColumn {
			return 0, &sources.Refusal{
				Line: line, Column: want, Reason: fmt.Sprintf("the header is there twice, as columns %d and %d", found+1, i+1),
				Remedy: "name the column by its number",
			}
		}
		found = i
	}
	if found == noColumn {
		return 0, &sources.Refusal{
			Line: line, Column: want, Reason: "the required column is missing; the header has " + listed(r.header),
			Remedy: "if the provider renamed it, correct the mapping; also check csv.delimiter, csv.header_row and csv.encoding",
		}
	}
	return found, nil
}

func listed(names []string) string {
	quoted := make([]string, 0, min(len(names), maxListed)+1)
	for i, name := range names {
		if i == maxListed {
			quoted = append(quoted, fmt.Sprintf("and %d more", len(names)-i))
			break
		}
		quoted = append(quoted, quote(name))
	}
	return strings.Join(quoted, ", ")
}

// Next implements sources.Reader.
func (r *reader) Next(rec *sources.Record) error {
	for r.ended == nil {
		cells, line, err := r.scan.row()
		if err != nil {
			r.ended = err
			break
		}
		if len(cells) == 1 && len(cells[0]) == 0 && r.width != 1 {
			continue // an empty line
		}
		if r.width == 0 {
			r.width = len(cells)
			if r.ended = r.findColumns(line); r.ended != nil {
				break
			}
		}
		if r.footer != nil {
			r.ended = r.afterFooter(line)
			break
		}
		if r.isFooter(cells) {
			r.footer = newFooter(cells, line)
			continue
		}
		if len(cells) != r.width {
			r.ended = r.ragged(len(cells), line)
			break
		}
		if done, err := r.row(cells, line, rec); done || err != nil {
			return err
		}
	}
	return r.ended
}

// row reads one data row; done is false for a row that is skipped.
func (r *reader) row(cells [][]byte, line int, rec *sources.Record) (done bool, err error) {
	r.summary.Rows++
	*rec = sources.Record{Line: line}
	skip, err := r.read(cells, rec)
	if err != nil {
		return true, r.failed(rec, err)
	}
	if skip {
		r.summary.Skipped++
		return false, nil
	}
	r.summary.Records++
	r.noteTime(rec)
	return true, nil
}

// failed counts a reject; any other error ends the reading. Nothing of the row
// may be taken for a record.
func (r *reader) failed(rec *sources.Record, err error) error {
	*rec = sources.Record{}
	var reject *sources.Reject
	if errors.As(err, &reject) {
		r.summary.Rejects++
	} else {
		r.ended = err
	}
	return err
}

func (r *reader) noteTime(rec *sources.Record) {
	at := rec.OccurredAt
	if at.IsZero() {
		return
	}
	if r.summary.FirstOccurred.IsZero() || at.Before(r.summary.FirstOccurred) {
		r.summary.FirstOccurred = at
	}
	if at.After(r.summary.LastOccurred) {
		r.summary.LastOccurred = at
	}
}

// ragged reads on to name every row of a wrong width, up to a bound.
func (r *reader) ragged(cells, line int) error {
	first := line
	lines := []string{fmt.Sprintf("line %d has %d", line, cells)}
	more := 0
	for {
		row, at, err := r.scan.row()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if len(row) == r.width || len(row) == 1 && len(row[0]) == 0 || r.isFooter(row) {
			continue
		}
		if len(lines) == maxListed {
			more++
			continue
		}
		lines = append(lines, fmt.Sprintf("line %d has %d", at, len(row)))
	}
	reason := fmt.Sprintf("rows must have %d cells: %s", r.width, strings.Join(lines, ", "))
	if more > 0 {
		reason += fmt.Sprintf(", and %d more rows", more)
	}
	return &sources.Refusal{
		Line: first, Reason: reason,
		Remedy: "the file is cut short, or cells contain the delimiter without quotes; ask the provider for a correct file",
	}
}

// text copies a cell, so that it outlives the scanner's buffer. The copies of
// many rows share one block of memory.
func (r *reader) text(cell []byte) string {
	const block = 32 << 10
	if len(cell) == 0 {
		return ""
	}
	if r.arena.Cap()-r.arena.Len() < len(cell) {
		r.arena = strings.Builder{}
		r.arena.Grow(max(block, len(cell)))
	}
	at := r.arena.Len()
	r.arena.Write(cell)
	return r.arena.String()[at:]
}

// quote quotes a value for a person, bounded.
func quote(value string) string {
	const most = 80
	if len(value) > most {
		return fmt.Sprintf("%q…", strings.ToValidUTF8(value[:most], ""))
	}
	return fmt.Sprintf("%q", value)
}
