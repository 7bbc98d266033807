package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"reconciler/reports"
)

// flagsCase is a deployment with two workflows: op-a and op-b claim the same
// record from different ones, op-c and op-d have their own, op-e has none.
func flagsCase(t *testing.T) *harness {
	t.Helper()
	h := newHarness(t)
	at := brokenAt()
	for i, key := range []string{"op-a", "op-b", "op-c", "op-d", "op-e"} {
		reference := fmt.Sprintf("ORD-%d", max(i, 1))
		h.sql(`INSERT INTO agent_operations (idempotency_key, action_type, workflow_id, payload_hash, status, attempt_count, provider, account,
			       business_reference, amount_minor, currency, lease_until, created_at, updated_at)
			VALUES ($1, 'pay', $2, 'h', 'unknown', 1, 'acme', 'main', $3, 1000, 'EUR', $4, $4, $4)`,
			key, fmt.Sprintf("W-%d", i%2+1), reference, at.Add(time.Duration(i)*time.Hour))
	}
	shown := at.Add(5 * time.Hour).Format(time.RFC3339)
	h.writeStatement(flagsStatement(), acmeStatement(3, 3000, "P1,ORD-1,10.00,EUR,D,ok,"+shown, "P2,ORD-2,10.00,EUR,D,ok,"+shown, "P3,ORD-3,10.00,EUR,D,ok,"+shown),
		at.AddDate(0, 0, 7))
	return h
}

func flagsStatement() string {
	day := brokenAt().Format(time.DateOnly)
	return "acme-" + day + "_" + day + ".csv"
}

// moved lists the operations that are not unknown any more, and those that a
// run has looked at.
func moved(h *harness) (out, examined string) {
	h.tb.Helper()
	out = h.text(`SELECT string_agg(idempotency_key, ' ' ORDER BY idempotency_key) FROM agent_operations WHERE status <> 'unknown'`)
	return out, h.text(`SELECT string_agg(idempotency_key, ' ' ORDER BY idempotency_key) FROM reconciler.operation_decisions`)
}

// The flags choose operations; a rival outside of what they choose contests
// all the same.
func TestFlagsChooseOperationsOnly(t *testing.T) {
	t.Parallel()
	at := brokenAt()
	for name, c := range map[string]struct {
		args            []string
		moved, examined string
	}{
		"one workflow":        {[]string{"--workflow", "W-1"}, "op-c", "op-a op-c op-e"},
		"the other workflow":  {[]string{"--workflow", "W-2"}, "op-d", "op-b op-d"},
		"no such workflow":    {[]string{"--workflow", "W-9"}, "", ""},
		"one operation":       {[]string{"--operation", "op-a"}, "", "op-a"},
		"another operation":   {[]string{"--operation", "op-d"}, "op-d", "op-d"},
		"from":                {[]string{"--from", at.Add(2 * time.Hour).Format(time.RFC3339)}, "op-c op-d", "op-c op-d op-e"},
		"to, exclusive":       {[]string{"--to", at.Add(2 * time.Hour).Format(time.RFC3339)}, "", "op-a op-b"},
		"to, a whole day":     {[]string{"--to", at.Format(time.DateOnly)}, "op-c op-d", "op-a op-b op-c op-d op-e"},
		"from the day after":  {[]string{"--from", at.AddDate(0, 0, 1).Format(time.DateOnly)}, "", ""},
		"workflow and before": {[]string{"--workflow", "W-1", "--to", at.Add(3 * time.Hour).Format(time.RFC3339)}, "op-c", "op-a op-c"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := flagsCase(t)
			h.must(codeDone, append([]string{"run", "payments"}, c.args...)...)
			gotMoved, gotExamined := moved(h)
			if gotMoved != c.moved || gotExamined != c.examined {
				t.Errorf("moved %q and examined %q, want %q and %q", gotMoved, gotExamined, c.moved, c.examined)
			}
			// Whatever was chosen first, the whole job ends in the same state.
			h.must(codeDone, "run")
			if gotMoved, _ = moved(h); gotMoved != "op-c op-d" {
				t.Errorf("the whole job then moved %q, want op-c op-d", gotMoved)
			}
			if got := h.text(`SELECT string_agg(kind || ' ' || idempotency_key, ', ' ORDER BY idempotency_key) FROM reconciler.exceptions WHERE state = 'open'`); got !=
				"ambiguous_reference op-a, ambiguous_reference op-b, absent_needs_decision op-e" {
				t.Errorf("open cases: %s", got)
			}
		})
	}
	h := newOffline(t)
	for _, args := range [][]string{{"--from", "yesterday"}, {"--to", "2026-13-01"}, {"--workflow"}, {"--no-such-flag"}} {
		h.must(codeUsage, append([]string{"run"}, args...)...)
	}
}

