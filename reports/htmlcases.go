package reports

import (
	"strconv"
	"strings"
	"time"
)

// evidenceShown bounds a fact of the stored evidence of one case.
const evidenceShown = 4000

// recordsShown bounds the records that are shown of one case.
const recordsShown = 50

// caseGroup is the exceptions of one severity.
type caseGroup struct {
	of string
	// Severity is the name of the style.
	Severity, Title string
	Count           string
	Cases           []caseCard
}

// severityClass names the style of a severity; one that is not known has its own.
func severityClass(severity string) string {
	if rank(severity) < 0 {
		return "other"
	}
	return severity
}

// caseCard is one exception.
type caseCard struct {
	ID, Title, Code, Severity string
	Amount                    amount
	Note                      string
	Tags                      []string
	New                       bool
	Reference                 string
	Facts                     []fact
	Records                   []recordRow
	MoreRecords               string
	// Evidence that no record says better.
	Evidence []fact
}

// recordRow is one record as evidence.
type recordRow struct {
	Source, ID, Reference, What, Status, Occurred, Where string
	Amount                                               amount
	// Remark says why it does not count as it stands; empty if it does. Void is
	// one that counts no more.
	Remark string
	Void   bool
	// Differs marks an amount or currency that is not the operation's.
	Differs bool
}

// cases groups the exceptions by severity, worst first.
func (b builder) cases() (groups []caseGroup, more string) {
	counts := map[string]int{}
	for _, e := range b.Exceptions {
		counts[e.Severity]++
	}
	for _, e := range b.Exceptions[:min(len(b.Exceptions), shownRows)] {
		if n := len(groups); n == 0 || groups[n-1].of != e.Severity {
			groups = append(groups, caseGroup{
				of: e.Severity, Severity: severityClass(e.Severity), Title: orDash(b.words.Of(e.Severity).Title), Count: integer(counts[e.Severity]),
			})
		}
		g := &groups[len(groups)-1]
		g.Cases = append(g.Cases, b.card(e))
	}
	if len(b.Exceptions) > shownRows {
		more = integer(shownRows) + " of " + integer(len(b.Exceptions)) +
			" cases are shown here; exceptions.csv and exceptions.xlsx have all of them."
	}
	return groups, more
}

func (b builder) card(e Exception) caseCard {
	c := caseCard{
		ID: Visible(e.ExceptionID), Title: orDash(b.words.Of(e.Kind).Title), Code: Visible(e.Kind), Severity: severityClass(e.Severity),
		Amount: amountOf(e),
		Note:   Visible(advice(e, b.words)), New: e.New,
	}
	if days, ok := b.ageDays(e.FirstSeenAt); ok {
		c.Tags = append(c.Tags, ageWords(days)+", since "+b.day(e.FirstSeenAt))
	}
	c.Tags = append(c.Tags, orDash(b.words.Of(e.State).Title))
	if e.Assignee != "" {
		c.Tags = append(c.Tags, "with "+Visible(e.Assignee))
	} else {
		c.Tags = append(c.Tags, "nobody assigned")
	}
	b.subject(&c, e)
	var op Operation
	if e.Operation != nil {
		op = *e.Operation
	}
	for _, rec := range e.Records[:min(len(e.Records), recordsShown)] {
		c.Records = append(c.Records, b.record(rec, op))
	}
	if more := len(e.Records) - recordsShown; more > 0 {
		c.MoreRecords = plural(more, "more record speaks", "more records speak") + " about this case; exceptions.csv names them all."
	}
	c.Evidence = b.evidenceFacts(e)
	return c
}

// subject fills in what the case is about.
func (b builder) subject(c *caseCard, e Exception) {
	op := e.Operation
	if op == nil {
		if e.IdempotencyKey != "" {
			c.Facts = append(c.Facts, fact{"Key", Visible(e.IdempotencyKey), true})
		}
		if e.Source != "" {
			c.Facts = append(c.Facts, fact{"Source", Visible(e.Source), false})
		}
		if e.RecordKey != "" {
			c.Facts = append(c.Facts, fact{"Record", Visible(e.RecordKey), true})
		}
		return
	}
	c.Reference = Visible(op.name())
	if a := op.ordered(); a.Known {
		c.Facts = append(c.Facts, fact{"Ordered", a.Number + " " + a.Currency, false})
	}
	for _, f := range []fact{
		{"Action", op.ActionType, false},
		{"Journal says", b.statusWords(op.Status), false},
		{"Provider", strings.Trim(op.Provider+" / "+op.Account, " /"), false},
		{"Workflow", op.WorkflowID, true},
		{"Key", op.IdempotencyKey, true},
	} {
		if f.Value != "" && (f.Name != "Key" || op.BusinessReference != "") {
			f.Value = Visible(f.Value)
			c.Facts = append(c.Facts, f)
		}
	}
	c.Facts = append(c.Facts, b.attempts(*op)...)
}

