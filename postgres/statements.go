package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"reconciler/reports"
	"reconciler/sources"
)

// ErrNoStatement says that there is no statement under this number.
var ErrNoStatement = errors.New("no such statement")

// StatementDetails is everything that is kept about one registered statement.
type StatementDetails struct {
	reports.Statement
	Accounts      []string
	Version       string
	Size          int64
	Format        string
	MappingDigest string
	// AsOfStated: the provider states as_of itself.
	AsOfStated bool
	// Rows = records + rejects + skipped. Stored are the rows that this
	// statement brought; the others were known already.
	Rows, Skipped, Stored int64
	Declared, Computed    sources.Controls
	// SupersededBy is 0 while it is current. Supersedes are the statements in
	// whose place this one came.
	SupersededBy int64
	Supersedes   []int64
	RunID        string
	FirstSeenAt  time.Time
	// AcceptedAt is zero for one that was never accepted.
	AcceptedAt time.Time
}

// StatementByID reads one statement, with at most so many of its rejects. The
// error is ErrNoStatement if there is none.
func (s *Store) StatementByID(ctx context.Context, id int64, rejects int) (StatementDetails, error) {
	st, err := s.readStatement(ctx, id, rejects)
	if err != nil {
		return st, fmt.Errorf("read statement %d: %w", id, err)
	}
	return st, nil
}

func (s *Store) readStatement(ctx context.Context, id int64, rejects int) (StatementDetails, error) {
	var st StatementDetails
	list, err := s.ListStatements(ctx, StatementFilter{ID: id, Limit: 1})
	if err != nil {
		return st, err
	}
	if len(list) == 0 || id <= 0 {
		return st, ErrNoStatement
	}
	st.Statement = list[0]
	var supersededBy *int64
	var run *string
	var accepted *time.Time
	err = s.db.QueryRow(ctx, s.sql(`
		SELECT accounts, version, size, format, mapping_digest, as_of_stated, row_count, skipped_count, stored_count, declared, computed,
		       superseded_by, run_id, first_seen_at, accepted_at,
		       ARRAY(SELECT old.statement_id FROM {r}.statements old WHERE old.source = st.source AND old.superseded_by = st.statement_id ORDER BY 1)
		  FROM {r}.statements st WHERE statement_id = $1`), id).
		Scan(&st.Accounts, &st.Version, &st.Size, &st.Format, &st.MappingDigest, &st.AsOfStated, &st.Rows, &st.Skipped, &st.Stored,
			&st.Declared, &st.Computed, &supersededBy, &run, &st.FirstSeenAt, &accepted, &st.Supersedes)
	if err != nil {
		return st, err
	}
	if supersededBy != nil {
		st.SupersededBy = *supersededBy
	}
	st.RunID, st.FirstSeenAt, st.AcceptedAt = text(run), st.FirstSeenAt.UTC(), instant(accepted)
	st.Rejects, err = s.someRejects(ctx, id, rejects)
	return st, err
}

func (s *Store) someRejects(ctx context.Context, id int64, limit int) ([]reports.Reject, error) {
	rows, err := s.db.Query(ctx, s.sql(`SELECT line, field, reason FROM {r}.rejects WHERE statement_id = $1 ORDER BY line, field LIMIT $2`), id, limit)
	if err != nil {
		return nil, fmt.Errorf("read its rejects: %w", err)
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (reports.Reject, error) {
		var r reports.Reject
		err := row.Scan(&r.Line, &r.Field, &r.Reason)
		return r, err
	})
	if err != nil {
		return nil, fmt.Errorf("read its rejects: %w", err)
	}
	return out, nil
}
