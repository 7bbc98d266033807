package csvformat

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"unicode/utf8"

	"reconciler/sources"
)

const (
	bufferSize = 256 << 10
	// maxRow bounds the memory of one row. A longer one is a quote that opens
	// and does not close before the rest of the file.
	maxRow = 4 << 20
)

// errMore says that the buffer ends inside the row.
var errMore = errors.New("the row goes on")

// scanner cuts UTF-8 text into rows and cells by RFC 4180, strictly: a quote
// in an unquoted cell, text behind a closing quote and a quote that never
// closes are refusals. It takes LF and CRLF line ends. The cells are views
// into its buffer, valid until the next row.
type scanner struct {
	src       io.Reader
	delimiter byte
	// quote is 0 where the source declares that quotes are plain characters.
	quote byte
	// comment begins a line that is no row; empty: none does.
	comment []byte
	// unwrap takes ="00123" for 00123.
	unwrap bool
	// decoded says that the text was converted, so that U+FFFD means damage.
	decoded bool

	buf      []byte
	pos, end int
	// checked is how far the encoding of the buffer is known to be valid.
	checked int
	// offset in the text of buf[0].
	offset int64
	eof    bool
	// last byte of the text so far.
	last byte
	// line is the physical line at pos, from 1.
	line  int
	cells [][]byte
	spans []span
}

// span is a cell of a row that is still being read.
type span struct {
	from, to int
	doubled  bool
}

func newScanner(src io.Reader, f *form, decoded bool) *scanner {
	return &scanner{
		src: src, delimiter: f.delimiter, quote: f.quote, comment: f.comment, unwrap: f.unwrap, decoded: decoded,
		buf: make([]byte, bufferSize), line: 1,
	}
}

// start reads the first bytes and drops byte order marks. It returns io.EOF
// for a text without a single byte.
func (s *scanner) start() error {
	if err := s.fill(); err != nil {
		return err
	}
	for bytes.HasPrefix(s.buf[s.pos:s.end], []byte("\ufeff")) {
		s.pos += len("\ufeff")
	}
	if s.pos == s.end && s.eof {
		return io.EOF
	}
	return nil
}

// hasZeroByte reports a zero byte at the very beginning, where only UTF-16 has one.
func (s *scanner) hasZeroByte() bool {
	return bytes.IndexByte(s.buf[s.pos:min(s.pos+4, s.end)], 0) >= 0
}

// row returns the cells of the next row and the line on which it starts; an
// empty line is a row with one empty cell.
func (s *scanner) row() ([][]byte, int, error) {
	for {
		if len(s.comment) > 0 {
			if err := s.skipComments(); err != nil {
				return nil, s.line, err
			}
		}
		at := s.line
		err := s.plainRow()
		if err == nil {
			return s.cells, at, nil
		}
		if !errors.Is(err, errMore) {
			return nil, at, err
		}
		if err := s.fill(); err != nil {
			return nil, at, err
		}
	}
}

// skipComments drops the lines that begin like a comment.
func (s *scanner) skipComments() error {
	for {
		for s.end-s.pos < len(s.comment) && !s.eof {
			if err := s.fill(); err != nil {
				return err
			}
		}
		if !bytes.HasPrefix(s.buf[s.pos:s.end], s.comment) {
			return nil
		}
		if _, err := s.skipLine(); err != nil {
			return err
		}
	}
}

// peekLine returns the next physical line without its end, whatever stands in
// it, and leaves it there. It is valid until the scanner moves on.
func (s *scanner) peekLine() ([]byte, error) {
	line, _, err := s.physicalLine()
	return line, err
}

// skipLine drops one physical line, and returns it as peekLine does.
func (s *scanner) skipLine() ([]byte, error) {
	line, next, err := s.physicalLine()
	if err != nil {
		return nil, err
	}
	s.pos = next
	s.line++
	return line, nil
}

// physicalLine returns the next line and where the one behind it begins.
func (s *scanner) physicalLine() (line []byte, next int, err error) {
	searched := 0
	for {
		rest := s.buf[s.pos:s.end]
		if at := bytes.IndexByte(rest[searched:], '\n'); at >= 0 {
			at += searched
			return bytes.TrimRight(rest[:at], "\r"), s.pos + at + 1, nil
		}
		if s.eof {
			if len(rest) == 0 {
				return nil, 0, io.EOF
			}
			return bytes.TrimRight(rest, "\r"), s.end, nil
		}
		searched = len(rest)
		if err := s.fill(); err != nil {
			return nil, 0, err
		}
	}
}

// plainRow cuts a row without quotes, which nearly all are; it hands the
// others to quotedRow.
func (s *scanner) plainRow() error {
	rest := s.buf[s.pos:s.end]
	length := bytes.IndexByte(rest, '\n')
	next := s.pos + length + 1
	if length < 0 {
		if !s.eof {
			return errMore
		}
		if len(rest) == 0 {
			return io.EOF
		}
		length, next = len(rest), s.end
	}
	row := rest[:length]
	if s.quote != 0 && bytes.IndexByte(row, s.quote) >= 0 {
		return s.quotedRow()
	}
	for len(row) > 0 && row[len(row)-1] == '\r' {
		row = row[:len(row)-1]
	}
	if bytes.IndexByte(row, '\r') >= 0 {
		return bareReturn(s.line)
	}
	s.split(row)
	if s.unwrap && s.quote == 0 {
		s.unwrapCells()
	}
	s.pos = next
	s.line++
	return nil
}

