package csvformat

import (
	"errors"
	"fmt"
	"io"
	"math/big"
	"math/bits"

	"reconciler/money"
	"reconciler/sources"
)

// Summary implements sources.Reader.
func (r *reader) Summary() (sources.Summary, error) {
	if !errors.Is(r.ended, io.EOF) {
		if r.ended != nil {
			return sources.Summary{}, r.ended
		}
		return sources.Summary{}, errors.New("summarise statement: it was not read to its end")
	}
	s := r.summary
	s.Notes = r.notes.texts()
	rows := s.Rows
	s.Computed.Count = &rows
	total, exponent := r.totals.sum()
	if r.totals.unreadable == 0 && r.totals.readable > 0 && total.IsInt64() && bits.OnesCount16(r.totals.used) == 1 {
		sum := total.Int64()
		s.Computed.Sum = &sum
		if !r.totals.mixed {
			s.Computed.Currency = r.totals.current.value
		}
	}
	if r.sequence.line > 0 {
		first, last := r.sequence.first, r.sequence.last
		if r.format.sequence.step < 0 {
			first, last = last, first
		}
		s.Computed.First, s.Computed.Last = &first, &last
	}
	var err error
	if s.Period, err = r.documentPeriod(); err != nil {
		return sources.Summary{}, err
	}
	if s.AsOf, err = r.asOf(); err != nil {
		return sources.Summary{}, err
	}
	if err := r.proveEnd(&s, total, exponent); err != nil {
		return sources.Summary{}, err
	}
	return s, r.checkYield(&s)
}

// proveEnd asks everything that is configured to prove the end. All of it must
// agree; the first in the order of strength gives the proof its name.
func (r *reader) proveEnd(s *sources.Summary, total *big.Int, exponent int) error {
	s.EndProof = sources.EndUnproven
	if r.format.assumed {
		s.EndProof = sources.EndAssumed
	}
	for _, proof := range []struct {
		name  sources.EndProof
		check func() (bool, error)
	}{
		// The weakest first: a later one takes its place.
		{sources.EndManifest, func() (bool, error) { return r.proveManifest(s) }},
		{sources.EndBalance, func() (bool, error) { return r.proveBalance(s) }},
		{sources.EndDeclared, func() (bool, error) { return r.provePlaces(s, total, exponent) }},
		{sources.EndFooter, func() (bool, error) { return r.proveFooter(s, total, exponent) }},
	} {
		proven, err := proof.check()
		if err != nil {
			return err
		}
		if proven {
			s.EndProof = proof.name
		}
	}
	// What declares something that could not be compared leaves nothing assumed.
	if r.format.proves && s.EndProof == sources.EndAssumed {
		s.EndProof = sources.EndUnproven
	}
	cut := r.lastRow > 0 && r.scan.last != '\n'
	whole := s.EndProof == sources.EndAssumed || s.EndProof == sources.EndManifest && r.format.manifest.Whole()
	if cut && !whole && s.EndProof != sources.EndUnproven {
		// All that was declared stood before the last line, or beside it.
		s.EndProof = sources.EndUnproven
		s.Notes = append(s.Notes, fmt.Sprintf("line %d: the last line has no end, so nothing proves that it is whole", r.lastRow))
	}
	return nil
}

// proveFooter compares the footer with what was read.
func (r *reader) proveFooter(s *sources.Summary, total *big.Int, exponent int) (bool, error) {
	if r.format.footer == nil {
		return false, nil
	}
	if r.footer == nil {
		return false, &sources.Refusal{
			Reason: fmt.Sprintf("no row matches the footer \"%s\": the file is cut short, or the provider changed it", r.format.footer.match),
			Remedy: "fetch the file again; if it has no footer any more, correct completeness",
		}
	}
	trailer := true
	proven := false
	if r.countColumn != noColumn {
		trailer, proven = false, true
		declared, err := r.footerNumber("count", r.countColumn, word{})
		if err != nil {
			return false, err
		}
		if err := compareCount(s, r.footer.line, "the footer", declared); err != nil {
			return false, err
		}
	}
	for _, sum := range []struct {
		what   string
		column int
		total  func() *big.Int
	}{
		{"sum", r.sumColumn, func() *big.Int { return total }},
		{"debit", r.debitColumn, func() *big.Int { return scaled(&r.totals.sides[0], exponent) }},
		{"credit", r.creditColumn, func() *big.Int { return scaled(&r.totals.sides[1], exponent) }},
	} {
		if sum.column == noColumn {
			continue
		}
		trailer = false
		currency := r.sumCurrency(exponent)
		declared, err := r.footerNumber(sum.what, sum.column, currency)
		if err != nil {
			return false, err
		}
		agrees, err := r.compareSum(s, sum.what, declaredSum{"the footer", r.footer.line, declared, currency.exponent}, sum.total())
		if err != nil {
			return false, err
		}
		proven = proven || agrees
	}
	return proven || trailer, nil
}

