package csvguess

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

func (d *draft) times() {
	c := d.cast[roleOccurred]
	if c == nil {
		d.add(3, "# NOT KNOWN: no column has times in a form that is known here.")
		d.add(3, `# occurred_at: {column: ?, layout: "2006-01-02"}`)
		return
	}
	d.time("occurred_at", c, true)
	if b := d.cast[roleBooked]; b != nil {
		d.time("booked_at", b, false)
	}
}

// time writes one field of times.
func (d *draft) time(key string, c *Column, main bool) {
	layout, keys := c.Layouts[0], ""
	if t := d.cast[roleTime]; t != nil && main && !strings.Contains(layout, ":") {
		layout += " " + t.Layouts[0]
		keys = ", time_column: " + d.column(t)
	}
	if z := d.cast[roleZone]; z != nil && main && !strings.ContainsAny(layout, "Z") && !strings.Contains(layout, "-0700") {
		keys += ", zone_column: " + d.column(z) + d.zones(z)
	}
	note := "BY NAME; as " + show(c.First)
	if c.Empty > 0 {
		note += fmt.Sprintf("; empty in %d rows", c.Empty)
	}
	if other := swapped(c.Layouts[0]); other != "" {
		if fits(c, other) {
			d.add(3, "# NOT KNOWN: whether the day or the month comes first in %s: no number is above 12.", show(c.Name))
			d.add(3, "# %s", sortedWords(c, other))
			d.add(3, "# Either  %s: {column: %s%s, layout: %s}", key, d.column(c), keys, show(layout))
			other = strings.Replace(layout, c.Layouts[0], other, 1)
			d.add(3, "# or      %s: {column: %s%s, layout: %s}", key, d.column(c), keys, show(other))
			d.add(3, "%s: {column: %s%s}   # without a layout every row is rejected", key, d.column(c), keys)
			return
		}
		note += "; a number above 12 shows which is the day"
	}
	d.add(3, "%s: {column: %s%s, layout: %s}   # %s", key, d.column(c), keys, show(layout), note)
}

// fits reports that a layout reads every cell too, as other times.
func fits(c *Column, layout string) bool {
	for _, cell := range c.cells {
		if !isTime(layout, cell) {
			return false
		}
	}
	return true
}

// sortedWords says in which of two readings the rows are in order.
func sortedWords(c *Column, other string) string {
	one, two := inOrder(c, c.Layouts[0]), inOrder(c, other)
	switch {
	case one && !two:
		return fmt.Sprintf("The rows are in order of time with %s, and not with %s.", show(c.Layouts[0]), show(other))
	case two && !one:
		return fmt.Sprintf("The rows are in order of time with %s, and not with %s.", show(other), show(c.Layouts[0]))
	}
	return "The order of the rows does not tell either."
}

func inOrder(c *Column, layout string) bool {
	up, down := true, true
	var before time.Time
	for i, cell := range c.cells {
		at, err := time.Parse(layout, cell)
		if err != nil {
			return false
		}
		if i > 0 {
			up, down = up && !at.Before(before), down && !at.After(before)
		}
		before = at
	}
	return up || down
}

// zones translates the abbreviations that have one meaning only.
func (d *draft) zones(c *Column) string {
	known := map[string]string{
		"PST": `"-08:00"`, "PDT": `"-07:00"`, "EST": `"-05:00"`, "EDT": `"-04:00"`, "MDT": `"-06:00"`, "CET": `"+01:00"`, "CEST": `"+02:00"`,
		"GMT": `"+00:00"`, "UTC": "UTC", "MSK": `"+03:00"`, "JST": `"+09:00"`, "EET": `"+02:00"`, "EEST": `"+03:00"`,
	}
	var pairs []string
	for _, w := range c.Words {
		if to, ok := known[w.Text]; ok {
			pairs = append(pairs, show(w.Text)+": "+to)
		}
	}
	if len(pairs) == 0 {
		return ""
	}
	return ", zones: {" + strings.Join(pairs, ", ") + "}"
}

