// Package reports writes the exception report of a run: CSV, XLSX, HTML and
// JSON, each on an io.Writer, from one Report value. It renders what it is
// given and queries nothing; the same Report gives the same bytes.
package reports

import (
	"encoding/json"
	"time"
)

// Report is everything that the report files of one run show.
type Report struct {
	Summary Summary
	// GeneratedAt is the instant of the run for ages and headings; Zone is the
	// report's zone, printed with it.
	GeneratedAt time.Time
	Zone        *time.Location
	// Zones are the zones of the sources' days, by source; one that is not there
	// has the report's.
	Zones map[string]*time.Location
	// Exceptions that are open for this job, worst first, then oldest.
	Exceptions []Exception
	// Settled are the transitions of this run, in order of idempotency key.
	Settled []Settled
	// Waiting are the operations that stay open without a person, in order of ProvableAt.
	Waiting []Waiting
	// Statements on which the verdict rests: those of this run and those
	// current for the job's sources, newest first.
	Statements []Statement
	// Coverage per source and account.
	Coverage []Coverage
}

// Summary is summary.json and the answer of `run --output json`; one schema.
type Summary struct {
	RunID        string          `json:"run_id"`
	Job          string          `json:"job"`
	Verdict      string          `json:"verdict"`
	StartedAt    time.Time       `json:"started_at"`
	FinishedAt   time.Time       `json:"finished_at"`
	Version      string          `json:"version"`
	ConfigDigest string          `json:"config_digest"`
	DryRun       bool            `json:"dry_run,omitempty"`
	Incomplete   []string        `json:"incomplete_because,omitempty"`
	Statements   StatementCounts `json:"statements"`
	Coverage     []CoverageEnd   `json:"coverage"`
	Records      RecordCounts    `json:"records"`
	Operations   OperationCounts `json:"operations"`
	Transitions  []Transition    `json:"transitions"`
	Exceptions   ExceptionCounts `json:"exceptions"`
	// LostRaces counts operations that somebody else moved while this run
	// decided on them; they were left alone.
	LostRaces int `json:"lost_races"`
}

// StatementCounts counts the deliveries that a run looked at.
type StatementCounts struct {
	Accepted    int `json:"accepted"`
	Quarantined int `json:"quarantined"`
	Duplicate   int `json:"duplicate"`
}

// CoverageEnd is the end of the covered time of one account; null if nothing is
// covered. Gaps counts the holes before it.
type CoverageEnd struct {
	Source    string     `json:"source"`
	Account   string     `json:"account"`
	CoveredTo *time.Time `json:"covered_to"`
	Gaps      int        `json:"gaps"`
}

// RecordCounts counts the rows that a run read.
type RecordCounts struct {
	Read     int64 `json:"read"`
	New      int64 `json:"new"`
	Changed  int64 `json:"changed"`
	Rejected int64 `json:"rejected"`
}

// OperationCounts counts the operations that a run examined, and where its
// transitions led.
type OperationCounts struct {
	Examined        int `json:"examined"`
	Succeeded       int `json:"succeeded"`
	FailedFinal     int `json:"failed_final"`
	FailedRetryable int `json:"failed_retryable"`
	Unknown         int `json:"unknown"`
	// Pending operations stay open and wait for proof.
	Pending int `json:"pending"`
}

// Transition is one applied status change.
type Transition struct {
	IdempotencyKey string `json:"idempotency_key"`
	From           string `json:"from"`
	To             string `json:"to"`
	ReasonCode     string `json:"reason_code"`
}

// ExceptionCounts counts a run's exceptions.
type ExceptionCounts struct {
	Opened       int            `json:"opened"`
	StillOpen    int            `json:"still_open"`
	AutoResolved int            `json:"auto_resolved"`
	ByKind       map[string]int `json:"by_kind"`
}

