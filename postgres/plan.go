package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// The two ways in which the rows in hand meet a table. The planner is told
// which, because it can't know: right after a load, or after one that was
// killed, its statistics speak of an empty table, and a plan for an empty table
// never ends on a full one.
const (
	// byIndex: few rows in hand, each looked up by an index.
	byIndex = `SELECT set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
		set_config('enable_mergejoin', 'off', true), set_config('enable_nestloop', 'on', true)`
	// byHash: many rows on both sides, each side read once.
	byHash = `SELECT set_config('enable_seqscan', 'on', true), set_config('enable_hashjoin', 'on', true),
		set_config('enable_mergejoin', 'on', true), set_config('enable_nestloop', 'off', true)`
)

// planBy tells the planner, for the rest of the transaction, how to join.
func planBy(ctx context.Context, tx pgx.Tx, how string) error {
	if _, err := tx.Exec(ctx, how); err != nil {
		return fmt.Errorf("tell the planner how to join: %w", err)
	}
	return nil
}
