package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reconciler/config"
)

// profileCase is a document in testdata/profiles and what a profile must make
// of it.
type profileCase struct {
	profile, file string
	sets          []string
	// counts are records, rejects and skipped rows.
	counts [3]int64
	end    string
	// declared is the count that the document states; -1: none.
	declared int64
	// complete needs a period besides.
	complete bool
	sums     []string
	records  []string
	rejects  []string
}

// sumOf and recordOf write what matters in one line.
func sumOf(s previewSum) string {
	return fmt.Sprintf("%s %s %s: %d, %d", s.Currency, s.Direction, s.Status, s.Records, s.AmountMinor)
}

func recordOf(r previewRecord) string {
	var amount int64
	if r.AmountMinor != nil {
		amount = *r.AmountMinor
	}
	at := r.OccurredAt
	reference := r.BusinessReference
	if len(r.FoldedReferences) > 0 {
		reference += "~" + strings.Join(r.FoldedReferences, "~")
	}
	return fmt.Sprintf("%s %s %s %s %d%s %s %s", at.UTC().Format("01-02T15:04:05"), r.ProviderOperationID, reference, r.Kind, amount, r.Currency, r.Direction, r.Status)
}

func profileCases() []profileCase {
	return []profileCase{
		{
			profile: "stripe-payments", file: "stripe-payments.csv", sets: []string{`fields.business_reference={column: "order_id (metadata)"}`},
			counts: [3]int64{6, 0, 0}, end: "assumed", declared: -1,
			sums: []string{"EUR credit succeeded: 2, 16990", "EUR credit failed: 1, 4990", "JPY credit succeeded: 1, 5000", "USD credit reversed: 1, 2000", "USD credit pending: 1, 1550"},
			records: []string{
				"11-03T08:15:02 ch_3Q0001 ORD-7001 payment 12000EUR credit succeeded", "11-03T08:16:40 ch_3Q0002 ORD-7002 payment 4990EUR credit failed",
				"11-03T08:17:11 ch_3Q0003 ORD-7002 payment 4990EUR credit succeeded", "11-03T23:59:59 ch_3Q0004 ORD-7003 payment 5000JPY credit succeeded",
				"11-04T10:00:00 ch_3Q0005 ORD-7004 payment 2000USD credit reversed", "11-04T11:30:00 ch_3Q0006 ORD-7005 payment 1550USD credit pending",
			},
		},
		{
			profile: "swedbank-pay", file: "swedbank-pay.csv", counts: [3]int64{4, 0, 0}, end: "declared", declared: 4,
			sums: []string{"SEK credit succeeded: 3, 102350", "SEK debit succeeded: 1, 14900"},
			records: []string{
				"11-03T08:12:44 70010001 FB-2001 payment 59900SEK credit succeeded", "11-03T13:01:09 70010002 FB-2002 payment 27550SEK credit succeeded",
				"11-04T07:30:00 70010003 FB-2003 payment 14900SEK credit succeeded", "11-04T15:45:10 70010004 FB-2003 payment 14900SEK debit succeeded",
			},
		},
		{
			profile: "wise", file: "wise.csv", sets: []string{"timezone=Europe/Madrid"}, counts: [3]int64{3, 0, 0}, end: "assumed", declared: -1,
			sums: []string{"EUR debit succeeded: 2, 75940", "EUR credit succeeded: 1, 200000"},
			records: []string{
				"11-05T13:02:11 TRANSFER-500003 ORD-310 payment 75040EUR debit succeeded", "11-04T17:20:00 CARD-500002  payment 900EUR debit succeeded",
				"11-03T08:00:00 TRANSFER-500001 INV-77 payment 200000EUR credit succeeded",
			},
		},
		{
			profile: "revolut", file: "revolut.csv", sets: []string{"timezone=UTC", "fields.business_reference.extract='ORD-[0-9]+'"},
			counts: [3]int64{5, 0, 0}, end: "assumed", declared: -1,
			sums: []string{"EUR debit succeeded: 3, 19679", "EUR debit pending: 1, 1500", "EUR credit succeeded: 1, 2689"},
			records: []string{
				"11-03T09:00:00  ~ORD-8001 payment 12990EUR debit succeeded", "11-03T19:09:45   payment 2689EUR debit succeeded",
				"11-04T11:00:00  ~ORD-8002 payment 4000EUR debit succeeded", "11-04T12:00:00  ~ORD-8003 payment 1500EUR debit pending",
				"11-04T13:00:00   refund 2689EUR credit succeeded",
			},
		},
		{
			profile: "t-bank", file: "t-bank.csv", sets: []string{"fields.business_reference.extract='ORD-[0-9]+'"}, counts: [3]int64{3, 0, 0}, end: "assumed", declared: -1,
			sums: []string{"RUB debit succeeded: 1, 192900", "RUB credit succeeded: 1, 1000055", "USD debit failed: 1, 2510"},
			records: []string{
				"11-05T12:28:24  ~ORD-9001  192900RUB debit succeeded", "11-04T19:40:10  ~ORD-9000  1000055RUB credit succeeded",
				"11-04T07:00:00  ~ORD-9002  2510USD debit failed",
			},
		},
		{
			profile: "paypal-activity", file: "paypal-activity.csv", sets: []string{`fields.occurred_at.layout="02/01/2006 15:04:05"`},
			counts: [3]int64{6, 0, 0}, end: "assumed", declared: -1,
			sums: []string{
				"USD credit succeeded: 1, 128400", "USD debit succeeded: 2, 16202", "AUD credit succeeded: 1, 10000", "AUD debit succeeded: 1, 10000",
				"USD debit pending: 1, 100000",
			},
			records: []string{
				"10-28T14:45:51 1AA00001 INV-501 payment 128400USD credit succeeded", "11-03T10:43:36 1AA00002 INV-502 other 7802USD debit succeeded",
				"11-03T10:43:36 1AA00003 INV-502 other 10000AUD credit succeeded", "11-03T10:43:36 1AA00004 INV-502 payment 10000AUD debit succeeded",
				"11-04T20:00:00 1AA00005 INV-501 refund 8400USD debit succeeded", "11-04T21:00:00 1AA00006  payout 100000USD debit pending",
			},
		},
		{
			profile: "paypal-settlement", file: "STL-20261103.01.009.CSV",
			counts: [3]int64{5, 0, 1}, end: "declared", declared: 6, complete: true,
			sums: []string{"USD credit succeeded: 2, 15350", "JPY credit succeeded: 1, 5000", "USD debit succeeded: 1, 2050", "JPY debit succeeded: 1, 5000"},
			records: []string{
				"11-03T16:00:02 5BB00001 INV-601 payment 12050USD credit succeeded", "11-03T17:00:01 5BB00002 INV-602 payment 5000JPY credit succeeded",
				"11-03T18:00:01 5BB00003 INV-601 refund 2050USD debit succeeded", "11-03T19:00:01 5BB00004  other 5000JPY debit succeeded",
				"11-03T19:00:01 5BB00005  other 3300USD credit succeeded",
			},
		},
		{
			profile: "adyen-settlement", file: "adyen-settlement.csv", counts: [3]int64{4, 0, 2}, end: "assumed", declared: -1,
			sums: []string{"EUR credit succeeded: 1, 2500", "JPY credit succeeded: 1, 3158", "EUR debit succeeded: 2, 650"},
			records: []string{
				"11-01T10:44:20 BBBB000000000001 ORD-401 payment 2500EUR credit succeeded", "11-01T11:00:00 BBBB000000000002 ORD-402 payment 3158JPY credit succeeded",
				"11-02T08:00:00 BBBB000000000003 ORD-401 refund 550EUR debit succeeded", "10-24T21:30:00 BBBB000000000004 ORD-399 chargeback 100EUR debit succeeded",
			},
		},
		{
			profile: "adyen-accounting", file: "adyen-accounting.csv", counts: [3]int64{2, 1, 4}, end: "assumed", declared: -1,
			sums: []string{"EUR credit succeeded: 1, 1040", "EUR debit succeeded: 1, 400"},
			records: []string{
				"11-03T04:10:54 BBBB000000000011 ORD-411 payment 1040EUR credit succeeded", "11-03T06:00:00 BBBB000000000012 ORD-410 refund 400EUR debit succeeded",
			},
			rejects: []string{"8 amount"},
		},
		{
			profile: "amazon-pay", file: "amazon-pay.csv", counts: [3]int64{2, 0, 2}, end: "assumed", declared: -1, complete: true,
			sums: []string{"USD credit succeeded: 1, 5000", "USD debit succeeded: 1, 1000"},
			records: []string{
				"11-02T22:10:08 P01-1-1-C1 ORD-501 payment 5000USD credit succeeded", "11-04T17:00:00 P01-1-1-R1 ORD-501-R refund 1000USD debit succeeded",
			},
		},
		{
			profile: "checkout-payouts", file: "checkout-payouts.csv", sets: []string{"timezone=UTC"}, counts: [3]int64{2, 0, 0}, end: "assumed", declared: -1,
			sums:    []string{"GBP debit succeeded: 1, 7951", "JPY debit succeeded: 1, 4100"},
			records: []string{"11-04T02:00:00 00000003A001  payout 7951GBP debit succeeded", "11-04T02:00:00 00000003A002  payout 4100JPY debit succeeded"},
		},
		{
			profile: "wechat-pay", file: "wechat-pay.csv", counts: [3]int64{3, 0, 1}, end: "declared", declared: 4, complete: true,
			sums: []string{"CNY debit succeeded: 2, 17058", "CNY credit succeeded: 1, 3000"},
			records: []string{
				"11-03T12:46:40 1000049900000001 MCH0001\t~MCH0001  2000CNY debit succeeded", "11-04T12:46:41 4200000600000002 MCH0002\t~MCH0002  15058CNY debit succeeded",
				"11-05T00:00:00 1000049900000003   3000CNY credit succeeded",
			},
		},
		{
			profile: "alipay", file: "alipay.csv", counts: [3]int64{5, 0, 0}, end: "declared", declared: 5, complete: true,
			sums: []string{"CNY  succeeded: 4, 37824", "CNY  failed: 1, 3200"},
			records: []string{
				"11-03T13:32:14 2026110300000001 T20261103001\t~T20261103001  4974CNY  succeeded", "11-04T06:16:52 2026110400000002 T20261104002\t~T20261104002  5000CNY  succeeded",
				"11-05T10:21:04 2026110400000002_1 T20261104002\t~T20261104002 refund 5000CNY  succeeded", "11-06T02:17:29 2026110600000004   22850CNY  succeeded",
				"11-06T05:10:16 2026110600000005 T20261106005\t~T20261106005  3200CNY  failed",
			},
		},
		{
			profile: "mercury", file: "mercury.csv", sets: []string{"accounts=[Alder Checking xx01]"}, counts: [3]int64{3, 0, 1}, end: "assumed", declared: -1,
			sums: []string{"USD debit succeeded: 1, 46000", "USD credit pending: 1, 150000", "USD debit failed: 1, 7510"},
			records: []string{
				"11-05T21:30:40  ORD-601  46000USD debit succeeded", "11-04T14:35:37  INV-88  150000USD credit pending", "11-03T14:00:00  ORD-602  7510USD debit failed",
			},
		},
		{
			profile: "raiffeisenbank-cz", file: "raiffeisenbank-cz.csv", counts: [3]int64{2, 1, 0}, end: "assumed", declared: -1,
			sums:    []string{"CZK debit succeeded: 1, 125050", "CZK credit succeeded: 1, 98000"},
			records: []string{"11-02T23:00:00 9000000000001 7700100  125050CZK debit succeeded", "11-03T23:00:00 9000000000002 7700101  98000CZK credit succeeded"},
			rejects: []string{"4 status"},
		},
		{
			profile: "kbc", file: "kbc.csv", sets: []string{"accounts=[BE00000000000001]"}, counts: [3]int64{2, 0, 1}, end: "assumed", declared: -1,
			sums: []string{"EUR debit succeeded: 1, 12045", "EUR credit succeeded: 1, 150000"},
			records: []string{
				"11-02T23:00:00  ***090/9337/55493***          ~090933755493  12045EUR debit succeeded", "11-03T23:00:00    150000EUR credit succeeded",
			},
		},
	}
}

