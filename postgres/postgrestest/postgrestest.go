// Package postgrestest gives each test a PostgreSQL database of its own, on a
// real server that the test binary starts when the first test asks for it. It
// is imported by tests only. A machine without PostgreSQL fails the tests: a
// skipped test proves nothing.
package postgrestest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"reconciler/postgres"
	"reconciler/postgres/private"
)

// template is the migrated database of which each test gets a copy.
const template = "reconciler_template"

// host is the one server of this test binary.
type host struct {
	start    sync.Once
	template sync.Once
	server   *private.Server
	startErr error
	makeErr  error
	last     atomic.Int64
}

//nolint:gochecknoglobals // one server serves all tests of a binary
var shared host

// Run runs the tests of a package and stops the server, if one was started:
//
//	func TestMain(m *testing.M) { os.Exit(postgrestest.Run(m)) }
//
// A package without it, or one whose tests crash, leaves the server to its
// watchdog, which stops and removes it too.
func Run(m *testing.M) int {
	code := m.Run()
	if shared.server == nil {
		return code
	}
	if err := shared.server.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stop the test database:", err)
		return max(code, 1)
	}
	return code
}

// New returns the URL of a fresh database with both schemas migrated, under
// their default names. It is dropped when the test ends.
func New(tb testing.TB) string {
	tb.Helper()
	srv := server(tb)
	shared.template.Do(func() {
		ctx := context.Background()
		if shared.makeErr = srv.CreateDatabase(ctx, template); shared.makeErr == nil {
			shared.makeErr = postgres.Migrate(ctx, srv.URL(template), postgres.DefaultSchemas())
		}
	})
	if shared.makeErr != nil {
		tb.Fatalf("make the template database: %v", shared.makeErr)
	}
	return create(tb, template)
}

// Empty returns the URL of a fresh database without any schema of ours. It is
// dropped when the test ends.
func Empty(tb testing.TB) string {
	tb.Helper()
	server(tb)
	return create(tb, "template1")
}

// Connect opens a connection to the database at url and closes it when the
// test ends.
func Connect(tb testing.TB, url string) *pgx.Conn {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), url)
	if err != nil {
		tb.Fatalf("connect to the test database: %v", err)
	}
	tb.Cleanup(func() {
		if err := conn.Close(context.Background()); err != nil {
			tb.Errorf("close the connection to the test database: %v", err)
		}
	})
	return conn
}

// server starts the server of this test binary, once.
func server(tb testing.TB) *private.Server {
	tb.Helper()
	shared.start.Do(func() {
		dir, err := os.MkdirTemp("", "reconciler-test-") //nolint:usetesting // it outlives the test that asks first
		if err != nil {
			shared.startErr = err
			return
		}
		shared.server, shared.startErr = private.Start(context.Background(), private.Options{Dir: dir, Fast: true, Temporary: true})
	})
	if shared.startErr != nil {
		tb.Fatalf("start a PostgreSQL for the tests: %v", shared.startErr)
	}
	return shared.server
}

// create makes a database from another one. Copying the files costs a tenth of
// copying through the log, which PostgreSQL 15 does by default.
func create(tb testing.TB, from string) string {
	tb.Helper()
	ctx := context.Background()
	name := fmt.Sprintf("test_%d", shared.last.Add(1))
	admin, err := pgx.Connect(ctx, shared.server.URL("postgres"))
	if err != nil {
		tb.Fatalf("connect to the test server: %v", err)
	}
	defer closeConn(tb, admin)
	var version int
	if err := admin.QueryRow(ctx, `SELECT current_setting('server_version_num')::int`).Scan(&version); err != nil {
		tb.Fatalf("ask the test server for its version: %v", err)
	}
	strategy := ""
	if version >= 150000 {
		strategy = " STRATEGY file_copy"
	}
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+name+" TEMPLATE "+from+strategy); err != nil {
		tb.Fatalf("create a test database: %v", err)
	}
	tb.Cleanup(func() { drop(tb, name) })
	return shared.server.URL(name)
}

func drop(tb testing.TB, name string) {
	tb.Helper()
	ctx := context.Background()
	admin, err := pgx.Connect(ctx, shared.server.URL("postgres"))
	if err != nil {
		tb.Errorf("connect to the test server: %v", err)
		return
	}
	defer closeConn(tb, admin)
	if _, err := admin.Exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
		tb.Errorf("drop a test database: %v", err)
	}
}

func closeConn(tb testing.TB, conn *pgx.Conn) {
	tb.Helper()
	if err := conn.Close(context.Background()); err != nil {
		tb.Errorf("close a connection to the test server: %v", err)
	}
}
