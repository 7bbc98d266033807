package money

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// NumberFormat is how a source writes numbers. It is declared, never guessed
// from a value: 1.000 is a thousand here and one there. The zero value reads
// a dot as the decimal mark and no grouping.
type NumberFormat struct {
	// Decimal is the decimal mark; empty means ".".
	Decimal string
	// Group is the mark between groups of three digits; empty means that there
	// is none. A declared blank stands for every kind of blank that is used for
	// it (no-break, narrow, thin, figure space), a declared apostrophe for the
	// straight and the curled one.
	Group string
	// Symbols are currency signs or codes that may stand once before or after
	// the number. The first that fits is taken, so longer ones come first.
	Symbols []string
	// TrailingZeros allows more decimals than the currency has, if they are
	// zeros: 12.340000.
	TrailingZeros bool
}

// What ParseMinor finds wrong with a number. Each error that it returns wraps
// one of them and quotes the text.
var (
	ErrEmptyNumber     = errors.New("the amount is empty")
	ErrNotANumber      = errors.New("this is not a number in the declared form")
	ErrTooManyDecimals = errors.New("more decimals than the currency has")
	ErrNumberTooLarge  = errors.New("the number does not fit")
)

// Check reports what is wrong with the format itself.
func (f NumberFormat) Check() error {
	decimal := f.decimal()
	if err := checkMark("decimal", decimal); err != nil {
		return err
	}
	if blankKind(decimal) {
		return errors.New("decimal: a blank cannot be the decimal mark; use . or ,")
	}
	if f.Group == "" {
		return nil
	}
	if err := checkMark("group", f.Group); err != nil {
		return err
	}
	if f.Group == decimal {
		return fmt.Errorf("group: %q is the decimal mark too; declare decimal as well", f.Group)
	}
	return nil
}

func checkMark(name, mark string) error {
	r, size := utf8.DecodeRuneInString(mark)
	switch {
	case size != len(mark) || r == utf8.RuneError:
		return fmt.Errorf("%s: %q is not a single character", name, mark)
	case unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("+-()−", r):
		return fmt.Errorf("%s: %q cannot be told from the number itself", name, mark)
	}
	return nil
}

func (f NumberFormat) decimal() string {
	if f.Decimal == "" {
		return "."
	}
	return f.Decimal
}

// ParseMinor reads a whole text as an amount and returns it in minor units of
// a currency with that exponent. Either every character is understood or the
// text is refused. Blanks around the text are dropped. A sign is a leading
// minus (the typographic one too) or plus, a trailing one, or brackets; one of
// them, once. Fewer decimals than the exponent are fine, more are an error,
// zeros included unless they are declared: 1.000 EUR is not known to be one
// euro. Grouping is optional,
// but a number that is grouped is grouped throughout, by three.
//
// The error wraps ErrEmptyNumber, ErrNotANumber, ErrTooManyDecimals or
// ErrNumberTooLarge.
func (f NumberFormat) ParseMinor(text string, exponent int) (int64, error) {
	return parseMinor(f, text, exponent)
}

// ParseMinorBytes is ParseMinor for a text that is not a string yet.
func (f NumberFormat) ParseMinorBytes(text []byte, exponent int) (int64, error) {
	return parseMinor(f, text, exponent)
}

// parseMinor reads what nearly every cell is (an optional minus, digits, one
// mark, digits) in one pass, and leaves everything else to the thorough way.
func parseMinor[T string | []byte](f NumberFormat, text T, exponent int) (int64, error) {
	mark := byte('.')
	if len(f.Decimal) == 1 {
		mark = f.Decimal[0]
	} else if f.Decimal != "" {
		return f.parseThoroughly(string(text), exponent)
	}
	i, negative := 0, false
	if len(text) > 0 && text[0] == '-' {
		i, negative = 1, true
	}
	// 18 digits always fit; the mark is one more.
	if len(text)-i > 19 {
		return f.parseThoroughly(string(text), exponent)
	}
	var value int64
	digits, decimals := 0, -1
	for ; i < len(text); i++ {
		c := text[i]
		switch {
		case c >= '0' && c <= '9':
			value = value*10 + int64(c-'0')
			digits++
			if decimals >= 0 {
				decimals++
			}
		case c == mark && decimals < 0:
			decimals = 0
		default:
			return f.parseThoroughly(string(text), exponent)
		}
	}
	if digits == 0 || digits > 18 || decimals == 0 || max(decimals, 0) > exponent || exponent > 4 {
		return f.parseThoroughly(string(text), exponent)
	}
	for range exponent - max(decimals, 0) {
		if value > math.MaxInt64/10 {
			return 0, numberError(string(text), ErrNumberTooLarge)
		}
		value *= 10
	}
	if negative {
		value = -value
	}
	return value, nil
}

