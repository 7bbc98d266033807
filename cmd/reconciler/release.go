package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"reconciler/postgres"
	"reconciler/reconcile"
	"reconciler/reports"
	"reconciler/sources/archive"
)

func (a *app) releaseCommand() *cobra.Command {
	var why string
	cmd := &cobra.Command{
		Use:   "release ID --reason TEXT",
		Short: "Let the readable records of a document in quarantine count",
		Long: `Let the records of a document in quarantine count, as far as it can be read: up to
the row at which it was refused. They are evidence of what is there, never of
what is not: the statement is never complete, runs stay incomplete because of
it, and while it is the newest of its period, older statements prove no absence
there. Your name and the reason stay with it.

A repaired delivery takes its place, and what only it contained is gone. To take
a release back, discard it.`,
		Example: "  reconciler statements release 17 --reason 'the bank will not repair it before Monday'",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.release(cmd.Context(), args[0], why) },
	}
	cmd.Flags().StringVar(&why, "reason", "", "why it may count (required)")
	cmd.ValidArgsFunction = a.fromDatabase(currentStatements)
	return cmd
}

// releaseAnswer is what `statements release` answers.
type releaseAnswer struct {
	StatementID int64     `json:"statement_id"`
	Statement   string    `json:"statement"`
	ReleasedBy  string    `json:"released_by"`
	ReleasedAt  time.Time `json:"released_at"`
	Reason      string    `json:"reason"`
	Records     int64     `json:"records"`
	New         int64     `json:"new"`
	Changed     int64     `json:"changed"`
	Repeated    int64     `json:"repeated"`
	Rejects     int64     `json:"rejects"`
}

func (a *app) release(ctx context.Context, arg, why string) error {
	id, err := statementNumber(arg)
	if err != nil {
		return err
	}
	if why == "" {
		return usage("--reason is missing; say why its records may count")
	}
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	kept, src, err := s.kept(ctx, id)
	if err != nil {
		return err
	}
	by := reconcile.Handling{Reason: why}
	if by.Actor, err = person(); err != nil {
		return err
	}
	if by.At, err = s.store.Now(ctx); err != nil {
		return err
	}
	progress := newProgress(a.stderr, a.terminal, s.log)
	progress.Phase("read "+kept.Name, -1)
	out, err := reconcile.Release(ctx, s.store, s.archive(), reconcile.ReleaseRequest{Source: src, Kept: kept, Handling: by, Progress: progress.Done})
	progress.clear()
	switch {
	case errors.Is(err, postgres.ErrNotQuarantined):
		return usage("statement %d is not in quarantine (any more); 'reconciler statements show %d' tells what it is", id, id)
	case errors.Is(err, reconcile.ErrNothingReadable):
		return usage("statement %d can't be released: no record of it can be read; 'reconciler statements show %d' tells why", id, id)
	case errors.Is(err, reconcile.ErrOtherMapping):
		return usage("the mapping of %s has changed since statement %d was refused; read it again with 'reconciler statements reprocess %d'", kept.Source, id, id)
	case err != nil:
		return err
	}
	if a.output == "json" {
		return a.printJSON(releaseAnswer{
			StatementID: id, Statement: kept.Name, ReleasedBy: by.Actor, ReleasedAt: by.At, Reason: why, Records: out.Summary.Records,
			New: out.New, Changed: out.Changed, Repeated: out.Repeated, Rejects: out.Rejects,
		})
	}
	p := &printer{w: a.stdout}
	p.line("statement %d (%s) is released: %s, %s of them new", id, reports.Visible(kept.Name), count(out.Summary.Records, "record"), thousands(out.New))
	p.line("  its records show what is there, and prove nothing absent; runs stay incomplete until it is repaired or discarded")
	return p.err
}

// statementNumber reads the number of a statement on the command line.
func statementNumber(arg string) (int64, error) {
	id, err := strconv.ParseInt(arg, 10, 64)
	if err != nil || id <= 0 {
		return 0, usage("%q is no number of a statement; 'reconciler statements list' shows them", arg)
	}
	return id, nil
}

func (s *session) archive() *archive.Folder {
	return archive.New(filepath.Join(s.cfg.DataDir, "archive"))
}

// kept reads what it takes to read a statement again, under the present
// configuration of its source.
func (s *session) kept(ctx context.Context, id int64) (reconcile.Kept, reconcile.Source, error) {
	kept, err := s.store.Kept(ctx, id)
	if errors.Is(err, postgres.ErrNoStatement) {
		return kept, reconcile.Source{}, usage("there is no statement %d; 'reconciler statements list --all' shows all", id)
	}
	if err != nil {
		return kept, reconcile.Source{}, err
	}
	if _, ok := s.cfg.Sources[kept.Source]; !ok {
		return kept, reconcile.Source{}, fmt.Errorf("statement %d can't be read: %w", id, noSource(s.cfg, kept.Source))
	}
	src, err := buildSource(s.cfg, kept.Source, nil)
	return kept, src, err
}
