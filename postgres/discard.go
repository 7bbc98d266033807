package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// ErrNotQuarantined says that a statement is not in quarantine, or no longer.
var ErrNotQuarantined = errors.New("the statement is not in quarantine")

// Discard takes a document out of quarantine that is no statement of its
// source at all (the wrong file, a name that did not fit): a person says so,
// with the reason, and both stay with it. Nothing of it counts, as before; but
// it no longer casts doubt on other statements.
func (s *Store) Discard(ctx context.Context, id int64, actor, why string, at time.Time) error {
	err := s.inTx(ctx, func(tx pgx.Tx) error {
		var source string
		var period pgtype.Range[pgtype.Timestamptz]
		err := tx.QueryRow(ctx, s.sql(`SELECT source, period FROM {r}.statements WHERE statement_id = $1`), id).Scan(&source, &period)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrNoStatement
		}
		if err != nil {
			return fmt.Errorf("read it: %w", err)
		}
		if _, err := tx.Exec(ctx, s.sql(`SELECT 1 FROM {r}.sources WHERE source = $1 FOR UPDATE`), source); err != nil {
			return fmt.Errorf("lock source %s: %w", source, err)
		}
		tag, err := tx.Exec(ctx, s.sql(`
			UPDATE {r}.statements
			   SET superseded_by = statement_id, handled_by = $2, handled_at = $3,
			       reason = reason || '; discarded by ' || $2 || ': ' || $4
			 WHERE statement_id = $1 AND state = 'quarantined' AND superseded_by IS NULL`), id, actor, at, why)
		if err != nil {
			return fmt.Errorf("mark it: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return ErrNotQuarantined
		}
		return s.bump(ctx, tx, source)
	})
	if err != nil {
		return fmt.Errorf("discard statement %d: %w", id, err)
	}
	return nil
}
