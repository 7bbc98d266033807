package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// storyHarness is a deployment in which every operation has another story:
// paid once, paid twice, never paid, too young to tell, refused.
func storyHarness(t *testing.T) *harness {
	t.Helper()
	h := newHarness(t)
	h.operation("op-paid", "ORD-1", 1000, past(2, 10))
	h.operation("op-twice", "ORD-2", 2000, past(2, 10))
	h.operation("op-never", "ORD-3", 3000, past(2, 10))
	h.operation("op-young", "ORD-4", 4000, time.Now().Add(-time.Hour))
	h.operation("op-refused", "ORD-5", 5000, past(2, 10))
	h.writeStatement("acme-2026-03-01_2026-03-05.csv", acmeStatement(4, 10000,
		"P1,ORD-1,10.00,EUR,D,ok,2026-03-02T10:00:05Z",
		"P2,ORD-2,20.00,EUR,D,ok,2026-03-02T10:00:05Z",
		"P3,ORD-2,20.00,EUR,D,ok,2026-03-02T11:00:05Z",
		"P5,ORD-5,50.00,EUR,D,no,2026-03-02T10:00:05Z"), past(8, 0))
	return h
}

func TestExplainStories(t *testing.T) {
	t.Parallel()
	h := storyHarness(t)
	h.must(codeDone, "run")
	for key, want := range map[string][]string{
		"op-paid": {
			"op-paid is succeeded", "10.00 EUR", "reference ORD-1", "It would move nothing", "P1", "provider_operation_id", "its own",
			"acme, account main: covered", "Last conclusion: Confirmed (confirmed)", "unknown → succeeded (confirmed)", "reconciler run-",
		},
		"op-twice": {
			"op-twice is succeeded", "What the provider shows: 2 records", "P2", "P3", "duplicate_effect (critical, at risk 20.00 EUR)",
			"Exceptions", "duplicate_effect, critical, open",
		},
		"op-never": {
			"op-never is unknown", "may retry      no", "absent_needs_decision", "The provider shows nothing of it", "acme, account main: covered",
		},
		"op-young": {
			"op-young is unknown", "Too early to tell (not_yet_provable)", "It would leave it unknown", "It can become certain by itself from",
			"not covered; a complete statement as of", "Missing:",
		},
		"op-refused": {
			"op-refused is unknown", "failed (no)", "P5", "business_reference", "Against an automatic step speaks: it is older than max_retry_age",
		},
	} {
		stdout, _ := h.must(codeDone, "explain", key)
		mustContain(t, stdout, want...)
	}
}

func TestExplainJSON(t *testing.T) {
	t.Parallel()
	h := storyHarness(t)
	h.must(codeDone, "run")
	var got explanation
	h.json(codeDone, &got, "explain", "op-young")
	if got.ReasonCode != "not_yet_provable" || got.MayRetry || got.ProvableAt == nil || !got.ProvableAt.After(time.Now()) {
		t.Errorf("op-young: reason %q, may_retry %t, provable_at %v; want not_yet_provable, false, a time to come", got.ReasonCode, got.MayRetry, got.ProvableAt)
	}
	if len(got.Coverage) != 1 || len(got.Coverage[0].Missing) == 0 {
		t.Errorf("op-young: coverage = %+v, want what is missing of acme", got.Coverage)
	}
	got = explanation{}
	h.json(codeDone, &got, "explain", "op-twice")
	if len(got.Records) != 2 || got.Records[0].Line != 3 || got.Records[0].Ownership != "owned" || !got.Records[0].Current {
		t.Errorf("op-twice: records = %+v, want lines 3 and 4, its own and current", got.Records)
	}
	if len(got.Exceptions) != 1 || len(got.Events) != 1 || got.Concluded == nil || got.Concluded.ReasonCode != "duplicate_effect" {
		t.Errorf("op-twice: exceptions %+v, events %+v, concluded %+v; want one of each", got.Exceptions, got.Events, got.Concluded)
	}
}

