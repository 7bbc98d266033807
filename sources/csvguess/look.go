// Package csvguess takes a first look at a delimited file of which nobody has
// said anything yet, and writes down what it sees and what it can't know as
// the first draft of a mapping. It is a folder of its own because guessing has
// no place where statements are read: package csvformat reads what is
// declared, and never asks this one.
package csvguess

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"reconciler/sources"
)

// MaxLook is how much of a document is looked at, in bytes.
const MaxLook = 8 << 20

// Look is what a first look at a document shows.
type Look struct {
	// Name of the document.
	Name string
	// Whole says that all of it was looked at.
	Whole    bool
	Encoding Encoding
	// Delimiter and Quote as the configuration says them.
	Delimiter, Quote string
	// HeaderLine is the physical line of the header; 0: there seems to be none.
	HeaderLine int
	// Header is the row itself, a last empty cell included.
	Header []string
	// Preamble are the lines before the header that are not empty.
	Preamble []Line
	Columns  []Column
	// Width that most rows have, and how many do.
	Width, Rows int
	// Odd are the rows of other widths behind the header, by their first cell.
	Odd []Odd
	// Footers are rows that look like totals.
	Footers []Line

	// body are the cells of the rows.
	body [][]string
}

// Line is a line or row as it stands in the document.
type Line struct {
	Number int
	Text   string
	Cells  []string
}

// Odd are rows of one width, other than that of most, that begin alike.
type Odd struct {
	First       string
	Width, Rows int
	// Line of the first of them.
	Line int
}

// Inspect looks at the beginning of a document. What is declared is taken for
// true; nil: nothing is. An error says that there is nothing to look at, or
// that the source can't be read.
func Inspect(r io.Reader, name string, declared *sources.CSV) (*Look, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxLook+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	l := &Look{Name: name, Whole: len(data) <= MaxLook, Quote: "double"}
	if !l.Whole {
		data = data[:bytes.LastIndexByte(data[:MaxLook], '\n')+1]
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, errors.New("the file has nothing in it")
	}
	if declared == nil {
		declared = &sources.CSV{}
	}
	text, err := l.decode(data, declared.Encoding)
	if err != nil {
		return nil, err
	}
	records := l.cut(text, declared)
	l.findHeader(records, declared)
	l.sort(records)
	l.describe()
	return l, nil
}

// record is a row with its physical line.
type record struct {
	line  int
	cells []string
}

// mostProbed is how many records are looked at to find the delimiter.
const mostProbed = 2000

// cut finds the delimiter and cuts the text.
func (l *Look) cut(text string, declared *sources.CSV) []record {
	l.Delimiter = declared.Delimiter
	if declared.Quote == "none" {
		l.Quote = "none"
	}
	if l.Delimiter != "" {
		return l.records(text, l.Delimiter[0], -1)
	}
	best := 0
	l.Delimiter = ","
	for _, d := range []byte{',', ';', '\t', '|'} {
		records := l.records(text, d, mostProbed)
		width, rows := modalWidth(records)
		if score := rows * (width - 1); score > best {
			best, l.Delimiter = score, string(d)
		}
	}
	return l.records(text, l.Delimiter[0], -1)
}

// records cuts the text patiently: nothing is refused here.
func (l *Look) records(text string, delimiter byte, most int) []record {
	var out []record
	if l.Quote == "none" {
		for i, line := range strings.Split(text, "\n") {
			if line = strings.TrimRight(line, "\r"); line != "" && (most < 0 || len(out) < most) {
				out = append(out, record{i + 1, strings.Split(line, string(delimiter))})
			}
		}
		return out
	}
	reader := csv.NewReader(strings.NewReader(text))
	reader.Comma, reader.LazyQuotes, reader.FieldsPerRecord = rune(delimiter), true, -1
	for most < 0 || len(out) < most {
		cells, err := reader.Read()
		if err != nil {
			break // the end, or a quote that never closes
		}
		line, _ := reader.FieldPos(0)
		out = append(out, record{line, cells})
	}
	return out
}

// modalWidth is the width of the records that have most of the cells: a few
// long rows outweigh many lines of a preamble.
func modalWidth(records []record) (width, rows int) {
	counts := map[int]int{}
	for _, r := range records {
		counts[len(r.cells)]++
	}
	width = 1
	for w, n := range counts {
		if cells, most := n*(w-1), rows*(width-1); cells > most || cells == most && w > width {
			width, rows = w, n
		}
	}
	return width, rows
}

