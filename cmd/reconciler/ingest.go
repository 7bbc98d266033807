package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"reconciler/reconcile"
	"reconciler/sources/archive"
)

func (a *app) ingestCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "ingest SOURCE [FILE…]",
		Short: "Register statements without matching them",
		Long: `Register what a source delivers (or the files that are named) without deciding
on anything: each statement is accepted, found to be known already, or put into
quarantine with the reason. The next run goes on from there.

` + exitCodesHelp,
		Example: `  reconciler ingest acme-bank
  reconciler ingest acme-bank late/acme-2026-11-28_2026-11-28.csv`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.ingest(cmd.Context(), args[0], args[1:]) },
	}
}

// ingestLine is what `ingest` answers about one statement.
type ingestLine struct {
	Statement   string `json:"statement"`
	StatementID int64  `json:"statement_id"`
	State       string `json:"state"`
	Known       bool   `json:"known"`
	Complete    bool   `json:"complete"`
	Reason      string `json:"reason,omitempty"`
	Records     int64  `json:"records"`
	New         int64  `json:"new"`
	Changed     int64  `json:"changed"`
	Rejects     int64  `json:"rejects"`
}

func (a *app) ingest(ctx context.Context, name string, files []string) error {
	if err := readable(a.paths(files)); err != nil {
		return err
	}
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	if _, ok := s.cfg.Sources[name]; !ok {
		return noSource(s.cfg, name)
	}
	src, err := buildSource(s.cfg, name, a.paths(files))
	if err != nil {
		return err
	}
	if err := s.store.PutSource(ctx, src.Rule); err != nil {
		return err
	}
	now, err := s.store.Now(ctx)
	if err != nil {
		return err
	}
	progress := newProgress(a.stderr, a.terminal, s.log)
	kept := archive.New(filepath.Join(s.cfg.DataDir, "archive"))
	lines, incomplete := []ingestLine{}, false
	for d, err := range src.Location.List(ctx) {
		if err != nil {
			return fmt.Errorf("list deliveries of %s: %w", name, err)
		}
		res, err := reconcile.Ingest(ctx, s.store, kept, reconcile.IngestRequest{
			Source: src, Delivery: d, At: now, Progress: progress.Done, Started: func() { progress.Phase("load "+d.Name, -1) },
		})
		progress.clear()
		if err != nil {
			return err
		}
		reg := res.Registered
		incomplete = incomplete || reg.State == "quarantined" || reg.State == "accepted" && reg.Rejects > 0
		lines = append(lines, ingestLine{
			Statement: d.Name, StatementID: reg.ID, State: reg.State, Known: res.Known, Complete: reg.Complete, Reason: reg.Reason,
			Records: res.Loaded.Summary.Records, New: res.Loaded.New, Changed: res.Loaded.Changed, Rejects: reg.Rejects,
		})
	}
	if err := a.printIngested(lines); err != nil {
		return err
	}
	if incomplete {
		return &exitError{code: codeIncomplete}
	}
	return nil
}

func (a *app) printIngested(lines []ingestLine) error {
	if a.output == "json" {
		return a.printJSON(lines)
	}
	if len(lines) == 0 {
		_, err := fmt.Fprintln(a.stdout, "nothing to read")
		return err
	}
	t := newTable(a.stdout, "id", "statement", "state", "complete", "records", "new", "changed", "rejects", "why")
	for _, l := range lines {
		state := l.State
		if l.Known {
			state += " (known already)"
		}
		t.AppendRow([]any{l.StatementID, l.Statement, state, l.Complete, l.Records, l.New, l.Changed, l.Rejects, l.Reason})
	}
	t.Render()
	return nil
}
