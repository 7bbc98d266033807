package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"reconciler/reconcile"
)

// Querier is what the store needs of a pool or of a transaction. Begin on a
// transaction is a savepoint, so that a whole run can be rolled back.
type Querier interface {
	Begin(ctx context.Context) (pgx.Tx, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// Store is the database as the program uses it.
type Store struct {
	db     Querier
	names  *strings.Replacer
	schema Schemas
	log    *slog.Logger
	// rehearsal: the store lives in a transaction that will be rolled back.
	rehearsal bool
	// loadBatch is how many rows are sorted, compared with what is known, and
	// copied at a time. It sets the resident memory of a load.
	loadBatch int
	// lockTTL is how long a job's lock outlives a holder that can't be asked.
	lockTTL time.Duration

	mu       sync.Mutex
	coverage *coverageCache
	recounts map[int64]bool
}

var _ reconcile.Store = (*Store)(nil)

// NewStore returns a store on a pool (or a transaction), whose schemas have
// been migrated.
func NewStore(db Querier, schemas Schemas, log *slog.Logger) *Store {
	return &Store{
		db: db, schema: schemas, log: log, loadBatch: defaultLoadBatch, lockTTL: defaultLockTTL,
		names: strings.NewReplacer(
			"{j}", pgx.Identifier{schemas.Journal}.Sanitize(),
			"{r}", pgx.Identifier{schemas.Reconciler}.Sanitize()),
		recounts: map[int64]bool{},
	}
}

// sql puts the configured schemas into a statement: {j} the journal's, {r} ours.
func (s *Store) sql(text string) string { return s.names.Replace(text) }

// inTx runs f in one transaction and commits it.
func (s *Store) inTx(ctx context.Context, f func(tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, s.db, f)
}

// conflictTries is how often a transaction is tried that others stand in the
// way of.
const conflictTries = 4

// inRepeatedTx runs f as inTx does, and again where the database ended the
// transaction in favour of another (a deadlock): f must begin anew each time.
func (s *Store) inRepeatedTx(ctx context.Context, f func(tx pgx.Tx) error) error {
	for try := 1; ; try++ {
		err := s.inTx(ctx, f)
		var pgErr *pgconn.PgError
		ended := errors.As(err, &pgErr) && (pgErr.Code == pgDeadlock || pgErr.Code == pgSerialization)
		if !ended || s.rehearsal || try == conflictTries {
			return err
		}
		s.log.Info("another transaction stood in the way, trying again", "error", err)
	}
}

// The codes of PostgreSQL for a transaction that gave way to another.
const (
	pgDeadlock      = "40P01"
	pgSerialization = "40001"
)

// Rehearse runs f on a store in which nothing outlives f: everything that f
// does is rolled back at its end.
func (s *Store) Rehearse(ctx context.Context, f func(*Store) error) error {
	tx, err := s.db.Begin(ctx)
	if err != nil {
		return fmt.Errorf("begin a rehearsal: %w", err)
	}
	inner := NewStore(tx, s.schema, s.log)
	inner.rehearsal, inner.loadBatch = true, s.loadBatch
	err = f(inner)
	back := tx.Rollback(context.WithoutCancel(ctx))
	if errors.Is(back, pgx.ErrTxClosed) {
		back = nil
	}
	return errors.Join(err, back)
}

// Now is the database's clock.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	var now time.Time
	if err := s.db.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now); err != nil {
		return now, fmt.Errorf("read the database's clock: %w", err)
	}
	return now.UTC().Truncate(time.Microsecond), nil
}

// null turns the empty text into SQL NULL.
func null(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// nullTime turns the zero time into SQL NULL.
func nullTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// text turns SQL NULL into the empty text.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// instant turns SQL NULL into the zero time, and brings the rest to UTC.
func instant(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}
