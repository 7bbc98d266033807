package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"reconciler/reconcile"
	"reconciler/reports"
)

func (a *app) reprocessCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reprocess SOURCE|ID",
		Short: "Read statements again whose mapping has changed since",
		Long: `Read current statements of a source (or one of them) again under its present
mapping, if they were read under another. They come from the archive, so that
their files need not be where they were; names and times stay as they are. What
was read before is superseded, and whatever rested on it is decided again by the
next run. Documents in quarantine are read again too.

` + exitCodesHelp,
		Example: "  reconciler statements reprocess acme-bank\n  reconciler statements reprocess 17",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.reprocess(cmd.Context(), args[0]) },
	}
	return cmd
}

// reprocessLine is what `statements reprocess` answers about one statement.
type reprocessLine struct {
	ingestLine
	// Before is the number under which it was read before.
	Before int64 `json:"before"`
	Gone   int64 `json:"gone"`
}

func (a *app) reprocess(ctx context.Context, arg string) error {
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	list, src, err := s.toReprocess(ctx, arg)
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
	lines, incomplete := []reprocessLine{}, false
	var failed []error
	for i, kept := range list {
		phase := fmt.Sprintf("read %s (%d of %d)", kept.Name, i+1, len(list))
		res, err := reconcile.Reprocess(ctx, s.store, s.archive(), kept, reconcile.IngestRequest{
			Source: src, At: now, Progress: progress.Done, Started: func() { progress.Phase(phase, -1) },
		})
		progress.clear()
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			failed = append(failed, fmt.Errorf("statement %d: %w", kept.ID, err))
			continue
		}
		reg := res.Registered
		incomplete = incomplete || !reg.Complete
		lines = append(lines, reprocessLine{Before: kept.ID, Gone: res.Loaded.Gone, ingestLine: ingestLine{
			Statement: kept.Name, StatementID: reg.ID, State: reg.State, Known: res.Known, Complete: reg.Complete, Reason: reg.Reason,
			Records: res.Loaded.Summary.Records, New: res.Loaded.New, Changed: res.Loaded.Changed, Rejects: reg.Rejects,
		}})
	}
	if err := a.printReprocessed(arg, lines, len(list)); err != nil {
		return err
	}
	if len(failed) > 0 {
		return fmt.Errorf("read %s again: %w", arg, errors.Join(failed...))
	}
	if incomplete {
		return &exitError{code: codeIncomplete}
	}
	return nil
}

// toReprocess finds the statements that were read under another mapping.
func (s *session) toReprocess(ctx context.Context, arg string) ([]reconcile.Kept, reconcile.Source, error) {
	list, src, err := s.named(ctx, arg)
	if err != nil {
		return nil, src, err
	}
	var out []reconcile.Kept
	for _, kept := range list {
		outdated, err := kept.Outdated(ctx, s.archive(), src)
		if err != nil {
			return nil, src, err
		}
		if outdated {
			out = append(out, kept)
		}
	}
	return out, src, nil
}

// named are the current statements of a source, or one of them.
func (s *session) named(ctx context.Context, arg string) ([]reconcile.Kept, reconcile.Source, error) {
	if _, ok := s.cfg.Sources[arg]; ok {
		src, err := buildSource(s.cfg, arg, nil)
		if err != nil {
			return nil, src, err
		}
		list, err := s.store.Current(ctx, arg)
		return list, src, err
	}
	id, err := statementNumber(arg)
	if err != nil {
		return nil, reconcile.Source{}, usage("%q is neither a source nor the number of a statement: %w", arg, noSource(s.cfg, arg))
	}
	kept, src, err := s.kept(ctx, id)
	switch {
	case err != nil:
		return nil, src, err
	case kept.ReplacedBy == id:
		return nil, src, usage("statement %d was discarded; nothing of it counts", id)
	case kept.ReplacedBy != 0:
		return nil, src, usage("statement %d has been replaced by statement %d; read that one again", id, kept.ReplacedBy)
	}
	return []reconcile.Kept{kept}, src, nil
}

func (a *app) printReprocessed(arg string, lines []reprocessLine, found int) error {
	if a.output == "json" {
		return a.printJSON(lines)
	}
	if found == 0 {
		_, err := fmt.Fprintf(a.stdout, "nothing to do: every current statement of %s was read under its present mapping\n", arg)
		return err
	}
	if len(lines) == 0 {
		return nil
	}
	t := newTable(a.stdout, "before", "id", "statement", "state", "complete", "records", "new", "changed", "gone", "rejects", "why")
	for _, l := range lines {
		state := l.State
		if l.Known {
			state += " (known already)"
		}
		t.AppendRow([]any{
			l.Before, l.StatementID, reports.Visible(l.Statement), state, yesNo(l.Complete), thousands(l.Records), thousands(l.New),
			thousands(l.Changed), thousands(l.Gone), thousands(l.Rejects), reports.Visible(l.Reason),
		})
	}
	t.Render()
	return nil
}
