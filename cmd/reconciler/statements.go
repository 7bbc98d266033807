package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reconciler/config"
	"reconciler/postgres"
	"reconciler/reports"
	"reconciler/sources"
)

func (a *app) statementsCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:     "statements",
		Short:   "What was accepted, quarantined, rejected",
		Example: "  reconciler statements list\n  reconciler statements show 17",
	}, a.statementsListCommand(), a.statementsShowCommand(), a.diffCommand(), a.releaseCommand(), a.reprocessCommand(), a.discardCommand())
}

func (a *app) statementsListCommand() *cobra.Command {
	var source string
	var all bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List registered statements, the newest first",
		Long: `List the statements that count or would count: those that are current, and those
in quarantine. With --all also the ones that newer statements have replaced.`,
		Example: `  reconciler statements list
  reconciler statements list --source acme-bank --all
  reconciler statements list -o json | jq '.[] | select(.state == "quarantined")'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.listStatements(cmd.Context(), source, postgres.StatementFilter{Current: !all})
		},
	}
	cmd.Flags().StringVar(&source, "source", "", "only statements of this source")
	cmd.Flags().BoolVar(&all, "all", false, "also statements that newer ones have replaced")
	completeFlag(cmd, "source", a.fromConfig(0, (*config.Config).SourceNames))
	return cmd
}

// statementLine is what `statements list` answers about one statement.
type statementLine struct {
	StatementID int64     `json:"statement_id"`
	Source      string    `json:"source"`
	Account     string    `json:"account"`
	Name        string    `json:"name"`
	State       string    `json:"state"`
	Complete    bool      `json:"complete"`
	EndProof    string    `json:"end_proof"`
	Period      period    `json:"period"`
	AsOf        time.Time `json:"as_of"`
	Records     int64     `json:"record_count"`
	Rejects     int64     `json:"reject_count"`
	Reason      string    `json:"reason,omitempty"`
}

func lineOf(st reports.Statement) statementLine {
	return statementLine{
		StatementID: st.StatementID, Source: st.Source, Account: st.Account, Name: st.Name, State: st.State, Complete: st.Complete,
		EndProof: st.EndProof, Period: periodOf(st.From, st.To), AsOf: st.AsOf, Records: st.RecordCount, Rejects: st.RejectCount, Reason: st.Reason,
	}
}

func (a *app) listStatements(ctx context.Context, source string, filter postgres.StatementFilter) error {
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	if source != "" {
		filter.Sources = []string{source}
	}
	list, err := s.store.ListStatements(ctx, filter)
	if err != nil {
		return err
	}
	if _, configured := s.cfg.Sources[source]; source != "" && len(list) == 0 && !configured {
		return noSource(s.cfg, source)
	}
	if a.output == "json" {
		lines := make([]statementLine, 0, len(list))
		for _, st := range list {
			lines = append(lines, lineOf(st))
		}
		return a.printJSON(lines)
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(a.stdout, "no statements yet; 'reconciler run' or 'reconciler ingest SOURCE' reads them")
		return err
	}
	t := newTable(a.stdout, "id", "source", "account", "name", "state", "complete", "end", "period", "as of (UTC)", "records", "rejects", "why")
	for _, st := range list {
		t.AppendRow([]any{
			st.StatementID, st.Source, st.Account, reports.Visible(st.Name), st.State, yesNo(st.Complete), dash(st.EndProof),
			span(st.From, st.To, s.cfg.Zone(st.Source)), moment(st.AsOf), thousands(st.RecordCount), thousands(st.RejectCount), shorten(reports.Visible(st.Reason), whyShown),
		})
	}
	t.Render()
	return nil
}

func noSource(cfg *config.Config, name string) error {
	return usage("there is no source %q; the configuration has: %s", name, strings.Join(cfg.SourceNames(), ", "))
}

// whyShown is how much of a reason fits into a table; 'show' has all of it.
const whyShown = 60

// rejectsShown is how many rejects are shown unless more are asked for.
const rejectsShown = 200

func (a *app) statementsShowCommand() *cobra.Command {
	var rejects int
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Everything about one statement: totals, digests, versions, rejects",
		Example: `  reconciler statements show 17
  reconciler statements show 17 --rejects 5000 -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.showStatement(cmd.Context(), args[0], rejects) },
	}
	cmd.Flags().IntVar(&rejects, "rejects", rejectsShown, "show at most so many rejects")
	cmd.ValidArgsFunction = a.fromDatabase(currentStatements)
	return cmd
}

// statementAnswer is what `statements show` answers.
type statementAnswer struct {
	statementLine
	Accounts      []string         `json:"accounts"`
	Version       string           `json:"version,omitempty"`
	SHA256        string           `json:"sha256"`
	Size          int64            `json:"size"`
	Format        string           `json:"format"`
	MappingDigest string           `json:"mapping_digest"`
	AsOfStated    bool             `json:"as_of_stated"`
	Rows          int64            `json:"row_count"`
	Skipped       int64            `json:"skipped_count"`
	Stored        int64            `json:"stored_count"`
	Declared      sources.Controls `json:"declared"`
	Computed      sources.Controls `json:"computed"`
	Supersedes    []int64          `json:"supersedes"`
	SupersededBy  *int64           `json:"superseded_by"`
	RunID         string           `json:"run_id,omitempty"`
	FirstSeenAt   time.Time        `json:"first_seen_at"`
	AcceptedAt    *time.Time       `json:"accepted_at"`
	Rejected      []rejectLine     `json:"rejects"`
}

