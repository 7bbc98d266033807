package reports_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

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

// TestHTMLTellsEvidenceInWords: nobody in finance reads JSON.
func TestHTMLTellsEvidenceInWords(t *testing.T) {
	t.Parallel()
	const window = `"window": {"from": "2026-07-10T08:04:00Z", "to": "2026-07-13T08:19:00Z"}`
	for name, c := range map[string]struct {
		evidence  string
		want, not []string
	}{
		"window and coverage": {
			`{` + window + `, "coverage": [{"source": "acme", "account": "main", "proven": [{"from": "2026-06-30T21:00:00Z", "to": "2026-07-13T21:00:00Z"}]},
				{"source": "api", "account": "x", "assumed": [{"from": "2026-07-12T08:00:00Z", "to": "2026-07-13T09:00:00Z"}]}, {"source": "none", "account": "y"}]}`,
			[]string{
				"10 Jul 2026, 11:04 – 13 Jul 2026, 11:19", "Covered, acme / main", "1–13 Jul 2026", "12 Jul 2026, 11:00 – 13 Jul 2026, 12:00 (the end is only assumed)",
				"none of that time",
			},
			nil,
		},
		"what speaks against":   {`{"speaks_against": ["one", "two"]}`, []string{"Against going on by itself", "one; two"}, nil},
		"an earlier decision":   {`{"earlier": {"reason_code": "confirmed", "from": "unknown", "to": "succeeded"}}`, []string{"Decided earlier", "unknown → succeeded: Confirmed"}, nil},
		"certain in future":     {`{"provable_at": "2026-07-20T10:00:00Z"}`, []string{"from 20 Jul 2026, 13:00 on"}, []string{"was due 20 Jul"}},
		"certain in the past":   {`{"provable_at": "2026-07-12T10:00:00Z"}`, []string{"was due 12 Jul 2026, 13:00; waits for the next statement that covers it"}, []string{"from 12 Jul"}},
		"a missing time":        {`{"account": "main", "from": "2026-07-04T21:00:00Z", "to": "2026-07-05T21:00:00Z"}`, []string{"Missing time", "5 Jul 2026"}, nil},
		"no beginning":          {`{"from": "0001-01-01T00:00:00Z", "to": "2026-07-05T22:00:00Z"}`, []string{"until 6 Jul 2026, 01:00"}, nil},
		"a statement":           {`{"statement": "a.csv", "statement_id": 7, "reason": "cut short", "sha256": "abc"}`, []string{"a.csv (number 7)", "cut short", "abc"}, nil},
		"what is not known":     {`{"new_thing": "to be seen", "deep": {"x": [1]}}`, []string{"new thing", "to be seen"}, nil},
		"another form":          {`{"window": ["a"], "coverage": 3, "speaks_against": {}, "provable_at": "soon"}`, nil, []string{"May have happened", "soon"}},
		"no evidence":           {`null`, nil, nil},
		"what is not even JSON": {`{{`, nil, nil},
	} {
		r := quiet(t)
		r.Exceptions = []reports.Exception{{ExceptionID: "X", Kind: "absent_needs_decision", Severity: "high", Evidence: []byte(c.evidence)}}
		html := page(t, r)
		_, card, _ := strings.Cut(html, "<article")
		card, _, _ = strings.Cut(card, "</article>")
		for _, want := range c.want {
			if !strings.Contains(card, want) {
				t.Errorf("%s: the case lacks %q:\n%s", name, want, card)
			}
		}
		for _, not := range append(c.not, "{", "[", "&#34;") {
			if strings.Contains(card, not) {
				t.Errorf("%s: the case shows %q:\n%s", name, not, card)
			}
		}
	}
}