const profileDocuments = "../../testdata/profiles"

// Each profile reads its document as the table says; none is left out.
func TestProfileDocuments(t *testing.T) {
	t.Parallel()
	profiles, err := config.Profiles()
	if err != nil {
		t.Fatal(err)
	}
	cases := profileCases()
	for _, p := range profiles {
		if !slices.ContainsFunc(cases, func(tc profileCase) bool { return tc.profile == p.Name }) {
			t.Errorf("no document for the profile %s", p.Name)
		}
	}
	for _, tc := range cases {
		t.Run(tc.profile, func(t *testing.T) {
			t.Parallel()
			got, code := previewFile(t, tc.profile, tc.sets, filepath.Join(profileDocuments, tc.file))
			if got.Refusal != nil {
				t.Fatalf("refused: %+v", *got.Refusal)
			}
			if counts := [3]int64{got.Records, got.Rejects, got.Skipped}; counts != tc.counts {
				t.Errorf("records, rejects, skipped = %v, want %v", counts, tc.counts)
			}
			if string(got.EndProof) != tc.end || got.Complete != tc.complete || (code == codeDone) != tc.complete {
				t.Errorf("end %s, complete %v, exit code %d, because %v; want %s, %v", got.EndProof, got.Complete, code, got.Because, tc.end, tc.complete)
			}
			if declared := got.Declared.Count; (declared == nil) != (tc.declared < 0) || declared != nil && *declared != tc.declared {
				t.Errorf("declared count = %v, want %d", declared, tc.declared)
			}
			var sums, records, rejects []string
			for _, s := range got.Sums {
				sums = append(sums, sumOf(s))
			}
			for _, r := range got.First {
				records = append(records, recordOf(r))
			}
			for _, r := range got.Rejected {
				rejects = append(rejects, fmt.Sprintf("%d %s", r.Line, r.Field))
			}
			if diff := cmp.Diff([][]string{tc.sums, tc.records, tc.rejects}, [][]string{sums, records, rejects}); diff != "" {
				t.Errorf("sums, records, rejects (-want +got):\n%s", diff)
			}
		})
	}
}

