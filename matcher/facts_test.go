package matcher_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reconciler/journal"
	"reconciler/matcher"
	"reconciler/sources"
)

func TestTierString(t *testing.T) {
	t.Parallel()
	for tier, want := range map[matcher.Tier]string{
		matcher.TierProviderOperationID: "provider_operation_id",
		matcher.TierIdempotencyKey:      "idempotency_key",
		matcher.TierBusinessReference:   "business_reference",
		matcher.TierFoldedReference:     "folded_reference",
		0:                               "none",
	} {
		if got := tier.String(); got != want {
			t.Errorf("Tier(%d) = %q, want %q", int(tier), got, want)
		}
	}
}

func TestTierOf(t *testing.T) {
	t.Parallel()
	op := journal.Operation{
		IdempotencyKey: "v1:abc", BusinessReference: "application-7", ProviderOperationID: "C1",
		Provider: "acme", Account: "main",
	}
	anywhere := op
	anywhere.Provider, anywhere.Account = "", ""
	bare := journal.Operation{IdempotencyKey: "v1:abc"}
	for name, tc := range map[string]struct {
		op       journal.Operation
		rec      sources.Record
		provider string
		folded   []string
		want     matcher.Tier
	}{
		"by the provider's identifier":        {op, sources.Record{ProviderOperationID: "C1", BusinessReference: "application-7"}, "acme", nil, matcher.TierProviderOperationID},
		"by our key":                          {op, sources.Record{IdempotencyKey: "v1:abc", BusinessReference: "application-7"}, "acme", nil, matcher.TierIdempotencyKey},
		"by the reference":                    {op, sources.Record{BusinessReference: "application-7"}, "acme", nil, matcher.TierBusinessReference},
		"by the key as reference":             {bare, sources.Record{BusinessReference: "v1:abc"}, "acme", nil, matcher.TierBusinessReference},
		"by a folded form":                    {op, sources.Record{FoldedReferences: []string{"x", "application7"}}, "acme", []string{"application7"}, matcher.TierFoldedReference},
		"not by a folded form that is not":    {op, sources.Record{FoldedReferences: []string{"application7"}}, "acme", nil, 0},
		"not by case":                         {op, sources.Record{BusinessReference: "APPLICATION-7"}, "acme", nil, 0},
		"not by two empty identifiers":        {bare, sources.Record{}, "acme", nil, 0},
		"not at another provider":             {op, sources.Record{BusinessReference: "application-7"}, "beta", nil, 0},
		"not on another account":              {op, sources.Record{BusinessReference: "application-7", Account: "savings"}, "acme", nil, 0},
		"anywhere where nothing was recorded": {anywhere, sources.Record{BusinessReference: "application-7", Account: "savings"}, "beta", nil, matcher.TierBusinessReference},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.rec.Account == "" {
				tc.rec.Account = "main"
			}
			got, ok := matcher.TierOf(tc.op, &tc.rec, tc.provider, tc.folded)
			if got != tc.want || ok != (tc.want != 0) {
				t.Errorf("TierOf = %s, %v, want %s", got, ok, tc.want)
			}
		})
	}
}

func TestCouldBeEffect(t *testing.T) {
	t.Parallel()
	p := defaultPolicy()
	for _, tc := range []struct {
		kind      sources.Kind
		direction sources.Direction
		want      bool
	}{
		{sources.KindPayment, sources.Debit, true},
		{sources.KindPayment, sources.Credit, false},
		{sources.KindUnknown, sources.DirectionUnknown, true},
		{sources.KindFee, sources.Debit, false},
		{sources.KindRefund, sources.Debit, false},
	} {
		if got := matcher.CouldBeEffect(p, tc.kind, tc.direction); got != tc.want {
			t.Errorf("CouldBeEffect(%q, %q) = %v, want %v", tc.kind, tc.direction, got, tc.want)
		}
	}
}

