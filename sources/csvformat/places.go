package csvformat

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"reconciler/sources"
)

// placeID names a value that stands outside of the rows.
type placeID int

const (
	placeFrom placeID = iota
	placeTo
	placeAsOf
	placeCount
	placeSum
	placeOpening
	placeClosing
)

// placeRule is where a value stands, compiled.
type placeRule struct {
	id     placeID
	key    string
	row    int
	match  *regexp.Regexp
	column *sources.Column
	layout string
}

// place is what was found.
type place struct {
	found bool
	line  int
	// text is the value; or cells are those of the row, one of which it is.
	text   string
	cells  []string
	column int
}

// places are the values of one document, in the order of the rules.
type places []place

func newPlaces(c *sources.Completeness, headless bool) ([]placeRule, error) {
	var rules []placeRule
	var errs []error
	add := func(id placeID, key string, p *sources.Place) {
		if p == nil {
			return
		}
		rule, err := newPlace(p, headless)
		if err != nil {
			errs = append(errs, fmt.Errorf("completeness.%s.%w", key, err))
			return
		}
		rule.id, rule.key = id, key
		rules = append(rules, rule)
	}
	if c.Period != nil && c.Period.Cells != nil {
		add(placeFrom, "period.cells.from", c.Period.Cells.From)
		add(placeTo, "period.cells.to", c.Period.Cells.To)
	}
	add(placeAsOf, "as_of", c.AsOf)
	add(placeCount, "count", c.Count)
	add(placeSum, "sum", c.Sum)
	if c.Balances != nil {
		add(placeOpening, "balances.opening", c.Balances.Opening)
		add(placeClosing, "balances.closing", c.Balances.Closing)
	}
	return rules, errors.Join(errs...)
}

func newPlace(p *sources.Place, headless bool) (placeRule, error) {
	rule := placeRule{row: p.Row, column: p.Column, layout: p.Layout}
	switch {
	case p.Row < 0:
		return rule, fmt.Errorf("row: %d is negative; lines count from 1", p.Row)
	case p.Row == 0 && p.Match == "":
		return rule, errors.New("match: say by row or by match where it stands")
	case p.Row > 0 && headless:
		return rule, errors.New("row: a file without a header has no preamble")
	}
	if p.Column != nil {
		if err := checkColumn(p.Column); err != nil {
			return rule, err
		}
	}
	if p.Match == "" {
		return rule, nil
	}
	var err error
	if rule.match, err = regexp.Compile(p.Match); err != nil {
		return rule, fmt.Errorf("match: %w", err)
	}
	switch {
	case rule.match.MatchString(""):
		return rule, fmt.Errorf("match: %q matches an empty cell too", p.Match)
	case p.Column == nil && rule.match.NumSubexp() != 1:
		return rule, fmt.Errorf("match: %q must have one group (…) for the value, or column must say where it stands", p.Match)
	}
	return rule, nil
}

// inPreamble looks for places in a line before the header.
func (r *reader) inPreamble(line string, number int) error {
	for i := range r.format.places {
		rule := &r.format.places[i]
		if rule.row > 0 && rule.row != number || rule.match != nil && !rule.match.MatchString(line) {
			continue
		}
		cells := []string(nil)
		if rule.column != nil {
			cells = looseCells(line, r.scan.delimiter, r.scan.quote)
		}
		if err := r.found(i, line, cells, number); err != nil {
			return err
		}
	}
	return nil
}

// isPlace looks for places in a row behind the header. A row with one is no data.
func (r *reader) isPlace(cells [][]byte, line int) (bool, error) {
	found := false
	for i := range r.format.places {
		rule := &r.format.places[i]
		if rule.row > 0 || !rule.match.Match(trim(cells[0])) {
			continue
		}
		found = true
		copied := make([]string, len(cells))
		for k, cell := range cells {
			copied[k] = strings.TrimSpace(string(cell))
		}
		if err := r.found(i, copied[0], copied, line); err != nil {
			return true, err
		}
	}
	return found, nil
}

// found keeps what stands in a place.
func (r *reader) found(i int, text string, cells []string, line int) error {
	rule, p := &r.format.places[i], &r.places[i]
	if p.found {
		return &sources.Refusal{
			Line: line, Reason: fmt.Sprintf("completeness.%s.match \"%s\" fits this line and line %d", rule.key, rule.match, p.line),
			Remedy: "make it so strict that it fits one line only",
		}
	}
	p.found, p.line = true, line
	switch {
	case rule.column != nil:
		p.cells = cells
		if rule.column.Number > 0 {
			p.column = rule.column.Number - 1
		}
	case rule.match != nil:
		p.text = strings.TrimSpace(rule.match.FindStringSubmatch(text)[1])
	default:
		p.text = strings.TrimSpace(text)
	}
	return nil
}

// has reports whether the configuration has a place, and where.
func (f *Format) has(id placeID) (int, bool) {
	at := slices.IndexFunc(f.places, func(p placeRule) bool { return p.id == id })
	return at, at >= 0
}

// placeText returns the value of a place, which must be there.
func (r *reader) placeText(id placeID) (text string, line int, err error) {
	at, ok := r.format.has(id)
	if !ok {
		return "", 0, nil
	}
	rule, p := &r.format.places[at], &r.places[at]
	refuse := func(reason string) error {
		return &sources.Refusal{
			Line: p.line, Reason: reason,
			Remedy: fmt.Sprintf("the file is cut short, or the provider changed it; else correct completeness.%s", rule.key),
		}
	}
	if !p.found {
		where := fmt.Sprintf("line %d does not exist before the header", rule.row)
		if rule.match != nil {
			where = fmt.Sprintf("no line matches \"%s\"", rule.match)
		}
		return "", 0, refuse(fmt.Sprintf("completeness.%s is not in the file: %s", rule.key, where))
	}
	text = p.text
	if rule.column != nil {
		if p.column >= len(p.cells) {
			return "", 0, refuse(fmt.Sprintf("completeness.%s stands in column %d, the line has %d", rule.key, p.column+1, len(p.cells)))
		}
		text = p.cells[p.column]
	}
	if text == "" {
		return "", 0, refuse(fmt.Sprintf("completeness.%s is empty", rule.key))
	}
	return text, p.line, nil
}

// notes collects what people should know, each thing once.
type notes []note

type note struct {
	text  string
	line  int
	times int
}

func (n *notes) add(text string, line int) {
	for i := range *n {
		if (*n)[i].text == text {
			(*n)[i].times++
			return
		}
	}
	*n = append(*n, note{text: text, line: line, times: 1})
}

func (n notes) texts() []string {
	var out []string
	for _, one := range n {
		text := fmt.Sprintf("line %d: %s", one.line, one.text)
		if one.times > 1 {
			text += fmt.Sprintf(" (and in %d more rows)", one.times-1)
		}
		out = append(out, text)
	}
	return out
}
