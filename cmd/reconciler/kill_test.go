package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"reconciler/postgres/postgrestest"
)

// program starts this test binary as the program itself, in a process of its own.
func (h *harness) program(ctx context.Context, args ...string) *exec.Cmd {
	h.tb.Helper()
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Dir = h.dir
	cmd.Env = append(os.Environ(), asProgram+"=1", "DATABASE_URL="+h.env["DATABASE_URL"])
	return cmd
}

// exitOf runs a command to its end and returns its exit code and what it said.
func exitOf(tb testing.TB, cmd *exec.Cmd) (int, string) {
	tb.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		tb.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// endState is every table, without what two runs may rightly differ in: run
// ids, instants of our own doing, and numbers out of sequences.
func (h *harness) endState() map[string][]string {
	h.tb.Helper()
	ctx := h.tb.Context()
	const volatile = `run_id first_run_id last_run_id event_id change_id statement_id superseded_by replaced_by
		accepted_at first_seen_at last_seen_at decided_at moved_at moved_updated_at worker_updated_at updated_at replaced_at at as_of
		digest evidence evidence_digest started_at finished_at summary retry_not_before not_before token holder acquired_at expires_at
		generation batch actor`
	rows, err := h.db.Query(ctx, `
		SELECT c.table_schema, c.table_name, string_agg(quote_ident(c.column_name), ', ' ORDER BY c.column_name)
		  FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
		 WHERE c.table_schema IN ('public', 'reconciler') AND t.table_type = 'BASE TABLE'
		   AND c.table_name NOT LIKE '%version' AND c.table_name NOT IN ('runs', 'job_locks')
		   AND NOT c.column_name = ANY($1)
		 GROUP BY 1, 2 ORDER BY 1, 2`, strings.Fields(volatile))
	if err != nil {
		h.tb.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) ([3]string, error) {
		var t [3]string
		err := row.Scan(&t[0], &t[1], &t[2])
		return t, err
	})
	if err != nil {
		h.tb.Fatal(err)
	}
	out := map[string][]string{}
	for _, t := range tables {
		rows, err := h.db.Query(ctx, fmt.Sprintf(`SELECT md5(string_agg(x, E'\n' ORDER BY x)), count(*) FROM (SELECT ROW(%s)::text AS x FROM %s.%s) AS rows`, t[2], t[0], t[1]))
		if err != nil {
			h.tb.Fatal(err)
		}
		sum, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
			var digest *string
			var n int64
			err := row.Scan(&digest, &n)
			if digest == nil {
				return fmt.Sprint(n), err
			}
			return fmt.Sprint(n, " ", *digest), err
		})
		if err != nil {
			h.tb.Fatal(err)
		}
		out[t[0]+"."+t[1]] = sum
	}
	return out
}

// bigCase fills a deployment with a statement of n lines and a journal of ops
// operations, of which some agree, some differ, some are absent, some doubled.
func bigCase(h *harness, n, ops int, at time.Time) {
	h.tb.Helper()
	var text bytes.Buffer
	text.WriteString("id,ref,amount,currency,dir,status,at\n")
	sum := int64(0)
	occurred := at.Add(time.Minute).Format(time.RFC3339)
	for i := range n {
		minor := int64(1000 + i%977)
		status := "ok"
		ref := fmt.Sprintf("R-%07d", i)
		if i < ops {
			switch i % 7 {
			case 1:
				status = "no"
			case 2:
				minor += 5
			case 3:
				ref = fmt.Sprintf("R-%07d", i-1)
			case 4:
				ref = "elsewhere-" + ref
			}
		}
		sum += minor
		fmt.Fprintf(&text, "P-%07d,%s,%d.%02d,EUR,D,%s,%s\n", i, ref, minor/100, minor%100, status, occurred)
	}
	fmt.Fprintf(&text, "Total,%d,%d.%02d,,,,\n", n, sum/100, sum%100)
	day := at.Format(time.DateOnly)
	h.writeStatement("acme-"+day+"_"+day+".csv", text.String(), at.AddDate(0, 0, 8))
	h.sql(`INSERT INTO agent_operations (idempotency_key, action_type, workflow_id, payload_hash, status, attempt_count, provider, account,
		       business_reference, amount_minor, currency, lease_until, created_at, updated_at, first_attempt_at, last_attempt_at)
		SELECT 'op-'||lpad(i::text, 7, '0'), 'pay', 'W-'||i%50, 'h', (ARRAY['unknown', 'executing', 'unknown', 'planned', 'failed_final'])[1 + i%5], 1,
		       'acme', 'main', 'R-'||lpad(i::text, 7, '0'), 1000 + i%977, 'EUR', $2, $2, $2, $2, $2
		  FROM generate_series(0, $1 - 1) AS i`, ops, at)
}

