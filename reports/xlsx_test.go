package reports_test

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"

	"reconciler/reports"
)

// workbook writes a report and opens what was written.
func workbook(t *testing.T, r reports.Report) *excelize.File {
	t.Helper()
	var out bytes.Buffer
	if err := reports.WriteXLSX(&out, r); err != nil {
		t.Fatalf("WriteXLSX: %v", err)
	}
	return open(t, out.Bytes())
}

func open(t *testing.T, content []byte) *excelize.File {
	t.Helper()
	f, err := excelize.OpenReader(bytes.NewReader(content))
	if err != nil {
		t.Fatalf("open workbook: %v", err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Errorf("close workbook: %v", err)
		}
	})
	return f
}

// cellOf returns the name of the cell under a heading.
func cellOf(t *testing.T, f *excelize.File, sheet, heading string, row int) string {
	t.Helper()
	rows, err := f.GetRows(sheet)
	if err != nil {
		t.Fatalf("GetRows: %v", err)
	}
	for i, name := range rows[0] {
		if name == heading {
			cell, err := excelize.CoordinatesToCellName(i+1, row)
			if err != nil {
				t.Fatalf("cell name: %v", err)
			}
			return cell
		}
	}
	t.Fatalf("sheet %s has no column %q: %q", sheet, heading, rows[0])
	return ""
}

// idReport has ids that spreadsheets like to damage.
func idReport() (reports.Report, []string) {
	ids := []string{
		"1234567890123456789", "000123", "1E5", "2-3", "2026-11", "TRUE", "0x10", "=1+1", "+1", "-1", "@SUM(A1)",
		" =1+1", "_x0041_", "12.30", "1/2", "'quoted", "a,b", `say "hi"`,
	}
	r := reports.Report{GeneratedAt: at(14, 3, 15)}
	for i, id := range ids {
		r.Exceptions = append(r.Exceptions, reports.Exception{
			ExceptionID: fmt.Sprintf("E%02d", i), IdempotencyKey: id, Kind: "refused", Severity: "low",
			AmountMinor: int64(i), HasAmount: true, Currency: "EUR", FirstSeenAt: at(1, 0, 0),
		})
	}
	return r, ids
}

func TestXLSXKeepsIDsAsText(t *testing.T) {
	t.Parallel()
	r, ids := idReport()
	f := workbook(t, r)
	for i, id := range ids {
		cell := cellOf(t, f, "Exceptions", "Idempotency key", i+2)
		got, err := f.GetCellValue("Exceptions", cell)
		if err != nil || got != id {
			t.Errorf("%s = %q, %v, want %q", cell, got, err, id)
		}
		if formula, err := f.GetCellFormula("Exceptions", cell); err != nil || formula != "" {
			t.Errorf("%s has the formula %q, %v", cell, formula, err)
		}
		kind, err := f.GetCellType("Exceptions", cell)
		if err != nil || kind != excelize.CellTypeInlineString && kind != excelize.CellTypeSharedString {
			t.Errorf("%s has type %v, %v, want text", cell, kind, err)
		}
	}
}