// TestReplacedRecordsSaySo wherever a record stands beside the current one.
func TestReplacedRecordsSaySo(t *testing.T) {
	t.Parallel()
	r := rich(t)
	html := page(t, r)
	if n := strings.Count(html, "replaced by a newer statement"); n != 1 {
		t.Errorf("the page marks %d records as replaced, want 1", n)
	}
	contested := quiet(t)
	contested.Exceptions = []reports.Exception{{ExceptionID: "X", Kind: "ambiguous_reference", Severity: "high", Records: []reports.Record{{Ownership: "contested"}}}}
	if html := page(t, contested); !strings.Contains(html, "fits another operation as well") || strings.Contains(html, `class="void"`) {
		t.Error("a contested record is not marked, or is struck out like a replaced one")
	}
	var csv bytes.Buffer
	if err := reports.WriteCSV(&csv, r); err != nil {
		t.Fatalf("WriteCSV: %v", err)
	}
	if want := "current | replaced by a newer statement"; !strings.Contains(csv.String(), want) {
		t.Errorf("exceptions.csv lacks %q:\n%s", want, csv.String())
	}
}

// TestOperationWithoutReference is called by its key.
func TestOperationWithoutReference(t *testing.T) {
	t.Parallel()
	r := quiet(t)
	op := reports.Operation{IdempotencyKey: "v1:only-a-key", Status: "unknown"}
	r.Exceptions = []reports.Exception{{ExceptionID: "X", Kind: "never_claimed", Severity: "low", IdempotencyKey: op.IdempotencyKey, Operation: &op}}
	if html := page(t, r); !strings.Contains(html, `<p class="ref">v1:only-a-key</p>`) || strings.Count(html, "v1:only-a-key") != 1 {
		t.Error("the case is not headed by its key, once")
	}
}

// TestCasesWithoutAmount: a case whose weight nobody knows is not a case
// without weight.
func TestCasesWithoutAmount(t *testing.T) {
	t.Parallel()
	op := reports.Operation{IdempotencyKey: "k"}
	unknown := reports.Exception{ExceptionID: "1", Kind: "amount_unknown", Severity: "high", Operation: &op}
	late := reports.Exception{ExceptionID: "2", Kind: "statement_overdue", Severity: "high"}
	for _, c := range []struct {
		exceptions []reports.Exception
		want, not  string
	}{
		{[]reports.Exception{unknown, unknown}, "2 cases have no amount in the journal: 2 × Amount can", "puts money at risk"},
		{[]reports.Exception{unknown}, "What is at risk can&#39;t be summed up", "concerns statements"},
		{[]reports.Exception{late}, "1 case concerns statements or records and has no amount of its own: 1 × Statement is late.", "in the journal"},
		{[]reports.Exception{late}, "No open exception puts money at risk.", "summed up"},
	} {
		r := quiet(t)
		r.Exceptions = c.exceptions
		_, section, _ := strings.Cut(page(t, r), `<section id="risk">`)
		section, _, _ = strings.Cut(section, "</section>")
		if !strings.Contains(section, c.want) || strings.Contains(section, c.not) {
			t.Errorf("money at risk lacks %q or has %q:\n%s", c.want, c.not, section)
		}
	}
}

// TestDaysOfTheSource: a period of whole days is whole days in its own zone,
// whatever the report's.
func TestDaysOfTheSource(t *testing.T) {
	t.Parallel()
	r := quiet(t)
	r.Zone = time.UTC
	r.Zones = map[string]*time.Location{"acme-bank": zone(t, "Europe/Moscow")}
	html := page(t, r)
	for _, want := range []string{"1–13 Jul 2026 (Europe/Moscow)", "5 Jul 2026, 21:00 – 14 Jul 2026, 02:40"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// TestGapsAreCounted beside the end of the coverage.
func TestGapsAreCounted(t *testing.T) {
	t.Parallel()
	c := reports.Coverage{Source: "s", Account: "a", Ranges: []reports.Range{{From: at(1, 0, 0), To: at(2, 0, 0)}, {From: at(3, 0, 0), To: at(4, 0, 0)}, {From: at(6, 0, 0), To: at(7, 0, 0)}}}
	if got := c.End(); got.Gaps != 2 || got.CoveredTo == nil || !got.CoveredTo.Equal(at(7, 0, 0)) {
		t.Errorf("End() = %+v, want 7 July with 2 gaps", got)
	}
	if got := (reports.Coverage{}).End(); got.Gaps != 0 || got.CoveredTo != nil {
		t.Errorf("End() of nothing = %+v, want nothing", got)
	}
	if html := page(t, rich(t)); !strings.Contains(html, "Covered to 14 Jul 2026, 05:40, with 1 gap") {
		t.Error("the page does not say that the coverage has a gap")
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