// Killed at any instant while loading or applying, and run again: the end
// state is that of a run that nobody disturbed.
func TestKilledAndRunAgain(t *testing.T) {
	t.Parallel()
	const lines, ops = 60_000, 6_000
	at := time.Now().UTC().AddDate(0, 0, -10).Truncate(24 * time.Hour).Add(10 * time.Hour)

	calm := newHarness(t)
	bigCase(calm, lines, ops, at)
	begun := time.Now()
	if code, out := exitOf(t, calm.program(t.Context(), "run")); code != codeDone {
		t.Fatalf("undisturbed run: exit code %d\n%s", code, out)
	}
	took := time.Since(begun)
	want := calm.endState()

	killed := newHarnessOn(t, postgrestest.New(t))
	bigCase(killed, lines, ops, at)
	kills := 0
	for attempt := range 12 {
		ctx, cancel := context.WithTimeout(t.Context(), took/12*time.Duration(attempt+1)+time.Duration(rand.Int64N(int64(took/20+1))))
		code, out := exitOf(t, killed.program(ctx, "run"))
		cancel()
		if code == codeDone {
			break
		}
		if code != -1 {
			t.Fatalf("attempt %d: exit code %d\n%s", attempt, code, out)
		}
		kills++
	}
	if code, out := exitOf(t, killed.program(t.Context(), "run")); code != codeDone {
		t.Fatalf("last run: exit code %d\n%s", code, out)
	}
	if kills < 3 {
		t.Errorf("only %d runs were killed; the test proves little", kills)
	}
	if diff := cmp.Diff(want, killed.endState()); diff != "" {
		t.Errorf("end state after %d kills (-undisturbed +killed):\n%s", kills, diff)
	}
	left, err := filepath.Glob(filepath.Join(killed.dir, "out", ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left over in the report's folder: %v %v", left, err)
	}
}

// Two runs at once: one works, the other says who does, and exits 75.
func TestTwoRunsAtOnce(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	bigCase(h, 100_000, 3_000, time.Now().UTC().AddDate(0, 0, -10).Truncate(24*time.Hour).Add(10*time.Hour))
	type end struct {
		code int
		out  string
	}
	ends := make(chan end, 2)
	for range 2 {
		cmd := h.program(t.Context(), "run")
		go func() {
			code, out := exitOf(t, cmd)
			ends <- end{code, out}
		}()
	}
	a, b := <-ends, <-ends
	if a.code > b.code {
		a, b = b, a
	}
	if a.code != codeDone || b.code != codeLocked {
		t.Fatalf("exit codes %d and %d, want 0 and %d\n%s\n%s", a.code, b.code, codeLocked, a.out, b.out)
	}
	if !strings.Contains(b.out, "holds the lock") {
		t.Errorf("the loser does not say why:\n%s", b.out)
	}
}

// A second run of the same changes nothing but the log of runs.
func TestRunTwice(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	bigCase(h, 3_000, 1_000, time.Now().UTC().AddDate(0, 0, -10).Truncate(24*time.Hour).Add(10*time.Hour))
	h.must(codeDone, "run")
	want := h.endState()
	events := h.text(`SELECT count(*) FROM agent_operation_events`) + " " + h.text(`SELECT count(*) FROM reconciler.exception_events`)
	h.must(codeDone, "run")
	if diff := cmp.Diff(want, h.endState()); diff != "" {
		t.Errorf("the second run changed (-first +second):\n%s", diff)
	}
	if again := h.text(`SELECT count(*) FROM agent_operation_events`) + " " + h.text(`SELECT count(*) FROM reconciler.exception_events`); again != events {
		t.Errorf("events: %s after the first run, %s after the second", events, again)
	}
	if runs := h.text(`SELECT count(*) FROM reconciler.runs`); runs != "2" {
		t.Errorf("%s runs in the log, want 2", runs)
	}
}
