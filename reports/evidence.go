package reports

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Evidence is what the stored evidence of a case says besides its records.
// What it does not say is zero.
type Evidence struct {
	// Window in which the effect can have happened.
	Window Range
	// Coverage of the window by complete statements.
	Coverage []EvidenceCoverage
	// SpeaksAgainst an automatic step.
	SpeaksAgainst []string
	// ProvableAt is the earliest moment of certainty.
	ProvableAt time.Time
	// NotBefore and NotAfter bound a permit to try again.
	NotBefore, NotAfter time.Time
	// Earlier is the decision that no longer holds.
	Earlier *EarlierDecision
	// Statement that the case is about, with its number, its digest and why it
	// was refused.
	Statement   string
	StatementID int64
	SHA256      string
	Refused     string
	// Account and Missing are the time for which a statement is missing; it was
	// due at DueAt.
	Account string
	Missing Range
	DueAt   time.Time
	// Others are statements of one value each that this version does not know.
	Others []NamedValue
}

// EvidenceCoverage is how far one account covers a window: by statements whose
// end is proven, and by all complete ones.
type EvidenceCoverage struct {
	Source, Account string
	Proven, All     []Range
}

// EarlierDecision is a transition of the past with its reason code.
type EarlierDecision struct{ Reason, From, To string }

// NamedValue is a value with its name as it is stored.
type NamedValue struct{ Name, Value string }

// ReadEvidence reads stored evidence. What is not of the form that is known
// is left out; the stored text stays the whole truth.
func ReadEvidence(raw json.RawMessage) Evidence {
	var e Evidence
	var parts map[string]json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		return e
	}
	for name, part := range parts {
		if !e.take(name, part) {
			if value, ok := scalar(part); ok {
				e.Others = append(e.Others, NamedValue{name, value})
			}
		}
	}
	slices.SortFunc(e.Others, func(a, b NamedValue) int { return cmp.Compare(a.Name, b.Name) })
	return e
}

// take reads one part of the evidence; it reports whether it knows the name.
func (e *Evidence) take(name string, part json.RawMessage) bool {
	switch name {
	case "window":
		e.Window = into[storedRange](part).value()
	case "coverage":
		for _, c := range into[[]storedCoverage](part) {
			e.Coverage = append(e.Coverage, EvidenceCoverage{c.Source, c.Account, ranges(c.Proven), ranges(c.Assumed)})
		}
	case "speaks_against":
		e.SpeaksAgainst = into[[]string](part)
	case "provable_at":
		e.ProvableAt = into[time.Time](part)
	case "retry_not_before":
		e.NotBefore = into[time.Time](part)
	case "retry_not_after":
		e.NotAfter = into[time.Time](part)
	case "earlier":
		if d := into[storedDecision](part); d.To != "" {
			e.Earlier = &EarlierDecision{d.Reason, d.From, d.To}
		}
	case "statement":
		e.Statement = into[string](part)
	case "statement_id":
		e.StatementID = into[int64](part)
	case "sha256":
		e.SHA256 = into[string](part)
	case "reason":
		e.Refused = into[string](part)
	case "account":
		e.Account = into[string](part)
	case "from":
		e.Missing.From = into[time.Time](part)
	case "to":
		e.Missing.To = into[time.Time](part)
	case "due_at":
		e.DueAt = into[time.Time](part)
	case "reason_code", "records", "sides", "statements", "note", "period":
		// The case, its records or its note say it.
	default:
		return false
	}
	return true
}

type storedRange struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

func (r storedRange) value() Range { return Range(r) }

type storedCoverage struct {
	Source  string        `json:"source"`
	Account string        `json:"account"`
	Proven  []storedRange `json:"proven"`
	Assumed []storedRange `json:"assumed"`
}

type storedDecision struct {
	Reason string `json:"reason_code"`
	From   string `json:"from"`
	To     string `json:"to"`
}

func ranges(stored []storedRange) []Range {
	var out []Range
	for _, r := range stored {
		out = append(out, r.value())
	}
	return out
}

