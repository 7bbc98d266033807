package postgres_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"reconciler/reconcile"
	"reconciler/sources"
)

// texts are n payments without an id on the noon of a day, one of each amount
// from 1, in the provider's words.
func (w *world) texts(n, day int, layout string) []any {
	var rows []any
	for i := range n {
		rows = append(rows, w.rec("x", noID, on(w.day(day, 12)), amount(int64(i+1)), ref(fmt.Sprintf(layout, i))))
	}
	return rows
}

func TestChangedTextsStopTheStatement(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		first, second func(w *world) statement
		// want is a part of the refusal; empty: it is accepted.
		want string
	}{
		"ten of twelve": {
			func(w *world) statement { return w.of(0, 2, 5, w.texts(10, 1, "paid %d")...) },
			func(w *world) statement {
				return w.of(1, 3, 6, append(w.texts(10, 1, "%d was paid"), w.texts(2, 2, "%d was paid")...)...)
			},
			"line 2: 10 of 12 new records equal known ones except their reference",
		},
		"in a new version of the same period, against another that overlaps": {
			func(w *world) statement {
				w.load(w.of(1, 3, 4, w.texts(10, 1, "paid %d")...))
				return w.of(0, 2, 5, w.texts(10, 1, "paid %d")...)
			},
			func(w *world) statement { return w.of(1, 3, 6, w.texts(10, 1, "%d was paid")...) },
			"10 of 10",
		},
		"less than half": {
			func(w *world) statement { return w.of(0, 2, 5, w.texts(5, 1, "paid %d")...) },
			func(w *world) statement {
				return w.of(1, 3, 6, append(w.texts(5, 1, "%d was paid"), w.texts(6, 2, "%d was paid")...)...)
			}, "",
		},
		"too few": {
			func(w *world) statement { return w.of(0, 2, 5, w.texts(4, 1, "paid %d")...) },
			func(w *world) statement { return w.of(1, 3, 6, w.texts(4, 1, "%d was paid")...) }, "",
		},
		"ordinary overlap": {
			func(w *world) statement { return w.of(0, 2, 5, w.texts(10, 1, "paid %d")...) },
			func(w *world) statement {
				return w.of(1, 3, 6, append(w.texts(10, 1, "paid %d"), w.texts(10, 2, "paid %d")...)...)
			}, "",
		},
		"twins, of which more have come": {
			func(w *world) statement { return w.of(0, 2, 5, twins(w, 6, "subscription")...) },
			func(w *world) statement { return w.of(1, 3, 6, twins(w, 14, "subscription")...) }, "",
		},
		"equal amounts under other references beside the known ones": {
			func(w *world) statement { return w.of(0, 2, 5, twins(w, 6, "ann")...) },
			func(w *world) statement { return w.of(1, 3, 6, append(twins(w, 6, "ann"), twins(w, 9, "bob")...)...) }, "",
		},
		"records with ids": {
			func(w *world) statement {
				return w.of(0, 2, 5, w.rec("a"), w.rec("b"), w.rec("c"), w.rec("d"), w.rec("e"))
			},
			func(w *world) statement {
				return w.of(0, 3, 6, w.rec("a1"), w.rec("b1"), w.rec("c1"), w.rec("d1"), w.rec("e1"))
			}, "",
		},
		"of another period": {
			func(w *world) statement { return w.of(0, 2, 5, w.texts(10, 1, "paid %d")...) },
			func(w *world) statement { return w.of(2, 4, 6, w.texts(10, 1, "%d was paid")...) }, "",
		},
		"in the place of the one before": {
			func(w *world) statement { return w.of(0, 2, 5, w.texts(10, 1, "paid %d")...) },
			func(w *world) statement { return w.of(0, 2, 6, w.texts(10, 1, "%d was paid")...) }, "",
		},
		"read under another mapping": {
			func(w *world) statement { return w.of(0, 2, 5, w.texts(10, 1, "paid %d")...) },
			func(w *world) statement {
				s := w.of(1, 3, 6, w.texts(10, 1, "%d was paid")...)
				s.MappingDigest = "mended"
				return s
			}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, size := range []int{3, 100} {
				w := newWorld(t)
				w.store.SetLoadBatch(size)
				w.load(tc.first(w))
				before := w.current()
				second := tc.second(w)
				_, err := w.tryLoad(t.Context(), second)
				if tc.want == "" {
					if err != nil {
						t.Errorf("load = %v, want it accepted", err)
					}
					continue
				}
				var refusal *sources.Refusal
				if !errors.As(err, &refusal) || !strings.Contains(refusal.Error(), tc.want) || !strings.Contains(refusal.Error(), "mend the mapping") {
					t.Fatalf("load = %v, want a refusal with %q", err, tc.want)
				}
				if after := w.current(); strings.Join(before, "\n") != strings.Join(after, "\n") {
					t.Errorf("records are\n%s\nwere\n%s", strings.Join(after, "\n"), strings.Join(before, "\n"))
				}
				// A person who knows better releases it.
				reg := w.quarantine(second)
				got, err := w.store.Release(t.Context(), reg.ID, second.Document, second.reader(), reconcile.Handling{Actor: "ann", Reason: "others", At: w.day(9)})
				if err != nil || got.Summary.Records != int64(len(second.rows)) {
					t.Errorf("release = %+v, %v, want all of its records", got, err)
				}
			}
		})
	}
}

func twins(w *world, n int, reference string) []any {
	var rows []any
	for range n {
		rows = append(rows, w.rec("x", noID, on(w.day(1, 12)), ref(reference)))
	}
	return rows
}
