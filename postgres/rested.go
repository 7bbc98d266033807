package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"reconciler/reconcile"
)

// Rested is an operation that a record, or an earlier version of it, belongs to.
type Rested struct {
	RecordKey      string
	IdempotencyKey string
	Status         string
	// ReasonCode of the last conclusion, if it still holds.
	ReasonCode string
}

// restedChunk is how many records are asked for at a time.
const restedChunk = 10_000

// RestedOn finds the operations that own any of the records, in any version.
func (s *Store) RestedOn(ctx context.Context, source, provider string, records []reconcile.RecordName) ([]Rested, error) {
	var h hasher
	var out []Rested
	for chunk := range slices.Chunk(records, restedChunk) {
		ids, keys := make([]int64, len(chunk)), make([]int64, len(chunk))
		for i, r := range chunk {
			keys[i] = h.sum(hashRecord, source, r.Key)
			if r.ProviderOperationID != "" {
				ids[i] = h.sum(hashProviderID, provider, r.ProviderOperationID)
			} else {
				ids[i] = h.sum(hashContent, source, r.Key)
			}
		}
		rows, err := s.db.Query(ctx, s.sql(`
			WITH k AS (SELECT * FROM unnest($1::bigint[], $2::bigint[]) AS k(id_hash, key_hash)),
			owned AS (
				SELECT r.record_key, r.owner_key FROM k JOIN {r}.records r USING (id_hash, key_hash)
				 WHERE r.source = $3 AND r.owner_key IS NOT NULL
				UNION
				SELECT v.record_key, v.owner_key FROM k JOIN {r}.record_versions v USING (id_hash, key_hash)
				 WHERE v.source = $3 AND v.owner_key IS NOT NULL)
			SELECT owned.record_key, o.idempotency_key, o.status, o.reason_code
			  FROM owned JOIN {r}.operation_status o ON o.idempotency_key = owned.owner_key
			 ORDER BY o.idempotency_key, owned.record_key`), ids, keys, source)
		if err != nil {
			return nil, fmt.Errorf("look for operations that rest on records: %w", err)
		}
		found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Rested])
		if err != nil {
			return nil, fmt.Errorf("look for operations that rest on records: %w", err)
		}
		out = append(out, found...)
	}
	return out, nil
}

// AbsencesOn counts the operations whose absence was proven by a statement.
func (s *Store) AbsencesOn(ctx context.Context, id int64) (int64, error) {
	var n int64
	if err := s.db.QueryRow(ctx, s.sql(`SELECT count(*) FROM {r}.absence_proofs WHERE statement_id = $1`), id).Scan(&n); err != nil {
		return 0, fmt.Errorf("count the absences that rest on statement %d: %w", id, err)
	}
	return n, nil
}
