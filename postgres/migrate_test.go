package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reconciler/postgres"
	"reconciler/postgres/postgrestest"
)

func migrate(t *testing.T, url string) {
	t.Helper()
	if err := postgres.Migrate(t.Context(), url, postgres.DefaultSchemas()); err != nil {
		t.Fatalf("Migrate: %v", err)
	}
}

func TestAdoptedJournalKeepsItsRowsAndItsWriters(t *testing.T) {
	t.Parallel()
	for name, table := range map[string]string{
		"plain": plainTable,
		"strict": `CREATE TABLE agent_operations (
			idempotency_key varchar(200) NOT NULL UNIQUE, action_type varchar(80) NOT NULL, workflow_id text NOT NULL, payload_hash text NOT NULL,
			status varchar(20) NOT NULL CHECK (status IN ('planned','executing','succeeded','failed_retryable','failed_final','unknown')),
			attempt_count bigint NOT NULL DEFAULT 0, provider_operation_id text, result_json jsonb, last_error_code text,
			lease_until timestamptz, created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now())`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := postgrestest.Empty(t)
			conn := postgrestest.Connect(t, url)
			exec(t, conn, table)
			exec(t, conn, `INSERT INTO agent_operations (idempotency_key, action_type, workflow_id, payload_hash, status, attempt_count, lease_until, created_at, updated_at)
				SELECT 'old' || i, 'payment_order.create', 'w0', 'h', (ARRAY['planned','executing','succeeded','failed_retryable','failed_final','unknown'])[1 + i % 6],
				i % 3, '2026-01-01Z', '2026-01-01Z', '2026-01-01Z' FROM generate_series(1, 600) AS i`)
			was := value[string](t, conn, `SELECT md5(string_agg(idempotency_key || status || attempt_count || created_at || updated_at, ',' ORDER BY idempotency_key)) FROM agent_operations`)
			file := value[uint32](t, conn, `SELECT pg_relation_filenode('agent_operations')`)
			migrate(t, url)
			migrate(t, url)
			if got := value[string](t, conn, `SELECT md5(string_agg(idempotency_key || status || attempt_count || created_at || updated_at, ',' ORDER BY idempotency_key)) FROM agent_operations`); got != was {
				t.Error("the rows are not what they were")
			}
			if got := value[uint32](t, conn, `SELECT pg_relation_filenode('agent_operations')`); got != file {
				t.Error("the table was rewritten")
			}
			if got := value[int](t, conn, `SELECT count(DISTINCT idempotency_key)::int FROM agent_operation_changes`); got != 600 {
				t.Errorf("queued = %d, want all 600", got)
			}
			if got := value[int](t, conn, `SELECT count(*)::int FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
				WHERE i.indrelid = 'agent_operations'::regclass AND a.attname = 'status'`); got != 1 {
				t.Errorf("indexes on status = %d, want 1", got)
			}
			if got := value[int](t, conn, `SELECT count(*)::int FROM pg_constraint WHERE conrelid = 'agent_operations'::regclass AND NOT convalidated`); got != 0 {
				t.Errorf("constraints that are not validated = %d, want 0", got)
			}
			oldWriters(t, conn)
			refused(t, conn, "23514", `INSERT INTO agent_operations (idempotency_key, action_type, workflow_id, payload_hash, status) VALUES ('x', 'a', 'w', 'h', 'done')`)
		})
	}
}

