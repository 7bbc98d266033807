package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"reconciler/reconcile"
)

// ErrNotQuarantined says that a statement is not in quarantine, or no longer.
var ErrNotQuarantined = errors.New("the statement is not in quarantine")

// Discard takes a document out of quarantine that is no statement of its
// source at all (the wrong file, a name that did not fit), or takes a release
// back: a person says so, with the reason, and both stay with it. Nothing of it
// counts then; but it no longer casts doubt on other statements.
func (s *Store) Discard(ctx context.Context, id int64, actor, why string, at time.Time) error {
	err := s.inTx(ctx, func(tx pgx.Tx) error {
		l := &loading{s: s, tx: tx, disputed: map[recordHash]bool{}}
		l.out.ID, l.doc.At = id, at
		err := tx.QueryRow(ctx, s.sql(`SELECT source FROM {r}.statements WHERE statement_id = $1`), id).Scan(&l.doc.Source)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrNoStatement
		}
		if err != nil {
			return fmt.Errorf("read it: %w", err)
		}
		if err := l.lockSource(ctx); err != nil {
			return err
		}
		if err := l.takeBack(ctx); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, s.sql(`
			UPDATE {r}.statements
			   SET state = 'quarantined', superseded_by = statement_id, handled_by = $2, handled_at = $3,
			       reason = reason || '; discarded by ' || $2 || ': ' || $4
			 WHERE statement_id = $1`), id, actor, at, why)
		if err != nil {
			return fmt.Errorf("mark it: %w", err)
		}
		return s.bump(ctx, tx, l.doc.Source)
	})
	if err != nil {
		return fmt.Errorf("discard statement %d: %w", id, err)
	}
	return nil
}

// takeBack makes sure that the statement waits for a person, or was released
// by one: then what it brought goes.
func (l *loading) takeBack(ctx context.Context) error {
	var waits, released bool
	var period pgtype.Range[pgtype.Timestamptz]
	err := l.tx.QueryRow(ctx, l.s.sql(`
		SELECT state = 'quarantined', state = 'accepted' AND handled_by IS NOT NULL, period, as_of
		  FROM {r}.statements WHERE statement_id = $1 AND superseded_by IS NULL FOR UPDATE`), l.out.ID).Scan(&waits, &released, &period, &l.asOf)
	switch {
	case errors.Is(err, pgx.ErrNoRows) || err == nil && !waits && !released:
		return ErrNotQuarantined
	case err != nil:
		return fmt.Errorf("read it: %w", err)
	case waits:
		return nil
	}
	if period.Valid {
		l.doc.Period = periodOf(period)
	}
	l.replaces = []replaced{{id: l.out.ID, period: l.doc.Period}}
	return l.withdraw(ctx)
}

// putBack takes back what a person released of a document that is no longer
// delivered under its name: a known statement stands there again.
func (s *Store) putBack(ctx context.Context, tx pgx.Tx, d reconcile.Document, known int64) error {
	l := &loading{s: s, tx: tx, doc: d, disputed: map[recordHash]bool{}}
	l.out.ID = known
	var released bool
	err := tx.QueryRow(ctx, s.sql(`
		SELECT EXISTS (SELECT 1 FROM {r}.statements
		 WHERE source = $1 AND name = $2 AND superseded_by IS NULL AND NOT complete AND handled_by IS NOT NULL AND statement_id <> $3)`),
		d.Source, d.Name, known).Scan(&released)
	if err != nil || !released {
		return err
	}
	if err := l.lockSource(ctx); err != nil {
		return err
	}
	lo, hi := bounds(d.Period)
	rows, err := tx.Query(ctx, s.sql(`
		SELECT statement_id, period FROM {r}.statements
		 WHERE source = $1 AND account = $2 AND name = $3 AND state = 'accepted' AND handled_by IS NOT NULL AND superseded_by IS NULL
		   AND statement_id <> $4 AND ($7 OR period IS NULL OR period = tstzrange($5, $6))`),
		d.Source, account(d.Accounts), d.Name, known, lo, hi, d.AnyPeriod)
	if err != nil {
		return fmt.Errorf("look for what was released: %w", err)
	}
	var old replaced
	var period pgtype.Range[pgtype.Timestamptz]
	if _, err := pgx.ForEachRow(rows, []any{&old.id, &period}, func() error {
		if old.period = (replaced{}).period; period.Valid {
			old.period = periodOf(period)
		}
		l.replaces = append(l.replaces, old)
		return nil
	}); err != nil {
		return fmt.Errorf("look for what was released: %w", err)
	}
	if len(l.replaces) == 0 {
		return nil
	}
	if err := l.withdraw(ctx); err != nil {
		return err
	}
	return s.bump(ctx, tx, d.Source)
}