// A document whose end is proven is refused or not complete when it is cut.
func TestProfileDocumentsCut(t *testing.T) {
	t.Parallel()
	for _, tc := range profileCases() {
		if tc.end != "declared" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(profileDocuments, tc.file))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(strings.TrimRight(string(data), "\r\n"), "\n")
		for keep := len(lines) - 1; keep > 0; keep-- {
			file := filepath.Join(t.TempDir(), tc.file)
			if err := os.WriteFile(file, []byte(strings.Join(lines[:keep], "")), 0o600); err != nil {
				t.Fatal(err)
			}
			got, _ := previewFile(t, tc.profile, append(slices.Clone(tc.sets), "completeness.period={daily: occurred_at}"), file)
			// The settlement report is whole once its section's count has come.
			if got.Refusal == nil && (tc.profile != "paypal-settlement" || keep < len(lines)-3) {
				t.Errorf("%s cut behind line %d is not refused: %+v", tc.file, keep, got.Because)
			}
		}
	}
}

// previewFile runs `sources preview --profile`, and reads its answer.
func previewFile(t *testing.T, profile string, sets []string, file string) (answer previewAnswer, code int) {
	t.Helper()
	h := &harness{tb: t, dir: "."}
	args := []string{"sources", "preview", "--records", "100", "-o", "json", "--profile", profile}
	for _, set := range sets {
		args = append(args, "--set", set)
	}
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := h.run(append(args, path)...)
	if code != codeDone && code != codeIncomplete {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), &answer); err != nil {
		t.Fatalf("%v in %s", err, stdout)
	}
	return answer, code
}

