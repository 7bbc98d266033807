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
	"github.com/jackc/pgx/v5/pgxpool"

	"reconciler/reconcile"
	"reconciler/reports"
)

// Begin writes the run into the log of runs.
func (s *Store) Begin(ctx context.Context, run reconcile.Run) error {
	_, err := s.db.Exec(ctx, s.sql(`
		INSERT INTO {r}.runs (run_id, job, scope, started_at, version, config_digest) VALUES ($1, $2, $3, $4, $5, $6)`),
		run.ID, run.Job, string(run.Scope), run.At, run.Version, run.ConfigDigest)
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
		run.ID, summary.FinishedAt, summary.Verdict, string(encoded))
	if err != nil {
		return fmt.Errorf("finish run %s: %w", run.ID, err)
	}
	return nil
}

// defaultLockTTL is how long a lock outlives a holder that can't be asked.
const defaultLockTTL = 30 * time.Second

// renewals is how often within its life a lock is renewed.
const renewals = 6

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

// keep renews the lock until it is released, and says when it is lost: when
// somebody else has it, or when it can't be renewed before it expires.
func (s *Store) keep(ctx context.Context, job, token string) (<-chan struct{}, func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	lost := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		if !s.renew(ctx, job, token) {
			close(lost)
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

// renew keeps the lock alive until ctx ends; false means that it is lost. It
// uses a connection of its own: a long load may hold the last of the pool.
func (s *Store) renew(ctx context.Context, job, token string) bool {
	tick := time.NewTicker(s.lockTTL / renewals)
	defer tick.Stop()
	var own renewer
	defer own.close(context.WithoutCancel(ctx))
	// The database's clock began before ours, by at most one attempt's length.
	life := s.lockTTL - s.lockTTL/renewals
	expires := time.NewTimer(life)
	defer expires.Stop()
	for {
		select {
		case <-ctx.Done():
			return true
		case <-expires.C:
			return false
		case <-tick.C:
		}
		began, stop := context.WithTimeout(ctx, s.lockTTL/renewals)
		held, err := own.renew(began, s, job, token)
		stop()
		switch {
		case ctx.Err() != nil:
			return true
		case err != nil:
			s.log.Warn("renew the job's lock; trying again", "job", job, "error", err)
			own.close(ctx)
		case !held:
			return false
		default:
			expires.Reset(life)
		}
	}
}

// renewer is the connection over which a lock is renewed, opened when it is
// first needed; a short run needs none.
type renewer struct{ conn *pgx.Conn }

func (r *renewer) renew(ctx context.Context, s *Store, job, token string) (held bool, err error) {
	db := s.db
	if pool, ok := s.db.(*pgxpool.Pool); ok {
		if r.conn == nil {
			if r.conn, err = pgx.ConnectConfig(ctx, pool.Config().ConnConfig.Copy()); err != nil {
				return false, fmt.Errorf("connect to renew the lock: %w", err)
			}
		}
		db = r.conn
	}
	tag, err := db.Exec(ctx, s.sql(`
		UPDATE {r}.job_locks SET expires_at = clock_timestamp() + $3 * interval '1 second' WHERE job = $1 AND token = $2`),
		job, token, s.lockTTL.Seconds())
	if err != nil {
		return false, fmt.Errorf("renew the lock of %s: %w", job, err)
	}
	return tag.RowsAffected() == 1, nil
}

func (r *renewer) close(ctx context.Context) {
	if r.conn == nil {
		return
	}
	ctx, stop := context.WithTimeout(ctx, time.Second)
	defer stop()
	r.conn.Close(ctx) //nolint:errcheck,gosec // nothing is left to be done on it
	r.conn = nil
}
