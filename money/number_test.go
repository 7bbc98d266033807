package money_test

import (
	"errors"
	"math"
	"math/big"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"reconciler/money"
)

func TestParseMinor(t *testing.T) {
	t.Parallel()
	dot := money.NumberFormat{}
	english := money.NumberFormat{Group: ","}
	german := money.NumberFormat{Decimal: ",", Group: "."}
	french := money.NumberFormat{Decimal: ",", Group: " "}
	swiss := money.NumberFormat{Group: "'"}
	arabic := money.NumberFormat{Decimal: "٫", Group: "٬"}
	signed := money.NumberFormat{Group: ",", Symbols: []string{"€", "$", "EUR"}}
	germanEuro := money.NumberFormat{Decimal: ",", Group: ".", Symbols: []string{"€"}}
	for _, tt := range []struct {
		name     string
		format   money.NumberFormat
		text     string
		exponent int
		want     int64
		wantErr  error
	}{
		{"A01 grouped thousand", german, "1.000", 2, 100000, nil},
		{"A01 grouped with decimals", german, "1.111,11", 2, 111111, nil},
		{"A01 three decimals for EUR", dot, "1.000", 2, 0, money.ErrTooManyDecimals},
		{"A01 another form", dot, "1.111,11", 2, 0, money.ErrNotANumber},
		{"A02 no fraction", german, "-100", 2, -10000, nil},
		{"A02 comma", german, "-14,99", 2, -1499, nil},
		{"A02 zeros", german, "-9,00", 2, -900, nil},
		{"A02 sign of the currency", germanEuro, "1.355,90€", 2, 135590, nil},
		{"A02 sign not declared", german, "1.355,90€", 2, 0, money.ErrNotANumber},
		{"A02 not grouped", german, "5323,54", 2, 532354, nil},
		{"A03 symbol behind a blank", signed, " -110.7 €", 2, -11070, nil},
		{"A03 no decimals", signed, " -110 €", 2, -11000, nil},
		{"A03 symbol in front", signed, "€ 1.5", 2, 150, nil},
		{"A04 brackets", english, "(12.34)", 2, -1234, nil},
		{"A04 brackets behind symbol", signed, "$(12.34)", 2, -1234, nil},
		{"A04 symbol in brackets", signed, "($12.34)", 2, -1234, nil},
		{"A04 trailing minus", english, "12.34-", 2, -1234, nil},
		{"A04 trailing minus, grouped", english, "1,234.56-", 2, -123456, nil},
		{"A04 minus before symbol", signed, "-$12.34", 2, -1234, nil},
		{"A04 double negation", english, "--5.00", 2, 0, money.ErrNotANumber},
		{"A04 lone sign", english, "-", 2, 0, money.ErrNotANumber},
		{"A04 negation in brackets", english, "(-5.00)", 2, 0, money.ErrNotANumber},
		{"negated brackets", english, "-(5.00)", 2, 0, money.ErrNotANumber},
		{"minus on both sides", english, "-5.00-", 2, 0, money.ErrNotANumber},
		{"plus and trailing minus", english, "+5.00-", 2, 0, money.ErrNotANumber},
		{"two symbols", signed, "$5€", 2, 0, money.ErrNotANumber},
		{"empty brackets", english, "()", 2, 0, money.ErrNotANumber},
		{"plus", english, "+5.00", 2, 500, nil},
		{"typographic minus", french, "−5,00", 2, -500, nil},
		{"typographic minus behind", french, "5,00−", 2, -500, nil},
		{"minus and blank", english, "- 5.00", 2, 0, money.ErrNotANumber},
		{"A08 19.99", dot, "19.99", 2, 1999, nil},
		{"A08 582.42", dot, "582.42", 2, 58242, nil},
		{"A08 1.15", dot, "1.15", 2, 115, nil},
		{"A08 above 2^53", dot, "90071992547409.93", 2, 9007199254740993, nil},
		{"H02 grouped", english, "1,234", 2, 123400, nil},
		{"H02 NaN", english, "NaN", 2, 0, money.ErrNotANumber},
		{"H02 Inf", english, "Inf", 2, 0, money.ErrNotANumber},
		{"H02 exponent", english, "1e15", 2, 0, money.ErrNotANumber},
		{"H02 hexadecimal", english, "0x10p0", 2, 0, money.ErrNotANumber},
		{"H02 empty", english, "", 2, 0, money.ErrEmptyNumber},
		{"only blanks", english, " \u00a0\t", 2, 0, money.ErrEmptyNumber},
		{"padded", english, "  5.00 ", 2, 500, nil},
		{"blank inside", english, "5 .00", 2, 0, money.ErrNotANumber},
		{"group of two", english, "1,23", 2, 0, money.ErrNotANumber},
		{"group of four", english, "1,2345", 2, 0, money.ErrNotANumber},
		{"long first group", english, "1234,567", 2, 0, money.ErrNotANumber},
		{"not grouped throughout", english, "1,234567", 2, 0, money.ErrNotANumber},
		{"no first group", english, ",123", 2, 0, money.ErrNotANumber},
		{"grouped zero", english, "0,123", 2, 0, money.ErrNotANumber},
		{"group behind the mark", english, "1.234,567", 3, 0, money.ErrNotANumber},
		{"trailing group", english, "1,234,", 2, 0, money.ErrNotANumber},
		{"millions", english, "1,234,567.8", 2, 123456780, nil},
		{"no-break space", french, "1\u00a0234,50", 2, 123450, nil},
		{"narrow space", french, "1\u202f234\u2009567,50", 2, 123456750, nil},
		{"tab is no group", french, "1\t234,50", 2, 0, money.ErrNotANumber},
		{"straight apostrophe", swiss, "1'234.50", 2, 123450, nil},
		{"curled apostrophe", swiss, "1’234.50", 2, 123450, nil},
		{"marks of several bytes", arabic, "1٬234٫5", 2, 123450, nil},
		{"foreign digits", dot, "١٢", 2, 0, money.ErrNotANumber},
		{"no digit before the mark", dot, ".5", 2, 50, nil},
		{"no digit behind the mark", dot, "5.", 2, 0, money.ErrNotANumber},
		{"lone mark", dot, ".", 2, 0, money.ErrNotANumber},
		{"two marks", dot, "1.2.3", 2, 0, money.ErrNotANumber},
		{"leading zeros", dot, "007.10", 2, 710, nil},
		{"no minor units", dot, "1500", 0, 1500, nil},
		{"no minor units, decimals", dot, "1500.0", 0, 0, money.ErrTooManyDecimals},
		{"three minor units", dot, "1.234", 3, 1234, nil},
		{"four minor units", dot, "1.2345", 4, 12345, nil},
		{"more than any currency", dot, "1.23456", 6, 1234560, nil},
		{"largest", dot, "92233720368547758.07", 2, math.MaxInt64, nil},
		{"smallest", dot, "-92233720368547758.07", 2, -math.MaxInt64, nil},
		{"one too large", dot, "92233720368547758.08", 2, 0, money.ErrNumberTooLarge},
		{"too large by the exponent", dot, "999999999999999999", 2, 0, money.ErrNumberTooLarge},
		{"very long", dot, strings.Repeat("9", 100), 2, 0, money.ErrNumberTooLarge},
		{"long but small", dot, strings.Repeat("0", 40) + "1", 2, 100, nil},
		{"minus zero", dot, "-0.00", 2, 0, nil},
		{"invalid UTF-8", dot, "1\xff", 2, 0, money.ErrNotANumber},
		{"a zero byte", dot, "1\x00", 2, 0, money.ErrNotANumber},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if err := tt.format.Check(); err != nil {
				t.Fatal(err)
			}
			got, err := tt.format.ParseMinor(tt.text, tt.exponent)
			if got != tt.want || !errors.Is(err, tt.wantErr) {
				t.Errorf("ParseMinor(%q, %d) = %d, %v; want %d, %v", tt.text, tt.exponent, got, err, tt.want, tt.wantErr)
			}
			same, sameErr := tt.format.ParseMinorBytes([]byte(tt.text), tt.exponent)
			if same != got || (sameErr == nil) != (err == nil) {
				t.Errorf("ParseMinorBytes(%q) = %d, %v; ParseMinor gives %d, %v", tt.text, same, sameErr, got, err)
			}
		})
	}
}

