package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"reconciler/journal"
	"reconciler/postgres/postgrestest"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Run(m)) }

// plainTable is the table as writers have it before it is adopted.
const plainTable = `
	CREATE TABLE agent_operations (
		idempotency_key text PRIMARY KEY, action_type text, workflow_id text, payload_hash text, status text,
		attempt_count int default 0, provider_operation_id text, result_json jsonb, last_error_code text,
		lease_until timestamptz, created_at timestamptz default now(), updated_at timestamptz default now());
	CREATE INDEX ON agent_operations (status, lease_until)`

// The statements of writers that know nothing of the reconciler.
const (
	oldInsert = `INSERT INTO agent_operations (idempotency_key, action_type, workflow_id, payload_hash, status)
		VALUES ($1, 'payment_order.create', 'w1', 'h1', 'planned') ON CONFLICT (idempotency_key) DO NOTHING`
	oldClaim = `UPDATE agent_operations SET status='executing', attempt_count=attempt_count+1, lease_until=now()+interval '2 minutes', updated_at=now()
		WHERE idempotency_key=$1 AND status IN ('planned','failed_retryable') RETURNING attempt_count`
	oldSucceed = `UPDATE agent_operations SET status='succeeded', provider_operation_id=$2, result_json=$3, updated_at=now()
		WHERE idempotency_key=$1 AND status='executing'`
	oldFail = `UPDATE agent_operations SET status='failed_retryable', last_error_code=$2, updated_at=now()
		WHERE idempotency_key=$1 AND status='executing'`
)

// fresh is a connection to a database with the journal in it.
func fresh(t *testing.T) *pgx.Conn {
	t.Helper()
	return postgrestest.Connect(t, postgrestest.New(t))
}

func exec(t *testing.T, conn *pgx.Conn, sql string, args ...any) int64 {
	t.Helper()
	tag, err := conn.Exec(t.Context(), sql, args...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return tag.RowsAffected()
}

func value[T any](t *testing.T, conn *pgx.Conn, sql string, args ...any) T {
	t.Helper()
	var v T
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// refused runs sql and wants it refused with this SQLSTATE, leaving the
// session as it was.
func refused(t *testing.T, conn *pgx.Conn, code, sql string, args ...any) {
	t.Helper()
	_, err := conn.Exec(t.Context(), sql, args...)
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || pgErr.Code != code {
		t.Errorf("%s = %v, want SQLSTATE %s", sql, err, code)
	}
}

// as runs f in a transaction that acts as kind.
func as(t *testing.T, conn *pgx.Conn, kind string, f func(tx pgx.Tx) error) error {
	t.Helper()
	return pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), `SELECT set_config('reconciler.actor_kind', $1, true), set_config('reconciler.run_id', 'run1', true),
			set_config('reconciler.reason_code', 'because', true)`, kind); err != nil {
			return err
		}
		return f(tx)
	})
}

type event struct {
	From, To, Kind, Reason string
	Attempt                int64
}

func events(t *testing.T, conn *pgx.Conn, key string) []event {
	t.Helper()
	rows, err := conn.Query(t.Context(), `SELECT from_status, to_status, actor_kind, coalesce(reason_code, ''), attempt_count
		FROM agent_operation_events WHERE idempotency_key = $1 ORDER BY event_id`, key)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowToStructByPos[event])
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// oldWriters plays the life of operations with the statements of old.
func oldWriters(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	if n := exec(t, conn, oldInsert, "k1"); n != 1 {
		t.Errorf("insert = %d rows, want 1", n)
	}
	if n := exec(t, conn, oldInsert, "k1"); n != 0 {
		t.Errorf("second insert = %d rows, want 0", n)
	}
	if n := value[int](t, conn, oldClaim, "k1"); n != 1 {
		t.Errorf("claim = attempt %d, want 1", n)
	}
	if n := exec(t, conn, oldClaim, "k1"); n != 0 {
		t.Errorf("claim of what is executing = %d rows, want 0", n)
	}
	if n := exec(t, conn, oldFail, "k1", "timeout"); n != 1 {
		t.Errorf("fail = %d rows, want 1", n)
	}
	if n := value[int](t, conn, oldClaim, "k1"); n != 2 {
		t.Errorf("second claim = attempt %d, want 2", n)
	}
	if n := exec(t, conn, oldSucceed, "k1", "P-1", `{"ok": true}`); n != 1 {
		t.Errorf("success = %d rows, want 1", n)
	}
	if n := exec(t, conn, oldSucceed, "k1", "P-2", `{}`); n != 0 {
		t.Errorf("second success = %d rows, want 0", n)
	}
	want := []event{
		{"planned", "executing", "worker", "", 1},
		{"executing", "failed_retryable", "worker", "", 1},
		{"failed_retryable", "executing", "worker", "", 2},
		{"executing", "succeeded", "worker", "", 2},
	}
	if diff := cmp.Diff(want, events(t, conn, "k1")); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if !value[bool](t, conn, `SELECT first_attempt_at < last_attempt_at AND last_attempt_at > created_at AND updated_at >= created_at
		FROM agent_operations WHERE idempotency_key = 'k1'`) {
		t.Errorf("attempts are not stamped")
	}
}

