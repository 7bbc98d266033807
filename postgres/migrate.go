package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/tern/v2/migrate"
)

//go:embed migrations
var migrations embed.FS

const (
	// migrateLock is the advisory lock under which one process migrates a database.
	migrateLock = int64(0x7265636f6e63696c) // "reconcil"
	// migrateWait is how long a second process waits for the first.
	migrateWait = 10 * time.Minute
	// ddlWait is how long a migration waits for a lock on a table. While it
	// waits, every writer of that table waits behind it, so it is short.
	ddlWait = "5s"
)

// ErrMigrationLocked says that a migration could not have the lock on a table
// in time. Nothing of that migration was applied; it may be tried again.
var ErrMigrationLocked = errors.New("another session holds a table that the migration must lock: " +
	"end the long transactions that pg_stat_activity shows, or migrate again at a quieter hour")

// ErrNewerSchema says that the database was migrated by a newer version of the
// program.
var ErrNewerSchema = errors.New("the database was migrated by a newer version of this program: use that version")

// Schemas names the two schemas of the database. They may be the same one.
type Schemas struct {
	// Journal holds agent_operations and its audit trail, shared with all writers.
	Journal string
	// Reconciler holds what the program keeps for itself.
	Reconciler string
}

// DefaultSchemas are the names where the configuration says nothing.
func DefaultSchemas() Schemas { return Schemas{Journal: "public", Reconciler: "reconciler"} }

// check refuses names that PostgreSQL would cut or that would end a quoted
// function body.
func (s Schemas) check() error {
	for _, name := range []string{s.Journal, s.Reconciler} {
		if name == "" || len(name) > 63 || strings.ContainsAny(name, "\x00$\\") {
			return fmt.Errorf("schema name %q: it must have 1 to 63 bytes and none of the characters $ and \\", name)
		}
	}
	return nil
}

// data is what the migrations are written with: {{.journal}} and
// {{.reconciler}} as identifiers, the same with _literal as SQL strings.
func (s Schemas) data() map[string]any {
	literal := func(name string) string { return "'" + strings.ReplaceAll(name, "'", "''") + "'" }
	return map[string]any{
		"journal":            pgx.Identifier{s.Journal}.Sanitize(),
		"reconciler":         pgx.Identifier{s.Reconciler}.Sanitize(),
		"journal_literal":    literal(s.Journal),
		"reconciler_literal": literal(s.Reconciler),
	}
}

// migrationSet is one folder of migrations with its own version.
type migrationSet struct {
	folder string
	schema string
	// table, in the schema, holds the number of migrations applied.
	table string
	count int
}

// sets lists the folders in the order in which they are applied: ours refers
// to the journal.
func (s Schemas) sets() ([]migrationSet, error) {
	sets := []migrationSet{
		{folder: "journal", schema: s.Journal, table: "agent_operation_schema_version"},
		{folder: "reconciler", schema: s.Reconciler, table: "reconciler_schema_version"},
	}
	for i, set := range sets {
		files, err := fs.Glob(migrations, path.Join("migrations", set.folder, "*.sql"))
		if err != nil {
			return nil, fmt.Errorf("list the migrations of the %s: %w", set.folder, err)
		}
		sets[i].count = len(files)
	}
	return sets, nil
}

// Migrate brings the database at url up to this version of the program: both
// schemas, made if they do not exist. An agent_operations table that is there
// already is adopted in place. It may be called again, and by several processes
// at once: one migrates, the others wait for it. The url must lead to the
// server itself or to a session-mode pooler, for it holds a session lock, and
// its role must own the journal. Errors to ask for: ErrMigrationLocked,
// ErrNewerSchema.
func Migrate(ctx context.Context, url string, s Schemas) (err error) {
	if err := s.check(); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("connect to migrate: %w", unreachable(err))
	}
	// The end of the connection gives back the session's locks, also those
	// that a failed migration leaves.
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()

	sets, err := s.sets()
	if err != nil {
		return err
	}
	if current, err := isCurrent(ctx, conn, sets); err != nil || current {
		return err
	}
	if err := lockMigration(ctx, conn); err != nil {
		return err
	}
	for _, set := range sets {
		if err := set.apply(ctx, conn, s.data()); err != nil {
			return err
		}
	}
	return nil
}

