package matcher_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"reconciler/journal"
	"reconciler/matcher"
	"reconciler/sources"
)

// The generators draw from small sets, so that records meet each other.

func drawOffset(t *rapid.T, label string, choices ...string) time.Time {
	return at(t, rapid.SampledFrom(choices).Draw(t, label))
}

func drawOperation(t *rapid.T) journal.Operation {
	op, _ := readOperation(t, string(rapid.SampledFrom(journal.Statuses()).Draw(t, "status")))
	op.Provider = rapid.SampledFrom([]string{"acme", "acme", "", "gamma"}).Draw(t, "provider")
	op.Account = rapid.SampledFrom([]string{"main", "", ""}).Draw(t, "account")
	op.HasAmount = rapid.IntRange(0, 9).Draw(t, "has amount") > 0
	op.Currency = rapid.SampledFrom([]string{"EUR", "EUR", "EUR", ""}).Draw(t, "currency")
	op.ProviderOperationID = rapid.SampledFrom([]string{"", "", "C1"}).Draw(t, "pid")
	op.AttemptCount = rapid.IntRange(0, 5).Draw(t, "attempts")
	if op.Status == journal.Executing || rapid.Bool().Draw(t, "leased") {
		op.LeaseUntil = rapid.SampledFrom([]time.Time{
			{}, at(t, "+10m"), at(t, "+5d"), at(t, "+11d"), readLease(t, "endless"),
		}).Draw(t, "lease")
	}
	return op
}

func drawPolicy(t *rapid.T) matcher.Policy {
	p := defaultPolicy()
	p.Class = rapid.SampledFrom([]matcher.Class{matcher.Financial, matcher.Irreversible, matcher.Idempotent, ""}).Draw(t, "class")
	p.OnAbsent = rapid.SampledFrom([]matcher.OnAbsent{matcher.Retry, matcher.Fail, matcher.Review, ""}).Draw(t, "on absent")
	p.RetryNeeds = rapid.SampledFrom([]matcher.RetryNeeds{matcher.NeedsAbsence, matcher.NeedsKey, matcher.NeedsBoth, ""}).Draw(t, "needs")
	p.KeyTTL = rapid.SampledFrom([]time.Duration{0, 24 * time.Hour, 20 * 24 * time.Hour}).Draw(t, "ttl")
	p.EffectKind = rapid.SampledFrom([]sources.Kind{sources.KindPayment, sources.KindUnknown, sources.KindRefund}).Draw(t, "effect kind")
	p.EffectDirection = rapid.SampledFrom([]sources.Direction{sources.Debit, sources.Debit, sources.DirectionUnknown}).Draw(t, "effect direction")
	p.SenderDeadlineEnforced = rapid.Bool().Draw(t, "deadline")
	p.PermitsOff = rapid.IntRange(0, 9).Draw(t, "permits off") == 0
	p.SafeRefusals = rapid.SampledFrom([][]string{nil, {"no_funds"}}).Draw(t, "safe")
	p.Sources = rapid.SampledFrom([][]string{
		{"acme-bank"}, {"acme-bank", "acme-api"}, {"acme-bank", "beta-bank"}, {"acme-booked"}, nil, {"missing"},
	}).Draw(t, "sources")
	return p
}

func drawCandidate(t *rapid.T, i int) matcher.Candidate {
	c := matcher.Candidate{
		RecordID: matcher.RecordID{
			Source:    rapid.SampledFrom([]string{"acme-bank", "acme-bank", "acme-api", "beta-bank"}).Draw(t, "source"),
			RecordKey: fmt.Sprintf("r%d", i),
		},
		StatementID: int64(i),
		Tier:        matcher.Tier(rapid.IntRange(1, 4).Draw(t, "tier")),
		Ownership: rapid.SampledFrom([]matcher.Ownership{
			matcher.Owned, matcher.Owned, matcher.Owned, matcher.Owned, matcher.OwnedByOther, matcher.Contested,
		}).Draw(t, "ownership"),
		Replaced:   rapid.IntRange(0, 9).Draw(t, "replaced") == 0,
		Conflicted: rapid.IntRange(0, 19).Draw(t, "conflicted") == 0,
		Record: sources.Record{
			Line: rapid.IntRange(1, 3).Draw(t, "line"), Account: "main",
			ProviderOperationID: rapid.SampledFrom([]string{"", "C1", "C2"}).Draw(t, "id"),
			RelatedID:           rapid.SampledFrom([]string{"", "", "C1", "C2"}).Draw(t, "related"),
			AmountMinor:         rapid.SampledFrom([]int64{10000, 10000, 6000, 4000}).Draw(t, "amount"),
			HasAmount:           true,
			Currency:            rapid.SampledFrom([]string{"EUR", "EUR", "EUR", "USD", ""}).Draw(t, "currency"),
			Direction:           rapid.SampledFrom([]sources.Direction{sources.Debit, sources.Debit, sources.Credit, ""}).Draw(t, "direction"),
			Kind: rapid.SampledFrom([]sources.Kind{
				sources.KindPayment, sources.KindPayment, sources.KindRefund, sources.KindChargeback, sources.KindFee, "",
			}).Draw(t, "kind"),
			Status:         rapid.SampledFrom(sources.Statuses()).Draw(t, "record status"),
			ProviderStatus: rapid.SampledFrom([]string{"", "no_funds", "already exists"}).Draw(t, "text"),
			OccurredAt:     drawOffset(t, "occurred", "+1m", "+1m", "+2d", "-2d"),
		},
	}
	if c.Source == "beta-bank" {
		c.Record.Account = "beta"
	}
	if rapid.IntRange(0, 9).Draw(t, "no amount") == 0 {
		c.Record.AmountMinor, c.Record.HasAmount = 0, false
	}
	if rapid.IntRange(0, 9).Draw(t, "no date") == 0 {
		c.Record.OccurredAt = time.Time{}
	}
	return c
}

