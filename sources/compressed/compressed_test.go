package compressed_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"

	"reconciler/sources"
	"reconciler/sources/compressed"
	"reconciler/sources/csvformat"
)

const (
	head = "ref,amount,date\n"
	rows = head + "R1,1.00,2026-11-01\nR2,2.00,2026-11-01\n"
	full = rows + "Total,2\n"
)

// register reads ref, amount and date with a footer that counts, and skips
// repeated headers.
func register(tb testing.TB, rule compressed.Rule) sources.Format {
	tb.Helper()
	column := func(name string) *sources.Field { return &sources.Field{Column: &sources.Column{Header: name}} }
	one := func(value string) *sources.Field { return &sources.Field{Value: &value} }
	occurred := column("date")
	occurred.Layout = "2006-01-02"
	f, err := csvformat.New(csvformat.Config{
		Options: sources.CSV{RepeatedHeader: "skip"}, Account: "main",
		Mapping: sources.Mapping{
			BusinessReference: column("ref"), Amount: column("amount"), Currency: one("EUR"), Status: one("succeeded"), OccurredAt: occurred,
		},
		Completeness: sources.Completeness{Footer: &sources.Footer{Match: "^Total$", Count: &sources.Column{Header: "amount"}}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	wrapped, err := compressed.Wrap(f, rule)
	if err != nil {
		tb.Fatal(err)
	}
	return wrapped
}

// readAll returns the references, and how the reading ended.
func readAll(f sources.Format, src io.Reader) (references []string, sum sources.Summary, err error) {
	r, err := f.Open(src, sources.Delivery{Name: "a.csv"})
	if err != nil {
		return nil, sum, err
	}
	for rec := (sources.Record{}); ; {
		var reject *sources.Reject
		err := r.Next(&rec)
		switch {
		case errors.Is(err, io.EOF):
			sum, err = r.Summary()
			return references, sum, err
		case errors.As(err, &reject):
		case err != nil:
			return references, sum, err
		default:
			references = append(references, rec.BusinessReference)
		}
	}
}

func gzipped(tb testing.TB, texts ...string) []byte {
	tb.Helper()
	var b bytes.Buffer
	for _, text := range texts {
		w := gzip.NewWriter(&b)
		if _, err := io.WriteString(w, text); err != nil {
			tb.Fatal(err)
		}
		if err := w.Close(); err != nil {
			tb.Fatal(err)
		}
	}
	return b.Bytes()
}

func zstded(tb testing.TB, texts ...string) []byte {
	tb.Helper()
	var b bytes.Buffer
	for _, text := range texts {
		w, err := zstd.NewWriter(&b)
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			tb.Fatal(err)
		}
		if err := w.Close(); err != nil {
			tb.Fatal(err)
		}
	}
	return b.Bytes()
}

func zipped(tb testing.TB, files ...string) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		f, err := w.Create(files[i])
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := io.WriteString(f, files[i+1]); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func TestE11_BytesSayHowTheyArePacked(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		bytes   []byte
		member  string
		refused string
	}{
		{"gzip", gzipped(t, full), "", ""},
		{"plain", []byte(full), "", ""},
		{"zstd", zstded(t, full), "", ""},
		{"zip with one file", zipped(t, "a.csv", full), "", ""},
		{"zip with a folder and the dust of a Mac", zipped(t, "x/", "", "x/a.csv", full, "__MACOSX/x/._a.csv", "dust", "x/.DS_Store", "dust"), "", ""},
		{"zip with two files", zipped(t, "a.csv", full, "b.csv", full), "", `2 files ("a.csv", "b.csv")`},
		{"zip with two files and a pattern", zipped(t, "notes.txt", "x", "in/report-1.csv", full), "report-*.csv", ""},
		{"zip with two that fit", zipped(t, "a.csv", full, "b.csv", full), "*.csv", "2 match unpack.member"},
		{"zip with none that fits", zipped(t, "a.csv", full), "*.txt", "0 match unpack.member"},
		{"zip with nothing", zipped(t), "", "has no file"},
		{"gzip in gzip", gzipped(t, string(gzipped(t, full))), "", "packed twice: gzip in gzip"},
		{"gzip in zip", zipped(t, "a.csv.gz", string(gzipped(t, full))), "", "packed twice: gzip in zip"},
		{"a workbook", zipped(t, "[Content_Types].xml", "<x/>", "xl/workbook.xml", "<x/>"), "", "Office document"},
		{"xz", []byte("\xfd7zXZ\x00....."), "", "packed with xz"},
		{"bzip2", []byte("BZh91AY&SY....."), "", "packed with bzip2"},
		{"gzip of nothing", gzipped(t, ""), "", "the file is empty"},
		{"nothing", nil, "", "the file is empty"},
		{"one byte", []byte("\x1f"), "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := register(t, compressed.Rule{Member: tt.member})
			path := filepath.Join(t.TempDir(), "a.bin")
			if err := os.WriteFile(path, tt.bytes, 0o600); err != nil {
				t.Fatal(err)
			}
			file, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close() //nolint:errcheck // only read from
			for name, src := range map[string]io.Reader{
				"stream": io.MultiReader(bytes.NewReader(tt.bytes)), "byte by byte": iotest.OneByteReader(bytes.NewReader(tt.bytes)), "file": file,
			} {
				references, sum, err := readAll(f, src)
				var refusal *sources.Refusal
				switch {
				case tt.name == "one byte":
					if !errors.As(err, &refusal) {
						t.Errorf("%s: %v, want a refusal", name, err)
					}
				case tt.refused != "":
					if !errors.As(err, &refusal) || !strings.Contains(refusal.Error(), tt.refused) {
						t.Errorf("%s: %v, want a refusal with %q", name, err, tt.refused)
					}
				case err != nil || fmt.Sprint(references) != "[R1 R2]" || sum.EndProof != sources.EndFooter:
					t.Errorf("%s: %v, %v, end %s; want R1, R2 and the footer", name, references, err, sum.EndProof)
				}
			}
		})
	}
}

