package reports

import (
	"fmt"
	"strconv"
	"strings"
)

// verdict is the banner.
type verdict struct {
	// Code is the verdict as the schema names it, Class the name of its style.
	Code, Class, Headline, Text string
	Reasons                     []string
	DryRun                      bool
	LostRaces                   string
}

func (b builder) verdict() verdict {
	s := b.Summary
	word := b.words.Of(s.Verdict)
	v := verdict{Code: Visible(s.Verdict), Class: s.Verdict, Headline: orDash(word.Title), Text: word.Meaning, DryRun: s.DryRun}
	open := len(b.Exceptions)
	switch s.Verdict {
	case "exceptions":
		v.Headline = plural(open, "exception needs", "exceptions need") + " a person"
	case "incomplete":
		v.Headline = "Incomplete: not everything could be seen"
		if open > 0 {
			v.Text += " " + plural(open, "exception is", "exceptions are") + " open as well."
		}
	case "reconciled_with_pending":
		v.Headline = "Reconciled; " + plural(len(b.Waiting), "operation still waits", "operations still wait") + " for proof"
	case "reconciled":
		v.Headline = "Reconciled: everything is accounted for"
	default:
		v.Class = "other"
	}
	for _, reason := range s.Incomplete {
		v.Reasons = append(v.Reasons, Visible(reason))
	}
	if s.LostRaces > 0 {
		v.LostRaces = plural(s.LostRaces, "operation was", "operations were") +
			" moved by somebody else during this run and left alone."
	}
	return v
}

func (b builder) figures() []figure {
	s := b.Summary
	critical := 0
	for _, e := range b.Exceptions {
		if e.Severity == severityCritical {
			critical++
		}
	}
	open := figure{
		Value: integer(len(b.Exceptions)), Label: "open exceptions",
		Detail: fmt.Sprintf("%s critical, %s new", integer(critical), integer(s.Exceptions.Opened)),
	}
	if len(b.Exceptions) > 0 {
		open.Tone = "bad"
	}
	waiting := figure{Value: integer(len(b.Waiting)), Label: "waiting for proof", Detail: "need nobody yet"}
	toUnknown := 0
	for _, moved := range b.Settled {
		if moved.To == "unknown" {
			toUnknown++
		}
	}
	settled := figure{
		Value: integer(len(b.Settled) - toUnknown), Label: "settled by this run",
		Detail: "of " + integer(s.Operations.Examined) + " examined",
	}
	if s.DryRun {
		settled.Label = "would be settled"
	}
	if toUnknown > 0 {
		settled.Detail += ", " + integer(toUnknown) + " now unknown"
	}
	statements := figure{
		Value: integer(s.Statements.Accepted), Label: "statements accepted",
		Detail: integer(s.Statements.Quarantined) + " quarantined, " + integer(s.Statements.Duplicate) + " known",
	}
	if s.Statements.Quarantined > 0 {
		statements.Tone = "warn"
	}
	records := figure{
		Value: integer(s.Records.Read), Label: "records read",
		Detail: integer(s.Records.New) + " new, " + integer(s.Records.Rejected) + " rejected",
	}
	if s.Records.Rejected > 0 {
		records.Tone = "warn"
	}
	return []figure{open, settled, waiting, statements, records}
}

// riskTable is the money at risk.
type riskTable struct {
	Rows []riskRow
	// Empty says why there is no row.
	Empty string
	// Without says, a sentence each, which cases have no amount.
	Without []string
}

type riskRow struct {
	Currency                   string
	Sum, Critical, Largest     string
	Over                       bool
	Cases                      string
	CriticalWidth, CriticalPct string
}

func (b builder) risk() riskTable {
	totals, without := risks(b.Exceptions)
	table := riskTable{Empty: "No open exception puts money at risk.", Without: without.sentences(b.words)}
	if len(without.orders) > 0 {
		table.Empty = "What is at risk can't be summed up: no open exception has an amount."
	}
	for _, t := range totals {
		sum := readable(t.Minor, t.Currency)
		row := riskRow{
			Currency: sum.Currency, Sum: sum.Number, Over: t.Over, Cases: integer(t.Cases),
			Critical:      readable(t.Critical, t.Currency).Number,
			Largest:       readable(t.Largest, t.Currency).Number,
			CriticalWidth: percent(t.Critical, t.Minor),
		}
		row.CriticalPct = row.CriticalWidth
		table.Rows = append(table.Rows, row)
	}
	return table
}

// sentences say how many cases have no amount, and of which kinds they are.
func (u unpriced) sentences(words Words) []string {
	var out []string
	for _, part := range []struct {
		kinds     []kindCount
		one, many string
	}{
		{u.orders, "case has no amount in the journal", "cases have no amount in the journal"},
		{u.others, "case concerns statements or records and has no amount of its own", "cases concern statements or records and have no amount of their own"},
	} {
		n := 0
		var names []string
		for _, k := range part.kinds {
			n += k.n
			names = append(names, integer(k.n)+" × "+orDash(words.Of(k.kind).Title))
		}
		if n > 0 {
			out = append(out, plural(n, part.one, part.many)+": "+strings.Join(names, ", ")+".")
		}
	}
	return out
}

// percent writes part of whole as a percentage with two digits, for the
// widths of bars.
func percent(part, whole int64) string {
	if whole <= 0 || part <= 0 {
		return "0%"
	}
	if part >= whole {
		return "100%"
	}
	// Large sums are scaled down first; a bar is a hundred pixels long.
	for whole > 1<<40 {
		whole, part = whole>>10, part>>10
	}
	hundredths := part * 10000 / whole
	return fmt.Sprintf("%d.%02d%%", hundredths/100, hundredths%100)
}

// integer writes a count with thousands separators.
func integer[N int | int64](n N) string {
	return grouped(strconv.FormatInt(int64(n), 10))
}

// plural writes a count with the words that fit it.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return integer(n) + " " + many
}
