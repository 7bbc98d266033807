package main

import (
	"reconciler/journal"
	"reconciler/matcher"
)

// meaning is a conclusion in the words of people.
type meaning struct {
	words, next string
	// exception: a person has to look at it.
	exception bool
}

const nothingNext = "nothing"

// meaningOf says what a conclusion means. What absence leads to depends on the
// policy, and shows in the status.
func meaningOf(c conclusion) meaning {
	if c.Reason == matcher.Absent {
		switch c.Status {
		case journal.FailedRetryable:
			return meaning{"It never happened, that is proven. It may be sent again.", "its worker sends it", false}
		case journal.FailedFinal:
			return meaning{"It never happened, that is proven. Closed as failed.", nothingNext, false}
		case journal.Planned, journal.Executing, journal.Succeeded, journal.Unknown:
		}
		return meaning{"It is proven not to have happened. With money, a person decides what follows.", "finance: pay again or not?", true}
	}
	if m, ok := meanings()[c.Reason]; ok {
		return m
	}
	return meaning{words: "It was not examined.", next: "see the report", exception: true}
}

func meanings() map[matcher.ReasonCode]meaning {
	return map[matcher.ReasonCode]meaning{
		matcher.Confirmed:            {"It happened: once, and in full.", nothingNext, false},
		matcher.ConfirmedBeforeRetry: {"It had happened already. The next try would have paid twice.", nothingNext, false},
		matcher.AmountMismatch:       {"Another amount was paid than was ordered.", "finance: accept it, or have it corrected", true},
		matcher.CurrencyMismatch:     {"Another currency was paid than was ordered.", "finance: have it corrected", true},
		matcher.AmountUnknown:        {"There is nothing to compare the amount with.", "finance: compare by hand", true},
		matcher.PartialEffect:        {"Only a part of it was paid.", "finance: wait for the rest, or accept", true},
		matcher.DuplicateEffect:      {"It happened more than once. One is right, the others are at risk.", "finance: get the second back", true},
		matcher.ReversedAtProvider:   {"It did happen, and was taken back.", "finance: find out why", true},
		matcher.EffectAfterFailure:   {"It happened although it counts as failed.", "finance: was it paid elsewhere too?", true},
		matcher.Refused:              {"It was refused for good: closed as failed.", nothingNext, false},
		matcher.RefusedNotFinal:      {"Refused, but it is too early to call that final.", "final at the earliest", false},
		matcher.InProgress:           {"Somebody holds it: it is never touched.", nothingNext, false},
		matcher.Waiting:              {"Nobody has it, and it may be taken.", "a worker takes it", false},
		matcher.RefusedAfterSuccess:  {"It was refused although it counts as done.", "finance: ask the bank", true},
		matcher.PendingAtProvider:    {"The provider is still working on it.", "the next statement tells", false},
		matcher.PendingTooLong:       {"The provider has been working on it for too long.", "finance: ask the bank", true},
		matcher.Absent:               {"It never happened, that is proven.", "a decision", true},
		matcher.AbsentNeedsDecision:  {"It never happened, that is proven.", "a decision", true},
		matcher.PermittedByKey:       {"Not known, but a repeat under the same key is harmless.", "its worker sends it", false},
		matcher.NotYetProvable:       {"Too early: no statement reaches that far.", "known at the earliest", false},
		matcher.CoverageGap:          {"Not to be told: a statement is missing.", "get the missing statement", true},
		matcher.UnresolvedOverdue:    {"Nothing will decide it by itself any more.", "order statements of that account", true},
		matcher.MissingAtProvider:    {"It did not happen although it counts as done.", "finance: ask the bank for proof", true},
		matcher.LeaseOverheld:        {"Held for longer than any call may take.", "find that worker", true},
		matcher.NeverClaimed:         {"Nobody has tried it at all.", "do the workers run?", true},
		matcher.AmbiguousReference:   {"One payment fits two operations. Neither is guessed.", "finance: whose is it?", true},
		matcher.EvidenceChanged:      {"What proved it is not there any more.", "finance: look at it again", true},
		matcher.Settled:              {"Journal and bank agree.", nothingNext, false},
		matcher.UnjournaledEffect:    {"It has no operation in the journal.", "find out who paid", true},
		matcher.LeaseExpired:         {"Its worker is gone.", "the next statement", false},
	}
}