// A draft says all that the configuration asks for, except what only a person
// can know; and it is the same every time.
func TestGuessIsNearlyAConfiguration(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(profileDocuments, "*.[cC][sS][vV]"))
	if err != nil || len(files) < 14 {
		t.Fatalf("found %d documents (%v)", len(files), err)
	}
	allowed := []string{"settlement_lag: must be said", "fields.currency: must be said", "fields.status: must be said"}
	for _, file := range files {
		path, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		h := &harness{tb: t, dir: "."}
		draft, _ := h.must(codeDone, "sources", "guess", "--name", "new", path)
		again, _ := h.must(codeDone, "sources", "guess", "--name", "new", path)
		if draft != again {
			t.Errorf("%s: two drafts differ:\n%s\n%s", file, draft, again)
		}
		_, err = config.Parse("draft.yaml", []byte("database: {private: true}\n"+draft), nil)
		if err == nil || !strings.Contains(err.Error(), "settlement_lag: must be said") {
			t.Errorf("%s: the draft says a settlement lag that nobody knows (%v)", file, err)
			continue
		}
		for _, problem := range strings.Split(err.Error(), "\n") {
			if !slices.ContainsFunc(allowed, func(text string) bool { return strings.Contains(problem, text) }) {
				t.Errorf("%s: %s\n%s", file, problem, draft)
			}
		}
	}
}

// The documents are recognised as those of their profiles.
func TestGuessNamesTheProfile(t *testing.T) {
	t.Parallel()
	for _, tc := range profileCases() {
		h := &harness{tb: t, dir: profileDocuments}
		stdout, _ := h.must(codeDone, "sources", "guess", "-o", "json", tc.file)
		var got guessAnswer
		if err := json.Unmarshal([]byte(stdout), &got); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(got.Profiles, tc.profile) {
			t.Errorf("%s: profiles %v, want %s among them", tc.file, got.Profiles, tc.profile)
		}
	}
}

