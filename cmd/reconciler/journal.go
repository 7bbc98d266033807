package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"reconciler/postgres"
	"reconciler/reports"
)

func (a *app) journalCommand() *cobra.Command {
	making := func(use, short string) *cobra.Command {
		return &cobra.Command{
			Use:   use,
			Short: short,
			Long: short + `.

'init' and 'migrate' do the same: they bring the journal (agent_operations and
its audit trail) and the reconciler's own schema to this version of the program.
An agent_operations that is there already is adopted in place: its rows and
columns stay, writers go on working, nothing is rewritten. It may be repeated.
A private database is started for it.

The role must own the journal and may create in both schemas.`,
			Example: "  reconciler journal " + use,
			Args:    cobra.NoArgs,
			RunE:    func(cmd *cobra.Command, _ []string) error { return a.migrate(cmd.Context()) },
		}
	}
	return group(&cobra.Command{
		Use:     "journal",
		Short:   "Make, upgrade and check the journal and the reconciler's schema",
		Example: "  reconciler journal migrate\n  reconciler journal check",
	}, making("init", "Make the journal and the reconciler's schema"), making("migrate", "Upgrade the journal and the reconciler's schema"),
		a.journalCheckCommand())
}

// migrated is what `journal init` and `journal migrate` answer.
type migrated struct {
	JournalSchema    string `json:"journal_schema"`
	ReconcilerSchema string `json:"schema"`
	// Changed: something was to be done.
	Changed bool `json:"changed"`
	// From and To are the versions of the two schemas.
	From schemaVersions `json:"from"`
	To   schemaVersions `json:"to"`
	// Adopted: an agent_operations of others was there, with so many operations.
	Adopted    bool  `json:"adopted"`
	Operations int64 `json:"operations"`
}

type schemaVersions struct {
	Journal    int `json:"journal"`
	Reconciler int `json:"reconciler"`
}

func (a *app) migrate(ctx context.Context) error {
	cfg, err := a.loadConfig()
	if err != nil {
		return err
	}
	s, err := a.connect(ctx, cfg, false)
	if err != nil {
		return err
	}
	defer s.close()
	before, err := postgres.StandingOf(ctx, s.pool, s.schemas)
	if err != nil {
		return err
	}
	if before.Adoptable() {
		s.log.Warn("adopting an existing journal in place", "table", s.schemas.Journal+".agent_operations", "operations", before.Operations)
	}
	if err := postgres.Migrate(ctx, s.url, s.schemas); err != nil {
		return err
	}
	out := migrated{
		JournalSchema: s.schemas.Journal, ReconcilerSchema: s.schemas.Reconciler, Changed: !before.Current(),
		From:    schemaVersions{before.Journal, before.Reconciler},
		To:      schemaVersions{before.JournalLatest, before.ReconcilerLatest},
		Adopted: before.Adoptable(), Operations: before.Operations,
	}
	if a.output == "json" {
		return a.printJSON(out)
	}
	p := &printer{w: a.stdout}
	out.print(p)
	return p.err
}

func (m migrated) print(p *printer) {
	switch {
	case !m.Changed:
		p.line("nothing to do: the journal and the reconciler's schema are of this version")
	case m.From.Journal == 0 && !m.Adopted:
		p.line("the journal was made")
	case m.Adopted:
		p.line("adopted the agent_operations that was there, with %s", count(m.Operations, "operation"))
	default:
		p.line("upgraded")
	}
	p.fact("journal", "schema %s, version %d", m.JournalSchema, m.To.Journal)
	p.fact("reconciler", "schema %s, version %d", m.ReconcilerSchema, m.To.Reconciler)
	if m.Adopted && m.Operations > 0 {
		p.line("Every one of them is looked at in the next run; 'reconciler journal check' tells what it may stumble over.")
	}
}

func (a *app) journalCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Look whether the journal is what the program takes it for",
		Long: `Look whether the journal is what the program takes it for: both schemas current,
the triggers that keep its laws in force, no impossible states. Nothing is
changed. It reads the whole journal some times.

What is broken must be mended before anything runs. A warning concerns
operations that can't be decided or writers that misuse the journal; an info
may be as it should.

Exit codes: 0 nothing is broken (warnings and infos may be printed), 1 something
is broken, 2 usage or configuration.`,
		Example: "  reconciler journal check\n  reconciler journal check -o json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.checkJournal(cmd.Context()) },
	}
}

// checked is what `journal check` answers.
type checked struct {
	// OK: nothing is broken.
	OK       bool           `json:"ok"`
	Findings []journalFault `json:"findings"`
}

type journalFault struct {
	Severity string `json:"severity"`
	Code     string `json:"code"`
	Message  string `json:"message"`
	Count    int64  `json:"count"`
	Example  string `json:"example,omitempty"`
}

func (a *app) checkJournal(ctx context.Context) error {
	cfg, err := a.loadConfig()
	if err != nil {
		return err
	}
	s, err := a.connect(ctx, cfg, false)
	if err != nil {
		return err
	}
	defer s.close()
	found, err := postgres.Check(ctx, s.pool, s.schemas)
	if err != nil {
		return err
	}
	out := checked{OK: true, Findings: []journalFault{}}
	for _, f := range found {
		out.OK = out.OK && f.Severity != postgres.Broken
		out.Findings = append(out.Findings, journalFault{string(f.Severity), f.Code, f.Message, f.Count, f.Example})
	}
	if err := a.printChecked(out); err != nil {
		return err
	}
	if !out.OK {
		return &exitError{code: codeFailed}
	}
	return nil
}

func (a *app) printChecked(out checked) error {
	if a.output == "json" {
		return a.printJSON(out)
	}
	p := &printer{w: a.stdout}
	if len(out.Findings) == 0 {
		p.line("the journal is as it should be")
	}
	for _, f := range out.Findings {
		p.line("%s %s: %s", f.Severity, f.Code, f.Message)
		if strings.HasPrefix(f.Code, "schema_") {
			continue // it concerns all of it
		}
		example := ""
		if f.Example != "" {
			example = ", for example " + reports.Visible(f.Example)
		}
		p.line("  concerns %s%s", thousands(f.Count), example)
	}
	if len(out.Findings) > 0 && out.OK {
		p.line("\nnothing is broken; a run works with these")
	}
	return p.err
}
