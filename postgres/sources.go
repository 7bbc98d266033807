package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"reconciler/matcher"
	"reconciler/reconcile"
	"reconciler/sources"
)

// PutSource makes the source known and brings its rules up to date. A changed
// rule changes what is covered, so it raises the generation.
func (s *Store) PutSource(ctx context.Context, src matcher.SourceRule) error {
	// Records are found by their provider: under another one they would be
	// there and not be seen.
	var provider string
	err := s.db.QueryRow(ctx, s.sql(`
		SELECT src.provider FROM {r}.sources src
		 WHERE src.source = $1 AND src.provider <> $2 AND EXISTS (SELECT 1 FROM {r}.statements st WHERE st.source = src.source)`),
		src.Name, src.Provider).Scan(&provider)
	switch {
	case err == nil:
		return fmt.Errorf("source %s: its statements are of provider %s, and can't become those of %s: give it its provider back, or configure the new one as a source of another name",
			src.Name, provider, src.Provider)
	case !errors.Is(err, pgx.ErrNoRows):
		return fmt.Errorf("register source %s: %w", src.Name, err)
	}
	_, err = s.db.Exec(ctx, s.sql(`
		INSERT INTO {r}.sources AS s (source, provider, accounts, dated_by, settlement_lag, retention)
		VALUES ($1, $2, $3, $4, make_interval(secs => $5), CASE WHEN $6 > 0 THEN make_interval(secs => $6) END)
		ON CONFLICT (source) DO UPDATE
		   SET provider = excluded.provider, accounts = excluded.accounts, dated_by = excluded.dated_by,
		       settlement_lag = excluded.settlement_lag, retention = excluded.retention,
		       generation = s.generation + 1
		 WHERE (s.provider, s.accounts, s.dated_by, s.settlement_lag, s.retention)
		    IS DISTINCT FROM (excluded.provider, excluded.accounts, excluded.dated_by, excluded.settlement_lag, excluded.retention)`),
		src.Name, src.Provider, src.Accounts, string(src.DatedBy), int64((src.SettlementLag+time.Second-1)/time.Second), int64(src.Retention.Seconds()))
	if err != nil {
		return fmt.Errorf("register source %s: %w", src.Name, err)
	}
	return nil
}

// account is the text under which a statement of these accounts is filed.
func account(accounts []string) string {
	out := ""
	for i, a := range accounts {
		if i > 0 {
			out += ","
		}
		out += a
	}
	return out
}

// Known finds a statement that was registered from the same bytes under the
// same mapping for the same period; nil if there is none. Bytes that have been
// read under another mapping since are not known: a mapping that is changed
// and changed back is to be read by again.
func (s *Store) Known(ctx context.Context, id reconcile.StatementID) (*reconcile.Registered, error) {
	reg, err := s.registered(ctx, s.db, id)
	if err != nil {
		return nil, fmt.Errorf("look up statement %s of %s: %w", id.SHA256, id.Source, err)
	}
	return reg, nil
}

// Redelivered says that a known statement has come again under a name: what
// stood there in quarantine is no longer delivered, and casts no doubt on it.
func (s *Store) Redelivered(ctx context.Context, d reconcile.Document, known reconcile.Registered) error {
	if known.State != "accepted" {
		return nil
	}
	err := s.inTx(ctx, func(tx pgx.Tx) error {
		if err := s.putBack(ctx, tx, d, known.ID); err != nil {
			return err
		}
		lo, hi := bounds(d.Period)
		tag, err := tx.Exec(ctx, s.sql(`
			UPDATE {r}.statements SET superseded_by = $1
			 WHERE source = $2 AND account = $3 AND name = $4 AND state = 'quarantined' AND superseded_by IS NULL
			   AND ($7 OR period IS NULL OR period = tstzrange($5, $6))`),
			known.ID, d.Source, account(d.Accounts), d.Name, lo, hi, d.AnyPeriod)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		return s.bump(ctx, tx, d.Source)
	})
	if err != nil {
		return fmt.Errorf("close the quarantine of %s: %w", d.Name, err)
	}
	return nil
}

func (s *Store) registered(ctx context.Context, db rowQuerier, id reconcile.StatementID) (*reconcile.Registered, error) {
	lo, hi := bounds(id.Period)
	row := db.QueryRow(ctx, s.sql(`
		SELECT statement_id, state, complete, reason, reject_count
		  FROM {r}.statements
		 WHERE mapping_digest = $3 AND statement_id = (
		       SELECT max(statement_id) FROM {r}.statements
		        WHERE source = $1 AND sha256 = $2 AND account = $4
		          AND ($7 OR (period IS NULL AND $5::timestamptz IS NULL) OR period = tstzrange($5, $6)))`),
		id.Source, id.SHA256, id.MappingDigest, account(id.Accounts), lo, hi, id.AnyPeriod)
	return oneRegistered(row)
}

func bounds(p sources.Period) (lo, hi any) {
	if p.IsZero() {
		return nil, nil
	}
	return p.From, p.To
}
