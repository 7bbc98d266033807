package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"reconciler/money"
	"reconciler/reports"
)

// newTable is a plain table for the eye, without borders.
func newTable(w io.Writer, header ...any) table.Writer {
	t := table.NewWriter()
	t.SetOutputMirror(w)
	style := table.StyleLight
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	t.SetStyle(style)
	t.AppendHeader(header)
	return t
}

// printRun shows what a run did, the important first.
func printRun(w io.Writer, res runResult) error {
	s := res.report.Summary
	p := &printer{w: w}
	dry := ""
	if s.DryRun {
		dry = "   (dry run: nothing was stored)"
	}
	p.line("%s: %s%s", s.Job, s.Verdict, dry)
	for _, why := range s.Incomplete {
		p.line("  ! %s", why)
	}
	p.line("  statements   %d accepted, %d in quarantine, %d known already", s.Statements.Accepted, s.Statements.Quarantined, s.Statements.Duplicate)
	p.line("  records      %s read, %s new, %s changed, %s rejected", thousands(s.Records.Read), thousands(s.Records.New), thousands(s.Records.Changed), thousands(s.Records.Rejected))
	o := s.Operations
	p.line("  operations   %s examined: %s → succeeded, %s → failed_final, %s → failed_retryable, %s → unknown; %s wait for proof",
		thousands(int64(o.Examined)), thousands(int64(o.Succeeded)), thousands(int64(o.FailedFinal)), thousands(int64(o.FailedRetryable)),
		thousands(int64(o.Unknown)), thousands(int64(o.Pending)))
	p.line("  exceptions   %d open (%d new, %d closed by themselves)", s.Exceptions.StillOpen, s.Exceptions.Opened, s.Exceptions.AutoResolved)
	for _, kind := range slices.Sorted(maps.Keys(s.Exceptions.ByKind)) {
		p.line("    %4d %s", s.Exceptions.ByKind[kind], kind)
	}
	for _, c := range s.Coverage {
		p.line("  covered      %s, account %s: %s", c.Source, c.Account, coveredWords(c))
	}
	if s.LostRaces > 0 {
		p.line("  left alone   %d operations that somebody else moved meanwhile", s.LostRaces)
	}
	if s.DryRun {
		for _, t := range s.Transitions {
			p.line("  would move   %s: %s → %s (%s)", t.IdempotencyKey, t.From, t.To, t.ReasonCode)
		}
	}
	for _, f := range res.files {
		p.line("  report       %s", f)
	}
	return p.err
}

// coveredWords say how far an account is covered, and that this is not all.
func coveredWords(c reports.CoverageEnd) string {
	switch {
	case c.CoveredTo == nil:
		return "nothing yet"
	case c.Gaps == 0:
		return "until " + utc(*c.CoveredTo)
	}
	return fmt.Sprintf("until %s, with %s; 'reconciler coverage %s' shows them", utc(*c.CoveredTo), count(int64(c.Gaps), "gap"), c.Source)
}

// printer writes lines and remembers the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// amount writes money for a table; empty if there is none.
func amount(minor int64, has bool, currency string) string {
	if !has {
		return ""
	}
	return money.FormatMinor(minor, currency) + " " + currency
}

// moment writes an instant in UTC for a table, whose head says so; empty if
// there is none.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04")
}
