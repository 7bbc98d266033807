package main

import (
	"strings"
	"testing"
	"time"
)

// A daily statement that does not come makes the run incomplete and opens a
// case with its date; when it comes, the case closes.
func TestStatementOverdue(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.writeConfig(strings.Replace(smallConfig, "    settlement_lag: 24h\n",
		"    settlement_lag: 24h\n    calendar: {every: daily, at: \"06:00\", grace: 1h}\n", 1))
	today := time.Now().UTC().Truncate(24 * time.Hour)
	deliver := func(daysAgo int) {
		day := today.AddDate(0, 0, -daysAgo)
		name := day.Format(time.DateOnly)
		h.writeStatement("acme-"+name+"_"+name+".csv",
			acmeStatement(1, 1000, "P-"+name+",other,10.00,EUR,D,ok,"+day.Add(time.Hour).Format(time.RFC3339)), day.AddDate(0, 0, 1).Add(5*time.Hour))
	}
	for _, daysAgo := range []int{6, 5, 3, 2, 1} {
		deliver(daysAgo)
	}
	missing := today.AddDate(0, 0, -4).Format(time.DateOnly)
	stdout, _ := h.must(codeIncomplete, "run")
	if !strings.Contains(stdout, missing) {
		t.Errorf("the run does not say which statement is missing:\n%s", stdout)
	}
	subject := h.text(`SELECT subject FROM reconciler.exceptions WHERE kind = 'statement_overdue' AND state = 'open'`)
	if subject != "main "+missing {
		t.Errorf("the case is about %q, want %q", subject, "main "+missing)
	}
	stdout, _ = h.must(codeDone, "coverage", "acme")
	if !strings.Contains(stdout, "MISSING  "+missing) || !strings.Contains(stdout, "next     "+today.Format(time.DateOnly)) {
		t.Errorf("coverage does not tell what is missing and what comes next:\n%s", stdout)
	}
	deliver(4)
	h.must(codeDone, "run")
	if state := h.text(`SELECT state FROM reconciler.exceptions WHERE kind = 'statement_overdue'`); state != "auto_resolved" {
		t.Errorf("the case is %s after the delivery, want auto_resolved", state)
	}
}