func TestOldWritersOnAFreshJournal(t *testing.T) {
	t.Parallel()
	oldWriters(t, fresh(t))
}

// Every pair of statuses by every kind of actor, in SQL and by really moving.
func TestTriggerKnowsTheMovesThatGoKnows(t *testing.T) {
	t.Parallel()
	conn := fresh(t)
	exec(t, conn, `CREATE OR REPLACE FUNCTION agent_operation_is_approved(idempotency_key text, from_status text, to_status text, approval_id text)
		RETURNS boolean LANGUAGE sql STABLE AS 'SELECT approval_id = ''A1'''`)
	kinds := []journal.ActorKind{journal.Worker, journal.Reconciler, journal.Human}
	n := 0
	for _, from := range journal.Statuses() {
		for _, to := range journal.Statuses() {
			for _, kind := range kinds {
				if from == to {
					continue // no move
				}
				want := from.CanBecome(to, kind)
				if got := value[bool](t, conn, `SELECT agent_operation_may_become($1, $2, $3)`, from, to, kind); got != want {
					t.Errorf("%s → %s by a %s in SQL = %t, in Go %t", from, to, kind, got, want)
				}
				n++
				key := fmt.Sprint("k", n)
				exec(t, conn, `INSERT INTO agent_operations (idempotency_key, status) VALUES ($1, $2)`, key, from)
				err := as(t, conn, string(kind), func(tx pgx.Tx) error {
					if _, err := tx.Exec(t.Context(), `SELECT set_config('reconciler.approval_id', 'A1', true)`); err != nil {
						return err
					}
					_, err := tx.Exec(t.Context(), `UPDATE agent_operations SET status = $2, provider_operation_id = 'P', last_error_code = 'E' WHERE idempotency_key = $1`, key, to)
					return err
				})
				var pgErr *pgconn.PgError
				if moved := err == nil; moved != want {
					t.Errorf("%s → %s by a %s = %v, in Go %t", from, to, kind, err, want)
				} else if !moved && (!errors.As(err, &pgErr) || pgErr.Code != "RC001" || !strings.Contains(pgErr.Message, fmt.Sprintf("from %s to %s by a %s", from, to, kind))) {
					t.Errorf("%s → %s by a %s = %v, want RC001 that says so", from, to, kind, err)
				}
				wantEvents := 0
				if want {
					wantEvents = 1
				}
				if got := events(t, conn, key); len(got) != wantEvents {
					t.Errorf("%s → %s by a %s: events = %v, want %d", from, to, kind, got, wantEvents)
				} else if want && (got[0].Kind != string(kind) || got[0].Reason != "because") {
					t.Errorf("%s → %s by a %s: event = %v", from, to, kind, got[0])
				}
			}
		}
	}
}

func TestHumanNeedsAnApproval(t *testing.T) {
	t.Parallel()
	conn := fresh(t)
	exec(t, conn, `INSERT INTO agent_operations (idempotency_key, status) VALUES ('k', 'unknown'), ('f', 'failed_final')`)
	for _, key := range []string{"k", "f"} {
		err := as(t, conn, "human", func(tx pgx.Tx) error {
			_, err := tx.Exec(t.Context(), `UPDATE agent_operations SET status = 'succeeded' WHERE idempotency_key = $1`, key)
			return err
		})
		var pgErr *pgconn.PgError
		if !errors.As(err, &pgErr) || pgErr.Code != "RC003" {
			t.Errorf("unapproved move of %s = %v, want RC003", key, err)
		}
	}
	err := as(t, conn, "boss", func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), `UPDATE agent_operations SET status = 'succeeded' WHERE idempotency_key = 'k'`)
		return err
	})
	if err == nil {
		t.Error("an actor of no known kind may move")
	}
}

