package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"reconciler/reconcile"
)

const keptColumns = `statement_id, source, accounts, name, version, sha256, size, state, period, as_of, mapping_digest,
	manifest_sha256, coalesce(superseded_by, 0)`

// Kept reads what it takes to read a statement again. The error is
// ErrNoStatement if there is none.
func (s *Store) Kept(ctx context.Context, id int64) (reconcile.Kept, error) {
	list, err := s.readKept(ctx, `statement_id = $1`, id)
	if err == nil && len(list) == 0 {
		err = ErrNoStatement
	}
	if err != nil {
		return reconcile.Kept{}, fmt.Errorf("read statement %d: %w", id, err)
	}
	return list[0], nil
}

// Current reads the statements of a source that nothing has replaced, those in
// quarantine included, the oldest first.
func (s *Store) Current(ctx context.Context, source string) ([]reconcile.Kept, error) {
	list, err := s.readKept(ctx, `source = $1 AND superseded_by IS NULL`, source)
	if err != nil {
		return nil, fmt.Errorf("read the statements of %s: %w", source, err)
	}
	return list, nil
}

// Before finds the statement with which another is best compared: the one in
// whose place it came, or else the current one of its account and period. 0 if
// there is none.
func (s *Store) Before(ctx context.Context, id int64) (int64, error) {
	var before int64
	err := s.db.QueryRow(ctx, s.sql(`
		SELECT coalesce(
		       (SELECT old.statement_id FROM {r}.statements old
		         WHERE old.superseded_by = st.statement_id AND old.statement_id <> st.statement_id
		         ORDER BY old.state = 'superseded' DESC, old.as_of DESC, old.statement_id DESC LIMIT 1),
		       (SELECT other.statement_id FROM {r}.statements other
		         WHERE other.source = st.source AND other.account = st.account AND other.period = st.period
		           AND other.statement_id <> st.statement_id AND other.state = 'accepted'
		         ORDER BY other.as_of DESC, other.statement_id DESC LIMIT 1), 0)
		  FROM {r}.statements st WHERE st.statement_id = $1`), id).Scan(&before)
	if err != nil {
		return 0, fmt.Errorf("look for a version before statement %d: %w", id, err)
	}
	return before, nil
}

func (s *Store) readKept(ctx context.Context, which string, args ...any) ([]reconcile.Kept, error) {
	rows, err := s.db.Query(ctx, s.sql(`SELECT `+keptColumns+` FROM {r}.statements WHERE `+which+` ORDER BY statement_id`), args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (reconcile.Kept, error) {
		var k reconcile.Kept
		var period pgtype.Range[pgtype.Timestamptz]
		err := row.Scan(&k.ID, &k.Source, &k.Accounts, &k.Name, &k.Version, &k.SHA256, &k.Size, &k.State, &period, &k.AsOf,
			&k.MappingDigest, &k.ManifestSHA256, &k.ReplacedBy)
		if period.Valid {
			k.Period = periodOf(period)
		}
		k.AsOf = k.AsOf.UTC()
		return k, err
	})
}
