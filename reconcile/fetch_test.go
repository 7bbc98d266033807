package reconcile_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reconciler/matcher"
	"reconciler/reconcile"
	"reconciler/sources"
	"reconciler/sources/csvformat"
	"reconciler/sources/filesource"
)

// shelf is an archive in memory.
type shelf map[string][]byte

func (s shelf) Put(_ context.Context, r io.Reader) (string, int64, error) {
	data, err := io.ReadAll(r)
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	s[digest] = data
	return digest, int64(len(data)), err
}

func (s shelf) Open(_ context.Context, digest string) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(s[digest])), nil
}

// book registers statements in memory.
type book struct {
	reconcile.Statements
	known     map[string]reconcile.Registered
	documents []reconcile.Document
	summaries []sources.Summary
	refusals  []string
}

func (b *book) key(id reconcile.StatementID) string {
	// Equal bytes state equal periods: no need to have it in the key.
	return strings.Join([]string{id.Source, id.SHA256, id.MappingDigest}, "|")
}

func (b *book) Known(_ context.Context, id reconcile.StatementID) (*reconcile.Registered, error) {
	if known, ok := b.known[b.key(id)]; ok {
		return &known, nil
	}
	return nil, nil //nolint:nilnil // as the interface has it
}

func (b *book) Redelivered(context.Context, reconcile.Document, reconcile.Registered) error {
	return nil
}

func (b *book) Load(_ context.Context, d reconcile.Document, r sources.Reader) (reconcile.Loaded, error) {
	for rec := (sources.Record{}); ; {
		err := r.Next(&rec)
		var reject *sources.Reject
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.As(err, &reject) {
			return reconcile.Loaded{}, err
		}
	}
	sum, err := r.Summary()
	if err != nil {
		return reconcile.Loaded{}, err
	}
	b.documents, b.summaries = append(b.documents, d), append(b.summaries, sum)
	b.known[b.key(d.StatementID)] = reconcile.Registered{State: "accepted"}
	return reconcile.Loaded{Registered: reconcile.Registered{State: "accepted"}, Summary: sum}, nil
}

func (b *book) Quarantine(_ context.Context, d reconcile.Document, _ []sources.Reject, refusal *sources.Refusal) (reconcile.Registered, error) {
	b.refusals = append(b.refusals, refusal.Reason)
	b.known[b.key(d.StatementID)] = reconcile.Registered{State: "quarantined"}
	return reconcile.Registered{State: "quarantined"}, nil
}

// folder is a source of the files in a folder.
type folder struct {
	dir     string
	book    *book
	shelf   shelf
	request reconcile.IngestRequest
}

func newFolder(t *testing.T, c sources.Completeness) *folder {
	t.Helper()
	column := func(name string) *sources.Field { return &sources.Field{Column: &sources.Column{Header: name}} }
	succeeded := "succeeded"
	occurred := column("date")
	occurred.Layout = "2006-01-02"
	format, err := csvformat.New(csvformat.Config{
		Options: sources.CSV{Header: &sources.Header{Contains: []string{"ref", "date"}}},
		Mapping: sources.Mapping{BusinessReference: column("ref"), Status: &sources.Field{Value: &succeeded}, OccurredAt: occurred},
		Account: "main", Completeness: c,
	})
	if err != nil {
		t.Fatal(err)
	}
	f := &folder{dir: t.TempDir(), book: &book{known: map[string]reconcile.Registered{}}, shelf: shelf{}}
	location, err := filesource.Glob(f.dir, "*.csv")
	if err != nil {
		t.Fatal(err)
	}
	f.request = reconcile.IngestRequest{Source: reconcile.Source{
		Rule: matcher.SourceRule{Name: "bank", Accounts: []string{"main"}}, Format: format, Location: location,
	}}
	return f
}

func (f *folder) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// ingest reads the one file of the folder.
func (f *folder) ingest(t *testing.T) (reconcile.Ingested, error) {
	t.Helper()
	for d, err := range f.request.Location.List(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		req := f.request
		req.Delivery = d
		return reconcile.Ingest(context.Background(), f.book, f.shelf, req)
	}
	t.Fatal("nothing is listed")
	return reconcile.Ingested{}, nil
}

const twoDays = "ref,date\nR1,2026-11-01\nR2,2026-11-01\n"

func TestManifestVouches(t *testing.T) {
	t.Parallel()
	f := newFolder(t, sources.Completeness{Manifest: &sources.Manifest{Name: "{name}.done", Count: `(\d+)`}})
	f.write(t, "a.csv", twoDays)
	if got, err := f.ingest(t); err == nil || !strings.Contains(err.Error(), "not finished") || got.Registered.State != "" || len(f.book.known) != 0 {
		t.Errorf("without its manifest: %+v, %v; want an outage, and nothing registered", got, err)
	}
	f.write(t, "a.csv.done", "3")
	if got, err := f.ingest(t); err != nil || got.Registered.State != "quarantined" || !strings.Contains(f.book.refusals[0], "declares 3 records, the file has 2") {
		t.Errorf("a manifest that differs: %+v, %v, refused %q", got, err, f.book.refusals)
	}
	if got, err := f.ingest(t); err != nil || !got.Known {
		t.Errorf("the same again: %+v, %v; want it known", got, err)
	}
	f.write(t, "a.csv.done", "2")
	if got, err := f.ingest(t); err != nil || got.Registered.State != "accepted" || f.book.summaries[0].EndProof != sources.EndManifest {
		t.Errorf("a manifest that agrees: %+v, %v; want it read again and accepted", got, err)
	}
}

func TestStatedPeriods(t *testing.T) {
	t.Parallel()
	count := &sources.Place{Match: `Rows: (\d+)`}
	cells := &sources.PeriodRule{Cells: &sources.PeriodCells{From: &sources.Place{Match: `Day: (\S+)`}}}
	for name, tt := range map[string]struct {
		rule *sources.PeriodRule
		text string
	}{
		"preamble":        {cells, "Day: 2026-11-01\nRows: 2\n" + twoDays},
		"behind the rows": {cells, "Rows: 2\n" + twoDays + "Day: 2026-11-01\n"},
		"one day":         {&sources.PeriodRule{Daily: "occurred_at"}, "Rows: 2\n" + twoDays},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t, sources.Completeness{Period: tt.rule, Count: count})
			f.write(t, "a.csv", tt.text)
			for _, known := range []bool{false, true} {
				if got, err := f.ingest(t); err != nil || got.Known != known {
					t.Fatalf("%+v, %v, refused %q; want known %v", got, err, f.book.refusals, known)
				}
			}
			want := sources.Period{From: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)}
			if len(f.book.documents) != 1 || f.book.documents[0].Period != want {
				t.Errorf("documents %+v, want one of %v", f.book.documents, want)
			}
			f.write(t, "a.csv", strings.Replace(tt.text, "Rows: 2", "Rows: 9", 1))
			for _, known := range []bool{false, true} {
				if got, err := f.ingest(t); err != nil || got.Known != known || got.Registered.State != "quarantined" {
					t.Errorf("a wrong count: %+v, %v; want it in quarantine, known %v", got, err, known)
				}
			}
		})
	}
}