func TestXLSXAmountsAreNumbersWithTheirDigits(t *testing.T) {
	t.Parallel()
	amounts := []struct {
		minor           int64
		currency        string
		raw, shown, typ string
	}{
		{12500000, "RUB", "125000", "125,000.00", "number"},
		{-5, "EUR", "-0.05", "-0.05", "number"},
		{10, "USD", "0.1", "0.10", "number"},
		{350000, "JPY", "350000", "350,000", "number"},
		{1250500, "KWD", "1250.5", "1,250.500", "number"},
		{999999999999999, "EUR", "9999999999999.99", "9,999,999,999,999.99", "number"},
		// More digits than a spreadsheet keeps: exact text instead of a wrong number.
		{9007199254740993, "EUR", "90071992547409.93", "90071992547409.93", "text"},
		{math.MaxInt64, "EUR", "92233720368547758.07", "92233720368547758.07", "text"},
		{math.MinInt64, "JPY", "-9223372036854775808", "-9223372036854775808", "text"},
	}
	var r reports.Report
	for i, a := range amounts {
		r.Exceptions = append(r.Exceptions, reports.Exception{
			ExceptionID: fmt.Sprintf("E%02d", i), AmountMinor: a.minor, HasAmount: true, Currency: a.currency, Severity: "low",
		})
	}
	f := workbook(t, r)
	for i, a := range amounts {
		cell := cellOf(t, f, "Exceptions", "At risk", i+2)
		raw, err := f.GetCellValue("Exceptions", cell, excelize.Options{RawCellValue: true})
		if err != nil {
			t.Fatalf("GetCellValue: %v", err)
		}
		shown, err := f.GetCellValue("Exceptions", cell)
		if err != nil {
			t.Fatalf("GetCellValue: %v", err)
		}
		kind, err := f.GetCellType("Exceptions", cell)
		if err != nil {
			t.Fatalf("GetCellType: %v", err)
		}
		typ := "number"
		if kind == excelize.CellTypeInlineString {
			typ = "text"
		}
		if raw != a.raw || shown != a.shown || typ != a.typ {
			t.Errorf("%d %s is stored as %s %q and shown as %q, want %s %q, %q", a.minor, a.currency, typ, raw, shown, a.typ, a.raw, a.shown)
		}
	}
}

func TestXLSXDatesAreInTheReportsZone(t *testing.T) {
	t.Parallel()
	instant := time.Date(2026, time.July, 1, 1, 30, 0, 0, time.UTC)
	r := reports.Report{Zone: zone(t, "Europe/Berlin")}
	for i, name := range []string{"UTC", "America/New_York", "Europe/Berlin"} {
		r.Exceptions = append(r.Exceptions, reports.Exception{
			ExceptionID: fmt.Sprint(i), FirstSeenAt: instant.In(zone(t, name)), Severity: "low",
		})
	}
	f := workbook(t, r)
	for row := 2; row <= 4; row++ {
		cell := cellOf(t, f, "Exceptions", "First seen (Europe/Berlin)", row)
		got, err := f.GetCellValue("Exceptions", cell)
		if err != nil || got != "2026-07-01 03:30" {
			t.Errorf("%s = %q, %v, want 2026-07-01 03:30", cell, got, err)
		}
		if kind, err := f.GetCellType("Exceptions", cell); err != nil || kind != excelize.CellTypeUnset {
			t.Errorf("%s has type %v, %v, want a number under a date format", cell, kind, err)
		}
		iso := cellOf(t, f, "Exceptions", "First seen, ISO 8601", row)
		if got, err := f.GetCellValue("Exceptions", iso); err != nil || got != "2026-07-01T03:30:00+02:00" {
			t.Errorf("%s = %q, %v", iso, got, err)
		}
	}
}

func TestXLSXShowsWhatWouldBreakIt(t *testing.T) {
	t.Parallel()
	r := reports.Report{Exceptions: []reports.Exception{{
		ExceptionID: "bad\x01char\x0Bz", IdempotencyKey: "\xED\xA0\x80", Severity: "low",
		Note: strings.Repeat("x", 40000) + "END",
	}}}
	f := workbook(t, r)
	for heading, want := range map[string]string{"Exception id": `bad\u0001char\u000Bz`, "Idempotency key": `\xED\xA0\x80`} {
		if got, err := f.GetCellValue("Exceptions", cellOf(t, f, "Exceptions", heading, 2)); err != nil || got != want {
			t.Errorf("%s = %q, %v, want %q", heading, got, err, want)
		}
	}
	note, err := f.GetCellValue("Exceptions", cellOf(t, f, "Exceptions", "What to do", 2))
	if err != nil || len([]rune(note)) != 32767 || !strings.HasSuffix(note, "[cut, 40003 characters in all]") {
		t.Errorf("a note of 40,003 characters has %d, %v, and ends in %q", len([]rune(note)), err, note[max(0, len(note)-50):])
	}
}