// into reads a part; one of another form is the zero value.
func into[T any](part json.RawMessage) T {
	var v T
	if json.Unmarshal(part, &v) != nil {
		var zero T
		return zero
	}
	return v
}

// scalar writes a text, a number or a truth; nothing else can be read in a line.
func scalar(part json.RawMessage) (string, bool) {
	text := strings.TrimSpace(string(part))
	switch {
	case text == "" || text == "null" || text == `""` || text[0] == '{' || text[0] == '[':
		return "", false
	case text[0] == '"':
		return into[string](part), true
	}
	return text, true
}

// evidenceFacts are the facts of a case's stored evidence, for people.
func (b builder) evidenceFacts(e Exception) []fact {
	ev := ReadEvidence(e.Evidence)
	var out []fact
	add := func(name, value string) {
		if value != "" {
			out = append(out, fact{Name: name, Value: cut(Visible(value), evidenceShown)})
		}
	}
	if d := ev.Earlier; d != nil {
		add("Decided earlier", fmt.Sprintf("%s → %s: %s", b.statusWords(d.From), b.statusWords(d.To), b.words.Of(d.Reason).Title))
	}
	if slices.ContainsFunc(e.Records, func(r Record) bool { return !r.Replaced }) {
		return out // the records say the rest better
	}
	if ev.Window != (Range{}) {
		add("May have happened", b.span("", ev.Window.From, ev.Window.To))
	}
	for _, c := range ev.Coverage {
		add("Covered, "+Visible(strings.Trim(c.Source+" / "+c.Account, " /")), b.covered(c))
	}
	add("Against going on by itself", strings.Join(ev.SpeaksAgainst, "; "))
	if !ev.ProvableAt.IsZero() {
		add("Can become certain", b.certain(ev.ProvableAt))
	}
	if ev.NotBefore != (time.Time{}) || ev.NotAfter != (time.Time{}) {
		add("Another attempt", b.span("", ev.NotBefore, ev.NotAfter))
	}
	if ev.Missing != (Range{}) {
		add("Missing time", b.span(e.Source, ev.Missing.From, ev.Missing.To))
	}
	if e.Operation == nil {
		add("Account", ev.Account)
	}
	if !ev.DueAt.IsZero() {
		add("Was due", b.moment(ev.DueAt))
	}
	add("Statement", statementName(ev))
	add("Refused because", ev.Refused)
	if ev.SHA256 != "" {
		out = append(out, fact{Name: "SHA-256", Value: Visible(ev.SHA256), Mono: true})
	}
	for _, o := range ev.Others {
		add(strings.ReplaceAll(Visible(o.Name), "_", " "), o.Value)
	}
	return out
}

func statementName(ev Evidence) string {
	if ev.Statement != "" && ev.StatementID != 0 {
		return fmt.Sprintf("%s (number %d)", ev.Statement, ev.StatementID)
	}
	return ev.Statement
}

// covered says which of the time complete statements cover, and on what that rests.
func (b builder) covered(c EvidenceCoverage) string {
	list := func(ranges []Range) string {
		var out []string
		for _, r := range ranges {
			out = append(out, b.span(c.Source, r.From, r.To))
		}
		return strings.Join(out, "; ")
	}
	switch {
	case len(c.All) == 0 && len(c.Proven) == 0:
		return "none of that time"
	case len(c.Proven) == 0:
		return list(c.All) + " (the end is only assumed)"
	case len(c.All) == 0 || slices.Equal(c.All, c.Proven):
		return list(c.Proven)
	}
	return list(c.Proven) + "; with an end that is only assumed: " + list(c.All)
}

// certain says when an operation becomes certain: the moment, or that it is past.
func (b builder) certain(at time.Time) string {
	if !at.After(b.GeneratedAt) {
		return "was due " + b.moment(at) + "; waits for the next statement that covers it"
	}
	return "from " + b.moment(at) + " on"
}