// findHeader finds the row that names the others, by what is declared or by
// how it looks: texts where the rows below it have numbers and dates.
func (l *Look) findHeader(records []record, declared *sources.CSV) {
	l.Width, _ = modalWidth(records)
	take := func(i int) {
		l.HeaderLine, l.Header = records[i].line, records[i].cells
	}
	for i, r := range records {
		switch {
		case declared.Header != nil && containsAll(r.cells, declared.Header.Contains):
			take(i)
		case declared.HeaderRow != nil && *declared.HeaderRow > 0 && r.line == *declared.HeaderRow:
			take(i)
		}
		if l.HeaderLine > 0 {
			return
		}
	}
	if declared.Header != nil || declared.HeaderRow != nil {
		return
	}
	// Several blocks may stand in one file; the one with the most cells counts.
	best, from, named, rows := 0, -1, 0, 0
	for i, r := range records {
		if n := l.namesIn(records, i); n > 0 {
			from, named, rows = i, n, 0
		}
		if strings.TrimSpace(strings.Join(r.cells, "")) != "" {
			rows++
		}
		if from >= 0 && named*rows > best {
			best = named * rows
			take(from)
		}
	}
}

func containsAll(cells, wanted []string) bool {
	for _, want := range wanted {
		if !slices.ContainsFunc(cells, func(cell string) bool { return strings.EqualFold(strings.TrimSpace(cell), want) }) {
			return false
		}
	}
	return len(wanted) > 0
}

// headerWithin is how many rows a header is looked for in.
const headerWithin = 200

// namesIn counts the names in a row that may be a header; 0 if it is none.
func (l *Look) namesIn(records []record, at int) int {
	cells := records[at].cells
	dangling := len(cells) == l.Width+1 && strings.TrimSpace(cells[l.Width]) == ""
	if at > headerWithin || l.Width < 2 || len(cells) != l.Width && !dangling {
		return 0
	}
	named, seen := 0, map[string]bool{}
	for _, cell := range cells {
		cell = strings.TrimSpace(cell)
		if cell == "" {
			continue
		}
		if isValue(cell) {
			return 0
		}
		named++
		seen[strings.ToLower(cell)] = true
	}
	if named*2 < len(cells) || len(seen)*10 < named*8 {
		return 0
	}
	for _, r := range records[at+1:] {
		if len(r.cells) == l.Width && slices.ContainsFunc(r.cells, func(cell string) bool { return isValue(strings.TrimSpace(cell)) }) {
			return named
		}
	}
	if at == 0 && len(records) == 1 {
		return named
	}
	return 0
}

// isValue reports a cell that no header has: a number or a time.
func isValue(cell string) bool {
	if _, ok := readNumber(cell); ok {
		return true
	}
	return len(fittingLayouts([]string{cell})) > 0
}

// sort tells preamble, rows, footers and rows of other widths apart.
func (l *Look) sort(records []record) {
	odd := map[string]int{}
	for _, r := range records {
		line := Line{r.line, strings.TrimSpace(strings.Join(r.cells, l.Delimiter)), r.cells}
		first := strings.TrimSpace(r.cells[0])
		switch {
		case r.line == l.HeaderLine || strings.Trim(line.Text, l.Delimiter+" ") == "":
		case r.line < l.HeaderLine:
			l.Preamble = append(l.Preamble, line)
		case isTotal(first):
			l.Footers = append(l.Footers, line)
		case len(r.cells) == l.Width:
			l.body = append(l.body, r.cells)
		default:
			key := fmt.Sprint(first, "\x00", len(r.cells))
			if i, ok := odd[key]; ok {
				l.Odd[i].Rows++
				continue
			}
			odd[key] = len(l.Odd)
			l.Odd = append(l.Odd, Odd{First: first, Width: len(r.cells), Rows: 1, Line: r.line})
		}
	}
	l.Rows = len(l.body)
}

// isTotal reports the first cell of a row of totals.
func isTotal(cell string) bool {
	cell = strings.ToLower(cell)
	for _, word := range []string{"total", "subtotal", "sum", "summe", "gesamt", "итого", "всего", "celkem", "totaal", "合计", "totale", "suma", "razem", "footer", "<end>"} {
		if cell == word || strings.HasPrefix(cell, word+" ") || strings.HasPrefix(cell, word+":") {
			return true
		}
	}
	return false
}
