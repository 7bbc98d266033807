package main

import (
	"testing"
	"time"
)

func TestRunSmoke(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	at := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	h.operation("op-1", "unknown", "ORD-1", 1000, "EUR", at)
	h.writeStatement("acme-2026-03-01_2026-03-05.csv", acmeStatement(1, 1000, "P1,ORD-1,10.00,EUR,D,ok,2026-03-02T10:00:05Z"), at.AddDate(0, 0, 8))
	out, errs := h.must(0, "run")
	t.Log(out, errs)
	if got := h.text(`SELECT status FROM agent_operations WHERE idempotency_key = 'op-1'`); got != "succeeded" {
		t.Errorf("op-1 is %q", got)
	}
}
