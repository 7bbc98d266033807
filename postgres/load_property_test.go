package postgres_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"reconciler/postgres"
	"reconciler/reconcile"
	"reconciler/sources"
)

// said is a statement as the model of the property test knows it.
type said struct {
	statement
	id         int64
	asOf       int
	superseded bool
	// waiting is in quarantine, closed no longer waits there; released was
	// taken out of it by a person, discarded taken back.
	waiting, closed, released, discarded bool
	// main is the standing version of each key in this statement, all of them
	// in every; contradicts are keys that it uses for two things.
	main  map[string]sources.Record
	every map[string][]sources.Record
}

func keyOf(r sources.Record) string {
	return sources.IdentityRule{Source: "bank", Provider: "acme"}.Key(&r)
}

func words(r sources.Record) string {
	return fmt.Sprint(keyOf(r), r.AmountMinor, r.Status, r.OccurredAt.Unix(), r.BusinessReference)
}

func clash(a, b sources.Record) bool {
	return a.AmountMinor != b.AmountMinor || a.BusinessReference != b.BusinessReference
}

var ranks = map[sources.Status]int{sources.Pending: 0, sources.Succeeded: 1, sources.Failed: 1, sources.Reversed: 2}

// read folds the lines of a statement into what it says of each key.
func (s *said) read() {
	s.main, s.every = map[string]sources.Record{}, map[string][]sources.Record{}
	ordinals := map[string]int{}
	for _, row := range s.rows {
		r, ok := row.(sources.Record)
		if !ok {
			continue
		}
		if r.ProviderOperationID == "" {
			alike := keyOf(r)
			r.Ordinal = ordinals[alike]
			ordinals[alike]++
		}
		k := keyOf(r)
		s.every[k] = append(s.every[k], r)
		last, seen := s.main[k]
		if !seen || !clash(last, r) && cmp.Or(last.OccurredAt.Compare(r.OccurredAt),
			cmp.Compare(ranks[last.Status], ranks[r.Status]), cmp.Compare(last.Line, r.Line)) < 0 && words(last) != words(r) {
			s.main[k] = r
		}
	}
}

// Whatever statements come in whatever order: the current record is the word
// of the newest current statement that has it, nothing is lost, the counts are
// right, and a repetition changes nothing. What a person releases from
// quarantine is a word like any other, but no version of its period.
func TestLoadKeepsItsPromises(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rapid.Check(t, func(rt *rapid.T) {
		for _, table := range []string{"records", "record_versions", "record_lookups", "statement_repeats", "statements"} {
			w.exec(`DELETE FROM reconciler.` + table)
		}
		w.store.SetLoadBatch(rapid.SampledFrom([]int{1, 2, 3, 50}).Draw(rt, "batch"))
		var all []*said
		for range rapid.IntRange(1, 8).Draw(rt, "statements") {
			s := drawStatement(rt, w)
			if rapid.IntRange(0, 3).Draw(rt, "broken") == 0 {
				s.id = w.quarantine(s.statement).ID
				s.waiting = true
				s.closed = slices.ContainsFunc(all, func(old *said) bool {
					return old.version() && old.Period == s.Period && old.asOf >= s.asOf
				})
			} else {
				got := w.load(s.statement)
				s.id = got.ID
				if got.Known {
					rt.Fatalf("%s is known", s.Name)
				}
				s.supersede(all)
			}
			all = append(all, s)
			checkModel(rt, w, all)
			handle(rt, w, all)
			checkModel(rt, w, all)
		}
		again := rapid.SampledFrom(all).Draw(rt, "again")
		before := w.tables()
		if got := w.load(again.statement); !got.Known || got.ID != again.id {
			rt.Fatalf("%s again = %+v", again.Name, got)
		}
		after := w.tables()
		for name, sum := range before {
			if after[name] != sum {
				rt.Fatalf("%s changed when %s was loaded again", name, again.Name)
			}
		}
	})
}

// version reports a current statement that speaks for its period.
func (s *said) version() bool { return s.current() && !s.released }

// current reports a statement whose records count.
func (s *said) current() bool { return !s.superseded && !s.waiting && !s.discarded }

// supersede lets a loaded statement take the place of others.
func (s *said) supersede(all []*said) {
	for _, old := range all {
		if old.version() && old.Period == s.Period && old.asOf > s.asOf {
			s.superseded = true
			return
		}
	}
	for _, old := range all {
		if old.Period != s.Period || old.asOf > s.asOf {
			continue
		}
		old.closed = true
		old.superseded = old.superseded || old.current()
	}
}

// handle releases a document in quarantine, or takes back a release.
func handle(rt *rapid.T, w *world, all []*said) {
	s := rapid.SampledFrom(all).Draw(rt, "handled")
	by := reconcile.Handling{Actor: "ann", Reason: "we need it", At: w.day(10)}
	switch _, err := w.store.Release(w.t.Context(), s.id, s.Document, s.reader(), by); {
	case !s.waiting || s.closed:
		if !errors.Is(err, postgres.ErrNotQuarantined) {
			rt.Fatalf("release of %s = %v, want that it is not in quarantine", s.Name, err)
		}
	case len(s.rows) == 0:
		if !errors.Is(err, reconcile.ErrNothingReadable) {
			rt.Fatalf("release of %s = %v, want that nothing is readable", s.Name, err)
		}
	case err != nil:
		rt.Fatal(err)
	default:
		s.waiting, s.released = false, true
	}
	checkModel(rt, w, all)
	if s = rapid.SampledFrom(all).Draw(rt, "taken back"); !s.released {
		return
	}
	switch err := w.store.Discard(w.t.Context(), s.id, "ann", "no", w.day(11)); {
	case err != nil && s.current() || err == nil && !s.current():
		rt.Fatalf("discard of %s = %v", s.Name, err)
	case err == nil:
		s.discarded = true
	}
	checkModel(rt, w, all)
}

