package csvguess

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Draft is a first mapping in YAML: a source below `sources:`, with comments
// for everything that the file does not prove. Beside are lines that the
// caller adds to the comment at its top. It is the same for the same file.
func (l *Look) Draft(source string, beside ...string) string {
	d := &draft{look: l, cast: l.cast()}
	d.top(beside)
	d.add(0, "sources:")
	d.add(1, "%s:", source)
	d.add(2, "location: statements/*%s   # NOT KNOWN: where the files will be", path.Ext(l.Name))
	d.add(2, "format: csv")
	d.csv()
	d.zone()
	d.rows()
	d.add(2, "fields:")
	d.identity()
	d.money()
	d.status()
	d.times()
	d.completeness()
	d.add(2, "# NOT KNOWN: the longest time that this provider may take to show an effect.")
	d.add(2, "# Too short leads to wrong absences, so it must be said:")
	d.add(2, "# settlement_lag: 72h")
	return d.text.String()
}

// draft is the text that grows.
type draft struct {
	look *Look
	cast cast
	text strings.Builder
}

func (d *draft) add(depth int, format string, args ...any) {
	line := strings.TrimRight(fmt.Sprintf(format, args...), " ")
	d.text.WriteString(strings.Repeat("  ", depth) + line + "\n")
}

// mostPreamble is how many lines before the header are shown.
const mostPreamble = 12

// top says what was seen, and how much of the file.
func (d *draft) top(beside []string) {
	l := d.look
	d.add(0, "# A first draft, guessed from %s. Nothing in it is certain.", show(l.Name))
	d.add(0, "# Try it with 'reconciler sources preview', and decide every line that says")
	d.add(0, "# NOT KNOWN, ASSUMED or BY NAME.")
	d.add(0, "#")
	part := "the whole file"
	if !l.Whole {
		part = fmt.Sprintf("the first %d MiB only", MaxLook>>20)
	}
	d.add(0, "# Seen (%s): %s of %d columns", part, rowsOf(l.Rows), l.Width)
	for i, line := range l.Preamble {
		if i == mostPreamble {
			d.add(0, "#   and %d more lines before the header", len(l.Preamble)-i)
			break
		}
		d.add(0, "#   before the header, line %d: %s", line.Number, clip(line.Text))
	}
	for _, odd := range l.Odd {
		d.add(0, "#   %s of %d cells, beginning with %s, first in line %d", rowsOf(odd.Rows), odd.Width, show(odd.First), odd.Line)
	}
	for _, line := range l.Footers {
		d.add(0, "#   like a total, line %d: %s", line.Number, clip(line.Text))
	}
	for _, line := range beside {
		d.add(0, "# %s", line)
	}
}

func rowsOf(n int) string {
	if n == 1 {
		return "1 row"
	}
	return fmt.Sprintf("%d rows", n)
}

// show quotes a text for YAML and for people.
func show(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\n':
			b.WriteString(`\n`)
		case r < ' ' || r == 0x7F || r == '\u0085' || r == '\u2028' || r == '\u2029' || r == '\ufeff':
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}

// clip bounds a text for a comment of one line.
func clip(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7F || r == '\u0085' || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text)
	if r := []rune(text); len(r) > 100 {
		return string(r[:100]) + "…"
	}
	return text
}

// column names a column as the configuration does.
func (d *draft) column(c *Column) string {
	twice := 0
	for i := range d.look.Columns {
		if strings.EqualFold(d.look.Columns[i].Name, c.Name) {
			twice++
		}
	}
	if c.Name == "" || twice > 1 || d.look.HeaderLine == 0 {
		return fmt.Sprint(c.Number)
	}
	return show(c.Name)
}

// counted lists the words of a column, with how often each occurs.
func counted(words []Word, most int) string {
	var out []string
	for i, w := range words {
		if i == most {
			out = append(out, fmt.Sprintf("and %d more words", len(words)-i))
			break
		}
		out = append(out, fmt.Sprintf("%s (%d)", show(clip(w.Text)), w.Rows))
	}
	return strings.Join(out, ", ")
}