// Where roles are separate, the role decides: a worker's role is not believed
// to be the reconciler, needs no right on the audit trail, and can report late news.
func TestRoleDecidesWhoActs(t *testing.T) {
	t.Parallel()
	conn := fresh(t)
	role := value[string](t, conn, `SELECT 'worker_of_' || current_database()`)
	exec(t, conn, `CREATE ROLE `+role)
	t.Cleanup(func() {
		ctx := context.Background()
		if _, err := conn.Exec(ctx, `RESET ROLE; DROP OWNED BY `+role+`; DROP ROLE `+role); err != nil {
			t.Error(err)
		}
	})
	exec(t, conn, `GRANT SELECT, INSERT, UPDATE ON agent_operations TO `+role)
	exec(t, conn, `SET ROLE `+role)
	exec(t, conn, oldInsert, "k1")
	exec(t, conn, oldClaim, "k1")
	err := as(t, conn, "reconciler", func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), `UPDATE agent_operations SET status = 'unknown'`)
		return err
	})
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || pgErr.Code != "42501" || !strings.Contains(pgErr.Message, "may not act as reconciler") {
		t.Errorf("a worker's role acts as reconciler: %v", err)
	}
	refused(t, conn, "42501", `INSERT INTO agent_operation_events (idempotency_key, actor_kind) VALUES ('k1', 'human')`)
	exec(t, conn, `SELECT agent_operation_late_news('k1', 1, 'late_success', '{"provider_operation_id": "P"}')`)
	refused(t, conn, "22023", `SELECT agent_operation_late_news('k1', 1, 'confirmed', '{}')`)
	refused(t, conn, "P0002", `SELECT agent_operation_late_news('none', 1, 'late_success', '{}')`)
	exec(t, conn, `RESET ROLE`)
	want := []event{{"planned", "executing", "worker", "", 1}, {"executing", "executing", "worker", "late_success", 1}}
	if diff := cmp.Diff(want, events(t, conn, "k1")); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if got := value[string](t, conn, `SELECT DISTINCT split_part(actor, '/', 1) FROM agent_operation_events`); got != role {
		t.Errorf("actor = %q, want %q", got, role)
	}
}

func TestPermitIsTakenInsideItsLimitsOnly(t *testing.T) {
	t.Parallel()
	conn := fresh(t)
	for _, tc := range []struct {
		key, before, after string
		want               int64
	}{
		{"none", "NULL", "NULL", 1},
		{"open", "now() - interval '1 min'", "now() + interval '1 min'", 1},
		{"begun", "now() - interval '1 min'", "NULL", 1},
		{"early", "now() + interval '1 min'", "NULL", 0},
		{"late", "NULL", "now() - interval '1 min'", 0},
		{"over", "now() - interval '2 min'", "now() - interval '1 min'", 0},
	} {
		exec(t, conn, `INSERT INTO agent_operations (idempotency_key, status, retry_not_before, retry_not_after)
			VALUES ($1, 'failed_retryable', `+tc.before+`, `+tc.after+`)`, tc.key)
		if got := exec(t, conn, oldClaim, tc.key); got != tc.want {
			t.Errorf("claim of %s = %d rows, want %d", tc.key, got, tc.want)
		}
		if got := int64(len(events(t, conn, tc.key))); got != tc.want {
			t.Errorf("events of %s = %d, want %d", tc.key, got, tc.want)
		}
		if tc.want == 1 && !value[bool](t, conn, `SELECT retry_not_before IS NULL AND retry_not_after IS NULL FROM agent_operations WHERE idempotency_key = $1`, tc.key) {
			t.Errorf("the permit of %s is not used up", tc.key)
		}
	}
	if !value[bool](t, conn, `SELECT evidence ? 'retry_not_before' AND evidence ? 'retry_not_after' FROM agent_operation_events WHERE idempotency_key = 'open'`) {
		t.Error("the event does not keep the permit's limits")
	}
	refused(t, conn, "RC002", `UPDATE agent_operations SET retry_not_before = NULL WHERE idempotency_key = 'early'`)
}

