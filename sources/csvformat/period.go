package csvformat

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"reconciler/sources"
)

// periodRule finds the period of a document.
type periodRule struct {
	// pattern on the file name; nil: the document itself states it.
	pattern       *regexp.Regexp
	from, to, day int // indexes of the groups; 0 = none
	// cells: it stands outside of the rows.
	cells bool
	// fromColumn and toColumn: every row states it.
	fromColumn, toColumn *sources.Column
	// daily: it is the one day of all rows.
	daily  bool
	layout string
	zone   *time.Location
	// last is what an end that is inclusive is short of; 0: nothing.
	last time.Duration
}

func newPeriodRule(rule *sources.PeriodRule, zone *time.Location) (*periodRule, error) {
	if rule == nil {
		return nil, nil //nolint:nilnil // no rule is a rule: the period is not known
	}
	p := &periodRule{layout: rule.Layout, zone: zone, cells: rule.Cells != nil, daily: rule.Daily != ""}
	if rule.Inclusive {
		p.last = time.Second
	}
	ways := 0
	for _, set := range []bool{rule.Pattern != "", p.cells, rule.Columns != nil, p.daily} {
		if set {
			ways++
		}
	}
	if ways != 1 {
		return nil, errors.New("pattern: declare exactly one of pattern, cells, columns and daily")
	}
	if p.cells && rule.Cells.From == nil {
		return nil, errors.New("cells.from: declare where the period begins")
	}
	if c := rule.Columns; c != nil {
		if err := checkColumn(c.From); err != nil {
			return nil, fmt.Errorf("columns.from: %w", err)
		}
		p.fromColumn, p.toColumn = c.From, c.To
	}
	if rule.Pattern != "" {
		if err := p.compilePattern(rule.Pattern); err != nil {
			return nil, err
		}
	}
	if p.layout == "" {
		return p, nil
	}
	l, err := newLayout(p.layout, zone)
	if err != nil {
		return nil, err
	}
	if rule.Inclusive && !showsSeconds(l.text) {
		p.last = time.Minute
	}
	single := p.day > 0 || p.cells && rule.Cells.To == nil || rule.Columns != nil && rule.Columns.To == nil
	if single && !l.day {
		return nil, fmt.Errorf("layout: %q has hours, but a single date is a whole day", p.layout)
	}
	return p, nil
}

func showsSeconds(layout string) bool {
	at := time.Date(2026, time.March, 4, 5, 6, 7, 0, time.UTC)
	return layout == "unix" || layout == "unix_ms" || at.Format(layout) != at.Add(time.Second).Format(layout)
}

func (p *periodRule) compilePattern(text string) error {
	pattern, err := regexp.Compile(text)
	if err != nil {
		return fmt.Errorf("pattern: %w", err)
	}
	p.pattern = pattern
	p.from = max(pattern.SubexpIndex("from"), 0)
	p.to = max(pattern.SubexpIndex("to"), 0)
	p.day = max(pattern.SubexpIndex("day"), 0)
	pair, single := p.from > 0 && p.to > 0, p.day > 0
	if pair == single || !pair && (p.from > 0 || p.to > 0) {
		return errors.New("pattern: name either the two groups (?P<from>…) and (?P<to>…), or the one group (?P<day>…)")
	}
	return nil
}

// of reads the period of a file name.
func (p *periodRule) of(name string) (sources.Period, error) {
	groups := p.pattern.FindStringSubmatch(name)
	if groups == nil {
		return sources.Period{}, &sources.Refusal{
			Reason: fmt.Sprintf("the file name %q does not match completeness.period.pattern \"%s\"", name, p.pattern),
			Remedy: "rename the file as the provider does, or correct the pattern",
		}
	}
	return p.between(groups[max(p.from, p.day)], groups[max(p.to, p.day)], fmt.Sprintf("the file name %q", name))
}

// between reads both ends, which stand in some place.
func (p *periodRule) between(fromText, toText, where string) (sources.Period, error) {
	from, fromEnd, err := p.bound(fromText)
	if err != nil {
		return sources.Period{}, badPeriod(where, fromText, err)
	}
	start, end, err := p.bound(toText)
	if err != nil {
		return sources.Period{}, badPeriod(where, toText, err)
	}
	period := sources.Period{From: from, To: start.Add(p.last)}
	if !end.IsZero() {
		period.To = end // a date is inclusive
	}
	if p.pattern == nil && fromText == toText && fromEnd.IsZero() {
		return sources.Period{}, badPeriod(where, fromText, errors.New("is not a day, and there is no other end"))
	}
	if !period.From.Before(period.To) {
		return sources.Period{}, &sources.Refusal{
			Reason: fmt.Sprintf("the period in %s ends before it begins", where),
			Remedy: "correct it, or completeness.period",
		}
	}
	return period, nil
}

func badPeriod(where, value string, err error) error {
	return &sources.Refusal{
		Reason: fmt.Sprintf("the period in %s cannot be read: %q %v", where, value, err),
		Remedy: "correct it, or completeness.period.layout",
	}
}