// Exception is one open case.
type Exception struct {
	ExceptionID    string
	Kind           string
	Severity       string
	State          string
	Source         string
	IdempotencyKey string
	RecordKey      string
	// AmountMinor is the money at risk, if HasAmount.
	AmountMinor int64
	HasAmount   bool
	Currency    string
	Assignee    string
	FirstSeenAt time.Time
	LastSeenAt  time.Time
	// Note says in one sentence what is wrong and what to do.
	Note string
	// Operation the case is about; nil for cases about a source or a record.
	Operation *Operation
	// Records that speak about it, as evidence.
	Records []Record
	// Evidence as stored.
	Evidence json.RawMessage
	// FirstRunID is the run that opened (or last reopened) it.
	FirstRunID string
	// New says that this run opened (or reopened) it.
	New bool
}

// Operation is what a report shows of a journal row.
type Operation struct {
	IdempotencyKey    string
	ActionType        string
	WorkflowID        string
	Status            string
	BusinessReference string
	Provider, Account string
	AmountMinor       int64
	HasAmount         bool
	Currency          string
	AttemptCount      int
	CreatedAt         time.Time
	LastAttemptAt     time.Time
}

// name is what people call the operation: its reference, else its key.
func (op Operation) name() string {
	if op.BusinessReference == "" {
		return op.IdempotencyKey
	}
	return op.BusinessReference
}

// Record is what a report shows of a provider's record.
type Record struct {
	Source, RecordKey   string
	Statement           string
	Line                int
	ProviderOperationID string
	BusinessReference   string
	AmountMinor         int64
	HasAmount           bool
	Currency            string
	Direction           string
	Kind                string
	Status              string
	OccurredAt          time.Time
	// Tier is by which name it was found, Ownership whether it is the
	// operation's own; empty for records of no operation.
	Tier, Ownership string
	// Replaced: it stands in no current statement. Conflicted: statements give
	// its identifier different contents.
	Replaced, Conflicted bool
}

// Remark says why the record does not count as it stands; empty if it does.
func (r Record) Remark() string {
	switch {
	case r.Replaced:
		return "replaced by a newer statement"
	case r.Conflicted:
		return "the provider contradicts itself"
	case r.Ownership == "other":
		return "belongs to another operation"
	case r.Ownership == "contested":
		return "fits another operation as well"
	}
	return ""
}

// Settled is a transition of this run, for people.
type Settled struct {
	Transition
	Operation Operation
	// ProviderOperationID and Statement name the evidence, where a record is it.
	ProviderOperationID string
	Statement           string
	Line                int
}

// Waiting is an operation that will become certain by itself.
type Waiting struct {
	Operation  Operation
	ReasonCode string
	// ProvableAt is the earliest moment; zero if nobody can say.
	ProvableAt time.Time
}

// Statement is what a report shows of one registered statement.
type Statement struct {
	StatementID           int64
	Source, Account, Name string
	State                 string
	Complete              bool
	EndProof              string
	From, To, AsOf        time.Time
	RecordCount           int64
	RejectCount           int64
	// DeclaredCount and ComputedCount are of all data rows, rejects and skipped
	// ones included; nil where the provider declares none, or none was counted.
	DeclaredCount, ComputedCount *int64
	// DeclaredSumMinor and ComputedSumMinor are in minor units of Currency.
	DeclaredSumMinor *int64
	ComputedSumMinor *int64
	Currency         string
	SHA256           string
	Reason           string
	Rejects          []Reject
	// InThisRun says that this run read it.
	InThisRun bool
}

// Reject is one row of a statement that could not be understood.
type Reject struct {
	Line   int
	Field  string
	Reason string
}

// Coverage is the covered time of one account of one source. The ranges are in
// order and do not touch.
type Coverage struct {
	Source, Account string
	Ranges          []Range
}

// Gaps are the holes between the covered ranges.
func (c Coverage) Gaps() []Range {
	var out []Range
	for i := 1; i < len(c.Ranges); i++ {
		out = append(out, Range{From: c.Ranges[i-1].To, To: c.Ranges[i].From})
	}
	return out
}

// End is where the covered time ends, with the count of the holes before it.
func (c Coverage) End() CoverageEnd {
	out := CoverageEnd{Source: c.Source, Account: c.Account, Gaps: len(c.Gaps())}
	if n := len(c.Ranges); n > 0 {
		out.CoveredTo = &c.Ranges[n-1].To
	}
	return out
}

// Range is a half-open range of time.
type Range struct{ From, To time.Time }
