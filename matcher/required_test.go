package matcher_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reconciler/journal"
	"reconciler/matcher"
	"reconciler/sources"
)

func TestRequired(t *testing.T) {
	t.Parallel()
	day := func(d, hour int) time.Time { return time.Date(2026, 3, d, hour, 0, 0, 0, time.UTC) }
	rule := matcher.SourceRule{
		Name: "acme", Provider: "acme", Accounts: []string{"main", "other"}, ClockSkew: time.Hour,
		CoverageRule: sources.CoverageRule{DatedBy: sources.ByOccurrence, SettlementLag: 24 * time.Hour},
	}
	policy := matcher.Policy{ActionType: "pay", Sources: []string{"acme"}, MaxCall: time.Hour}
	op := journal.Operation{
		IdempotencyKey: "op", ActionType: "pay", Status: journal.Unknown, Provider: "acme", Account: "main",
		CreatedAt: day(2, 10), UpdatedAt: day(2, 12),
	}
	window := sources.Period{From: day(2, 9), To: day(2, 14)}
	covered := sources.NewRanges(sources.Period{From: day(1, 0), To: day(2, 11)})
	f := matcher.Facts{
		Operation: op, Sources: []matcher.SourceRule{rule},
		Coverage: []matcher.SourceCoverage{{Source: "acme", Account: "main", All: covered}},
	}
	got, never := matcher.Required(f, policy, day(3, 0))
	want := []matcher.RequiredCoverage{{
		Source: "acme", Account: "main", Window: window, ShownBy: day(3, 14),
		Missing: sources.NewRanges(sources.Period{From: day(2, 11), To: day(2, 14)}), Unproven: sources.NewRanges(window),
	}}
	if diff := cmp.Diff(want, got); diff != "" || never {
		t.Errorf("Required() never = %t, want false (-want +got):\n%s", never, diff)
	}
	f.Operation.Account = ""
	if got, never = matcher.Required(f, policy, day(3, 0)); len(got) != 2 || never {
		t.Errorf("without an account Required() = %d accounts, never %t; want both accounts of the source", len(got), never)
	}
	f.Operation.Account = "elsewhere"
	if got, never = matcher.Required(f, policy, day(3, 0)); len(got) != 0 || !never {
		t.Errorf("of an unknown account Required() = %v, never %t; want nothing, never", got, never)
	}
}