// TestEvidenceWindow: from creation less the skew to the greatest of the four
// times plus max_call and the skew, and the lag further by booking.
func TestEvidenceWindow(t *testing.T) {
	t.Parallel()
	p := defaultPolicy()
	op, _ := readOperation(t, "unknown")
	occurred := matcher.SourceRule{
		ClockSkew: 5 * time.Minute, CoverageRule: sources.CoverageRule{DatedBy: sources.ByOccurrence, SettlementLag: 72 * time.Hour},
	}
	booked := occurred
	booked.DatedBy = sources.ByBooking
	for name, tc := range map[string]struct {
		change func(*matcher.Facts)
		rule   matcher.SourceRule
		want   string
	}{
		"by the update":         {func(*matcher.Facts) {}, occurred, "+22m"},
		"by booking":            {func(*matcher.Facts) {}, booked, "+3d22m"},
		"by the attempt":        {func(f *matcher.Facts) { f.Operation.LastAttemptAt = at(t, "+1h") }, occurred, "+1h20m"},
		"by the lease":          {func(f *matcher.Facts) { f.Operation.LeaseUntil = at(t, "+2h") }, occurred, "+2h20m"},
		"by a worker's update":  {func(f *matcher.Facts) { f.Operation.UpdatedAt = at(t, "+3h") }, occurred, "+3h20m"},
		"not by our own update": {func(f *matcher.Facts) { f.WorkerUpdatedAt, f.Operation.UpdatedAt = at(t, "+2m"), at(t, "+3h") }, occurred, "+22m"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := matcher.Facts{Operation: op}
			tc.change(&f)
			want := sources.Period{From: at(t, "-5m"), To: at(t, tc.want)}
			if got := matcher.EvidenceWindow(f, tc.rule, p, at(t, "+10d")); got != want {
				t.Errorf("EvidenceWindow = %s, want %s", got, want)
			}
		})
	}
}

// TestWindowSpansAllSources: the window that a decision reports holds the
// windows of all sources that must cover it.
func TestWindowSpansAllSources(t *testing.T) {
	t.Parallel()
	p := readPolicy(t, "sources=acme-bank|acme-api")
	f := matcher.Facts{Sources: sourceRules(p)}
	f.Operation, _ = readOperation(t, "unknown")
	f.Sources[0].ClockSkew = 2 * time.Hour
	f.Sources[1].ClockSkew = time.Hour
	want := sources.Period{From: at(t, "-2h"), To: at(t, "+2h17m")}
	if got := matcher.Decide(f, p, at(t, "+1d")).Window; got != want {
		t.Errorf("Window = %s, want %s", got, want)
	}
	f.Sources = nil
	want = sources.Period{From: at(t, "+0m"), To: at(t, "+17m")}
	if got := matcher.Decide(f, p, at(t, "+1d")).Window; got != want {
		t.Errorf("Window without a source = %s, want %s", got, want)
	}
}

// TestSourcesOfOthersNeedNotCover: a rule that the policy does not name does
// not count, and one without accounts covers nothing.
func TestSourcesOfOthersNeedNotCover(t *testing.T) {
	t.Parallel()
	p := readPolicy(t, "sources=acme-bank|acme-api")
	f := matcher.Facts{Sources: sourceRules(p), Coverage: readCoverage(t, "full")}
	f.Operation, _ = readOperation(t, "unknown")
	p.Sources = []string{"acme-bank"}
	if d := matcher.Decide(f, p, at(t, "+10d")); d.Reason != matcher.Absent {
		t.Errorf("with a source of another policy: %s, want absent", d.Reason)
	}
	f.Sources[0].Accounts = nil
	if d := matcher.Decide(f, p, at(t, "+10d")); d.Reason != matcher.NotYetProvable {
		t.Errorf("with a source without accounts: %s, want not_yet_provable", d.Reason)
	}
}

