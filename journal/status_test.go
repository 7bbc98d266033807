package journal_test

import (
	"slices"
	"testing"

	"reconciler/journal"
)

func actors() []journal.ActorKind {
	return []journal.ActorKind{journal.Worker, journal.Reconciler, journal.Human}
}

// TestLegalMoves states the moves line by line; whatever is not here is refused.
func TestLegalMoves(t *testing.T) {
	t.Parallel()
	everybody := actors()
	onEvidence := []journal.ActorKind{journal.Reconciler, journal.Human}
	person := []journal.ActorKind{journal.Human}
	moves := []struct {
		from, to journal.Status
		by       []journal.ActorKind
	}{
		{journal.Planned, journal.Executing, everybody},
		{journal.Planned, journal.Succeeded, onEvidence},
		{journal.Planned, journal.FailedFinal, onEvidence},
		{journal.Planned, journal.Unknown, onEvidence},
		{journal.FailedRetryable, journal.Executing, everybody},
		{journal.FailedRetryable, journal.Succeeded, onEvidence},
		{journal.FailedRetryable, journal.FailedFinal, onEvidence},
		{journal.FailedRetryable, journal.Unknown, onEvidence},
		{journal.Executing, journal.Succeeded, everybody},
		{journal.Executing, journal.FailedRetryable, everybody},
		{journal.Executing, journal.FailedFinal, everybody},
		{journal.Executing, journal.Unknown, everybody},
		{journal.Unknown, journal.Succeeded, everybody},
		{journal.Unknown, journal.FailedRetryable, everybody},
		{journal.Unknown, journal.FailedFinal, everybody},
		{journal.FailedFinal, journal.Succeeded, person},
	}
	for _, from := range journal.Statuses() {
		for _, to := range journal.Statuses() {
			for _, by := range actors() {
				want := false
				for _, m := range moves {
					want = want || m.from == from && m.to == to && slices.Contains(m.by, by)
				}
				if got := from.CanBecome(to, by); got != want {
					t.Errorf("%s → %s by %s: %v, want %v", from, to, by, got, want)
				}
			}
		}
	}
}

// TestMoveLaws are what the moves must obey, whatever they are.
func TestMoveLaws(t *testing.T) {
	t.Parallel()
	for _, from := range journal.Statuses() {
		for _, by := range actors() {
			if from.CanBecome(from, by) {
				t.Errorf("%s becomes itself", from)
			}
			if from.CanBecome(journal.Planned, by) {
				t.Errorf("%s becomes planned again", from)
			}
			if journal.Succeeded.CanBecome(from, by) {
				t.Errorf("succeeded becomes %s", from)
			}
			if from.Terminal() && by != journal.Human && slices.ContainsFunc(journal.Statuses(), func(to journal.Status) bool {
				return from.CanBecome(to, by)
			}) {
				t.Errorf("terminal %s is moved by a %s", from, by)
			}
			for _, to := range journal.Statuses() {
				if from.CanBecome(to, by) && !from.CanBecome(to, journal.Human) {
					t.Errorf("%s → %s by a %s, but not by a person", from, to, by)
				}
			}
		}
	}
}

// TestUnknownStatusGoesNowhere: a text that is no status is not taken for one.
func TestUnknownStatusGoesNowhere(t *testing.T) {
	t.Parallel()
	for _, other := range []journal.Status{"", "done"} {
		for _, s := range journal.Statuses() {
			if other.CanBecome(s, journal.Human) || s.CanBecome(other, journal.Human) || other.Terminal() {
				t.Errorf("%q is taken for a status", other)
			}
		}
	}
}

func TestReference(t *testing.T) {
	t.Parallel()
	op := journal.Operation{IdempotencyKey: "v1:abc"}
	if got := op.Reference(); got != "v1:abc" {
		t.Errorf("Reference without a business reference = %q, want the key", got)
	}
	op.BusinessReference = "application-7"
	if got := op.Reference(); got != "application-7" {
		t.Errorf("Reference = %q, want the business reference", got)
	}
}
