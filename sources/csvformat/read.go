package csvformat

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

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
	// clocks read the times of other zones than the source's; zones are those
	// that rows have named.
	clocks map[*time.Location]*timeReader
	zones  map[string]*time.Location
	joined []byte
	// positions of the columns.
	positions
	// width of every row; 0 until it is known.
	width  int
	header []string
	// rawHeader is the header as it stands in the file, for finding it again.
	rawHeader  []string
	headerLine int
	footer     *footer
	places     places
	arena      strings.Builder
	currency   word // the last one that was read
	totals     totals
	ledger     ledger
	sequence   sequence
	period     periodOfRows
	// vouched is the count that the manifest declares; nil: none.
	vouched *int64
	// rowCurrency and netMinor of the row in hand.
	rowCurrency word
	netMinor    int64
	hasNet      bool
	summary     sources.Summary
	// lastRow is the line of the last row, if nothing but data was behind it.
	lastRow int
	// foreign counts rows of accounts that the source does not cover.
	foreign int64
	notes   notes
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
	if r.format.form.headless() {
		return nil // the first row tells the width
	}
	if err := r.findHeader(); err != nil {
		return err
	}
	return r.knowPeriod()
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
		if r.format.extras {
			noRow, err := r.outside(cells, line)
			if err != nil {
				r.ended = err
				break
			}
			if noRow {
				r.lastRow = 0
				continue
			}
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
			r.footer, r.lastRow = newFooter(cells, line), 0
			continue
		}
		if len(cells) > r.width && r.format.form.trimEnd {
			cells = trimEnd(cells, r.width)
		}
		if len(cells) != r.width {
			if r.ended = r.ragged(len(cells), line); r.ended == nil {
				*rec = sources.Record{}
				return r.raggedRow(len(cells), line)
			}
			break
		}
		if r.rawHeader != nil && string(cells[0]) == r.rawHeader[0] && r.isHeader(cells) {
			if r.ended = r.headerAgain(line); r.ended != nil {
				break
			}
			continue
		}
		if done, err := r.row(cells, line, rec); done || err != nil {
			return err
		}
	}
	return r.ended
}

// outside reports a row that is no data: blank, to be ignored, or the place of
// a total.
func (r *reader) outside(cells [][]byte, line int) (bool, error) {
	f := &r.format.form
	if f.skipBlank && blank(cells) {
		return true, nil
	}
	if f.ignore != nil && f.ignore.Match(trim(cells[0])) {
		return true, nil
	}
	return r.isPlace(cells, line)
}

// trimEnd drops empty cells at the end, down to a width.
func trimEnd(cells [][]byte, width int) [][]byte {
	for len(cells) > width && len(trim(cells[len(cells)-1])) == 0 {
		cells = cells[:len(cells)-1]
	}
	return cells
}

func blank(cells [][]byte) bool {
	for _, cell := range cells {
		if len(trim(cell)) > 0 {
			return false
		}
	}
	return true
}

func (r *reader) isHeader(cells [][]byte) bool {
	for i, cell := range cells {
		if string(cell) != r.rawHeader[i] {
			return false
		}
	}
	return true
}

// headerAgain judges a row that equals the header: files were joined.
func (r *reader) headerAgain(line int) error {
	if r.format.form.skipHeaders {
		r.notes.add("the header is repeated", line)
		return nil
	}
	return &sources.Refusal{
		Line: line, Reason: fmt.Sprintf("the header of line %d is repeated", r.headerLine),
		Remedy: "several files were joined; if the provider does that, declare csv.repeated_header: skip",
	}
}

// row reads one data row; done is false for a row that is skipped.
func (r *reader) row(cells [][]byte, line int, rec *sources.Record) (done bool, err error) {
	r.summary.Rows++
	r.lastRow = line
	*rec = sources.Record{Line: line}
	if r.format.followed {
		if err := r.followRow(cells, line); err != nil {
			return true, r.failed(rec, err)
		}
	}
	skip, err := r.read(cells, rec)
	if err != nil {
		r.lostEntry()
		return true, r.failed(rec, err)
	}
	if skip {
		r.summary.Skipped++
		return false, nil
	}
	if r.format.balances.on {
		if err := r.enter(cells, rec); err != nil {
			return true, r.failed(rec, err)
		}
	}
	if r.format.dayField != noField {
		if err := r.sameDay(rec); err != nil {
			return true, r.failed(rec, err)
		}
	}
	r.summary.Records++
	r.noteTime(rec)
	return true, nil
}

// followRow checks what every row must agree in, skipped ones too.
func (r *reader) followRow(cells [][]byte, line int) error {
	if r.sequenceColumn != noColumn {
		if err := r.count(cells, line); err != nil {
			return err
		}
	}
	if r.fromColumn != noColumn {
		return r.samePeriod(cells, line)
	}
	return nil
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

// raggedRow rejects a row of the wrong width, where the source declares that.
func (r *reader) raggedRow(cells, line int) error {
	r.summary.Rows++
	r.summary.Rejects++
	r.totals.unreadable++
	r.lostEntry()
	return &sources.Reject{Line: line, Reason: fmt.Sprintf("the row has %d cells, %d are needed", cells, r.width)}
}

// ragged reads on to name every row of a wrong width, up to a bound.
func (r *reader) ragged(cells, line int) error {
	if r.format.form.rejectRagged {
		return nil
	}
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
		if r.format.form.trimEnd {
			row = trimEnd(row, r.width)
		}
		if len(row) == r.width || len(row) == 1 && len(row[0]) == 0 || r.isFooter(row) {
			continue
		}
		if noRow, _ := r.outside(row, at); noRow { //nolint:errcheck // the file is refused already
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
