package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// lifeCase has a complete statement of a day, with one payment that is there
// and one operation that is absent, and then a broken one of the same day, cut
// inside its last row.
func lifeCase(t *testing.T) (h *harness, name, good string, at time.Time) {
	t.Helper()
	h = newHarness(t)
	at = time.Now().UTC().AddDate(0, 0, -10).Truncate(24 * time.Hour)
	for i, key := range []string{"op-1", "op-2", "op-3"} {
		h.operation(key, "R-"+string(rune('1'+i)), int64(i+1)*1000, at.Add(10*time.Hour))
	}
	moment := at.Add(10*time.Hour + time.Minute).Format(time.RFC3339)
	good = acmeStatement(3, 6000, "P-1,R-1,10.00,EUR,D,ok,"+moment, "P-2,R-2,20.00,EUR,D,ok,"+moment, "P-3,R-3,30.00,EUR,D,ok,"+moment)
	day := at.Format(time.DateOnly)
	return h, "acme-" + day + "_" + day + ".csv", good, at
}

func (h *harness) newestStatement() string {
	h.tb.Helper()
	return h.text(`SELECT max(statement_id) FROM reconciler.statements`)
}

// What a person releases confirms, and proves nothing absent; the repaired
// delivery takes its place, and what only the released one had is gone.
func TestReleaseShowsPresenceNeverAbsence(t *testing.T) {
	t.Parallel()
	h, name, good, at := lifeCase(t)
	moment := at.Add(10*time.Hour + time.Minute).Format(time.RFC3339)
	first := acmeStatement(1, 1000, "P-1,R-1,10.00,EUR,D,ok,"+moment)
	h.writeStatement(name, first, at.AddDate(0, 0, 7))
	h.must(codeDone, "run")
	equalText(t, "op-2 with a complete statement that lacks it", h.text(`SELECT reason_code FROM reconciler.operation_decisions WHERE idempotency_key = 'op-2'`), "absent")

	// The newer one is cut inside the amount of its third row: 30.00 became 3.
	broken := strings.SplitAfter(good, "P-3,R-3,3")[0]
	h.writeStatement(name, broken, at.AddDate(0, 0, 8))
	h.must(codeIncomplete, "run")
	id := h.newestStatement()
	h.must(codeUsage, "statements", "release", id)
	h.must(codeUsage, "statements", "release", "99", "--reason", "x")
	stdout, _ := h.must(codeUsage, "statements", "release", "1", "--reason", "x")
	equalText(t, "stdout of a refused release", stdout, "")
	stdout, _ = h.must(codeDone, "statements", "release", id, "--reason", "the bank is closed")
	mustContain(t, stdout, "is released", "2 records, 1 of them new", "prove nothing absent")

	h.must(codeIncomplete, "run")
	equalText(t, "operations", h.text(`SELECT string_agg(status, ', ' ORDER BY idempotency_key) FROM agent_operations`), "succeeded, succeeded, unknown")
	equalText(t, "op-3, which the cut file does not show", h.text(`SELECT reason_code FROM reconciler.operation_decisions WHERE idempotency_key = 'op-3'`), "not_yet_provable")
	equalText(t, "coverage", h.text(`SELECT covered::text FROM reconciler.coverage`), "{}")
	equalText(t, "home of what both have", h.text(`SELECT statement_id FROM reconciler.records WHERE provider_operation_id = 'P-1'`), "1")
	if open := h.text(`SELECT state FROM reconciler.exceptions WHERE kind = 'statement_rejected'`); open != "auto_resolved" {
		t.Errorf("statement_rejected is %s, want auto_resolved", open)
	}
	var sum struct {
		Incomplete []string `json:"incomplete_because"`
	}
	h.json(codeIncomplete, &sum, "run")
	if len(sum.Incomplete) != 1 || !strings.Contains(sum.Incomplete[0], "released by") || !strings.Contains(sum.Incomplete[0], "the bank is closed") {
		t.Errorf("incomplete because of %q, want the release with who and why", sum.Incomplete)
	}
	stdout, _ = h.must(codeDone, "statements", "show", id)
	mustContain(t, stdout, "accepted", "not complete", "released by", "the bank is closed")

	// Repaired: P-2 was a mistake of the bank's.
	h.writeStatement(name, acmeStatement(1, 1000, "P-1,R-1,10.00,EUR,D,ok,"+moment)+"\n", at.AddDate(0, 0, 9))
	h.must(codeDone, "run")
	equalText(t, "current records", h.text(`SELECT string_agg(provider_operation_id, ' ') FROM reconciler.records`), "P-1")
	equalText(t, "op-2 keeps its status", h.text(`SELECT status FROM agent_operations WHERE idempotency_key = 'op-2'`), "succeeded")
	mustContain(t, h.text(`SELECT string_agg(kind, ' ') FROM reconciler.exceptions WHERE idempotency_key = 'op-2' AND state = 'open'`), "evidence_changed")
	equalText(t, "op-3", h.text(`SELECT reason_code FROM reconciler.operation_decisions WHERE idempotency_key = 'op-3'`), "absent")
}

