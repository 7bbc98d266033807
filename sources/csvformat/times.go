package csvformat

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// What can be wrong with a time. A month out of range is evidence that the
// declared layout is wrong (day and month swapped), so it refuses the file.
var (
	errMonth   = errors.New("the month is out of range")
	errNoTime  = errors.New("does not have the declared layout")
	errNoDay   = errors.New("does not exist in the calendar")
	errGap     = errors.New("does not exist in the source's time zone: the clock was set forward over it")
	errNoZone  = errors.New("has a zone abbreviation that the source's time zone does not know")
	errFarAway = errors.New("is implausibly far away")
)

// layout reads the times of one field.
type layout struct {
	text string
	zone *time.Location
	// day: the layout has no hours, its values are calendar days.
	day bool
	// zoned: the layout has an offset or a zone, its values are instants.
	zoned bool
	// epoch is how many of its units make a second, for numbers since 1970.
	epoch int64
	steps []step // nil: only the time package can read it
}

// step is one element of a layout that is read without the time package.
type step struct {
	kind    stepKind
	literal byte
}

type stepKind uint8

const (
	stepLiteral stepKind = iota
	stepYear
	stepShortYear
	stepMonth
	stepDay
	stepHour
	stepMinute
	stepSecond
	stepZone // Z07:00
)

// newLayout checks a layout in the form of the time package.
func newLayout(text string, zone *time.Location) (*layout, error) {
	switch text {
	case "":
		text = time.RFC3339
	case "unix":
		return &layout{text: text, zone: zone, zoned: true, epoch: 1}, nil
	case "unix_ms":
		return &layout{text: text, zone: zone, zoned: true, epoch: 1000}, nil
	}
	// What a layout can tell shows in what it writes.
	base := time.Date(2026, time.March, 4, 5, 6, 7, 0, time.UTC)
	shows := func(other time.Time) bool { return base.Format(text) != other.Format(text) }
	l := &layout{text: text, zone: zone}
	if !shows(base.AddDate(0, 0, 1)) || !shows(base.AddDate(0, 1, 0)) || !shows(base.AddDate(1, 0, 0)) {
		return nil, fmt.Errorf("layout: %q does not name day, month and year; write it with the reference date, as 02.01.2006", text)
	}
	l.day = !shows(base.Add(time.Hour))
	l.zoned = shows(time.Date(2026, time.March, 4, 5, 6, 7, 0, time.FixedZone("XYZ", 3600)))
	if l.day && l.zoned {
		return nil, fmt.Errorf("layout: %q has a zone but no hours", text)
	}
	if !l.day && !shows(base.Add(12*time.Hour)) {
		return nil, fmt.Errorf("layout: %q has hours from 1 to 12 but no PM", text)
	}
	l.steps = compileSteps(text)
	return l, nil
}

// compileSteps returns nil for a layout with an element that it does not know.
func compileSteps(text string) []step {
	elements := []struct {
		text string
		kind stepKind
	}{
		{"2006", stepYear},
		{"01", stepMonth},
		{"02", stepDay},
		{"15", stepHour},
		{"04", stepMinute},
		{"05", stepSecond},
		{"06", stepShortYear},
		{"Z07:00", stepZone},
	}
	var steps []step
next:
	for text != "" {
		for _, e := range elements {
			if rest, ok := strings.CutPrefix(text, e.text); ok {
				steps = append(steps, step{kind: e.kind})
				text = rest
				continue next
			}
		}
		c := text[0]
		offset := (c == '-' || c == '+') && strings.HasPrefix(text[1:], "07")
		if !strings.ContainsRune(" ./:-,T", rune(c)) || offset {
			return nil
		}
		steps = append(steps, step{literal: c})
		text = text[1:]
	}
	return steps
}

// clock is a calendar day and a time of that day, before any zone.
type clock struct {
	year, month, day     int
	hour, minute, second int
	nanosecond           int
	// offset of an instant from UTC, in seconds; valid if zoned.
	offset int
	zoned  bool
}

// read returns false if the text does not have the plain form of the layout;
// the time package, which is more patient, then has the last word.
func (l *layout) read(text []byte) (clock, bool) {
	c := clock{month: 1, day: 1}
	for i, s := range l.steps {
		ok := true
		switch s.kind {
		case stepLiteral:
			ok = len(text) > 0 && text[0] == s.literal
			if ok {
				text = text[1:]
			}
		case stepYear:
			text, ok = digits(text, 4, &c.year)
		case stepShortYear:
			if text, ok = digits(text, 2, &c.year); c.year >= 69 {
				c.year += 1900
			} else {
				c.year += 2000
			}
		case stepMonth:
			text, ok = digits(text, 2, &c.month)
		case stepDay:
			text, ok = digits(text, 2, &c.day)
		case stepHour:
			text, ok = digits(text, 2, &c.hour)
		case stepMinute:
			text, ok = digits(text, 2, &c.minute)
		case stepSecond:
			if text, ok = digits(text, 2, &c.second); ok {
				text = fraction(text, l.steps[i+1:], &c.nanosecond)
			}
		case stepZone:
			text, ok = zoneOffset(text, &c)
		}
		if !ok {
			return clock{}, false
		}
	}
	return c, len(text) == 0
}

