package csvformat

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"

	"reconciler/sources"
)

// balanceRule is how entries and balances belong together, compiled.
type balanceRule struct {
	// on: something is declared.
	on         bool
	running    *sources.Column
	descending bool
	// net: the net amount moves the balance, not the amount.
	net bool
}

func newBalanceRule(cfg *Config, p *plan) (balanceRule, error) {
	b := cfg.Completeness.Balances
	if b == nil {
		return balanceRule{}, nil
	}
	rule := balanceRule{on: true, running: b.Running}
	var err error
	if rule.descending, err = descends(b.Order); err != nil {
		return rule, err
	}
	switch b.Of {
	case "", "amount":
	case "net":
		rule.net = true
	default:
		return rule, fmt.Errorf("of: %q is neither amount nor net", b.Of)
	}
	if b.Running != nil {
		if err := checkColumn(b.Running); err != nil {
			return rule, fmt.Errorf("running: %w", err)
		}
	}
	switch {
	case b.Opening == nil && b.Closing == nil && b.Running == nil:
		return rule, errors.New("opening: declare opening and closing, or running")
	case p.fields[fieldAmount].spec == nil || rule.net && p.fields[fieldNet].spec == nil:
		return rule, errors.New("of: the field that moves the balance is not mapped")
	case !rule.net && !p.signed && !p.directed && p.fields[fieldDirection].spec == nil:
		return rule, errors.New("of: nothing says which way an amount moves the balance; map fields.direction")
	case len(p.accounts) > 1:
		return rule, errors.New("opening: balances are of one account; make a source of each")
	}
	return rule, nil
}

func descends(order string) (bool, error) {
	switch order {
	case "", "ascending":
		return false, nil
	case "descending":
		return true, nil
	}
	return false, fmt.Errorf("order: %q is neither ascending nor descending", order)
}

// ledger follows the balance through the rows.
type ledger struct {
	// sum of the entries in minor units of currency.
	sum      int64
	currency word
	entries  int64
	mixed    bool
	// unreadable counts rows of which nobody knows how they move the balance.
	unreadable int64
	// last is the running balance of the row before, and its entry.
	last, lastEntry int64
	running         bool
	// opening and closing by the running balance.
	opening, closing *int64
}

// enter follows one row. An error is a refusal: the balances contradict.
func (r *reader) enter(cells [][]byte, rec *sources.Record) error {
	l := &r.ledger
	entry, ok := r.entry(rec)
	if !ok {
		r.lostEntry()
		return nil
	}
	if l.entries == 0 {
		l.currency = r.rowCurrency
	}
	l.entries++
	l.mixed = l.mixed || l.currency.value != r.rowCurrency.value
	sum := l.sum + entry
	if (sum > l.sum) != (entry > 0) && entry != 0 {
		l.unreadable++ // it does not fit
		return nil
	}
	l.sum = sum
	if r.runningColumn == noColumn {
		return nil
	}
	return r.follow(cells, rec.Line, entry)
}

// lostEntry: from here on the balance can't be followed.
func (r *reader) lostEntry() {
	r.ledger.unreadable++
	r.ledger.running = false
}

// entry is how a record moves the balance.
func (r *reader) entry(rec *sources.Record) (int64, bool) {
	switch {
	case r.format.balances.net:
		return r.netMinor, r.hasNet
	case !rec.HasAmount:
		return 0, false
	case rec.Direction == sources.Debit:
		return -rec.AmountMinor, true
	case rec.Direction == sources.Credit:
		return rec.AmountMinor, true
	}
	return 0, rec.AmountMinor == 0
}

// follow compares the running balance of a row with that of the row before.
func (r *reader) follow(cells [][]byte, line int, entry int64) error {
	l := &r.ledger
	balance, err := r.signedCell(trim(cells[r.runningColumn]), r.rowCurrency)
	if err != nil {
		return &sources.Refusal{
			Line: line, Column: columnName(r.format.balances.running), Reason: fmt.Sprintf("the balance cannot be read: %v", err),
			Remedy: "correct completeness.balances.running, or remove it",
		}
	}
	descending := r.format.balances.descending
	before, moved := l.last, entry
	if descending {
		before, moved = l.last, -l.lastEntry
	}
	if l.running && before+moved != balance {
		return &sources.Refusal{
			Line: line, Column: columnName(r.format.balances.running),
			Reason: fmt.Sprintf("the balance is %s, but the row before has %s and the entry is %s", inUnits(balance, r.rowCurrency),
				inUnits(before, r.rowCurrency), inUnits(moved, r.rowCurrency)),
			Remedy: "rows are missing or in another order (completeness.balances.order)",
		}
	}
	opening, closing := balance-entry, balance
	if l.entries == 1 || descending {
		l.opening = &opening
	}
	if l.entries == 1 || !descending {
		l.closing = &closing
	}
	l.last, l.lastEntry, l.running = balance, entry, true
	return nil
}

// signedCell reads an amount outside of the amount's column, signed.
func (r *reader) signedCell(cell []byte, currency word) (int64, error) {
	minor, direction, err := r.format.plan.fields[fieldAmount].amount.parse(cell, currency)
	if direction == sources.Debit {
		minor = -minor
	}
	return minor, err
}

