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
	cfg.AfterConnect = noticeDeath
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

// noticeDeath asks the server to look every two seconds whether its client
// still lives, where it can: else a query of a program that was killed goes on,
// with its locks, until it has something to say.
func noticeDeath(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, `SELECT set_config(name, '2s', false) FROM pg_settings WHERE name = 'client_connection_check_interval'`)
	if err != nil {
		return fmt.Errorf("prepare the connection: %w", err)
	}
	return nil
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
