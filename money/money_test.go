package money_test

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"reconciler/money"
)

func TestExponent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		code string
		want int
		ok   bool
	}{
		{"EUR", 2, true},
		{"JPY", 0, true},
		{"ISK", 0, true},
		{"KWD", 3, true},
		{"CLF", 4, true},
		{"UYW", 4, true},
		{"XCG", 2, true},
		{"BGN", 2, true}, // withdrawn
		{"HRK", 2, true},
		{"ITL", 0, true},
		{"eur", 0, false},
		{"EUR ", 0, false},
		{"EURO", 0, false},
		{"€", 0, false},
		{"BTC", 0, false},
		{"", 0, false},
	} {
		if got, ok := money.Exponent(tt.code); got != tt.want || ok != tt.ok {
			t.Errorf("Exponent(%q) = %d, %v; want %d, %v", tt.code, got, ok, tt.want, tt.ok)
		}
	}
}

func TestFormatMinor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		minor int64
		code  string
		want  string
	}{
		{0, "EUR", "0.00"},
		{5, "EUR", "0.05"},
		{-5, "EUR", "-0.05"},
		{123456, "EUR", "1234.56"},
		{123456, "JPY", "123456"},
		{123456, "KWD", "123.456"},
		{-1, "CLF", "-0.0001"},
		{math.MinInt64, "EUR", "-92233720368547758.08"},
		{1234, "ZZZ", "1234 (minor units)"},
	} {
		if got := money.FormatMinor(tt.minor, tt.code); got != tt.want {
			t.Errorf("FormatMinor(%d, %q) = %q, want %q", tt.minor, tt.code, got, tt.want)
		}
	}
}

func TestParseDecimal(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want money.Decimal
		ok   bool
	}{
		{"0.010", money.Decimal{Unscaled: 10, Scale: 3}, true},
		{"-1.5", money.Decimal{Unscaled: -15, Scale: 1}, true},
		{"12", money.Decimal{Unscaled: 12}, true},
		{"9223372036854775807", money.Decimal{Unscaled: math.MaxInt64}, true},
		{"0.000000000000000001", money.Decimal{Unscaled: 1, Scale: 18}, true},
		{"9223372036854775808", money.Decimal{}, false},
		{"0.0000000000000000001", money.Decimal{}, false},
		{"", money.Decimal{}, false},
		{"-", money.Decimal{}, false},
		{".5", money.Decimal{}, false},
		{"5.", money.Decimal{}, false},
		{"1.2.3", money.Decimal{}, false},
		{"+1", money.Decimal{}, false},
		{"1e3", money.Decimal{}, false},
		{"1,5", money.Decimal{}, false},
		{" 1", money.Decimal{}, false},
	} {
		got, err := money.ParseDecimal(tt.text)
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("ParseDecimal(%q) = %+v, %v; want %+v, ok %v", tt.text, got, err, tt.want, tt.ok)
		}
		if tt.ok && got.String() != tt.text {
			t.Errorf("ParseDecimal(%q).String() = %q", tt.text, got.String())
		}
	}
}

func TestDecimalText(t *testing.T) {
	t.Parallel()
	var d money.Decimal
	if err := d.UnmarshalText([]byte("0.50")); err != nil {
		t.Fatal(err)
	}
	if text, err := d.MarshalText(); err != nil || string(text) != "0.50" {
		t.Errorf("MarshalText() = %q, %v; want 0.50", text, err)
	}
	if err := d.UnmarshalText([]byte("x")); err == nil {
		t.Error("UnmarshalText(x) = nil, want an error")
	}
}