// What explain says before a run is what the run then does, and explain itself
// leaves no trace.
func TestExplainForetellsAndStoresNothing(t *testing.T) {
	t.Parallel()
	h := storyHarness(t)
	h.must(codeDone, "ingest", "acme")
	before := fingerprint(h)
	foretold := map[string]string{}
	for _, key := range []string{"op-paid", "op-twice", "op-never", "op-young", "op-refused"} {
		var got explanation
		h.json(codeDone, &got, "explain", key)
		if got.Concluded != nil || !got.Queued {
			t.Errorf("%s before a run: concluded %v, queued %t; want nothing concluded and on the list of work", key, got.Concluded, got.Queued)
		}
		to := "unknown"
		if got.Decision.Transition != nil {
			to = got.Decision.Transition.To
		}
		foretold[key] = to + " " + got.Decision.ReasonCode
		stdout, _ := h.must(codeDone, "explain", key)
		mustContain(t, stdout, "No run has looked at it yet")
	}
	if diff := cmp.Diff(before, fingerprint(h)); diff != "" {
		t.Errorf("explain changed the database (-before +after):\n%s", diff)
	}
	h.must(codeDone, "run")
	for key, want := range foretold {
		got := h.text(`SELECT o.status || ' ' || d.reason_code FROM agent_operations o JOIN reconciler.operation_decisions d USING (idempotency_key)
			WHERE idempotency_key = $1`, key)
		if got != want {
			t.Errorf("%s: explain foretold %q, the run did %q", key, want, got)
		}
	}
}

// A settlement lag that the configuration has raised since the last run counts
// at once, and is not stored by explaining.
func TestExplainCountsChangedRules(t *testing.T) {
	t.Parallel()
	h := storyHarness(t)
	h.must(codeDone, "run")
	h.writeConfig(strings.Replace(smallConfig, "settlement_lag: 24h", "settlement_lag: 240h", 1))
	before := fingerprint(h)
	var got explanation
	h.json(codeDone, &got, "explain", "op-never")
	if got.ReasonCode == "absent_needs_decision" || len(got.Coverage) != 1 || len(got.Coverage[0].Missing) == 0 {
		t.Errorf("op-never under a lag of ten days: %s, coverage %+v; want that its absence is not proven any more", got.ReasonCode, got.Coverage)
	}
	if diff := cmp.Diff(before, fingerprint(h)); diff != "" {
		t.Errorf("explain changed the database (-before +after):\n%s", diff)
	}
}

func TestExplainRivalsAndReplaced(t *testing.T) {
	t.Parallel()
	h := storyHarness(t)
	h.operation("op-rival", "ORD-1", 1000, past(2, 10))
	h.must(codeDone, "ingest", "acme")
	stdout, _ := h.must(codeDone, "explain", "op-paid")
	mustContain(t, stdout, "contested", "is also claimed by: op-rival", "ambiguous_reference")

	h.writeStatement("acme-2026-03-01_2026-03-05.csv", acmeStatement(0, 0), past(9, 0))
	h.must(codeDone, "ingest", "acme")
	stdout, _ = h.must(codeDone, "explain", "op-twice")
	mustContain(t, stdout, "replaced by a newer statement")
}

func TestExplainUnknownKey(t *testing.T) {
	t.Parallel()
	h := storyHarness(t)
	_, stderr := h.must(codeUsage, "explain", "op-nobody")
	mustContain(t, stderr, `no operation with the idempotency key "op-nobody"`, "reconciler operations")
	_, stderr = h.must(codeUsage, "explain", "ORD-2")
	mustContain(t, stderr, "it is the reference or the provider's id of: op-twice")
}

func TestExplainWithoutJob(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.sql(`INSERT INTO agent_operations (idempotency_key, action_type, status) VALUES ('mail', 'email.send', 'unknown')`)
	stdout, _ := h.must(codeDone, "explain", "mail")
	mustContain(t, stdout, "No job of the configuration works on action type email.send")
	var got explanation
	h.json(codeDone, &got, "explain", "mail")
	if got.Decision != nil || got.Job != nil {
		t.Errorf("explain without a job: decision %+v of job %v; want none", got.Decision, got.Job)
	}
}

// fingerprint tells two states of the database apart, table by table.
func fingerprint(h *harness) map[string]string {
	h.tb.Helper()
	out := map[string]string{}
	for _, table := range []string{
		"agent_operations", "agent_operation_events", "agent_operation_changes", "reconciler.sources", "reconciler.statements", "reconciler.records",
		"reconciler.operation_decisions", "reconciler.operation_lookups", "reconciler.exceptions", "reconciler.exception_events", "reconciler.runs",
	} {
		out[table] = h.text(fmt.Sprintf(`SELECT count(*) || ' ' || coalesce(md5(string_agg(t::text, E'\n' ORDER BY t::text)), '') FROM %s t`, table))
	}
	return out
}
