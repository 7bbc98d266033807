package sources

import (
	"errors"
	"fmt"
	"iter"
	"time"
)

// Rhythm says how often a provider delivers.
type Rhythm string

// The rhythms that a calendar knows.
const (
	// Daily: a statement for every day.
	Daily Rhythm = "daily"
	// BusinessDays: for every day from Monday to Friday that is no holiday;
	// what happens on the days between stands in the next one.
	BusinessDays Rhythm = "business_days"
	// Monthly: for every calendar month.
	Monthly Rhythm = "monthly"
)

// Calendar says when a source's statements are due: for every day or month,
// at a time of the day after it, by the clock of a zone.
type Calendar struct {
	Every Rhythm
	// At is the time of day at which a statement is due, since midnight.
	At time.Duration
	// After is how many days after the end of its period a statement is due; 0
	// is the first day after.
	After int
	// Grace is how much later it may come before anybody is told.
	Grace time.Duration
	// Holidays are days on which nothing is delivered and nothing is due, as
	// 2006-01-02.
	Holidays map[string]bool
	Zone     *time.Location
}

// Expectation is one statement that a calendar expects.
type Expectation struct {
	// Period that it must speak of.
	Period Period
	// DueAt is when it should be there, LateAt when somebody must be told.
	DueAt, LateAt time.Time
}

// Name is the period in words: the day, or the month.
func (e Expectation) Name(c Calendar) string {
	if c.Every == Monthly {
		return e.Period.From.In(c.Zone).Format("2006-01")
	}
	return e.Period.From.In(c.Zone).Format(time.DateOnly)
}

// Check reports what makes the calendar unusable.
func (c Calendar) Check() error {
	switch c.Every {
	case Daily, BusinessDays, Monthly:
	default:
		return fmt.Errorf("every is %q; it can be daily, business_days or monthly", c.Every)
	}
	if c.At < 0 || c.At >= 24*time.Hour {
		return errors.New("at is no time of day; write it as 06:00")
	}
	if c.Grace < 0 || c.After < 0 {
		return errors.New("grace and after can't be negative")
	}
	for day := range c.Holidays {
		if _, err := time.Parse(time.DateOnly, day); err != nil {
			return fmt.Errorf("holidays: %q is no day; write 2026-12-25", day)
		}
	}
	return nil
}

// From yields the expectations in order, beginning with the one whose period
// holds start; they never end.
func (c Calendar) From(start time.Time) iter.Seq[Expectation] {
	return func(yield func(Expectation) bool) {
		day := c.begin(start.In(c.Zone))
		for {
			next := c.following(day)
			if c.Every != BusinessDays || c.open(day) {
				if !yield(c.expect(day, next)) {
					return
				}
			}
			day = next
		}
	}
}

// begin is the first day of the period that holds at.
func (c Calendar) begin(at time.Time) time.Time {
	y, m, d := at.Date()
	if c.Every == Monthly {
		d = 1
	}
	return time.Date(y, m, d, 0, 0, 0, 0, c.Zone)
}

func (c Calendar) following(day time.Time) time.Time {
	y, m, d := day.Date()
	if c.Every == Monthly {
		return time.Date(y, m+1, 1, 0, 0, 0, 0, c.Zone)
	}
	return time.Date(y, m, d+1, 0, 0, 0, 0, c.Zone)
}

// open reports a day on which the provider works.
func (c Calendar) open(day time.Time) bool {
	if c.Holidays[day.Format(time.DateOnly)] {
		return false
	}
	return c.Every != BusinessDays || day.Weekday() != time.Saturday && day.Weekday() != time.Sunday
}

func (c Calendar) expect(from, to time.Time) Expectation {
	due, left := to, c.After
	for left > 0 || !c.open(due) {
		if c.open(due) {
			left--
		}
		y, m, d := due.Date()
		due = time.Date(y, m, d+1, 0, 0, 0, 0, c.Zone)
	}
	y, m, d := due.Date()
	hours, minutes := int(c.At/time.Hour), int(c.At%time.Hour/time.Minute)
	at := time.Date(y, m, d, hours, minutes, 0, 0, c.Zone).UTC()
	return Expectation{Period: Period{From: from.UTC(), To: to.UTC()}, DueAt: at, LateAt: at.Add(c.Grace)}
}

// Overdue lists the expectations since start that should be there by now, and
// of whose period the delivered ranges lack a part.
func (c Calendar) Overdue(delivered Ranges, start, now time.Time) []Expectation {
	var late []Expectation
	for e := range c.From(start) {
		// Periods only get later, but a due date may be moved by a holiday.
		if e.Period.To.After(now) {
			break
		}
		if !now.Before(e.LateAt) && !delivered.Covers(e.Period) {
			late = append(late, e)
		}
	}
	return late
}

// Next is the first expectation that is not due yet at now.
func (c Calendar) Next(now time.Time) Expectation {
	// A period may be due long after its end: look back over any such delay.
	for e := range c.From(now.AddDate(0, -2, -2*c.After)) {
		if e.DueAt.After(now) {
			return e
		}
	}
	return Expectation{}
}
