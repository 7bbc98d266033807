package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"reconciler/sources"
)

// replaced is a statement in whose place another one comes.
type replaced struct {
	id     int64
	period sources.Period
}

// inPlaceOf reports that this statement comes in the place of another.
func (l *loading) inPlaceOf(statement int64) bool {
	return slices.ContainsFunc(l.replaces, func(r replaced) bool { return r.id == statement })
}

// findPrevious finds the statements in whose place this one comes, or the one
// that is newer than it. A released one is no version of its period: it is
// replaced by what is as new, or bears its name, or has its bytes.
func (l *loading) findPrevious(ctx context.Context) error {
	d := &l.doc
	lo, hi := bounds(d.Period)
	rows, err := l.tx.Query(ctx, l.s.sql(`
		SELECT statement_id, period, period IS NOT DISTINCT FROM tstzrange($3, $4) AND $3 IS NOT NULL,
		       as_of > $5 AND sha256 <> $6, handled_by IS NOT NULL, name = $7
		  FROM {r}.statements
		 WHERE source = $1 AND account = $2 AND state = 'accepted' AND superseded_by IS NULL AND statement_id <> $9
		   AND (period = tstzrange($3, $4) OR name = $7 AND (sha256 = $6 AND mapping_digest <> $8 OR period IS NULL AND handled_by IS NOT NULL))
		 ORDER BY statement_id`),
		d.Source, account(d.Accounts), lo, hi, l.asOf, d.SHA256, d.Name, d.MappingDigest, l.out.ID)
	if err != nil {
		return fmt.Errorf("look for an earlier version of %s: %w", d.Name, err)
	}
	var id int64
	var period pgtype.Range[pgtype.Timestamptz]
	var samePeriod, later, released, sameName bool
	if _, err := pgx.ForEachRow(rows, []any{&id, &period, &samePeriod, &later, &released, &sameName}, func() error {
		old := replaced{id: id}
		if period.Valid {
			old.period = periodOf(period)
		}
		switch {
		case samePeriod && later && !released:
			l.newer = id
		case !samePeriod || !later || sameName:
			l.replaces = append(l.replaces, old)
		}
		return nil
	}); err != nil {
		return fmt.Errorf("look for an earlier version of %s: %w", d.Name, err)
	}
	if l.newer != 0 {
		l.replaces = nil
	}
	return nil
}
