package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reconciler/config"
	"reconciler/postgres"
	"reconciler/reconcile"
	"reconciler/reports"
	"reconciler/sources/archive"
)

// batchSize is how many operations are decided and applied in one transaction.
const batchSize = 2000

type runFlags struct {
	workflow, operation, from, to string
	statements                    []string
	dryRun, exitCode              bool
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [JOB…]",
		Short: "Run jobs once: fetch, ingest, match, decide, apply, report",
		Long: `Run jobs once (all of them if none is named): fetch what the sources deliver,
register it, decide on every operation about which something is open or new,
move what is proven, and write the exception report.

The flags choose operations, or what is fetched; they never narrow the evidence.

` + exitCodesHelp,
		Example: `  reconciler run                          # every job of reconciler.yaml
  reconciler run payments                 # one job
  reconciler run payments --workflow W-17 # only the operations of one workflow
  reconciler run payments --dry-run       # what would happen; nothing is stored
  reconciler run payments --statement late/acme-2026-11-28.csv
  reconciler run --exit-code -o json      # 3 if exceptions are open, for scripts`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.run(cmd.Context(), args, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.workflow, "workflow", "", "only operations of this workflow")
	flags.StringVar(&f.operation, "operation", "", "only the operation with this idempotency key")
	flags.StringArrayVar(&f.statements, "statement", nil, "read this file instead of what the sources list (may be repeated)")
	flags.StringVar(&f.from, "from", "", "only operations created from this day or instant on (2026-11-01, RFC 3339)")
	flags.StringVar(&f.to, "to", "", "only operations created before this instant; a day counts as a whole")
	flags.BoolVar(&f.dryRun, "dry-run", false, "read and decide, new statements included, but store nothing")
	flags.BoolVar(&f.exitCode, "exit-code", false, "exit with 3 if exceptions are open")
	return cmd
}

func (a *app) run(ctx context.Context, names []string, f runFlags) error {
	// What is wrong with the call is said before the database is asked for.
	opt, err := f.options()
	if err != nil {
		return err
	}
	if err := readable(a.paths(f.statements)); err != nil {
		return err
	}
	cfg, err := a.loadConfig()
	if err != nil {
		return err
	}
	jobs, err := a.jobs(cfg, names, f.statements)
	if err != nil {
		return err
	}
	s, err := a.connect(ctx, cfg, true)
	if err != nil {
		return err
	}
	defer s.close()
	var results []runResult
	var failures []error
	for _, job := range jobs {
		res, err := a.runJob(ctx, s, job, opt)
		if err != nil {
			failures = append(failures, fmt.Errorf("job %s: %w", job.Name, err))
			if ctx.Err() != nil {
				break
			}
			continue
		}
		results = append(results, res)
	}
	if err := a.printRuns(results, len(jobs) == 1); err != nil {
		return err
	}
	if len(failures) > 0 {
		return errors.Join(failures...)
	}
	if err := a.tellNothing(ctx, s, results, f); err != nil {
		return err
	}
	if err := a.tellUnhandled(ctx, s); err != nil {
		return err
	}
	return verdictExit(results, f.exitCode)
}

// jobs makes the named jobs ready, or all of them if none is named.
func (a *app) jobs(cfg *config.Config, names, statements []string) ([]reconcile.Job, error) {
	if len(names) == 0 {
		names = cfg.JobNames()
	}
	if len(names) > 1 && len(statements) > 0 {
		return nil, usage("--statement needs one job; name it: reconciler run JOB --statement FILE")
	}
	jobs := make([]reconcile.Job, 0, len(names))
	for _, name := range names {
		job, err := buildJob(cfg, name, a.paths(statements))
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, job)
	}
	return jobs, nil
}

func (a *app) paths(files []string) []string {
	out := make([]string, 0, len(files))
	for _, f := range files {
		out = append(out, a.path(f))
	}
	return out
}

// verdictExit turns verdicts into an exit code: incomplete wins over open
// exceptions, which count only if asked for.
func verdictExit(results []runResult, exceptionsToo bool) error {
	code := codeDone
	for _, res := range results {
		switch {
		case res.report.Summary.Verdict == reconcile.Incompl:
			return &exitError{code: codeIncomplete}
		case exceptionsToo && res.report.Summary.Exceptions.StillOpen > 0:
			code = codeExceptions
		}
	}
	if code != codeDone {
		return &exitError{code: code}
	}
	return nil
}

func (f runFlags) options() (reconcile.Options, error) {
	opt := reconcile.Options{WorkflowID: f.workflow, Operation: f.operation, DryRun: f.dryRun}
	var err error
	if opt.From, _, err = parseMoment("--from", f.from); err != nil {
		return opt, err
	}
	var day bool
	if opt.To, day, err = parseMoment("--to", f.to); err != nil {
		return opt, err
	}
	if day {
		opt.To = opt.To.AddDate(0, 0, 1)
	}
	return opt, nil
}

