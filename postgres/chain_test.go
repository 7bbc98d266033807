package postgres_test

import (
	"strings"
	"testing"

	"reconciler/sources"
)

// balanced makes a statement state its balances.
func balanced(s statement, opening, closing int64) statement {
	s.declared = sources.Controls{Opening: &opening, Closing: &closing, Currency: "EUR"}
	s.SHA256 = digest(s.SHA256 + "balanced")
	return s
}

func TestBalancesFromStatementToStatement(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	complete := func() string {
		t.Helper()
		return strings.Join(w.lines(`SELECT name, complete FROM reconciler.statements WHERE superseded_by IS NULL ORDER BY lower(period)`), ", ")
	}
	covered := func() int {
		t.Helper()
		return get[int](w, `SELECT count(*) FROM reconciler.statement_coverage`)
	}
	// They come in any order; the third has no neighbour yet.
	if got := w.load(balanced(w.of(2, 3, 9), 300, 400)); !got.Complete {
		t.Errorf("third = %+v, want it complete", got.Registered)
	}
	w.load(balanced(w.of(0, 1, 9), 100, 200))
	equal(t, "complete", complete(), "bank-2.csv true, bank-1.csv true")
	got := w.load(balanced(w.of(1, 2, 9), 250, 350))
	if got.Complete || !strings.Contains(got.Reason, "it begins with a balance of 2.50 EUR, but statement 2 before it (bank-2.csv) closed with 2.00 EUR") {
		t.Errorf("second = %+v, want it not complete for its opening balance", got.Registered)
	}
	equal(t, "complete", complete(), "bank-2.csv true, bank-3.csv false, bank-1.csv false")
	equal(t, "covering", covered(), 1)

	// The second is mended, with a reject, and then without.
	got = w.load(balanced(w.of(1, 2, 10, &sources.Reject{Field: "amount", Reason: "x"}), 200, 300))
	if got.Complete || strings.Contains(got.Reason, "balance") {
		t.Errorf("mended with a reject = %+v, want it not complete for the reject alone", got.Registered)
	}
	equal(t, "complete", complete(), "bank-2.csv true, bank-4.csv false, bank-1.csv true")
	w.load(balanced(w.of(1, 2, 11), 200, 300))
	equal(t, "complete", complete(), "bank-2.csv true, bank-5.csv true, bank-1.csv true")
	equal(t, "covering", covered(), 3)

	// The first comes again with another end: the second follows from it no more.
	w.load(balanced(w.of(0, 1, 12), 100, 201))
	equal(t, "complete", complete(), "bank-6.csv true, bank-5.csv false, bank-1.csv true")
	equal(t, "reasons that are left", get[int](w, `SELECT count(*) FROM reconciler.statements WHERE superseded_by IS NULL AND reason <> ''`), 1)
	// One without balances says nothing about them.
	w.load(w.of(3, 4, 12))
	equal(t, "complete", complete(), "bank-6.csv true, bank-5.csv false, bank-1.csv true, bank-7.csv true")
	w.checkCounts()
}