func inUnits(minor int64, currency word) string {
	return decimal(big.NewInt(minor), currency.exponent)
}

func columnName(c *sources.Column) string {
	if c.Number > 0 {
		return strconv.Itoa(c.Number)
	}
	return c.Header
}

// proveBalance compares opening, entries and closing.
func (r *reader) proveBalance(s *sources.Summary) (bool, error) {
	l := &r.ledger
	if !r.format.balances.on {
		return false, nil
	}
	currency := l.currency
	if l.entries == 0 {
		currency = word{exponent: maxExponent, written: maxExponent} // only equality can be right
		if f := &r.format.plan.fields[fieldCurrency]; f.spec != nil && !f.mapped() {
			currency = f.constant
		}
	}
	opening, openingLine, err := r.balanceAt(placeOpening, currency)
	if err != nil {
		return false, err
	}
	closing, line, err := r.balanceAt(placeClosing, currency)
	if err != nil {
		return false, err
	}
	if currency.value != "" {
		s.Declared.Opening, s.Declared.Closing = opening, closing
	}
	if l.unreadable > 0 || l.mixed {
		return false, nil
	}
	if opening != nil && l.opening != nil && *opening != *l.opening {
		return false, unbalanced(openingLine, "the opening balance is %s, but by the running balance it was %s", inUnits(*opening, currency), inUnits(*l.opening, currency))
	}
	if closing != nil && l.closing != nil && *closing != *l.closing {
		return false, unbalanced(line, "the closing balance is %s, but by the running balance it is %s", inUnits(*closing, currency), inUnits(*l.closing, currency))
	}
	if opening == nil {
		opening = l.opening
	}
	if opening == nil {
		return false, nil
	}
	computed := new(big.Int).Add(big.NewInt(*opening), big.NewInt(l.sum))
	if currency.value != "" && computed.IsInt64() {
		sum := computed.Int64()
		s.Computed.Opening, s.Computed.Closing = opening, &sum
	}
	if closing == nil {
		return false, nil
	}
	if off := new(big.Int).Sub(big.NewInt(*closing), computed); off.Sign() != 0 {
		return false, unbalanced(line, "the opening balance %s and the entries %s make %s, the closing balance is %s; it differs by %s",
			inUnits(*opening, currency), inUnits(l.sum, currency), decimal(computed, currency.exponent), inUnits(*closing, currency), decimal(off, currency.exponent))
	}
	return true, nil
}

func unbalanced(line int, format string, args ...any) error {
	return &sources.Refusal{
		Line: line, Reason: fmt.Sprintf(format, args...), Remedy: "rows are missing, or the file was changed; fetch it again",
	}
}

// balanceAt reads a declared balance; nil if none is configured.
func (r *reader) balanceAt(id placeID, currency word) (*int64, int, error) {
	text, line, err := r.placeText(id)
	if err != nil || text == "" {
		return nil, 0, err
	}
	minor, err := r.signedCell([]byte(text), currency)
	if err != nil {
		return nil, 0, r.badPlace(id, line, err)
	}
	return &minor, line, nil
}

func (r *reader) badPlace(id placeID, line int, cause error) error {
	at, _ := r.format.has(id)
	key := r.format.places[at].key
	return &sources.Refusal{
		Line: line, Reason: fmt.Sprintf("completeness.%s cannot be read: %v", key, cause),
		Remedy: fmt.Sprintf("correct completeness.%s", key),
	}
}

// sequenceRule is a column of numbers without gaps, compiled.
type sequenceRule struct {
	column *sources.Column
	step   int64
	first  *int
}

func newSequenceRule(s *sources.Sequence) (sequenceRule, error) {
	if s == nil {
		return sequenceRule{}, nil
	}
	rule := sequenceRule{column: s.Column, step: 1, first: s.First}
	if err := checkColumn(s.Column); err != nil {
		return rule, err
	}
	descending, err := descends(s.Order)
	if descending {
		rule.step = -1
	}
	return rule, err
}

// sequence is how far the numbers have come.
type sequence struct {
	first, last int64
	line        int
}

// count follows the number of one row. An error is a refusal.
func (r *reader) count(cells [][]byte, line int) error {
	rule, s := &r.format.sequence, &r.sequence
	cell := trim(cells[r.sequenceColumn])
	refuse := func(reason string) error {
		return &sources.Refusal{
			Line: line, Column: columnName(rule.column), Reason: reason, Remedy: "rows are missing, doubled or in another order (completeness.sequence)",
		}
	}
	number, err := strconv.ParseInt(string(cell), 10, 64)
	if err != nil || number == math.MaxInt64 || number == math.MinInt64 {
		return refuse(quote(string(cell)) + " is not a number of the sequence")
	}
	switch {
	case s.line == 0:
		if rule.first != nil && number != int64(*rule.first) {
			return refuse(fmt.Sprintf("the sequence begins with %d, it should with %d", number, *rule.first))
		}
		s.first = number
	case number != s.last+rule.step:
		return refuse(fmt.Sprintf("number %d follows %d", number, s.last))
	}
	s.last, s.line = number, line
	return nil
}