func TestNumberFormatCheck(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		format money.NumberFormat
		want   string
	}{
		{"default", money.NumberFormat{}, ""},
		{"comma and blank", money.NumberFormat{Decimal: ",", Group: " "}, ""},
		{"the same twice", money.NumberFormat{Decimal: ",", Group: ","}, `group: "," is the decimal mark too`},
		{"the same by default", money.NumberFormat{Group: "."}, `group: "." is the decimal mark too`},
		{"two characters", money.NumberFormat{Decimal: ",."}, "decimal: \",.\" is not a single character"},
		{"a digit", money.NumberFormat{Group: "5"}, "group: \"5\" cannot be told"},
		{"a sign", money.NumberFormat{Decimal: "-"}, "decimal: \"-\" cannot be told"},
		{"a blank as mark", money.NumberFormat{Decimal: " "}, "decimal: a blank"},
		{"broken", money.NumberFormat{Group: "\xff"}, "group:"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := tt.format.Check()
			if tt.want == "" {
				if err != nil {
					t.Errorf("Check() = %v, want nil", err)
				}
				return
			}
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("Check() = %v, want %s…", err, tt.want)
			}
		})
	}
}

// reference reads an amount by a grammar and by rational numbers: slow, plain,
// and written apart from the parser that it judges.
func reference(text, decimal, group string, exponent int) (int64, bool) {
	text = strings.Trim(text, " \t\u00a0\u2007\u2008\u2009\u202f")
	digits := `[0-9]+`
	if group != "" {
		g := regexp.QuoteMeta(group)
		digits = `(?:[0-9]+|[1-9][0-9]{0,2}(?:` + g + `[0-9]{3})+)`
	}
	d := regexp.QuoteMeta(decimal)
	number := `(` + digits + `(?:` + d + `[0-9]+)?|` + d + `[0-9]+)`
	for _, form := range []struct {
		pattern string
		sign    int64
	}{
		{number, 1}, {`\+` + number, 1}, {`[-−]` + number, -1}, {number + `[-−]`, -1}, {`\(` + number + `\)`, -1},
	} {
		m := regexp.MustCompile(`^` + form.pattern + `$`).FindStringSubmatch(text)
		if m == nil {
			continue
		}
		plain := m[1]
		if group != "" {
			plain = strings.ReplaceAll(plain, group, "")
		}
		plain = strings.Replace(plain, decimal, ".", 1)
		if _, fraction, _ := strings.Cut(plain, "."); len(fraction) > exponent {
			return 0, false
		}
		value, ok := new(big.Rat).SetString(plain)
		if !ok {
			return 0, false
		}
		value.Mul(value, big.NewRat(form.sign, 1))
		value.Mul(value, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(exponent)), nil)))
		if !value.IsInt() || !value.Num().IsInt64() || value.Num().Int64() == math.MinInt64 {
			return 0, false
		}
		return value.Num().Int64(), true
	}
	return 0, false
}

