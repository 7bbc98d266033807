package reports_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"reconciler/reports"
)

// page writes a report as HTML.
func page(t *testing.T, r reports.Report) string {
	t.Helper()
	var out bytes.Buffer
	if err := reports.WriteHTML(&out, r); err != nil {
		t.Fatalf("WriteHTML: %v", err)
	}
	return out.String()
}

// TestHostileText puts hostile text into every field that a provider, a file
// name or a writer can fill.
func TestHostileText(t *testing.T) {
	t.Parallel()
	html := page(t, hostileReport())
	for _, raw := range []string{"<img", "<script>1", "onerror=\"", "href=\"javascript", "\u202E", "\x01", "`"} {
		// Our own script has backticks, so look only before it.
		if strings.Contains(html[:strings.LastIndex(html, "<script>")], raw) {
			t.Errorf("the page contains %q as it came in", raw)
		}
	}
	for _, shown := range []string{"&lt;img src=x onerror=alert(1)&gt;", `\u202E`, "{{.}}", "javascript:alert(1)"} {
		if !strings.Contains(html, shown) {
			t.Errorf("the page does not show %q", shown)
		}
	}
}

// hostileReport is a report in which every text is hostile.
func hostileReport() reports.Report {
	const h = hostile + " javascript:alert(1) \x60"
	text := strings.ReplaceAll(h, "\x60", "")
	op := reports.Operation{
		IdempotencyKey: text, ActionType: text, WorkflowID: text, Status: text, BusinessReference: text,
		Provider: text, Account: text, AmountMinor: 1, HasAmount: true, Currency: text,
	}
	rec := reports.Record{
		Source: text, RecordKey: text, Statement: "a\"><script>1</script>.csv", Line: 3, ProviderOperationID: text,
		BusinessReference: text, AmountMinor: 1, HasAmount: true, Currency: text, Direction: text, Kind: text, Status: text,
	}
	return reports.Report{
		Summary:     reports.Summary{RunID: text, Job: text, Verdict: text, Version: text, ConfigDigest: text, Incomplete: []string{text}},
		GeneratedAt: at(14, 3, 15),
		Exceptions: []reports.Exception{
			{ExceptionID: text, Kind: text, Severity: text, State: text, Source: text, IdempotencyKey: text, RecordKey: text, AmountMinor: 1, HasAmount: true, Currency: text, Assignee: text, Note: text, Operation: &op, Records: []reports.Record{rec}},
			{ExceptionID: "2", Kind: text, Source: text, RecordKey: text, Evidence: []byte(`{"memo":"<img src=x onerror=alert(1)>"}`)},
		},
		Settled:    []reports.Settled{{Transition: reports.Transition{IdempotencyKey: text, From: text, To: text, ReasonCode: text}, Operation: op, ProviderOperationID: text, Statement: text}},
		Waiting:    []reports.Waiting{{Operation: op, ReasonCode: text, ProvableAt: at(15, 0, 0)}},
		Statements: []reports.Statement{{Source: text, Account: text, Name: text, State: text, EndProof: text, Complete: true, SHA256: text, Reason: text, Currency: text, DeclaredSumMinor: ptr(int64(1)), RejectCount: 1, Rejects: []reports.Reject{{Line: 1, Field: text, Reason: text}}}},
		Coverage:   []reports.Coverage{{Source: text, Account: text, Ranges: []reports.Range{{From: at(1, 0, 0), To: at(2, 0, 0)}}}},
	}
}

func TestHTMLSections(t *testing.T) {
	t.Parallel()
	html := page(t, rich(t))
	var order []string
	for _, m := range regexp.MustCompile(`<(?:section|div) [^>]*id="([a-z]+)"`).FindAllStringSubmatch(html, -1) {
		order = append(order, m[1])
	}
	if got, want := strings.Join(order, " "), "verdict risk cases ageing settled waiting proof legend"; got != want {
		t.Errorf("sections %q, want %q", got, want)
	}
	for _, want := range []string{
		"8 exceptions need a person", "Done twice", "duplicate_effect", "125,000.00", "acme-2026-07-01_2026-07-13.csv, line 1194",
		"Not covered: 5 Jul 2026", "✗ differs", "declared 45,120.250", "found 45,000.250", "3f1a9c7be2d41c0a86e19b5f3a9c7be2d41c0a86e19b5f3a9c7be2d41c0a86e1",
		"line 18, <code>amount</code>", "Wednesday, 15 July 2026", "No date can be named yet", "Europe/Moscow", "1.4.0",
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestHTMLStatesItsIncompleteness(t *testing.T) {
	t.Parallel()
	html := page(t, incomplete(t))
	for _, want := range []string{
		`data-verdict="incomplete"`, "settlement_2026-07-11.csv of kuwait-cards is in quarantine", "<b>Rehearsal.</b>", "5 exceptions are open as well",
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestHTMLWithNothingToTell(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]reports.Report{"quiet": quiet(t), "zero": {}} {
		html := page(t, r)
		for _, want := range []string{"No exception is open.", "Nothing is waiting.", "No open exception puts money at risk."} {
			if !strings.Contains(html, want) {
				t.Errorf("%s: the page lacks %q", name, want)
			}
		}
	}
}

func TestHTMLStaysUsableWithThousands(t *testing.T) {
	t.Parallel()
	r := many(5000)
	for i := range 5000 {
		op := operation(i, "unknown", int64(i), "EUR")
		r.Waiting = append(r.Waiting, reports.Waiting{Operation: op, ReasonCode: "pending", ProvableAt: at(15, 0, 0)})
		r.Settled = append(r.Settled, reports.Settled{Operation: op, Transition: reports.Transition{IdempotencyKey: op.IdempotencyKey, To: "succeeded", ReasonCode: "confirmed"}})
	}
	html := page(t, r)
	if n := strings.Count(html, "<article"); n != 2000 {
		t.Errorf("%d cases are shown, want 2000", n)
	}
	for _, want := range []string{"2,000 of 5,000 cases", "3,000 more transitions", "3,000 more operations wait", "exceptions.csv"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if len(html) > 12<<20 {
		t.Errorf("the page has %d MiB", len(html)>>20)
	}
}

// TestMoneyThatDoesNotFit: a sum past the largest number is a lower bound and
// is called one.
func TestMoneyThatDoesNotFit(t *testing.T) {
	t.Parallel()
	r := many(2)
	for i := range r.Exceptions {
		r.Exceptions[i].AmountMinor = 1<<63 - 1
	}
	if html := page(t, r); !strings.Contains(html, `more than <span class="n">92,233,720,368,547,758.07`) {
		t.Error("a sum that does not fit is not called a lower bound")
	}
}