func TestE13_SeveralMembers(t *testing.T) {
	t.Parallel()
	f := register(t, compressed.Rule{})
	for name, packed := range map[string][]byte{
		"gzip, header repeated": gzipped(t, head+"R1,1.00,2026-11-01\n", head+"R2,2.00,2026-11-01\nTotal,2\n"),
		"gzip, one header":      gzipped(t, head+"R1,1.00,2026-11-01\n", "R2,2.00,2026-11-01\nTotal,2\n"),
		"zstd, header repeated": zstded(t, head+"R1,1.00,2026-11-01\n", head+"R2,2.00,2026-11-01\nTotal,2\n"),
	} {
		references, sum, err := readAll(f, bytes.NewReader(packed))
		if err != nil || fmt.Sprint(references) != "[R1 R2]" || sum.Rows != 2 {
			t.Errorf("%s: %v, %v; want R1 and R2", name, references, err)
		}
	}
}

// TestCutArchives: an archive that is cut at any byte is refused; it is never
// a shorter document, and never an outage, for all that was sent is there.
func TestCutArchives(t *testing.T) {
	t.Parallel()
	text := head + strings.Repeat("R1,1.00,2026-11-01\n", 50) + "Total,50\n"
	f := register(t, compressed.Rule{})
	for name, packed := range map[string][]byte{
		"gzip": gzipped(t, text), "two members": gzipped(t, text[:200], text[200:]), "zstd": zstded(t, text), "zip": zipped(t, "a.csv", text),
	} {
		for cut := range packed {
			_, sum, err := readAll(f, bytes.NewReader(packed[:cut]))
			var refusal *sources.Refusal
			if !errors.As(err, &refusal) {
				t.Errorf("%s cut at byte %d of %d: %v, end %q; want a refusal", name, cut, len(packed), err, sum.EndProof)
			}
		}
	}
}