type rejectLine struct {
	Line   int    `json:"line"`
	Field  string `json:"field"`
	Reason string `json:"reason"`
}

func (a *app) showStatement(ctx context.Context, text string, rejects int) error {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id <= 0 {
		return usage("a statement is named by its number, not by %q; 'reconciler statements list' shows the numbers", text)
	}
	if rejects < 0 {
		return usage("--rejects is %d; it can't be negative", rejects)
	}
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	st, err := s.store.StatementByID(ctx, id, rejects)
	if errors.Is(err, postgres.ErrNoStatement) {
		return usage("there is no statement %d; 'reconciler statements list --all' shows all", id)
	}
	if err != nil {
		return err
	}
	if a.output == "json" {
		return a.printJSON(answerOf(st))
	}
	return a.printStatement(st, s.cfg.Zone(st.Source))
}

func answerOf(st postgres.StatementDetails) statementAnswer {
	out := statementAnswer{
		statementLine: lineOf(st.Statement), Accounts: st.Accounts, Version: st.Version, SHA256: st.SHA256, Size: st.Size,
		Format: st.Format, MappingDigest: st.MappingDigest, AsOfStated: st.AsOfStated, Rows: st.Rows, Skipped: st.Skipped,
		Stored: st.Stored, Declared: st.Declared, Computed: st.Computed, Supersedes: st.Supersedes, RunID: st.RunID,
		FirstSeenAt: st.FirstSeenAt, AcceptedAt: optional(st.AcceptedAt), Rejected: []rejectLine{},
	}
	if out.Supersedes == nil {
		out.Supersedes = []int64{}
	}
	if st.SupersededBy != 0 {
		out.SupersededBy = &st.SupersededBy
	}
	for _, r := range st.Rejects {
		out.Rejected = append(out.Rejected, rejectLine(r))
	}
	return out
}

func (a *app) printStatement(st postgres.StatementDetails, zone *time.Location) error {
	p := &printer{w: a.stdout}
	complete := "complete"
	if !st.Complete {
		complete = "not complete"
	}
	p.line("statement %d: %s", st.StatementID, reports.Visible(st.Name))
	p.fact("state", "%s, %s, end %s", st.State, complete, dash(st.EndProof))
	if st.Reason != "" {
		p.fact("because", "%s", reports.Visible(st.Reason))
	}
	p.fact("source", "%s, accounts %s, format %s", st.Source, strings.Join(st.Accounts, ", "), st.Format)
	p.fact("period", "%s", span(st.From, st.To, zone))
	said := "from the file's time"
	if st.AsOfStated {
		said = "stated by the provider"
	}
	p.fact("as of", "%s (%s)", utc(st.AsOf), said)
	p.fact("rows", "%s: %s, %s, %s skipped", thousands(st.Rows), count(st.RecordCount, "record"), count(st.RejectCount, "reject"), thousands(st.Skipped))
	p.fact("stored", "%s", storedWords(st.Stored, st.RecordCount))
	p.fact("sha256", "%s (%s bytes)", st.SHA256, thousands(st.Size))
	p.fact("mapping", "%s", st.MappingDigest)
	if st.Version != "" {
		p.fact("version", "%s", reports.Visible(st.Version))
	}
	p.fact("first seen", "%s%s", utc(st.FirstSeenAt), byRun(st.RunID))
	if !st.AcceptedAt.IsZero() {
		p.fact("accepted", "%s", utc(st.AcceptedAt))
	}
	for _, old := range st.Supersedes {
		p.fact("replaces", "statement %d", old)
	}
	if st.SupersededBy != 0 {
		p.fact("replaced by", "statement %d", st.SupersededBy)
	}
	p.heading("control totals")
	if p.err != nil {
		return p.err
	}
	t := newTable(a.stdout, "", "declared", "computed")
	t.AppendRow([]any{"rows", number(st.Declared.Count), number(st.Computed.Count)})
	t.AppendRow([]any{"sum", total(st.Declared.Sum, st.Currency), total(st.Computed.Sum, st.Currency)})
	t.Render()
	return a.printRejects(p, st)
}

// storedWords say how many records were new, and how many not.
func storedWords(stored, all int64) string {
	switch others := all - stored; {
	case others <= 0:
		return count(stored, "record")
	case stored == 0:
		return "nothing: all records were known already"
	default:
		return fmt.Sprintf("%s; %s known already", count(stored, "record"), wasWere(others))
	}
}

func wasWere(n int64) string {
	if n == 1 {
		return "1 other was"
	}
	return thousands(n) + " others were"
}

func byRun(id string) string {
	if id == "" {
		return ""
	}
	return " by " + id
}

func (a *app) printRejects(p *printer, st postgres.StatementDetails) error {
	if st.RejectCount == 0 {
		return p.err
	}
	p.heading("rejects: rows that could not be understood")
	if p.err != nil {
		return p.err
	}
	t := newTable(a.stdout, "line", "field", "reason")
	for _, r := range st.Rejects {
		t.AppendRow([]any{r.Line, dash(r.Field), reports.Visible(r.Reason)})
	}
	t.Render()
	if shown := int64(len(st.Rejects)); shown < st.RejectCount {
		p.line("  %s more; --rejects %d shows them", thousands(st.RejectCount-shown), st.RejectCount)
	}
	return p.err
}
