package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"reconciler/postgres"
)

func (a *app) discardCommand() *cobra.Command {
	var why string
	cmd := &cobra.Command{
		Use:   "discard ID --reason TEXT",
		Short: "Take a document out of quarantine that is no statement at all",
		Long: `Take a document out of quarantine that is no statement of its source: a wrong
file, or one that will never be delivered right. Nothing of it counted, and
nothing will; but it no longer casts doubt on other statements, and runs are no
longer incomplete because of it. Your name and the reason stay with it.

A document that can be mended needs no discarding: the next delivery of its
account and period, or of its name, takes its place.`,
		Example: "  reconciler statements discard 17 --reason 'an invoice, saved into the wrong folder'",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.discard(cmd.Context(), args[0], why) },
	}
	cmd.Flags().StringVar(&why, "reason", "", "why it is no statement (required)")
	return cmd
}

func (a *app) discard(ctx context.Context, arg, why string) error {
	id, err := strconv.ParseInt(arg, 10, 64)
	switch {
	case err != nil || id <= 0:
		return usage("%q is no number of a statement; 'reconciler statements list' shows them", arg)
	case why == "":
		return usage("--reason is missing; say why it is no statement")
	}
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	now, err := s.store.Now(ctx)
	if err != nil {
		return err
	}
	who, err := person()
	if err != nil {
		return err
	}
	err = s.store.Discard(ctx, id, who, why, now)
	switch {
	case errors.Is(err, postgres.ErrNoStatement):
		return usage("there is no statement %d; 'reconciler statements list --all' shows them", id)
	case errors.Is(err, postgres.ErrNotQuarantined):
		return usage("statement %d is not in quarantine (any more); 'reconciler statements show %d' tells what it is", id, id)
	case err != nil:
		return err
	}
	if a.output == "json" {
		return a.printJSON(map[string]any{"statement_id": id, "discarded_by": who, "reason": why})
	}
	if _, err := fmt.Fprintf(a.stdout, "statement %d is discarded; its exception closes with the next run\n", id); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return nil
}
