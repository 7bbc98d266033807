package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reconciler/config"
	"reconciler/reconcile"
	"reconciler/reports"
)

func (a *app) coverageCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "coverage [SOURCE]",
		Short: "Which time is covered by complete statements, and where the gaps are",
		Long: `Show, for each account, the time for which complete statements were accepted, and
the gaps between. Only in covered time can an operation be called absent.

Time about which the newest word is in quarantine is not covered, and neither
is the settlement lag before a statement's as_of, in which an effect may still
be missing from it.`,
		Example: `  reconciler coverage
  reconciler coverage acme-bank
  reconciler coverage acme-bank -o json | jq '.[].gaps'`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.coverage(cmd.Context(), args) },
	}
	cmd.ValidArgsFunction = a.fromConfig(1, (*config.Config).SourceNames)
	return cmd
}

// coverageLine is what `coverage` answers about one account.
type coverageLine struct {
	Source    string     `json:"source"`
	Account   string     `json:"account"`
	Covered   []period   `json:"covered"`
	Gaps      []period   `json:"gaps"`
	CoveredTo *time.Time `json:"covered_to"`
	// Overdue are expected periods whose statement is not there; Next is the
	// one that is due next. Only sources with a calendar have them.
	Overdue []string  `json:"overdue,omitempty"`
	Next    *expected `json:"next,omitempty"`
}

// expected is a statement that is due.
type expected struct {
	Period string    `json:"period"`
	DueAt  time.Time `json:"due_at"`
}

func (a *app) coverage(ctx context.Context, names []string) error {
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	if len(names) == 0 {
		names = s.cfg.SourceNames()
	} else if _, ok := s.cfg.Sources[names[0]]; !ok {
		return noSource(s.cfg, names[0])
	}
	registered, err := s.store.Coverage(ctx, names)
	if err != nil {
		return err
	}
	list := allAccounts(s.cfg, names, registered)
	now, err := s.store.Now(ctx)
	if err != nil {
		return err
	}
	lines := make([]coverageLine, 0, len(list))
	for _, c := range list {
		line := coverageLineOf(c)
		if err := s.expect(ctx, &line, now); err != nil {
			return err
		}
		lines = append(lines, line)
	}
	if a.output == "json" {
		return a.printJSON(lines)
	}
	if err := a.printCoverage(s.cfg, list, now); err != nil {
		return err
	}
	return a.printExpected(s.cfg, lines)
}

// expect fills in what a source's calendar says of an account.
func (s *session) expect(ctx context.Context, line *coverageLine, now time.Time) error {
	calendar, since := s.cfg.Calendar(line.Source)
	if calendar == nil {
		return nil
	}
	delivered, err := s.store.Delivered(ctx, line.Source)
	if err != nil {
		return err
	}
	src := reconcile.Source{Rule: s.cfg.SourceRule(line.Source), Calendar: calendar, ExpectedSince: since}
	for _, e := range reconcile.Overdue(src, delivered[line.Account], now) {
		line.Overdue = append(line.Overdue, e.Name(*calendar))
	}
	next := calendar.Next(now)
	line.Next = &expected{Period: next.Name(*calendar), DueAt: next.DueAt}
	return nil
}

// printExpected tells what is late and what comes next.
func (a *app) printExpected(cfg *config.Config, lines []coverageLine) error {
	p := &printer{w: a.stdout}
	for _, line := range lines {
		if line.Next == nil {
			continue
		}
		calendar, _ := cfg.Calendar(line.Source)
		p.heading("%s, account %s: expected", line.Source, line.Account)
		for _, name := range line.Overdue {
			p.line("  MISSING  %s", name)
		}
		p.line("  next     %s, due %s", line.Next.Period, line.Next.DueAt.In(calendar.Zone).Format("2006-01-02 15:04 MST"))
	}
	return p.err
}

// allAccounts adds the accounts of sources of which nothing has been read yet.
func allAccounts(cfg *config.Config, names []string, registered []reports.Coverage) []reports.Coverage {
	var out []reports.Coverage
	for _, name := range names {
		known := false
		for _, c := range registered {
			if c.Source == name {
				known = true
				out = append(out, c)
			}
		}
		if known {
			continue
		}
		for _, account := range cfg.SourceRule(name).Accounts {
			out = append(out, reports.Coverage{Source: name, Account: account})
		}
	}
	return out
}

func coverageLineOf(c reports.Coverage) coverageLine {
	out := coverageLine{Source: c.Source, Account: c.Account, Covered: []period{}, Gaps: []period{}}
	for _, r := range c.Ranges {
		out.Covered = append(out.Covered, periodOf(r.From, r.To))
	}
	for _, g := range c.Gaps() {
		out.Gaps = append(out.Gaps, periodOf(g.From, g.To))
	}
	if n := len(c.Ranges); n > 0 {
		out.CoveredTo = periodOf(c.Ranges[n-1].From, c.Ranges[n-1].To).To
	}
	return out
}

// stripWidth is how many cells the picture of an account's coverage has.
const stripWidth = 48

func (a *app) printCoverage(cfg *config.Config, list []reports.Coverage, now time.Time) error {
	from := earliest(list, now)
	t := newTable(a.stdout, "source", "account", fmt.Sprintf("%s … now", from.Format(time.DateOnly)), "covered to", "behind", "gaps")
	for _, c := range list {
		to, behind := "nothing yet", "–"
		if n := len(c.Ranges); n > 0 {
			to, behind = end(c.Ranges[n-1].To), age(c.Ranges[n-1].To, now)
		}
		t.AppendRow([]any{c.Source, c.Account, strip(c, from, now), to, behind, len(c.Gaps())})
	}
	t.Render()
	p := &printer{w: a.stdout}
	for _, c := range list {
		if len(c.Ranges) == 0 {
			continue
		}
		zone := cfg.Zone(c.Source)
		p.heading("%s, account %s", c.Source, c.Account)
		holes := c.Gaps()
		for i, r := range c.Ranges {
			p.line("  covered  %s", span(r.From, r.To, zone))
			if i < len(holes) {
				p.line("  GAP      %s", span(holes[i].From, holes[i].To, zone))
			}
		}
	}
	return p.err
}

// earliest is where the picture begins: the first covered instant of any
// account that has a beginning.
func earliest(list []reports.Coverage, now time.Time) time.Time {
	from := now
	for _, c := range list {
		for _, r := range c.Ranges {
			if !r.From.IsZero() && r.From.Before(from) {
				from = r.From
			}
		}
	}
	return from
}

// strip draws the covered time between two instants: a full cell is covered, a
// light one in part, a dot not at all.
func strip(c reports.Coverage, from, to time.Time) string {
	var b strings.Builder
	cell := to.Sub(from) / stripWidth
	for i := range stripWidth {
		lo := from.Add(time.Duration(i) * cell)
		hi := lo.Add(cell)
		var covered time.Duration
		for _, r := range c.Ranges {
			a, z := r.From, r.To
			if a.Before(lo) {
				a = lo
			}
			if z.After(hi) {
				z = hi
			}
			if a.Before(z) {
				covered += z.Sub(a)
			}
		}
		switch {
		case covered == 0:
			b.WriteString("·")
		case covered < cell:
			b.WriteString("▒")
		default:
			b.WriteString("█")
		}
	}
	return b.String()
}
