package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reconciler/journal"
	"reconciler/matcher"
	"reconciler/sources"
)

func echo(key string) func(*sources.Record) {
	return func(r *sources.Record) { r.IdempotencyKey = key }
}

func folded(forms ...string) func(*sources.Record) {
	return func(r *sources.Record) { r.BusinessReference, r.FoldedReferences = "", forms }
}

func TestAllTiersAreSearched(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	scope := w.scope()
	scope.Folds = map[string]*sources.Fold{"bank": {Case: true}}
	w.insert(w.op("k", func(o *operation) { o.reference, o.providerID = "Ref 1", "p1" }))
	w.load(w.of(0, 1, 9,
		w.rec("p1", ref("something else")), w.rec("p2", ref(""), echo("k")), w.rec("p3", ref("Ref 1")), w.rec("p4", folded("REF 1")),
		w.rec("p5", ref("ref 1")), w.rec("p6", ref("Ref 1 ")), w.rec("p7", ref("Ref_1")), w.rec("p8", ref("Ref%")), w.rec("p9", ref("Rеf 1"))))
	if err := w.store.Prepare(t.Context(), scope); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"p1 provider_operation_id owned", "p2 idempotency_key owned", "p3 business_reference owned", "p4 folded_reference owned",
	}
	if diff := cmp.Diff(want, w.candidates(scope, "k")); diff != "" {
		t.Errorf("candidates (-want +got):\n%s", diff)
	}
	// The record of the second payment must not hide behind the first.
	equal(t, "decided", w.decide(scope).Transitions, "[{k unknown succeeded duplicate_effect}]")
	equal(t, "reason", w.reason("k"), "duplicate_effect")
	want = []string{"p1 k", "p2 k", "p3 k", "p4 k"}
	if diff := cmp.Diff(want, w.lines(`SELECT provider_operation_id, owner_key FROM reconciler.records WHERE owner_key IS NOT NULL ORDER BY 1`)); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
}

func TestOperationWithoutReferenceIsLookedForByItsKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.insert(w.op("k", func(o *operation) { o.reference = "" }), w.op("l", func(o *operation) { o.reference = "other" }))
	w.load(w.of(0, 1, 9, w.rec("p1", ref("k")), w.rec("p2", ref("l"))))
	if diff := cmp.Diff([]string{"p1 business_reference owned"}, w.candidates(w.scope(), "k")); diff != "" {
		t.Errorf("by its key (-want +got):\n%s", diff)
	}
	if got := w.candidates(w.scope(), "l"); len(got) > 0 {
		t.Errorf("one with a reference of its own is found by its key: %v", got)
	}
}

func TestRivalsAreSoughtInTheWholeJournal(t *testing.T) {
	t.Parallel()
	other := func(o *operation) { o.reference = "R" }
	for name, tc := range map[string]struct {
		rival operation
		want  string
		owner string
	}{
		"terminal":          {operation{key: "z", status: "succeeded", reference: "R"}, "business_reference contested", ""},
		"failed":            {operation{key: "z", status: "failed_final", reference: "R"}, "business_reference contested", ""},
		"other action":      {operation{key: "z", status: "planned", reference: "R", action: "refund.create"}, "business_reference contested", ""},
		"stronger":          {operation{key: "z", status: "succeeded", reference: "S", providerID: "p"}, "business_reference other", "z"},
		"by its key":        {operation{key: "R", status: "unknown"}, "business_reference contested", ""},
		"key, but its own":  {operation{key: "R", status: "unknown", reference: "S"}, "business_reference owned", "k"},
		"another provider":  {operation{key: "z", status: "unknown", reference: "R", provider: "other"}, "business_reference owned", "k"},
		"another account":   {operation{key: "z", status: "unknown", reference: "R", account: "second"}, "business_reference owned", "k"},
		"the same provider": {operation{key: "z", status: "unknown", reference: "R", provider: "acme", account: "main"}, "business_reference contested", ""},
		"another case":      {operation{key: "z", status: "unknown", reference: "r"}, "business_reference owned", "k"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			rival := tc.rival
			rival.created, rival.attempts = w.day(0, 11), 1
			if rival.action == "" {
				rival.action = act
			}
			w.insert(w.op("k", other), rival)
			w.load(w.of(0, 1, 9, w.rec("p", ref("R"))))
			if diff := cmp.Diff([]string{"p " + tc.want}, w.candidates(w.scope(), "k")); diff != "" {
				t.Errorf("candidates (-want +got):\n%s", diff)
			}
			w.decide(w.scope())
			equal(t, "owner", get[string](w, `SELECT coalesce(owner_key, '') FROM reconciler.records`), tc.owner)
		})
	}
}