// --statement reads a file in place of what the source lists, and goes by its
// name as the listing would.
func TestStatementFlag(t *testing.T) {
	t.Parallel()
	h := flagsCase(t)
	late := filepath.Join(h.dir, "late")
	if err := os.Mkdir(late, 0o750); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(late, flagsStatement())
	if err := os.Rename(filepath.Join(h.dir, "statements", flagsStatement()), file); err != nil {
		t.Fatal(err)
	}
	day := brokenAt().AddDate(0, 0, 1).Format(time.DateOnly)
	h.writeStatement("acme-"+day+"_"+day+".csv", "broken", brokenAt().AddDate(0, 0, 7))
	h.must(codeDone, "run", "payments", "--statement", "late/"+flagsStatement())
	if got, _ := moved(h); got != "op-c op-d" {
		t.Errorf("moved %q, want op-c op-d", got)
	}
	if names := h.text(`SELECT string_agg(name, ' ') FROM reconciler.statements`); names != flagsStatement() {
		t.Errorf("statements %q, want %q and not what the source lists", names, flagsStatement())
	}
	_, stderr := h.must(codeUsage, "run", "payments", "--statement", "late/nowhere.csv")
	mustContain(t, stderr, "nowhere.csv")
	h.must(codeIncomplete, "run")
}

// everything is the number of rows of every table and the names and bytes of
// every file of the deployment.
func everything(h *harness) map[string]string {
	h.tb.Helper()
	out := map[string]string{}
	rows, err := h.db.Query(h.tb.Context(), `SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname IN ('public', 'reconciler')`)
	if err != nil {
		h.tb.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		h.tb.Fatal(err)
	}
	for _, table := range tables {
		out[table] = h.text(fmt.Sprintf(`SELECT count(*) || ' ' || coalesce(md5(string_agg(t::text, E'\n' ORDER BY t::text)), '') FROM %s t`, table))
	}
	err = filepath.WalkDir(h.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			out[path] = "folder"
			return err
		}
		content, err := os.ReadFile(path)
		out[path] = string(content)
		return err
	})
	if err != nil {
		h.tb.Fatal(err)
	}
	return out
}

