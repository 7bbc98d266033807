package csvformat

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"reconciler/sources"
)

// periodRule reads the period from a file name.
type periodRule struct {
	pattern       *regexp.Regexp
	from, to, day int // indexes of the groups; 0 = none
	layout        string
	zone          *time.Location
}

func newPeriodRule(rule *sources.PeriodRule, zone *time.Location) (*periodRule, error) {
	if rule == nil || rule.Pattern == "" {
		return nil, nil //nolint:nilnil // no rule is a rule: the period is not in the name
	}
	pattern, err := regexp.Compile(rule.Pattern)
	if err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	p := &periodRule{pattern: pattern, layout: rule.Layout, zone: zone}
	p.from = max(pattern.SubexpIndex("from"), 0)
	p.to = max(pattern.SubexpIndex("to"), 0)
	p.day = max(pattern.SubexpIndex("day"), 0)
	pair, single := p.from > 0 && p.to > 0, p.day > 0
	if pair == single || !pair && (p.from > 0 || p.to > 0) {
		return nil, errors.New("pattern: name either the two groups (?P<from>…) and (?P<to>…), or the one group (?P<day>…)")
	}
	if p.layout == "" {
		return p, nil
	}
	l, err := newLayout(p.layout, zone)
	if err != nil {
		return nil, err
	}
	if single && !l.day {
		return nil, fmt.Errorf("layout: %q has hours, but the group day is a whole day", p.layout)
	}
	return p, nil
}

// of reads the period of a file name.
func (p *periodRule) of(name string) (sources.Period, error) {
	groups := p.pattern.FindStringSubmatch(name)
	if groups == nil {
		return sources.Period{}, &sources.Refusal{
			Reason: fmt.Sprintf("the file name %q does not match completeness.period.pattern %q", name, p.pattern),
			Remedy: "rename the file as the provider does, or correct the pattern",
		}
	}
	fromText, toText := groups[max(p.from, p.day)], groups[max(p.to, p.day)]
	from, _, err := p.bound(fromText)
	if err != nil {
		return sources.Period{}, badPeriod(name, fromText, err)
	}
	start, end, err := p.bound(toText)
	if err != nil {
		return sources.Period{}, badPeriod(name, toText, err)
	}
	period := sources.Period{From: from, To: start}
	if !end.IsZero() {
		period.To = end // a date is inclusive
	}
	if !period.From.Before(period.To) {
		return sources.Period{}, &sources.Refusal{
			Reason: fmt.Sprintf("the period in the file name %q ends before it begins", name),
			Remedy: "correct the name, or the groups of completeness.period.pattern",
		}
	}
	return period, nil
}

func badPeriod(name, value string, err error) error {
	return &sources.Refusal{
		Reason: fmt.Sprintf("the period in the file name %q cannot be read: %q %v", name, value, err),
		Remedy: "correct the name, or completeness.period.layout",
	}
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