func digits(text []byte, n int, value *int) ([]byte, bool) {
	if len(text) < n {
		return nil, false
	}
	v := 0
	for _, c := range text[:n] {
		if c < '0' || c > '9' {
			return nil, false
		}
		v = v*10 + int(c-'0')
	}
	*value = v
	return text[n:], true
}

// fraction reads a fraction of a second that the layout does not name, as the
// time package does.
func fraction(text []byte, rest []step, nanosecond *int) []byte {
	if len(text) < 2 || text[0] != '.' && text[0] != ',' || text[1] < '0' || text[1] > '9' {
		return text
	}
	if len(rest) > 0 && rest[0].kind == stepLiteral && rest[0].literal == text[0] {
		return text
	}
	text = text[1:]
	scale := 100_000_000
	for len(text) > 0 && text[0] >= '0' && text[0] <= '9' {
		*nanosecond += int(text[0]-'0') * scale
		scale /= 10
		text = text[1:]
	}
	return text
}

func zoneOffset(text []byte, c *clock) ([]byte, bool) {
	if len(text) == 0 {
		return nil, false
	}
	c.zoned = true
	sign := 1
	switch text[0] {
	case 'Z':
		return text[1:], true
	case '+':
	case '-':
		sign = -1
	default:
		return nil, false
	}
	var hours, minutes int
	rest, ok := digits(text[1:], 2, &hours)
	if !ok || len(rest) == 0 || rest[0] != ':' {
		return nil, false
	}
	rest, ok = digits(rest[1:], 2, &minutes)
	if !ok || hours > 14 || minutes > 59 {
		return nil, false
	}
	c.offset = sign * (hours*3600 + minutes*60)
	return rest, true
}

// timeReader reads the times of one document. It remembers the days that it
// has seen, for asking a time zone is slow.
type timeReader struct {
	zone *time.Location
	days [64]dayBounds
	// From and to bound what is plausible, in Unix seconds.
	from, to int64
}

// dayBounds is a day of the source's zone, in Unix seconds.
type dayBounds struct {
	number     int64 // days since 1970-01-01, plus 1
	start, end int64
	// even: the clock runs through the whole day without a change.
	even bool
	// skipped: the zone left the whole day out, to change the side of the date line.
	skipped bool
}

// parse reads one value. For a day, end is the start of the next one; for a
// time that the clock showed twice it is the later instant (exclusive);
// otherwise it is zero. Both are UTC.
func (r *timeReader) parse(l *layout, text []byte) (at, end time.Time, err error) {
	if l.epoch > 0 {
		return r.sinceEpoch(text, l.epoch)
	}
	c, ok := clock{}, false
	if l.steps != nil {
		c, ok = l.read(text)
	}
	if !ok {
		if c, err = l.parseSlowly(string(text)); err != nil {
			return at, end, err
		}
	}
	switch {
	case c.month > 12:
		return at, end, errMonth
	case c.month < 1, c.day < 1, c.day > daysIn(c.year, c.month), c.hour > 23, c.minute > 59, c.second > 59:
		return at, end, errNoDay
	}
	number := daysSinceEpoch(c.year, c.month, c.day)
	seconds := int64(c.hour*3600 + c.minute*60 + c.second)
	if c.zoned {
		unix := number*86400 + seconds - int64(c.offset)
		return r.plausible(unix, c.nanosecond)
	}
	day := r.bounds(number, c)
	switch {
	case day.skipped:
		return at, end, errGap
	case l.day:
		if at, _, err = r.plausible(day.start, 0); err != nil {
			return at, end, err
		}
		return at, time.Unix(day.end, 0).UTC(), nil
	case day.even:
		return r.plausible(day.start+seconds, c.nanosecond)
	}
	first, last, ok := localInstants(r.zone, c)
	if !ok {
		return at, end, errGap
	}
	if at, _, err = r.plausible(first, c.nanosecond); err == nil && last > first {
		end = time.Unix(last, int64(c.nanosecond)).Add(time.Microsecond).UTC()
	}
	return at, end, err
}

// sinceEpoch reads a decimal number of seconds or of parts of them.
func (r *timeReader) sinceEpoch(text []byte, unit int64) (at, end time.Time, err error) {
	number := text
	var whole int64
	for len(number) > 0 && number[0] >= '0' && number[0] <= '9' && whole < 1<<50 {
		whole = whole*10 + int64(number[0]-'0')
		number = number[1:]
	}
	if len(text) == 0 || text[0] < '0' || text[0] > '9' {
		return at, end, errNoTime
	}
	nanosecond := 0
	if unit == 1 {
		number = fraction(number, nil, &nanosecond)
	}
	if len(number) > 0 {
		return at, end, errNoTime
	}
	part := whole % unit * (int64(time.Second) / unit)
	return r.plausible(whole/unit, nanosecond+int(part))
}

