package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"reconciler/matcher"
	"reconciler/postgres/postgrestest"
	"reconciler/postgres/private"
)

// runIn runs the program in a directory, without any environment.
func runIn(t *testing.T, dir string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, log bytes.Buffer
	a := &app{
		args: args, stdin: strings.NewReader(""), stdout: &out, stderr: &log, dir: dir,
		env: func(string) (string, bool) { return "", false },
	}
	code = a.main(t.Context())
	return code, out.String(), log.String()
}

func mustDemo(t *testing.T, dir string, args ...string) string {
	t.Helper()
	code, stdout, stderr := runIn(t, dir, append([]string{"demo"}, args...)...)
	if code != codeDone {
		t.Fatalf("reconciler demo: exit code %d\nstdout:\n%s\nstderr:\n%s", code, stdout, stderr)
	}
	return stdout
}

// generous is how long a demo may take in a busy build; on two idle cores it
// takes a tenth of that.
const generous = 30 * time.Second

func TestDemo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	begun := time.Now()
	page := mustDemo(t, dir)
	if took := time.Since(begun); took > generous {
		t.Errorf("the demo took %s, want less than %s", took, generous)
	}
	for i, l := range strings.Split(page, "\n") {
		if utf8.RuneCountInString(l) > storyWidth || strings.Contains(l, "\x1b") || strings.HasSuffix(l, " ") {
			t.Errorf("line %d is wider than %d, has escapes, or ends in blanks: %q", i+1, storyWidth, l)
		}
	}
	// What it leaves can be worked with, and the next demo waits for that to end.
	folder := filepath.Join(dir, demoFolder)
	server, err := private.Start(t.Context(), private.Options{Dir: filepath.Join(folder, "data"), Fast: true})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop() //nolint:errcheck // it was stopped below, unless the test fails
	db := postgrestest.Connect(t, server.URL("postgres"))
	before := journalOf(t, db)
	config := filepath.Join(folder, "reconciler.yaml")
	if code, _, stderr := runIn(t, dir, "--config", config, "run"); code != codeDone {
		t.Fatalf("run after the demo: exit code %d\n%s", code, stderr)
	}
	if diff := cmp.Diff(before, journalOf(t, db)); diff != "" {
		t.Errorf("one more run changed the journal (-before +after):\n%s", diff)
	}
	if code, _, stderr := runIn(t, dir, "demo"); code != codeUsage || !strings.Contains(stderr, "somebody works with the database") {
		t.Errorf("a demo over one that is in use: exit code %d, %q", code, stderr)
	}
	if err := errors.Join(db.Close(t.Context()), server.Stop()); err != nil {
		t.Fatal(err)
	}
	checkResult(t, dir)
}

// checkResult tells the story again in the same folder, as JSON, and compares
// every conclusion with the table of scenes.
func checkResult(t *testing.T, dir string) {
	t.Helper()
	var res demoResult
	if err := json.Unmarshal([]byte(mustDemo(t, dir, "--output", "json")), &res); err != nil {
		t.Fatal(err)
	}
	first, last := map[string]matcher.ReasonCode{}, map[string]matcher.ReasonCode{}
	wantFirst, wantLast := map[string]matcher.ReasonCode{}, map[string]matcher.ReasonCode{}
	seen := make(map[matcher.ReasonCode]bool)
	for _, c := range res.First {
		first[c.Key] = c.Reason
		seen[c.Reason] = true
	}
	for _, c := range res.Operations {
		last[c.Key] = c.Reason
		seen[c.Reason] = true
	}
	for _, ch := range chapters() {
		for _, s := range ch.scenes {
			wantFirst[s.key], wantLast[s.key] = s.want, s.then
		}
	}
	if diff := cmp.Diff(wantFirst, first); diff != "" {
		t.Errorf("after the first run (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantLast, last); diff != "" {
		t.Errorf("at the end (-want +got):\n%s", diff)
	}
	for _, code := range append(tableCodes(t), matcher.UnjournaledEffect) {
		if !seen[code] {
			t.Errorf("no scene tells of %s", code)
		}
	}
	if len(res.Runs) != 3 {
		t.Fatalf("%d runs, want 3", len(res.Runs))
	}
	for i, run := range res.Runs {
		if run.Verdict != "exceptions" {
			t.Errorf("run %d is %s (%v), want exceptions", i+1, run.Verdict, run.Incomplete)
		}
	}
	again := res.Runs[2]
	if res.RowsAdded != 0 || len(again.Transitions) != 0 || again.Exceptions.Opened+again.Exceptions.AutoResolved != 0 || again.Statements.Accepted != 0 {
		t.Errorf("the same run again added %d rows, moved %d operations, opened %d and closed %d cases, accepted %d statements; want nothing of it",
			res.RowsAdded, len(again.Transitions), again.Exceptions.Opened, again.Exceptions.AutoResolved, again.Statements.Accepted)
	}
	for _, file := range append(res.Report, res.Config) {
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			t.Errorf("the demo names a file that is not there: %v", err)
		}
	}
}

// tableCodes are the reason codes of the decision table.
func tableCodes(t *testing.T) []matcher.ReasonCode {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "testdata", "decisions.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // only read
	r := csv.NewReader(f)
	r.Comment = '#'
	header, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.Index(header, "reason")
	if at < 0 {
		t.Fatalf("the decision table has no column reason: %v", header)
	}
	var codes []matcher.ReasonCode
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return slices.Compact(slices.Sorted(slices.Values(codes)))
		}
		if err != nil {
			t.Fatal(err)
		}
		codes = append(codes, matcher.ReasonCode(row[at]))
	}
}

// journalOf is the journal with its audit trail, and the number of cases.
func journalOf(t *testing.T, db *pgx.Conn) []string {
	t.Helper()
	rows, err := db.Query(t.Context(), `
		SELECT o::text FROM agent_operations o
		UNION ALL SELECT e::text FROM agent_operation_events e
		UNION ALL SELECT 'conclusion ' || count(*) FROM reconciler.operation_decisions
		UNION ALL SELECT 'case ' || exception_id || state FROM reconciler.exceptions
		UNION ALL SELECT 'event ' || count(*) FROM reconciler.exception_events
		ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func TestDemoLeavesOtherFoldersAlone(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{"any file": "notes.txt", "a configuration of one's own": "reconciler.yaml"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, demoFolder, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("database: {private: true}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			code, _, stderr := runIn(t, dir, "demo")
			if code != codeUsage || !strings.Contains(stderr, "was not made by a demo") {
				t.Errorf("exit code %d, %q; want %d and why", code, stderr, codeUsage)
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("the file of somebody else is gone: %v", err)
			}
		})
	}
}

// Every conclusion has words, and every command that the demo names exists.
func TestDemoWords(t *testing.T) {
	t.Parallel()
	for _, code := range append(tableCodes(t), matcher.UnjournaledEffect) {
		if m := meaningOf(conclusion{Reason: code}); m.words == "" || m.next == "" || strings.Contains(m.words, "not examined") {
			t.Errorf("%s has no words: %+v", code, m)
		}
	}
	root := (&app{}).root()
	for _, try := range demoNext() {
		cmd, rest, err := root.Find(strings.Fields(try))
		if err != nil || cmd == root {
			t.Errorf("the demo names %q, which is no command (%v)", try, err)
			continue
		}
		if err := cmd.ParseFlags(rest); err != nil {
			t.Errorf("the demo names %q: %v", try, err)
		}
	}
}