func drawCoverage(t *rapid.T, rules []matcher.SourceRule) []matcher.SourceCoverage {
	var out []matcher.SourceCoverage
	for _, s := range rules {
		for _, account := range s.Accounts {
			text := rapid.SampledFrom([]string{
				"full", "full", "none", "-30d..+21m", "+1d..+6d", "assumed -30d..+6d", "-30d..+1m | +2m..+6d",
			}).Draw(t, "coverage")
			for _, c := range readCoverage(t, text) {
				c.Source, c.Account = s.Name, account
				out = append(out, c)
			}
		}
	}
	return out
}

func drawFacts(t *rapid.T, p matcher.Policy) matcher.Facts {
	f := matcher.Facts{Operation: drawOperation(t), Sources: sourceRules(p)}
	for i := range rapid.IntRange(0, 5).Draw(t, "records") {
		f.Candidates = append(f.Candidates, drawCandidate(t, i))
	}
	f.Coverage = drawCoverage(t, f.Sources)
	f.LateSuccess = rapid.IntRange(0, 9).Draw(t, "late success") == 0
	f.Reviewed = rapid.IntRange(0, 9).Draw(t, "reviewed") == 0
	if rapid.IntRange(0, 9).Draw(t, "twin") == 0 {
		f.UnownedSameAmount = []matcher.Unowned{{RecordID: matcher.RecordID{Source: "acme-bank", RecordKey: "u1"}}}
	}
	return f
}

func drawNow(t *rapid.T) time.Time {
	return drawOffset(t, "now", "+5m", "+11m", "+1h", "+5d", "+10d", "+10d", "+10d", "+20d", "+60d")
}

// TestOrderOfFactsDoesNotMatter: whatever order the database gives, the
// decision is the same to the last field.
func TestOrderOfFactsDoesNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		f := drawFacts(t, p)
		now := drawNow(t)
		shuffled, sp := f, p
		shuffled.Candidates = rapid.Permutation(f.Candidates).Draw(t, "candidates")
		shuffled.Sources = rapid.Permutation(f.Sources).Draw(t, "rules")
		shuffled.Coverage = rapid.Permutation(f.Coverage).Draw(t, "ranges")
		sp.Sources = rapid.Permutation(p.Sources).Draw(t, "names")
		if diff := cmp.Diff(matcher.Decide(f, p, now), matcher.Decide(shuffled, sp, now)); diff != "" {
			t.Fatalf("another order, another decision:\n%s", diff)
		}
	})
}

// TestDecideLeavesFactsAlone: Decide is pure.
func TestDecideLeavesFactsAlone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		f := drawFacts(t, p)
		before := f
		before.Candidates = slices.Clone(f.Candidates)
		before.Sources = slices.Clone(f.Sources)
		before.Coverage = slices.Clone(f.Coverage)
		matcher.Decide(f, p, drawNow(t))
		if diff := cmp.Diff(before, f, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("Decide changed its facts:\n%s", diff)
		}
	})
}

// TestLaws: one reason, legal moves only, deciding twice changes nothing.
func TestLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		checkLaws(t, drawFacts(t, p), p, drawNow(t))
	})
}

// TestLiveLeaseIsNeverTouched whatever the provider shows.
func TestLiveLeaseIsNeverTouched(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		f := drawFacts(t, p)
		f.Operation.Status = journal.Executing
		f.Operation.LeaseUntil = at(t, "+60d1m")
		if d := matcher.Decide(f, p, drawNow(t)); d.Transition != nil || d.MayRetry {
			t.Fatalf("a leased operation is moved: %+v", d)
		}
	})
}

// TestAbsenceNeedsProof: failed, or permitted because absent, only where every
// source and account that could show it covers the whole window by statements
// whose end is proven, and no record but refusals ever matched.
func TestAbsenceNeedsProof(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		f := drawFacts(t, p)
		d := matcher.Decide(f, p, drawNow(t))
		if !concludesAbsence(d) || d.Reason == matcher.PermittedByKey {
			return
		}
		window := sources.Period{From: at(t, "-5m"), To: d.Window.To}
		for _, s := range f.Sources {
			if f.Operation.Provider != "" && s.Provider != f.Operation.Provider {
				continue
			}
			at := slices.IndexFunc(f.Coverage, func(c matcher.SourceCoverage) bool { return c.Source == s.Name })
			if at < 0 || !f.Coverage[at].Proven.Covers(window) {
				t.Fatalf("%s without proof from %s", d.Reason, s.Name)
			}
		}
		for _, c := range f.Candidates {
			if c.Record.Status != sources.Failed || c.Ownership != matcher.Owned || c.Replaced {
				t.Fatalf("%s although %+v matched", d.Reason, c)
			}
		}
		if f.LateSuccess || f.Reviewed {
			t.Fatalf("%s although something speaks against it", d.Reason)
		}
	})
}

