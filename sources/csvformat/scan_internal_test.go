package csvformat

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// scanAll returns the rows of a text, without empty lines.
func scanAll(text string, delimiter byte) ([][]string, error) {
	return rowsOf(newScanner(strings.NewReader(text), &form{delimiter: delimiter, quote: '"'}, false))
}

func rowsOf(s *scanner) ([][]string, error) {
	var rows [][]string
	if err := s.start(); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, err
	}
	for {
		cells, _, err := s.row()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		if len(cells) == 1 && len(cells[0]) == 0 {
			continue
		}
		row := make([]string, len(cells))
		for i, cell := range cells {
			row[i] = string(cell)
		}
		rows = append(rows, row)
	}
}

// FuzzScanner compares with encoding/csv, which is another reading of the same
// rules. The two differ by intent in carriage returns (the other one changes
// them inside quotes) and in a lone quoted empty cell, which it keeps.
func FuzzScanner(f *testing.F) {
	for _, text := range []string{
		"", "a", "a,b\n", "a,\"b\"\n", "\"a\"\"b\",c\nd", "\"a\nb\",c\n", "a\"b\n", "\"a\"b\n", "\"a", "\"", "\"\"", "\"\"\"", "\"\",",
		",,,\n", "\n\na\n", ",\"\"", "12345678,12345678,12345678\n", "a,b,c,d,e,f,g,h,i,j\n", "\"a\",\n\"b\"", "ä,ö\n", "\xff", "\"x\" ,y\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsAny(text, "\r\ufeff") {
			return
		}
		got, err := scanAll(text, ',')
		if !utf8.ValidString(text) {
			if err == nil {
				t.Fatalf("%q is not valid UTF-8, but was read", text)
			}
			return
		}
		other := csv.NewReader(strings.NewReader(text))
		other.FieldsPerRecord = -1
		want, wantErr := other.ReadAll()
		if (err != nil) != (wantErr != nil) {
			t.Fatalf("%q: %v; encoding/csv says %v", text, err, wantErr)
		}
		if err != nil {
			return
		}
		want = slices.DeleteFunc(want, func(row []string) bool { return len(row) == 1 && row[0] == "" })
		if !slices.EqualFunc(got, want, slices.Equal) {
			t.Fatalf("%q (-encoding/csv +got):\n%s", text, cmp.Diff(want, got))
		}
	})
}

// FuzzWriteThenScan: any text in any cell is read as it was written.
func FuzzWriteThenScan(f *testing.F) {
	f.Add("a", "b\"c", "d\ne", byte(';'))
	f.Add("", "", ",", byte(','))
	f.Add("\r\n", "\r", "x\ty", byte('\t'))
	f.Fuzz(func(t *testing.T, a, b, c string, delimiter byte) {
		if !utf8.ValidString(a) || !utf8.ValidString(b) || !utf8.ValidString(c) || !strings.ContainsRune(",;\t|", rune(delimiter)) || strings.HasPrefix(a, "\ufeff") {
			return
		}
		quote := func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
		d := string(delimiter)
		text := quote(a) + d + quote(b) + d + quote(c)
		for _, end := range []string{"", "\n", "\r\n"} {
			rows := 2
			if end == "" {
				rows = 1
			}
			got, err := scanAll(strings.Repeat(text+end, rows), delimiter)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range got {
				if diff := cmp.Diff([]string{a, b, c}, row); diff != "" {
					t.Fatalf("(-written +read):\n%s", diff)
				}
			}
			if len(got) != rows {
				t.Fatalf("%d rows, want %d", len(got), rows)
			}
		}
	})
}

func TestLinesAreCounted(t *testing.T) {
	t.Parallel()
	s := newScanner(strings.NewReader("one\r\ntwo\n\"x\ny\r\nz\",w\n\nlast"), &form{delimiter: ',', quote: '"'}, false)
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.skipLine(); err != nil {
		t.Fatal(err)
	}
	var lines []int
	for {
		_, line, err := s.row()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	if diff := cmp.Diff([]int{2, 3, 6, 7}, lines); diff != "" {
		t.Errorf("rows begin at lines (-want +got):\n%s", diff)
	}
}

// TestBufferBorders lets the buffer end at every place of a row.
func TestBufferBorders(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	var want [][]string
	for i := range 200 {
		fmt.Fprintf(&text, "R%d,\"zwölf \"\"quoted\"\"\r\nlines, über €\",%s\r\nplain,%s,€\n", i, strings.Repeat("p", i), strings.Repeat("q", 200-i))
		want = append(want,
			[]string{fmt.Sprintf("R%d", i), "zwölf \"quoted\"\r\nlines, über €", strings.Repeat("p", i)},
			[]string{"plain", strings.Repeat("q", 200-i), "€"})
	}
	for size := 8; size < 1000; size += 7 {
		s := newScanner(strings.NewReader(text.String()), &form{delimiter: ',', quote: '"'}, false)
		s.buf = make([]byte, size)
		got, err := rowsOf(s)
		if err != nil {
			t.Fatalf("buffer of %d bytes: %v", size, err)
		}
		if !slices.EqualFunc(got, want, slices.Equal) {
			t.Fatalf("buffer of %d bytes (-want +got):\n%s", size, cmp.Diff(want, got))
		}
	}
}

func TestBareCarriageReturn(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a\rb\n", "a,\"b\"\rc\n", "a\rb\rc", "\"a\",b\rc\n"} {
		if rows, err := scanAll(text, ','); err == nil {
			t.Errorf("%q was read as %q, want a refusal", text, rows)
		}
	}
	for _, text := range []string{"a,b\r\r\n", "a,b\r", "\"a\",b\r\r\n", "\"a\",\"b\"\r"} {
		rows, err := scanAll(text, ',')
		if diff := cmp.Diff([][]string{{"a", "b"}}, rows); err != nil || diff != "" {
			t.Errorf("%q: %v (-want +got):\n%s", text, err, diff)
		}
	}
}

func TestInvalidBytesAnywhere(t *testing.T) {
	t.Parallel()
	text := bytes.Repeat([]byte("line äöü€ of text\n"), 20_000) // more than one buffer
	for _, at := range []int{0, 5, bufferSize - 1, bufferSize, bufferSize + 1, bufferSize + 7, len(text) - 1} {
		broken := slices.Clone(text)
		broken[at] = 0xFE
		_, err := scanAll(string(broken), ',')
		// Overwriting a part of a character may break the character before it.
		if err == nil || !strings.Contains(err.Error(), "not valid UTF-8") {
			t.Errorf("invalid byte at %d: %v, want a refusal", at, err)
		}
	}
}
