package csvformat

import (
	"errors"
	"fmt"
	"math/big"
	"math/bits"
	"regexp"
	"strings"

	"reconciler/sources"
)

// footer is the provider's own last word on its document.
type footer struct {
	line  int
	cells []string
}

func newFooter(cells [][]byte, line int) *footer {
	f := &footer{line: line, cells: make([]string, len(cells))}
	for i, cell := range cells {
		f.cells[i] = strings.TrimSpace(string(cell))
	}
	return f
}

// footerRule recognises the footer and knows where it declares what.
type footerRule struct {
	match         *regexp.Regexp
	count, sum    *sources.Column
	debit, credit *sources.Column
}

func newFooterRule(footer *sources.Footer, m *sources.Mapping) (*footerRule, error) {
	if footer == nil {
		return nil, nil //nolint:nilnil // no rule is a rule: the file has no footer
	}
	if footer.Match == "" {
		return nil, errors.New("match: it is empty; write a regular expression for the first cell of the footer")
	}
	match, err := regexp.Compile(footer.Match)
	if err != nil {
		return nil, fmt.Errorf("match: %w", err)
	}
	if match.MatchString("") {
		return nil, fmt.Errorf("match: %q matches an empty cell too", footer.Match)
	}
	if footer.Sum != nil && m.Amount == nil {
		return nil, errors.New("sum: there is no field amount to sum up")
	}
	if (footer.Debit != nil || footer.Credit != nil) && (m.Amount == nil || m.Amount.Debit == nil) {
		return nil, errors.New("debit: the amount has no columns debit and credit to sum up")
	}
	return &footerRule{match: match, count: footer.Count, sum: footer.Sum, debit: footer.Debit, credit: footer.Credit}, nil
}

// isFooter reports whether the first cell says that this row is the footer.
func (r *reader) isFooter(cells [][]byte) bool {
	rule := r.format.footer
	return rule != nil && rule.match.Match(trim(cells[0]))
}

func (r *reader) afterFooter(line int) error {
	return &sources.Refusal{
		Line: line, Reason: fmt.Sprintf("rows go on behind the footer of line %d", r.footer.line),
		Remedy: fmt.Sprintf("if line %d is a data row, make completeness.footer.match \"%s\" stricter", r.footer.line, r.format.footer.match),
	}
}

// maxExponent is the most digits that a currency may have; ISO 4217 has four
// at most (CLF, UYW), a provider may declare more.
const maxExponent = 8

// totals are the control totals that the rows themselves give.
type totals struct {
	// sums of the amounts by the exponent of their currency, signed as written.
	sums [maxExponent + 1]big.Int
	// small collects amounts until they could overflow; its exponent is current.
	small    int64
	current  word
	mixed    bool   // more than one currency
	used     uint16 // the exponents that occur, as bits
	readable int64
	// unreadable counts rows whose amount is not known.
	unreadable int64
	// sides are the sums of the debit and the credit column, by exponent as well.
	sides [2][maxExponent + 1]big.Int
}

// addSide counts the magnitude of an amount to its column.
func (t *totals) addSide(minor int64, currency word) {
	side := 1
	if minor < 0 {
		side = 0
	}
	sum := &t.sides[side][min(currency.exponent, maxExponent)]
	sum.Add(sum, big.NewInt(max(minor, -minor)))
}

func (t *totals) add(minor int64, currency word) {
	if t.readable == 0 {
		t.current = currency
	}
	t.readable++
	t.used |= 1 << min(currency.exponent, maxExponent)
	if currency.value != t.current.value {
		t.mixed = true
		t.flush()
		t.current = currency
	}
	sum := t.small + minor
	if (sum > t.small) != (minor > 0) && minor != 0 {
		t.flush()
		sum = minor
	}
	t.small = sum
}

func (t *totals) flush() {
	sum := &t.sums[min(t.current.exponent, maxExponent)]
	sum.Add(sum, big.NewInt(t.small))
	t.small = 0
}

// sum returns the sum of all rows in units of 10^-exponent, the largest
// exponent that occurs.
func (t *totals) sum() (total *big.Int, exponent int) {
	t.flush()
	exponent = max(bits.Len16(t.used)-1, 0)
	return scaled(&t.sums, exponent), exponent
}

// scaled adds up sums by exponent, in units of 10^-exponent.
func scaled(sums *[maxExponent + 1]big.Int, exponent int) *big.Int {
	total := new(big.Int)
	for e := range sums {
		scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(exponent-e, 0))), nil)
		total.Add(total, scale.Mul(scale, &sums[e]))
	}
	return total
}

// decimal writes a value of 10^-exponent as a decimal number.
func decimal(value *big.Int, exponent int) string {
	digits := new(big.Int).Abs(value).String()
	if exponent > 0 {
		if short := exponent + 1 - len(digits); short > 0 {
			digits = strings.Repeat("0", short) + digits
		}
		digits = digits[:len(digits)-exponent] + "." + digits[len(digits)-exponent:]
	}
	if value.Sign() < 0 {
		return "-" + digits
	}
	return digits
}
