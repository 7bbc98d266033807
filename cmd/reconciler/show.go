package main

import (
	"fmt"
	"strings"
	"time"

	"reconciler/money"
	"reconciler/reports"
)

// yesNo writes a truth for a table.
type yesNo bool

func (y yesNo) String() string {
	if y {
		return "yes"
	}
	return "no"
}

// dash stands for what is not there, so that a table has no holes.
func dash(text string) string {
	if text == "" {
		return "–"
	}
	return reports.Visible(text)
}

// span writes a half-open time as people say it: whole days of the source's
// zone by their first and last, with the zone unless it is UTC; anything else
// by its two ends in UTC, as all other times are shown.
func span(from, to time.Time, zone *time.Location) string {
	if from.IsZero() && to.IsZero() {
		return "–"
	}
	if zone == nil {
		zone = time.UTC
	}
	first, limit := from.In(zone), to.In(zone)
	last := limit.AddDate(0, 0, -1)
	if !midnight(first) || !midnight(limit) || last.Before(first) || from.IsZero() || to.Year() >= lastYear {
		return utc(from) + " … " + utc(to)
	}
	text := first.Format(time.DateOnly)
	if last.After(first) {
		text += " … " + last.Format(time.DateOnly)
	}
	if _, offset := first.Zone(); offset != 0 {
		text += " (" + zone.String() + ")"
	}
	return text
}

// open ends of a range are the first and the last instant that Go and the
// database share.
const lastYear = 9999

func end(t time.Time) string {
	switch {
	case t.IsZero():
		return "the beginning"
	case t.Year() >= lastYear:
		return "the end of time"
	}
	return t.Format("2006-01-02 15:04 MST")
}

func midnight(t time.Time) bool {
	return t.Hour() == 0 && t.Minute() == 0 && t.Second() == 0 && t.Nanosecond() == 0
}

// utc writes an instant with its zone, for sentences.
func utc(t time.Time) string { return end(t.UTC()) }

// age writes how long something has been so, in the largest unit that fits.
func age(since, now time.Time) string {
	d := now.Sub(since)
	switch {
	case since.IsZero():
		return "–"
	case d < time.Hour:
		return fmt.Sprintf("%dm", max(int64(d/time.Minute), 0))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int64(d/time.Hour))
	}
	return fmt.Sprintf("%dd", int64(d/(24*time.Hour)))
}

// count writes a number with its noun: "1 record", "2 records".
func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return thousands(n) + " " + noun + "s"
}

// total writes an optional sum of a statement.
func total(minor *int64, currency string) string {
	if minor == nil {
		return "–"
	}
	if currency == "" {
		return thousands(*minor) + " in minor units (of no one currency)"
	}
	return money.FormatMinor(*minor, currency) + " " + currency
}

// number writes an optional count.
func number(n *int64) string {
	if n == nil {
		return "–"
	}
	return thousands(*n)
}

// fact writes one line of a description, its name in a column of its own.
func (p *printer) fact(name, format string, args ...any) {
	p.line("  %-14s %s", name, fmt.Sprintf(format, args...))
}

// shorten cuts a text for a table; the whole of it is shown elsewhere.
func shorten(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return strings.TrimRight(string(runes[:most-1]), " ,;:") + "…"
}

// heading begins a part of a page.
func (p *printer) heading(format string, args ...any) { p.line("\n"+format, args...) }

// lines writes a text of several lines, indented.
func (p *printer) lines(text string) {
	for _, l := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		p.line("  %s", l)
	}
}

// optional gives nil for the zero time, so that JSON says null.
func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	u := t.UTC()
	return &u
}

// optionalAmount gives nil where there is no amount.
func optionalAmount(minor int64, has bool) *int64 {
	if !has {
		return nil
	}
	return &minor
}

// period is a half-open time in JSON; an open end is null.
type period struct {
	From *time.Time `json:"from"`
	To   *time.Time `json:"to"`
}

func periodOf(from, to time.Time) period {
	out := period{From: optional(from), To: optional(to)}
	if out.To != nil && out.To.Year() >= lastYear {
		out.To = nil
	}
	return out
}
