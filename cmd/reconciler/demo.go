package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"reconciler/postgres/private"
	"reconciler/reconcile"
	"reconciler/reports"
	"reconciler/sources/archive"
)

// demoConfig is the configuration that the demo leaves in its folder.
//
//go:embed demo/reconciler.yaml
var demoConfig []byte

// demoFolder is made where the program is started.
const demoFolder = "reconciler-demo"

func (a *app) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "See it work: a journal, three providers, two runs, a report",
		Long: `See it work, with nothing to set up: a private PostgreSQL, the journal of a small
company with an operation for every row of the decision table, statements of a
bank, a mail service and a helpdesk, a run, a correction by the bank, and the
same run again, which changes nothing.

It works in the folder ` + demoFolder + ` of the current directory, leaves everything there to
look at and to play with, and starts over the next time.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context()) },
	}
}

// firstReport is the folder for the report of the first run, which the later
// runs would replace.
const firstReport = "first-report"

// demo is one telling of the story.
type demo struct {
	app *app
	// dir is the folder, name what the user calls it.
	dir, name string
	session   *session
	tell      *teller
	now       time.Time
	zone      *time.Location
	chapters  []chapter
	scenes    []scene
	providers *providers
	out       demoResult
	// ingested are the rows read before the first run.
	ingested int64
}

// demoResult is what `demo --output json` answers.
type demoResult struct {
	Folder string            `json:"folder"`
	Config string            `json:"config"`
	Report []string          `json:"report"`
	Runs   []reports.Summary `json:"runs"`
	// First are the conclusions of the first run, Operations those at the end.
	First      []conclusion `json:"after_first_run"`
	Operations []conclusion `json:"operations"`
	// RowsAdded by the last run, besides the entry of the run itself.
	RowsAdded int64 `json:"rows_added_by_last_run"`
}

func (a *app) demo(ctx context.Context) (err error) {
	begun := time.Now()
	d := &demo{app: a.quiet(), dir: a.path(demoFolder), name: demoFolder, chapters: chapters()}
	for _, c := range d.chapters {
		d.scenes = append(d.scenes, c.scenes...)
	}
	d.tell = newTeller(a.stdout, a.env)
	if a.output == "json" {
		d.tell = newTeller(io.Discard, a.env)
	}
	stop, err := d.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	for _, act := range []func(context.Context) error{d.journalOfTheMorning, d.firstRun, d.correction, d.sameAgain} {
		if err := act(ctx); err != nil {
			return fmt.Errorf("demo: %w", err)
		}
	}
	d.tell.end(d, time.Since(begun))
	if a.output == "json" {
		return a.printJSON(d.out)
	}
	return d.tell.err
}

// quiet is the same program without log and progress, unless more was asked
// for: here a refused statement is part of the story.
func (a *app) quiet() *app {
	out := *a
	if !a.verbose {
		out.stderr, out.terminal = io.Discard, false
	}
	return &out
}

// open makes the folder and starts the database. The story is told at the
// database's clock.
func (d *demo) open(ctx context.Context) (stop func() error, err error) {
	if err := d.clean(ctx); err != nil {
		return nil, err
	}
	statements := filepath.Join(d.dir, "statements")
	if err := os.MkdirAll(statements, 0o750); err != nil {
		return nil, fmt.Errorf("make the folder of the demo: %w", err)
	}
	if d.app.configPath, err = filepath.Abs(filepath.Join(d.dir, "reconciler.yaml")); err != nil {
		return nil, fmt.Errorf("find the folder of the demo: %w", err)
	}
	if err := os.WriteFile(d.app.configPath, demoConfig, 0o600); err != nil {
		return nil, fmt.Errorf("write the configuration of the demo: %w", err)
	}
	d.tell.begin(d.name)
	cfg, err := d.app.loadConfig()
	if err != nil {
		return nil, err
	}
	// Whoever starts the server says how safe it must be: here not at all.
	server, err := private.Start(ctx, private.Options{Dir: cfg.DataDir, Log: d.app.log(), Fast: true})
	if err != nil {
		return nil, err
	}
	if d.session, err = d.app.connect(ctx, cfg, true); err != nil {
		return nil, errors.Join(err, server.Stop()) //nolint:contextcheck // a stop is not given up with the context
	}
	stop = func() error { //nolint:contextcheck // a stop is not given up with the context
		d.session.close()
		return server.Stop()
	}
	if d.now, err = d.session.store.Now(ctx); err != nil {
		return nil, errors.Join(err, stop())
	}
	d.zone = cfg.Zone("alder-bank")
	d.providers = &providers{dir: statements, now: d.now, zone: d.zone, all: d.scenes}
	d.out.Folder, d.out.Config = d.name, filepath.Join(d.name, "reconciler.yaml")
	return stop, nil
}

// clean removes what the last demo left. A folder that no demo has made is
// left alone, and so is one whose database somebody uses.
func (d *demo) clean(ctx context.Context) error {
	text, err := os.ReadFile(filepath.Join(d.dir, "reconciler.yaml"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		entries, err := os.ReadDir(d.dir)
		if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
			return nil
		}
		return d.notOurs()
	case err != nil:
		return fmt.Errorf("look at the folder of the last demo: %w", err)
	}
	first, _, _ := bytes.Cut(demoConfig, []byte("\n"))
	if !bytes.HasPrefix(text, first) {
		return d.notOurs()
	}
	if err := d.checkUnused(ctx); err != nil {
		return err
	}
	if err := os.RemoveAll(d.dir); err != nil {
		return fmt.Errorf("remove the folder of the last demo: %w", err)
	}
	return nil
}

func (d *demo) notOurs() error {
	return usage("the folder %s is there and was not made by a demo: move it away, or run the demo in another directory", d.name)
}

// checkUnused makes sure that nobody works with the database of the last demo.
func (d *demo) checkUnused(ctx context.Context) error {
	data := filepath.Join(d.dir, "data")
	if _, err := os.Stat(filepath.Join(data, "postgres", "data", "postmaster.pid")); errors.Is(err, fs.ErrNotExist) {
		return nil // no server runs there
	}
	server, err := private.Start(ctx, private.Options{Dir: data, Log: d.app.log(), Fast: true})
	if err != nil {
		return fmt.Errorf("look whether the last demo is still in use: %w", err)
	}
	others, err := otherSessions(ctx, server.URL("postgres"))
	if err = errors.Join(err, server.Stop()); err != nil { //nolint:contextcheck // a stop is not given up with the context
		return fmt.Errorf("look whether the last demo is still in use: %w", err)
	}
	if others > 0 {
		return usage("somebody works with the database of the last demo in %s (%d sessions): stop that first, or run the demo in another directory", d.name, others)
	}
	return nil
}

func (d *demo) archive() *archive.Folder {
	return archive.New(filepath.Join(d.session.cfg.DataDir, "archive"))
}

// journalOfTheMorning: what the workers left behind.
func (d *demo) journalOfTheMorning(ctx context.Context) error {
	if err := d.writeJournal(ctx); err != nil {
		return err
	}
	d.tell.journal(d.scenes)
	return nil
}

// firstRun: statements come, one of them cut short, and the run decides.
func (d *demo) firstRun(ctx context.Context) error {
	if err := d.providers.deliver(); err != nil {
		return err
	}
	refused, err := d.ingestBank(ctx)
	if err != nil {
		return err
	}
	if err := d.providers.repair(); err != nil {
		return err
	}
	res, err := d.run(ctx)
	if err != nil {
		return err
	}
	found, err := d.conclusions(ctx)
	if err != nil {
		return err
	}
	files, err := reports.WriteDir(filepath.Join(d.dir, firstReport), []string{"html"}, res.report)
	if err != nil {
		return err
	}
	d.addReport(files)
	d.out.First = d.inOrder(found)
	d.tell.firstRun(d, refused, res.report.Summary, found)
	return nil
}

// correction: the bank issues one day again, with other content.
func (d *demo) correction(ctx context.Context) error {
	name, err := d.providers.correct()
	if err != nil {
		return err
	}
	res, err := d.run(ctx)
	if err != nil {
		return err
	}
	found, err := d.conclusions(ctx)
	if err != nil {
		return err
	}
	d.tell.correction(d, name, res.report.Summary, found)
	return nil
}

// sameAgain: the same run once more.
func (d *demo) sameAgain(ctx context.Context) error {
	before, err := d.rowsBesidesRuns(ctx)
	if err != nil {
		return err
	}
	res, err := d.run(ctx)
	if err != nil {
		return err
	}
	after, err := d.rowsBesidesRuns(ctx)
	if err != nil {
		return err
	}
	found, err := d.conclusions(ctx)
	if err != nil {
		return err
	}
	d.out.RowsAdded, d.out.Operations = after-before, d.inOrder(found)
	d.addReport(res.files)
	d.tell.sameAgain(res.report.Summary, after, d.out.RowsAdded)
	return nil
}

// run is `reconciler run`.
func (d *demo) run(ctx context.Context) (runResult, error) {
	job, err := buildJob(d.session.cfg, "morning", nil)
	if err != nil {
		return runResult{}, err
	}
	res, err := d.app.runJob(ctx, d.session, job, reconcile.Options{})
	if err != nil {
		return res, err
	}
	d.out.Runs = append(d.out.Runs, res.report.Summary)
	return res, nil
}

// inOrder lists conclusions in the order of the story.
func (d *demo) inOrder(found map[string]conclusion) []conclusion {
	out := make([]conclusion, 0, len(d.scenes))
	for _, s := range d.scenes {
		out = append(out, found[s.key])
	}
	return out
}

// addReport notes the files of a report, by paths that the user can type.
func (d *demo) addReport(files []string) {
	for _, file := range files {
		if path, err := filepath.Abs(file); err == nil {
			if rel, err := filepath.Rel(filepath.Dir(d.app.configPath), path); err == nil && filepath.IsLocal(rel) {
				file = filepath.Join(d.name, rel)
			}
		}
		d.out.Report = append(d.out.Report, file)
	}
}
