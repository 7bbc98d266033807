package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reconciler/reports"
)

// A slip of the hand is said, wherever it would otherwise look like nothing to do.
func TestSlipsAreSaid(t *testing.T) {
	t.Parallel()
	h := storyHarness(t)
	h.must(codeDone, "run")
	for _, c := range []struct {
		code int
		args []string
		want []string
	}{
		{codeDone, []string{"run", "--operation", "nope"}, []string{"no operation matches --operation nope"}},
		{codeDone, []string{"run", "--workflow", "W-nope", "--to", "2026-03-01", "-o", "json"}, []string{"no operation matches --workflow W-nope --to 2026-03-01"}},
		{codeDone, []string{"run", "--operation", "op-paid"}, []string{"nothing to examine for --operation op-paid: what it chooses is settled"}},
		{codeUsage, []string{"exceptions", "list", "--kind", "foo"}, []string{`--kind is "foo"`, "duplicate_effect", "statement_rejected", "coverage_gap"}},
		{codeUsage, []string{"ingest", "nope"}, []string{`no source "nope"; the configuration has: acme`}},
	} {
		_, stderr := h.must(c.code, c.args...)
		mustContain(t, stderr, c.want...)
	}
	for _, args := range [][]string{{"run"}, {"run", "--operation", "op-never"}} {
		if _, stderr := h.must(codeDone, args...); strings.Contains(stderr, "no operation matches") || strings.Contains(stderr, "nothing to examine") {
			t.Errorf("%v, which examines operations, complains:\n%s", args, stderr)
		}
	}
}

// What can be known before the database is opened is said before.
func TestSlipsAreSaidFirst(t *testing.T) {
	t.Parallel()
	h := newOffline(t)
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"run", "--statement", "absent.csv"}, []string{"there is no file", "absent.csv"}},
		{[]string{"run", "--statement", "statements"}, []string{"statements is a folder"}},
		{[]string{"ingest", "acme", "absent.csv"}, []string{"there is no file", "absent.csv"}},
		{[]string{"runn"}, []string{"there is no command 'reconciler runn'; did you mean run?", "--help"}},
		{[]string{"zebra"}, []string{"there is no command 'reconciler zebra' ("}},
	} {
		_, stderr := h.must(codeUsage, c.args...)
		mustContain(t, stderr, c.want...)
	}
	stdout, _ := h.must(codeDone)
	mustContain(t, stdout, "reconciler demo", "Exit codes")
	_, stderr := h.must(codeFailed, "operations")
	mustContain(t, stderr, "the database at localhost:1 can't be opened: connection refused")
	if n := strings.Count(stderr, "refused"); n != 1 {
		t.Errorf("the refusal is told %d times:\n%s", n, stderr)
	}
}

// Every kind for which a case is open can be asked for.
func TestKindsKnowEveryOpenCase(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, kind := range reports.NewWords().Kinds() {
		known[kind] = true
	}
	for _, code := range []string{
		"duplicate_effect", "amount_mismatch", "currency_mismatch", "amount_unknown", "partial_effect", "reversed_at_provider", "effect_after_failure",
		"refused", "refused_after_success", "pending_too_long", "absent_needs_decision", "coverage_gap", "unresolved_overdue", "missing_at_provider",
		"lease_overheld", "never_claimed", "ambiguous_reference", "evidence_changed", "unjournaled_effect", "statement_rejected", "statement_overdue",
		"record_key_conflict",
	} {
		if !known[code] {
			t.Errorf("kind %s can't be asked for", code)
		}
	}
	if known["confirmed"] || known["open"] {
		t.Error("what is no kind of a case can be asked for")
	}
}

// A hole in the coverage is counted where its end is told, in text and JSON.
func TestRunCountsGaps(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.writeStatement("acme-2026-03-01_2026-03-05.csv", acmeStatement(0, 0), past(8, 0))
	h.writeStatement("acme-2026-03-08_2026-03-10.csv", acmeStatement(0, 0), past(20, 0))
	stdout, _ := h.must(codeDone, "run")
	mustContain(t, stdout, "acme, account main: until 2026-03-11 00:00 UTC, with 1 gap; 'reconciler coverage acme' shows them")
	var got reports.Summary
	h.json(codeDone, &got, "run")
	if len(got.Coverage) != 1 || got.Coverage[0].Gaps != 1 {
		t.Errorf("coverage of run -o json = %+v, want 1 gap", got.Coverage)
	}
	got = reports.Summary{}
	h.json(codeDone, &got, "run", "--dry-run")
	if len(got.Coverage) != 1 || got.Coverage[0].Gaps != 1 {
		t.Errorf("coverage of a dry run = %+v, want 1 gap", got.Coverage)
	}
	stored, err := os.ReadFile(filepath.Join(h.dir, "out", "summary.json"))
	if err != nil || !strings.Contains(string(stored), `"gaps": 1`) {
		t.Errorf("summary.json lacks the gap (%v):\n%s", err, stored)
	}
}