func (d *draft) csv() {
	l := d.look
	var keys []string
	if l.Delimiter != "," {
		keys = append(keys, "delimiter: "+show(l.Delimiter))
	}
	e := l.Encoding
	if e.Name != "utf-8" {
		keys = append(keys, "encoding: "+e.Name)
	}
	switch {
	case l.HeaderLine == 0:
		d.add(2, "# No row looks like a header: columns are named by their numbers.")
		keys = append(keys, "header_row: 0")
	case len(l.Preamble) > 0:
		var names []string
		for _, name := range l.Header {
			if name = strings.TrimSpace(name); name != "" && len(names) < 3 {
				names = append(names, show(name))
			}
		}
		d.add(2, "# The header stands in line %d; it is found by three of its names.", l.HeaderLine)
		keys = append(keys, "header: {contains: ["+strings.Join(names, ", ")+"]}")
	case l.HeaderLine > 1:
		keys = append(keys, fmt.Sprintf("header_row: %d", l.HeaderLine))
	}
	d.encoding()
	if len(l.Header) == l.Width+1 {
		d.add(2, "# The header has one delimiter more than the rows: empty cells at the end don't count.")
		keys = append(keys, "trim_end: true")
	}
	if len(l.Odd) > 0 {
		var words []string
		for _, odd := range l.Odd {
			if odd.First != "" && !slices.Contains(words, regexp.QuoteMeta(odd.First)) {
				words = append(words, regexp.QuoteMeta(odd.First))
			}
		}
		d.add(2, "# NOT KNOWN: what the rows of other widths are; they refuse the file.")
		if len(words) > 0 && len(words) <= 12 {
			d.add(2, "# If they are no data:  ignore: '^(%s)$'", strings.ReplaceAll(strings.Join(words, "|"), "'", "''"))
		}
	}
	if len(keys) > 0 {
		d.add(2, "csv: {%s}", strings.Join(keys, ", "))
	}
}

func (d *draft) encoding() {
	e := d.look.Encoding
	switch {
	case e.ASCII:
		d.add(2, "# ASSUMED: encoding utf-8. No character of this file needs one; one that does will tell.")
	case e.Sure:
	default:
		d.add(2, "# ASSUMED: encoding %s, in which a text reads %s. Read it: is it right?", e.Name, show(clip(e.Sample)))
		for _, other := range e.Others[:min(len(e.Others), 4)] {
			d.add(2, "#   %s would read %s as %s", other.Name, show(clip(other.Instead)), show(clip(other.Sample)))
		}
	}
}

// zone says that a file never names the zone of its days.
func (d *draft) zone() {
	if c := d.cast[roleOccurred]; c != nil && strings.Contains(c.Name, "UTC") {
		d.add(2, "timezone: UTC   # BY NAME: the column %s", show(c.Name))
		return
	}
	d.add(2, "# NOT KNOWN: the zone in which the provider keeps its days and writes its times.")
	for i := range d.look.Columns {
		if name := d.look.Columns[i].Name; strings.Contains(name, "UTC") {
			d.add(2, "# One column says UTC: %s.", show(name))
		}
	}
	d.add(2, "# timezone: Europe/Berlin")
}

func (d *draft) rows() {
	c := d.cast[roleType]
	if c == nil {
		return
	}
	d.add(2, "# NOT KNOWN: which types of rows are payments, refunds, fees; which move no money.")
	d.add(2, "# Types seen: %s", counted(c.Words, 20))
	var pairs []string
	for _, w := range c.Words[:min(len(c.Words), 20)] {
		pairs = append(pairs, show(w.Text)+": record")
	}
	d.add(2, "# rows: {column: %s, map: {%s}}", d.column(c), strings.Join(pairs, ", "))
}

