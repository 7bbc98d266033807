package reports_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reconciler/reports"
)

// table writes a report as CSV and reads it back by column name.
func table(t *testing.T, r reports.Report) []map[string]string {
	t.Helper()
	var out bytes.Buffer
	if err := reports.WriteCSV(&out, r); err != nil {
		t.Fatalf("WriteCSV: %v", err)
	}
	lines, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatalf("read back: %v", err)
	}
	var rows []map[string]string
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, name := range lines[0] {
			row[name] = line[i]
		}
		rows = append(rows, row)
	}
	return rows
}

func TestCSVKeepsNumbersAndGuardsText(t *testing.T) {
	t.Parallel()
	op := reports.Operation{
		IdempotencyKey: "-1+1", BusinessReference: "@SUM(A1)", ActionType: "a;=1+1", WorkflowID: "\t=1+1",
		AmountMinor: -1250, HasAmount: true, Currency: "EUR",
	}
	rows := table(t, reports.Report{
		GeneratedAt: at(14, 3, 15),
		Exceptions: []reports.Exception{{
			ExceptionID: "7", Kind: "amount_mismatch", Severity: "high", State: "open",
			IdempotencyKey: "-1+1", AmountMinor: -5, HasAmount: true, Currency: "EUR",
			Note: "=1+1", Assignee: "＝1+1", Operation: &op, FirstSeenAt: at(4, 3, 15),
			Records: []reports.Record{{ProviderOperationID: "+1", Statement: "\r=1", Line: 12}},
		}},
	})
	want := map[string]string{
		"idempotency_key": "'-1+1", "business_reference": "'@SUM(A1)", "action_type": "a;'=1+1", "workflow_id": `\t=1+1`,
		"amount_at_risk": "-0.05", "amount_at_risk_minor": "-5", "operation_amount": "-12.50", "age_days": "10",
		"what_to_do": "'=1+1", "assignee": "'＝1+1", "provider_operation_ids": "'+1", "statement": `\r=1`, "line": "12",
	}
	for name, value := range want {
		if got := rows[0][name]; got != value {
			t.Errorf("column %s = %q, want %q", name, got, value)
		}
	}
}

func TestCSVWithoutExceptionsHasItsHeader(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := reports.WriteCSV(&out, reports.Report{}); err != nil {
		t.Fatalf("WriteCSV: %v", err)
	}
	if !strings.HasPrefix(out.String(), "exception_id,kind,severity,state,source,idempotency_key,") {
		t.Errorf("an empty report starts with %q", out.String())
	}
	if n := strings.Count(out.String(), "\n"); n != 1 {
		t.Errorf("an empty report has %d lines, want 1", n)
	}
}

func TestCSVHasEveryException(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 999, 1000, 1001, 2500} {
		rows := table(t, many(n))
		seen := map[string]bool{}
		for _, row := range rows {
			seen[row["exception_id"]] = true
		}
		if len(rows) != n || len(seen) != n {
			t.Errorf("%d exceptions: %d rows, %d different ids", n, len(rows), len(seen))
		}
	}
}

// TestUnknownCurrency: without an exponent there are no major units, and the
// report must not invent them.
func TestUnknownCurrency(t *testing.T) {
	t.Parallel()
	r := reports.Report{Exceptions: []reports.Exception{{
		ExceptionID: "1", Kind: "amount_unknown", AmountMinor: 123456, HasAmount: true, Currency: "QQQ",
	}}}
	row := table(t, r)[0]
	got := []string{row["amount_at_risk"], row["amount_at_risk_minor"], row["currency"]}
	if diff := cmp.Diff([]string{"", "123456", "QQQ"}, got); diff != "" {
		t.Errorf("amount of an unknown currency (-want +got):\n%s", diff)
	}
	if html := page(t, r); !strings.Contains(html, "123,456") || !strings.Contains(html, "minor units of QQQ") {
		t.Error("the page does not say that the amount is in minor units")
	}
}

// TestOneZone: one instant is the same moment in every format, whatever zone
// the Go value carries, and days are counted in the report's zone.
func TestOneZone(t *testing.T) {
	t.Parallel()
	instant := time.Date(2026, time.June, 30, 22, 30, 0, 0, time.UTC)
	for name, want := range map[string]struct{ text, day, age string }{
		"Europe/London": {"2026-06-30T23:30:00+01:00", "since 30 Jun 2026", "1"},
		"Europe/Berlin": {"2026-07-01T00:30:00+02:00", "since 1 Jul 2026", "0"},
	} {
		for _, carried := range []string{"UTC", "America/New_York", "Asia/Tokyo"} {
			r := reports.Report{
				Zone: zone(t, name), GeneratedAt: time.Date(2026, time.July, 1, 6, 0, 0, 0, time.UTC),
				Exceptions: []reports.Exception{{ExceptionID: "1", FirstSeenAt: instant.In(zone(t, carried))}},
			}
			row := table(t, r)[0]
			if row["first_seen_at"] != want.text || row["age_days"] != want.age {
				t.Errorf("%s via %s: first_seen_at %q, age %q, want %q, %q",
					name, carried, row["first_seen_at"], row["age_days"], want.text, want.age)
			}
			if !strings.Contains(page(t, r), want.day) {
				t.Errorf("%s via %s: the page does not say %q", name, carried, want.day)
			}
		}
	}
}

// brokenWriter fails after n bytes.
type brokenWriter struct{ n int }

var errBroken = errors.New("disk full")

func (w *brokenWriter) Write(p []byte) (int, error) {
	if len(p) > w.n {
		return w.n, errBroken
	}
	w.n -= len(p)
	return len(p), nil
}

func TestWritersReportAFullDisk(t *testing.T) {
	t.Parallel()
	r := many(500)
	for name, write := range map[string]func(*brokenWriter) error{
		"csv":  func(w *brokenWriter) error { return reports.WriteCSV(w, r) },
		"xlsx": func(w *brokenWriter) error { return reports.WriteXLSX(w, r) },
		"html": func(w *brokenWriter) error { return reports.WriteHTML(w, r) },
		"json": func(w *brokenWriter) error { return reports.WriteJSON(w, r.Summary) },
	} {
		for _, n := range []int{0, 100} {
			if err := write(&brokenWriter{n}); !errors.Is(err, errBroken) {
				t.Errorf("%s on a disk with %d bytes left: %v, want the disk's error", name, n, err)
			}
		}
	}
}

// many is a report with n exceptions.
func many(n int) reports.Report {
	r := reports.Report{GeneratedAt: at(14, 3, 15), Summary: reports.Summary{Job: "many", Verdict: "exceptions"}}
	for i := range n {
		op := operation(i, "unknown", int64(100+i), "EUR")
		r.Exceptions = append(r.Exceptions, reports.Exception{
			ExceptionID: fmt.Sprintf("E%07d", i), Kind: "amount_mismatch", Severity: "high", State: "open",
			IdempotencyKey: op.IdempotencyKey, AmountMinor: int64(i), HasAmount: true, Currency: "EUR",
			FirstSeenAt: at(1+i%13, 3, 15), LastSeenAt: at(14, 3, 15), Operation: &op,
			Note:    "Amount " + strconv.Itoa(i) + " differs; compare the order with the statement line.",
			Records: []reports.Record{record(op, "P"+strconv.Itoa(i), i+2)},
		})
	}
	return r
}
