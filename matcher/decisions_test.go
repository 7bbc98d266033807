package matcher_test

import (
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gocarina/gocsv"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"reconciler/journal"
	"reconciler/matcher"
	"reconciler/money"
)

// decisionRow is one line of testdata/decisions.csv.
type decisionRow struct {
	Case      string `csv:"case"`
	Now       string `csv:"now"`
	Operation string `csv:"operation"`
	Policy    string `csv:"policy"`
	Records   string `csv:"records"`
	Coverage  string `csv:"coverage"`
	Facts     string `csv:"facts"`

	Reason   string `csv:"reason"`
	To       string `csv:"to"`
	Breaks   string `csv:"breaks"`
	Outcome  string `csv:"outcome"`
	Settled  string `csv:"settled"`
	Provable string `csv:"provable"`
	Retry    string `csv:"retry"`
}

func readDecisions(t *testing.T) []decisionRow {
	t.Helper()
	file, err := os.Open("../testdata/decisions.csv")
	if err != nil {
		t.Fatalf("open the decision table: %v", err)
	}
	defer func() {
		if err := file.Close(); err != nil {
			t.Errorf("close the decision table: %v", err)
		}
	}()
	reader := csv.NewReader(file)
	reader.Comment = '#'
	var rows []decisionRow
	if err := gocsv.UnmarshalCSV(reader, &rows); err != nil {
		t.Fatalf("read the decision table: %v", err)
	}
	return rows
}

func (r decisionRow) given(t rapid.TB) (matcher.Facts, matcher.Policy, time.Time) {
	t.Helper()
	p := readPolicy(t, r.Policy)
	f := matcher.Facts{Sources: sourceRules(p)}
	f.Operation, f.WorkerUpdatedAt = readOperation(t, r.Operation)
	f.Candidates = readRecords(t, r.Records)
	f.Coverage = readCoverage(t, r.Coverage)
	readFacts(t, r.Facts, &f)
	now := "+10d"
	if r.Now != "" {
		now = r.Now
	}
	return f, p, at(t, now)
}

// want is the row reduced to what it expects, got the same of a decision.
func (r decisionRow) want() decisionRow {
	return decisionRow{
		Reason: r.Reason, To: r.To, Breaks: r.Breaks, Outcome: r.Outcome,
		Settled: r.Settled, Provable: r.Provable, Retry: r.Retry,
	}
}

func got(d matcher.Decision) decisionRow {
	r := decisionRow{Reason: string(d.Reason), Outcome: string(d.Outcome), Provable: asOffset(d.ProvableAt)}
	if d.Settled {
		r.Settled = "yes"
	}
	if d.MayRetry {
		r.Retry = "yes"
	}
	if tr := d.Transition; tr != nil {
		r.To = string(tr.To)
		if tr.ProviderOperationID != "" {
			r.To += " id=" + tr.ProviderOperationID
		}
		if !tr.RetryNotAfter.IsZero() {
			r.Retry += " until " + asOffset(tr.RetryNotAfter)
		}
	}
	var breaks []string
	for _, b := range d.Breaks {
		text := fmt.Sprintf("%s %s", b.Kind, b.Severity)
		if b.HasRisk {
			text += " " + money.FormatMinor(b.RiskMinor, b.Currency)
		}
		if b.Source != "" {
			from := asOffset(b.Gap.From)
			if from == "" {
				from = "ever"
			}
			text += fmt.Sprintf(" %s/%s %s..%s", b.Source, b.Account, from, asOffset(b.Gap.To))
		}
		breaks = append(breaks, text)
	}
	r.Breaks = strings.Join(breaks, "; ")
	return r
}

// TestDecisions reads the decision table row by row.
func TestDecisions(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, row := range readDecisions(t) {
		if seen[row.Case] {
			t.Errorf("case %q stands twice in the table", row.Case)
		}
		seen[row.Case] = true
		t.Run(row.Reason+"/"+row.Case, func(t *testing.T) {
			t.Parallel()
			f, p, now := row.given(t)
			d := matcher.Decide(f, p, now)
			if diff := cmp.Diff(row.want(), got(d)); diff != "" {
				t.Errorf("Decide (-want +got):\n%s\nspeaks: %q\nnotes: %q", diff, d.Speaks, notes(d))
			}
			checkLaws(t, f, p, now)
		})
	}
}

func notes(d matcher.Decision) []string {
	var out []string
	for _, b := range d.Breaks {
		out = append(out, b.Note)
	}
	return out
}

// TestDecisionsNameEveryReason: the table has a case for every reason code
// that Decide can give, and for every status that it can be given for.
func TestDecisionsNameEveryReason(t *testing.T) {
	t.Parallel()
	rows := readDecisions(t)
	for _, want := range reasonStatuses() {
		for _, status := range want.statuses {
			if !slices.ContainsFunc(rows, func(r decisionRow) bool {
				return r.Reason == string(want.reason) && strings.Fields(r.Operation)[0] == string(status)
			}) {
				t.Errorf("no case for %s of %s", want.reason, status)
			}
		}
	}
}

// reasonOf says for which statuses a reason code exists.
type reasonOf struct {
	reason   matcher.ReasonCode
	statuses []journal.Status
}

func reasonStatuses() []reasonOf {
	open := []journal.Status{journal.Unknown, journal.Executing}
	idle := []journal.Status{journal.Planned, journal.FailedRetryable}
	return []reasonOf{
		{matcher.Confirmed, open},
		{matcher.ConfirmedBeforeRetry, idle},
		{matcher.AmountMismatch, []journal.Status{journal.Unknown, journal.Executing, journal.Planned, journal.FailedRetryable, journal.Succeeded}},
		{matcher.CurrencyMismatch, []journal.Status{journal.Unknown, journal.Succeeded}},
		{matcher.AmountUnknown, []journal.Status{journal.Unknown, journal.Succeeded}},
		{matcher.PartialEffect, []journal.Status{journal.Unknown, journal.Planned, journal.Succeeded}},
		{matcher.DuplicateEffect, journal.Statuses()},
		{matcher.ReversedAtProvider, journal.Statuses()},
		{matcher.EffectAfterFailure, []journal.Status{journal.FailedFinal}},
		{matcher.Refused, open},
		{matcher.RefusedNotFinal, open},
		{matcher.InProgress, []journal.Status{journal.Executing}},
		{matcher.LeaseOverheld, []journal.Status{journal.Executing}},
		{matcher.Waiting, idle},
		{matcher.NeverClaimed, []journal.Status{journal.Planned}},
		{matcher.RefusedAfterSuccess, []journal.Status{journal.Succeeded}},
		{matcher.PendingAtProvider, journal.Statuses()},
		{matcher.PendingTooLong, []journal.Status{journal.Unknown, journal.Planned, journal.Succeeded}},
		{matcher.Absent, open},
		{matcher.PermittedByKey, open},
		{matcher.NotYetProvable, []journal.Status{journal.Unknown, journal.Executing, journal.Succeeded}},
		{matcher.CoverageGap, open},
		{matcher.UnresolvedOverdue, open},
		{matcher.MissingAtProvider, []journal.Status{journal.Succeeded}},
		{matcher.AmbiguousReference, journal.Statuses()},
		{matcher.EvidenceChanged, []journal.Status{journal.Succeeded, journal.FailedFinal, journal.FailedRetryable}},
		{matcher.Settled, []journal.Status{journal.Succeeded, journal.FailedFinal}},
	}
}