// parseThoroughly knows the whole grammar, and which error to give.
func (f NumberFormat) parseThoroughly(text string, exponent int) (int64, error) {
	body, negative, err := f.peel(text)
	if err != nil {
		return 0, numberError(text, err)
	}
	whole, fraction, marked := strings.Cut(body, f.decimal())
	if marked && fraction == "" {
		return 0, numberError(text, ErrNotANumber)
	}
	value, err := f.whole(whole)
	if err != nil {
		return 0, numberError(text, err)
	}
	for i := range len(fraction) {
		if fraction[i] < '0' || fraction[i] > '9' {
			return 0, numberError(text, ErrNotANumber)
		}
	}
	if whole == "" && fraction == "" {
		return 0, numberError(text, ErrNotANumber)
	}
	if f.TrailingZeros && len(fraction) > exponent && strings.Trim(fraction[exponent:], "0") == "" {
		fraction = fraction[:exponent]
	}
	if len(fraction) > exponent {
		return 0, numberError(text, fmt.Errorf("%w (%d)", ErrTooManyDecimals, exponent))
	}
	for i := range exponent {
		digit := uint64(0)
		if i < len(fraction) {
			digit = uint64(fraction[i] - '0')
		}
		if value, err = push(value, digit); err != nil {
			return 0, numberError(text, err)
		}
	}
	minor := int64(value) //nolint:gosec // push keeps it an int64
	if negative {
		return -minor, nil
	}
	return minor, nil
}

// peel takes blanks, one sign and one symbol off the number.
func (f NumberFormat) peel(text string) (body string, negative bool, err error) {
	body = strings.TrimFunc(text, isBlank)
	if body == "" {
		return "", false, ErrEmptyNumber
	}
	signed, symbol := false, false
	for {
		if !symbol {
			if rest, ok := f.cutSymbol(body); ok {
				body, symbol = strings.TrimFunc(rest, isBlank), true
				continue
			}
		}
		if signed {
			return body, negative, nil
		}
		rest, sign := cutSign(body)
		if sign == 0 {
			return body, negative, nil
		}
		body, signed, negative = rest, true, sign < 0
	}
}

// Symbol returns the declared currency sign or code that stands in a number,
// where ParseMinor would drop it; empty if there is none.
func (f NumberFormat) Symbol(text string) string {
	body := strings.TrimFunc(text, isBlank)
	for range 2 { // the sign stands outside of the symbol, or inside
		for _, symbol := range f.Symbols {
			if symbol != "" && (strings.HasPrefix(body, symbol) || strings.HasSuffix(body, symbol)) {
				return symbol
			}
		}
		rest, sign := cutSign(body)
		if sign == 0 {
			return ""
		}
		body = strings.TrimFunc(rest, isBlank)
	}
	return ""
}

// cutSymbol takes one declared currency sign or code off either end.
func (f NumberFormat) cutSymbol(text string) (string, bool) {
	for _, symbol := range f.Symbols {
		if symbol == "" {
			continue
		}
		if rest, ok := strings.CutPrefix(text, symbol); ok {
			return rest, true
		}
		if rest, ok := strings.CutSuffix(text, symbol); ok {
			return rest, true
		}
	}
	return text, false
}

// cutSign takes one sign off: +1, -1, or 0 if there is none.
func cutSign(text string) (string, int) {
	for _, minus := range [...]string{"-", "−"} {
		if rest, ok := strings.CutPrefix(text, minus); ok {
			return rest, -1
		}
		if rest, ok := strings.CutSuffix(text, minus); ok {
			return rest, -1
		}
	}
	if rest, ok := strings.CutPrefix(text, "+"); ok {
		return rest, 1
	}
	if rest, ok := strings.CutSuffix(text, "+"); ok {
		return rest, 1
	}
	if len(text) >= 2 && text[0] == '(' && text[len(text)-1] == ')' {
		return text[1 : len(text)-1], -1
	}
	return text, 0
}

// whole reads the digits before the decimal mark, grouped or not.
func (f NumberFormat) whole(text string) (uint64, error) {
	var value uint64
	var err error
	run, groups := 0, 0
	for _, r := range text {
		switch {
		case r >= '0' && r <= '9':
			if value, err = push(value, uint64(r-'0')); err != nil {
				return 0, err
			}
			run++
		case f.isGroup(r):
			// The first group has one to three digits and no leading zero (a
			// grouped 0.123 is a decimal under the wrong format), the others three.
			first := groups == 0
			if first && (run < 1 || run > 3 || text[0] == '0') || !first && run != 3 {
				return 0, ErrNotANumber
			}
			run = 0
			groups++
		default:
			return 0, ErrNotANumber
		}
	}
	if groups > 0 && run != 3 {
		return 0, ErrNotANumber
	}
	return value, nil
}

func (f NumberFormat) isGroup(r rune) bool {
	if f.Group == "" {
		return false
	}
	declared, _ := utf8.DecodeRuneInString(f.Group)
	switch {
	case r == declared:
		return true
	case isBlank(declared):
		return isBlank(r) && r != '\t'
	case declared == '\'' || declared == '’':
		return r == '\'' || r == '’'
	}
	return false
}

// push appends a digit to a value that has to stay an int64.
func push(value, digit uint64) (uint64, error) {
	if value > (math.MaxInt64-digit)/10 {
		return 0, ErrNumberTooLarge
	}
	return value*10 + digit, nil
}

// isBlank names the blanks that stand around or inside printed numbers.
func isBlank(r rune) bool {
	switch r {
	case ' ', '\t', '\u00a0', '\u2007', '\u2008', '\u2009', '\u202f':
		return true
	}
	return false
}

func blankKind(mark string) bool {
	r, _ := utf8.DecodeRuneInString(mark)
	return isBlank(r)
}

func numberError(text string, cause error) error {
	if errors.Is(cause, ErrEmptyNumber) {
		return cause
	}
	return fmt.Errorf("read amount %q: %w", clip(text), cause)
}
