package matcher

import (
	"slices"
	"time"

	"reconciler/journal"
	"reconciler/sources"
)

// Claim is one operation's claim on one record.
type Claim struct {
	IdempotencyKey string
	Tier           Tier
}

// Owner decides who owns a record that the given operations claim, judged
// over the whole journal: the strongest tier wins; two claims of the same
// strength are a tie, and nobody owns it. ok is false where nobody does.
func Owner(claims []Claim) (owner string, tie []string, ok bool) {
	best := Tier(0)
	for _, c := range claims {
		switch {
		case best == 0 || c.Tier < best:
			best, tie = c.Tier, append(tie[:0], c.IdempotencyKey)
		case c.Tier == best && !slices.Contains(tie, c.IdempotencyKey):
			tie = append(tie, c.IdempotencyKey)
		}
	}
	if len(tie) == 1 {
		return tie[0], nil, true
	}
	return "", tie, false
}

// EvidenceWindow is the time in which the operation's effect may stand in the
// source's records: from its creation to its last possible effect, by the
// source's clock, and further by the lag where the source is dated by booking.
func EvidenceWindow(f Facts, s SourceRule, p Policy, now time.Time) sources.Period {
	return newTiming(f, p, now).window(s)
}

// TierOf finds the strongest tier by which an operation claims a record of the
// given provider. Names are compared to the byte; folded holds the forms of the
// operation's reference under the folding of the record's source, none if it
// declares none. The provider and account of the operation bind where it names them.
func TierOf(op journal.Operation, rec *sources.Record, provider string, folded []string) (Tier, bool) {
	if op.Provider != "" && op.Provider != provider || op.Account != "" && op.Account != rec.Account {
		return 0, false
	}
	switch {
	case rec.ProviderOperationID != "" && rec.ProviderOperationID == op.ProviderOperationID:
		return TierProviderOperationID, true
	case rec.IdempotencyKey != "" && rec.IdempotencyKey == op.IdempotencyKey:
		return TierIdempotencyKey, true
	case rec.BusinessReference != "" && rec.BusinessReference == op.Reference():
		return TierBusinessReference, true
	case slices.ContainsFunc(rec.FoldedReferences, func(form string) bool { return slices.Contains(folded, form) }):
		return TierFoldedReference, true
	}
	return 0, false
}

// CouldBeEffect reports whether a record of this kind and direction could be
// an effect of the policy's actions; what is not known could.
func CouldBeEffect(p Policy, kind sources.Kind, direction sources.Direction) bool {
	return roleOf(kind, direction, p) == roleEffect
}

// Predates reports that a record is dated before the operation existed, by
// the source's clock, so that another operation under the same name must be
// meant: a reference that returns every month belongs to one of them.
func Predates(op journal.Operation, skew time.Duration, rec sources.Record) bool {
	return before(sources.Period{From: op.CreatedAt.Add(-skew)}, rec)
}
