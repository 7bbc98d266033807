package reports

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrFormat is returned for a format that does not exist.
var ErrFormat = errors.New("unknown report format")

// tempPattern names the folder in which report files are made before they
// are renamed into place.
const tempPattern = ".reconciler-report-"

// Formats lists the formats of [WriteDir], in the order in which they are documented.
func Formats() []string { return []string{"csv", "xlsx", "html", "json"} }

// WriteDir writes the report in the given formats into dir, which is made if
// it is missing, and returns the paths of the files: exceptions.csv,
// exceptions.xlsx, report.html, summary.json. All files are finished and
// synced in a hidden folder inside dir before the first one is renamed into
// place, so a file there is never half-written, and a run that is killed
// leaves the earlier files. What a killed run left behind is removed.
// An unknown format is [ErrFormat], before anything is written.
func WriteDir(dir string, formats []string, r Report) (paths []string, err error) {
	files, err := filesOf(formats)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("make report folder %s (set another report.dir, or give the program's user the right to write there): %w", dir, err)
	}
	unlock := lockDir(dir)
	defer unlock()
	temp, err := os.MkdirTemp(dir, tempPattern)
	if err != nil {
		return nil, fmt.Errorf("write into report folder %s (set another report.dir, or give the program's user the right to write there): %w", dir, err)
	}
	defer func() {
		if removeErr := os.RemoveAll(temp); err == nil && removeErr != nil {
			err = fmt.Errorf("remove temporary folder of report: %w", removeErr)
		}
	}()
	for _, f := range files {
		if err := writeFile(filepath.Join(temp, f.name), func(w io.Writer) error { return f.write(w, r, temp) }); err != nil {
			return nil, fmt.Errorf("write report file %s: %w", filepath.Join(dir, f.name), err)
		}
	}
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		if err := os.Rename(filepath.Join(temp, f.name), path); err != nil {
			return nil, fmt.Errorf("put report file in place: %w", err)
		}
		paths = append(paths, path)
	}
	if err := syncDir(dir); err != nil {
		return nil, fmt.Errorf("sync report folder: %w", err)
	}
	return paths, nil
}

// reportFile is the file of one format.
type reportFile struct {
	name  string
	write func(w io.Writer, r Report, tempDir string) error
}

// filesOf returns the files of the formats, each once.
func filesOf(formats []string) ([]reportFile, error) {
	var files []reportFile
	for i, format := range formats {
		f, ok := fileOf(format)
		if !ok {
			return nil, fmt.Errorf("write report: %w: %q; use %s", ErrFormat, format, strings.Join(Formats(), ", "))
		}
		if !slices.Contains(formats[:i], format) {
			files = append(files, f)
		}
	}
	return files, nil
}

func fileOf(format string) (reportFile, bool) {
	switch format {
	case "csv":
		return reportFile{"exceptions.csv", func(w io.Writer, r Report, _ string) error { return WriteCSV(w, r) }}, true
	case "xlsx":
		return reportFile{"exceptions.xlsx", func(w io.Writer, r Report, tempDir string) error {
			return fillXLSX(w, r, tempDir, sheetRows)
		}}, true
	case "html":
		return reportFile{"report.html", func(w io.Writer, r Report, _ string) error { return WriteHTML(w, r) }}, true
	case "json":
		return reportFile{"summary.json", func(w io.Writer, r Report, _ string) error { return WriteJSON(w, r.Summary) }}, true
	}
	return reportFile{}, false
}

// writeFile writes a new file and has it on the disk when it returns.
func writeFile(path string, write func(io.Writer) error) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o640) //nolint:gosec // the folder comes from the configuration
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
	}()
	buffered := bufio.NewWriterSize(f, 1<<16)
	if err := write(buffered); err != nil {
		return err
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	return f.Sync()
}

// removeLeftovers removes the temporary folders of runs that were killed.
// Only the holder of the folder's lock may call it. What can't be removed now
// is in nobody's way and is tried again next time.
func removeLeftovers(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), tempPattern) {
			_ = os.RemoveAll(filepath.Join(dir, entry.Name())) //nolint:errcheck // tried again next time
		}
	}
}