func (b builder) attempts(op Operation) []fact {
	value := strconv.Itoa(op.AttemptCount)
	if !op.LastAttemptAt.IsZero() {
		value += ", the last on " + b.moment(op.LastAttemptAt)
	}
	facts := []fact{{"Attempts", value, false}}
	if !op.CreatedAt.IsZero() {
		facts = append(facts, fact{"Recorded", b.moment(op.CreatedAt), false})
	}
	return facts
}

func (b builder) statusWords(status string) string {
	if status == "" {
		return ""
	}
	return strings.ToLower(b.words.Of(status).Title)
}

func (b builder) record(rec Record, op Operation) recordRow {
	row := recordRow{
		Source: orDash(rec.Source), ID: orDash(rec.ProviderOperationID), Reference: Visible(rec.BusinessReference),
		What:   Visible(strings.TrimSpace(rec.Kind + " " + rec.Direction)),
		Status: Visible(rec.Status), Occurred: b.moment(rec.OccurredAt),
		Where: where(rec.Statement, rec.Line), Remark: rec.Remark(), Void: rec.Replaced,
	}
	if rec.HasAmount {
		row.Amount = readable(rec.AmountMinor, rec.Currency)
	}
	row.Differs = rec.HasAmount && op.HasAmount && (rec.AmountMinor != op.AmountMinor || rec.Currency != op.Currency)
	return row
}

// where names a statement and a line of it.
func where(statement string, line int) string {
	out := orDash(statement)
	if line > 0 {
		out += ", line " + strconv.Itoa(line)
	}
	return out
}

func ageWords(days int) string {
	switch days {
	case 0:
		return "today"
	case 1:
		return "1 day"
	}
	return integer(days) + " days"
}

// ageTable counts exceptions by severity and age.
type ageTable struct {
	Buckets []string
	Rows    []ageRow
	Totals  []string
}

type ageRow struct {
	Severity, Title string
	Cells           []ageCell
	Total           string
}

// ageCell is a count with a heat from 0 (none) to 4 (the most of the table).
type ageCell struct {
	Count string
	Heat  int
}

// bucket returns the index of the ageing bucket of an age in days.
func bucket(days int) int {
	switch {
	case days <= 1:
		return 0
	case days <= 7:
		return 1
	case days <= 30:
		return 2
	}
	return 3
}

func (b builder) ageing() ageTable {
	table := ageTable{Buckets: []string{"0–1 days", "2–7 days", "8–30 days", "over 30 days"}}
	if len(b.Exceptions) == 0 {
		return table
	}
	counts := map[string]*[4]int{}
	var totals [4]int
	most := 4 // below that, a single case would look like a fire
	order := severities()
	for _, e := range b.Exceptions {
		if counts[e.Severity] == nil {
			counts[e.Severity] = &[4]int{}
			if rank(e.Severity) < 0 {
				order = append(order, e.Severity)
			}
		}
		days, _ := b.ageDays(e.FirstSeenAt)
		n := bucket(days)
		counts[e.Severity][n]++
		totals[n]++
		most = max(most, counts[e.Severity][n])
	}
	for _, severity := range order {
		row := ageRow{Severity: severityClass(severity), Title: orDash(b.words.Of(severity).Title)}
		sum := 0
		var cells [4]int
		if counts[severity] != nil {
			cells = *counts[severity]
		}
		for _, n := range cells {
			sum += n
			row.Cells = append(row.Cells, ageCell{integer(n), (n*4 + most - 1) / most})
		}
		row.Total = integer(sum)
		table.Rows = append(table.Rows, row)
	}
	for _, n := range totals {
		table.Totals = append(table.Totals, integer(n))
	}
	table.Totals = append(table.Totals, integer(len(b.Exceptions)))
	return table
}

// settledTable is what this run has settled.
type settledTable struct {
	Sums []fact
	Rows []settledRow
	More string
}

type settledRow struct {
	Reference, Key, Action, From, To, Why, Code, ID, Where string
	Amount                                                 amount
	// Tone of the new status: "good", "bad" or "wait".
	Tone string
}