// equalText compares what a test asked for.
func equalText(tb testing.TB, what, got, want string) {
	tb.Helper()
	if got != want {
		tb.Errorf("%s: %q, want %q", what, got, want)
	}
}

// The file that had been good comes again: what was released of the broken one
// in its place is taken back.
func TestReleasedThenOriginalComesAgain(t *testing.T) {
	t.Parallel()
	h, name, good, at := lifeCase(t)
	moment := at.Add(10*time.Hour + time.Minute).Format(time.RFC3339)
	first := acmeStatement(1, 1000, "P-1,R-1,10.00,EUR,D,ok,"+moment)
	h.writeStatement(name, first, at.AddDate(0, 0, 7))
	h.must(codeDone, "run")
	h.writeStatement(name, strings.Replace(good, "Total", "Totl", 1), at.AddDate(0, 0, 8))
	h.must(codeIncomplete, "run")
	h.must(codeDone, "statements", "release", h.newestStatement(), "--reason", "we need it")
	h.writeStatement(name, first, at.AddDate(0, 0, 9))
	h.must(codeDone, "run")
	equalText(t, "current records", h.text(`SELECT string_agg(provider_operation_id, ' ') FROM reconciler.records`), "P-1")
}

// A release is taken back by discarding it.
func TestReleaseTakenBack(t *testing.T) {
	t.Parallel()
	h, name, good, at := lifeCase(t)
	h.writeStatement(name, strings.Replace(good, "60.00", "61.00", 1), at.AddDate(0, 0, 8))
	h.must(codeIncomplete, "run")
	id := h.newestStatement()
	var answer releaseAnswer
	h.json(codeDone, &answer, "statements", "release", id, "--reason", "we need it")
	if answer.Records != 3 || answer.New != 3 || answer.ReleasedBy == "" {
		t.Errorf("release = %+v, want 3 new records and who did it", answer)
	}
	h.must(codeUsage, "statements", "release", id, "--reason", "once more")
	h.must(codeDone, "statements", "discard", id, "--reason", "it was another bank's")
	equalText(t, "current records", h.text(`SELECT count(*) FROM reconciler.records`), "0")
	mustContain(t, h.text(`SELECT state || reason FROM reconciler.statements`), "quarantined", "released by", "discarded by", "another bank's")
	h.must(codeUsage, "statements", "discard", id, "--reason", "again")
}

// A document of which nothing can be read can't be released.
func TestReleaseOfNothing(t *testing.T) {
	t.Parallel()
	h, name, good, at := lifeCase(t)
	h.writeStatement(name, strings.Replace(good, "id,ref", "id,reff", 1), at.AddDate(0, 0, 8))
	h.must(codeIncomplete, "run")
	_, stderr := h.must(codeUsage, "statements", "release", h.newestStatement(), "--reason", "we need it")
	mustContain(t, stderr, "no record of it can be read")
	equalText(t, "state", h.text(`SELECT state FROM reconciler.statements`), "quarantined")
}