func concludesAbsence(d matcher.Decision) bool {
	return d.Transition != nil &&
		(d.Transition.To == journal.FailedFinal || d.Transition.To == journal.FailedRetryable)
}

// TestEffectIsNeverPermittedOrFailed: where the provider shows an effect of
// this operation, no coverage and no policy leads to a retry or a failure.
func TestEffectIsNeverPermittedOrFailed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		f := drawFacts(t, p)
		p.EffectKind = sources.KindPayment
		f.Operation.Provider = ""
		f.Candidates = append(f.Candidates, readRecord(t, "succeeded 100.00 key=sure id=C9", 9))
		d := matcher.Decide(f, p, drawNow(t))
		if concludesAbsence(d) || d.MayRetry || d.Outcome == matcher.OutcomeNoEffect {
			t.Fatalf("an effect is there, and the decision is %s → %+v", d.Reason, d.Transition)
		}
	})
}

// TestCoverageNeverHidesPresence: what the provider shows stays what it shows,
// however much more is covered.
func TestCoverageNeverHidesPresence(t *testing.T) {
	t.Parallel()
	absences := []matcher.ReasonCode{
		matcher.Absent, matcher.MissingAtProvider, matcher.PermittedByKey, matcher.NotYetProvable, matcher.CoverageGap,
		matcher.UnresolvedOverdue, matcher.Refused, matcher.RefusedNotFinal, matcher.Waiting, matcher.NeverClaimed,
		matcher.Settled, matcher.EffectAfterFailure,
	}
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		f := drawFacts(t, p)
		now := drawNow(t)
		d := matcher.Decide(f, p, now)
		if slices.Contains(absences, d.Reason) {
			return
		}
		f.Coverage = nil
		for _, s := range f.Sources {
			for _, c := range readCoverage(t, "-90d..+90d") {
				c.Source, c.Account = s.Name, s.Accounts[0]
				f.Coverage = append(f.Coverage, c)
			}
		}
		if covered := matcher.Decide(f, p, now); covered.Reason != d.Reason {
			t.Fatalf("%s becomes %s by coverage alone", d.Reason, covered.Reason)
		}
	})
}

// TestMoreRecordsNeverPermit: one more record, whatever it says but a refusal,
// never leads to a retry or a failure that was not given without it.
func TestMoreRecordsNeverPermit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		f := drawFacts(t, p)
		now := drawNow(t)
		without := matcher.Decide(f, p, now)
		more := drawCandidate(t, 9)
		if more.Record.Status == sources.Failed {
			more.Record.Status = sources.Pending
		}
		f.Candidates = append(f.Candidates, more)
		with := matcher.Decide(f, p, now)
		if concludesAbsence(with) && !concludesAbsence(without) {
			t.Fatalf("%+v turns %s into %s → %s", more, without.Reason, with.Reason, with.Transition.To)
		}
	})
}

// TestOwner: a record has at most one owner, in whatever order claims come,
// and a weaker claim changes nothing.
func TestOwner(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		claims := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) matcher.Claim {
			return matcher.Claim{
				IdempotencyKey: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key"),
				Tier:           matcher.Tier(rapid.IntRange(1, 4).Draw(t, "tier")),
			}
		}), 0, 6).Draw(t, "claims")
		owner, tie, ok := matcher.Owner(claims)
		if ok != (owner != "") || ok == (len(tie) > 1) && len(claims) > 0 {
			t.Fatalf("Owner(%v) = %q, %v, %v", claims, owner, tie, ok)
		}
		shuffled := rapid.Permutation(claims).Draw(t, "shuffled")
		sorted := cmpopts.SortSlices(func(a, b string) bool { return a < b })
		other, otherTie, otherOK := matcher.Owner(shuffled)
		if other != owner || otherOK != ok || !cmp.Equal(tie, otherTie, sorted, cmpopts.EquateEmpty()) {
			t.Fatalf("Owner(%v) = %q, %v; in another order %q, %v", claims, owner, tie, other, otherTie)
		}
		for _, c := range claims {
			if ok && c.IdempotencyKey != owner && !slices.ContainsFunc(claims, func(o matcher.Claim) bool {
				return o.IdempotencyKey == owner && o.Tier < c.Tier
			}) {
				t.Fatalf("Owner(%v) = %q, but %v is as strong", claims, owner, c)
			}
		}
		weaker, _, weakerOK := matcher.Owner(append(slices.Clone(claims), matcher.Claim{IdempotencyKey: "d", Tier: 5}))
		if len(claims) > 0 && (weaker != owner || weakerOK != ok) {
			t.Fatalf("a weaker claim turns %q into %q", owner, weaker)
		}
	})
}
