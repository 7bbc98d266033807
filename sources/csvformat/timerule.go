package csvformat

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"reconciler/sources"
)

// timeRule is how the times of one field are written, compiled.
type timeRule struct {
	layouts []*layout
	// zone of the field; nil: the source's.
	zone *time.Location
	// words are the declared zones; nil: none.
	words map[string]*time.Location
	// named: the cell ends in a word of words.
	named bool
	// timeColumn and zoneColumn; nil: there is none.
	timeColumn, zoneColumn *sources.Column
	// simple: one cell in one layout says it all.
	simple bool
}

// text of the layouts, for people.
func (t *timeRule) text() string {
	texts := make([]string, len(t.layouts))
	for i, l := range t.layouts {
		texts[i] = l.text
	}
	return strings.Join(texts, " or ")
}

func newTimeRule(s *sources.Field, zone *time.Location) (timeRule, error) {
	t := timeRule{timeColumn: s.TimeColumn, zoneColumn: s.ZoneColumn}
	if s.Timezone != "" {
		if s.ZoneColumn != nil {
			return t, errors.New("timezone: it is declared together with zone_column; keep one of the two")
		}
		var err error
		if t.zone, err = zoneOf(s.Timezone); err != nil {
			return t, fmt.Errorf("timezone: %w", err)
		}
		zone = t.zone
	}
	if err := t.compileZones(s); err != nil {
		return t, err
	}
	texts := s.Layouts
	switch {
	case len(texts) > 0 && s.Layout != "":
		return t, errors.New("layouts: it is declared together with layout; keep one of the two")
	case len(texts) == 0:
		texts = []string{s.Layout}
	}
	for _, text := range texts {
		if t.named {
			var ok bool
			if text, ok = strings.CutSuffix(text, " MST"); !ok {
				return t, fmt.Errorf("zones: they stand in a column of their own (zone_column), or at the end of the cell, where the layout has MST behind a blank; %q has not", text)
			}
		}
		l, err := newLayout(text, zone)
		if err != nil {
			return t, err
		}
		if l.zoned && (s.ZoneColumn != nil || s.Timezone != "" || t.named) {
			return t, fmt.Errorf("layout: %q has a zone, and another one is declared", text)
		}
		t.layouts = append(t.layouts, l)
	}
	if t.timeColumn != nil {
		for _, l := range t.layouts {
			if l.day || l.epoch > 0 {
				return t, fmt.Errorf("layout: %q must be that of day and time, with a blank between them, as time_column is declared", l.text)
			}
		}
	}
	t.simple = len(t.layouts) == 1 && !t.named && t.timeColumn == nil && t.zoneColumn == nil
	return t, distinct(t.layouts)
}

func (t *timeRule) compileZones(s *sources.Field) error {
	if s.Zones == nil {
		return nil
	}
	t.named = s.ZoneColumn == nil
	t.words = make(map[string]*time.Location, len(s.Zones))
	for text, name := range s.Zones {
		zone, err := zoneOf(name)
		if err != nil {
			return fmt.Errorf("zones: %w", err)
		}
		t.words[strings.TrimSpace(text)] = zone
	}
	return nil
}

// zoneOf reads an IANA name or an offset.
func zoneOf(name string) (*time.Location, error) {
	if name == "UTC" || name == "Z" {
		return time.UTC, nil
	}
	if name != "" && (name[0] == '+' || name[0] == '-') {
		for _, form := range []string{"-07:00", "-0700", "-07"} {
			if at, err := time.Parse(form, name); err == nil {
				_, offset := at.Zone()
				return time.FixedZone(name, offset), nil
			}
		}
		return nil, fmt.Errorf("%q is not an offset; write +02:00", name)
	}
	// Names without a slash are abbreviations that mean different things.
	if !strings.Contains(name, "/") {
		return nil, fmt.Errorf("%q is not an IANA name (Europe/Berlin) or an offset (+02:00)", name)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("%q is not a known time zone", name)
	}
	return zone, nil
}