func (d *draft) completeness() {
	d.add(2, "completeness:")
	d.period()
	proven := d.footer()
	proven = d.declared() || proven
	d.balance()
	if proven {
		d.add(3, "end: proven")
		return
	}
	d.add(3, "# NOT KNOWN: what proves that a file is whole (a row of totals, a declared count, an")
	d.add(3, "# opening and a closing balance, a second file). Without it an absence is only ever reviewed.")
	d.add(3, "end: assumed")
}

// period proposes a pattern on the name of the file, if it has dates.
func (d *draft) period() {
	name := d.look.Name
	for _, form := range []struct{ date, layout string }{
		{`\d{4}-\d{2}-\d{2}`, "2006-01-02"}, {`\d{8}`, "20060102"}, {`\d{4}_\d{2}_\d{2}`, "2006_01_02"}, {`\d{2}\.\d{2}\.\d{4}`, "02.01.2006"},
	} {
		var found [][]int
		for _, at := range regexp.MustCompile(form.date).FindAllStringIndex(name, -1) {
			touched := at[0] > 0 && name[at[0]-1] >= '0' && name[at[0]-1] <= '9' || at[1] < len(name) && name[at[1]] >= '0' && name[at[1]] <= '9'
			if _, err := time.Parse(form.layout, name[at[0]:at[1]]); err == nil && !touched {
				found = append(found, at)
			}
		}
		layout := ""
		if form.layout != "2006-01-02" {
			layout = ", layout: " + show(form.layout)
		}
		switch len(found) {
		case 1:
			d.add(3, "# NOT KNOWN: whether the date in the file's name is the one day that it is about, or the")
			d.add(3, "# day on which it was made. If it is about that day:")
			d.add(3, "# period: {pattern: '(?P<day>%s)'%s}", form.date, layout)
			return
		case 2:
			between := regexp.QuoteMeta(name[found[0][1]:found[1][0]])
			d.add(3, "# NOT KNOWN: whether the two dates in the file's name are the first and the last day of its")
			d.add(3, "# period, the last one included. If they are:")
			d.add(3, "# period: {pattern: '(?P<from>%s)%s(?P<to>%s)'%s}", form.date, strings.ReplaceAll(between, "'", "''"), form.date, layout)
			return
		}
	}
	d.add(3, "# NOT KNOWN: which time a file speaks of; its name has no dates. Without a period it covers")
	d.add(3, "# nothing, and proves no absence. In the file's name, in its preamble, or in columns:")
	d.add(3, "# period: {pattern: '(?P<from>\\d{4}-\\d{2}-\\d{2})_(?P<to>\\d{4}-\\d{2}-\\d{2})'}")
	shown := 0
	for _, line := range d.look.Preamble {
		if shown == 3 {
			break
		}
		if regexp.MustCompile(`\d{4}[-/.]\d\d[-/.]\d\d|\d\d[-/.]\d\d[-/.]\d{4}`).MatchString(line.Text) {
			d.add(3, "# Dates stand before the header, in line %d: %s", line.Number, clip(line.Text))
			shown++
		}
	}
}

// footer proposes the row of totals, if its numbers agree with the rows.
func (d *draft) footer() bool {
	if len(d.look.Footers) != 1 {
		if len(d.look.Footers) > 1 {
			d.add(3, "# NOT KNOWN: which of the rows like totals is the last word: %d of them.", len(d.look.Footers))
		}
		return false
	}
	line := d.look.Footers[0]
	keys := fmt.Sprintf("match: '^%s'", strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(line.Cells[0])), "'", "''"))
	agrees := false
	for i, cell := range line.Cells {
		if i == 0 || i >= len(d.look.Columns) {
			continue
		}
		cell = strings.TrimSpace(cell)
		if cell == fmt.Sprint(d.look.Rows) && !agrees {
			keys += ", count: " + d.column(&d.look.Columns[i])
			agrees = true
			continue
		}
		if a := d.cast[roleAmount]; a != nil && d.isSum(cell, a) {
			keys += ", sum: " + d.column(&d.look.Columns[i])
			agrees = true
		}
	}
	if agrees {
		d.add(3, "footer: {%s}   # line %d; its numbers agree with the rows", keys, line.Number)
		return true
	}
	d.add(3, "# Line %d looks like totals, and no number in it is the count of the %d rows or their sum.", line.Number, d.look.Rows)
	d.add(3, "# footer: {%s}", keys)
	return false
}