// The owner of a record loses it to a stronger claim that comes later.
func TestLostOwnershipIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.insert(w.op("a", func(o *operation) { o.reference = "R" }))
	w.load(w.of(0, 1, 9, w.rec("p", ref("R"))))
	w.decide(w.scope())
	equal(t, "first", w.status("a"), "succeeded")
	w.insert(w.op("b", func(o *operation) { o.reference, o.providerID = "S", "p" }))
	w.exec(`UPDATE agent_operations SET provider_operation_id = NULL WHERE false`)
	w.decide(w.scope())
	// a took the id of the record when it was confirmed, so both name it.
	equal(t, "reason of b", w.reason("b"), "ambiguous_reference")
	w.decide(w.scope())
	equal(t, "reason of a", w.reason("a"), "ambiguous_reference")
	equal(t, "owner", get[string](w, `SELECT coalesce(owner_key, '') FROM reconciler.records`), "")
	equal(t, "a stays", w.status("a"), "succeeded")
}

func TestFoldedReferencesOfNewOperations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	scope := w.scope()
	scope.Folds = map[string]*sources.Fold{"bank": {Case: true, Length: 6}}
	f, err := sources.NewFolder(scope.Folds["bank"])
	if err != nil {
		t.Fatal(err)
	}
	theirs := func(text string) func(*sources.Record) { return folded(f.Theirs(nil, text)...) }
	w.insert(w.op("cut", func(o *operation) { o.reference = "Order-1234" }), w.op("done", in(journal.Succeeded), func(o *operation) { o.reference = "same" }))
	if err := w.store.Prepare(t.Context(), scope); err != nil {
		t.Fatal(err)
	}
	// Inserted after everything was folded once.
	w.insert(w.op("new", func(o *operation) { o.reference = "NEW" }), w.op("twin", func(o *operation) { o.reference = "SAME" }))
	w.load(w.of(0, 1, 9, w.rec("p1", theirs("ORDER-")), w.rec("p2", theirs("new")), w.rec("p3", theirs("Same"))))
	for key, want := range map[string]string{"cut": "p1 folded_reference owned", "new": "p2 folded_reference owned", "twin": "p3 folded_reference contested"} {
		if diff := cmp.Diff([]string{want}, w.candidates(scope, key)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
	// A settled operation is looked at again when a folded reference names it.
	w.exec(`DELETE FROM agent_operation_changes`)
	if err := w.store.Prepare(t.Context(), scope); err != nil {
		t.Fatal(err)
	}
	w.load(w.of(1, 2, 9, w.rec("p4", theirs("sAME"), on(w.day(1, 3)))))
	equal(t, "list of work", w.lines(`SELECT idempotency_key FROM agent_operation_changes ORDER BY 1`), "[done]")
}

// Another rule of folding that gives the same forms must not hide records
// that were stored under the old one.
func TestRecordsAreFoundUnderAnotherFolding(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.insert(w.op("k", func(o *operation) { o.reference = "Order1" }))
	s := w.of(0, 1, 9, w.rec("p", folded("ORDER1")))
	s.Fold = &sources.Fold{Case: true}
	w.load(s)
	scope := w.scope()
	scope.Folds = map[string]*sources.Fold{"bank": {Case: true, Blanks: true}}
	if err := w.store.Prepare(t.Context(), scope); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"p folded_reference owned"}, w.candidates(scope, "k")); diff != "" {
		t.Errorf("candidates (-want +got):\n%s", diff)
	}
}

func TestProviderOfStoredRecordsCannotChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := w.rule
	other.Provider = "acme-inc"
	w.put(other) // nothing is stored yet
	w.put(w.rule)
	w.load(w.of(0, 1, 2))
	if err := w.store.PutSource(t.Context(), other); err == nil || !strings.Contains(err.Error(), "provider acme") {
		t.Errorf("another provider = %v, want it refused", err)
	}
}

