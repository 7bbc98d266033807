package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"reconciler/reconcile"
	"reconciler/sources"
)

var _ reconcile.Releaser = (*Store)(nil)

// Release loads what the reader yields as the records of a document in
// quarantine: a person says so, with the reason, and both stay with it. It
// shows what is there; it never is complete, replaces no version, and while it
// is the newest of its period, older ones prove no absence there. One
// transaction. Errors to ask for: ErrNoStatement, ErrNotQuarantined,
// reconcile.ErrNothingReadable.
func (s *Store) Release(ctx context.Context, id int64, d reconcile.Document, r sources.Reader, by reconcile.Handling) (reconcile.Loaded, error) {
	l := &loading{s: s, doc: d, ordinals: map[int64]int{}, disputed: map[recordHash]bool{}}
	l.out.ID = id
	err := s.inTx(ctx, func(tx pgx.Tx) error {
		l.tx = tx
		refused, err := l.fromQuarantine(ctx)
		if err != nil {
			return err
		}
		if err := l.read(ctx, r); err != nil {
			return err
		}
		if l.out.Summary, err = r.Summary(); err != nil {
			return fmt.Errorf("close %s: %w", d.Name, err)
		}
		if l.out.Summary.Records == 0 {
			return reconcile.ErrNothingReadable
		}
		l.out.State = "accepted"
		l.out.Reason = fmt.Sprintf("released by %s: %s; it was refused, for %s", by.Actor, by.Reason, refused)
		return l.release(ctx, by)
	})
	if err != nil {
		return reconcile.Loaded{}, fmt.Errorf("release statement %d: %w", id, err)
	}
	return l.out, nil
}

// fromQuarantine locks the statement's source, and makes sure that the
// statement is in quarantine still. It returns why.
func (l *loading) fromQuarantine(ctx context.Context) (refused string, err error) {
	if err := l.lockSource(ctx); err != nil {
		return "", err
	}
	var waits bool
	err = l.tx.QueryRow(ctx, l.s.sql(`
		SELECT state = 'quarantined' AND superseded_by IS NULL, reason, as_of FROM {r}.statements WHERE statement_id = $1 FOR UPDATE`), l.out.ID).
		Scan(&waits, &refused, &l.asOf)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return "", ErrNoStatement
	case err != nil:
		return "", fmt.Errorf("read it: %w", err)
	case !waits:
		return "", ErrNotQuarantined
	}
	l.asOf = l.asOf.UTC()
	_, err = l.tx.Exec(ctx, l.s.sql(`UPDATE {r}.statements SET state = 'accepted' WHERE statement_id = $1`), l.out.ID)
	if err != nil {
		return "", fmt.Errorf("mark it: %w", err)
	}
	return refused, nil
}

// release completes the registration of a released statement.
func (l *loading) release(ctx context.Context, by reconcile.Handling) error {
	sum := l.out.Summary
	declared, err := json.Marshal(sum.Declared)
	if err != nil {
		return fmt.Errorf("encode declared totals: %w", err)
	}
	computed, err := json.Marshal(sum.Computed)
	if err != nil {
		return fmt.Errorf("encode computed totals: %w", err)
	}
	if _, err := l.tx.Exec(ctx, l.s.sql(`
		UPDATE {r}.statements
		   SET row_count = $2, record_count = $3, reject_count = $4, skipped_count = $5, stored_count = $6,
		       declared = $7, computed = $8, reason = $9, strays = $10, handled_by = $11, handled_at = $12, accepted_at = $12
		 WHERE statement_id = $1`),
		l.out.ID, sum.Rows, sum.Records, sum.Rejects, sum.Skipped, l.stored, string(declared), string(computed),
		l.out.Reason, l.outside+l.undated > 0, by.Actor, by.At); err != nil {
		return fmt.Errorf("mark it: %w", err)
	}
	if _, err := l.tx.Exec(ctx, l.s.sql(`DELETE FROM {r}.rejects WHERE statement_id = $1`), l.out.ID); err != nil {
		return fmt.Errorf("count its rejects again: %w", err)
	}
	if err := l.s.putRejects(ctx, l.tx, l.out.ID, l.rejects); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{l.flagConflicts, l.touch} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return l.s.bump(ctx, l.tx, l.doc.Source)
}

// withdraw takes back what released statements brought, in favour of another
// that takes their place; a discarded one has its own.
func (l *loading) withdraw(ctx context.Context) error {
	for _, step := range []func(context.Context) error{l.retire, l.flagConflicts, l.touch} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}
