package matcher

import (
	"time"

	"reconciler/journal"
	"reconciler/sources"
)

// ReasonCode names the row of the decision table that applied.
type ReasonCode string

// The reason codes, in the words of the decision table.
const (
	Confirmed            ReasonCode = "confirmed"
	ConfirmedBeforeRetry ReasonCode = "confirmed_before_retry"
	AmountMismatch       ReasonCode = "amount_mismatch"
	CurrencyMismatch     ReasonCode = "currency_mismatch"
	AmountUnknown        ReasonCode = "amount_unknown"
	PartialEffect        ReasonCode = "partial_effect"
	DuplicateEffect      ReasonCode = "duplicate_effect"
	ReversedAtProvider   ReasonCode = "reversed_at_provider"
	EffectAfterFailure   ReasonCode = "effect_after_failure"
	Refused              ReasonCode = "refused"
	RefusedNotFinal      ReasonCode = "refused_not_final"
	InProgress           ReasonCode = "in_progress"
	Waiting              ReasonCode = "waiting"
	RefusedAfterSuccess  ReasonCode = "refused_after_success"
	PendingAtProvider    ReasonCode = "pending"
	PendingTooLong       ReasonCode = "pending_too_long"
	Absent               ReasonCode = "absent"
	AbsentNeedsDecision  ReasonCode = "absent_needs_decision"
	PermittedByKey       ReasonCode = "permitted_by_key"
	NotYetProvable       ReasonCode = "not_yet_provable"
	CoverageGap          ReasonCode = "coverage_gap"
	UnresolvedOverdue    ReasonCode = "unresolved_overdue"
	MissingAtProvider    ReasonCode = "missing_at_provider"
	LeaseOverheld        ReasonCode = "lease_overheld"
	NeverClaimed         ReasonCode = "never_claimed"
	AmbiguousReference   ReasonCode = "ambiguous_reference"
	EvidenceChanged      ReasonCode = "evidence_changed"
	Settled              ReasonCode = "settled"
	UnjournaledEffect    ReasonCode = "unjournaled_effect"
	// LeaseExpired is the event reason of executing → unknown while nothing is
	// proven yet.
	LeaseExpired ReasonCode = "lease_expired"
)

// Outcome is what is known of the effect itself, for agents that ask before they act.
type Outcome string

// The outcomes of the view operation_status.
const (
	OutcomeEffect    Outcome = "effect"    // it happened, and stands
	OutcomeReversed  Outcome = "reversed"  // it happened, and was taken back
	OutcomeNoEffect  Outcome = "no_effect" // proven absent or finally refused
	OutcomePending   Outcome = "pending"   // the provider is still at it
	OutcomeUncertain Outcome = "uncertain" // not known
	OutcomeDisputed  Outcome = "disputed"  // journal and provider disagree: a person looks at it
	OutcomeNotTried  Outcome = "not_tried" // nobody has called the provider yet
)

// Severity of a break.
type Severity string

// The severities, worst first.
const (
	Critical Severity = "critical"
	High     Severity = "high"
	Medium   Severity = "medium"
	Low      Severity = "low"
)

// Break is one disagreement, or one thing that a person must know or decide.
type Break struct {
	// Kind is the reason code under which the exception is filed.
	Kind     ReasonCode
	Severity Severity
	// RiskMinor is the money at risk in minor units of Currency, if HasRisk.
	RiskMinor int64
	HasRisk   bool
	Currency  string
	// Note says in one sentence what is wrong and what to do.
	Note string
	// Source, Account and Gap are set for a coverage gap, which is one
	// exception per source and gap, not per operation.
	Source, Account string
	Gap             sources.Period
}

// Transition is a requested move of one operation. It is applied by
// compare-and-set on the status and attempt that were read.
type Transition struct {
	From, To journal.Status
	Reason   ReasonCode
	// ProviderOperationID fills an empty column on a confirmation.
	ProviderOperationID string
	// RetryNotBefore and RetryNotAfter bound a permit; zero = no bound.
	RetryNotBefore, RetryNotAfter time.Time
}

// Decision is what is concluded about one operation: exactly one reason code,
// at most one transition, no or more breaks.
type Decision struct {
	Reason     ReasonCode
	Outcome    Outcome
	Transition *Transition
	Breaks     []Break
	// ProvableAt is the earliest moment at which an open operation can become
	// certain by itself; zero if it can't, or needs no proof.
	ProvableAt time.Time
	// Window is the evidence window that was judged.
	Window sources.Period
	// Speaks lists what turned an automatic retry or failure into a review (³).
	Speaks []string
	// RestsOn are the records that carry the decision; Absence says that it
	// rests on coverage (proven absence) instead or besides.
	RestsOn []RecordID
	Absence bool
	// Proof lists, for an absence, the covered ranges that were relied on.
	Proof []SourceCoverage
	// MayRetry says that the owner may claim the operation (again), by the
	// permit or because it was never tried; the database has the last word.
	MayRetry bool
	// Settled: nothing about this operation is open any more; it need not be
	// looked at again until something new is said about it.
	Settled bool
}