// A dry run tells what the next run does, on new statements too, and leaves
// nothing behind: no row, no file.
func TestDryRun(t *testing.T) {
	t.Parallel()
	h := flagsCase(t)
	before := everything(h)
	var dry, did reports.Summary
	h.json(codeDone, &dry, "run", "payments", "--dry-run")
	h.must(codeExceptions, "run", "payments", "--dry-run", "--exit-code")
	stdout, _ := h.must(codeDone, "run", "--dry-run")
	mustContain(t, stdout, "nothing was stored", "op-c", "succeeded")
	if diff := cmp.Diff(before, everything(h)); diff != "" {
		t.Errorf("the dry run left something behind (-before +after):\n%s", diff)
	}
	h.json(codeDone, &did, "run", "payments")
	if !dry.DryRun || did.DryRun {
		t.Errorf("dry_run is %t and %t, want true and false", dry.DryRun, did.DryRun)
	}
	if len(dry.Transitions) != 2 {
		t.Errorf("transitions of the dry run: %v, want two", dry.Transitions)
	}
	dry.RunID, dry.StartedAt, dry.FinishedAt, dry.DryRun = did.RunID, did.StartedAt, did.FinishedAt, false
	if diff := cmp.Diff(dry, did); diff != "" {
		t.Errorf("what the dry run foretold (-foretold +done):\n%s", diff)
	}
	// A second one foretells that nothing happens, whatever a broken file says.
	before = everything(h)
	h.json(codeDone, &dry, "run", "payments", "--dry-run")
	if len(dry.Transitions) != 0 || dry.Exceptions.Opened != 0 {
		t.Errorf("a second dry run foretells %v and %d cases, want nothing", dry.Transitions, dry.Exceptions.Opened)
	}
	h.writeStatement(flagsStatement(), "broken", brokenAt().AddDate(0, 0, 8))
	before[filepath.Join(h.dir, "statements", flagsStatement())] = "broken"
	h.must(codeIncomplete, "run", "--dry-run")
	if diff := cmp.Diff(before, everything(h)); diff != "" {
		t.Errorf("a dry run on a broken statement left something behind (-before +after):\n%s", diff)
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	h := flagsCase(t)
	h.must(codeDone, "run")
	h.must(codeExceptions, "run", "--exit-code")
	h.writeStatement(flagsStatement(), "broken", brokenAt().AddDate(0, 0, 8))
	h.must(codeIncomplete, "run", "--exit-code")
	_, stderr := h.must(codeUsage, "run", "salaries")
	mustContain(t, stderr, "salaries", "payments")

	quiet := newHarness(t)
	quiet.writeStatement(flagsStatement(), acmeStatement(0, 0), brokenAt().AddDate(0, 0, 7))
	quiet.must(codeDone, "run", "--exit-code")
}

func TestBrokenConfiguration(t *testing.T) {
	t.Parallel()
	h := newOffline(t)
	line := func(part string) string {
		before, _, ok := strings.Cut(smallConfig, part)
		if !ok {
			t.Fatalf("the configuration lacks %q", part)
		}
		return fmt.Sprintf("reconciler.yaml:%d: ", strings.Count(before, "\n")+1)
	}
	for name, c := range map[string]struct {
		old, with string
		want      []string
	}{
		"unknown key":      {"settlement_lag: 24h", "setlement_lag: 24h", []string{line("settlement_lag"), "sources.acme.setlement_lag: ", "unknown key"}},
		"bad value":        {"on_absent: review", "on_absent: guess", []string{line("on_absent"), "policies.pay.on_absent: ", "guess"}},
		"bad duration":     {"settlement_lag: 24h", "settlement_lag: 24", []string{line("settlement_lag"), "sources.acme.settlement_lag: "}},
		"missing variable": {"${DATABASE_URL}", "${NOT_SET}", []string{"reconciler.yaml:1: ", "database.url: ", "NOT_SET"}},
		"unknown source":   {"sources: [acme], report", "sources: [acne], report", []string{"reconciler.yaml:", "jobs.payments.sources", "acne"}},
		"not YAML":         {"jobs:", "jobs: [", []string{"reconciler.yaml:"}},
		"no database":      {`database: {url: "${DATABASE_URL}"}`, "", []string{"reconciler.yaml", "database"}},
	} {
		h.writeConfig(strings.Replace(smallConfig, c.old, c.with, 1))
		for _, command := range []string{"run", "ingest acme", "config check"} {
			stdout, stderr := h.must(codeUsage, strings.Fields(command)...)
			if stdout != "" && command != "config check" {
				t.Errorf("%s: %s prints on stdout: %s", name, command, stdout)
			}
			mustContain(t, stdout+stderr, c.want...)
		}
	}
	if err := os.Remove(filepath.Join(h.dir, "reconciler.yaml")); err != nil {
		t.Fatal(err)
	}
	_, stderr := h.must(codeUsage, "run")
	mustContain(t, stderr, "reconciler.yaml")
}

func TestConfigFromEnvironment(t *testing.T) {
	t.Parallel()
	h := flagsCase(t)
	if err := os.Rename(filepath.Join(h.dir, "reconciler.yaml"), filepath.Join(h.dir, "other.yaml")); err != nil {
		t.Fatal(err)
	}
	h.must(codeUsage, "run")
	h.env["RECONCILER_CONFIG"] = filepath.Join(h.dir, "other.yaml")
	h.must(codeDone, "run")
	_, stderr := h.must(codeUsage, "run", "--config", "missing.yaml")
	mustContain(t, stderr, "missing.yaml")
	delete(h.env, "RECONCILER_CONFIG")
	h.must(codeDone, "run", "--config", "other.yaml")
}

// One document on stdout, as the published schema says, also where things are wrong.
func TestSummaryFollowsItsSchema(t *testing.T) {
	t.Parallel()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(reports.SummarySchema()))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("summary.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("summary.json")
	if err != nil {
		t.Fatal(err)
	}
	h := flagsCase(t)
	check := func(code int, args ...string) {
		t.Helper()
		var one any
		h.json(code, &one, args...)
		stdout, _ := h.must(code, append(args, "-o", "json")...)
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(stdout))
		if err != nil {
			t.Fatalf("reconciler %s: stdout is not one JSON document: %v\n%s", strings.Join(args, " "), err, stdout)
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("reconciler %s: the summary does not follow its schema: %v", strings.Join(args, " "), err)
		}
	}
	check(codeDone, "run", "--dry-run")
	check(codeDone, "run")
	check(codeExceptions, "run", "--exit-code")
	h.writeStatement(flagsStatement(), "broken", brokenAt().AddDate(0, 0, 8))
	check(codeIncomplete, "run")
	file, err := os.Open(filepath.Join(h.dir, "out", "summary.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // only read from
	value, err := jsonschema.UnmarshalJSON(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(value); err != nil {
		t.Errorf("summary.json does not follow its schema: %v", err)
	}
	if stdout, _ := h.must(codeUsage, "run", "salaries", "-o", "json"); stdout != "" {
		t.Errorf("a usage error prints on stdout:\n%s", stdout)
	}
}

// An outage is no finding: nothing is called absent because something is not there.
func TestOutages(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.writeConfig(strings.Replace(smallConfig, "on_absent: review", "on_absent: fail", 1))
	h.operation("op-1", "ORD-1", 1000, brokenAt())
	if err := os.RemoveAll(filepath.Join(h.dir, "statements")); err != nil {
		t.Fatal(err)
	}
	stdout, _ := h.must(codeIncomplete, "run")
	mustContain(t, stdout, "statements", "no such file or directory")
	if got := h.text(`SELECT o.status || ' ' || s.reason_code FROM agent_operations o JOIN reconciler.operation_status s USING (idempotency_key)`); got != "unknown not_yet_provable" {
		t.Errorf("after an outage of the source the operation is %s, want unknown not_yet_provable", got)
	}

	down := newOffline(t)
	for _, args := range [][]string{{"run"}, {"run", "--dry-run"}, {"run", "-o", "json"}, {"ingest", "acme"}, {"operations"}, {"explain", "op-1"}} {
		stdout, stderr := down.must(codeFailed, args...)
		mustContain(t, stderr, "reconciler: ", "connect")
		if stdout != "" {
			t.Errorf("%v without a database prints on stdout:\n%s", args, stdout)
		}
	}
}

// Everything with a database of the program's own, started and stopped by each run.
func TestPrivateDatabase(t *testing.T) {
	t.Parallel()
	h := newOffline(t)
	delete(h.env, "DATABASE_URL")
	h.writeConfig(strings.Replace(smallConfig, `{url: "${DATABASE_URL}"}`, "{private: true}", 1))
	h.writeStatement(flagsStatement(), acmeStatement(1, 1000, "P1,ORD-1,10.00,EUR,D,ok,"+brokenAt().Format(time.RFC3339)), brokenAt().AddDate(0, 0, 7))
	var first, second reports.Summary
	h.json(codeDone, &first, "run")
	if first.Statements.Accepted != 1 || first.Records.New != 1 || first.Verdict != "exceptions" || first.Exceptions.ByKind["unjournaled_effect"] != 1 {
		t.Errorf("the first run: %+v, want one statement with one record that no operation has", first)
	}
	h.json(codeDone, &second, "run")
	if second.Statements.Duplicate != 1 || second.Records.New != 0 || second.Exceptions.Opened != 0 || second.Exceptions.StillOpen != 1 {
		t.Errorf("the second run: %+v, want that everything is known", second)
	}
	var list []statementLine
	h.json(codeDone, &list, "statements", "list")
	if len(list) != 1 {
		t.Errorf("statements %+v, want one", list)
	}
}
