package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOperations(t *testing.T) {
	t.Parallel()
	h := storyHarness(t)
	h.sql(`UPDATE agent_operations SET workflow_id = 'W-2' WHERE idempotency_key IN ('op-paid', 'op-twice')`)
	h.sql(`INSERT INTO agent_operations (idempotency_key, action_type, status, created_at) VALUES ('mail', 'email.send', 'planned', '2020-01-01Z')`)
	h.must(codeDone, "run")

	keys := func(args ...string) (out []string) {
		t.Helper()
		var lines []operationLine
		h.json(codeDone, &lines, append([]string{"operations"}, args...)...)
		for _, l := range lines {
			out = append(out, l.IdempotencyKey)
		}
		return out
	}
	for _, c := range []struct {
		args, want []string
	}{
		{nil, []string{"op-young", "op-never", "op-paid", "op-refused", "op-twice", "mail"}},
		{[]string{"--workflow", "W-2"}, []string{"op-paid", "op-twice"}},
		{[]string{"--status", "unknown"}, []string{"op-young", "op-never", "op-refused"}},
		{[]string{"--action-type", "email.send"}, []string{"mail"}},
		{[]string{"--limit", "2"}, []string{"op-young", "op-never"}},
		{[]string{"--limit", "0", "--workflow", "W-2"}, []string{"op-paid", "op-twice"}},
		{[]string{"--workflow", "none"}, nil},
	} {
		if diff := cmp.Diff(c.want, keys(c.args...)); diff != "" {
			t.Errorf("operations %v (-want +got):\n%s", c.args, diff)
		}
	}
	var lines []operationLine
	h.json(codeDone, &lines, "operations", "--status", "unknown")
	if lines[0].ReasonCode != "not_yet_provable" || lines[0].ProvableAt == nil || lines[0].MayRetry {
		t.Errorf("op-young = %+v, want not_yet_provable with its moment", lines[0])
	}
	h.json(codeDone, &lines, "operations", "--action-type", "email.send")
	if lines[0].ReasonCode != "not_examined" || !lines[0].MayRetry {
		t.Errorf("mail = %+v, want not_examined and claimable, for it is planned", lines[0])
	}
	stdout, _ := h.must(codeDone, "operations", "--limit", "1")
	mustContain(t, stdout, "op-young", "not_yet_provable", "40.00 EUR", "--limit N lists more")
	_, stderr := h.must(codeUsage, "operations", "--status", "lost")
	mustContain(t, stderr, `"lost"`, "failed_retryable")
	h.must(codeUsage, "operations", "--limit", "-1")
}
