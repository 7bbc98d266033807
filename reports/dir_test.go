package reports_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reconciler/reports"
)

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatalf("ReadDir: %v", err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestWriteDir(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made", "when missing")
	paths, err := reports.WriteDir(dir, []string{"html", "csv", "html", "json", "xlsx"}, rich(t))
	if err != nil {
		t.Fatalf("WriteDir: %v", err)
	}
	want := []string{"report.html", "exceptions.csv", "summary.json", "exceptions.xlsx"}
	for i := range want {
		want[i] = filepath.Join(dir, want[i])
	}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"exceptions.csv", "exceptions.xlsx", "report.html", "summary.json"}, names(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestWriteDirRemovesWhatAKilledRunLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	left := filepath.Join(dir, ".reconciler-report-123456")
	if err := os.MkdirAll(left, 0o750); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(left, "excelize-99"), filepath.Join(dir, "of somebody else.tmp")} {
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := reports.WriteDir(dir, []string{"json"}, quiet(t)); err != nil {
		t.Fatalf("WriteDir: %v", err)
	}
	if diff := cmp.Diff([]string{"of somebody else.tmp", "summary.json"}, names(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestWriteDirRefusesAnUnknownFormat(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	_, err := reports.WriteDir(dir, []string{"csv", "pdf"}, quiet(t))
	if !errors.Is(err, reports.ErrFormat) || !strings.Contains(err.Error(), "csv, xlsx, html, json") {
		t.Errorf("WriteDir(pdf) = %v, want ErrFormat with the formats there are", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a refused format has made the folder: %v", err)
	}
}

func TestWriteDirSaysWhatToDo(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := reports.WriteDir(filepath.Join(file, "out"), []string{"json"}, quiet(t))
	if err == nil || !strings.Contains(err.Error(), "report.dir") {
		t.Errorf("WriteDir below a file = %v, want an error that names report.dir", err)
	}
}

// TestWriteDirKeepsTheEarlierFiles: a report that can't be put in place
// leaves the files of the run before, and nothing of its own.
func TestWriteDirKeepsTheEarlierFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "exceptions.csv"), 0o750); err != nil {
		t.Fatal(err)
	}
	if _, err := reports.WriteDir(dir, []string{"csv"}, quiet(t)); err == nil {
		t.Fatal("WriteDir over a folder named exceptions.csv succeeds")
	}
	if diff := cmp.Diff([]string{"exceptions.csv"}, names(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestWriteDirTwiceAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, err := reports.WriteDir(dir, reports.Formats(), rich(t)); err != nil {
				t.Errorf("WriteDir: %v", err)
			}
		})
	}
	wg.Wait()
	if got := len(names(t, dir)); got != 4 {
		t.Errorf("%d files, want 4: %q", got, names(t, dir))
	}
}