func (b builder) settled() settledTable {
	var table settledTable
	counts := map[string]int{}
	var order []string
	for _, s := range b.Settled {
		if counts[s.ReasonCode] == 0 {
			order = append(order, s.ReasonCode)
		}
		counts[s.ReasonCode]++
	}
	for _, code := range sorted(order, func(x, y string) int { return counts[y] - counts[x] }) {
		table.Sums = append(table.Sums, fact{Name: orDash(b.words.Of(code).Title), Value: integer(counts[code])})
	}
	for _, s := range b.Settled[:min(len(b.Settled), shownRows)] {
		row := settledRow{
			Reference: Visible(s.Operation.BusinessReference), Key: Visible(s.IdempotencyKey),
			Action: Visible(s.Operation.ActionType), From: b.statusWords(s.From), To: b.statusWords(s.To),
			Why: orDash(b.words.Of(s.ReasonCode).Title), Code: Visible(s.ReasonCode),
			Amount: s.Operation.ordered(),
			ID:     Visible(s.ProviderOperationID), Tone: tone(s.To),
		}
		if s.Statement != "" {
			row.Where = where(s.Statement, s.Line)
		}
		table.Rows = append(table.Rows, row)
	}
	if more := len(b.Settled) - shownRows; more > 0 {
		table.More = plural(more, "more transition is", "more transitions are") + " in summary.json and in the journal's events."
	}
	return table
}

func tone(status string) string {
	switch status {
	case "succeeded":
		return "good"
	case "failed_final":
		return "bad"
	}
	return "wait"
}

// waitingTable is what becomes certain by itself, by day.
type waitingTable struct {
	Days []waitingDay
	More string
}

type waitingDay struct {
	Day, Relative, Count string
	// From heads the column of the times.
	From string
	Rows []waitingRow
}

type waitingRow struct {
	Reference, Key, Action, Status, Why, Code, At string
	Amount                                        amount
}

func (b builder) waiting() waitingTable {
	var table waitingTable
	counts := map[string]int{}
	for _, w := range b.Waiting {
		counts[b.waitDay(w.ProvableAt)]++
	}
	for _, w := range b.Waiting[:min(len(b.Waiting), shownRows)] {
		day := b.waitDay(w.ProvableAt)
		if n := len(table.Days); n == 0 || table.Days[n-1].Day != day {
			table.Days = append(table.Days, waitingDay{
				Day: day, Relative: b.relative(w.ProvableAt), Count: plural(counts[day], "operation", "operations"), From: "From",
			})
		}
		row := waitingRow{
			Reference: Visible(w.Operation.BusinessReference), Key: Visible(w.Operation.IdempotencyKey),
			Action: Visible(w.Operation.ActionType), Status: b.statusWords(w.Operation.Status),
			Why: orDash(b.words.Of(w.ReasonCode).Title), Code: Visible(w.ReasonCode),
			Amount: w.Operation.ordered(), At: "–",
		}
		switch {
		case w.ProvableAt.IsZero():
		case b.past(w.ProvableAt):
			row.At = w.ProvableAt.In(b.zone()).Format("2 Jan, 15:04")
			table.Days[len(table.Days)-1].From = "Since"
		default:
			row.At = w.ProvableAt.In(b.zone()).Format("15:04")
		}
		d := &table.Days[len(table.Days)-1]
		d.Rows = append(d.Rows, row)
	}
	if more := len(b.Waiting) - shownRows; more > 0 {
		table.More = plural(more, "more operation waits", "more operations wait") +
			"; the command operations and the view operation_status show all."
	}
	return table
}

// past says that what was provable at t waits for a statement only.
func (b builder) past(t time.Time) bool { return !t.After(b.GeneratedAt) }

func (b builder) waitDay(t time.Time) string {
	switch {
	case t.IsZero():
		return "No date can be named yet"
	case b.past(t):
		return "Was due"
	}
	return t.In(b.zone()).Format("Monday, 2 January 2006")
}

// relative says how far away the day of t is.
func (b builder) relative(t time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case b.past(t):
		return "waits for the next statement that covers it"
	}
	days := int(midnightUTC(t.In(b.zone())).Sub(midnightUTC(b.GeneratedAt.In(b.zone()))) / (24 * time.Hour))
	switch days {
	case 0:
		return "today"
	case 1:
		return "tomorrow"
	}
	return "in " + integer(days) + " days"
}