// isCurrent reports that nothing is left to apply, so a role without the right
// to change the schema passes.
func isCurrent(ctx context.Context, conn *pgx.Conn, sets []migrationSet) (bool, error) {
	current := true
	for _, set := range sets {
		version, err := set.version(ctx, conn)
		if err != nil {
			return false, err
		}
		if version > set.count {
			return false, fmt.Errorf("schema %s has version %d of the %s, this program knows %d: %w",
				set.schema, version, set.folder, set.count, ErrNewerSchema)
		}
		current = current && version == set.count
	}
	return current, nil
}

// version is the number of migrations applied, 0 before the first.
func (m migrationSet) version(ctx context.Context, db interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
},
) (int, error) {
	var found bool
	err := db.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = $2)`,
		m.schema, m.table).Scan(&found)
	if err != nil {
		return 0, fmt.Errorf("look for the version of schema %s: %w", m.schema, err)
	}
	if !found {
		return 0, nil
	}
	var version int
	if err := db.QueryRow(ctx, `SELECT version FROM `+pgx.Identifier{m.schema, m.table}.Sanitize()).Scan(&version); err != nil {
		return 0, fmt.Errorf("read the version of schema %s: %w", m.schema, err)
	}
	return version, nil
}

// lockMigration polls for the lock instead of waiting in it: a statement that
// waits holds a snapshot, and CREATE INDEX CONCURRENTLY of the process that
// migrates would wait for that, which is a deadlock.
func lockMigration(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeoutCause(ctx, migrateWait,
		errors.New("another process has been migrating this database for too long; pg_locks shows it as an advisory lock"))
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		var got bool
		if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, migrateLock).Scan(&got); err != nil {
			return fmt.Errorf("lock the migration of the database: %w", err)
		}
		if got {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the migration of the database by another process: %w", context.Cause(ctx))
		case <-ticker.C:
		}
	}
}

// apply runs what is missing of one folder, each file in a transaction of its
// own unless it says otherwise.
func (m migrationSet) apply(ctx context.Context, conn *pgx.Conn, data map[string]any) error {
	if m.count == 0 {
		return nil
	}
	if err := m.ensureSchema(ctx, conn); err != nil {
		return err
	}
	files, err := fs.Sub(migrations, path.Join("migrations", m.folder))
	if err != nil {
		return fmt.Errorf("open the migrations of the %s: %w", m.folder, err)
	}
	tern, err := migrate.NewMigrator(ctx, conn, pgx.Identifier{m.schema, m.table}.Sanitize())
	if err != nil {
		return m.explain(err)
	}
	tern.Data = data
	if err := tern.LoadMigrations(files); err != nil {
		return fmt.Errorf("read the migrations of the %s: %w", m.folder, err)
	}
	for _, one := range tern.Migrations {
		// Session-wide, for a file without a transaction has no LOCAL; tern
		// resets it after each file.
		one.UpSQL = "SET lock_timeout = '" + ddlWait + "';\n" + one.UpSQL
	}
	if err := tern.Migrate(ctx); err != nil {
		return m.explain(err)
	}
	return nil
}

// ensureSchema asks before it creates: CREATE SCHEMA IF NOT EXISTS wants the
// right to create even where the schema exists.
func (m migrationSet) ensureSchema(ctx context.Context, conn *pgx.Conn) error {
	var found bool
	if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1)`, m.schema).Scan(&found); err != nil {
		return fmt.Errorf("look for schema %s: %w", m.schema, err)
	}
	if found {
		return nil
	}
	if _, err := conn.Exec(ctx, `CREATE SCHEMA `+pgx.Identifier{m.schema}.Sanitize()); err != nil {
		return m.explain(err)
	}
	return nil
}

// explain turns the database's words into what to do next.
func (m migrationSet) explain(err error) error {
	var file string
	var failed migrate.MigrationPgError
	if errors.As(err, &failed) {
		file = "/" + failed.MigrationName
	}
	where := fmt.Sprintf("migrate schema %s (%s%s)", m.schema, m.folder, file)
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) {
		return fmt.Errorf("%s: %w", where, err)
	}
	switch pgErr.Code {
	case pgLockNotAvailable:
		return fmt.Errorf("%s: %w (%w)", where, ErrMigrationLocked, pgErr)
	case pgInsufficientPrivilege:
		return fmt.Errorf("%s: %w; migrate as the role that owns the journal and may create in both schemas", where, pgErr)
	}
	if pgErr.Hint != "" {
		return fmt.Errorf("%s: %w: %s", where, pgErr, pgErr.Hint)
	}
	return fmt.Errorf("%s: %w", where, pgErr)
}

// The codes of PostgreSQL that have a meaning of their own here.
const (
	pgLockNotAvailable      = "55P03"
	pgInsufficientPrivilege = "42501"
)
