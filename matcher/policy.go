// Package matcher decides, from facts that it is handed, what a provider's
// records prove about the operations of the journal. It is pure: no context,
// no clock, no log, no I/O; the same facts always give the same decision, and
// the order of records never matters.
//
// The rules are those of the decision table in testdata/decisions.csv, which
// is both the document and the test.
package matcher

import (
	"time"

	"reconciler/money"
	"reconciler/sources"
)

// Class gives an action type its defaults.
type Class string

// The classes of action types.
const (
	// Financial: money moves. Absence goes to a person by default.
	Financial Class = "financial"
	// Irreversible: an effect that can't be taken back but costs no money (an
	// e-mail). Proven absence permits a retry by default.
	Irreversible Class = "irreversible"
	// Idempotent: the provider keeps our key, so a repeat has no second effect
	// while the key lives.
	Idempotent Class = "idempotent"
)

// OnAbsent says what proven absence leads to.
type OnAbsent string

// What may follow from proven absence.
const (
	Retry  OnAbsent = "retry"
	Fail   OnAbsent = "fail"
	Review OnAbsent = "review"
)

// RetryNeeds says what must hold before a permit is given.
type RetryNeeds string

// What a permit may rest on.
const (
	NeedsAbsence RetryNeeds = "absence"
	NeedsKey     RetryNeeds = "key"
	NeedsBoth    RetryNeeds = "both"
)

// Policy says what may be concluded and done for one action type.
type Policy struct {
	ActionType string
	Class      Class
	// Sources that must all cover an operation before it can be called absent
	// (those of its provider, or all where it names none).
	Sources []string
	// EffectKind and EffectDirection say which records are this action's
	// effect. An empty kind means any but fee, payout, refund, reversal and
	// chargeback; an empty direction means any.
	EffectKind      sources.Kind
	EffectDirection sources.Direction
	OnAbsent        OnAbsent
	RetryNeeds      RetryNeeds
	// KeyTTL is how long the provider keeps our idempotency key, KeyMargin what
	// is kept free at its end.
	KeyTTL, KeyMargin time.Duration
	// MaxAttempts: from this many attempts on there is no automatic permit.
	MaxAttempts int
	Tolerance   money.Tolerance
	// PendingLimit after the last possible effect, a pending record is an exception.
	PendingLimit time.Duration
	// OverdueAfter the last possible effect plus the lag, an open operation is
	// an exception.
	OverdueAfter time.Duration
	// LeaseGrace after an expired lease, executing becomes unknown.
	LeaseGrace time.Duration
	// MaxCall is the longest that a call, begun at the end of a lease, may take.
	MaxCall time.Duration
	// MaxLease: a live lease that ends later than this from now is an exception.
	MaxLease time.Duration
	// MaxRetryAge: older operations get no automatic permit.
	MaxRetryAge time.Duration
	// PlanLimit: planned for longer than this is an exception.
	PlanLimit time.Duration
	// SenderDeadlineEnforced: writers stop sending at their lease.
	SenderDeadlineEnforced bool
	// SafeRefusals are provider status texts after which a retry is safe.
	SafeRefusals []string
	// PermitsOff is the kill switch: no permit at all.
	PermitsOff bool
}

// SourceRule is what deciding needs to know about one source of the policy.
type SourceRule struct {
	Name, Provider string
	Accounts       []string
	sources.CoverageRule
	ClockSkew time.Duration
	// EchoesKey: the source maps our idempotency key, so that an operation
	// without a reference can be found in it.
	EchoesKey bool
	// IDPerDay: the provider's ids restart every day, so that one alone names
	// nothing.
	IDPerDay bool
	// ProductionDelay is what the source's derived as_of stays behind its
	// modification time; it only enters provable_at. Zero where the provider
	// states its own as_of.
	ProductionDelay time.Duration
}