func decimal(t *testing.T, text string) money.Decimal {
	t.Helper()
	d, err := money.ParseDecimal(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestToleranceAllows(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name              string
		absolute, percent string
		expected, actual  int64
		code              string
		want              bool
	}{
		{"zero, equal", "0", "0", 4242, 4242, "EUR", true},
		{"B17 one cent off, zero", "0", "0", 4242, 4241, "EUR", false},
		{"B17 one cent off, one cent", "0.01", "0", 4242, 4241, "EUR", true},
		{"B17 bank charges", "0.01", "0", 10000, 8500, "EUR", false},
		{"absolute, two cents off", "0.01", "0", 4242, 4240, "EUR", false},
		{"absolute written longer", "0.010", "0", 4242, 4243, "EUR", true},
		{"absolute below a cent", "0.009", "0", 4242, 4243, "EUR", false},
		{"absolute without minor units", "1", "0", 500, 501, "JPY", true},
		{"absolute without minor units, below", "0.99", "0", 500, 501, "JPY", false},
		{"absolute with three digits", "0.001", "0", 500, 501, "KWD", true},
		{"absolute of an unknown currency", "100", "0", 500, 501, "ZZZ", false},
		{"percent, on the border", "0", "1", 10000, 10100, "EUR", true},
		{"percent, behind the border", "0", "1", 10000, 10101, "EUR", false},
		{"percent of the expected, not of the actual", "0", "1", 10000, 9899, "EUR", false},
		{"percent of a negative amount", "0", "1", -10000, -10100, "EUR", true},
		{"percent of an unknown currency", "0", "1", 10000, 10100, "ZZZ", true},
		{"half a percent", "0", "0.5", 10000, 9950, "EUR", true},
		{"the larger of both: percent", "0.01", "1", 10000, 10100, "EUR", true},
		{"the larger of both: absolute", "2.00", "1", 10000, 10200, "EUR", true},
		{"not their sum", "0.60", "0.5", 10000, 10110, "EUR", false},
		{"negative allows nothing", "-1", "-1", 10000, 10001, "EUR", false},
		{"extremes do not overflow", "0.01", "1", math.MaxInt64, math.MinInt64, "EUR", false},
		{"everything", "0", "200", math.MaxInt64, -math.MaxInt64, "EUR", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tolerance := money.Tolerance{Absolute: decimal(t, tt.absolute), Percent: decimal(t, tt.percent)}
			if got := tolerance.Allows(tt.expected, tt.actual, tt.code); got != tt.want {
				t.Errorf("Allows(%d, %d, %s) under %s or %s%% = %v, want %v",
					tt.expected, tt.actual, tt.code, tt.absolute, tt.percent, got, tt.want)
			}
		})
	}
}

// TestToleranceAgainstRationals: the integer arithmetic agrees with fractions.
func TestToleranceAgainstRationals(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		drawDecimal := func(name string) money.Decimal {
			return money.Decimal{
				Unscaled: rapid.Int64Range(0, 1_000_000).Draw(t, name),
				Scale:    rapid.IntRange(0, 18).Draw(t, name+" scale"),
			}
		}
		tolerance := money.Tolerance{Absolute: drawDecimal("absolute"), Percent: drawDecimal("percent")}
		expected := rapid.Int64Range(-1_000_000, 1_000_000).Draw(t, "expected")
		actual := expected + rapid.Int64Range(-20_000, 20_000).Draw(t, "off")
		code := rapid.SampledFrom([]string{"JPY", "EUR", "KWD"}).Draw(t, "code")
		exponent, _ := money.Exponent(code)
		ten := func(n int) *big.Rat {
			return new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil))
		}
		rat := func(d money.Decimal) *big.Rat {
			return new(big.Rat).Quo(new(big.Rat).SetInt64(d.Unscaled), ten(d.Scale))
		}
		off := new(big.Rat).Abs(new(big.Rat).SetInt64(expected - actual))
		absolute := new(big.Rat).Mul(rat(tolerance.Absolute), ten(exponent))
		percent := new(big.Rat).Mul(rat(tolerance.Percent), new(big.Rat).Abs(big.NewRat(expected, 100)))
		want := off.Cmp(absolute) <= 0 || off.Cmp(percent) <= 0
		if got := tolerance.Allows(expected, actual, code); got != want {
			t.Fatalf("Allows(%d, %d, %s) under %+v = %v, want %v", expected, actual, code, tolerance, got, want)
		}
	})
}