func TestPreviewOfAConfiguredSource(t *testing.T) {
	t.Parallel()
	h := newOffline(t)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(h.dir, "statements", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const head = "id,ref,amount,currency,dir,status,at\n"
	const rows = "P1,ORD-1,10.00,EUR,D,ok,2026-11-03T10:00:00Z\nP2,ORD-2,2.50,EUR,C,wait,2026-11-03T11:00:00Z\n"
	const name = "acme-2026-11-03_2026-11-03.csv"
	write(name, head+rows+"Total,2,12.50,,,,\n")
	stdout, stderr := h.must(codeDone, "sources", "preview", "acme", "statements/"+name)
	for _, want := range []string{
		"it would be accepted, complete", "proven by its footer", "2 records, 0 rejects", "plain ASCII", "provider_operation_id", "ORD-1", "10.00 EUR", "12.50 EUR",
		"modification time, less production_delay 24h0m0s", "2026-11-03",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in:\n%s%s", want, stdout, stderr)
		}
	}
	for _, tc := range []struct{ name, text, want string }{
		{name, head + rows + "Total,3,12.50,,,,\n", "the footer declares 3 records, the file has 2"},
		{name, head + rows, `no row matches the footer "^Total": the file is cut short`},
		{name, head + "P1,ORD-1,10.00,EUR,D,odd,2026-11-03T10:00:00Z\nTotal,1,10.00,,,,\n", `"odd" is not in map`},
		{"other.csv", head + rows + "Total,2,12.50,,,,\n", "does not match completeness.period.pattern"},
		{"acme-2026-11-04_2026-11-04.csv", head + rows + "Total,2,12.50,,,,\n", "outside of its period"},
		{"acme-2026-11-05_2026-11-05.csv", "", "the file is empty"},
		{"acme-2026-11-06_2026-11-06.csv", "id,ref\n", `column "amount": the required column is missing`},
	} {
		write(tc.name, tc.text)
		stdout, stderr := h.must(codeIncomplete, "sources", "preview", "acme", "statements/"+tc.name)
		if !strings.Contains(stdout, tc.want) {
			t.Errorf("no %q in:\n%s%s", tc.want, stdout, stderr)
		}
	}
}

func TestSourcesUsage(t *testing.T) {
	t.Parallel()
	h := newOffline(t)
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"sources", "preview", "acme"}, "name a SOURCE and a FILE"},
		{[]string{"sources", "preview", "nobody", "x.csv"}, `there is no source "nobody"`},
		{[]string{"sources", "preview", "acme", "nowhere.csv"}, "nowhere.csv"},
		{[]string{"sources", "preview", "--profile", "wise", "a", "b"}, "name one FILE"},
		{[]string{"sources", "preview", "--profile", "wize", "x.csv"}, "did you mean wise?"},
		{[]string{"sources", "preview", "--profile", "wise", "x.csv"}, "timezone: must be said with the profile wise"},
		{[]string{"sources", "preview", "--profile", "wise", "--set", "timezone", "x.csv"}, "is not KEY=VALUE"},
		{[]string{"sources", "preview", "--set", "timezone=UTC", "acme", "x.csv"}, "--set is for --profile"},
		{[]string{"sources", "guess", "nowhere.csv"}, "nowhere.csv"},
		{[]string{"sources", "guess"}, "accepts 1 arg"},
	} {
		code, _, stderr := h.run(tc.args...)
		if code != codeUsage || !strings.Contains(stderr, tc.want) {
			t.Errorf("%v: exit code %d, %q, want %d and %q", tc.args, code, stderr, codeUsage, tc.want)
		}
	}
}

func TestSourcesList(t *testing.T) {
	t.Parallel()
	h := newOffline(t)
	stdout, _ := h.must(codeDone, "sources", "list")
	for _, want := range []string{"acme", "statements/acme-*.csv", "stripe-payments: Stripe payments", "must be said: timezone"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in:\n%s", want, stdout)
		}
	}
	empty := &harness{tb: t, dir: t.TempDir()}
	stdout, _ = empty.must(codeDone, "sources", "list", "-o", "json")
	var got sourcesAnswer
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || len(got.Sources) != 0 || len(got.Profiles) < 14 {
		t.Errorf("without a configuration: %d sources, %d profiles (%v)", len(got.Sources), len(got.Profiles), err)
	}
}