// isSum reports that a cell is the sum of a column.
func (d *draft) isSum(cell string, c *Column) bool {
	declared, err := c.Numbers.format().ParseMinor(cell, comparedDecimals)
	if err != nil {
		return false
	}
	var sum int64
	for _, row := range d.look.body {
		if v, ok := minor(row, c); ok {
			sum += v
		}
	}
	return sum == declared
}

// declared proposes a count that stands before the header or in a row of its own.
func (d *draft) declared() bool {
	if d.countBelow() || d.countInLine() {
		return true
	}
	for _, odd := range d.look.Odd {
		if odd.Rows == 1 && odd.Width == 2 {
			d.add(3, "# Line %d has two cells; if the second one is the number of rows:", odd.Line)
			d.add(3, "# count: {match: '^%s$', column: 2}", strings.ReplaceAll(regexp.QuoteMeta(odd.First), "'", "''"))
		}
	}
	return false
}

// countWords are those by which a count is announced.
const countWords = `(?i)(count|number of|no ?of|total ?no|records|transactions|количество|число|笔)`

// countBelow finds the count of the rows in a line of the preamble, below a
// word that announces it.
func (d *draft) countBelow() bool {
	word := regexp.MustCompile(countWords)
	for i, line := range d.look.Preamble {
		for k, cell := range line.Cells {
			if i == 0 || k >= len(d.look.Preamble[i-1].Cells) || strings.TrimSpace(cell) != fmt.Sprint(d.look.Rows) {
				continue
			}
			if above := d.look.Preamble[i-1].Cells[k]; word.MatchString(above) {
				d.add(3, "count: {row: %d, column: %d}   # below %s; it agrees with the rows", line.Number, k+1, show(clip(above)))
				return true
			}
		}
	}
	return false
}

// countInLine finds the count of the rows in a line of the preamble that
// announces one itself.
func (d *draft) countInLine() bool {
	word, digits := regexp.MustCompile(countWords), regexp.MustCompile(`\d+`)
	var others []Line
	for _, line := range d.look.Preamble {
		if !word.MatchString(line.Text) || !digits.MatchString(line.Text) {
			continue
		}
		for _, at := range digits.FindAllStringIndex(line.Text, -1) {
			if line.Text[at[0]:at[1]] == fmt.Sprint(d.look.Rows) {
				match := "^" + regexp.QuoteMeta(line.Text[:at[0]]) + `(\d+)`
				d.add(3, "count: {match: '%s'}   # line %d; it agrees with the rows", strings.ReplaceAll(match, "'", "''"), line.Number)
				return true
			}
		}
		others = append(others, line)
	}
	for _, line := range others[:min(len(others), 3)] {
		d.add(3, "# Line %d may declare a count, and none of its numbers is the %s of this file: %s", line.Number, rowsOf(d.look.Rows), clip(line.Text))
	}
	return false
}

// balance tries whether a running balance follows the amounts.
func (d *draft) balance() {
	c, a := d.cast[roleBalance], d.cast[roleAmount]
	if c == nil || a == nil || c == a {
		return
	}
	up, down, pairs := true, true, 0
	for i := 1; i < len(d.look.body); i++ {
		one, ok1 := minor(d.look.body[i-1], c)
		two, ok2 := minor(d.look.body[i], c)
		first, ok3 := minor(d.look.body[i-1], a)
		second, ok4 := minor(d.look.body[i], a)
		if !ok1 || !ok2 || !ok3 || !ok4 {
			up, down = false, false
			break
		}
		pairs++
		up, down = up && one+second == two, down && two+first == one
	}
	signed := d.cast[roleDirection] == nil && a.Numbers.Negative > 0
	switch {
	case pairs == 0 || !signed || up == down:
		d.add(3, "# %s may be a running balance; it does not follow the amounts of this file row by row.", show(c.Name))
	case up:
		d.add(3, "balances: {running: %s}   # it follows the amounts in every row, the oldest first", d.column(c))
	default:
		d.add(3, "balances: {running: %s, order: descending}   # it follows the amounts in every row, the newest first", d.column(c))
	}
}
