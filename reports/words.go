package reports

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Word is what people read for a code.
type Word struct {
	// Title is the short name, as it stands in headings and lists.
	Title string
	// Meaning says in one or two sentences what the code stands for.
	Meaning string
	// Do says what a person does next; empty where nobody has to do anything.
	Do string
}

// Words are the English words for every code that a report shows.
type Words map[string]Word

// NewWords returns the table of words.
func NewWords() Words {
	w := Words{}
	w.moneyCases()
	w.proofCases()
	w.sourceCases()
	w.reasons()
	w.states()
	return w
}

// Kinds lists the kinds of exceptions, in order of their names.
func (w Words) Kinds() []string {
	kinds := Words{}
	kinds.moneyCases()
	kinds.proofCases()
	kinds.sourceCases()
	return slices.Sorted(maps.Keys(kinds))
}

// Of returns the words for code. A code that is not in the table is shown as
// it is, with blanks for the underscores, so that a new one is never hidden.
func (w Words) Of(code string) Word {
	if word, ok := w[code]; ok {
		return word
	}
	title := strings.TrimSpace(strings.ReplaceAll(Visible(code), "_", " "))
	first, size := utf8.DecodeRuneInString(title)
	if size == 0 {
		return Word{}
	}
	return Word{Title: string(unicode.ToUpper(first)) + title[size:]}
}

// moneyCases are the kinds in which journal and provider disagree about an effect.
func (w Words) moneyCases() {
	w["duplicate_effect"] = Word{
		"Done twice", "The provider carried out this operation more than once.",
		"Ask the provider to return the extra one, or agree with the customer; then record the decision.",
	}
	w["amount_mismatch"] = Word{
		"Amount differs", "The provider's amount is not the amount that was ordered.",
		"Compare the order with the statement line; accept the difference or have it corrected.",
	}
	w["currency_mismatch"] = Word{
		"Currency differs", "The provider booked another currency than the one that was ordered.",
		"Compare the order with the statement line; accept it or have it corrected.",
	}
	w["amount_unknown"] = Word{
		"Amount can't be compared", "An effect was found, but the operation or the record carries no amount or currency.",
		"Check the amount by hand, then confirm with the provider's id.",
	}
	w["partial_effect"] = Word{
		"Only partly done", "The provider carried out less than the full amount.",
		"Find out whether the rest is still coming; then accept the part or order the rest.",
	}
	w["reversed_at_provider"] = Word{
		"Done, then taken back", "The provider carried it out and reversed it in full.",
		"Decide with the business whether it has to be ordered again under a new key.",
	}
	w["effect_after_failure"] = Word{
		"Done although marked failed", "The journal says that it failed for good, the provider shows that it happened.",
		"Confirm it with the provider's id before anybody orders it again.",
	}
	w["refused_after_success"] = Word{
		"Refused although marked done", "The journal says that it succeeded, the provider shows only refusals.",
		"Ask the provider which is right; the customer may be waiting for the money.",
	}
	w["missing_at_provider"] = Word{
		"Not found at the provider", "The journal says that it succeeded, complete statements show nothing of it.",
		"Ask the provider for proof of execution; check account and reference.",
	}
	w["unjournaled_effect"] = Word{
		"Not in our journal", "The provider shows an effect that bears our reference, and the journal knows no such operation.",
		"Find out who ordered it and past which system.",
	}
	w["duplicate_intent"] = Word{
		"Ordered twice", "Two operations of the same workflow with the same content both succeeded under different keys.",
		"Check whether both were meant; if not, have one returned and repair the key of the writer.",
	}
	w["record_key_conflict"] = Word{
		"Provider contradicts itself", "Two statements give the same record another reference, amount or currency.",
		"Ask the provider which of the two holds; neither is used until then.",
	}
}

// proofCases are the kinds in which something cannot be proven.
func (w Words) proofCases() {
	w["absent_needs_decision"] = Word{
		"Not done; your decision", "Complete statements prove that the provider did nothing. Policy leaves the next step to a person.",
		"Permit another attempt or close it as failed.",
	}
	w["refused"] = Word{
		"Refused by the provider", "The provider shows only refusals of this operation.",
		"Read the refusal; permit another attempt or close it as failed.",
	}
	w["pending_too_long"] = Word{
		"Pending for too long", "The provider still says that it is working on it, past the agreed limit.",
		"Ask the provider for the state. Do not order it again meanwhile.",
	}
	w["unresolved_overdue"] = Word{
		"Overdue without an answer", "No statement has decided this operation within the time in which one should have.",
		"Ask the provider; check that all its statements arrive.",
	}
	w["ambiguous_reference"] = Word{
		"Several candidates", "Records at the provider fit more than one operation equally well.",
		"Choose the right record by hand and confirm with its id.",
	}
	w["evidence_changed"] = Word{
		"Evidence has changed", "A statement that an earlier decision rested on was replaced or withdrawn, and the decision no longer holds.",
		"Look at it again with the new evidence; nothing was turned back.",
	}
	w["lease_overheld"] = Word{
		"Held by a worker for too long", "A worker keeps the operation past the longest time that is allowed.",
		"Look at the worker; end it if it hangs, then the next run decides.",
	}
	w["never_claimed"] = Word{
		"Never started", "It was planned and no worker has taken it up in time.",
		"Check the queue and the workers; cancel it if it is no longer wanted.",
	}
	w["settlement_lag_too_short"] = Word{
		"Record came later than agreed", "A record appeared after a complete statement that should already have shown it.",
		"Raise the settlement lag of this source; absences it has proven are being looked at again.",
	}
}

