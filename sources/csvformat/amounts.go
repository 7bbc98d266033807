package csvformat

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"reconciler/money"
	"reconciler/sources"
)

// amountRule is how the numbers of one field are written, compiled.
type amountRule struct {
	number money.NumberFormat
	// plain: one column with a number in major units, and nothing else.
	plain bool
	// minor: the number counts the smallest unit.
	minor bool
	// sides are the debit and the credit column; nil: there is one column.
	sides *[2]sideRule
	// marks say the direction inside the cell, the longest first.
	marks []markRule
	// unmarked is the direction of a cell without a mark.
	unmarked sources.Direction
	// symbols give the currency of a sign inside the cell.
	symbols map[string]word
	// subtract: a net amount is amount - fee.
	subtract bool
}

// sideRule is one of two columns.
type sideRule struct {
	column    *sources.Column
	sign      string
	direction sources.Direction
}

// markRule is a word in the cell.
type markRule struct {
	text      []byte
	direction sources.Direction
}

// The values of a side's sign.
const (
	signNone  = "none"
	signMinus = "minus"
	signAny   = "any"
)

var (
	errContradiction = errors.New("it is negative, although its mark says already which way the money went")
	errNoMark        = errors.New("it has no mark, and marks has no entry for that")
	errUneven        = errors.New("more decimals than the currency has")
	errBothSides     = errors.New("both the debit and the credit column have an amount")
	errNoSide        = errors.New("neither the debit nor the credit column has an amount")
)

func newAmountRule(s *sources.Field, exponents map[string]int) (amountRule, error) {
	a := amountRule{number: money.NumberFormat{Decimal: s.Decimal, Group: s.Group, TrailingZeros: s.TrailingZeros}}
	if err := a.number.Check(); err != nil {
		return a, err
	}
	switch s.Unit {
	case "", "major":
	case "minor":
		a.minor = true
		if s.Decimal != "" || s.TrailingZeros {
			return a, errors.New("unit: numbers in minor units have no decimals")
		}
	default:
		return a, fmt.Errorf("unit: %q is neither major nor minor", s.Unit)
	}
	switch s.Equals {
	case "", "amount + fee":
	case "amount - fee":
		a.subtract = true
	default:
		return a, fmt.Errorf("equals: %q is neither %q nor %q", s.Equals, "amount + fee", "amount - fee")
	}
	if err := errors.Join(a.compileSides(s), a.compileMarks(s.Marks), a.compileSymbols(s.Symbols, exponents)); err != nil {
		return a, err
	}
	a.plain = !a.minor && a.sides == nil && a.marks == nil && a.unmarked == "" && a.symbols == nil
	return a, nil
}

func (a *amountRule) compileSides(s *sources.Field) error {
	if s.Debit == nil && s.Credit == nil {
		return nil
	}
	if s.Debit == nil || s.Credit == nil {
		return errors.New("debit: declare both debit and credit, or one column")
	}
	if len(s.Marks) > 0 {
		return errors.New("marks: the columns debit and credit say the direction already")
	}
	a.sides = &[2]sideRule{
		{column: s.Debit.Column, sign: s.Debit.Sign, direction: sources.Debit},
		{column: s.Credit.Column, sign: s.Credit.Sign, direction: sources.Credit},
	}
	for i, name := range [...]string{"debit", "credit"} {
		side := &a.sides[i]
		if side.sign == "" {
			side.sign = signNone
		}
		if !slices.Contains([]string{signNone, signMinus, signAny}, side.sign) {
			return fmt.Errorf("%s.sign: %q is not one of none, minus, any", name, side.sign)
		}
		if err := checkColumn(side.column); err != nil {
			return fmt.Errorf("%s.%w", name, err)
		}
	}
	return nil
}

func checkColumn(c *sources.Column) error {
	if c == nil || c.Number < 0 || c.Number == 0 && strings.TrimSpace(c.Header) == "" {
		return errors.New("column: name a header, or a number from 1")
	}
	return nil
}

func (a *amountRule) compileMarks(marks map[string]string) error {
	for text, to := range marks {
		direction := sources.Direction(to)
		if direction != sources.Debit && direction != sources.Credit {
			return fmt.Errorf("marks: %q is neither debit nor credit", to)
		}
		text = strings.TrimSpace(text)
		switch {
		case text == "":
			a.unmarked = direction
		case strings.ContainsAny(text, "0123456789+-()"):
			return fmt.Errorf("marks: %q cannot be told from the number itself", text)
		default:
			a.marks = append(a.marks, markRule{text: []byte(text), direction: direction})
		}
	}
	slices.SortFunc(a.marks, func(x, y markRule) int {
		if n := len(y.text) - len(x.text); n != 0 {
			return n
		}
		return bytes.Compare(x.text, y.text)
	})
	return nil
}

func (a *amountRule) compileSymbols(symbols map[string]string, exponents map[string]int) error {
	if len(symbols) == 0 {
		return nil
	}
	a.symbols = make(map[string]word, len(symbols))
	for text, code := range symbols {
		w, err := currencyWord(code, exponents)
		if err != nil {
			return fmt.Errorf("symbols: %w", err)
		}
		text = strings.TrimSpace(text)
		if strings.ContainsAny(text, "0123456789+-()") {
			return fmt.Errorf("symbols: %q cannot be told from the number itself", text)
		}
		a.symbols[text] = w
		if text != "" {
			a.number.Symbols = append(a.number.Symbols, text)
		}
	}
	slices.SortFunc(a.number.Symbols, func(x, y string) int {
		if n := len(y) - len(x); n != 0 {
			return n
		}
		return strings.Compare(x, y)
	})
	return nil
}

