package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// outdated marks a delivery in quarantine that is not the newest word on its
// period: an accepted statement under another name is as new, and goes on to
// prove. Whichever of the two came first, the end is the same.
func (s *Store) outdated(ctx context.Context, tx pgx.Tx, id int64) error {
	_, err := tx.Exec(ctx, s.sql(`
		UPDATE {r}.statements q SET superseded_by = st.statement_id
		  FROM {r}.statements st
		 WHERE q.statement_id = $1 AND st.source = q.source AND st.account = q.account AND st.period = q.period
		   AND st.state = 'accepted' AND st.superseded_by IS NULL AND st.handled_by IS NULL AND st.name <> q.name AND st.as_of >= q.as_of`), id)
	if err != nil {
		return fmt.Errorf("look for a newer version of statement %d: %w", id, err)
	}
	return nil
}
