package filesource_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"reconciler/sources"
	"reconciler/sources/filesource"
)

func TestSibling(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "in", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"in/x/a.csv": "a", "in/x/a.csv.done": "2", "secret": "s"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := filesource.Glob(dir, "in/*/*.csv")
	if err != nil {
		t.Fatal(err)
	}
	d := sources.Delivery{Name: "x/a.csv"}
	body, err := l.Sibling(context.Background(), d, "a.csv.done")
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close() //nolint:errcheck // only read from
	if text, err := io.ReadAll(body); err != nil || string(text) != "2" {
		t.Errorf("read %q, %v; want 2", text, err)
	}
	if _, err := l.Sibling(context.Background(), d, "b.done"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v, want fs.ErrNotExist", err)
	}
	for _, bad := range []string{"", "..", "../../secret", "/etc/passwd", "x/a.csv"} {
		if _, err := l.Sibling(context.Background(), d, bad); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Sibling(%q) = %v, want it refused", bad, err)
		}
	}
}
