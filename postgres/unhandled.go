package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Unhandled counts, by action type, the operations on the list of work of
// which the given action types know nothing: no job looks at them. The empty
// name stands for operations without an action type.
func (s *Store) Unhandled(ctx context.Context, actionTypes []string) (map[string]int64, error) {
	rows, err := s.db.Query(ctx, s.sql(`
		SELECT coalesce(o.action_type, ''), count(DISTINCT o.idempotency_key)
		  FROM {j}.agent_operation_changes c JOIN {j}.agent_operations o USING (idempotency_key)
		 WHERE coalesce(o.action_type, '') <> ALL($1) AND o.status NOT IN ('succeeded', 'failed_final')
		 GROUP BY 1`), actionTypes)
	if err != nil {
		return nil, fmt.Errorf("look for operations that no job handles: %w", err)
	}
	out := map[string]int64{}
	var action string
	var n int64
	if _, err := pgx.ForEachRow(rows, []any{&action, &n}, func() error {
		out[action] = n
		return nil
	}); err != nil {
		return nil, fmt.Errorf("look for operations that no job handles: %w", err)
	}
	return out, nil
}
