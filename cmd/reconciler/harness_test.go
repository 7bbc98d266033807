package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reconciler/postgres/postgrestest"
)

// harness is a deployment for one test: a folder with a configuration and
// statements, and a database of its own. The program runs in this process.
type harness struct {
	tb testing.TB
	// dir is the folder of the configuration; statements are in dir/statements.
	dir string
	// env is what the program sees of the environment.
	env map[string]string
	db  *pgx.Conn
}

// smallConfig has one source, one policy that reviews, and one job.
const smallConfig = `database: {url: "${DATABASE_URL}"}
data_dir: data
sources:
  acme:
    accounts: [main]
    location: statements/acme-*.csv
    format: csv
    timezone: UTC
    fields:
      provider_operation_id: {column: id}
      business_reference: {column: ref}
      amount: {column: amount}
      currency: {column: currency}
      direction: {column: dir, map: {D: debit, C: credit}}
      kind: {value: payment}
      status: {column: status, map: {ok: succeeded, wait: pending, no: failed}}
      occurred_at: {column: at}
    completeness:
      period: {pattern: 'acme-(?P<from>\d{4}-\d{2}-\d{2})_(?P<to>\d{4}-\d{2}-\d{2})'}
      footer: {match: "^Total", count: ref, sum: amount}
      end: proven
    settlement_lag: 24h
    unjournaled: {pattern: "^ORD-"}
policies:
  pay:
    class: financial
    sources: [acme]
    effect: {kind: payment, direction: debit}
    on_absent: review
    key_ttl: 24h
jobs:
  payments: {action_types: [pay], sources: [acme], report: {dir: out, formats: [csv, json]}}
`

// newHarness makes a deployment with smallConfig and a migrated database.
func newHarness(tb testing.TB) *harness {
	tb.Helper()
	return newHarnessOn(tb, postgrestest.New(tb))
}

// newHarnessOn makes a deployment with smallConfig on the database at url.
func newHarnessOn(tb testing.TB, url string) *harness {
	tb.Helper()
	h := newOffline(tb)
	h.env["DATABASE_URL"] = url
	h.db = postgrestest.Connect(tb, url)
	return h
}

// newOffline makes a deployment with smallConfig whose database nobody can
// reach, for commands that need none.
func newOffline(tb testing.TB) *harness {
	tb.Helper()
	h := &harness{tb: tb, dir: tb.TempDir(), env: map[string]string{"DATABASE_URL": "postgres://nobody@localhost:1/none"}}
	if err := os.Mkdir(filepath.Join(h.dir, "statements"), 0o750); err != nil {
		tb.Fatal(err)
	}
	h.writeConfig(smallConfig)
	return h
}

// writeConfig replaces the configuration.
func (h *harness) writeConfig(text string) {
	h.tb.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, "reconciler.yaml"), []byte(text), 0o600); err != nil {
		h.tb.Fatal(err)
	}
}

// run runs the program with the deployment's configuration.
func (h *harness) run(args ...string) (code int, stdout, stderr string) {
	h.tb.Helper()
	var out, log bytes.Buffer
	env := maps.Clone(h.env)
	a := &app{
		args: args, stdin: strings.NewReader(""), stdout: &out, stderr: &log, dir: h.dir,
		env: func(name string) (string, bool) { value, ok := env[name]; return value, ok },
	}
	code = a.main(h.tb.Context())
	return code, out.String(), log.String()
}

// must runs the program, and fails the test unless it ends with the given code.
func (h *harness) must(code int, args ...string) (stdout, stderr string) {
	h.tb.Helper()
	got, stdout, stderr := h.run(args...)
	if got != code {
		h.tb.Fatalf("reconciler %s: exit code %d, want %d\nstdout:\n%s\nstderr:\n%s", strings.Join(args, " "), got, code, stdout, stderr)
	}
	return stdout, stderr
}

// json runs the program with --output json, and reads the one document that it
// must answer with.
func (h *harness) json(code int, into any, args ...string) {
	h.tb.Helper()
	stdout, _ := h.must(code, append(args, "--output", "json")...)
	dec := json.NewDecoder(strings.NewReader(stdout))
	if err := dec.Decode(into); err != nil {
		h.tb.Fatalf("reconciler %s: read the answer: %v\n%s", strings.Join(args, " "), err, stdout)
	}
	if dec.More() {
		h.tb.Fatalf("reconciler %s: more than one document on stdout:\n%s", strings.Join(args, " "), stdout)
	}
}

// sql executes a statement on the deployment's database.
func (h *harness) sql(query string, args ...any) {
	h.tb.Helper()
	if _, err := h.db.Exec(h.tb.Context(), query, args...); err != nil {
		h.tb.Fatalf("%s: %v", query, err)
	}
}

// text asks the database for one value, as text; "" for no row and for NULL.
func (h *harness) text(query string, args ...any) string {
	h.tb.Helper()
	rows, err := h.db.Query(h.tb.Context(), query, args...)
	if err != nil {
		h.tb.Fatalf("%s: %v", query, err)
	}
	values, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		all, err := row.Values()
		if err != nil || all[0] == nil {
			return "", err
		}
		return fmt.Sprint(all[0]), nil
	})
	if err != nil {
		h.tb.Fatalf("%s: %v", query, err)
	}
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// writeStatement puts a file under the deployment's statements, as if it had
// been modified at mtime.
func (h *harness) writeStatement(name, text string, mtime time.Time) {
	h.tb.Helper()
	path := filepath.Join(h.dir, "statements", name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.tb.Fatal(err)
	}
	if err := os.Chtimes(path, mtime, mtime); err != nil {
		h.tb.Fatal(err)
	}
}

// operation inserts an unknown operation of action type pay, of so many euro
// cents, that was created (and last touched) at a time.
func (h *harness) operation(key, reference string, cents int64, at time.Time) {
	h.tb.Helper()
	h.sql(`INSERT INTO agent_operations (idempotency_key, action_type, workflow_id, payload_hash, status, attempt_count, provider, account,
		       business_reference, amount_minor, currency, lease_until, created_at, updated_at, first_attempt_at, last_attempt_at)
		VALUES ($1, 'pay', 'W-1', 'sha256:'||$1, 'unknown', 1, 'acme', 'main', $2, $3, 'EUR', $4, $4, $4, $4, $4)`,
		key, reference, cents, at)
}

// acmeStatement writes a statement of smallConfig's source: rows of
// id,ref,amount,currency,dir,status,at, and the footer with their count and
// sum in hundredths.
func acmeStatement(count int, sumMinor int64, rows ...string) string {
	lines := append([]string{"id,ref,amount,currency,dir,status,at"}, rows...)
	lines = append(lines, fmt.Sprintf("Total,%d,%d.%02d,,,,", count, sumMinor/100, sumMinor%100))
	return strings.Join(lines, "\n") + "\n"
}
