// Package money is integer money: minor units with an ISO 4217 currency whose
// exponent says how many digits stand behind the mark (JPY 0, USD 2, KWD 3).
// No float is on any way in or out.
package money

import (
	"math/big"
	"strconv"

	"github.com/bojanz/currency"
)

// Exponent returns how many digits of minor units a currency has. The code is
// matched exactly, in upper case. Codes that ISO 4217 has withdrawn stay known:
// old statements still bear them.
func Exponent(code string) (int, bool) {
	if digits, ok := currency.GetDigits(code); ok {
		return int(digits), true
	}
	switch code {
	case "BYR", "ESP", "ITL", "MGF", "PTE", "TRL":
		return 0, true
	case "ANG", "ATS", "AZM", "BEF", "BGN", "CHE", "CUC", "CYP", "DEM", "EEK", "FIM", "FRF",
		"GHC", "GRD", "HRK", "IEP", "LTL", "LUF", "LVL", "MRO", "MTL", "MZM", "NLG", "ROL",
		"SDD", "SIT", "SKK", "SLL", "STD", "SVC", "TMM", "VEB", "VEF", "XEU", "ZMK", "ZWD",
		"ZWL", "ZWN", "ZWR":
		return 2, true
	}
	return 0, false
}

// FormatMinor writes an amount in major units, with exactly the digits of its
// currency and a leading minus: FormatMinor(-5, "EUR") is "-0.05". The code is
// not part of the text. Where the currency is unknown, so is the place of the
// mark, and the text says so: "1234 (minor units)".
func FormatMinor(minor int64, code string) string {
	exponent, ok := Exponent(code)
	if !ok {
		return strconv.FormatInt(minor, 10) + " (minor units)"
	}
	return string(appendScaled(make([]byte, 0, 24), minor, exponent))
}

// appendScaled writes unscaled / 10^scale with exactly scale digits behind the dot.
func appendScaled(dst []byte, unscaled int64, scale int) []byte {
	var digits [20]byte
	magnitude := magnitudeOf(unscaled)
	text := strconv.AppendUint(digits[:0], magnitude, 10)
	if unscaled < 0 {
		dst = append(dst, '-')
	}
	if scale <= 0 {
		return append(dst, text...)
	}
	if len(text) <= scale {
		dst = append(dst, '0', '.')
		for range scale - len(text) {
			dst = append(dst, '0')
		}
		return append(dst, text...)
	}
	whole := len(text) - scale
	dst = append(dst, text[:whole]...)
	dst = append(dst, '.')
	return append(dst, text[whole:]...)
}

// magnitudeOf is the absolute value; unlike a negation it is right for the smallest int64.
func magnitudeOf(v int64) uint64 {
	if v < 0 {
		return uint64(-(v + 1)) + 1 //nolint:gosec // -(v+1) is not negative
	}
	return uint64(v)
}

// Tolerance is how far an amount may be off and still agree: the larger of an
// absolute part in major units and a percentage of the expected amount. The
// zero value tolerates nothing.
type Tolerance struct {
	Absolute Decimal
	Percent  Decimal
}

// IsZero reports that only equal amounts agree.
func (t Tolerance) IsZero() bool { return t.Absolute.Unscaled <= 0 && t.Percent.Unscaled <= 0 }

// Allows reports whether the actual amount agrees with the expected one, both
// in minor units of the currency. The arithmetic is exact; the border itself
// is allowed. Of an unknown currency the absolute part allows nothing, for
// nobody knows what a major unit is.
func (t Tolerance) Allows(expectedMinor, actualMinor int64, code string) bool {
	if expectedMinor == actualMinor {
		return true
	}
	if t.IsZero() {
		return false
	}
	off := new(big.Int).Sub(big.NewInt(expectedMinor), big.NewInt(actualMinor))
	off.Abs(off)
	if exponent, ok := Exponent(code); ok && t.Absolute.Unscaled > 0 {
		// off/10^exponent <= unscaled/10^scale
		left := new(big.Int).Mul(off, pow10(t.Absolute.Scale))
		right := new(big.Int).Mul(big.NewInt(t.Absolute.Unscaled), pow10(exponent))
		if left.Cmp(right) <= 0 {
			return true
		}
	}
	if t.Percent.Unscaled <= 0 {
		return false
	}
	// off <= |expected| * unscaled/10^scale / 100
	left := new(big.Int).Mul(off, pow10(t.Percent.Scale+2))
	right := new(big.Int).Abs(big.NewInt(expectedMinor))
	right.Mul(right, big.NewInt(t.Percent.Unscaled))
	return left.Cmp(right) <= 0
}

func pow10(n int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}