func TestWhatNeverChanges(t *testing.T) {
	t.Parallel()
	conn := fresh(t)
	exec(t, conn, `INSERT INTO agent_operations (idempotency_key, action_type, payload_hash, status) VALUES ('k', 'a', 'h', 'planned')`)
	for _, set := range []string{
		"idempotency_key = 'other'", "action_type = 'b'", "payload_hash = 'other'", "payload_hash = NULL", "created_at = now() - interval '1 day'",
	} {
		refused(t, conn, "RC002", `UPDATE agent_operations SET `+set)
	}
	for column, values := range map[string][2]string{
		"provider": {"'p'", "'q'"}, "account": {"'p'", "'q'"}, "business_reference": {"'p'", "'q'"},
		"amount_minor": {"100", "200"}, "currency": {"'EUR'", "'USD'"},
	} {
		exec(t, conn, `UPDATE agent_operations SET `+column+` = `+values[0])
		exec(t, conn, `UPDATE agent_operations SET `+column+` = `+values[0]) // the same again is no change
		refused(t, conn, "RC002", `UPDATE agent_operations SET `+column+` = `+values[1])
		refused(t, conn, "RC002", `UPDATE agent_operations SET `+column+` = NULL`)
	}
	refused(t, conn, "23514", `INSERT INTO agent_operations (idempotency_key, status, amount_minor) VALUES ('neg', 'planned', -1)`)
	refused(t, conn, "23514", `INSERT INTO agent_operations (idempotency_key, status) VALUES ('odd', 'done')`)
}

// The retry that charges twice: an expired lease is no permission.
func TestExpiredLeaseIsNotClaimable(t *testing.T) {
	t.Parallel()
	conn := fresh(t)
	exec(t, conn, `INSERT INTO agent_operations (idempotency_key, status, attempt_count, lease_until) VALUES ('k', 'executing', 3, now() - interval '1 hour')`)
	refused(t, conn, "RC005", `UPDATE agent_operations SET status='executing', attempt_count=attempt_count+1, lease_until=now()+interval '2 minutes' WHERE lease_until < now()`)
	refused(t, conn, "RC005", `UPDATE agent_operations SET attempt_count = 0`)
	if n := exec(t, conn, `UPDATE agent_operations SET lease_until = now() + interval '2 minutes' WHERE attempt_count = 3`); n != 1 {
		t.Errorf("extend = %d rows, want 1", n)
	}
}

func TestWorkerClosesUnknownOnEvidenceOnly(t *testing.T) {
	t.Parallel()
	conn := fresh(t)
	for i, tc := range []struct {
		set  string
		want string
	}{
		{"status = 'succeeded'", "RC004"},
		{"status = 'succeeded', provider_operation_id = 'P'", ""},
		{"status = 'failed_retryable'", "RC004"},
		{"status = 'failed_retryable', last_error_code = 'timeout'", "RC004"}, // what made it unknown
		{"status = 'failed_retryable', last_error_code = 'declined'", ""},
		{"status = 'failed_final', result_json = '{\"state\": \"rejected\"}'", ""},
	} {
		key := fmt.Sprint("k", i)
		exec(t, conn, `INSERT INTO agent_operations (idempotency_key, status, last_error_code) VALUES ($1, 'unknown', 'timeout')`, key)
		sql := `UPDATE agent_operations SET ` + tc.set + ` WHERE idempotency_key = $1`
		if tc.want != "" {
			refused(t, conn, tc.want, sql, key)
		} else if n := exec(t, conn, sql, key); n != 1 {
			t.Errorf("%s = %d rows, want 1", tc.set, n)
		}
	}
}

func TestAuditTrailIsAppendOnly(t *testing.T) {
	t.Parallel()
	conn := fresh(t)
	oldWriters(t, conn)
	for _, sql := range []string{
		`UPDATE agent_operation_events SET to_status = 'planned'`,
		`DELETE FROM agent_operation_events`, `DELETE FROM agent_operation_events WHERE false`, `TRUNCATE agent_operation_events`,
	} {
		refused(t, conn, "RC006", sql)
	}
}