func TestXLSXContinuesOnASecondSheet(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := reports.WriteXLSXRows(&out, many(25), "", 11); err != nil {
		t.Fatalf("write: %v", err)
	}
	f := open(t, out.Bytes())
	if diff := cmp.Diff([]string{"Summary", "Exceptions", "Exceptions 2", "Exceptions 3"}, f.GetSheetList()); diff != "" {
		t.Fatalf("sheets (-want +got):\n%s", diff)
	}
	ids := map[string]bool{}
	for _, sheet := range f.GetSheetList()[1:] {
		rows, err := f.GetRows(sheet)
		if err != nil {
			t.Fatalf("GetRows: %v", err)
		}
		if len(rows) > 11 {
			t.Errorf("sheet %s has %d rows, more than 11", sheet, len(rows))
		}
		for row := 2; row <= len(rows); row++ {
			id, err := f.GetCellValue(sheet, cellOf(t, f, sheet, "Exception id", row))
			if err != nil {
				t.Fatalf("GetCellValue: %v", err)
			}
			ids[id] = true
		}
	}
	if len(ids) != 25 {
		t.Errorf("%d different exceptions on the sheets, want 25", len(ids))
	}
	var again bytes.Buffer
	if err := reports.WriteXLSXRows(&again, many(25), "", 11); err != nil {
		t.Fatalf("write: %v", err)
	}
	if !bytes.Equal(out.Bytes(), again.Bytes()) {
		t.Error("two workbooks of several sheets from the same report differ")
	}
}

func TestXLSXSummary(t *testing.T) {
	t.Parallel()
	f := workbook(t, rich(t))
	rows, err := f.GetRows("Summary")
	if err != nil {
		t.Fatalf("GetRows: %v", err)
	}
	var text strings.Builder
	for _, row := range rows {
		text.WriteString(strings.Join(row, "|") + "\n")
	}
	for _, want := range []string{
		"Verdict|Exceptions need a person", "Time zone of this report|Europe/Moscow", "Started|2026-07-14 06:15",
		"RUB|145,879.00|3|125,000.00|125,000.00", "KWD|0.500|1|0.500|0.500", "JPY|350,000|1|0|350,000",
		"Cases without an amount||2", "Amount differs|amount_mismatch|2",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the summary lacks %q:\n%s", want, text.String())
		}
	}
}

// TestXLSXMemory writes 200,000 exceptions and watches the heap: the pod that
// makes reports is small.
//
//nolint:paralleltest // other tests would be measured with it
func TestXLSXMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 200,000 rows")
	}
	rows := 200_000
	if raceEnabled { // the heap is another one, and each row takes thirty times as long
		rows = 5_000
	}
	r := many(1)
	one := r.Exceptions[0]
	r.Exceptions = make([]reports.Exception, rows)
	for i := range r.Exceptions {
		r.Exceptions[i] = one
		r.Exceptions[i].ExceptionID = fmt.Sprintf("E%07d", i)
		r.Exceptions[i].AmountMinor = int64(i)
	}
	const limit = 256 << 20
	done, peak := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				peak <- most
				return
			case <-tick.C:
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapAlloc)
			}
		}
	}()
	err := reports.WriteXLSXRows(io.Discard, r, t.TempDir(), 1<<20)
	close(done)
	most := <-peak
	if err != nil {
		t.Fatalf("write: %v", err)
	}
	t.Logf("heap at most %d MiB", most>>20)
	if most > limit {
		t.Errorf("heap of %d MiB, want at most %d MiB", most>>20, limit>>20)
	}
}

// TestXLSXWithoutTempFolder: a workbook that has nowhere to spill is made in
// memory, and is the same.
func TestXLSXWithoutTempFolder(t *testing.T) {
	t.Parallel()
	r := many(1)
	r.Exceptions[0].Note = strings.Repeat("x", 32700)
	for range 9 { // just past the 16 MiB that the library keeps
		r.Exceptions = append(r.Exceptions, r.Exceptions...)
	}
	var with, without bytes.Buffer
	if err := reports.WriteXLSXRows(&with, r, t.TempDir(), 1<<20); err != nil {
		t.Fatalf("write with a temporary folder: %v", err)
	}
	if err := reports.WriteXLSXRows(&without, r, filepath.Join(t.TempDir(), "missing"), 1<<20); err != nil {
		t.Fatalf("write without a temporary folder: %v", err)
	}
	if !bytes.Equal(with.Bytes(), without.Bytes()) {
		t.Error("the workbook that spilled differs from the one that did not")
	}
}
