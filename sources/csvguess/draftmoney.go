package csvguess

import (
	"fmt"
	"strings"
	"unicode"

	"reconciler/money"
)

func (d *draft) money() {
	amount, debit, credit := d.cast[roleAmount], d.cast[roleDebit], d.cast[roleCredit]
	switch {
	case debit != nil:
		sides := func(c *Column) string {
			if c.Numbers != nil && c.Numbers.Negative > 0 && c.Numbers.Positive == 0 {
				return fmt.Sprintf("{column: %s, sign: minus}", d.column(c))
			}
			return fmt.Sprintf("{column: %s}", d.column(c))
		}
		amount = debit
		if debit.Filled == 0 {
			amount = credit
		}
		d.numbers(amount)
		d.add(3, "amount: {debit: %s, credit: %s%s}   # BY NAME: which of the two takes money from the account", sides(debit), sides(credit), numberKeys(debit.Numbers, credit.Numbers))
	case amount != nil:
		d.numbers(amount)
		d.add(3, "amount: {column: %s%s%s}", d.column(amount), numberKeys(amount.Numbers), d.signs(amount))
	default:
		d.add(3, "# NOT KNOWN: no column looks like an amount; without one no financial operation is ever confirmed.")
		for i := range d.look.Columns {
			if c := &d.look.Columns[i]; c.Dashes > 0 && numbersOf(c.withoutDashes()) != nil && roleAmount.points(c.Name) > 0 {
				d.add(3, "# %s has numbers, and a dash for nothing in %s: such a cell can't be read as empty.", show(c.Name), rowsOf(c.Dashes))
			}
		}
		return
	}
	d.currency(amount)
	if debit == nil {
		d.direction(amount)
	}
	d.fees(amount)
}

// numberKeys are the keys that say how numbers are written.
func numberKeys(all ...*Numbers) string {
	decimal, group, out := "", "", ""
	for _, n := range all {
		if n == nil {
			continue
		}
		if n.Decimal != "" {
			decimal = n.Decimal
		}
		if n.Group != "" {
			group = n.Group
		}
	}
	if decimal == "," {
		out += `, decimal: ","`
	}
	if group != "" {
		out += ", group: " + show(group)
	}
	return out
}

// signs are the keys for currency signs and marks in the cell.
func (d *draft) signs(c *Column) string {
	out := ""
	if len(c.Numbers.Symbols) > 0 {
		var pairs []string
		for _, symbol := range c.Numbers.Symbols {
			pairs = append(pairs, show(symbol)+": "+symbolCurrency(symbol))
		}
		out += ", symbols: {" + strings.Join(pairs, ", ") + "}"
	}
	if len(c.Numbers.Marks) > 0 {
		var pairs []string
		for _, mark := range c.Numbers.Marks {
			pairs = append(pairs, show(mark)+": "+directionWord(mark))
		}
		out += ", marks: {" + strings.Join(pairs, ", ") + "}"
	}
	return out
}

// symbolCurrency is the currency that a sign most often stands for.
func symbolCurrency(symbol string) string {
	if _, ok := money.Exponent(strings.ToUpper(symbol)); ok {
		return strings.ToUpper(symbol)
	}
	switch symbol {
	case "€":
		return "EUR"
	case "£":
		return "GBP"
	case "¥", "￥", "元":
		return "CNY"
	case "₽":
		return "RUB"
	case "₹":
		return "INR"
	case "zł":
		return "PLN"
	case "Kč":
		return "CZK"
	case "kr":
		return "SEK"
	}
	return "USD"
}

// numbers says what the numbers of a column leave open.
func (d *draft) numbers(c *Column) {
	n := c.Numbers
	if n.Unclear {
		d.add(3, "# NOT KNOWN: whether %s in %s stands before decimals or between thousands.", show(n.Decimal), show(c.First))
	}
	if n.Decimal == "" && n.Group == "" {
		d.add(3, "# ASSUMED: major units. No number in %s has decimals, so it may count the smallest", show(c.Name))
		d.add(3, "# unit instead (unit: minor).")
	}
	if len(n.Symbols) > 0 {
		d.add(3, "# BY NAME: what the signs %s stand for; a dollar or a yen sign has many owners.", strings.Join(n.Symbols, " "))
	}
	for i := range d.look.Columns {
		if other := &d.look.Columns[i]; other != c && roleAmount.points(other.Name) > 0 && roleAmount.fits(other) && d.cast[roleDebit] == nil {
			d.add(3, "# Another column of amounts: %s, as %s.", show(other.Name), show(other.First))
		}
	}
}