func TestOpenOperationsAreNotDeleted(t *testing.T) {
	t.Parallel()
	conn := fresh(t)
	for _, status := range journal.Statuses() {
		exec(t, conn, `INSERT INTO agent_operations (idempotency_key, status) VALUES ($1, $1)`, string(status))
		sql := `DELETE FROM agent_operations WHERE idempotency_key = $1`
		if !status.Terminal() {
			refused(t, conn, "RC007", sql, string(status))
		} else if n := exec(t, conn, sql, string(status)); n != 1 {
			t.Errorf("delete of %s = %d rows, want 1", status, n)
		}
	}
	err := pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), `SET LOCAL reconciler.delete_open = 'on'; DELETE FROM agent_operations`)
		return err
	})
	if err != nil {
		t.Errorf("delete on purpose: %v", err)
	}
}

func TestAttemptsAreStamped(t *testing.T) {
	t.Parallel()
	conn := fresh(t)
	past := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name, insert string
		want         string
	}{
		{"planned", `(idempotency_key, status) VALUES ($1, 'planned')`, "first_attempt_at IS NULL AND last_attempt_at IS NULL"},
		{"live", `(idempotency_key, status) VALUES ($1, 'executing')`, "first_attempt_at = created_at AND last_attempt_at = updated_at AND created_at > now() - interval '1 min'"},
		{
			"imported", `(idempotency_key, status, created_at, updated_at) VALUES ($1, 'executing', '2026-03-01T12:00:00Z', '2026-03-02T12:00:00Z')`,
			"first_attempt_at = '2026-03-01T12:00:00Z' AND last_attempt_at = '2026-03-02T12:00:00Z'",
		},
		{
			"told", `(idempotency_key, status, first_attempt_at, last_attempt_at) VALUES ($1, 'executing', '2026-03-01T12:00:00Z', '2026-03-02T12:00:00Z')`,
			"first_attempt_at = '2026-03-01T12:00:00Z' AND last_attempt_at = '2026-03-02T12:00:00Z'",
		},
	} {
		exec(t, conn, `INSERT INTO agent_operations `+tc.insert, tc.name)
		if !value[bool](t, conn, `SELECT `+tc.want+` FROM agent_operations WHERE idempotency_key = $1`, tc.name) {
			t.Errorf("%s: not %s", tc.name, tc.want)
		}
	}
	exec(t, conn, `INSERT INTO agent_operations (idempotency_key, status, created_at, updated_at, first_attempt_at, last_attempt_at)
		VALUES ('again', 'failed_retryable', $1, $1, $1, $1)`, past)
	exec(t, conn, `UPDATE agent_operations SET status = 'executing', attempt_count = attempt_count + 1 WHERE idempotency_key = 'again'`)
	if !value[bool](t, conn, `SELECT first_attempt_at = $1 AND last_attempt_at > now() - interval '1 min' AND updated_at > now() - interval '1 min'
		FROM agent_operations WHERE idempotency_key = 'again'`, past) {
		t.Error("a claim that leaves updated_at alone is not stamped")
	}
}

// The window in which an effect may have happened must not move because the
// reconciler looked: its own moves leave updated_at to it.
func TestReconcilersMovesDoNotTouchUpdatedAt(t *testing.T) {
	t.Parallel()
	conn := fresh(t)
	exec(t, conn, `INSERT INTO agent_operations (idempotency_key, status, created_at, updated_at) VALUES ('k', 'executing', '2026-03-01Z', '2026-03-01Z')`)
	err := as(t, conn, "reconciler", func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), `UPDATE agent_operations SET status = 'unknown'`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if !value[bool](t, conn, `SELECT updated_at = '2026-03-01Z' FROM agent_operations`) {
		t.Error("updated_at moved")
	}
}

