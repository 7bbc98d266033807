//go:build unix

package reports_test

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reconciler/reports"
)

// TestXLSXThroughLibreOffice opens the workbook with another program than the
// one that wrote it, and looks at what comes out.
func TestXLSXThroughLibreOffice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, ids := idReport()
	if _, err := reports.WriteDir(dir, []string{"xlsx"}, r); err != nil {
		t.Fatalf("WriteDir: %v", err)
	}
	lines := converted(t, filepath.Join(dir, "exceptions.xlsx"))
	column := map[string]int{}
	for i, name := range lines[0] {
		column[name] = i
	}
	var got []string
	for i, line := range lines[1:] {
		got = append(got, line[column["Idempotency key"]])
		if amount, want := line[column["At risk, exact"]], fmt.Sprintf("0.%02d", i); amount != want {
			t.Errorf("row %d: exact amount %q, want %q", i, amount, want)
		}
	}
	if diff := cmp.Diff(ids, got); diff != "" {
		t.Errorf("ids after LibreOffice (-want +got):\n%s", diff)
	}
}

// converted returns the rows of the exceptions sheet as LibreOffice reads it.
// The program sometimes hangs at its first start, so it gets three chances.
func converted(t *testing.T, workbook string) [][]string {
	t.Helper()
	office, err := exec.LookPath("soffice")
	if err != nil {
		t.Fatalf("this test needs LibreOffice (apt-get install libreoffice-calc-nogui): %v", err)
	}
	var tries error
	for range 3 {
		dir := t.TempDir()
		if err := convert(t.Context(), office, workbook, dir); err != nil {
			tries = errors.Join(tries, err)
			continue
		}
		content, err := os.Open(filepath.Join(dir, "exceptions-Exceptions.csv"))
		if err != nil {
			t.Fatalf("open what LibreOffice wrote: %v", err)
		}
		lines, err := csv.NewReader(content).ReadAll()
		if err := errors.Join(err, content.Close()); err != nil {
			t.Fatalf("read what LibreOffice wrote: %v", err)
		}
		return lines
	}
	t.Fatalf("LibreOffice does not convert the workbook: %v", tries)
	return nil
}

// convert runs LibreOffice with a profile of its own, and ends it with all
// its children after two minutes.
func convert(ctx context.Context, office, workbook, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	// The second sheet, comma and double quote, UTF-8, cells as they are stored.
	const filter = `csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false,false,false,false,2`
	command := exec.CommandContext(ctx, office, "-env:UserInstallation=file://"+filepath.Join(dir, "profile"),
		"--headless", "--convert-to", filter, "--outdir", dir, workbook)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = 5 * time.Second
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("convert: %w: %s", err, out)
	}
	return nil
}
