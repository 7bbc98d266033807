// Package money is integer money: minor units with an ISO 4217 currency whose
// exponent says how many digits stand behind the mark (JPY 0, USD 2, KWD 3).
// No float is on any way in or out.
package money

// Decimal is an exact decimal number: Unscaled / 10^Scale.
type Decimal struct {
	Unscaled int64
	Scale    int
}

// Tolerance is how far an amount may be off and still agree: the larger of an
// absolute part in major units and a percentage of the expected amount. The
// zero value tolerates nothing.
type Tolerance struct {
	Absolute Decimal
	Percent  Decimal
}
