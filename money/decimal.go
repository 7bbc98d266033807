package money

import (
	"fmt"
	"math"
)

// Decimal is an exact decimal number: Unscaled / 10^Scale. The scale is never
// negative, and is kept as written: "1.50" stays "1.50".
type Decimal struct {
	Unscaled int64
	Scale    int
}

// maxScale is the number of decimals that an int64 can hold at most.
const maxScale = 18

// ParseDecimal reads a plain decimal ("12", "-0.010"): an optional minus,
// digits, and optionally a dot with digits. Anything else is an error: blanks,
// grouping, exponents, more than 18 decimals, a value that does not fit.
func ParseDecimal(text string) (Decimal, error) {
	rest, negative := text, false
	if rest != "" && rest[0] == '-' {
		rest, negative = rest[1:], true
	}
	var d Decimal
	dot := -1
	var value uint64
	for i := range len(rest) {
		c := rest[i]
		if c == '.' && dot < 0 && i > 0 {
			dot = i
			continue
		}
		if c < '0' || c > '9' {
			return Decimal{}, fmt.Errorf("read decimal %q: write digits with a dot, as 12.50", clip(text))
		}
		digit := uint64(c - '0')
		if value > (math.MaxInt64-digit)/10 {
			return Decimal{}, fmt.Errorf("read decimal %q: the number is too large", clip(text))
		}
		value = value*10 + digit
	}
	if dot >= 0 {
		d.Scale = len(rest) - dot - 1
	}
	switch {
	case rest == "", dot >= 0 && d.Scale == 0:
		return Decimal{}, fmt.Errorf("read decimal %q: write digits with a dot, as 12.50", clip(text))
	case d.Scale > maxScale:
		return Decimal{}, fmt.Errorf("read decimal %q: more than %d decimals", clip(text), maxScale)
	}
	d.Unscaled = int64(value) // ≤ MaxInt64, checked digit by digit
	if negative {
		d.Unscaled = -d.Unscaled
	}
	return d, nil
}

// String writes the number with as many decimals as it was read with.
func (d Decimal) String() string {
	return string(appendScaled(make([]byte, 0, 24), d.Unscaled, d.Scale))
}

// MarshalText writes the number as String does.
func (d Decimal) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads the number as ParseDecimal does.
func (d *Decimal) UnmarshalText(text []byte) error {
	parsed, err := ParseDecimal(string(text))
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}

// clip bounds what an error message quotes of a value.
func clip(text string) string {
	const most = 60
	if len(text) <= most {
		return text
	}
	cut := most
	for cut > 0 && text[cut]&0xC0 == 0x80 {
		cut--
	}
	return text[:cut] + "…"
}