// unwrapCells takes every cell of exactly the form ="text" for its text.
func (s *scanner) unwrapCells() {
	for i, cell := range s.cells {
		if inner, ok := wrapped(cell); ok {
			s.cells[i] = inner
		}
	}
}

// wrapped returns the text of a cell of the form ="text".
func wrapped(cell []byte) ([]byte, bool) {
	if len(cell) < 3 || cell[0] != '=' || cell[1] != '"' || cell[len(cell)-1] != '"' {
		return nil, false
	}
	inner := cell[2 : len(cell)-1]
	return inner, bytes.IndexByte(inner, '"') < 0
}

// split cuts a row without quotes at its delimiters, eight bytes at a time:
// cells are too short for a call per cell.
func (s *scanner) split(row []byte) {
	const low, high = 0x7F7F7F7F7F7F7F7F, 0x8080808080808080
	pattern := uint64(s.delimiter) * 0x0101010101010101
	cells := s.cells[:0]
	from, at := 0, 0
	for ; at+8 <= len(row); at += 8 {
		// A byte that equals the delimiter becomes zero, and a zero byte 0x80.
		x := binary.LittleEndian.Uint64(row[at:]) ^ pattern
		hits := ^((x&low + low) | x) & high
		for ; hits != 0; hits &= hits - 1 {
			to := at + bits.TrailingZeros64(hits)/8
			cells = append(cells, row[from:to:to])
			from = to + 1
		}
	}
	for ; at < len(row); at++ {
		if row[at] == s.delimiter {
			cells = append(cells, row[from:at:at])
			from = at + 1
		}
	}
	s.cells = append(cells, row[from:])
}

func bareReturn(line int) error {
	return &sources.Refusal{
		Line: line, Reason: "a carriage return stands inside the row, without a line feed",
		Remedy: "the file must have LF or CRLF line ends",
	}
}

// quotedRow cuts a row in which quotes stand; it may span several lines.
func (s *scanner) quotedRow() error {
	s.spans = s.spans[:0]
	at, line := s.pos, s.line
	for {
		cell, next, err := s.cell(at, &line)
		if err != nil {
			return err
		}
		s.spans = append(s.spans, cell)
		at = next
		if at < s.end && s.buf[at] == s.delimiter {
			at++
			continue
		}
		break
	}
	for at < s.end && s.buf[at] == '\r' {
		at++
	}
	switch {
	case at == s.end && !s.eof:
		return errMore
	case at == s.end:
	case s.buf[at] == '\n':
		at++
		line++
	default:
		return bareReturn(line)
	}
	s.cells = s.cells[:0]
	for _, c := range s.spans {
		text := s.buf[c.from:c.to]
		if c.doubled {
			text = undouble(text, s.quote)
		}
		s.cells = append(s.cells, text)
	}
	if s.unwrap {
		s.unwrapCells()
	}
	s.pos, s.line = at, line
	return nil
}

// cell reads one cell from at, and returns where the delimiter or the end of
// the row stands.
func (s *scanner) cell(at int, line *int) (span, int, error) {
	if at == s.end && !s.eof {
		return span{}, 0, errMore
	}
	if s.unwrap && at < s.end && s.buf[at] == '=' {
		if at+1 == s.end && !s.eof {
			return span{}, 0, errMore
		}
		if at+1 < s.end && s.buf[at+1] == s.quote {
			at++ // the wrapper of a spreadsheet, without quotes of its own
		}
	}
	if at == s.end || s.buf[at] != s.quote {
		return s.unquotedCell(at, *line)
	}
	opened := *line
	at++
	c := span{from: at}
	for {
		i := bytes.IndexByte(s.buf[at:s.end], s.quote)
		if i < 0 && !s.eof {
			return span{}, 0, errMore
		}
		if i < 0 {
			return span{}, 0, &sources.Refusal{
				Line: opened, Reason: "a quote opens on this line and never closes",
				Remedy: "the file is cut short, or its quotes are no quotes (csv.quote: none)",
			}
		}
		*line += bytes.Count(s.buf[at:at+i], []byte("\n"))
		at += i + 1
		if at == s.end && !s.eof {
			return span{}, 0, errMore
		}
		if at < s.end && s.buf[at] == s.quote {
			c.doubled = true
			at++
			continue
		}
		break
	}
	c.to = at - 1
	if at < s.end && s.buf[at] != s.delimiter && s.buf[at] != '\n' && s.buf[at] != '\r' {
		return span{}, 0, &sources.Refusal{
			Line: *line, Reason: "text goes on behind a closing quote",
			Remedy: "quotes inside a quoted cell must be doubled",
		}
	}
	return c, at, nil
}