// TestRestsOn: a decision names what it rests on, all views and netted
// records included, and the coverage for an absence.
func TestRestsOn(t *testing.T) {
	t.Parallel()
	id := func(source, key string) matcher.RecordID { return matcher.RecordID{Source: source, RecordKey: key} }
	for name, tc := range map[string]struct {
		records, coverage string
		want              []matcher.RecordID
		absence           bool
	}{
		"two views": {
			"succeeded 100.00 id=C1 key=a; succeeded 100.00 id=C1 in=acme-api key=b", "none",
			[]matcher.RecordID{id("acme-api", "b"), id("acme-bank", "a")},
			false,
		},
		"netted": {
			"succeeded 100.00 id=C1 key=a; succeeded 100.00 id=C2 key=b; succeeded 100.00 credit refund key=c; succeeded 3.00 fee key=d",
			"none",
			[]matcher.RecordID{id("acme-bank", "a"), id("acme-bank", "b"), id("acme-bank", "c")},
			false,
		},
		"pending": {"pending 100.00 key=a", "none", []matcher.RecordID{id("acme-bank", "a")}, false},
		"refused": {"failed 100.00 key=a", "full; acme-api: full", []matcher.RecordID{id("acme-bank", "a")}, true},
		"contested": {
			"succeeded 100.00 key=a contested; succeeded 100.00 key=b conflicted", "none",
			[]matcher.RecordID{id("acme-bank", "a"), id("acme-bank", "b")},
			false,
		},
		"absent": {"", "full; acme-api: -30d..+6d", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := readPolicy(t, "sources=acme-bank|acme-api")
			f := matcher.Facts{Sources: sourceRules(p), Candidates: readRecords(t, tc.records), Coverage: readCoverage(t, tc.coverage)}
			f.Operation, _ = readOperation(t, "unknown")
			d := matcher.Decide(f, p, at(t, "+10d"))
			if diff := cmp.Diff(tc.want, d.RestsOn); diff != "" {
				t.Errorf("RestsOn (-want +got):\n%s", diff)
			}
			var proof []matcher.SourceCoverage
			if tc.absence {
				r := sources.Ranges{{From: at(t, "-30d"), To: at(t, "+6d")}}
				proof = []matcher.SourceCoverage{
					{Source: "acme-api", Account: "main", Proven: r, All: r}, {Source: "acme-bank", Account: "main", Proven: r, All: r},
				}
			}
			if d.Absence != tc.absence || !cmp.Equal(proof, d.Proof) {
				t.Errorf("Absence = %v on %v, want %v", d.Absence, d.Proof, tc.absence)
			}
		})
	}
}

// TestNotes: notes are for finance people, so what they say of amounts, rivals
// and reasons is tested to the word once.
func TestNotes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ operation, policy, records, coverage, facts, want string }{
		{
			"unknown", "", "succeeded 100.00 id=C1; succeeded 100.00 id=C2", "none", "",
			"The provider shows this operation 2 times (100.00 EUR under C1, 100.00 EUR under C2); check with the provider, and have the surplus of 100.00 EUR returned.",
		},
		{
			"unknown", "", "succeeded 60.00 USD; succeeded 60.00 USD", "none", "",
			"The provider shows this operation 2 times (60.00 USD, 60.00 USD); check with the provider, and have the surplus returned.",
		},
		{
			"unknown", "", "succeeded 100.00 contested key=r7", "none", "",
			"The provider shows record r7 of acme-bank, which fits this operation and another one equally well (op-2); decide which operation it belongs to.",
		},
		{
			"unknown", "", "succeeded 100.00 conflicted key=r7", "none", "",
			"The provider gives the same identifier two different contents (record r7 of acme-bank); ask the provider which one is right before anything is concluded.",
		},
		{
			"unknown", "", "succeeded no-amount", "none", "",
			"The provider shows a record without an amount, but amount or currency is missing on one side, so it can't be compared; check it by hand and confirm it.",
		},
		{
			"unknown currency=none", "", "succeeded 100.00 no-currency", "none", "",
			"The provider shows 10000 minor units of an unknown currency, but amount or currency is missing on one side, so it can't be compared; check it by hand and confirm it.",
		},
		{
			"unknown amount=none", "class=idempotent", "succeeded 100.00 USD", "none", "",
			"The provider shows 100.00 USD where the journal has EUR without an amount: another currency; find out which is right, then confirm or correct it.",
		},
		{
			"unknown", "", "failed 100.00 text=closed", "full", "reviewed",
			`The provider refused this ("closed"), but it can't be closed by itself: it is with a person already, and only a decision goes on from here; decide whether it failed or may be tried again.`,
		},
		{
			"unknown", "", "", "full", "",
			"The provider's complete statements do not show this; decide whether it failed or may be tried again.",
		},
		{
			"unknown", "", "reversed 100.00 id=C1", "none", "",
			"It did happen, and the provider has taken it back (100.00 EUR under C1 reversed); find out why, and do not repeat it without a decision.",
		},
		{
			"executing lease=endless", "", "", "none", "",
			"A worker holds this operation with a lease that never ends; find the worker, and set lease_until to a real time.",
		},
		{
			"unknown", "", "", "+1d..+6d", "",
			"The statements of acme-bank, account main, begin at 2026-03-03 10:00 UTC, later than operations that are still open; have the earlier ones delivered.",
		},
		{
			"succeeded", "", "", "assumed -30d..+6d", "",
			"The journal says that this succeeded, but the provider's statements do not show it as done (the coverage rests on a statement whose end is only assumed); ask the provider for proof.",
		},
	} {
		row := decisionRow{Operation: tc.operation, Policy: tc.policy, Records: tc.records, Coverage: tc.coverage, Facts: tc.facts}
		f, p, now := row.given(t)
		if diff := cmp.Diff([]string{tc.want}, notes(matcher.Decide(f, p, now))); diff != "" {
			t.Errorf("notes (-want +got):\n%s", diff)
		}
	}
}