func (d *draft) identity() {
	if c := d.cast[roleAccount]; c != nil && c.Words != nil {
		d.add(3, "# Accounts seen in %s: %s. If the source covers only some,", show(c.Name), counted(c.Words, 5))
		d.add(3, "# list them in accounts, and add  account: {column: %s}", d.column(c))
	}
	id, ref := d.cast[roleID], d.cast[roleReference]
	if id != nil {
		note := "BY NAME; different in every row"
		if id.Distinct < id.Filled {
			note = fmt.Sprintf("BY NAME; %d of %d are different", id.Distinct, id.Filled)
		}
		if id.Empty > 0 {
			note += fmt.Sprintf(", empty in %d", id.Empty)
		}
		d.add(3, "provider_operation_id: {column: %s}   # %s", d.column(id), note)
	} else {
		d.add(3, "# No column looks like the provider's identifier: records are told apart by day,")
		d.add(3, "# amount, currency and reference.")
	}
	switch {
	case ref == nil && id == nil:
		d.add(3, "# NOT KNOWN: the column of your reference; without one no record can be found.")
		d.add(3, "# business_reference: {column: ?}")
		return
	case ref == nil:
		d.add(3, "# NOT KNOWN: which column has your reference, if any has.")
		return
	}
	d.add(3, "business_reference: {column: %s}   # BY NAME; filled in %d of %d rows, as %s", d.column(ref), ref.Filled, d.look.Rows, show(clip(ref.First)))
	if isFreeText(ref) {
		d.add(3, "# It looks like free text: say what yours look like with  extract: 'ORD-[0-9]+'")
	}
	d.otherReferences(ref, id)
	if c := d.cast[roleRelated]; c != nil && c.Filled > 0 {
		d.add(3, "related_id: {column: %s}   # BY NAME", d.column(c))
	}
}

// otherReferences lists the columns that are called like references too.
func (d *draft) otherReferences(chosen ...*Column) {
	var names []string
	for i := range d.look.Columns {
		c := &d.look.Columns[i]
		if roleReference.points(c.Name) < partOfName || slices.Contains(chosen, c) || len(c.Layouts) > 0 {
			continue
		}
		name := show(c.Name)
		if c.Filled == 0 {
			name += " (empty here)"
		}
		if names = append(names, name); len(names) == 6 {
			break
		}
	}
	if len(names) > 0 {
		d.add(3, "# Also called like one: %s", strings.Join(names, ", "))
	}
}

// isFreeText: most cells have blanks.
func isFreeText(c *Column) bool {
	blanks := 0
	for _, cell := range c.cells {
		if strings.ContainsAny(cell, " ,;") {
			blanks++
		}
	}
	return blanks*3 > c.Filled
}

func (d *draft) status() {
	c := d.cast[roleStatus]
	if c == nil {
		d.add(3, "status: {value: succeeded}   # ASSUMED: no column of states; is every row an effect that succeeded?")
		return
	}
	var known, unknown []string
	for _, w := range c.Words {
		if to := statusWord(w.Text); to != "" {
			known = append(known, show(w.Text)+": "+to)
		} else {
			unknown = append(unknown, fmt.Sprintf("%s (%d)", show(clip(w.Text)), w.Rows))
		}
	}
	d.add(3, "# BY NAME: the meaning of the words; seen: %s.", counted(c.Words, 20))
	d.add(3, "# A word that another file has is rejected until it is added.")
	if len(unknown) > 0 {
		d.add(3, "# NOT KNOWN, and rejected as it stands: %s", strings.Join(unknown, ", "))
	}
	if len(known) == 0 {
		d.add(3, "# status: {column: %s, map: {%s: succeeded}}", d.column(c), show(c.Words[0].Text))
		return
	}
	d.add(3, "status: {column: %s, map: {%s}}", d.column(c), strings.Join(known, ", "))
}
