package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"reconciler/reconcile"
	"reconciler/sources"
)

// Quarantine registers a document that can't be trusted. None of its records
// is stored; while it is the newest of its period, the older one proves no
// absence there.
func (s *Store) Quarantine(ctx context.Context, d reconcile.Document, rejects []sources.Reject, refusal *sources.Refusal) (reconcile.Registered, error) {
	reg := reconcile.Registered{State: "quarantined", Reason: refusal.Error()}
	err := s.inTx(ctx, func(tx pgx.Tx) error {
		l := &loading{s: s, tx: tx, doc: d}
		if err := l.lockSource(ctx); err != nil {
			return err
		}
		known, err := s.registered(ctx, tx, d.StatementID)
		if err != nil {
			return err
		}
		if known != nil {
			reg = *known
			return nil
		}
		firstSeen, err := s.firstSeen(ctx, tx, d)
		if err != nil {
			return err
		}
		if d.Period.IsZero() {
			if d.Period, err = s.periodUnder(ctx, tx, d); err != nil {
				return err
			}
		}
		asOf, err := s.asOf(ctx, tx, d, firstSeen)
		if err != nil {
			return err
		}
		lo, hi := bounds(d.Period)
		err = tx.QueryRow(ctx, s.sql(`
			INSERT INTO {r}.statements (source, account, accounts, name, version, sha256, size, format, mapping_digest,
			       state, complete, end_proof, period, as_of, reject_count, reason, run_id, first_seen_at, manifest_sha256)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'quarantined', false, 'unproven',
			       CASE WHEN $10::timestamptz IS NULL THEN NULL ELSE tstzrange($10, $11) END, $12, $13, $14, $15, $16, $17)
			RETURNING statement_id`),
			d.Source, account(d.Accounts), d.Accounts, d.Name, d.Version, d.SHA256, d.Size, d.Format, d.MappingDigest,
			lo, hi, asOf, len(rejects), reg.Reason, null(d.RunID), firstSeen, d.ManifestSHA256).Scan(&reg.ID)
		if err != nil {
			return fmt.Errorf("register %s in quarantine: %w", d.Name, err)
		}
		if err := s.putRejects(ctx, tx, reg.ID, rejects); err != nil {
			return err
		}
		// An earlier delivery in quarantine under this name is no longer the newest.
		if _, err := tx.Exec(ctx, s.sql(`
			UPDATE {r}.statements SET superseded_by = $1
			 WHERE source = $2 AND account = $3 AND name = $4 AND state = 'quarantined' AND superseded_by IS NULL
			   AND statement_id <> $1 AND period IS NOT DISTINCT FROM (SELECT period FROM {r}.statements WHERE statement_id = $1)`),
			reg.ID, d.Source, account(d.Accounts), d.Name); err != nil {
			return fmt.Errorf("replace the quarantined %s: %w", d.Name, err)
		}
		if err := s.outdated(ctx, tx, reg.ID); err != nil {
			return err
		}
		if err := s.requeueAbsences(ctx, tx, d.Source, d.Period); err != nil {
			return err
		}
		return s.bump(ctx, tx, d.Source)
	})
	if err != nil {
		return reconcile.Registered{}, fmt.Errorf("quarantine %s: %w", d.Name, err)
	}
	return reg, nil
}

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

// periodUnder is the period of the current statement under a document's name.
// A refused document that does not say its period is taken for a new version
// of what stood under its name: that one is no longer the newest word.
func (s *Store) periodUnder(ctx context.Context, tx pgx.Tx, d reconcile.Document) (sources.Period, error) {
	var period pgtype.Range[pgtype.Timestamptz]
	err := tx.QueryRow(ctx, s.sql(`
		SELECT period FROM {r}.statements
		 WHERE source = $1 AND account = $2 AND name = $3 AND state = 'accepted' AND superseded_by IS NULL AND period IS NOT NULL
		 ORDER BY statement_id DESC LIMIT 1`), d.Source, account(d.Accounts), d.Name).Scan(&period)
	if errors.Is(err, pgx.ErrNoRows) {
		return sources.Period{}, nil
	}
	if err != nil {
		return sources.Period{}, fmt.Errorf("look for the period of %s: %w", d.Name, err)
	}
	return periodOf(period), nil
}