// TestNotesSayHowLong: a duration is written as people say it.
func TestNotesSayHowLong(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ now, operation, policy, records, coverage, want string }{
		{"+2h", "executing lease=+3h", "", "", "full", "longer than max_lease (1 hour);"},
		{"+3d20m", "unknown", "", "pending 100.00", "none", "pending for more than 72 hours after the last call;"},
		{"+14d", "unknown", "", "failed 100.00", "none", "has come for this 10 days after its last possible effect;"},
	} {
		f, p, now := decisionRow{Now: tc.now, Operation: tc.operation, Policy: tc.policy, Records: tc.records, Coverage: tc.coverage}.given(t)
		if got := notes(matcher.Decide(f, p, now)); len(got) != 1 || !strings.Contains(got[0], tc.want) {
			t.Errorf("notes = %q, want one with %q", got, tc.want)
		}
	}
}

// TestHowLong gives every duration of a configuration its words.
func TestHowLong(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		d    time.Duration
		want string
	}{
		{0, "0 seconds"},
		{time.Second, "1 second"},
		{15 * time.Minute, "15 minutes"},
		{time.Hour, "1 hour"},
		{90 * time.Minute, "1 hour 30 minutes"},
		{24 * time.Hour, "24 hours"},
		{72 * time.Hour, "72 hours"},
		{96 * time.Hour, "4 days"},
		{100 * time.Hour, "100 hours"},
		{240 * time.Hour, "10 days"},
		{720 * time.Hour, "30 days"},
	} {
		if got := matcher.DurationWords(tc.d); got != tc.want {
			t.Errorf("%v in words = %q, want %q", tc.d, got, tc.want)
		}
	}
}

// TestNotesStayShort however many records matched.
func TestNotesStayShort(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 40 {
		many = append(many, fmt.Sprintf("succeeded 100.00 id=C%02d", i))
	}
	for _, records := range []string{
		strings.Join(many, "; "),
		strings.Join(many, " contested; ") + " contested",
		strings.Join(many, " other; ") + " other",
	} {
		f, p, now := decisionRow{Operation: "unknown", Records: records, Coverage: "full"}.given(t)
		d := matcher.Decide(f, p, now)
		if len(d.Breaks) != 1 || len(d.Breaks[0].Note) > 600 || !strings.Contains(d.Breaks[0].Note, "more") {
			t.Errorf("%s: note of %d records: %q", d.Reason, len(many), notes(d))
		}
	}
}

