package postgres

import (
	"context"
	"time"

	"reconciler/matcher"
)

// SetLoadBatch makes loads work in batches of n rows.
func (s *Store) SetLoadBatch(n int) { s.loadBatch = n }

// SetLockTTL makes locks live for d.
func (s *Store) SetLockTTL(d time.Duration) { s.lockTTL = d }

// CoverageOfDecisions is the covered time as the decisions see it.
func (s *Store) CoverageOfDecisions(ctx context.Context) ([]matcher.SourceCoverage, error) {
	b := &batch{s: s}
	tx, err := s.db.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback(ctx) //nolint:errcheck // only read from
	b.tx = tx
	if err := b.readSources(ctx); err != nil {
		return nil, err
	}
	c, err := s.covered(ctx, tx, b.generations)
	if err != nil {
		return nil, err
	}
	return c.coverage, nil
}
