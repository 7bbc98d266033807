package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/encoding/charmap"

	"reconciler/money"
)

// providers writes what the providers of the demo deliver, as they would.
type providers struct {
	// dir is the folder of the statements.
	dir  string
	now  time.Time
	zone *time.Location
	all  []scene
}

// bankLine is a line of the bank's statement, ready to be written.
type bankLine struct {
	line
	at     time.Time
	number string
}

// bankDays are the days of which a statement is delivered, oldest first.
func bankDays() []int {
	var days []int
	for d := correctedDay; d >= lastDay; d-- {
		if d != missingDay {
			days = append(days, d)
		}
	}
	return days
}

// deliver writes all statements of the morning. The bank's of one day comes
// cut short, to be repaired later.
func (p *providers) deliver() error {
	for _, d := range bankDays() {
		text := p.bank(d, false)
		if d == cutDay {
			text = text[:strings.LastIndex(text, "Total")]
		}
		if err := p.put(p.bankName(d, ""), text, p.evening(d, 18)); err != nil {
			return err
		}
	}
	if err := p.pigeonry(); err != nil {
		return err
	}
	return p.deskling()
}

// repair delivers the cut statement again, whole.
func (p *providers) repair() error {
	return p.put(p.bankName(cutDay, ""), p.bank(cutDay, false), p.evening(cutDay, 19))
}

// correct delivers a second version of one day's statement. It returns the
// name of the file.
func (p *providers) correct() (string, error) {
	name := p.bankName(correctedDay, "-corrected")
	return name, p.put(name, p.bank(correctedDay, true), p.evening(lastDay, 20))
}

func (p *providers) bankName(days int, suffix string) string {
	return "alder-" + p.date(days).Format(time.DateOnly) + suffix + ".csv"
}

// date is the day so many days ago, at its start.
func (p *providers) date(days int) time.Time { return day(days, 0, 0).in(p.now, p.zone).In(p.zone) }

// evening is when the statement of a day is delivered: the day after.
func (p *providers) evening(days, hour int) time.Time { return day(days-1, hour, 0).in(p.now, p.zone) }

// bank writes the statement of one day: a preamble, the lines in order of
// time, and the bank's own count and sum. corrected is its second version.
func (p *providers) bank(days int, corrected bool) string {
	from := p.date(days)
	var b strings.Builder
	fmt.Fprintf(&b, "Alder Bank;Tallow & Wick OG;account main\r\nStatement of;%s\r\n", from.Format("02.01.2006"))
	b.WriteString("Date;Number;Type;Side;Amount;Currency;State;Purpose\r\n")
	var count, sumMinor int64
	for _, l := range p.bankLines(from) {
		if corrected && l.gone {
			continue
		}
		minor := l.minor
		if corrected && l.corrected != 0 {
			minor = l.corrected
		}
		count++
		sumMinor += minor
		purpose := strings.TrimSpace(l.reference + " " + l.who)
		fmt.Fprintf(&b, "%s;%s;%s;%s;%s;%s;%s;%s\r\n", l.at.In(p.zone).Format("02.01.2006 15:04:05"), l.number,
			l.kind, l.side, german(minor), l.currency, l.state, purpose)
	}
	fmt.Fprintf(&b, "Total;%d;;;%s;;;\r\n", count, german(sumMinor))
	return b.String()
}