// currencyWord is a currency with the decimals that the provider gives it.
func currencyWord(code string, exponents map[string]int) (word, error) {
	exponent, ok := money.Exponent(code)
	written, declared := exponents[code]
	switch {
	case !ok && !declared:
		return word{}, fmt.Errorf("%q is not an ISO 4217 currency; if the provider uses it, declare its decimals in fields.currency.exponents", code)
	case !ok:
		exponent = written
	case !declared:
		written = exponent
	}
	return word{raw: code, value: code, exponent: exponent, written: written}, nil
}

// parse reads one number in minor units of a currency. The direction is that
// of a mark, if the cell has one.
func (a *amountRule) parse(cell []byte, currency word) (minor int64, direction sources.Direction, err error) {
	if a.marks != nil || a.unmarked != "" {
		if cell, direction, err = a.cutMark(cell); err != nil {
			return 0, "", err
		}
	}
	written := currency.written
	if a.minor {
		written = 0
	}
	if minor, err = a.number.ParseMinorBytes(cell, written); err != nil {
		return 0, "", err
	}
	if direction != "" && minor < 0 {
		return 0, "", errContradiction
	}
	if currency.written != currency.exponent {
		minor, err = rescale(minor, currency.written, currency.exponent)
	}
	return minor, direction, err
}

// parsePlain is parse for a number whose direction is not asked for.
func (a *amountRule) parsePlain(cell []byte, currency word) (int64, error) {
	if a.plain && currency.written == currency.exponent {
		return a.number.ParseMinorBytes(cell, currency.exponent)
	}
	minor, _, err := a.parse(cell, currency)
	return minor, err
}

func (a *amountRule) cutMark(cell []byte) ([]byte, sources.Direction, error) {
	for _, mark := range a.marks {
		if rest, ok := bytes.CutSuffix(cell, mark.text); ok {
			return trim(rest), mark.direction, nil
		}
		if rest, ok := bytes.CutPrefix(cell, mark.text); ok {
			return trim(rest), mark.direction, nil
		}
	}
	if a.unmarked == "" && len(cell) > 0 {
		return nil, "", errNoMark
	}
	return cell, a.unmarked, nil
}

// rescale turns a number of 10^-from into one of 10^-to.
func rescale(minor int64, from, to int) (int64, error) {
	for ; from < to; from++ {
		if minor > math.MaxInt64/10 || minor < math.MinInt64/10 {
			return 0, money.ErrNumberTooLarge
		}
		minor *= 10
	}
	for ; from > to; from-- {
		if minor%10 != 0 {
			return 0, errUneven
		}
		minor /= 10
	}
	return minor, nil
}

// magnitude judges the sign of a number that stands in the column of one side.
func (s *sideRule) magnitude(minor int64) (int64, error) {
	switch {
	case s.sign == signNone && minor < 0:
		return 0, fmt.Errorf("the %s column has a negative number; if they all are, declare sign: minus, if it means nothing, sign: any", s.direction)
	case s.sign == signMinus && minor > 0:
		return 0, fmt.Errorf("the %s column has a number without a minus, although sign: minus is declared", s.direction)
	}
	return max(minor, -minor), nil
}

// value reads a field of amounts from a row: signed as written, or by its
// columns and marks, which then give the direction too.
func (r *reader) value(cells [][]byte, id fieldID, currency word) (minor int64, direction sources.Direction, err error) {
	a := &r.format.plan.fields[id].amount
	if a.sides == nil {
		minor, direction, err = a.parse(r.cell(cells, id), currency)
		if direction == sources.Debit {
			minor = -minor
		}
		return minor, direction, err
	}
	for i := range a.sides {
		cell := trim(cells[r.sides[id][i]])
		if len(cell) == 0 {
			continue
		}
		v, _, err := a.parse(cell, currency)
		if err == nil {
			v, err = a.sides[i].magnitude(v)
		}
		switch {
		case err != nil:
			return 0, "", err
		case v == 0:
			continue
		case direction != "":
			return 0, "", errBothSides
		}
		minor, direction = v, a.sides[i].direction
	}
	if direction == "" {
		return 0, "", errNoSide
	}
	if direction == sources.Debit {
		minor = -minor
	}
	return minor, direction, nil
}

// filled reports whether a field of amounts has anything in this row.
func (r *reader) filled(cells [][]byte, id fieldID) bool {
	if a := &r.format.plan.fields[id].amount; a.sides != nil {
		return len(trim(cells[r.sides[id][0]])) > 0 || len(trim(cells[r.sides[id][1]])) > 0
	}
	return len(r.cell(cells, id)) > 0
}

// symbolOf is the currency of the sign in the amount's cell; ok is false if
// the rule has none for it.
func (r *reader) symbolOf(cells [][]byte) (w word, symbol string, ok bool) {
	a := &r.format.plan.fields[fieldAmount].amount
	cell := []byte(nil)
	if a.sides == nil {
		cell = r.cell(cells, fieldAmount)
	} else if cell = trim(cells[r.sides[fieldAmount][0]]); len(cell) == 0 {
		cell = trim(cells[r.sides[fieldAmount][1]])
	}
	if a.marks != nil {
		if rest, _, err := a.cutMark(cell); err == nil {
			cell = rest
		}
	}
	symbol = a.number.Symbol(string(cell))
	w, ok = a.symbols[symbol]
	return w, symbol, ok
}
