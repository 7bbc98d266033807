package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// exceptionOf is the id of the case of an operation.
func exceptionOf(h *harness, key string) string {
	h.tb.Helper()
	id := h.text(`SELECT exception_id FROM reconciler.exceptions WHERE idempotency_key = $1`, key)
	if id == "" {
		h.tb.Fatalf("operation %s has no exception", key)
	}
	return id
}

func TestExceptionsList(t *testing.T) {
	t.Parallel()
	h := storyHarness(t)
	stdout, _ := h.must(codeDone, "exceptions", "list")
	mustContain(t, stdout, "no exceptions")
	h.must(codeDone, "run")
	stdout, _ = h.must(codeDone, "exceptions", "list")
	mustContain(t, stdout, "critical", "duplicate_effect", "op-twice", "20.00 EUR", "absent_needs_decision", "op-never", "open")
	if strings.Index(stdout, "op-twice") > strings.Index(stdout, "op-never") {
		t.Errorf("the worst case does not come first:\n%s", stdout)
	}
	kinds := func(args ...string) (out []string) {
		t.Helper()
		var lines []exceptionLine
		h.json(codeDone, &lines, append([]string{"exceptions", "list"}, args...)...)
		for _, l := range lines {
			out = append(out, l.Kind)
		}
		return out
	}
	if diff := cmp.Diff([]string{"duplicate_effect"}, kinds("--kind", "duplicate_effect")); diff != "" {
		t.Errorf("--kind (-want +got):\n%s", diff)
	}
	// The provider withdraws the second payment: its case closes by itself.
	h.writeStatement("acme-2026-03-01_2026-03-05.csv", acmeStatement(3, 8000, "P1,ORD-1,10.00,EUR,D,ok,2026-03-02T10:00:05Z",
		"P2,ORD-2,20.00,EUR,D,ok,2026-03-02T10:00:05Z", "P5,ORD-5,50.00,EUR,D,no,2026-03-02T10:00:05Z"), past(9, 0))
	h.must(codeDone, "run")
	for _, c := range []struct{ args, want []string }{
		{[]string{"--kind", "duplicate_effect"}, nil},
		{[]string{"--kind", "duplicate_effect", "--all"}, []string{"duplicate_effect"}},
		{[]string{"--state", "auto_resolved"}, []string{"duplicate_effect"}},
		{[]string{"--state", "acknowledged"}, nil},
	} {
		if diff := cmp.Diff(c.want, kinds(c.args...)); diff != "" {
			t.Errorf("exceptions list %v (-want +got):\n%s", c.args, diff)
		}
	}
	h.must(codeUsage, "exceptions", "list", "--state", "shut")
	h.must(codeUsage, "exceptions", "list", "--all", "--state", "open")
}

func TestExceptionsShow(t *testing.T) {
	t.Parallel()
	h := storyHarness(t)
	h.writeStatement("acme-2026-03-06_2026-03-06.csv", acmeStatement(7, 1000, "P9,ORD-9,10.00,EUR,D,ok,2026-03-06T10:00:05Z"), past(8, 0))
	h.must(codeIncomplete, "run")
	id := exceptionOf(h, "op-twice")
	stdout, _ := h.must(codeDone, "exceptions", "show", strings.ToLower(id))
	mustContain(t, stdout, id, "Done twice", "critical", "what to do", "20.00 EUR", "op-twice (pay), succeeded now", "an effect may stand between",
		"P2", "P3", "history", "opened by reconciler/payments", `reconciler explain "op-twice"`)

	var got exceptionAnswer
	h.json(codeDone, &got, "exceptions", "show", id)
	if got.Operation == nil || got.Operation.Status != "succeeded" || len(got.History) != 1 || !strings.Contains(string(got.Evidence), `"P3"`) {
		t.Errorf("exceptions show -o json = %+v, want operation, history and evidence", got)
	}
	id = h.text(`SELECT exception_id FROM reconciler.exceptions WHERE kind = 'statement_rejected'`)
	stdout, _ = h.must(codeDone, "exceptions", "show", id)
	mustContain(t, stdout, "Statement refused", "acme-2026-03-06_2026-03-06.csv", "sha256")
	_, stderr := h.must(codeUsage, "exceptions", "show", "EX-NOTHING")
	mustContain(t, stderr, `no exception "EX-NOTHING"`)
}

