package main

import (
	"strings"
	"testing"
	"time"
)

// The cases of somebody who tried to make the program sure of something wrong.

// Two payments of one day under one reference, without ids, in two half-day
// statements: the second is not the first once more.
func TestHalfDaysWithoutIDs(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.writeConfig(strings.Replace(smallConfig, `pattern: 'acme-(?P<from>\d{4}-\d{2}-\d{2})_(?P<to>\d{4}-\d{2}-\d{2})'`,
		`pattern: 'acme-(?P<from>\d{8}T\d{4})_(?P<to>\d{8}T\d{4})', layout: "20060102T1504"`, 1))
	day := time.Now().UTC().AddDate(0, 0, -10).Truncate(24 * time.Hour)
	h.operation("k1", "INV-1", 1000, day.Add(8*time.Hour))
	name := func(from, to time.Time) string {
		return "acme-" + from.Format("20060102T1504") + "_" + to.Format("20060102T1504") + ".csv"
	}
	noon := day.Add(12 * time.Hour)
	for from, at := range map[time.Time]time.Time{day: day.Add(8*time.Hour + 5*time.Second), noon: day.Add(15*time.Hour + 5*time.Second)} {
		h.writeStatement(name(from, from.Add(12*time.Hour)), acmeStatement(1, 1000, ",INV-1,10.00,EUR,D,ok,"+at.Format(time.RFC3339)), day.AddDate(0, 0, 5))
	}
	h.must(codeDone, "run")
	if records := h.text(`SELECT count(*) FROM reconciler.records`); records != "2" {
		t.Errorf("%s records are kept, want both", records)
	}
	if kind := h.text(`SELECT kind FROM reconciler.exceptions WHERE idempotency_key = 'k1'`); kind != "duplicate_effect" {
		t.Errorf("the case is %q, want duplicate_effect", kind)
	}
}

// A newer version that is refused contests the older one, also where the
// document states its period itself.
func TestRefusedVersionOfStatedPeriod(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.writeConfig(strings.NewReplacer(
		`period: {pattern: 'acme-(?P<from>\d{4}-\d{2}-\d{2})_(?P<to>\d{4}-\d{2}-\d{2})'}`, `period: {daily: occurred_at}`,
		"on_absent: review", "on_absent: fail").Replace(smallConfig))
	day := time.Now().UTC().AddDate(0, 0, -10).Truncate(24 * time.Hour)
	row := "P9,INV-9,11.00,EUR,D,ok," + day.Add(8*time.Hour).Format(time.RFC3339)
	h.writeStatement("acme-1.csv", acmeStatement(1, 1100, row), day.AddDate(0, 0, 5))
	h.must(codeDone, "ingest", "acme")
	h.writeStatement("acme-1.csv", acmeStatement(3, 2100, row, "P1,INV-1,10.00,EUR,D,ok,"+day.Add(8*time.Hour+6*time.Second).Format(time.RFC3339)), day.AddDate(0, 0, 6))
	h.operation("k1", "INV-1", 1000, day.Add(8*time.Hour))
	h.must(codeIncomplete, "run")
	if status := h.text(`SELECT status FROM agent_operations WHERE idempotency_key = 'k1'`); status != "unknown" {
		t.Errorf("the operation is %s on a version whose successor is in quarantine, want unknown", status)
	}
}

// The provider's numbers begin anew every day: yesterday's number names nothing today.
func TestNumbersRestartDaily(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.writeConfig(strings.Replace(smallConfig, "provider_operation_id: {column: id}", "provider_operation_id: {column: id, unique_per: day}", 1))
	day := time.Now().UTC().AddDate(0, 0, -10).Truncate(24 * time.Hour)
	next := day.AddDate(0, 0, 1)
	h.operation("kA", "INV-A", 1000, day.Add(8*time.Hour))
	h.operation("kB", "INV-B", 2000, next.Add(8*time.Hour))
	for at, row := range map[time.Time]string{day: "1,INV-A,10.00,EUR,D,ok,", next: "1,INV-B,20.00,EUR,D,ok,"} {
		name := at.Format(time.DateOnly)
		sum := int64(1000)
		if at.Equal(next) {
			sum = 2000
		}
		h.writeStatement("acme-"+name+"_"+name+".csv", acmeStatement(1, sum, row+at.Add(8*time.Hour+5*time.Second).Format(time.RFC3339)), day.AddDate(0, 0, 6))
	}
	h.must(codeDone, "run")
	h.must(codeDone, "run")
	if done := h.text(`SELECT count(*) FROM agent_operations WHERE status = 'succeeded'`); done != "2" {
		t.Errorf("%s operations succeeded, want both", done)
	}
	if open := h.text(`SELECT count(*) FROM reconciler.exceptions`); open != "0" {
		t.Errorf("%s exceptions, want none", open)
	}
}

// Somebody touches the row of a permit: it is withdrawn all the same when its
// proof no longer holds. And times beyond every calendar stop nothing.
func TestTouchedPermitAndEndlessTimes(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.writeConfig(strings.Replace(strings.Replace(smallConfig, "class: financial", "class: irreversible\n    retry_needs: absence\n    sender_deadline: enforced", 1),
		"on_absent: review", "on_absent: retry", 1))
	day := time.Now().UTC().AddDate(0, 0, -10).Truncate(24 * time.Hour)
	h.operation("k1", "INV-1", 1000, day.Add(8*time.Hour))
	h.operation("far", "INV-2", 1000, day.Add(8*time.Hour))
	h.sql(`UPDATE agent_operations SET lease_until = '20000-01-01Z' WHERE idempotency_key = 'far'`)
	name := "acme-" + day.Format(time.DateOnly) + "_" + day.Format(time.DateOnly) + ".csv"
	good := acmeStatement(1, 1100, "P9,INV-9,11.00,EUR,D,ok,"+day.Add(9*time.Hour).Format(time.RFC3339))
	h.writeStatement(name, good, day.AddDate(0, 0, 5))
	h.must(codeDone, "run")
	if status := h.text(`SELECT status FROM agent_operations WHERE idempotency_key = 'k1'`); status != "failed_retryable" {
		t.Fatalf("the operation is %s, want a permit", status)
	}
	h.sql(`UPDATE agent_operations SET updated_at = now() WHERE idempotency_key = 'k1'`)
	h.writeStatement(name, strings.Replace(good, "Total,1", "Total,2", 1), day.AddDate(0, 0, 6))
	h.must(codeIncomplete, "run")
	if status := h.text(`SELECT status FROM agent_operations WHERE idempotency_key = 'k1'`); status != "unknown" {
		t.Errorf("the operation is %s although its proof is contested, want the permit withdrawn", status)
	}
}
