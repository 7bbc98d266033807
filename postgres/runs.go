package postgres

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"reconciler/reconcile"
	"reconciler/reports"
)

// Begin writes the run into the log of runs.
func (s *Store) Begin(ctx context.Context, run reconcile.Run) error {
	_, err := s.db.Exec(ctx, s.sql(`
		INSERT INTO {r}.runs (run_id, job, scope, started_at, version, config_digest) VALUES ($1, $2, $3, $4, $5, $6)`),
		run.ID, run.Job, run.Scope, run.At, run.Version, run.ConfigDigest)
	if err != nil {
		return fmt.Errorf("begin run %s: %w", run.ID, err)
	}
	return nil
}

// Finish closes the run with its verdict.
func (s *Store) Finish(ctx context.Context, run reconcile.Run, summary reports.Summary) error {
	encoded, err := json.Marshal(summary)
	if err != nil {
		return fmt.Errorf("encode the summary of run %s: %w", run.ID, err)
	}
	_, err = s.db.Exec(ctx, s.sql(`UPDATE {r}.runs SET finished_at = $2, verdict = $3, summary = $4 WHERE run_id = $1`),
		run.ID, summary.FinishedAt, summary.Verdict, encoded)
	if err != nil {
		return fmt.Errorf("finish run %s: %w", run.ID, err)
	}
	return nil
}

// defaultLockTTL is how long a lock outlives a holder that can't be asked; it
// is renewed three times as often.
const defaultLockTTL = 30 * time.Second

// Lock takes the job's lock or returns a *reconcile.LockedError. A holder that
// is known to be dead is replaced at once, any other once its lock expires.
func (s *Store) Lock(ctx context.Context, job, holder string, dead func(holder string) bool) (<-chan struct{}, func(), error) {
	token := rand.Text()
	for {
		got, err := s.tryLock(ctx, job, holder, token)
		if err != nil {
			return nil, nil, err
		}
		if got {
			break
		}
		other, theirs, err := s.holder(ctx, job)
		if err != nil {
			return nil, nil, err
		}
		if other == nil {
			continue
		}
		if !dead(other.Holder) {
			return nil, nil, other
		}
		if _, err := s.db.Exec(ctx, s.sql(`DELETE FROM {r}.job_locks WHERE job = $1 AND token = $2`), job, theirs); err != nil {
			return nil, nil, fmt.Errorf("take the lock of %s from a dead run: %w", job, err)
		}
	}
	lost, release := s.keep(ctx, job, token)
	return lost, release, nil
}

func (s *Store) tryLock(ctx context.Context, job, holder, token string) (bool, error) {
	tag, err := s.db.Exec(ctx, s.sql(`
		INSERT INTO {r}.job_locks AS l (job, holder, token, acquired_at, expires_at)
		VALUES ($1, $2, $3, clock_timestamp(), clock_timestamp() + $4 * interval '1 second')
		ON CONFLICT (job) DO UPDATE
		   SET holder = excluded.holder, token = excluded.token, acquired_at = excluded.acquired_at, expires_at = excluded.expires_at
		 WHERE l.expires_at < clock_timestamp()`), job, holder, token, s.lockTTL.Seconds())
	if err != nil {
		return false, fmt.Errorf("take the lock of %s: %w", job, err)
	}
	return tag.RowsAffected() == 1, nil
}

func (s *Store) holder(ctx context.Context, job string) (*reconcile.LockedError, string, error) {
	other := &reconcile.LockedError{Job: job}
	var token string
	err := s.db.QueryRow(ctx, s.sql(`SELECT holder, token, acquired_at, expires_at FROM {r}.job_locks WHERE job = $1`), job).
		Scan(&other.Holder, &token, &other.Since, &other.Expires)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("ask who holds the lock of %s: %w", job, err)
	}
	return other, token, nil
}

// keep renews the lock until it is released, and says when it is lost.
func (s *Store) keep(ctx context.Context, job, token string) (<-chan struct{}, func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	lost := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(s.lockTTL / 3)
		defer tick.Stop()
		failed := 0
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			tag, err := s.db.Exec(ctx, s.sql(`
				UPDATE {r}.job_locks SET expires_at = clock_timestamp() + $3 * interval '1 second' WHERE job = $1 AND token = $2`),
				job, token, s.lockTTL.Seconds())
			switch {
			case err != nil && ctx.Err() == nil:
				if failed++; failed < 2 {
					continue
				}
				close(lost)
				return
			case err == nil && tag.RowsAffected() == 0:
				close(lost)
				return
			}
			failed = 0
		}
	})
	return lost, func() {
		cancel()
		wg.Wait()
		out, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer stop()
		if _, err := s.db.Exec(out, s.sql(`DELETE FROM {r}.job_locks WHERE job = $1 AND token = $2`), job, token); err != nil {
			s.log.Warn("release the job's lock; it frees itself", "job", job, "error", err)
		}
	}
}