// bankLines are the lines of one day: those of the scenes, and what else goes
// through an account.
func (p *providers) bankLines(from time.Time) []bankLine {
	var out []bankLine
	add := func(l line, number string) {
		at := l.at.in(p.now, p.zone)
		if y, m, d := at.In(p.zone).Date(); from.Equal(time.Date(y, m, d, 0, 0, 0, 0, p.zone)) {
			out = append(out, bankLine{line: l, at: at, number: number})
		}
	}
	for i, s := range p.all {
		for j, l := range s.shows {
			if l.kind == "" {
				continue // a line of another provider
			}
			if l.minor == 0 {
				l.minor = s.minor
			}
			if l.currency == "" {
				l.currency = s.currency
			}
			l.reference, l.who = s.reference, s.who
			add(l, fmt.Sprintf("A%04d", 7001+10*i+j))
		}
	}
	for i, d := range bankDays() {
		takings := int64(61340 + 1730*i)
		add(line{at: day(d, 18, 5), kind: "Takings", side: sideIn, state: booked, minor: takings, currency: "EUR", who: "card sales"}, fmt.Sprintf("A%04d", 8001+i))
		if i == 0 {
			add(line{at: day(d, 18, 30), kind: "Fee", side: sideOut, state: booked, minor: 490, currency: "EUR", who: "account fee"}, "A8100")
		}
	}
	slices.SortStableFunc(out, func(a, b bankLine) int { return a.at.Compare(b.at) })
	return out
}

// pigeonry writes the log of the mail service.
func (p *providers) pigeonry() error {
	to := p.now.Add(-10 * time.Minute).UTC().Truncate(time.Minute)
	from := to.AddDate(0, 0, -4)
	var b strings.Builder
	b.WriteString("message_id,tag,event,at\n")
	count := 0
	row := func(tag, event string, at time.Time) {
		count++
		fmt.Fprintf(&b, "m-%d,%s,%s,%s\n", 50600+count, tag, event, at.Format(time.RFC3339))
	}
	for i := range 5 {
		row(fmt.Sprintf("newsletter-%d", i+1), "delivered", from.Add(time.Duration(i)*7*time.Hour))
	}
	for _, s := range p.all {
		for _, l := range s.shows {
			if s.action == mailAction {
				row(s.reference, l.state, l.at.in(p.now, p.zone))
			}
		}
	}
	fmt.Fprintf(&b, "end,%d,,\n", count)
	const layout = "20060102T1504"
	return p.put(fmt.Sprintf("pigeonry-%s_%s.csv", from.Format(layout), to.Format(layout)), b.String(), to.Add(2*time.Minute))
}

// deskling writes the export of the helpdesk.
func (p *providers) deskling() error {
	to := p.now.UTC().Truncate(24*time.Hour).AddDate(0, 0, -2)
	from := to.AddDate(0, 0, -5)
	var b strings.Builder
	b.WriteString("ticket\texternal_id\tstate\tcreated\n")
	const count = 3
	for i := range count {
		fmt.Fprintf(&b, "D-%d\tdesk-%d\tclosed\t%s\n", 311+i, 9001+i, from.Add(time.Duration(10+26*i)*time.Hour).Format(time.RFC3339))
	}
	fmt.Fprintf(&b, "END\t%d\t\t\n", count)
	return p.put(fmt.Sprintf("deskling-%s_%s.tsv", from.Format(time.DateOnly), to.Format(time.DateOnly)), b.String(), to.Add(36*time.Hour))
}

// put writes a file as a provider delivered it at that time. The bank's are
// in its encoding; for plain ASCII that makes no difference.
func (p *providers) put(name, text string, at time.Time) error {
	data := []byte(text)
	if strings.HasPrefix(name, "alder-") {
		var err error
		if data, err = charmap.Windows1252.NewEncoder().Bytes(data); err != nil {
			return fmt.Errorf("encode %s: %w", name, err)
		}
	}
	path := filepath.Join(p.dir, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return fmt.Errorf("write a statement of the demo: %w", err)
	}
	if err := os.Chtimes(path, at, at); err != nil {
		return fmt.Errorf("date a statement of the demo: %w", err)
	}
	return nil
}

// german writes an amount with a decimal comma and grouped digits.
func german(minor int64) string {
	whole, cents, _ := strings.Cut(money.FormatMinor(minor, "EUR"), ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "." + whole[i:]
	}
	return whole + "," + cents
}
