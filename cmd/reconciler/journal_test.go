package main

import (
	"strings"
	"testing"

	"reconciler/postgres/postgrestest"
)

func TestJournalInit(t *testing.T) {
	t.Parallel()
	h := newHarnessOn(t, postgrestest.Empty(t))
	_, stderr := h.must(codeUsage, "operations")
	mustContain(t, stderr, "reconciler journal migrate")
	stdout, _ := h.must(codeFailed, "journal", "check")
	mustContain(t, stdout, "broken schema_missing", "the journal in schema public has not been made yet", "journal migrate", "the reconciler's own schema")
	if strings.Contains(stdout, "journal init") || strings.Contains(stdout, "concerns") {
		t.Errorf("the findings name another command, or count a schema:\n%s", stdout)
	}

	stdout, _ = h.must(codeDone, "journal", "init")
	mustContain(t, stdout, "the journal was made", "schema public", "schema reconciler")
	stdout, _ = h.must(codeDone, "journal", "check")
	mustContain(t, stdout, "as it should be")
	var again migrated
	h.json(codeDone, &again, "journal", "migrate")
	if again.Changed || again.Adopted || again.From != again.To || again.To.Journal == 0 {
		t.Errorf("the second time = %+v, want nothing to do", again)
	}
}

func TestJournalMigrateAdopts(t *testing.T) {
	t.Parallel()
	h := newHarnessOn(t, postgrestest.Empty(t))
	h.sql(`CREATE TABLE agent_operations (
		idempotency_key text PRIMARY KEY, action_type text, workflow_id text, payload_hash text, status text, attempt_count int DEFAULT 0,
		provider_operation_id text, result_json jsonb, last_error_code text, lease_until timestamptz,
		created_at timestamptz DEFAULT now(), updated_at timestamptz DEFAULT now())`)
	h.sql(`CREATE INDEX ON agent_operations (status, lease_until)`)
	h.sql(`INSERT INTO agent_operations (idempotency_key, action_type, status) SELECT 'old-' || n, 'pay', 'unknown' FROM generate_series(1, 3) n`)
	stdout, stderr := h.must(codeDone, "journal", "migrate")
	mustContain(t, stdout, "adopted the agent_operations that was there, with 3 operations", "looked at in the next run")
	mustContain(t, stderr, "adopting an existing journal in place")
	if n := h.text(`SELECT count(*) FROM agent_operation_changes`); n != "3" {
		t.Errorf("%s operations are queued, want the 3 that were there", n)
	}
}

func TestJournalCheck(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.sql(`INSERT INTO agent_operations (idempotency_key, action_type, status) VALUES ('op-bare', 'pay', 'succeeded')`)
	var got checked
	h.json(codeDone, &got, "journal", "check")
	if !got.OK || len(got.Findings) == 0 || got.Findings[0].Severity != "info" {
		t.Errorf("a journal with notes only = %+v, want ok with infos", got)
	}
	h.sql(`INSERT INTO agent_operations (idempotency_key, action_type, status, attempt_count) VALUES ('op-leaseless', 'pay', 'executing', 1)`)
	stdout, _ := h.must(codeDone, "journal", "check")
	mustContain(t, stdout, "warning executing_without_lease", "nothing is broken")
	h.sql(`ALTER TABLE agent_operations DISABLE TRIGGER agent_operations_guard`)
	stdout, _ = h.must(codeFailed, "journal", "check")
	mustContain(t, stdout, "broken trigger_disabled", "agent_operations_guard")
	got = checked{}
	h.json(codeFailed, &got, "journal", "check")
	if got.OK {
		t.Errorf("a disabled trigger = %+v, want not ok", got)
	}
}