func TestStatementsDiff(t *testing.T) {
	t.Parallel()
	h, name, good, at := lifeCase(t)
	h.writeStatement(name, good, at.AddDate(0, 0, 7))
	h.must(codeDone, "run")
	_, stderr := h.must(codeUsage, "statements", "diff", "1")
	mustContain(t, stderr, "in the place of no other")
	moment := at.Add(10*time.Hour + time.Minute).Format(time.RFC3339)
	h.writeStatement(name, acmeStatement(3, 5500, "P-1,R-1,10.00,EUR,D,ok,"+moment, "P-4,R-4,40.00,EUR,D,ok,"+moment, "P-2,R-2,5.00,EUR,D,wait,"+moment), at.AddDate(0, 0, 8))
	h.must(codeDone, "run")
	if err := os.Remove(filepath.Join(h.dir, "statements", name)); err != nil {
		t.Fatal(err)
	}

	var got diffAnswer
	h.json(codeDone, &got, "statements", "diff", "2")
	if diff := cmp.Diff(diffCounts{Same: 1, Added: 1, Changed: 1, Gone: 1}, got.Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	want := []diffField{{"status", "succeeded", "pending"}, {"provider_status", "ok", "wait"}, {"amount", "20.00", "5.00"}}
	if diff := cmp.Diff(want, got.Changed[0].Fields); diff != "" {
		t.Errorf("what changed of P-2 (-want +got):\n%s", diff)
	}
	var rested []string
	for _, o := range got.Operations {
		rested = append(rested, o.IdempotencyKey+" "+o.Status+" "+o.ReasonCode)
	}
	if diff := cmp.Diff([]string{"op-2 succeeded evidence_changed", "op-3 succeeded evidence_changed"}, rested); diff != "" {
		t.Errorf("operations that rested on it (-want +got):\n%s", diff)
	}
	stdout, _ := h.must(codeDone, "statements", "diff", "2")
	mustContain(t, stdout, "1 the same, 1 changed, 1 added, 1 gone", "P-4", "P-3", "amount", "20.00", "5.00", "op-3")
	h.json(codeDone, &got, "statements", "diff", "1", "2")
	equalText(t, "gone the other way round", got.Gone[0].ProviderOperationID, "P-4")
	stdout, _ = h.must(codeDone, "statements", "diff", "2", "1", "--limit", "0")
	mustContain(t, stdout, "1 more; --limit 1 lists them")
	h.must(codeUsage, "statements", "diff", "2", "7")

	// A broken third version is compared as far as it can be read.
	h.writeStatement(name, strings.Replace(good, "Total", "Totl", 1), at.AddDate(0, 0, 9))
	h.must(codeIncomplete, "run")
	h.json(codeDone, &got, "statements", "diff", h.newestStatement())
	if got.Before.StatementID != 2 || got.After.Records != 3 || !strings.Contains(got.After.Refused, "footer") {
		t.Errorf("diff of a broken version = %+v against %+v, want it against statement 2, with 3 records and why it was refused", got.After, got.Before)
	}
}

func TestStatementsReprocess(t *testing.T) {
	t.Parallel()
	h, name, good, at := lifeCase(t)
	h.writeStatement(name, good, at.AddDate(0, 0, 7))
	h.must(codeDone, "run")
	stdout, _ := h.must(codeDone, "statements", "reprocess", "acme")
	mustContain(t, stdout, "nothing to do")
	if err := os.Remove(filepath.Join(h.dir, "statements", name)); err != nil {
		t.Fatal(err)
	}
	asOf := h.text(`SELECT as_of FROM reconciler.statements`)
	h.writeConfig(strings.NewReplacer("ok: succeeded", "ok: pending", "settlement_lag: 24h", "production_delay: 48h\n    settlement_lag: 24h").Replace(smallConfig))
	var lines []reprocessLine
	h.json(codeDone, &lines, "statements", "reprocess", "acme")
	if len(lines) != 1 || lines[0].Before != 1 || lines[0].StatementID != 2 || lines[0].Changed != 3 || lines[0].State != "accepted" {
		t.Errorf("reprocess = %+v, want statement 1 read again as 2, with 3 changed records", lines)
	}
	equalText(t, "as_of of the new reading", h.text(`SELECT as_of FROM reconciler.statements WHERE statement_id = 2`), asOf)
	equalText(t, "statuses", h.text(`SELECT string_agg(DISTINCT status, ' ') FROM reconciler.records`), "pending")
	equalText(t, "the old reading", h.text(`SELECT state || superseded_by FROM reconciler.statements WHERE statement_id = 1`), "superseded2")
	_, stderr := h.must(codeUsage, "statements", "reprocess", "1")
	mustContain(t, stderr, "replaced by statement 2")
	stdout, _ = h.must(codeDone, "statements", "reprocess", "2")
	mustContain(t, stdout, "nothing to do")
	h.must(codeUsage, "statements", "reprocess", "elsewhere")

	// A mapping by which it can't be read: what was read before stands, but
	// proves nothing; mended, it is read again.
	h.writeConfig(strings.Replace(smallConfig, "count: ref", "count: reff", 1))
	stdout, _ = h.must(codeIncomplete, "statements", "reprocess", "acme")
	mustContain(t, stdout, "quarantined", "reff")
	h.writeConfig(smallConfig)
	h.must(codeDone, "statements", "reprocess", "acme")
	equalText(t, "statuses", h.text(`SELECT string_agg(DISTINCT status, ' ') FROM reconciler.records`), "succeeded")
	equalText(t, "current", h.text(`SELECT string_agg(state, ' ') FROM reconciler.statements WHERE superseded_by IS NULL`), "accepted")
}
