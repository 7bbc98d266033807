package main

import (
	"strings"
	"testing"
	"time"
)

// A document that says up to when it speaks is believed, and not the time of
// its file; but never about a time that had not come when it was first seen.
func TestStatedAsOf(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.writeConfig(strings.NewReplacer(
		"    format: csv\n", "    format: csv\n    csv: {header_row: 2}\n",
		"      end: proven\n", "      end: proven\n      as_of: {match: '^Created (.*)$'}\n").Replace(smallConfig))
	day := time.Now().UTC().AddDate(0, 0, -10).Truncate(24 * time.Hour)
	write := func(created time.Time) {
		name := day.Format(time.DateOnly)
		h.writeStatement("acme-"+name+"_"+name+".csv", "Created "+created.Format(time.RFC3339)+"\n"+
			acmeStatement(1, 1000, "P-1,R-1,10.00,EUR,D,ok,"+day.Add(time.Hour).Format(time.RFC3339)), time.Now())
	}
	asOf := func() string {
		return h.text(`SELECT to_char(as_of AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') || ' ' || as_of_stated
			FROM reconciler.statements WHERE superseded_by IS NULL`)
	}
	created := day.AddDate(0, 0, 2)
	write(created)
	h.must(codeDone, "run")
	if want := created.Format(time.RFC3339) + " true"; asOf() != want {
		t.Errorf("as_of is %s, want %s", asOf(), want)
	}
	write(time.Now().UTC().AddDate(1, 0, 0))
	h.must(codeDone, "run")
	if now := time.Now().UTC().Format("2006-01-02"); !strings.HasPrefix(asOf(), now) {
		t.Errorf("as_of is %s, later than the day on which it was first seen", asOf())
	}
}