func TestDamage(t *testing.T) {
	t.Parallel()
	noise := rand.New(rand.NewPCG(1, 2))
	f := register(t, compressed.Rule{})
	for name, packed := range map[string][]byte{"gzip": gzipped(t, full), "zstd": zstded(t, full), "zip": zipped(t, "a.csv", full)} {
		for range 300 {
			broken := bytes.Clone(packed)
			broken[noise.IntN(len(broken))] ^= byte(1 + noise.IntN(255))
			references, _, err := readAll(f, bytes.NewReader(broken))
			var refusal *sources.Refusal
			if err != nil && !errors.As(err, &refusal) {
				t.Fatalf("%s: damage is %v, want a refusal", name, err)
			}
			if err == nil && fmt.Sprint(references) != "[R1 R2]" {
				t.Fatalf("%s: damage reads as %v", name, references)
			}
		}
	}
	garbage := append(gzipped(t, full), "garbage behind the end"...)
	if _, _, err := readAll(f, bytes.NewReader(garbage)); err == nil {
		t.Error("garbage behind the archive is accepted")
	}
}

// TestOutageIsNoDamage: a source that breaks off is an outage, whatever the
// archive looks like by then.
func TestOutageIsNoDamage(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	f := register(t, compressed.Rule{})
	for name, packed := range map[string][]byte{"gzip": gzipped(t, full), "zstd": zstded(t, full), "zip": zipped(t, "a.csv", full), "plain": []byte(full)} {
		for cut := range packed {
			for _, cause := range []error{broken, fmt.Errorf("get page: %w", io.EOF)} {
				_, _, err := readAll(f, io.MultiReader(bytes.NewReader(packed[:cut]), iotest.ErrReader(cause)))
				want := cause
				if errors.Is(cause, io.EOF) {
					want = io.ErrUnexpectedEOF
				}
				var refusal *sources.Refusal
				if !errors.Is(err, want) || errors.Is(err, io.EOF) || errors.As(err, &refusal) {
					t.Fatalf("%s, %v after %d bytes: %v, want the outage", name, cause, cut, err)
				}
			}
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	bomb := head + strings.Repeat("R1,1.00,2026-11-01\n", 2_000_000)
	for name, packed := range map[string][]byte{"gzip": gzipped(t, bomb), "zstd": zstded(t, bomb), "zip": zipped(t, "a.csv", bomb)} {
		for limit, rule := range map[string]compressed.Rule{
			"unpack.max_size": {MaxSize: 1 << 20}, "unpack.max_ratio": {MaxRatio: 10},
		} {
			references, _, err := readAll(register(t, rule), bytes.NewReader(packed))
			var refusal *sources.Refusal
			if !errors.As(err, &refusal) || !strings.Contains(refusal.Error(), limit) || len(references) > 1_000_000 {
				t.Errorf("%s: %d rows, %v; want a refusal by %s", name, len(references), err, limit)
			}
		}
	}
}

func TestRule(t *testing.T) {
	t.Parallel()
	for _, bad := range []compressed.Rule{{Member: "["}, {MaxSize: -1}, {MaxRatio: -1}} {
		if _, err := compressed.Wrap(nil, bad); err == nil {
			t.Errorf("Wrap(%+v) = nil, want an error", bad)
		}
	}
	plain, one := register(t, compressed.Rule{}), register(t, compressed.Rule{Member: "a*"})
	limits := register(t, compressed.Rule{MaxRatio: 3})
	if plain.Digest() == one.Digest() || plain.Digest() != limits.Digest() {
		t.Error("the digest must change with the member, and not with the limits")
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(gzipped(f, full))
	f.Add(zstded(f, full))
	f.Add(zipped(f, "a.csv", full))
	f.Add([]byte(full))
	format := register(f, compressed.Rule{MaxSize: 1 << 20})
	f.Fuzz(func(t *testing.T, data []byte) {
		_, sum, err := readAll(format, bytes.NewReader(data))
		var refusal *sources.Refusal
		if err != nil && !errors.As(err, &refusal) {
			t.Errorf("%v, want a refusal: nothing broke off", err)
		}
		if err == nil && sum.Rows != sum.Records+sum.Rejects+sum.Skipped {
			t.Errorf("summary %+v", sum)
		}
	})
}