// provePlaces compares the count and the sum that stand outside of the rows.
func (r *reader) provePlaces(s *sources.Summary, total *big.Int, exponent int) (bool, error) {
	proven := false
	text, line, err := r.placeText(placeCount)
	if err != nil {
		return false, err
	}
	if text != "" {
		form := r.format.plan.fields[fieldAmount].amount.number
		declared, err := form.ParseMinor(text, 0)
		if err != nil {
			return false, r.badPlace(placeCount, line, err)
		}
		if err := compareCount(s, line, "the document", declared); err != nil {
			return false, err
		}
		proven = true
	}
	if text, line, err = r.placeText(placeSum); err != nil || text == "" {
		return proven, err
	}
	currency := r.sumCurrency(exponent)
	declared, err := r.signedCell([]byte(text), currency)
	if err != nil {
		return false, r.badPlace(placeSum, line, err)
	}
	agrees, err := r.compareSum(s, "sum", declaredSum{"the document", line, declared, currency.exponent}, total)
	return proven || agrees, err
}

// proveManifest compares the count of the file that vouches for this one.
func (r *reader) proveManifest(s *sources.Summary) (bool, error) {
	if r.format.manifest == nil {
		return false, nil
	}
	if r.vouched != nil {
		if err := compareCount(s, 0, "the manifest", *r.vouched); err != nil {
			return false, err
		}
	}
	return true, nil
}

func compareCount(s *sources.Summary, line int, who string, declared int64) error {
	s.Declared.Count = &declared
	if declared == s.Rows {
		return nil
	}
	return &sources.Refusal{
		Line:   line,
		Reason: fmt.Sprintf("%s declares %d records, the file has %d", who, declared, s.Rows),
		Remedy: "the file is cut short or was changed; fetch it again",
	}
}

// declaredSum is a sum that the document states.
type declaredSum struct {
	who      string
	line     int
	value    int64
	exponent int
}

// sumCurrency is the currency in which a declared sum is to be read.
func (r *reader) sumCurrency(exponent int) word {
	if r.totals.readable > 0 {
		if r.totals.current.exponent == exponent {
			return r.totals.current
		}
		return word{exponent: exponent, written: exponent}
	}
	// No row says what the sum is in; only zero can be right.
	if f := &r.format.plan.fields[fieldCurrency]; f.spec != nil && !f.mapped() {
		return f.constant
	}
	return word{exponent: maxExponent, written: maxExponent}
}

// compareSum compares a declared sum, unless a row is unreadable.
func (r *reader) compareSum(s *sources.Summary, what string, d declaredSum, total *big.Int) (bool, error) {
	if what == "sum" {
		s.Declared.Sum = &d.value
		s.Declared.Currency = s.Computed.Currency
	}
	if r.totals.unreadable > 0 {
		return false, nil
	}
	if total.Cmp(big.NewInt(d.value)) == 0 {
		return true, nil
	}
	off := new(big.Int).Sub(big.NewInt(d.value), total)
	if what != "sum" {
		what += " sum"
	}
	return false, &sources.Refusal{
		Line: d.line,
		Reason: fmt.Sprintf("%s declares a %s of %s, the rows come to %s; it differs by %s", d.who, what,
			decimal(big.NewInt(d.value), d.exponent), decimal(total, d.exponent), decimal(off, d.exponent)),
		Remedy: "the file is cut short or was changed; fetch it again",
	}
}

// footerNumber reads a number of the footer in the form of the amounts.
func (r *reader) footerNumber(what string, column int, currency word) (int64, error) {
	bad := func(reason string) error {
		return &sources.Refusal{
			Line: r.footer.line, Reason: fmt.Sprintf("the %s in the footer cannot be read: %s", what, reason),
			Remedy: fmt.Sprintf("the file is cut short, or completeness.footer.%s names the wrong column", what),
		}
	}
	if column >= len(r.footer.cells) {
		return 0, bad(fmt.Sprintf("it stands in column %d, the footer has %d", column+1, len(r.footer.cells)))
	}
	var value int64
	var err error
	if what == "count" {
		value, err = r.format.plan.fields[fieldAmount].amount.number.ParseMinor(r.footer.cells[column], 0)
	} else {
		value, err = r.signedCell([]byte(r.footer.cells[column]), currency)
	}
	switch {
	case errors.Is(err, money.ErrEmptyNumber):
		return 0, bad("the cell is empty")
	case err != nil:
		return 0, bad(err.Error())
	case what == "count" && value < 0:
		return 0, bad(fmt.Sprintf("%d is negative", value))
	case what == "debit" || what == "credit":
		return max(value, -value), nil
	}
	return value, nil
}

// checkYield refuses a document that says nothing at all.
func (r *reader) checkYield(s *sources.Summary) error {
	declared := s.Declared.Count != nil || s.Declared.Sum != nil || s.EndProof == sources.EndBalance || s.EndProof == sources.EndManifest && r.vouched != nil
	switch {
	case s.Rows == 0 && !declared:
		return &sources.Refusal{
			Reason: "the file has no row, and does not declare that it has none",
			Remedy: "fetch it again; if the provider sends such files on days without effects, only a declared count, sum or balance can prove it",
		}
	case s.Rows > 0 && r.foreign == s.Rows:
		return &sources.Refusal{
			Reason: fmt.Sprintf("none of the %d rows belongs to an account of this source", s.Rows),
			Remedy: "correct accounts, or the field account",
		}
	}
	return nil
}
