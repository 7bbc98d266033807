package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// How the rows in hand meet a table. Where both sides are large the planner is
// told so, because it can't know: right after a load, or after one that was
// killed, its statistics speak of an empty table, and a plan for an empty
// table never ends on a full one.
const (
	// byHash: each side is read once.
	byHash = `SELECT set_config('enable_nestloop', 'off', true)`
	// byAny: as the planner likes.
	byAny = `SELECT set_config('enable_nestloop', 'on', true)`
)

// planBy tells the planner, for the rest of the transaction, how to join.
func planBy(ctx context.Context, tx pgx.Tx, how string) error {
	if _, err := tx.Exec(ctx, how); err != nil {
		return fmt.Errorf("tell the planner how to join: %w", err)
	}
	return nil
}
