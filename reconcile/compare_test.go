package reconcile_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"reconciler/reconcile"
	"reconciler/sources"
)

// shelved is an archive of texts, under their own text.
type shelved struct{}

func (shelved) Put(context.Context, io.Reader) (string, int64, error) { return "", 0, io.ErrClosedPipe }

func (shelved) Open(_ context.Context, text string) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(text)), nil
}

// lettered reads a text of which every letter is a record: its id, and upper
// case says another status; a digit is a reject, a ! refuses the rest.
type lettered struct{ sources.Format }

func (lettered) Digest() string { return "d" }

func (lettered) Open(r io.Reader, _ sources.Delivery) (sources.Reader, error) {
	text, err := io.ReadAll(r)
	return &letters{text: string(text)}, err
}

type letters struct {
	text string
	at   int
}

func (l *letters) Next(rec *sources.Record) error {
	if l.at == len(l.text) {
		return io.EOF
	}
	c := l.text[l.at : l.at+1]
	l.at++
	switch {
	case c == "!":
		return &sources.Refusal{Line: l.at, Reason: "it is broken"}
	case c >= "0" && c <= "9":
		return &sources.Reject{Line: l.at, Reason: "a digit"}
	case c == "\n":
		return io.EOF
	}
	*rec = sources.Record{Line: l.at, Account: "main", ProviderOperationID: strings.ToLower(c), Status: sources.Succeeded, OccurredAt: time.Unix(0, 0)}
	if strings.ToLower(c) != c {
		rec.Status = sources.Pending
	}
	return nil
}

func (l *letters) Summary() (sources.Summary, error) { return sources.Summary{}, nil }

func kept(id int64, text string) reconcile.Kept {
	return reconcile.Kept{ID: id, Name: fmt.Sprint("statement ", id), SHA256: text}
}

// Every record of both statements is counted once: the same, changed, added or
// gone; the other way round, added and gone change places.
func TestCompareLaws(t *testing.T) {
	t.Parallel()
	src := reconcile.Source{Format: lettered{}, Identity: sources.IdentityRule{Source: "bank", Provider: "acme"}}
	rapid.Check(t, func(rt *rapid.T) {
		a := rapid.StringMatching(`[a-eA-E1]{0,8}\n`).Draw(rt, "before")
		b := rapid.StringMatching(`[a-eA-E1]{0,8}\n`).Draw(rt, "after")
		compare := func(x, y string) reconcile.Comparison {
			c, err := reconcile.Compare(t.Context(), shelved{}, reconcile.CompareRequest{Source: src, Before: kept(1, x), After: kept(2, y), Limit: 100})
			if err != nil {
				rt.Fatal(err)
			}
			if int64(len(c.Added)) != c.AddedN || int64(len(c.Changed)) != c.ChangedN || int64(len(c.Gone)) != c.GoneN ||
				int64(len(c.Touched)) != c.ChangedN+c.GoneN {
				rt.Fatalf("lists and counts differ: %+v", c)
			}
			for _, change := range c.Changed {
				if len(change.Fields) != 1 || change.Fields[0].Field != "status" || change.Before.Status == change.After.Status {
					rt.Fatalf("changed %+v, want another status", change)
				}
			}
			return c
		}
		c, back := compare(a, b), compare(b, a)
		if c.Before.Records != c.Same+c.ChangedN+c.GoneN || c.After.Records != c.Same+c.ChangedN+c.AddedN {
			rt.Fatalf("%q to %q: %+v", a, b, c)
		}
		if back.Same != c.Same || back.ChangedN != c.ChangedN || back.AddedN != c.GoneN || back.GoneN != c.AddedN {
			rt.Fatalf("%q to %q: %+v, back: %+v", a, b, c, back)
		}
		if same := compare(a, a); same.ChangedN+same.AddedN+same.GoneN != 0 {
			rt.Fatalf("%q differs from itself: %+v", a, same)
		}
	})
}

// A refused document is read up to its refusal; its last record counts only
// where the document can't be cut inside of it.
func TestCompareReadsAsFarAsItGoes(t *testing.T) {
	t.Parallel()
	src := reconcile.Source{Format: lettered{}, Identity: sources.IdentityRule{Source: "bank", Provider: "acme"}}
	for text, want := range map[string]int64{"abc\n": 3, "ab!\n": 2, "ab!": 2, "!\n": 0, "12a!\n": 1} {
		c, err := reconcile.Compare(t.Context(), shelved{}, reconcile.CompareRequest{Source: src, Before: kept(1, "a\n"), After: kept(2, text), Limit: 9})
		if err != nil {
			t.Fatal(err)
		}
		if refused := strings.Contains(text, "!"); c.After.Records != want || (c.After.Refused != "") != refused {
			t.Errorf("%q: %d records, refused for %q; want %d", text, c.After.Records, c.After.Refused, want)
		}
		if slices.ContainsFunc(c.Added, func(x reconcile.Change) bool { return x.Key == "" }) {
			t.Errorf("%q: a change without key: %+v", text, c.Added)
		}
	}
}