func TestWhatCannotBeAdoptedSaysWhy(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		setup string
		want  []string
	}{
		"status of its own": {
			plainTable + `; INSERT INTO agent_operations (idempotency_key, status) VALUES ('a1', 'done'), ('a2', NULL), ('a3', 'planned')`,
			[]string{"2 operations have a status that is not in the journal's set", "'a1' with status 'done'", "Set each of them"},
		},
		"plain timestamp": {
			plainTable + `; ALTER TABLE agent_operations ALTER COLUMN lease_until TYPE timestamp`,
			[]string{"column lease_until is a timestamp without time zone", "ALTER COLUMN lease_until TYPE timestamptz USING lease_until AT TIME ZONE"},
		},
		"column missing": {
			plainTable + `; ALTER TABLE agent_operations DROP COLUMN payload_hash`,
			[]string{"has no column payload_hash", "ADD COLUMN payload_hash text"},
		},
		"column of another type": {
			plainTable + `; ALTER TABLE agent_operations ADD COLUMN amount_minor numeric`,
			[]string{"column amount_minor has type numeric, not bigint"},
		},
		"key not unique": {
			plainTable + `; ALTER TABLE agent_operations DROP CONSTRAINT agent_operations_pkey`,
			[]string{"idempotency_key is not unique", "ADD PRIMARY KEY"},
		},
		"view": {
			`CREATE VIEW agent_operations AS SELECT 'k' AS idempotency_key`,
			[]string{"not an ordinary table"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := postgrestest.Empty(t)
			conn := postgrestest.Connect(t, url)
			exec(t, conn, tc.setup)
			err := postgres.Migrate(t.Context(), url, postgres.DefaultSchemas())
			if err == nil {
				t.Fatal("Migrate adopts it")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("Migrate = %v, want %q in it", err, want)
				}
			}
			if got := value[int](t, conn, `SELECT count(*)::int FROM pg_tables WHERE tablename IN ('agent_operation_events', 'agent_operation_changes')`); got != 0 {
				t.Errorf("a refused migration left %d tables", got)
			}
		})
	}
}

func TestSixMigrateAtOnce(t *testing.T) {
	t.Parallel()
	url := postgrestest.Empty(t)
	conn := postgrestest.Connect(t, url)
	exec(t, conn, plainTable)
	exec(t, conn, `INSERT INTO agent_operations (idempotency_key, status) VALUES ('k', 'planned')`)
	results := make(chan error)
	for range 6 {
		go func() { results <- postgres.Migrate(t.Context(), url, postgres.DefaultSchemas()) }()
	}
	for range 6 {
		if err := <-results; err != nil {
			t.Errorf("Migrate: %v", err)
		}
	}
	if got := value[int](t, conn, `SELECT count(*)::int FROM agent_operation_changes`); got != 1 {
		t.Errorf("queued = %d, want once", got)
	}
	if got := value[int](t, conn, `SELECT count(*)::int FROM agent_operation_schema_version`); got != 1 {
		t.Errorf("rows of the version table = %d, want 1", got)
	}
	oldWriters(t, conn)
}

func TestSchemasOfAnyName(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]postgres.Schemas{
		"one for both":     {Journal: "public", Reconciler: "public"},
		"odd":              {Journal: `We"ird's; --`, Reconciler: `An other.one`},
		"odd one for both": {Journal: `We"ird`, Reconciler: `We"ird`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := postgrestest.Empty(t)
			for range 2 {
				if err := postgres.Migrate(t.Context(), url, s); err != nil {
					t.Fatalf("Migrate: %v", err)
				}
			}
			conn := postgrestest.Connect(t, url)
			// Writers need no search_path of ours inside the triggers.
			table := pgx.Identifier{s.Journal, "agent_operations"}.Sanitize()
			exec(t, conn, `INSERT INTO `+table+` (idempotency_key, status) VALUES ('k', 'planned')`)
			if n := exec(t, conn, strings.Replace(oldClaim, "agent_operations", table, 1), "k"); n != 1 {
				t.Errorf("claim = %d rows, want 1", n)
			}
			exec(t, conn, `SET search_path = `+pgx.Identifier{s.Journal}.Sanitize())
			if got := len(events(t, conn, "k")); got != 1 {
				t.Errorf("events = %d, want 1", got)
			}
			found, err := postgres.Check(t.Context(), conn, s)
			if err != nil {
				t.Fatalf("Check: %v", err)
			}
			for _, f := range found {
				if f.Severity == postgres.Broken {
					t.Errorf("Check finds %+v", f)
				}
			}
		})
	}
	for _, bad := range []postgres.Schemas{{Journal: "public"}, {Journal: "a$b", Reconciler: "r"}, {Journal: strings.Repeat("x", 64), Reconciler: "r"}} {
		if err := postgres.Migrate(t.Context(), "postgres://nowhere", bad); err == nil || !strings.Contains(err.Error(), "schema name") {
			t.Errorf("Migrate with %+v = %v, want an error about the name", bad, err)
		}
	}
}

