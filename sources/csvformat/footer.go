package csvformat

import (
	"errors"
	"fmt"
	"io"
	"math/big"
	"math/bits"
	"strings"

	"reconciler/money"
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

// isFooter reports whether the first cell says that this row is the footer.
func (r *reader) isFooter(cells [][]byte) bool {
	rule := r.format.footer
	return rule != nil && rule.match.Match(trim(cells[0]))
}

func (r *reader) afterFooter(line int) error {
	return &sources.Refusal{
		Line: line, Reason: fmt.Sprintf("rows go on behind the footer of line %d", r.footer.line),
		Remedy: fmt.Sprintf("if line %d is a data row, make completeness.footer.match %q stricter", r.footer.line, r.format.footer.match),
	}
}

// maxExponent is the most digits that a currency has (CLF, UYW).
const maxExponent = 4

// totals are the control totals that the rows themselves give.
type totals struct {
	// sums of the amounts by the exponent of their currency, signed as written.
	sums [maxExponent + 1]big.Int
	// small collects amounts until they could overflow; its exponent is current.
	small    int64
	current  word
	mixed    bool  // more than one currency
	used     uint8 // the exponents that occur, as bits
	readable int64
	// unreadable counts rows whose amount is not known.
	unreadable int64
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
	total = new(big.Int)
	exponent = max(bits.Len8(t.used)-1, 0)
	for e := range t.sums {
		scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(exponent-e, 0))), nil)
		total.Add(total, scale.Mul(scale, &t.sums[e]))
	}
	return total, exponent
}

// Summary implements sources.Reader.
func (r *reader) Summary() (sources.Summary, error) {
	if !errors.Is(r.ended, io.EOF) {
		if r.ended != nil {
			return sources.Summary{}, r.ended
		}
		return sources.Summary{}, errors.New("summarise statement: it was not read to its end")
	}
	s := r.summary
	rows := s.Rows
	s.Computed.Count = &rows
	total, exponent := r.totals.sum()
	if r.totals.unreadable == 0 && r.totals.readable > 0 && total.IsInt64() && bits.OnesCount8(r.totals.used) == 1 {
		sum := total.Int64()
		s.Computed.Sum = &sum
		if !r.totals.mixed {
			s.Computed.Currency = r.totals.current.value
		}
	}
	s.EndProof = sources.EndUnproven
	if r.format.assumed {
		s.EndProof = sources.EndAssumed
	}
	if r.format.footer != nil {
		if err := r.proveEnd(&s, total, exponent); err != nil {
			return sources.Summary{}, err
		}
	}
	return s, r.checkYield(&s)
}

// proveEnd compares the footer with what was read.
func (r *reader) proveEnd(s *sources.Summary, total *big.Int, exponent int) error {
	if r.footer == nil {
		return &sources.Refusal{
			Reason: fmt.Sprintf("no row matches the footer %q: the file is cut short, or the provider changed it", r.format.footer.match),
			Remedy: "fetch the file again; if it has no footer any more, correct completeness",
		}
	}
	proven := r.countColumn == noColumn && r.sumColumn == noColumn
	if r.countColumn != noColumn {
		declared, err := r.footerNumber("count", r.countColumn, 0)
		if err != nil {
			return err
		}
		s.Declared.Count = &declared
		if declared != s.Rows {
			return &sources.Refusal{
				Line:   r.footer.line,
				Reason: fmt.Sprintf("the footer declares %d records, the file has %d", declared, s.Rows),
				Remedy: "the file is cut short or was changed; fetch it again",
			}
		}
		proven = true
	}
	if r.sumColumn != noColumn {
		compared, err := r.compareSum(s, total, exponent)
		if err != nil {
			return err
		}
		proven = proven || compared
	}
	s.EndProof = sources.EndUnproven
	if proven {
		s.EndProof = sources.EndFooter
	}
	return nil
}

// compareSum compares the declared sum, unless a row is unreadable.
func (r *reader) compareSum(s *sources.Summary, total *big.Int, exponent int) (bool, error) {
	if r.totals.readable == 0 {
		exponent = maxExponent // no row says what the sum is in; only zero can be right
		if f := &r.format.plan.fields[fieldCurrency]; !f.mapped() {
			exponent = f.constant.exponent
		}
	}
	declared, err := r.footerNumber("sum", r.sumColumn, exponent)
	if err != nil {
		return false, err
	}
	s.Declared.Sum = &declared
	s.Declared.Currency = s.Computed.Currency
	if r.totals.unreadable > 0 {
		return false, nil
	}
	if total.Cmp(big.NewInt(declared)) != 0 {
		off := new(big.Int).Sub(big.NewInt(declared), total)
		return false, &sources.Refusal{
			Line: r.footer.line,
			Reason: fmt.Sprintf("the footer declares a sum of %s, the rows come to %s; it differs by %s",
				decimal(big.NewInt(declared), exponent), decimal(total, exponent), decimal(off, exponent)),
			Remedy: "the file is cut short or was changed; fetch it again",
		}
	}
	return true, nil
}

// footerNumber reads a number of the footer in the form of the amounts.
func (r *reader) footerNumber(what string, column, exponent int) (int64, error) {
	form := r.format.plan.fields[fieldAmount].number
	bad := func(reason string) error {
		return &sources.Refusal{
			Line: r.footer.line, Reason: fmt.Sprintf("the %s in the footer cannot be read: %s", what, reason),
			Remedy: fmt.Sprintf("the file is cut short, or completeness.footer.%s names the wrong column", what),
		}
	}
	if column >= len(r.footer.cells) {
		return 0, bad(fmt.Sprintf("it stands in column %d, the footer has %d", column+1, len(r.footer.cells)))
	}
	value, err := form.ParseMinor(r.footer.cells[column], exponent)
	switch {
	case errors.Is(err, money.ErrEmptyNumber):
		return 0, bad("the cell is empty")
	case err != nil:
		return 0, bad(err.Error())
	case what == "count" && value < 0:
		return 0, bad(fmt.Sprintf("%d is negative", value))
	}
	return value, nil
}

// checkYield refuses a document that says nothing at all.
func (r *reader) checkYield(s *sources.Summary) error {
	declared := s.Declared.Count != nil || s.Declared.Sum != nil
	switch {
	case s.Rows == 0 && !declared:
		return &sources.Refusal{
			Reason: "the file has no row, and does not declare that it has none",
			Remedy: "fetch it again; if the provider sends such files on days without effects, only a footer with a count can prove it",
		}
	case s.Rows > 0 && s.Skipped == s.Rows:
		return &sources.Refusal{
			Reason: fmt.Sprintf("none of the %d rows belongs to an account of this source", s.Rows),
			Remedy: "correct accounts, or the field account",
		}
	}
	return nil
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
