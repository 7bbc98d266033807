package csvguess

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"

	"reconciler/money"
)

// mostWords is how many different values of a column are counted by value.
const mostWords = 40

// Column is what stands in one column.
type Column struct {
	// Number from 1, and Name by the header; empty if there is none.
	Number int
	Name   string
	// Filled and Empty count cells; Distinct the different filled ones.
	Filled, Empty, Distinct int
	// Words are the different values with how often each occurs, the most
	// frequent first; nil if there are too many.
	Words []Word
	// Numbers is nil if not all filled cells are numbers of one form.
	Numbers *Numbers
	// Layouts are those under which all filled cells are times.
	Layouts []string
	// Dashes count the cells that are nothing but a dash.
	Dashes int
	// First is the first filled cell.
	First string

	cells []string
}

// Word is a value and how often it occurs.
type Word struct {
	Text string
	Rows int
}

// Numbers is how the numbers of a column are written.
type Numbers struct {
	// Decimal mark, empty where no cell has decimals; Group between thousands.
	Decimal, Group string
	// Negative and Positive count cells.
	Negative, Positive int
	// Decimals is the most that a cell has.
	Decimals int
	// Unclear: one mark with three digits behind it, and nothing that says
	// what it is.
	Unclear bool
	// Symbols and Marks that stand in cells.
	Symbols, Marks []string
}

// number is one cell that looks like a number.
type number struct {
	negative     bool
	symbol, mark string
	body         string
}

// readNumber takes a cell apart into sign, currency, mark and digits.
func readNumber(cell string) (number, bool) {
	var n number
	text := strings.TrimSpace(cell)
	if inner, ok := strings.CutPrefix(text, "("); ok {
		if text, ok = strings.CutSuffix(inner, ")"); !ok {
			return n, false
		}
		n.negative = true
	}
	for _, mark := range []string{"CR", "DR", "Cr", "Dr"} {
		if rest, ok := strings.CutSuffix(text, mark); ok {
			n.mark, text = mark, strings.TrimSpace(rest)
			break
		}
	}
	cut := func(r rune) bool {
		switch r {
		case '-', '−':
			n.negative = true
			return true
		case '+', ' ', '\u00a0', '\u202f':
			return true
		}
		return false
	}
	text = strings.TrimFunc(text, cut)
	isSign := func(r rune) bool { return !unicode.IsDigit(r) && !strings.ContainsRune(".,' -−+\u00a0\u202f", r) }
	lead := strings.IndexFunc(text, func(r rune) bool { return !isSign(r) })
	if lead > 0 {
		n.symbol, text = text[:lead], strings.TrimFunc(text[lead:], cut)
	} else if tail := strings.LastIndexFunc(text, func(r rune) bool { return !isSign(r) }); tail >= 0 && tail+1 < len(text) {
		n.symbol, text = text[tail+1:], strings.TrimFunc(text[:tail+1], cut)
	}
	digits := 0
	for _, r := range text {
		switch {
		case r >= '0' && r <= '9':
			digits++
		case !strings.ContainsRune(".,' ’\u00a0\u202f", r):
			return n, false
		}
	}
	n.body = text
	known := n.symbol == "" || isCurrency(n.symbol)
	return n, digits > 0 && known && len([]rune(text)) < 32
}

func isCurrency(text string) bool {
	if _, ok := money.Exponent(strings.ToUpper(text)); ok {
		return true
	}
	for _, r := range text {
		if !unicode.Is(unicode.Sc, r) && r != '￥' {
			return text == "kr" || text == "zł" || text == "Kč" || text == "US$" || text == "元"
		}
	}
	return true
}

// numbersOf finds the one form of all cells; nil if there is none.
func numbersOf(cells []string) *Numbers {
	out := &Numbers{}
	single := map[string]bool{} // marks with three digits behind them
	for _, cell := range cells {
		n, ok := readNumber(cell)
		if !ok || !out.add(n, single) {
			return nil
		}
	}
	for mark := range single {
		switch {
		case mark == out.Decimal, mark == out.Group:
		case out.Decimal == "" && len(single) == 1 && out.Group == "" && strings.Contains(".,", mark):
			out.Unclear, out.Decimal = true, mark
			out.Decimals = 3
		case out.Group == "":
			out.Group = mark
		default:
			return nil
		}
	}
	if out.Decimal != "" && out.Decimal == out.Group {
		return nil
	}
	slices.Sort(out.Symbols)
	slices.Sort(out.Marks)
	return out
}

// add learns from one number; false if it contradicts the others.
func (f *Numbers) add(n number, single map[string]bool) bool {
	if n.negative {
		f.Negative++
	} else {
		f.Positive++
	}
	if n.symbol != "" && !slices.Contains(f.Symbols, n.symbol) {
		f.Symbols = append(f.Symbols, n.symbol)
	}
	if n.mark != "" && !slices.Contains(f.Marks, n.mark) {
		f.Marks = append(f.Marks, n.mark)
	}
	body := strings.NewReplacer("\u00a0", " ", "\u202f", " ", "’", "'").Replace(n.body)
	last := strings.LastIndexAny(body, ".,' ")
	if last < 0 {
		return true
	}
	mark, behind := body[last:last+1], len(body)-last-1
	head := body[:last]
	switch {
	case strings.Contains(head, mark) || mark == " " || mark == "'":
		if behind != 3 {
			return false
		}
		return f.set(&f.Group, mark)
	case strings.ContainsAny(head, ".,' "):
		at := strings.IndexAny(head, ".,' ")
		f.Decimals = max(f.Decimals, behind)
		return f.set(&f.Decimal, mark) && f.set(&f.Group, head[at:at+1])
	case behind == 3:
		single[mark] = true
		return true
	}
	f.Decimals = max(f.Decimals, behind)
	return f.set(&f.Decimal, mark)
}

