package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"reconciler/journal"
	"reconciler/reconcile"
	"reconciler/sources"
)

// prepareChunk is how many operations are folded at a time.
const prepareChunk = 10_000

// Prepare brings the folded references of operations up to date for the
// sources that declare a folding: of the operations on the list of work, or of
// the whole journal where a folding is new. Without foldings it does nothing.
func (s *Store) Prepare(ctx context.Context, scope reconcile.Scope) error {
	if len(scope.Folds) == 0 {
		return nil
	}
	p := preparing{s: s, fresh: map[string]*sources.Folder{}, known: map[string]*sources.Folder{}}
	for source, fold := range scope.Folds {
		folder, err := sources.NewFolder(fold)
		if err != nil {
			return fmt.Errorf("folding of %s: %w", source, err)
		}
		var digest string
		if err := s.db.QueryRow(ctx, s.sql(`SELECT fold_digest FROM {r}.sources WHERE source = $1`), source).Scan(&digest); err != nil {
			return fmt.Errorf("read the folding of %s: %w", source, err)
		}
		if digest == foldName(source, fold) {
			p.known[source] = folder
		} else {
			p.fresh[source] = folder
		}
	}
	if err := p.fold(ctx, p.fresh, `TRUE`); err != nil {
		return err
	}
	for source := range p.fresh {
		if _, err := s.db.Exec(ctx, s.sql(`UPDATE {r}.sources SET fold_digest = $2 WHERE source = $1`), source, foldName(source, scope.Folds[source])); err != nil {
			return fmt.Errorf("note the folding of %s: %w", source, err)
		}
	}
	return p.fold(ctx, p.known, `EXISTS (SELECT 1 FROM {j}.agent_operation_changes c WHERE c.idempotency_key = o.idempotency_key)`)
}

type preparing struct {
	s            *Store
	fresh, known map[string]*sources.Folder
	h            hasher
}

// fold walks through the operations that hold the condition, in order of
// their keys, and stores their folded forms.
func (p *preparing) fold(ctx context.Context, folders map[string]*sources.Folder, condition string) error {
	if len(folders) == 0 {
		return nil
	}
	after := ""
	for {
		rows, err := p.s.db.Query(ctx, p.s.sql(`
			SELECT o.idempotency_key, o.business_reference FROM {j}.agent_operations o
			 WHERE o.idempotency_key > $1 AND `+condition+` ORDER BY o.idempotency_key LIMIT $2`), after, prepareChunk)
		if err != nil {
			return fmt.Errorf("read references to fold: %w", err)
		}
		ops, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (journal.Operation, error) {
			var op journal.Operation
			var reference *string
			err := row.Scan(&op.IdempotencyKey, &reference)
			op.BusinessReference = text(reference)
			return op, err
		})
		if err != nil {
			return fmt.Errorf("read references to fold: %w", err)
		}
		if len(ops) == 0 {
			return nil
		}
		after = ops[len(ops)-1].IdempotencyKey
		if err := p.put(ctx, ops, folders); err != nil {
			return err
		}
		if len(ops) < prepareChunk {
			return nil
		}
	}
}

func (p *preparing) put(ctx context.Context, ops []journal.Operation, folders map[string]*sources.Folder) error {
	var hashes []int64
	var keys []string
	for _, op := range ops {
		for source, folder := range folders {
			for _, form := range folder.Ours(op.Reference()) {
				hashes = append(hashes, p.h.sum(hashFolded, source, form))
				keys = append(keys, op.IdempotencyKey)
			}
		}
	}
	_, err := p.s.db.Exec(ctx, p.s.sql(`
		INSERT INTO {r}.operation_lookups (hash, idempotency_key) SELECT * FROM unnest($1::bigint[], $2::text[])
		ON CONFLICT DO NOTHING`), hashes, keys)
	if err != nil {
		return fmt.Errorf("store folded references: %w", err)
	}
	return nil
}