// knowPeriod reads the period from the preamble, if all of it stands there.
func (r *reader) knowPeriod() error {
	rule := r.format.period
	if rule == nil || !rule.cells {
		return nil
	}
	for _, id := range []placeID{placeFrom, placeTo} {
		if at, ok := r.format.has(id); ok && !r.places[at].found {
			return nil
		}
	}
	period, err := r.periodOfCells()
	if err != nil {
		return err
	}
	r.summary.Period = period
	r.times = newTimeReader(r.format.zone, period, time.Time{})
	return nil
}

func (r *reader) periodOfCells() (sources.Period, error) {
	from, line, err := r.placeText(placeFrom)
	if err != nil {
		return sources.Period{}, err
	}
	to := from
	if _, ok := r.format.has(placeTo); ok {
		if to, line, err = r.placeText(placeTo); err != nil {
			return sources.Period{}, err
		}
	}
	return r.format.period.between(from, to, fmt.Sprintf("line %d", line))
}

// Period implements sources.PeriodReader.
func (r *reader) Period() sources.Period { return r.summary.Period }

// periodOfRows is what the rows say about the period so far.
type periodOfRows struct {
	from, to string
	line     int
	day      sources.Period
}

// samePeriod requires that every row states the same period.
func (r *reader) samePeriod(cells [][]byte, line int) error {
	p := &r.period
	from, to := trim(cells[r.fromColumn]), trim(cells[r.fromColumn])
	if r.toColumn != noColumn {
		to = trim(cells[r.toColumn])
	}
	if p.line == 0 {
		p.from, p.to, p.line = string(from), string(to), line
		return nil
	}
	if string(from) != p.from || string(to) != p.to {
		return &sources.Refusal{
			Line: line, Reason: fmt.Sprintf("the row states the period %s to %s, line %d %s to %s", quote(string(from)), quote(string(to)), p.line, quote(p.from), quote(p.to)),
			Remedy: "completeness.period.columns is for documents of one period",
		}
	}
	return nil
}

// sameDay requires that all records are of one day of the source.
func (r *reader) sameDay(rec *sources.Record) error {
	var at time.Time
	switch r.format.dayField { //nolint:exhaustive // New admits the three times only
	case fieldOccurred:
		at = rec.OccurredAt
	case fieldBooked:
		at = rec.BookedAt
	case fieldSettled:
		at = rec.SettledAt
	}
	day := &r.period.day
	if at.IsZero() || !at.Before(day.From) && at.Before(day.To) {
		return nil
	}
	local := at.In(r.format.zone)
	start := startOfDay(r.format.zone, local.Year(), int(local.Month()), local.Day())
	if !day.IsZero() {
		return &sources.Refusal{
			Line: rec.Line, Reason: fmt.Sprintf("%s is on %s, in line %d on %s", r.format.plan.fields[r.format.dayField].name,
				start.Format(time.DateOnly), r.period.line, day.From.In(r.format.zone).Format(time.DateOnly)),
			Remedy: "completeness.period.daily is for documents of one day",
		}
	}
	r.period.line = rec.Line
	*day = sources.Period{From: start.UTC(), To: startOfDay(r.format.zone, local.Year(), int(local.Month()), local.Day()+1).UTC()}
	return nil
}

// documentPeriod is the period that the document states, known at its end.
func (r *reader) documentPeriod() (sources.Period, error) {
	rule := r.format.period
	switch {
	case rule == nil || !r.summary.Period.IsZero():
		return r.summary.Period, nil
	case rule.cells:
		return r.periodOfCells()
	case rule.fromColumn != nil && r.period.line > 0:
		return rule.between(r.period.from, r.period.to, fmt.Sprintf("line %d", r.period.line))
	}
	return r.period.day, nil
}

// asOf is the moment up to which the document says that it speaks.
func (r *reader) asOf() (time.Time, error) {
	at, ok := r.format.has(placeAsOf)
	if !ok {
		return time.Time{}, nil
	}
	text, line, err := r.placeText(placeAsOf)
	if err != nil {
		return time.Time{}, err
	}
	rule := periodRule{layout: r.format.places[at].layout, zone: r.format.zone}
	start, _, err := rule.bound(text) // of a day its beginning: nobody knows the hour
	if err != nil {
		return time.Time{}, &sources.Refusal{
			Line: line, Reason: fmt.Sprintf("completeness.as_of cannot be read: %s %v", quote(text), err), Remedy: "correct completeness.as_of",
		}
	}
	return start, nil
}

// bound reads one end. For a date it returns the start of that day and of the next.
func (p *periodRule) bound(text string) (start, end time.Time, err error) {
	layouts := []string{time.DateOnly, time.RFC3339}
	if p.layout != "" {
		layouts = []string{p.layout}
	}
	reader := newTimeReader(p.zone, sources.Period{}, time.Time{})
	for _, layoutText := range layouts {
		l, lerr := newLayout(layoutText, p.zone)
		if lerr != nil {
			return start, end, lerr
		}
		if start, end, err = reader.parse(l, []byte(text)); err == nil {
			return start, end, nil
		}
	}
	return start, end, err
}