func (s *scanner) unquotedCell(at, line int) (span, int, error) {
	c := span{from: at}
	for ; at < s.end; at++ {
		switch s.buf[at] {
		case s.delimiter, '\n', '\r':
			c.to = at
			return c, at, nil
		case s.quote:
			return span{}, 0, s.strayQuote(at, line)
		}
	}
	if !s.eof {
		return span{}, 0, errMore
	}
	c.to = at
	return c, at, nil
}

func (s *scanner) strayQuote(at, line int) error {
	r := &sources.Refusal{
		Line: line, Reason: "a quote stands inside an unquoted cell",
		Remedy: "a cell with quotes must be quoted, and its quotes doubled; if quotes mean nothing in this file, declare csv.quote: none",
	}
	if at > 0 && s.buf[at-1] == '=' && !s.unwrap {
		r.Reason = `a cell is written as a formula, ="…"`
		r.Remedy = "if the provider protects digits so, declare csv.unwrap: true"
	}
	return r
}

// undouble turns two quotes into one, in place.
func undouble(text []byte, quote byte) []byte {
	out := text[:0]
	for i := 0; i < len(text); i++ {
		out = append(out, text[i])
		if text[i] == quote {
			i++
		}
	}
	return out
}

// fill moves the row in hand to the front and fills the rest of the buffer,
// however small the portions are in which the source gives it: what is found
// first must not depend on them. An error of the source is an outage and
// comes before anything that the text may show.
func (s *scanner) fill() error {
	s.offset += int64(s.pos)
	s.end = copy(s.buf, s.buf[s.pos:s.end])
	s.checked -= s.pos
	s.pos = 0
	if s.end == len(s.buf) {
		if len(s.buf) >= maxRow {
			return &sources.Refusal{
				Line: s.line, Reason: fmt.Sprintf("the row that starts here is longer than %d bytes", maxRow),
				Remedy: "look for a quote that opens here and does not close, or for missing line ends",
			}
		}
		s.buf = append(s.buf, make([]byte, len(s.buf))...)
	}
	if !s.eof {
		n, eof, err := readFull(s.src, s.buf[s.end:])
		if err != nil {
			return err
		}
		s.end, s.eof = s.end+n, eof
		if n > 0 {
			s.last = s.buf[s.end-1]
		}
	}
	return s.checkEncoding()
}

// checkEncoding refuses bytes that are not text in the declared encoding.
func (s *scanner) checkEncoding() error {
	limit := s.end
	if !s.eof {
		// A character at the very end may go on in the next portion.
		for i := 1; i < utf8.UTFMax && s.end-i >= s.checked; i++ {
			if at := s.end - i; utf8.RuneStart(s.buf[at]) {
				if !utf8.FullRune(s.buf[at:s.end]) {
					limit = at
				}
				break
			}
		}
	}
	fresh := s.buf[s.checked:limit]
	// In converted text U+FFFD stands for a byte that does not exist, in any
	// other for one that an earlier conversion lost.
	bad := bytes.Index(fresh, []byte("\ufffd"))
	if !s.decoded && !utf8.Valid(fresh) {
		if first := firstInvalid(fresh); bad < 0 || first < bad {
			bad = first
		}
	}
	if bad < 0 {
		s.checked = limit
		return nil
	}
	at := s.checked + bad
	line := s.line + bytes.Count(s.buf[s.pos:at], []byte("\n"))
	r := &sources.Refusal{
		Line: line, Reason: fmt.Sprintf("byte 0x%02X at offset %d is not valid UTF-8", s.buf[at], s.offset+int64(at)),
		Remedy: "declare the encoding in which the file is written (csv.encoding)",
	}
	switch {
	case s.decoded:
		r.Reason = "a byte does not exist in the declared encoding"
	case bytes.HasPrefix(s.buf[at:s.end], []byte("\ufffd")):
		r.Reason = fmt.Sprintf("the replacement character U+FFFD stands at offset %d: an earlier conversion of the file has lost what was there", s.offset+int64(at))
		r.Remedy = "ask the provider for the file as it was before that"
	}
	return r
}

func firstInvalid(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// readFull fills the buffer unless the source ends. io.ReadFull cannot be used
// here: its io.ErrUnexpectedEOF may also come from the source itself, whose
// transfer broke off, and an outage is not the end of a statement.
func readFull(src io.Reader, buf []byte) (n int, ended bool, err error) {
	for idle := 0; n < len(buf); {
		got, err := src.Read(buf[n:])
		n += got
		if got > 0 {
			idle = 0
		}
		switch {
		case err == io.EOF: // a wrapped one is a source that broke off
			return n, true, nil
		case errors.Is(err, io.EOF):
			// Callers take io.EOF in an error for the end.
			return n, false, fmt.Errorf("read statement: %w: %v", io.ErrUnexpectedEOF, err) //nolint:errorlint // hidden on purpose
		case err != nil:
			return n, false, fmt.Errorf("read statement: %w", err)
		case got == 0:
			if idle++; idle > 100 {
				return n, false, fmt.Errorf("read statement: %w", io.ErrNoProgress)
			}
		}
	}
	return n, false, nil
}
