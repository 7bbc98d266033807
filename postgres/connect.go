package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// acquireTimeout bounds the wait for a connection, so that a fault shows as an
// error and not as a hang.
const acquireTimeout = 30 * time.Second

// Connect opens a pool on the database at url. Behind a proxy that pools by
// transaction, add default_query_exec_mode=exec to the url. A database that
// can't be opened is an [UnreachableError].
func Connect(ctx context.Context, url string) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("read database.url: %w", err)
	}
	cfg.ConnConfig.ConnectTimeout = acquireTimeout
	if cfg.ConnConfig.RuntimeParams["application_name"] == "" {
		cfg.ConnConfig.RuntimeParams["application_name"] = "reconciler"
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("connect: %w", unreachable(err))
	}
	return pool, nil
}

// UpToDate reports that the database at url has both schemas as this version
// of the program needs them.
func UpToDate(ctx context.Context, url string, s Schemas) (current bool, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return false, fmt.Errorf("connect: %w", unreachable(err))
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	sets, err := s.sets()
	if err != nil {
		return false, err
	}
	return isCurrent(ctx, conn, sets)
}