func (r *timeReader) plausible(unix int64, nanosecond int) (at, end time.Time, err error) {
	if unix < r.from || unix >= r.to {
		return at, end, errFarAway
	}
	return time.Unix(unix, int64(nanosecond)).UTC(), end, nil
}

// parseSlowly lets the time package read what the plain form cannot. Local
// times are read as UTC, where the package never moves a clock.
func (l *layout) parseSlowly(text string) (clock, error) {
	zone := time.UTC
	if l.zoned {
		zone = l.zone
	}
	t, err := time.ParseInLocation(l.text, text, zone)
	if err != nil {
		var parse *time.ParseError
		if errors.As(err, &parse) {
			switch {
			case strings.Contains(parse.Message, "month out of range"):
				return clock{}, errMonth
			case strings.Contains(parse.Message, "out of range"):
				return clock{}, errNoDay
			}
		}
		return clock{}, errNoTime
	}
	if !l.zoned {
		return clockOf(t), nil
	}
	// An abbreviation that the zone does not know gets a made-up location with
	// offset zero.
	numeric := strings.Contains(l.text, "-07") || strings.Contains(l.text, "Z07")
	if name, _ := t.Zone(); !numeric && t.Location() != l.zone && name != "UTC" {
		return clock{}, errNoZone
	}
	c := clockOf(t)
	_, c.offset = t.Zone()
	c.zoned = true
	return c, nil
}

func clockOf(t time.Time) clock {
	return clock{
		year: t.Year(), month: int(t.Month()), day: t.Day(),
		hour: t.Hour(), minute: t.Minute(), second: t.Second(), nanosecond: t.Nanosecond(),
	}
}

// bounds of a day in the source's zone.
func (r *timeReader) bounds(number int64, c clock) dayBounds {
	known := &r.days[number&int64(len(r.days)-1)] // a power of two
	if known.number == number+1 {
		return *known
	}
	start := startOfDay(r.zone, c.year, c.month, c.day)
	end := startOfDay(r.zone, c.year, c.month, c.day+1)
	*known = dayBounds{number: number + 1, start: start.Unix(), end: end.Unix()}
	_, change := start.ZoneBounds()
	_, offset := start.Zone()
	known.skipped = start.Day() != c.day
	known.even = known.start == number*86400-int64(offset) && (change.IsZero() || !change.Before(end))
	return *known
}

// startOfDay is the first instant of a calendar day in a zone. It is not
// always midnight: some zones set their clocks at that hour.
func startOfDay(zone *time.Location, year, month, day int) time.Time {
	c := clock{year: year, month: month, day: day}
	noon := time.Date(year, time.Month(month), day, 12, 0, 0, 0, zone)
	c.year, c.month, c.day = noon.Year(), int(noon.Month()), noon.Day()
	if unix, _, ok := localInstants(zone, c); ok {
		return time.Unix(unix, 0).In(zone)
	}
	// Midnight was skipped: the day begins with the change of the clock.
	start, _ := noon.ZoneBounds()
	return start
}

// localInstants are the instants at which a clock in the zone shows that time:
// twice the same one, two where it was set back over it, none if it skips it.
func localInstants(zone *time.Location, c clock) (first, last int64, ok bool) {
	wall := daysSinceEpoch(c.year, c.month, c.day)*86400 + int64(c.hour*3600+c.minute*60+c.second)
	about := time.Unix(wall, 0).In(zone)
	// Offsets that can hold at that time are those a day before and after it,
	// and of every change in between.
	offsets := [3]int{}
	_, offsets[0] = about.Add(-24 * time.Hour).Zone()
	_, offsets[1] = about.Zone()
	_, offsets[2] = about.Add(24 * time.Hour).Zone()
	for _, offset := range offsets {
		at := wall - int64(offset)
		if _, valid := time.Unix(at, 0).In(zone).Zone(); valid != offset {
			continue
		}
		if !ok {
			first, last, ok = at, at, true
		}
		first, last = min(first, at), max(last, at)
	}
	return first, last, ok
}

func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// daysSinceEpoch counts the days from 1970-01-01 to a day of the Gregorian calendar.
func daysSinceEpoch(year, month, day int) int64 {
	// Years that begin in March put the leap day at their end.
	y, m := int64(year), int64(month)
	if m <= 2 {
		y--
		m += 12
	}
	era := y / 400
	if y < 0 {
		era = (y - 399) / 400
	}
	inEra := y - era*400
	inYear := (153*(m-3)+2)/5 + int64(day) - 1
	return era*146097 + inEra*365 + inEra/4 - inEra/100 + inYear - 719468
}
