package reports

import (
	"math"
	"slices"
	"strings"

	"reconciler/money"
)

// decimal returns an amount as exact text in major units ("-1234.50"). ok is
// false for a currency that is not known: without its exponent there are no
// major units, and a guess would be off by a hundred.
func decimal(minor int64, currency string) (text string, ok bool) {
	if _, ok = money.Exponent(currency); !ok {
		return "", false
	}
	return money.FormatMinor(minor, currency), true
}

// amount is a sum of money as people read it.
type amount struct {
	// Number with thousands separators; Currency may be empty.
	Number, Currency string
	// Known is false where there is no amount to show.
	Known bool
}

// readable returns the amount for people. A currency without a known exponent
// shows minor units and says so.
func readable(minor int64, currency string) amount {
	if text, ok := decimal(minor, currency); ok {
		return amount{Number: grouped(text), Currency: currency, Known: true}
	}
	unit := "minor units"
	if currency != "" {
		unit = "minor units of " + Visible(currency)
	}
	return amount{Number: grouped(minorText(minor)), Currency: unit, Known: true}
}

// amountOf returns the money at risk of e, if it has any.
func amountOf(e Exception) amount {
	if !e.HasAmount {
		return amount{}
	}
	return readable(e.AmountMinor, e.Currency)
}

// ordered returns the amount that op orders, if it has one.
func (op Operation) ordered() amount {
	if !op.HasAmount {
		return amount{}
	}
	return readable(op.AmountMinor, op.Currency)
}

// grouped puts thousands separators into the whole part of a plain decimal.
func grouped(plain string) string {
	sign := ""
	if strings.HasPrefix(plain, "-") {
		sign, plain = "−", plain[1:]
	}
	whole, fraction, hasFraction := strings.Cut(plain, ".")
	var b strings.Builder
	b.WriteString(sign)
	for i, digit := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	if hasFraction {
		b.WriteByte('.')
		b.WriteString(fraction)
	}
	return b.String()
}

// total is the money at risk in one currency.
type total struct {
	Currency string
	// Minor is the sum; Over says that it does not fit and is a lower bound.
	Minor int64
	Over  bool
	Cases int
	// Largest single amount, and the part of the sum that is critical.
	Largest, Critical int64
}

// unpriced counts, by kind, the cases that have no amount: those of operations,
// whose weight nobody can tell, and those of statements and records.
type unpriced struct{ orders, others []kindCount }

func (u unpriced) count() int {
	n := 0
	for _, k := range slices.Concat(u.orders, u.others) {
		n += k.n
	}
	return n
}

// risks sums the money at risk per currency, in order of currency, and counts
// the cases that have no amount. Amounts of different currencies are never
// added.
func risks(exceptions []Exception) (totals []total, without unpriced) {
	byCurrency := map[string]*total{}
	var orders, others []Exception
	for _, e := range exceptions {
		if !e.HasAmount {
			if e.Operation != nil || e.IdempotencyKey != "" {
				orders = append(orders, e)
			} else {
				others = append(others, e)
			}
			continue
		}
		t := byCurrency[e.Currency]
		if t == nil {
			t = &total{Currency: e.Currency}
			byCurrency[e.Currency] = t
		}
		t.Cases++
		t.Largest = max(t.Largest, e.AmountMinor)
		t.add(e.AmountMinor, e.Severity)
	}
	for _, t := range byCurrency {
		totals = append(totals, *t)
	}
	slices.SortFunc(totals, func(a, b total) int { return strings.Compare(a.Currency, b.Currency) })
	return totals, unpriced{kindCounts(orders), kindCounts(others)}
}

// add adds a magnitude; a sum that would not fit stays at the largest number
// and is marked.
func (t *total) add(minor int64, severity string) {
	if minor > 0 && t.Minor > math.MaxInt64-minor {
		t.Minor, t.Over = math.MaxInt64, true
		return
	}
	t.Minor += minor
	if severity == severityCritical {
		t.Critical += minor
	}
}
