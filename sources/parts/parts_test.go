package parts_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"reconciler/sources"
	"reconciler/sources/filesource"
	"reconciler/sources/parts"
)

const pattern = `_part(?P<part>\d+)of(?P<of>\d+)`

func location(t *testing.T, files map[string]string) sources.Location {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	inner, err := filesource.Glob(dir, "*.csv")
	if err != nil {
		t.Fatal(err)
	}
	l, err := parts.Wrap(inner, &sources.Parts{Pattern: pattern})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// contents opens all that is listed; an error stands for the text.
func contents(t *testing.T, l sources.Location) map[string]string {
	t.Helper()
	out := map[string]string{}
	for d, err := range l.List(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		out[d.Name] = read(t, l, d)
	}
	return out
}

func read(t *testing.T, l sources.Location, d sources.Delivery) string {
	t.Helper()
	body, err := l.Open(context.Background(), d)
	if err != nil {
		return "error: " + err.Error()
	}
	text, err := io.ReadAll(iotest.OneByteReader(body))
	if err != nil {
		return "error: " + err.Error()
	}
	if err := body.Close(); err != nil {
		t.Fatal(err)
	}
	if d.Size >= 0 && int64(len(strings.ReplaceAll(string(text), "\n", ""))) > d.Size {
		t.Errorf("%s: %d bytes listed, %d read", d.Name, d.Size, len(text))
	}
	return string(text)
}

func TestPartsAreOneDocument(t *testing.T) {
	t.Parallel()
	got := contents(t, location(t, map[string]string{
		"a_part1of3.csv": "one\n", "a_part3of3.csv": "three", "a_part2of3.csv": "two",
		"b_part2of2.csv": "second\n",
		"c_part1of2.csv": "x", "c_part1of3.csv": "y",
		"d_part01of1.csv": "alone\n",
		"e.csv":           "whole\n",
		"f_part1of2.csv":  "x", "f_part01of2.csv": "y",
		"g_part3of2.csv": "x",
	}))
	want := map[string]string{
		"a_part*of3.csv": "one\ntwo\nthree",
		"b_part*of2.csv": "error: open b_part*of2.csv: parts are missing: 1 of 2",
		"c_part*of2.csv": "error: open c_part*of2.csv: parts are missing: 2 of 2",
		"c_part*of3.csv": "error: open c_part*of3.csv: parts are missing: 2, 3 of 3",
		"d_part*of1.csv": "alone\n",
		"e.csv":          "whole\n",
		"f_part*of2.csv": `error: open f_part*of2.csv: "f_part01of2.csv" and "f_part1of2.csv" are both part 1`,
		"g_part*of2.csv": `error: open g_part*of2.csv: "g_part3of2.csv" is part 3 of 2; there may be up to 1000`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPackedParts(t *testing.T) {
	t.Parallel()
	pack := func(text string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	one, two := pack("one\n"), pack("two\n")
	got := contents(t, location(t, map[string]string{"a_part1of2.csv": one, "a_part2of2.csv": two}))
	if got["a_part*of2.csv"] != one+two {
		t.Errorf("packed parts: %q, want one behind the other", got)
	}
}

func TestMissingIsAnError(t *testing.T) {
	t.Parallel()
	l := location(t, map[string]string{"a_part1of2.csv": "one\n"})
	for d, err := range l.List(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Open(context.Background(), d); !errors.Is(err, parts.ErrMissing) {
			t.Errorf("Open = %v, want ErrMissing", err)
		}
	}
	if _, err := parts.Wrap(nil, &sources.Parts{Pattern: "part"}); err == nil {
		t.Error("Wrap without groups = nil, want an error")
	}
}
