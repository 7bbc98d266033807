package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"reconciler/sources"
)

// Delivered reads, by account, the time of which current statements of a
// source speak, whether or not they are complete: what has been delivered at
// all. What is in quarantine has not.
func (s *Store) Delivered(ctx context.Context, source string) (map[string]sources.Ranges, error) {
	rows, err := s.db.Query(ctx, s.sql(`
		SELECT a.account, range_agg(st.period)
		  FROM {r}.statements st CROSS JOIN unnest(st.accounts) AS a(account)
		 WHERE st.source = $1 AND st.state = 'accepted' AND st.superseded_by IS NULL AND st.period IS NOT NULL
		 GROUP BY a.account`), source)
	if err != nil {
		return nil, fmt.Errorf("read what %s has delivered: %w", source, err)
	}
	out := map[string]sources.Ranges{}
	var acc string
	var ranges pgtype.Multirange[pgtype.Range[pgtype.Timestamptz]]
	if _, err := pgx.ForEachRow(rows, []any{&acc, &ranges}, func() error {
		var periods []sources.Period
		for _, r := range ranges {
			periods = append(periods, periodOf(r))
		}
		out[acc] = sources.NewRanges(periods...)
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read what %s has delivered: %w", source, err)
	}
	return out, nil
}