// distinct refuses layouts of which two read one text as different times: then
// every text would be guessed at.
func distinct(layouts []*layout) error {
	for i, a := range layouts {
		for _, b := range layouts[i+1:] {
			if a.epoch > 0 && b.epoch > 0 {
				return fmt.Errorf("layouts: %q and %q read the same numbers as different times; declare the one that holds", a.text, b.text)
			}
			if text, ok := confused(a, b); ok {
				return fmt.Errorf("layouts: %q and %q read %q as different times; declare the one that holds", a.text, b.text, text)
			}
		}
	}
	return nil
}

// confused tries times of which every part is small enough to be another part.
func confused(a, b *layout) (string, bool) {
	if a.epoch > 0 || b.epoch > 0 {
		return "", false
	}
	for _, year := range []int{2004, 2010, 2012} {
		for _, probe := range []time.Time{
			time.Date(year, time.March, 5, 6, 7, 8, 0, time.UTC),
			time.Date(year, time.November, 9, 18, 2, 1, 0, time.UTC),
			time.Date(year, time.December, 11, 10, 9, 3, 0, time.UTC),
		} {
			for _, text := range []string{probe.Format(a.text), probe.Format(b.text)} {
				one, err := a.parseSlowly(text)
				if err != nil {
					continue
				}
				if other, err := b.parseSlowly(text); err == nil && one != other {
					return text, true
				}
			}
		}
	}
	return "", false
}

// clock returns what reads the times of one zone, kept for the document.
func (r *reader) clock(zone *time.Location) *timeReader {
	if zone == nil || zone == r.times.zone {
		return &r.times
	}
	if known := r.clocks[zone]; known != nil {
		return known
	}
	if r.clocks == nil {
		r.clocks = make(map[*time.Location]*timeReader)
	}
	fresh := &timeReader{zone: zone, from: r.times.from, to: r.times.to}
	r.clocks[zone] = fresh
	return fresh
}

// zoneOfRow finds the zone that a word of the row names.
func (r *reader) zoneOfRow(t *timeRule, text []byte) (*time.Location, error) {
	if t.words != nil {
		if zone, ok := t.words[string(text)]; ok {
			return zone, nil
		}
		return nil, fmt.Errorf("the zone %s is not in zones", quote(string(text)))
	}
	name := string(text)
	if zone, ok := r.zones[name]; ok {
		return zone, nil
	}
	zone, err := zoneOf(name)
	if err != nil {
		return nil, fmt.Errorf("the zone %w; declare it in zones", err)
	}
	if r.zones == nil {
		r.zones = make(map[string]*time.Location)
	}
	r.zones[name] = zone
	return zone, nil
}

// composed reads a time that is more than one cell in one layout.
func (r *reader) composed(t *timeRule, cells [][]byte, id fieldID) (at, end time.Time, err error) {
	text, zone := r.cell(cells, id), t.zone
	switch {
	case t.named:
		i := bytes.LastIndexByte(text, ' ')
		if i < 0 {
			return at, end, errNoTime
		}
		zone, err = r.zoneOfRow(t, text[i+1:])
		text = trim(text[:i])
	case t.zoneColumn != nil:
		zone, err = r.zoneOfRow(t, trim(cells[r.zoneColumns[id]]))
	}
	if err != nil {
		return at, end, err
	}
	if t.timeColumn != nil {
		r.joined = append(r.joined[:0], text...)
		r.joined = append(r.joined, ' ')
		r.joined = append(r.joined, trim(cells[r.timeColumns[id]])...)
		text = r.joined
	}
	return r.clock(zone).parseAny(t.layouts, text)
}

// parseAny reads a value in the one of several layouts that it has. A month
// out of range is said only if no other layout fits.
func (r *timeReader) parseAny(layouts []*layout, text []byte) (at, end time.Time, err error) {
	worst := errNoTime
	for _, l := range layouts {
		at, end, err = r.parse(l, text)
		if err == nil {
			return at, end, nil
		}
		if !errors.Is(err, errNoTime) && !errors.Is(worst, errMonth) {
			worst = err
		}
	}
	return at, end, worst
}
