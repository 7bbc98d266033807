package reports

import (
	"fmt"
	"strings"
	"time"
)

const (
	// rejectsShown bounds the rejects that are shown of one statement.
	rejectsShown = 100
	// statementsShown bounds the statements.
	statementsShown = 500
	// stripDays is how far back the strips of coverage look.
	stripDays = 62
	// holesShown bounds the holes that are named for an account.
	holesShown = 5
)

// statementTable is what the verdict rests on.
type statementTable struct {
	Rows []statementRow
	More string
}

type statementRow struct {
	Name, Account, State, Tone, Period, AsOf string
	Records, Rejected                        string
	Complete                                 string
	Controls                                 []control
	SHA256, Reason                           string
	New                                      bool
	Rejects                                  []Reject
	MoreRejects                              string
}

// control is one control total: what the provider declares and what we found.
type control struct {
	Name, Declared, Found string
	// Mark is "agrees", "differs", or empty where nothing can be compared.
	Mark string
}

func (b builder) statements() statementTable {
	var table statementTable
	for _, st := range b.Statements[:min(len(b.Statements), statementsShown)] {
		table.Rows = append(table.Rows, b.statement(st))
	}
	if more := len(b.Statements) - statementsShown; more > 0 {
		table.More = plural(more, "more statement is", "more statements are") + " listed by the command statements."
	}
	return table
}

func (b builder) statement(st Statement) statementRow {
	row := statementRow{
		Name: orDash(st.Name), Account: Visible(strings.Trim(st.Source+" / "+st.Account, " /")),
		State: orDash(b.words.Of(st.State).Title), Period: b.span(st.Source, st.From, st.To), AsOf: b.moment(st.AsOf),
		Records: integer(st.RecordCount), SHA256: Visible(st.SHA256), Reason: Visible(st.Reason), New: st.InThisRun,
		Controls: controls(st),
	}
	switch st.State {
	case "accepted":
		row.Tone = "good"
	case "quarantined":
		row.Tone = "bad"
	}
	switch {
	case st.Complete && st.EndProof == "assumed":
		row.Complete = "Complete, its end is assumed"
	case st.Complete && st.EndProof != "":
		row.Complete = "Complete, proven by " + Visible(strings.ReplaceAll(st.EndProof, "_", " "))
	case st.Complete:
		row.Complete = "Complete"
	case st.State == "quarantined":
		row.Complete = "Counts as no evidence"
	default:
		row.Complete = "Not complete: shows presence only"
	}
	if st.RejectCount > 0 {
		row.Rejected = integer(st.RejectCount)
	}
	for _, rej := range st.Rejects[:min(len(st.Rejects), rejectsShown)] {
		row.Rejects = append(row.Rejects, Reject{Line: rej.Line, Field: orDash(rej.Field), Reason: orDash(rej.Reason)})
	}
	if more := st.RejectCount - int64(len(row.Rejects)); more > 0 {
		row.MoreRejects = integer(more) + " more unreadable rows; the command statements shows all."
	}
	return row
}

// controls compares what the provider states about its statement with what
// was found. Nothing is marked as agreeing that was not compared.
func controls(st Statement) []control {
	var out []control
	if st.DeclaredCount != nil {
		c := control{Name: "Rows", Declared: integer(*st.DeclaredCount), Found: "–"}
		if st.ComputedCount != nil {
			c.Found, c.Mark = integer(*st.ComputedCount), agrees(*st.DeclaredCount == *st.ComputedCount)
		}
		out = append(out, c)
	}
	if st.DeclaredSumMinor != nil {
		declared := readable(*st.DeclaredSumMinor, st.Currency)
		c := control{Name: strings.TrimSpace("Sum " + declared.Currency), Declared: declared.Number, Found: "–"}
		if st.ComputedSumMinor != nil {
			c.Found = readable(*st.ComputedSumMinor, st.Currency).Number
			c.Mark = agrees(*st.DeclaredSumMinor == *st.ComputedSumMinor)
		}
		out = append(out, c)
	}
	return out
}

func agrees(same bool) string {
	if same {
		return "agrees"
	}
	return "differs"
}