func TestTableInUseIsAnErrorThatSaysWhatToDo(t *testing.T) {
	t.Parallel()
	url := postgrestest.Empty(t)
	conn := postgrestest.Connect(t, url)
	exec(t, conn, plainTable)
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `LOCK TABLE agent_operations IN ROW EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	err = postgres.Migrate(t.Context(), url, postgres.DefaultSchemas())
	if !errors.Is(err, postgres.ErrMigrationLocked) || !strings.Contains(err.Error(), "pg_stat_activity") {
		t.Errorf("Migrate = %v, want ErrMigrationLocked", err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	migrate(t, url)
	oldWriters(t, conn)
}

func TestNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	url := postgrestest.New(t)
	conn := postgrestest.Connect(t, url)
	exec(t, conn, `UPDATE agent_operation_schema_version SET version = 1000`)
	if err := postgres.Migrate(t.Context(), url, postgres.DefaultSchemas()); !errors.Is(err, postgres.ErrNewerSchema) {
		t.Errorf("Migrate = %v, want ErrNewerSchema", err)
	}
}

// A role without any right to change the schema starts with a current one.
func TestCurrentSchemaNeedsNoRights(t *testing.T) {
	t.Parallel()
	url := postgrestest.New(t)
	conn := postgrestest.Connect(t, url)
	role := value[string](t, conn, `SELECT 'reader_of_' || current_database()`)
	exec(t, conn, `CREATE ROLE `+role+` LOGIN`)
	t.Cleanup(func() {
		if _, err := conn.Exec(context.Background(), `DROP OWNED BY `+role+`; DROP ROLE `+role); err != nil {
			t.Error(err)
		}
	})
	exec(t, conn, `GRANT USAGE ON SCHEMA reconciler TO `+role+`; GRANT SELECT ON agent_operation_schema_version, reconciler.reconciler_schema_version TO `+role)
	limited := strings.Replace(url, "postgres@", role+"@", 1)
	if err := postgres.Migrate(t.Context(), limited, postgres.DefaultSchemas()); err != nil {
		t.Errorf("Migrate: %v", err)
	}
	exec(t, conn, `UPDATE agent_operation_schema_version SET version = version - 1`)
	if err := postgres.Migrate(t.Context(), limited, postgres.DefaultSchemas()); err == nil || !strings.Contains(err.Error(), "as the role that owns the journal") {
		t.Errorf("Migrate without rights = %v, want an error that says as whom to migrate", err)
	}
}

// Adopting must not keep writers out for the time of its indexes.
func TestAdoptionOfALargeJournal(t *testing.T) {
	t.Parallel()
	url := postgrestest.Empty(t)
	conn := postgrestest.Connect(t, url)
	exec(t, conn, plainTable)
	exec(t, conn, `INSERT INTO agent_operations (idempotency_key, action_type, workflow_id, payload_hash, status, provider_operation_id)
		SELECT 'key-' || i, 'payment_order.create', 'w', 'h', 'succeeded', 'P-' || i FROM generate_series(1, 100000) AS i`)
	done := make(chan error, 1)
	at := time.Now()
	go func() { done <- postgres.Migrate(t.Context(), url, postgres.DefaultSchemas()) }()
	var slowest time.Duration
	for i := 0; ; i++ {
		select {
		case err := <-done:
			if err != nil {
				t.Fatalf("Migrate: %v", err)
			}
			t.Logf("adopted 100000 rows in %v; %d writes meanwhile, the slowest %v", time.Since(at), i, slowest)
			if got := value[int](t, conn, `SELECT count(DISTINCT idempotency_key)::int FROM agent_operation_changes`); got != 100000+i {
				t.Errorf("queued = %d, want %d: all that was there and all that came meanwhile", got, 100000+i)
			}
			return
		default:
			one := time.Now()
			exec(t, conn, oldInsert, fmt.Sprint("live-", i))
			slowest = max(slowest, time.Since(one))
		}
	}
}