// sourceCases are the kinds that concern deliveries and runs.
func (w Words) sourceCases() {
	w["coverage_gap"] = Word{
		"Statements are missing", "There is a hole between the accepted statements, or an expected one has not come.",
		"Get the missing statement from the provider and run again.",
	}
	w["statement_rejected"] = Word{
		"Statement refused", "A statement failed its checks as a whole; none of it counts as evidence.",
		"Ask the provider for a correct file, or correct the mapping, and run again.",
	}
	w["statement_overdue"] = Word{
		"Statement is late", "A statement that was due has not arrived.",
		"Ask the provider; check the delivery and the access to it.",
	}
	w["run_overdue"] = Word{
		"Run did not take place", "A scheduled reconciliation has not finished in time.",
		"Check the scheduler and the log of the last run.",
	}
}

// reasons are the codes of decisions that need nobody.
func (w Words) reasons() {
	w["confirmed"] = Word{"Confirmed", "The provider shows it exactly once, and amount and currency agree.", ""}
	w["confirmed_before_retry"] = Word{"Confirmed before a second attempt", "It had happened already; another attempt would have been the duplicate.", ""}
	w["absent"] = Word{"Proven not to have happened", "Complete statements cover the whole time in which it could have appeared, and show nothing.", ""}
	w["permitted_by_key"] = Word{"Attempt permitted by the key", "The provider still keeps our idempotency key, so a repeat has no second effect.", ""}
	w["not_yet_provable"] = Word{"Too early to tell", "It may still appear in a statement that is not due yet.", ""}
	w["waiting"] = Word{"Not started yet", "Its worker may take it up at any time; the provider shows nothing.", ""}
	w["in_progress"] = Word{"In progress", "A worker holds it at this moment.", ""}
	w["settled"] = Word{"Settled", "Journal and provider agree.", ""}
	w["refused_not_final"] = Word{"Refused so far", "Only refusals are known, but the statements do not yet cover the whole time.", ""}
	w["pending"] = Word{"Pending at the provider", "The provider is still working on it.", ""}
	w["lease_expired"] = Word{"Worker lost", "Its worker stopped reporting, so the outcome counts as unknown until it is proven.", ""}
}

// states are the names of states, severities and verdicts.
func (w Words) states() {
	w["reconciled"] = Word{"Reconciled", "Every operation is settled by evidence, and nothing is waiting.", ""}
	w["reconciled_with_pending"] = Word{"Reconciled, some still pending", "Nothing needs a person. Some operations wait for statements that are not due yet.", ""}
	w["exceptions"] = Word{"Exceptions need a person", "Everything that can be proven is settled. The cases below can't be settled without you.", ""}
	w["incomplete"] = Word{"Incomplete", "This run could not see everything that it should have seen. What it shows is right, but it may not be all.", ""}

	w["planned"] = Word{Title: "Planned"}
	w["executing"] = Word{Title: "Executing"}
	w["succeeded"] = Word{Title: "Succeeded"}
	w["failed"] = Word{Title: "Failed"}
	w["reversed"] = Word{Title: "Reversed"}
	w["failed_retryable"] = Word{Title: "Attempt permitted"}
	w["failed_final"] = Word{Title: "Failed for good"}
	w["unknown"] = Word{Title: "Unknown"}

	w["accepted"] = Word{Title: "Accepted"}
	w["quarantined"] = Word{Title: "Quarantined"}
	w["superseded"] = Word{Title: "Superseded"}

	w["open"] = Word{Title: "Open"}
	w["acknowledged"] = Word{Title: "Acknowledged"}
	w["resolved"] = Word{Title: "Resolved"}

	w["critical"] = Word{Title: "Critical"}
	w["high"] = Word{Title: "High"}
	w["medium"] = Word{Title: "Medium"}
	w["low"] = Word{Title: "Low"}
}
