package filesource_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reconciler/sources"
	"reconciler/sources/filesource"
)

// folder makes files below a temporary folder; a name that ends in a slash is
// a folder of its own.
func folder(t *testing.T, names ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, name := range names {
		path := filepath.Join(root, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o750); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		write(t, path, "content of "+name)
	}
	return root
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func list(t *testing.T, l *filesource.Location) ([]sources.Delivery, error) {
	t.Helper()
	var out []sources.Delivery
	for d, err := range l.List(t.Context()) {
		if err != nil {
			return out, err
		}
		out = append(out, d)
	}
	return out, nil
}

func names(ds []sources.Delivery) []string {
	var out []string
	for _, d := range ds {
		out = append(out, d.Name)
	}
	return out
}

func glob(t *testing.T, base, pattern string) *filesource.Location {
	t.Helper()
	l, err := filesource.Glob(base, pattern)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestGlobLists(t *testing.T) {
	t.Parallel()
	root := folder(t,
		"in/acme-2.csv", "in/acme-10.csv", "in/acme-1.csv", "in/other.csv", "in/acme-3.csv.part", "in/acme-4.tmp",
		"in/.acme-5.csv", "in/acme-6.csv.filepart", "in/acme-7.csv~", "in/~$acme-8.csv", "in/acme-folder.csv/",
		"in/2026/a.csv", "in/2025/a.csv", "in/2025/b.csv", "in/.hidden/c.csv", "in/2024/", "[x]/a.csv",
	)
	for _, tt := range []struct {
		name, pattern string
		want          []string
	}{
		{"wildcard", "in/acme-*.csv", []string{"acme-1.csv", "acme-10.csv", "acme-2.csv"}},
		{"everything", "in/*", []string{"acme-1.csv", "acme-10.csv", "acme-2.csv", "other.csv"}},
		{"with ./", "./in//acme-?.csv", []string{"acme-1.csv", "acme-2.csv"}},
		{"class", "in/acme-[2-9].csv", []string{"acme-2.csv"}},
		{"one file", "in/other.csv", []string{"other.csv"}},
		{"one file that is not there", "in/missing.csv", nil},
		{"nothing matches", "in/zzz-*.csv", nil},
		{"folders in between", "in/20*/*.csv", []string{"2025/a.csv", "2025/b.csv", "2026/a.csv"}},
		{"a fixed name behind a wildcard", "in/*/a.csv", []string{"2025/a.csv", "2026/a.csv"}},
		{"another folder", "in/../in/other.csv", []string{"other.csv"}},
		{"absolute", filepath.Join(root, "in", "oth*.csv"), []string{"other.csv"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := glob(t, root, tt.pattern)
			for range 2 {
				got, err := list(t, l)
				if diff := cmp.Diff(tt.want, names(got)); err != nil || diff != "" {
					t.Errorf("List() = %v (-want +got):\n%s", err, diff)
				}
			}
		})
	}
	// The base is a folder, whatever characters its name has.
	if got, err := list(t, glob(t, filepath.Join(root, "[x]"), "*.csv")); err != nil || len(got) != 1 {
		t.Errorf("in the folder [x]: %v, %v; want one file", names(got), err)
	}
}

func TestDeliveryDescribesTheFile(t *testing.T) {
	t.Parallel()
	root := folder(t, "a.csv")
	at := time.Date(2026, 11, 1, 6, 0, 0, 123456789, time.UTC)
	if err := os.Chtimes(filepath.Join(root, "a.csv"), at, at); err != nil {
		t.Fatal(err)
	}
	got, err := list(t, glob(t, root, "*.csv"))
	want := []sources.Delivery{{Name: "a.csv", Size: int64(len("content of a.csv")), ModifiedAt: at}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("List() = %v (-want +got):\n%s", err, diff)
	}
}

// TestOutageIsNoEmptyFolder: a folder that is not there is an error; only one
// that was read can be empty.
func TestOutageIsNoEmptyFolder(t *testing.T) {
	t.Parallel()
	root := folder(t, "in/a.csv", "file")
	for _, pattern := range []string{"missing/*.csv", "missing/a.csv", "file/*.csv", "in/missing/*.csv"} {
		if got, err := list(t, glob(t, root, pattern)); err == nil {
			t.Errorf("%s: %v, want an error", pattern, names(got))
		}
	}
	if err := os.Symlink(filepath.Join(root, "nowhere"), filepath.Join(root, "in", "linked.csv")); err != nil {
		t.Fatal(err)
	}
	if got, err := list(t, glob(t, root, "in/*.csv")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a link to nothing: %v, %v; want an error", names(got), err)
	}
}

func TestPatternsThatAreRefused(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"":              "empty",
		"in/**/*.csv":   "**",
		"in/*/../*.csv": "..",
		"in/[":          "syntax error",
		"in/":           "names a folder",
		"/":             "names a folder",
		".":             "names a folder",
	} {
		if _, err := filesource.Glob("base", pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Glob(%q) = %v, want an error with %q", pattern, err, want)
		}
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	root := folder(t, "x/b.csv", "y/a.csv", "y/b.csv", "y/folder/", "y/.hidden.csv")
	path := func(name string) string { return filepath.Join(root, filepath.FromSlash(name)) }
	l, err := filesource.Files(path("y/b.csv"), path("y/a.csv"), path("x/b.csv"), path("y/.hidden.csv"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := list(t, l)
	want := []string{".hidden.csv", filepath.ToSlash(path("x/b.csv")), filepath.ToSlash(path("y/b.csv")), "a.csv"}
	if diff := cmp.Diff(want, names(got)); err != nil || diff != "" {
		t.Errorf("List() = %v (-want +got):\n%s", err, diff)
	}
	for _, d := range got {
		if content, err := read(t, l, d); err != nil || !strings.HasPrefix(content, "content of ") {
			t.Errorf("%s: %q, %v", d.Name, content, err)
		}
	}
	for _, bad := range []string{path("y/missing.csv"), path("y/folder")} {
		l, err := filesource.Files(bad)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := list(t, l); err == nil {
			t.Errorf("%s: %v, want an error", bad, names(got))
		}
	}
	if _, err := filesource.Files(); err == nil {
		t.Error("Files() = nil, want an error")
	}
}

func read(t *testing.T, l *filesource.Location, d sources.Delivery) (string, error) {
	t.Helper()
	r, err := l.Open(t.Context(), d)
	if err != nil {
		return "", err
	}
	content, err := io.ReadAll(r)
	return string(content), errors.Join(err, r.Close())
}

func TestOpenFailsIfTheFileChanged(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, path string){
		"grown": func(t *testing.T, path string) {
			t.Helper()
			write(t, path, "content of a.csv and more")
		},
		"cut": func(t *testing.T, path string) {
			t.Helper()
			write(t, path, "cont")
		},
		"rewritten in the same size": func(t *testing.T, path string) {
			t.Helper()
			write(t, path, "CONTENT OF A.CSV")
			if err := os.Chtimes(path, time.Time{}, time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
		},
		"replaced": func(t *testing.T, path string) {
			t.Helper()
			write(t, path+".new", "content of a file")
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := folder(t, "a.csv")
			l := glob(t, root, "*.csv")
			ds, err := list(t, l)
			if err != nil || len(ds) != 1 {
				t.Fatal(ds, err)
			}
			change(t, filepath.Join(root, "a.csv"))
			if content, err := read(t, l, ds[0]); !errors.Is(err, filesource.ErrChanged) {
				t.Errorf("read %q, %v; want ErrChanged", content, err)
			}
		})
	}
}

func TestReadFailsIfTheFileChanges(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, path string){
		"grown": func(t *testing.T, path string) {
			t.Helper()
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteString("more"); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		},
		"cut": func(t *testing.T, path string) {
			t.Helper()
			if err := os.Truncate(path, 6); err != nil {
				t.Fatal(err)
			}
		},
		"touched": func(t *testing.T, path string) {
			t.Helper()
			if err := os.Chtimes(path, time.Time{}, time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := folder(t, "a.csv")
			l := glob(t, root, "*.csv")
			ds, err := list(t, l)
			if err != nil || len(ds) != 1 {
				t.Fatal(ds, err)
			}
			r, err := l.Open(t.Context(), ds[0])
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(r, make([]byte, 4)); err != nil {
				t.Fatal(err)
			}
			change(t, filepath.Join(root, "a.csv"))
			if _, err := io.ReadAll(r); !errors.Is(err, filesource.ErrChanged) || errors.Is(err, io.EOF) {
				t.Errorf("read on: %v, want ErrChanged", err)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestReplacedWhileRead: a new version that is moved into place does not touch
// what is being read.
func TestReplacedWhileRead(t *testing.T) {
	t.Parallel()
	root := folder(t, "a.csv")
	l := glob(t, root, "*.csv")
	ds, err := list(t, l)
	if err != nil || len(ds) != 1 {
		t.Fatal(ds, err)
	}
	r, err := l.Open(t.Context(), ds[0])
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "b"), "another content")
	if err := os.Rename(filepath.Join(root, "b"), filepath.Join(root, "a.csv")); err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil || string(content) != "content of a.csv" {
		t.Errorf("read %q, %v; want the version that was listed", content, err)
	}
}

func TestOpenStaysBelowTheFolder(t *testing.T) {
	t.Parallel()
	root := folder(t, "in/a.csv", "secret.csv")
	l := glob(t, root, "in/*.csv")
	for _, name := range []string{"../secret.csv", "/etc/passwd", ""} {
		if content, err := read(t, l, sources.Delivery{Name: name, Size: -1}); err == nil {
			t.Errorf("open %q: read %q, want an error", name, content)
		}
	}
	if content, err := read(t, l, sources.Delivery{Name: "a.csv", Size: -1}); err != nil || content != "content of in/a.csv" {
		t.Errorf("without size and time: %q, %v", content, err)
	}
	if _, err := read(t, l, sources.Delivery{Name: "gone.csv"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is gone: %v, want fs.ErrNotExist", err)
	}
	files, err := filesource.Files(filepath.Join(root, "secret.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := read(t, files, sources.Delivery{Name: "a.csv"}); err == nil {
		t.Error("a file that was not named: nil, want an error")
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	root := folder(t, "a.csv")
	l := glob(t, root, "*.csv")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for d, err := range l.List(ctx) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("List gives %v, %v; want context.Canceled", d, err)
		}
	}
	if _, err := l.Open(ctx, sources.Delivery{Name: "a.csv"}); !errors.Is(err, context.Canceled) {
		t.Errorf("Open: %v, want context.Canceled", err)
	}
}

func TestListCanBeLeft(t *testing.T) {
	t.Parallel()
	root := folder(t, "a.csv", "b.csv")
	count := 0
	for _, err := range glob(t, root, "*.csv").List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		count++
		break
	}
	if count != 1 {
		t.Errorf("%d deliveries before the break, want 1", count)
	}
}
