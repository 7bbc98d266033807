package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// againCase is a deployment with one good statement of yesterday's week and
// one operation that it confirms.
func againCase(t *testing.T) (h *harness, name, good string, at time.Time) {
	t.Helper()
	h = newHarness(t)
	at = time.Now().UTC().AddDate(0, 0, -10).Truncate(24 * time.Hour)
	h.operation("op-1", "R-1", 1000, at.Add(10*time.Hour))
	day := at.Format(time.DateOnly)
	good = acmeStatement(1, 1000, "P-1,R-1,10.00,EUR,D,ok,"+at.Add(10*time.Hour+time.Minute).Format(time.RFC3339))
	return h, "acme-" + day + "_" + day + ".csv", good, at
}

// A good statement is overwritten by a broken one, and then comes again as it
// was: the run is complete again, and the case closes.
func TestOriginalComesAgainAfterBrokenVersion(t *testing.T) {
	t.Parallel()
	h, name, good, at := againCase(t)
	h.writeStatement(name, good, at.AddDate(0, 0, 8))
	h.must(codeDone, "run")
	h.writeStatement(name, strings.Replace(good, "Total", "Totl", 1), at.AddDate(0, 0, 9))
	h.must(codeIncomplete, "run")
	h.writeStatement(name, good, at.AddDate(0, 0, 9))
	h.must(codeDone, "run")
	if open := h.text(`SELECT count(*) FROM reconciler.exceptions WHERE state IN ('open', 'acknowledged')`); open != "0" {
		t.Errorf("%s exceptions are open, want none", open)
	}
}

// A mapping is spoilt and mended: the statement is read again by the mended
// one, and what the spoilt one left is gone.
func TestMappingChangedAndChangedBack(t *testing.T) {
	t.Parallel()
	for what, spoilt := range map[string]string{
		"into quarantine":   strings.Replace(smallConfig, "count: ref", "count: reff", 1),
		"into another kind": strings.Replace(smallConfig, "kind: {value: payment}", "kind: {value: fee}", 1),
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			h, name, good, at := againCase(t)
			h.writeStatement(name, good, at.AddDate(0, 0, 8))
			h.must(codeDone, "run")
			h.writeConfig(spoilt)
			if code, _, _ := h.run("run"); code != codeDone && code != codeIncomplete {
				t.Fatalf("run with the spoilt mapping: exit code %d", code)
			}
			h.writeConfig(smallConfig)
			h.must(codeDone, "run")
			if open := h.text(`SELECT count(*) FROM reconciler.exceptions WHERE state IN ('open', 'acknowledged')`); open != "0" {
				t.Errorf("%s exceptions are open, want none", open)
			}
			if kind := h.text(`SELECT kind FROM reconciler.records`); kind != "payment" {
				t.Errorf("the current record is a %s, want a payment", kind)
			}
		})
	}
}

// A file under a name that does not fit is renamed: nothing of the mistake is left.
func TestWrongNameMended(t *testing.T) {
	t.Parallel()
	h, name, good, at := againCase(t)
	wrong := filepath.Join(h.dir, "statements", "acme-november.csv")
	h.writeStatement("acme-november.csv", good, at.AddDate(0, 0, 8))
	h.must(codeIncomplete, "run")
	if err := os.Rename(wrong, filepath.Join(filepath.Dir(wrong), name)); err != nil {
		t.Fatal(err)
	}
	h.must(codeDone, "run")
	if status := h.text(`SELECT status FROM agent_operations`); status != "succeeded" {
		t.Errorf("the operation is %s, want succeeded", status)
	}
	if open := h.text(`SELECT count(*) FROM reconciler.exceptions WHERE state IN ('open', 'acknowledged')`); open != "0" {
		t.Errorf("%s exceptions are open, want none", open)
	}
}

// A file that is no statement is discarded by a person, by name and reason.
func TestDiscard(t *testing.T) {
	t.Parallel()
	h, name, good, at := againCase(t)
	h.writeStatement(name, good, at.AddDate(0, 0, 8))
	invoice := filepath.Join(h.dir, "statements", "acme-invoice.csv")
	h.writeStatement("acme-invoice.csv", "an invoice", at)
	h.must(codeIncomplete, "run")
	id := h.text(`SELECT statement_id FROM reconciler.statements WHERE state = 'quarantined'`)
	h.must(codeUsage, "statements", "discard", id)
	h.must(codeDone, "statements", "discard", id, "--reason", "saved into the wrong folder")
	h.must(codeUsage, "statements", "discard", id, "--reason", "again")
	h.must(codeDone, "run")
	if err := os.Remove(invoice); err != nil {
		t.Fatal(err)
	}
	h.must(codeDone, "run")
	if reason := h.text(`SELECT reason FROM reconciler.statements WHERE statement_id = ` + id); !strings.Contains(reason, "saved into the wrong folder") {
		t.Errorf("the reason is not kept: %q", reason)
	}
}