func (*Numbers) set(to *string, mark string) bool {
	if *to == "" {
		*to = mark
	}
	return *to == mark
}

// format is how package money reads these numbers.
func (f *Numbers) format() money.NumberFormat {
	return money.NumberFormat{Decimal: f.Decimal, Group: f.Group, Symbols: f.Symbols, TrailingZeros: true}
}

// layouts are the forms of times that are tried, padded ones first.
func layouts() []string {
	return []string{
		"2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05 -0700",
		"2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05 MST", "2006/01/02 15:04:05 -0700", "2006/01/02 15:04:05", "2006-01-02 15:04", "2006/01/02 15:04",
		"2006-01-02", "2006/01/02", "2006.01.02", "20060102", "20060102150405",
		"02.01.2006 15:04:05", "02.01.2006 15:04", "02.01.2006", "02.01.06",
		"02/01/2006 15:04:05", "01/02/2006 15:04:05", "02/01/2006 15:04", "01/02/2006 15:04", "02/01/2006", "01/02/2006", "02/01/06", "01/02/06",
		"02-01-2006 15:04:05", "01-02-2006 15:04:05", "02-01-2006 15:04", "01-02-2006 15:04", "02-01-2006", "01-02-2006",
		"01/02/2006 03:04:05 PM", "02/01/2006 03:04:05 PM", "1/2/2006", "2/1/2006", "1/2/2006 15:04", "2/1/2006 15:04",
		"02 Jan 2006", "2 Jan 2006", "02-Jan-2006", "02-Jan-06", "Jan 2, 2006", "Jan 2, 2006 3:04 PM", "January 2, 2006", "15:04:05", "15:04",
	}
}

// swapped is the layout that has day and month the other way round; empty if
// there is none among those that are tried.
func swapped(layout string) string {
	for _, pair := range [][2]string{{"02/01", "01/02"}, {"02-01", "01-02"}, {"2/1", "1/2"}} {
		for i := range pair {
			if rest, ok := strings.CutPrefix(layout, pair[i]); ok && !strings.HasPrefix(layout, "20") {
				return pair[1-i] + rest
			}
		}
	}
	return ""
}

// fittingLayouts lists the layouts under which all cells are times of our age.
func fittingLayouts(cells []string) []string {
	if len(cells) == 0 {
		return nil
	}
	var out []string
	for _, layout := range layouts() {
		if !slices.ContainsFunc(cells, func(cell string) bool { return !isTime(layout, strings.TrimSpace(cell)) }) {
			out = append(out, layout)
		}
	}
	// An unpadded layout says nothing that a padded one has not said.
	return slices.DeleteFunc(out, func(layout string) bool {
		switch layout {
		case "1/2/2006", "2/1/2006", "1/2/2006 15:04", "2/1/2006 15:04":
			padded := strings.NewReplacer("1/2/", "01/02/", "2/1/", "02/01/").Replace(layout)
			return slices.Contains(out, padded)
		case "2 Jan 2006":
			return slices.Contains(out, "02 Jan 2006")
		}
		return false
	})
}

func isTime(layout, cell string) bool {
	at, err := time.Parse(layout, cell)
	if err != nil {
		return false
	}
	return at.Year() == 0 && !strings.Contains(layout, "06") || at.Year() > 1980 && at.Year() < 2100
}

// describe counts what stands in each column.
func (l *Look) describe() {
	for i := range l.Width {
		c := Column{Number: i + 1}
		if i < len(l.Header) {
			c.Name = strings.TrimSpace(l.Header[i])
		}
		counts := map[string]int{}
		for _, row := range l.body {
			cell := strings.TrimSpace(row[i])
			if cell == "" {
				c.Empty++
				continue
			}
			if cell == "-" || cell == "–" {
				c.Dashes++
			}
			c.Filled++
			counts[cell]++
			c.cells = append(c.cells, cell)
			if c.First == "" {
				c.First = cell
			}
		}
		c.Distinct = len(counts)
		if c.Distinct <= mostWords {
			for text, n := range counts {
				c.Words = append(c.Words, Word{text, n})
			}
			slices.SortFunc(c.Words, func(a, b Word) int {
				return cmp.Or(cmp.Compare(b.Rows, a.Rows), strings.Compare(a.Text, b.Text))
			})
		}
		if c.Filled > 0 {
			c.Numbers = numbersOf(c.cells)
			c.Layouts = fittingLayouts(c.cells)
		}
		l.Columns = append(l.Columns, c)
	}
}

// withoutDashes are the filled cells that are more than a dash.
func (c *Column) withoutDashes() []string {
	var out []string
	for _, cell := range c.cells {
		if cell != "-" && cell != "–" {
			out = append(out, cell)
		}
	}
	if len(out) == 0 {
		return []string{"-"} // no number
	}
	return out
}

// currencies reports that all filled cells are codes of currencies, and
// whether any is not in capitals.
func (c *Column) currencies() (all, lower bool) {
	for _, w := range c.Words {
		if _, ok := money.Exponent(strings.ToUpper(w.Text)); !ok || len(w.Text) != 3 {
			return false, false
		}
		lower = lower || w.Text != strings.ToUpper(w.Text)
	}
	return len(c.Words) > 0, lower
}
