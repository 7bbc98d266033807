package matcher

import (
	"time"

	"reconciler/journal"
	"reconciler/sources"
)

// Tier is the rule by which a record was found for an operation; the lower,
// the stronger.
type Tier int

// The tiers of §5 of the design. Tier 5 (suggestion) never reaches Decide.
const (
	TierProviderOperationID Tier = iota + 1
	TierIdempotencyKey
	TierBusinessReference
	TierFoldedReference
)

func (t Tier) String() string {
	switch t {
	case TierProviderOperationID:
		return "provider_operation_id"
	case TierIdempotencyKey:
		return "idempotency_key"
	case TierBusinessReference:
		return "business_reference"
	case TierFoldedReference:
		return "folded_reference"
	}
	return "none"
}

// Ownership says whether this operation owns a record that it matches.
type Ownership string

// The three ownerships.
const (
	// Owned: no other operation of the whole journal has as strong a claim.
	Owned Ownership = "owned"
	// OwnedByOther: another operation claims it by a stronger tier.
	OwnedByOther Ownership = "other"
	// Contested: another operation claims it by the same tier.
	Contested Ownership = "contested"
)

// RecordID names one stored record version.
type RecordID struct {
	Source    string `json:"source"`
	RecordKey string `json:"record_key"`
}

// Unowned is a record that no operation claims, with the place where it stands.
type Unowned struct {
	RecordID
	Statement string
	Line      int
}

// Candidate is a record that matches the operation in one of the tiers 1–4.
type Candidate struct {
	RecordID
	// Provider of the record's source.
	Provider string
	// StatementID of the statement that last said so, Statement its name.
	StatementID int64
	Statement   string
	// AsOf of that statement.
	AsOf   time.Time
	Record sources.Record
	Tier   Tier
	// Ownership, and the keys of the other operations that claim the record.
	Ownership Ownership
	Rivals    []string
	// Replaced: no current statement contains this version any more.
	Replaced bool
	// Conflicted: two statements of different periods disagree on reference,
	// amount or currency under this record's key.
	Conflicted bool
}

// SourceCoverage is the covered time of one account of one source.
type SourceCoverage struct {
	Source, Account string
	// Proven rests on statements whose end is proven; All adds those whose end
	// is assumed.
	Proven, All sources.Ranges
	// Spoken are the whole periods of those statements. What they speak of and
	// do not cover was too fresh when they were made.
	Spoken sources.Ranges
}

// Facts is everything that a decision on one operation may rest on.
type Facts struct {
	Operation journal.Operation
	// WorkerUpdatedAt is the operation's updated_at as a worker last set it:
	// the reconciler's own moves do not move the evidence window. Zero means
	// Operation.UpdatedAt.
	WorkerUpdatedAt time.Time
	// Candidates in any order: current and replaced, owned or not.
	Candidates []Candidate
	// Sources of the policy, all of them, in any order.
	Sources []SourceRule
	// Coverage of every source and account of the policy; one that is not
	// listed covers nothing.
	Coverage []SourceCoverage
	// LateSuccess: a worker whose lease had run out reported a success.
	LateSuccess bool
	// Reviewed: a person has reviewed or acknowledged the operation; only a
	// decision of a person may permit now.
	Reviewed bool
	// UnownedSameAmount are records in the evidence window that nobody owns,
	// with the same amount and currency; UnownedWithoutReference those without
	// a usable reference. A handful of each is enough.
	UnownedSameAmount       []Unowned
	UnownedWithoutReference []Unowned
	// Earlier is the last transition that the reconciler made on this
	// operation, if it was the last that anybody made; nil otherwise.
	Earlier *Earlier
}

// Earlier is a transition that the reconciler made.
type Earlier struct {
	ReasonCode ReasonCode
	From, To   journal.Status
	At         time.Time
	// EvidenceReplaced: a record or statement that it rested on is no longer current.
	EvidenceReplaced bool
}
