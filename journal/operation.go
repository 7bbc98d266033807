// Package journal holds the nouns and laws of the shared journal: Operation,
// Status, the legal moves between statuses. It is pure: with package postgres
// it is what writers import, and it knows no provider, no file, no database.
package journal

import (
	"encoding/json"
	"time"
)

// Operation is one row of agent_operations: one logical external action,
// written before the provider was called. Empty texts and zero times stand
// for SQL NULL.
type Operation struct {
	IdempotencyKey string
	ActionType     string
	WorkflowID     string
	PayloadHash    string
	Status         Status
	// AttemptCount is the number of claims so far, and the fencing token of the last.
	AttemptCount        int
	ProviderOperationID string
	ResultJSON          json.RawMessage
	LastErrorCode       string
	LeaseUntil          time.Time
	CreatedAt           time.Time
	UpdatedAt           time.Time

	Step, RunID       string
	Provider, Account string
	BusinessReference string
	// AmountMinor is a magnitude in minor units, valid if HasAmount; the
	// direction follows from the action type.
	AmountMinor int64
	HasAmount   bool
	Currency    string
	// FirstAttemptAt and LastAttemptAt are stamped when the row enters executing.
	FirstAttemptAt, LastAttemptAt time.Time
	// RetryNotBefore and RetryNotAfter bound a permit; zero = no bound.
	RetryNotBefore, RetryNotAfter time.Time
}

// Reference is what a provider can know the operation by: its business
// reference, or its idempotency key where it has none.
func (op Operation) Reference() string {
	if op.BusinessReference != "" {
		return op.BusinessReference
	}
	return op.IdempotencyKey
}