// parseMoment reads a day or an instant, both in UTC where no zone is given.
func parseMoment(flag, text string) (at time.Time, day bool, err error) {
	if text == "" {
		return time.Time{}, false, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at.UTC(), false, nil
	}
	if at, err = time.Parse(time.DateOnly, text); err != nil {
		return at, false, usage("%s is %q; write a day (2026-11-30) or an instant (2026-11-30T06:00:00Z)", flag, text)
	}
	return at, true, nil
}

// runResult is what one run of a job left behind.
type runResult struct {
	report reports.Report
	files  []string
}

// runJob runs one job, and writes its report where the configuration says.
func (a *app) runJob(ctx context.Context, s *session, job reconcile.Job, opt reconcile.Options) (runResult, error) {
	progress := newProgress(a.stderr, a.terminal, s.log)
	runner := &reconcile.Runner{
		Store: s.store, Archive: archive.New(filepath.Join(s.cfg.DataDir, "archive")), Log: s.log, Progress: progress,
		Holder: holder(), Dead: dead, BatchSize: batchSize,
	}
	var res runResult
	var err error
	if opt.DryRun {
		res.report, err = rehearse(ctx, s.store, runner, job, opt)
	} else {
		res.report, err = runner.Run(ctx, job, opt)
	}
	progress.clear()
	if err != nil {
		return res, err
	}
	res.report.Zone, res.report.Zones = s.cfg.JobZone(job.Name), map[string]*time.Location{}
	for _, name := range s.cfg.SourceNames() {
		res.report.Zones[name] = s.cfg.Zone(name)
	}
	for i, c := range res.report.Coverage {
		res.report.Summary.Coverage[i] = c.End()
	}
	if opt.DryRun {
		return res, nil
	}
	out, _ := s.cfg.Job(job.Name)
	if out.Report.Dir != "" && len(out.Report.Formats) > 0 {
		// The transitions stand whatever becomes of the report; it can be made again.
		if res.files, err = reports.WriteDir(out.Report.Dir, out.Report.Formats, res.report); err != nil {
			return res, fmt.Errorf("the run is done, but its report could not be written: %w", err)
		}
	}
	return res, nil
}

// readable says which of the named files can't be read, before anything begins.
func readable(files []string) error {
	for _, f := range files {
		info, err := os.Stat(f)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return usage("there is no file %s", f)
		case err != nil:
			return &exitError{codeUsage, fmt.Errorf("look at a statement: %w", err)}
		case info.IsDir():
			return usage("%s is a folder; name the files in it", f)
		}
	}
	return nil
}

// tellNothing says on stderr that flags have chosen no operation, which is more
// often a slip of the hand than meant.
func (a *app) tellNothing(ctx context.Context, s *session, results []runResult, f runFlags) error {
	var chosen []string
	for _, flag := range []struct{ name, value string }{
		{"--workflow", f.workflow}, {"--operation", f.operation}, {"--from", f.from}, {"--to", f.to},
	} {
		if flag.value != "" {
			chosen = append(chosen, flag.name+" "+reports.Visible(flag.value))
		}
	}
	for _, res := range results {
		if res.report.Summary.Operations.Examined > 0 {
			return nil
		}
	}
	if len(chosen) == 0 || len(results) == 0 {
		return nil
	}
	found, err := s.store.ListOperations(context.WithoutCancel(ctx), postgres.OperationFilter{Key: f.operation, WorkflowID: f.workflow, Limit: 1})
	if err != nil {
		return err
	}
	text := "no operation matches " + strings.Join(chosen, " ")
	if len(found) > 0 {
		text = "nothing to examine for " + strings.Join(chosen, " ") + ": what it chooses is settled, or is no work of this job"
	}
	_, err = fmt.Fprintln(a.stderr, "reconciler:", text)
	return err
}

// rehearse runs the job in a transaction that is rolled back, with an archive
// that is thrown away.
func rehearse(ctx context.Context, store *postgres.Store, runner *reconcile.Runner, job reconcile.Job, opt reconcile.Options) (report reports.Report, err error) {
	dir, err := os.MkdirTemp("", "reconciler-dry-run-*")
	if err != nil {
		return report, fmt.Errorf("make a folder for the rehearsal: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	err = store.Rehearse(ctx, func(inner *postgres.Store) error {
		runner.Store, runner.Archive = inner, archive.New(dir)
		var err error
		report, err = runner.Run(ctx, job, opt)
		return err
	})
	return report, err
}

// printRuns answers on stdout: one JSON document, or a page for people.
func (a *app) printRuns(results []runResult, single bool) error {
	if a.output != "json" {
		for _, res := range results {
			if err := printRun(a.stdout, res); err != nil {
				return fmt.Errorf("print the result: %w", err)
			}
		}
		return nil
	}
	summaries := make([]reports.Summary, 0, len(results))
	for _, res := range results {
		summaries = append(summaries, res.report.Summary)
	}
	if !single {
		return a.printJSON(summaries)
	}
	if len(summaries) == 0 {
		return nil
	}
	return a.printJSON(summaries[0])
}

// printJSON writes one JSON document to stdout.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return nil
}