func TestSpeaksNamesEveryRecord(t *testing.T) {
	t.Parallel()
	for records, want := range map[string]string{
		"succeeded 100.00 key=r1 replaced":         "record r1 of acme-bank matched, and was replaced by a later statement",
		"succeeded 100.00 key=r1 other":            "record r1 of acme-bank matches, but belongs to another operation",
		"succeeded 100.00 key=r1 account=savings":  "record r1 of acme-bank matches, but is of another provider or account",
		"succeeded 100.00 key=r1 at=-6m":           "record r1 of acme-bank matches, but is dated before the operation",
		"failed 100.00 key=r1 text=already_exists": "record r1 of acme-bank says that the provider has it already",
		"succeeded 3.00 key=r1 fee":                "record r1 of acme-bank matches, but is of another kind, direction or status",
		"succeeded 100.00 key=r1 credit refund":    "a reversal is shown without the effect that it takes back",
	} {
		f, p, now := decisionRow{Operation: "unknown", Records: records, Coverage: "full"}.given(t)
		if d := matcher.Decide(f, p, now); !cmp.Equal([]string{want}, d.Speaks) {
			t.Errorf("%s: speaks %q, want %q", records, d.Speaks, want)
		}
	}
}

func TestSpeaksCountsUnownedRecords(t *testing.T) {
	t.Parallel()
	f, p, now := decisionRow{Operation: "unknown", Coverage: "full", Facts: "same_amount no_reference no_reference"}.given(t)
	want := []string{
		"1 record of the same amount and currency in the window without an owner (acme-bank u1)",
		"2 records in the window without a usable reference (acme-bank u2, acme-bank u2)",
	}
	if d := matcher.Decide(f, p, now); !cmp.Equal(want, d.Speaks) {
		t.Errorf("speaks %q, want %q", d.Speaks, want)
	}
}

func BenchmarkDecide(b *testing.B) {
	for name, records := range map[string]string{
		"absent": "", "confirmed": "succeeded 100.00 id=C1",
		"two views": "succeeded 100.00 id=C1; succeeded 100.00 id=C1 in=acme-api",
	} {
		b.Run(name, func(b *testing.B) {
			p := readPolicy(b, "sources=acme-bank|acme-api")
			f := matcher.Facts{
				Sources: sourceRules(p), Candidates: readRecords(b, records), Coverage: readCoverage(b, "full; acme-api: full"),
			}
			f.Operation, _ = readOperation(b, "unknown")
			now := at(b, "+10d")
			b.ReportAllocs()
			for b.Loop() {
				matcher.Decide(f, p, now)
			}
		})
	}
}

// An operation that bears no name which the provider shows is never permitted
// on its absence: the provider could not show it if it had it.
func TestNamelessOperationIsReviewed(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC)
	rule := matcher.SourceRule{
		Name: "mail", Provider: "mail", Accounts: []string{"mail"},
		CoverageRule: sources.CoverageRule{DatedBy: sources.ByOccurrence, SettlementLag: time.Hour},
	}
	covered := sources.NewRanges(sources.Period{From: at.AddDate(0, 0, -1), To: at.AddDate(0, 0, 2)})
	policy := matcher.Policy{
		Class: matcher.Irreversible, Sources: []string{"mail"}, OnAbsent: matcher.Retry, RetryNeeds: matcher.NeedsAbsence,
		SenderDeadlineEnforced: true, MaxRetryAge: 30 * 24 * time.Hour, MaxAttempts: 5,
	}
	facts := matcher.Facts{
		Operation: journal.Operation{IdempotencyKey: "k", Status: journal.Unknown, AttemptCount: 1, Provider: "mail", CreatedAt: at, UpdatedAt: at},
		Sources:   []matcher.SourceRule{rule},
		Coverage:  []matcher.SourceCoverage{{Source: "mail", Account: "mail", Proven: covered, All: covered}},
	}
	now := at.AddDate(0, 0, 3)
	if d := matcher.Decide(facts, policy, now); d.MayRetry || len(d.Breaks) != 1 {
		t.Errorf("without a name: permit %v, breaks %v; want a review", d.MayRetry, d.Breaks)
	}
	facts.Sources[0].EchoesKey = true
	if d := matcher.Decide(facts, policy, now); !d.MayRetry {
		t.Errorf("where the source echoes the key: %v speaks against a permit", d.Speaks)
	}
	facts.Sources[0].EchoesKey = false
	facts.Operation.BusinessReference = "R-1"
	if d := matcher.Decide(facts, policy, now); !d.MayRetry {
		t.Errorf("with a reference: %v speaks against a permit", d.Speaks)
	}
}