func TestCounterEvidence(t *testing.T) {
	t.Parallel()
	day := func(r *sources.Record) { r.OccurredTo = r.OccurredAt.AddDate(0, 0, 1) }
	booked := func(at time.Time) func(*sources.Record) {
		return func(r *sources.Record) { r.OccurredAt, r.BookedAt = time.Time{}, at }
	}
	for name, tc := range map[string]struct {
		rec             func(w *world) sources.Record
		equal, nameless int
	}{
		"same amount":             {func(w *world) sources.Record { return w.rec("p", ref("X")) }, 1, 0},
		"another amount":          {func(w *world) sources.Record { return w.rec("p", ref("X"), amount(7)) }, 0, 0},
		"another currency":        {func(w *world) sources.Record { r := w.rec("p", ref("X")); r.Currency = "USD"; return r }, 0, 0},
		"refused":                 {func(w *world) sources.Record { return w.rec("p", ref("X"), status(sources.Failed)) }, 0, 0},
		"a fee":                   {func(w *world) sources.Record { r := w.rec("p", ref("X")); r.Kind = sources.KindFee; return r }, 0, 0},
		"nameless":                {func(w *world) sources.Record { return w.rec("p", ref(""), amount(7)) }, 0, 1},
		"nameless, same amount":   {func(w *world) sources.Record { return w.rec("p", ref("")) }, 1, 1},
		"before the window":       {func(w *world) sources.Record { return w.rec("p", ref("X"), on(w.day(0, 10))) }, 0, 0},
		"after the window":        {func(w *world) sources.Record { return w.rec("p", ref("X"), on(w.day(0, 18))) }, 0, 0},
		"that day":                {func(w *world) sources.Record { return w.rec("p", ref("X"), on(w.day(0)), day) }, 1, 0},
		"the day before":          {func(w *world) sources.Record { return w.rec("p", ref("X"), on(w.day(-1)), day) }, 0, 0},
		"booked in time":          {func(w *world) sources.Record { return w.rec("p", ref("X"), booked(w.day(0))) }, 1, 0},
		"booked long before":      {func(w *world) sources.Record { return w.rec("p", ref("X"), booked(w.day(-3))) }, 0, 0},
		"booked long after":       {func(w *world) sources.Record { return w.rec("p", ref("X"), booked(w.day(3))) }, 0, 0},
		"without any date":        {func(w *world) sources.Record { return w.rec("p", ref("X"), booked(time.Time{})) }, 1, 0},
		"of a later batch":        {func(w *world) sources.Record { return w.rec("p", ref("ref-z")) }, 0, 0},
		"of a later batch by key": {func(w *world) sources.Record { return w.rec("p", ref(""), echo("z")) }, 0, 0},
		"of another provider's":   {func(w *world) sources.Record { return w.rec("p", ref("ref-elsewhere")) }, 1, 0},
		"of another account":      {func(w *world) sources.Record { r := w.rec("p", ref("X")); r.Account = "second"; return r }, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.insert(w.op("k", func(o *operation) { o.account = "main" }), w.op("z", in(journal.Planned)),
				w.op("elsewhere", func(o *operation) { o.provider = "other" }))
			w.load(w.of(0, 1, 9, tc.rec(w)))
			f := w.facts(w.scope(onAbsent(matcher.Retry)), "k")
			if len(f.UnownedSameAmount) != tc.equal || len(f.UnownedWithoutReference) != tc.nameless {
				t.Errorf("unowned: same amount %v, nameless %v; want %d and %d", f.UnownedSameAmount, f.UnownedWithoutReference, tc.equal, tc.nameless)
			}
		})
	}
}

// A refusal fails an operation under any policy, so what speaks against it
// is looked for under any policy.
func TestUnownedRecordSpeaksAgainstRefusal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.insert(w.op("k"))
	w.load(w.of(0, 2, 9, w.rec("p", ref("ref-k"), status(sources.Failed)), w.rec("q", ref("ref k"))))
	w.decide(w.scope())
	equal(t, "status", w.status("k"), "unknown")
	equal(t, "cases", w.cases(), "[refused k open]")
}

func TestBatchesGoThroughAllKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, key := range []string{"b", "A", "a", "ä", "10", "9", "_", "a b"} {
		w.insert(w.op(key))
	}
	w.insert(w.op("other", func(o *operation) { o.action = "refund.create" }))
	seen := map[string]bool{}
	for after := ""; ; {
		b, err := w.store.Batch(t.Context(), w.scope(), after, 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range b.Subjects {
			key := s.Facts.Operation.IdempotencyKey
			if seen[key] {
				t.Errorf("%s comes twice", key)
			}
			seen[key] = true
		}
		if !b.More {
			break
		}
		after = b.Last
	}
	if len(seen) != 8 || seen["other"] {
		t.Errorf("%d operations, want the 8 of the action type: %v", len(seen), seen)
	}
	scope := w.scope()
	scope.WorkflowID = "w-ä"
	b, err := w.store.Batch(t.Context(), scope, "", 10)
	if err != nil || len(b.Subjects) != 1 {
		t.Errorf("by workflow = %d, %v", len(b.Subjects), err)
	}
}