// A record that a newer statement has replaced stands beside the current one,
// and says so everywhere.
func TestReplacedRecordIsMarked(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.operation("op", "ORD-1", 1000, past(2, 10))
	const name = "acme-2026-03-01_2026-03-05.csv"
	h.writeStatement(name, acmeStatement(1, 1000, "P1,ORD-1,10.00,EUR,D,ok,2026-03-02T10:00:05Z"), past(8, 0))
	h.must(codeDone, "run")
	h.writeStatement(name, acmeStatement(0, 0), past(9, 0))
	h.must(codeDone, "run")
	id := exceptionOf(h, "op")
	stdout, _ := h.must(codeDone, "exceptions", "show", id)
	mustContain(t, stdout, "replaced by a newer statement", "covered", "OCCURRED (UTC)")
	for _, raw := range []string{`{"`, `":`} {
		if strings.Contains(stdout, raw) {
			t.Errorf("exceptions show prints raw JSON:\n%s", stdout)
		}
	}
	csv, err := os.ReadFile(filepath.Join(h.dir, "out", "exceptions.csv"))
	if err != nil || !strings.Contains(string(csv), "replaced by a newer statement") {
		t.Errorf("exceptions.csv does not mark the replaced record (%v):\n%s", err, csv)
	}
	stdout, _ = h.must(codeDone, "explain", "op")
	mustContain(t, stdout, "replaced by a newer statement", "last attempt   2026-03-02 10:00 UTC, number 1")
}

// An adopted row counts attempts whose time nobody has recorded.
func TestExplainAdoptedAttempts(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.sql(`INSERT INTO agent_operations (idempotency_key, action_type, status, attempt_count, created_at, updated_at)
		VALUES ('old', 'pay', 'unknown', 1, '2026-03-02Z', '2026-03-02Z'), ('new', 'pay', 'planned', 0, now(), now())`)
	stdout, _ := h.must(codeDone, "explain", "old")
	mustContain(t, stdout, "last attempt   number 1, at a time that its writer did not record", "was due to become certain at")
	if strings.Contains(stdout, "by itself from") {
		t.Errorf("what was provable in the past is told as if it were to come:\n%s", stdout)
	}
	stdout, _ = h.must(codeDone, "explain", "new")
	mustContain(t, stdout, "last attempt   none")
	h.must(codeDone, "run")
	stdout, _ = h.must(codeDone, "operations")
	mustContain(t, stdout, ", waits for a statement", "PROVABLE AT (UTC)")
}

// The list of statements stays a table; the whole reason is one command away,
// and names a pattern as the configuration has it.
func TestReasonsAreShortInLists(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.writeStatement("acme-late.csv", acmeStatement(0, 0), past(8, 0))
	h.must(codeIncomplete, "run")
	stdout, _ := h.must(codeIncomplete, "run")
	list, _ := h.must(codeDone, "statements", "list")
	for _, line := range strings.Split(list, "\n") {
		if strings.Contains(line, "acme-late.csv") && !strings.HasSuffix(strings.TrimSpace(line), "…") {
			t.Errorf("the reason is not cut:\n%s", line)
		}
	}
	show, _ := h.must(codeDone, "statements", "show", "1")
	for _, text := range []string{stdout, show} {
		mustContain(t, text, `acme-(?P<from>\d{4}-\d{2}-\d{2})`)
	}
	if strings.Contains(show, "others") {
		t.Errorf("a statement without records speaks of others:\n%s", show)
	}
}

func TestStoredWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		stored, all int64
		want        string
	}{
		{5, 5, "5 records"},
		{1, 1, "1 record"},
		{0, 0, "0 records"},
		{0, 3, "nothing: all records were known already"},
		{3, 5, "3 records; 2 others were known already"},
		{4, 5, "4 records; 1 other was known already"},
	} {
		if got := storedWords(c.stored, c.all); got != c.want {
			t.Errorf("storedWords(%d, %d) = %q, want %q", c.stored, c.all, got, c.want)
		}
	}
}

func TestShorten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "short": "short", "exactly10c": "exactly10c", "пятнадцать букв": "пятнадцат…", "one two,  three": "one two…"} {
		if got := shorten(text, 10); got != want {
			t.Errorf("shorten(%q, 10) = %q, want %q", text, got, want)
		}
	}
}