// coverageStrips draws the covered time per account.
type coverageStrips struct {
	Rows  []strip
	Ticks []tick
	// Now is where the present stands; nothing is missing after it.
	Now string
}

type strip struct {
	Account, Covered, Label string
	Bars                    []bar
	Holes                   []string
	MoreHoles               string
}

// bar and tick are placed in percent of the width.
type bar struct{ X, Width string }

type tick struct{ X, Label, Anchor string }

func (b builder) coverage() coverageStrips {
	var out coverageStrips
	if len(b.Coverage) == 0 {
		return out
	}
	axis := b.axis()
	out.Ticks = b.ticks(axis)
	out.Now = axis.place(b.GeneratedAt)
	for _, c := range b.Coverage {
		out.Rows = append(out.Rows, b.strip(c, axis))
	}
	return out
}

// axis is the range of time that all strips share: whole days from the
// first covered one, but not too far back, to the end of today.
func (b builder) axis() Range {
	today := b.GeneratedAt.In(b.zone())
	y, m, d := today.Date()
	end := time.Date(y, m, d+1, 0, 0, 0, 0, b.zone())
	earliest := time.Date(y, m, d+1-stripDays, 0, 0, 0, 0, b.zone())
	from := time.Date(y, m, d-6, 0, 0, 0, 0, b.zone())
	for _, c := range b.Coverage {
		for _, r := range c.Ranges {
			if r.From.Before(from) {
				y, m, d := r.From.In(b.zone()).Date()
				from = time.Date(y, m, d, 0, 0, 0, 0, b.zone())
			}
		}
	}
	if from.Before(earliest) {
		from = earliest
	}
	return Range{from, end}
}

// ticks names up to six days of the axis.
func (b builder) ticks(axis Range) []tick {
	days := int((axis.To.Sub(axis.From) + 12*time.Hour) / (24 * time.Hour))
	step := max(1, (days+5)/6)
	var out []tick
	for day := 0; day < days; day += step {
		at := axis.From.AddDate(0, 0, day)
		anchor := "middle"
		if day == 0 {
			anchor = "start"
		}
		out = append(out, tick{axis.place(at), at.Format("2 Jan"), anchor})
	}
	return out
}

func (b builder) strip(c Coverage, axis Range) strip {
	s := strip{Account: Visible(strings.Trim(c.Source+" / "+c.Account, " /")), Covered: "Nothing is covered"}
	var end time.Time
	holes := 0
	for _, r := range sorted(c.Ranges, func(x, y Range) int { return x.From.Compare(y.From) }) {
		if !end.IsZero() && r.From.After(end) {
			holes++
			if holes <= holesShown {
				s.Holes = append(s.Holes, b.span(c.Source, end, r.From))
			}
		}
		if r.To.After(end) {
			end = r.To
		}
		from, to := later(r.From, axis.From), earlier(r.To, axis.To)
		if to.After(from) {
			s.Bars = append(s.Bars, bar{axis.place(from), percent(int64(to.Sub(from)/time.Second), int64(axis.To.Sub(axis.From)/time.Second))})
		}
	}
	if !end.IsZero() {
		s.Covered = upToWithGaps("Covered to "+b.moment(end), holes)
	}
	if more := holes - holesShown; more > 0 {
		s.MoreHoles = fmt.Sprintf("and %s more", integer(more))
	}
	s.Label = s.Account + ": " + s.Covered
	return s
}

// upToWithGaps adds to the end of a covered time that it has holes before it.
func upToWithGaps(covered string, gaps int) string {
	if gaps == 0 {
		return covered
	}
	return covered + ", with " + plural(gaps, "gap", "gaps")
}

// coveredWords say how far an account is covered, in the report's zone.
func (r Report) coveredWords(c Coverage) string {
	end := c.End()
	if end.CoveredTo == nil {
		return "nothing yet"
	}
	return upToWithGaps("to "+builder{Report: r}.moment(*end.CoveredTo), end.Gaps)
}

// place returns the position of t on the axis in percent.
func (axis Range) place(t time.Time) string {
	return percent(int64(t.Sub(axis.From)/time.Second), int64(axis.To.Sub(axis.From)/time.Second))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
