package sources

import (
	"time"
)

// Kind says what sort of effect a record speaks of. The empty kind is unknown:
// the source did not map it, and an unknown kind counts as the policy's own.
type Kind string

// The closed set of kinds.
const (
	KindUnknown    Kind = ""
	KindPayment    Kind = "payment"
	KindRefund     Kind = "refund"
	KindReversal   Kind = "reversal"
	KindChargeback Kind = "chargeback"
	KindFee        Kind = "fee"
	KindPayout     Kind = "payout"
	KindAdjustment Kind = "adjustment"
	KindMessage    Kind = "message"
	KindTicket     Kind = "ticket"
	KindOther      Kind = "other"
)

// Kinds lists every kind that a mapping may name.
func Kinds() []Kind {
	return []Kind{
		KindPayment, KindRefund, KindReversal, KindChargeback, KindFee, KindPayout,
		KindAdjustment, KindMessage, KindTicket, KindOther,
	}
}

// Direction is the side of our account that a record moves: debit takes money
// from it, credit brings money to it. The empty direction is unknown.
type Direction string

// The closed set of directions.
const (
	DirectionUnknown Direction = ""
	Debit            Direction = "debit"
	Credit           Direction = "credit"
)

// Opposite returns the other side; an unknown direction has no opposite.
func (d Direction) Opposite() Direction {
	switch d {
	case Debit:
		return Credit
	case Credit:
		return Debit
	case DirectionUnknown:
		return DirectionUnknown
	}
	return DirectionUnknown
}

// Status is the provider's word on a record, reduced to four.
type Status string

// The closed set of record statuses.
const (
	Succeeded Status = "succeeded"
	Pending   Status = "pending"
	Failed    Status = "failed"
	Reversed  Status = "reversed"
)

// Statuses lists every status that a mapping may name.
func Statuses() []Status { return []Status{Succeeded, Pending, Failed, Reversed} }

// Record is one normalised line of a statement: the provider's word about one
// effect. Texts are as the provider wrote them, to the byte, after decoding
// to UTF-8. Instants are UTC; the zero time means that the statement has none.
type Record struct {
	// Line is the physical line on which the record starts, the header included.
	Line int
	// Account of the provider. Never empty once the record has left its format.
	Account string
	// ProviderOperationID is the provider's own identifier; empty if it gives none.
	ProviderOperationID string
	// IdempotencyKey is our key, where the provider echoes it.
	IdempotencyKey string
	// BusinessReference is our reference as the provider gave it back. Empty if
	// the cell was empty, a placeholder (NOTPROVIDED) or damaged (1.23E+15).
	BusinessReference string
	// FoldedReferences are the forms that the source declares as comparable:
	// folded, cut to the declared length, or extracted from free text. They
	// match in tier 4 only. Usually none, rarely more than one.
	FoldedReferences []string
	// AmountMinor is the amount in minor units of Currency, a magnitude ≥ 0.
	AmountMinor int64
	// HasAmount tells an amount of zero from no amount at all.
	HasAmount bool
	// Currency is the ISO 4217 code; empty if there is none.
	Currency  string
	Direction Direction
	Kind      Kind
	Status    Status
	// ProviderStatus is the provider's own word, as it stands in the file.
	ProviderStatus string
	// OccurredAt is when the effect happened. Where only a day is given it is
	// the start of that day in the source's zone, and OccurredTo its end
	// (exclusive). Where the clock showed the time twice, when it was set back,
	// the two are the earlier and the later instant (exclusive, by a
	// microsecond). Otherwise OccurredTo is zero.
	OccurredAt time.Time
	OccurredTo time.Time
	BookedAt   time.Time
	SettledAt  time.Time
	// FeeMinor is valid if HasFee, in minor units of Currency, a magnitude.
	FeeMinor  int64
	HasFee    bool
	BatchID   string
	RelatedID string
	// Ours says that the source's pattern for our references (unjournaled)
	// holds: an effect like this must have an operation in the journal.
	Ours bool
	// Ordinal numbers records that are equal in all that identifies them, from
	// 0, in the order of the statement. Only records without an id have one.
	Ordinal int
}

// IdentityRule says how a source's records are told apart.
type IdentityRule struct {
	// Source and Provider of the records.
	Source, Provider string
	// IDUniquePerDay: the provider's ids restart every day.
	IDUniquePerDay bool
	// TimeInKey puts the time of day into the key of records without an id;
	// needed where periods are not whole days.
	TimeInKey bool
	// Zone of the source; days are its days.
	Zone *time.Location
}