// Acknowledging is a step of the history, happens once, and has the operation
// looked at again, now as one that a person has seen.
func TestExceptionsAcknowledge(t *testing.T) {
	t.Parallel()
	h := storyHarness(t)
	h.must(codeDone, "run")
	id := exceptionOf(h, "op-never")
	if queued := h.text(`SELECT count(*) FROM agent_operation_changes WHERE idempotency_key = 'op-never'`); queued != "1" {
		t.Fatalf("op-never, which is open, is queued %s times, want once", queued)
	}

	var got acknowledged
	h.json(codeDone, &got, "exceptions", "acknowledge", id, "--comment", "asked the bank")
	if !got.Changed || got.State != "acknowledged" || got.Actor == "" {
		t.Errorf("first acknowledgement = %+v, want changed, by somebody", got)
	}
	if queued := h.text(`SELECT count(*) FROM agent_operation_changes WHERE idempotency_key = 'op-never'`); queued != "2" {
		t.Errorf("after the acknowledgement op-never is queued %s times, want once more", queued)
	}
	got = acknowledged{}
	h.json(codeDone, &got, "exceptions", "acknowledge", id)
	if got.Changed {
		t.Errorf("second acknowledgement = %+v, want no change", got)
	}
	stdout, _ := h.must(codeDone, "exceptions", "acknowledge", id, "--comment", "they will call back")
	mustContain(t, stdout, "acknowledged already", "the comment was added")
	stdout, _ = h.must(codeDone, "exceptions", "show", id)
	mustContain(t, stdout, "acknowledged by "+got.Actor+": asked the bank", "commented by "+got.Actor+": they will call back")
	if n := strings.Count(stdout, "acknowledged by"); n != 1 {
		t.Errorf("the history has %d acknowledgements, want 1:\n%s", n, stdout)
	}

	// The next run keeps it acknowledged.
	h.must(codeDone, "run")
	if state := h.text(`SELECT state FROM reconciler.exceptions WHERE exception_id = $1`, id); state != "acknowledged" {
		t.Errorf("after a run the case is %s, want still acknowledged", state)
	}
	h.must(codeUsage, "exceptions", "acknowledge", "EX-NOTHING")
}

// Who has taken up a case may have called the provider: no permit follows by
// itself, not even after the case has closed.
func TestAcknowledgeStopsPermits(t *testing.T) {
	t.Parallel()
	h := storyHarness(t)
	h.operation("op-closed", "ORD-8", 8000, past(2, 10))
	h.must(codeDone, "run")
	for _, key := range []string{"op-never", "op-closed"} {
		h.must(codeDone, "exceptions", "acknowledge", exceptionOf(h, key))
	}
	h.sql(`UPDATE reconciler.exceptions SET state = 'auto_resolved' WHERE idempotency_key = 'op-closed'`)
	h.writeConfig(strings.Replace(smallConfig, "on_absent: review", "on_absent: retry\n    retry_needs: absence\n    sender_deadline: enforced\n    max_retry_age: 876000h", 1))
	h.operation("op-fresh", "ORD-7", 7000, past(2, 10))
	h.must(codeDone, "run")
	if got := h.text(`SELECT status FROM agent_operations WHERE idempotency_key = 'op-fresh'`); got != "failed_retryable" {
		t.Fatalf("op-fresh, which nobody has seen, is %s; want a permit, or this test proves nothing", got)
	}
	for _, key := range []string{"op-never", "op-closed"} {
		if got := h.text(`SELECT status FROM agent_operations WHERE idempotency_key = $1`, key); got != "unknown" {
			t.Errorf("%s, which a person has taken up, is %s; want it to stay unknown", key, got)
		}
	}
}

func TestAcknowledgeRefusesClosed(t *testing.T) {
	t.Parallel()
	h := storyHarness(t)
	h.must(codeDone, "run")
	id := exceptionOf(h, "op-never")
	for _, state := range []string{"resolved", "auto_resolved"} {
		h.sql(`UPDATE reconciler.exceptions SET state = $2 WHERE exception_id = $1`, id, state)
		_, stderr := h.must(codeUsage, "exceptions", "acknowledge", id)
		mustContain(t, stderr, "closed ("+state+")")
		if got := h.text(`SELECT state FROM reconciler.exceptions WHERE exception_id = $1`, id); got != state {
			t.Errorf("a refused acknowledgement made %s of %s", got, state)
		}
	}
}