func drawStatement(rt *rapid.T, w *world) *said {
	period := rapid.SampledFrom([][2]int{{0, 1}, {1, 2}, {0, 2}, {0, 3}}).Draw(rt, "period")
	var rows []any
	for range rapid.IntRange(0, 5).Draw(rt, "rows") {
		id := rapid.SampledFrom([]string{"a", "b", "c", "none"}).Draw(rt, "id")
		r := w.rec(id, on(w.day(rapid.SampledFrom([]int{0, 0, 0, 1, 4}).Draw(rt, "day"), 12)),
			amount(rapid.SampledFrom([]int64{100, 100, 100, 200}).Draw(rt, "amount")),
			status(rapid.SampledFrom([]sources.Status{sources.Succeeded, sources.Pending, sources.Failed}).Draw(rt, "status")))
		if id == "none" {
			noID(&r)
		}
		rows = append(rows, r)
	}
	asOf := rapid.IntRange(5, 9).Draw(rt, "as of")
	s := &said{statement: w.of(period[0], period[1], asOf, rows...), asOf: asOf}
	s.read()
	return s
}

func checkModel(rt *rapid.T, w *world, all []*said) {
	if wrong := w.wrongCounts(); len(wrong) > 0 {
		rt.Fatalf("statement, stored_count, there: %v", wrong)
	}
	names := map[string]*said{}
	holders := map[string][]*said{}
	for _, s := range all {
		names[s.Name] = s
		for k := range s.main {
			if s.current() {
				holders[k] = append(holders[k], s)
			}
		}
		state := "accepted"
		switch {
		case s.waiting || s.discarded:
			state = "quarantined"
		case s.superseded:
			state = "superseded"
		}
		if got := get[string](w, `SELECT state FROM reconciler.statements WHERE statement_id = $1`, s.id); got != state {
			rt.Fatalf("%s is %s, want %s", s.Name, got, state)
		}
	}
	const columns = `r.record_key, r.amount_minor, r.status, extract(epoch FROM r.occurred_at)::bigint, r.business_reference, st.name`
	scan := func(table string) (keys, said []string, homes []string) {
		rows, err := w.pool.Query(w.t.Context(), `SELECT `+columns+` FROM reconciler.`+table+` r JOIN reconciler.statements st USING (statement_id)`)
		if err != nil {
			rt.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var key, status, reference, home string
			var minor, at int64
			if err := rows.Scan(&key, &minor, &status, &at, &reference, &home); err != nil {
				rt.Fatal(err)
			}
			keys, homes = append(keys, key), append(homes, home)
			said = append(said, fmt.Sprint(key, minor, sources.Status(status), at, reference))
		}
		if err := rows.Err(); err != nil {
			rt.Fatal(err)
		}
		return keys, said, homes
	}
	keys, texts, homes := scan("records")
	if len(keys) != len(holders) {
		rt.Fatalf("%d records are current, want %d: %v", len(keys), len(holders), texts)
	}
	flags := map[string]bool{}
	for _, k := range w.lines(`SELECT record_key FROM reconciler.records WHERE conflicted`) {
		flags[k] = true
	}
	everything := map[string]bool{}
	for i, k := range keys {
		everything[texts[i]] = true
		standing{k, texts[i], names[homes[i]], holders[k], flags[k]}.check(rt)
	}
	_, texts, homes = scan("record_versions")
	for i, text := range texts {
		everything[text] = true
		if !says(names[homes[i]], text) {
			rt.Fatalf("version %s is kept under %s, which does not say it", text, homes[i])
		}
	}
	for _, s := range all {
		if s.waiting {
			continue
		}
		for _, list := range s.every {
			for _, r := range list {
				if !everything[words(r)] {
					rt.Fatalf("%s of %s is lost", words(r), s.Name)
				}
			}
		}
	}
}

func says(s *said, text string) bool {
	for _, list := range s.every {
		if slices.ContainsFunc(list, func(r sources.Record) bool { return words(r) == text }) {
			return true
		}
	}
	return false
}

// standing is a current record with what the model knows of it.
type standing struct {
	key, text string
	home      *said
	holders   []*said
	flagged   bool
}

func (c standing) check(rt *rapid.T) {
	if !c.home.current() || !says(c.home, c.text) {
		rt.Fatalf("record %s has its home in %s, which is superseded or does not say it", c.text, c.home.Name)
	}
	clashes := false
	for _, s := range c.holders {
		for _, other := range c.holders {
			for _, a := range s.every[c.key] {
				clashes = clashes || slices.ContainsFunc(other.every[c.key], func(b sources.Record) bool { return clash(a, b) })
			}
		}
	}
	if clashes != c.flagged {
		rt.Fatalf("record %s is flagged as conflicted: %t, want %t", c.text, c.flagged, clashes)
	}
	if clashes {
		return
	}
	newest := slices.MaxFunc(c.holders, func(a, b *said) int { return cmp.Or(cmp.Compare(a.asOf, b.asOf), cmp.Compare(a.id, b.id)) })
	if want := words(newest.main[c.key]); c.text != want {
		rt.Fatalf("current is %s, want %s of %s", c.text, want, newest.Name)
	}
}