func (d *draft) currency(amount *Column) {
	c := d.cast[roleCurrency]
	switch {
	case c != nil:
		_, lower := c.currencies()
		key := ""
		if lower {
			key = ", any_case: true"
		}
		note := "seen: " + counted(c.Words, 6)
		if c.Empty > 0 {
			note += fmt.Sprintf("; empty in %d rows, which are rejected", c.Empty)
		}
		d.add(3, "currency: {column: %s%s}   # %s", d.column(c), key, note)
	case len(amount.Numbers.Symbols) > 0:
	case codeIn(amount.Name) != "":
		d.add(3, "currency: {value: %s}   # BY NAME: the column %s", codeIn(amount.Name), show(amount.Name))
	default:
		d.add(3, "# NOT KNOWN: the currency; no column has codes of one.")
		d.add(3, "# currency: {value: EUR}")
	}
}

// codeIn finds a code of a currency in a name: "Amount (EUR)".
func codeIn(name string) string {
	for _, word := range strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) }) {
		switch strings.ToLower(word) {
		case "yen":
			return "JPY"
		case "元":
			return "CNY"
		}
		if _, ok := money.Exponent(word); ok && len(word) == 3 {
			return word
		}
	}
	return ""
}

func (d *draft) direction(amount *Column) {
	n := amount.Numbers
	signs := fmt.Sprintf("%d rows are negative, %d are not", n.Negative, n.Positive)
	if len(n.Marks) > 0 {
		return
	}
	if c := d.cast[roleDirection]; c != nil && n.Negative == 0 {
		var known, unknown []string
		for _, w := range c.Words {
			if to := directionWord(w.Text); to != "" {
				known = append(known, show(w.Text)+": "+to)
			} else {
				unknown = append(unknown, fmt.Sprintf("%s (%d)", show(w.Text), w.Rows))
			}
		}
		d.add(3, "# BY NAME: debit takes money from the account; %s.", signs)
		if len(unknown) > 0 {
			d.add(3, "# NOT KNOWN, and rejected as it stands: %s", strings.Join(unknown, ", "))
		}
		d.add(3, "direction: {column: %s, map: {%s}}", d.column(c), strings.Join(known, ", "))
		return
	}
	if n.Negative > 0 {
		d.add(3, "# ASSUMED: the sign is that of the account (%s).", signs)
		if c := d.cast[roleDirection]; c != nil {
			d.add(3, "# %s says something too: %s.", show(c.Name), counted(c.Words, 4))
		}
		d.add(3, `direction: {column: %s, map: {"-": debit, "+": credit}}`, d.column(amount))
		return
	}
	d.add(3, "# NOT KNOWN: which way the money goes; %s. In a list of sales it comes in:", signs)
	d.add(3, "# direction: {value: credit}")
}

func (d *draft) fees(amount *Column) {
	fee, net := d.cast[roleFee], d.cast[roleNet]
	if fee == nil {
		return
	}
	for i := range d.look.Columns {
		if other := &d.look.Columns[i]; other != d.cast[roleCurrency] && roleCurrency.fits(other) {
			d.add(3, "# NOT KNOWN: the currency of the fee; %s may be it. A fee in another currency than the", show(other.Name))
			d.add(3, "# amount's must not be mapped.")
			d.add(3, "# fee: {column: %s%s}", d.column(fee), numberKeys(fee.Numbers))
			return
		}
	}
	d.add(3, "fee: {column: %s%s}   # BY NAME", d.column(fee), numberKeys(fee.Numbers))
	if net == nil || net == amount {
		return
	}
	switch plus, minus := d.netHolds(amount, fee, net); {
	case plus:
		d.add(3, "net: {column: %s%s}   # amount + fee = net holds in every row", d.column(net), numberKeys(net.Numbers))
	case minus:
		d.add(3, `net: {column: %s%s, equals: "amount - fee"}   # it holds in every row`, d.column(net), numberKeys(net.Numbers))
	default:
		d.add(3, "# %s is neither amount + fee nor amount - fee in every row, so it is not mapped.", show(net.Name))
	}
}

// netHolds compares the three columns in every row in which all are filled.
func (d *draft) netHolds(amount, fee, net *Column) (plus, minus bool) {
	plus, minus = true, true
	compared := 0
	for _, row := range d.look.body {
		a, okA := minor(row, amount)
		f, okF := minor(row, fee)
		n, okN := minor(row, net)
		if !okA || !okF || !okN {
			continue
		}
		compared++
		plus, minus = plus && a+f == n, minus && a-f == n
	}
	return plus && compared > 0, minus && compared > 0
}

// comparedDecimals is the scale in which numbers are compared.
const comparedDecimals = 4

// minor reads a cell in units of 10^-comparedDecimals.
func minor(row []string, c *Column) (int64, bool) {
	cell := strings.TrimSpace(row[c.Number-1])
	if cell == "" || c.Numbers == nil {
		return 0, false
	}
	v, err := c.Numbers.format().ParseMinor(cell, comparedDecimals)
	return v, err == nil
}
