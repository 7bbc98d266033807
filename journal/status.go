package journal

import "slices"

// Status is the state of an operation, as it stands in the journal.
type Status string

// The closed set of statuses.
const (
	Planned         Status = "planned"
	Executing       Status = "executing"
	Succeeded       Status = "succeeded"
	FailedRetryable Status = "failed_retryable"
	FailedFinal     Status = "failed_final"
	Unknown         Status = "unknown"
)

// Statuses lists all statuses.
func Statuses() []Status {
	return []Status{Planned, Executing, Succeeded, FailedRetryable, FailedFinal, Unknown}
}

// Terminal reports that no worker moves the operation any more.
func (s Status) Terminal() bool { return s == Succeeded || s == FailedFinal }

// ActorKind says who made a move.
type ActorKind string

// The closed set of actor kinds.
const (
	Worker     ActorKind = "worker"
	Reconciler ActorKind = "reconciler"
	Human      ActorKind = "human"
)

// next lists the statuses to which a status may move, whoever moves it. The
// trigger agent_operations_guard repeats it in SQL; a test compares the two.
func next(s Status) []Status {
	switch s {
	case Planned, FailedRetryable:
		return []Status{Executing, Succeeded, FailedFinal, Unknown}
	case Executing:
		return []Status{Succeeded, FailedRetryable, FailedFinal, Unknown}
	case Unknown:
		return []Status{Succeeded, FailedRetryable, FailedFinal}
	case FailedFinal:
		return []Status{Succeeded}
	case Succeeded:
		return nil
	}
	return nil
}

// CanBecome reports whether the journal accepts a move from s to another by an
// actor of this kind. Planned and failed_retryable leave without an attempt
// only on evidence (reconciler) or by a person; failed_final only by an
// approved human decision.
func (s Status) CanBecome(to Status, by ActorKind) bool {
	if !slices.Contains(next(s), to) {
		return false
	}
	switch s {
	case Planned, FailedRetryable:
		return to == Executing || by != Worker
	case FailedFinal:
		return by == Human
	case Executing, Unknown, Succeeded:
		return true
	}
	return false
}