func TestChangesQueueWhatTheReconcilerMustLookAt(t *testing.T) {
	t.Parallel()
	conn := fresh(t)
	queued := func(sql string) int64 {
		t.Helper()
		exec(t, conn, `DELETE FROM agent_operation_changes`)
		exec(t, conn, sql)
		return value[int64](t, conn, `SELECT count(*) FROM agent_operation_changes WHERE idempotency_key = 'k'`)
	}
	for _, tc := range []struct {
		sql  string
		want int64
	}{
		{`INSERT INTO agent_operations (idempotency_key, status) VALUES ('k', 'planned'), ('l', 'planned')`, 1},
		{`INSERT INTO agent_operations (idempotency_key, status) VALUES ('k', 'planned') ON CONFLICT DO NOTHING`, 0},
		{`UPDATE agent_operations SET status = 'executing', attempt_count = 1`, 1},
		{`UPDATE agent_operations SET lease_until = now()`, 1},
		{`UPDATE agent_operations SET provider_operation_id = 'P'`, 1},
		{`UPDATE agent_operations SET business_reference = 'R'`, 1},
		{`UPDATE agent_operations SET provider = 'p', account = 'a'`, 1},
		{`UPDATE agent_operations SET amount_minor = 5, currency = 'EUR'`, 1},
		{`UPDATE agent_operations SET amount_minor = 5, currency = 'EUR'`, 0},
		{`UPDATE agent_operations SET result_json = '{}', last_error_code = 'E', updated_at = now()`, 0},
		{`BEGIN; SELECT set_config('reconciler.actor_kind', 'reconciler', true), set_config('reconciler.writes_events', 'on', true);
			UPDATE agent_operations SET status = 'unknown'; COMMIT`, 0},
		{`BEGIN; SELECT set_config('reconciler.writes_events', 'on', true); UPDATE agent_operations SET lease_until = NULL; COMMIT`, 1},
	} {
		if got := queued(tc.sql); got != tc.want {
			t.Errorf("%s queues %d, want %d", tc.sql, got, tc.want)
		}
	}
	if got := value[int64](t, conn, `SELECT count(*) FROM agent_operation_events WHERE to_status = 'unknown'`); got != 0 {
		t.Errorf("events of a reconciler that writes its own = %d, want 0", got)
	}
}

// A claim that another worker won meanwhile, and one upsert that claims.
func TestClaimsRaceForOneRow(t *testing.T) {
	t.Parallel()
	url := postgrestest.New(t)
	exec(t, postgrestest.Connect(t, url), oldInsert, "k")
	const workers = 8
	won := make(chan int64, workers)
	for range workers {
		conn := postgrestest.Connect(t, url)
		go func() {
			tag, err := conn.Exec(context.Background(), oldClaim, "k")
			if err != nil {
				t.Error(err)
			}
			won <- tag.RowsAffected()
		}()
	}
	var sum int64
	for range workers {
		sum += <-won
	}
	if sum != 1 {
		t.Errorf("claims that won = %d, want 1", sum)
	}
}

// Bulk loads must stay bulk: the triggers work per statement. The session has
// moved a single row before, for which it has made a plan; the square of the
// rows by that plan would not end within the timeout.
func TestBulkCopyAndBulkMove(t *testing.T) {
	t.Parallel()
	conn := fresh(t)
	const rows = 100_000
	exec(t, conn, oldInsert, "single")
	exec(t, conn, oldClaim, "single")
	exec(t, conn, `DELETE FROM agent_operation_changes; SET statement_timeout = '2min'`)
	at := time.Now()
	n, err := conn.CopyFrom(t.Context(), pgx.Identifier{"agent_operations"},
		[]string{"idempotency_key", "action_type", "status", "business_reference", "amount_minor", "currency", "created_at", "updated_at"},
		pgx.CopyFromSlice(rows, func(i int) ([]any, error) {
			return []any{fmt.Sprintf("v1:%064d", i), "payment_order.create", "executing", fmt.Sprintf("ref-%d", i), int64(i), "EUR", at, at}, nil
		}))
	if err != nil || n != rows {
		t.Fatalf("copy = %d rows, %v, want %d", n, err, rows)
	}
	t.Logf("copy of %d executing operations: %v", rows, time.Since(at))
	if got := value[int](t, conn, `SELECT count(*)::int FROM agent_operation_changes`); got != rows {
		t.Errorf("queued = %d, want %d", got, rows)
	}
	at = time.Now()
	exec(t, conn, `UPDATE agent_operations SET status = 'succeeded', provider_operation_id = idempotency_key, updated_at = now() WHERE business_reference IS NOT NULL`)
	t.Logf("move of all by a worker: %v", time.Since(at))
	if got := value[int](t, conn, `SELECT count(*)::int FROM agent_operation_events WHERE to_status = 'succeeded'`); got != rows {
		t.Errorf("events = %d, want %d", got, rows)
	}
}
