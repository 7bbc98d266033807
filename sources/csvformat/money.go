package csvformat

import (
	"errors"
	"fmt"
	"strings"

	"reconciler/money"
	"reconciler/sources"
)

func (r *reader) readMoney(cells [][]byte, rec *sources.Record) error {
	p := &r.format.plan
	f := &p.fields[fieldAmount]
	if f.spec == nil && p.fields[fieldCurrency].spec == nil {
		return nil
	}
	currency, err := r.readCurrency(cells, rec)
	if err != nil {
		r.totals.unreadable++
		return err
	}
	rec.Currency = currency.value
	r.rowCurrency = currency
	if f.spec == nil {
		return nil
	}
	var minor int64
	if f.amount.plain && currency.written == currency.exponent {
		minor, err = f.amount.number.ParseMinorBytes(r.cell(cells, fieldAmount), currency.exponent)
	} else {
		minor, rec.Direction, err = r.value(cells, fieldAmount, currency)
	}
	if err != nil {
		r.totals.unreadable++
		return r.reject(rec, fieldAmount, amountReason(err, currency.value))
	}
	r.totals.add(minor, currency)
	if r.debitColumn != noColumn || r.creditColumn != noColumn {
		r.totals.addSide(minor, currency)
	}
	rec.HasAmount = true
	rec.AmountMinor = max(minor, -minor)
	if !p.directed {
		if err := r.readSign(rec, minor); err != nil {
			return err
		}
	}
	return r.readFee(cells, rec, currency, minor)
}

func amountReason(err error, currency string) string {
	if errors.Is(err, money.ErrTooManyDecimals) || errors.Is(err, errUneven) {
		return fmt.Sprintf("%v for %s", err, currency)
	}
	return err.Error()
}

// readSign judges the sign of the amount. It is the direction only where the
// mapping says so; nobody knows what else a negative amount means.
func (r *reader) readSign(rec *sources.Record, minor int64) error {
	p := &r.format.plan
	if p.signed {
		sign := "+"
		if minor < 0 {
			sign = "-"
		}
		direction, ok := p.fields[fieldDirection].words[sign]
		if !ok {
			return r.reject(rec, fieldDirection, fmt.Sprintf("an amount with the sign %s is not in map", sign))
		}
		rec.Direction = sources.Direction(direction.value)
		return nil
	}
	switch {
	case minor >= 0:
		return nil
	case p.fields[fieldDirection].spec == nil:
		return r.reject(rec, fieldAmount, `it is negative, and no direction is mapped; declare direction: {column: <the amount's>, map: {"-": debit, "+": credit}}`)
	}
	return r.reject(rec, fieldAmount, "it is negative, although the direction says already which way the money went")
}

// readFee reads the fee, and compares it with the net amount where one is mapped.
func (r *reader) readFee(cells [][]byte, rec *sources.Record, currency word, gross int64) error {
	f := &r.format.plan.fields[fieldFee]
	var fee int64
	switch {
	case f.spec == nil:
	case len(r.feeColumns) > 0:
		for _, at := range r.feeColumns {
			if err := r.addFee(trim(cells[at]), rec, currency, &fee); err != nil {
				return err
			}
		}
	default:
		if err := r.addFee(r.cell(cells, fieldFee), rec, currency, &fee); err != nil {
			return err
		}
	}
	rec.FeeMinor = max(fee, -fee)
	if r.format.plan.fields[fieldNet].spec == nil {
		return nil
	}
	return r.checkNet(cells, rec, currency, [2]int64{gross, fee})
}

func (r *reader) addFee(cell []byte, rec *sources.Record, currency word, fee *int64) error {
	if len(cell) == 0 {
		return nil
	}
	minor, err := r.format.plan.fields[fieldFee].amount.parsePlain(cell, currency)
	if err != nil {
		return r.reject(rec, fieldFee, amountReason(err, currency.value))
	}
	rec.HasFee = true
	*fee += minor
	return nil
}

// checkNet requires gross + fee = net, or gross - fee. An empty net states
// nothing; an empty fee is none.
func (r *reader) checkNet(cells [][]byte, rec *sources.Record, currency word, parts [2]int64) error {
	r.hasNet = false
	if !r.filled(cells, fieldNet) {
		return nil
	}
	net, _, err := r.value(cells, fieldNet, currency)
	if err != nil && !errors.Is(err, errNoSide) { // both sides are zero where nothing is left
		return r.reject(rec, fieldNet, amountReason(err, currency.value))
	}
	gross, fee := parts[0], parts[1]
	sign := "+"
	if r.format.plan.fields[fieldNet].amount.subtract {
		fee, sign = -fee, "-"
	}
	if gross+fee != net {
		return r.reject(rec, fieldNet, fmt.Sprintf("amount %s fee is %s, not the %s of the row (%s %s %s)", sign,
			inUnits(gross+fee, currency), inUnits(net, currency), inUnits(gross, currency), sign, inUnits(parts[1], currency)))
	}
	r.netMinor, r.hasNet = net, true
	return nil
}

func (r *reader) readCurrency(cells [][]byte, rec *sources.Record) (word, error) {
	f := &r.format.plan.fields[fieldCurrency]
	if r.format.plan.fields[fieldAmount].amount.symbols != nil {
		return r.symbolCurrency(cells, rec)
	}
	if !f.mapped() {
		return f.constant, nil
	}
	// Nearly every row has the currency of the one before.
	if f.words == nil && r.currency.value != "" && string(r.cell(cells, fieldCurrency)) == r.currency.raw {
		return r.currency, nil
	}
	return r.currencyColumn(cells, rec)
}

// symbolCurrency reads the currency from the sign in the amount's cell, and
// compares it with that of the row, if the row has another word on it.
func (r *reader) symbolCurrency(cells [][]byte, rec *sources.Record) (word, error) {
	w, symbol, ok := r.symbolOf(cells)
	f := &r.format.plan.fields[fieldCurrency]
	switch {
	case !ok && f.spec == nil:
		return word{}, r.reject(rec, fieldAmount, "it has no currency sign, and symbols has no entry for that")
	case f.spec == nil:
		return w, nil
	}
	said, err := f.constant, error(nil)
	if f.mapped() {
		if said, err = r.currencyColumn(cells, rec); err != nil {
			return word{}, err
		}
	}
	if ok && symbol != "" && w.value != said.value {
		return word{}, r.reject(rec, fieldAmount, fmt.Sprintf("the sign %s stands for %s, but the currency is %s", quote(symbol), w.value, said.value))
	}
	return said, nil
}

func (r *reader) currencyColumn(cells [][]byte, rec *sources.Record) (word, error) {
	f := &r.format.plan.fields[fieldCurrency]
	cell := r.cell(cells, fieldCurrency)
	if f.words != nil {
		w, ok := f.find(cell)
		if !ok {
			return word{}, r.unknownWord(rec, fieldCurrency, cell)
		}
		return w, nil
	}
	code := string(cell)
	if f.anyCase {
		code = strings.ToUpper(code)
	}
	if code == "" {
		return word{}, r.reject(rec, fieldCurrency, "it is empty")
	}
	w, err := currencyWord(code, f.spec.Exponents)
	if err != nil {
		return word{}, r.reject(rec, fieldCurrency, quote(string(cell))+" is not an ISO 4217 currency; if it is the provider's word for one, declare a map")
	}
	w.raw = string(cell)
	r.currency = w
	return w, nil
}