func FuzzParseMinor(f *testing.F) {
	for _, text := range []string{
		"1.00", "-1,234.56", "(12)", "12-", "+5", ".5", "5.", "1.2.3", "0,123", "92233720368547758.07",
		"92233720368547758.08", "1,23", "−7", "", " 1 ", "1e5", "0x1", "NaN", "--1", "(-1)", "1\u00a0000",
	} {
		for form := range byte(3) {
			f.Add(text, byte(2), form)
		}
	}
	f.Fuzz(func(t *testing.T, text string, exponent, form byte) {
		formats := []money.NumberFormat{{}, {Group: ","}, {Decimal: ",", Group: "."}}
		format := formats[int(form)%len(formats)]
		decimal := format.Decimal
		if decimal == "" {
			decimal = "."
		}
		digits := int(exponent % 5)
		want, ok := reference(text, decimal, format.Group, digits)
		got, err := format.ParseMinor(text, digits)
		if ok != (err == nil) || got != want {
			t.Errorf("ParseMinor(%q, %d) under %+v = %d, %v; the reference says %d, %v", text, digits, format, got, err, want, ok)
		}
	})
}

// TestFormatThenParse: what is written is read back as the same amount.
func TestFormatThenParse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		minor := rapid.Int64Range(-math.MaxInt64, math.MaxInt64).Draw(t, "minor")
		code := rapid.SampledFrom([]string{"JPY", "EUR", "KWD", "CLF", "BGN"}).Draw(t, "code")
		exponent, ok := money.Exponent(code)
		if !ok {
			t.Fatalf("Exponent(%q) is not known", code)
		}
		text := money.FormatMinor(minor, code)
		got, err := money.NumberFormat{}.ParseMinor(text, exponent)
		if err != nil || got != minor {
			t.Fatalf("%d %s is written %q, and read back as %d, %v", minor, code, text, got, err)
		}
	})
}

func BenchmarkParseMinor(b *testing.B) {
	b.ReportAllocs()
	format := money.NumberFormat{Decimal: ",", Group: "."}
	for _, bb := range []struct{ name, text string }{{"plain", "-12345,67"}, {"grouped", "-12.345,67"}} {
		text := []byte(bb.text)
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if v, err := format.ParseMinorBytes(text, 2); v != -1234567 || err != nil {
					b.Fatal(v, err)
				}
			}
		})
	}
}

func TestTrailingZeros(t *testing.T) {
	t.Parallel()
	zeros := money.NumberFormat{TrailingZeros: true}
	for text, want := range map[string]int64{"12.340000": 1234, "-0.500": -50, "1.000": 100, "7": 700} {
		if got, err := zeros.ParseMinor(text, 2); err != nil || got != want {
			t.Errorf("ParseMinor(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	if _, err := zeros.ParseMinor("12.3401", 2); !errors.Is(err, money.ErrTooManyDecimals) {
		t.Errorf("ParseMinor(12.3401) = %v, want ErrTooManyDecimals", err)
	}
}

func TestSymbol(t *testing.T) {
	t.Parallel()
	f := money.NumberFormat{Symbols: []string{"US$", "EUR", "$"}}
	for text, want := range map[string]string{
		"$1": "$", "US$ 1": "US$", "1 EUR": "EUR", "-$1": "$", "($1)": "$", "$(1)": "$", " 1 $ ": "$", "1": "", "-1": "", "": "", "(-$1)": "",
	} {
		if got := f.Symbol(text); got != want {
			t.Errorf("Symbol(%q) = %q, want %q", text, got, want)
		}
	}
}
