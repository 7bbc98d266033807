package reports

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible returns s with everything that a reader could not see, or that
// would change how the rest is read, as an escape: control characters (\t,
// \n, \r, \u0001), marks of text direction and width (\u202E), line
// separators, and bytes that are no UTF-8 (\xED). Joiners that scripts and
// emoji need stay. Text from a provider is shown in no other way.
func Visible(s string) string {
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02X`, s[i])
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case hidden(r) && r != utf8.RuneError && r > 0xFFFF:
			fmt.Fprintf(&b, `\U%08X`, r)
		case hidden(r) && r != utf8.RuneError:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// hidden reports whether r needs a closer look by Visible. RuneError is among
// them because it also stands for a broken byte.
func hidden(r rune) bool {
	const nonJoiner, joiner = '\u200C', '\u200D'
	switch {
	case r < 0x7F:
		return r < ' '
	case r == nonJoiner || r == joiner:
		return false
	case r == utf8.RuneError || r&0xFFFE == 0xFFFE: // U+xxFFFE and U+xxFFFF are no characters
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// guard is the mark that keeps a spreadsheet from running text as a formula.
const guard = "'"

// GuardFormula returns s so that no spreadsheet runs it, or a part of it, as
// a formula: text whose first sign after blanks and quotes is one of = + - @
// or its full-width form gets an apostrophe in front. So does every part
// after a semicolon, because a spreadsheet whose country separates lists by
// semicolons splits a comma file there. [UnguardFormula] takes the marks away.
func GuardFormula(s string) string {
	return eachPart(s, func(part string) string {
		if startsFormula(part) {
			return guard + part
		}
		return part
	})
}

// UnguardFormula is the inverse of [GuardFormula].
func UnguardFormula(s string) string {
	return eachPart(s, func(part string) string {
		if rest, marked := strings.CutPrefix(part, guard); marked && startsFormula(rest) {
			return rest
		}
		return part
	})
}

// eachPart applies f to the parts of s between semicolons.
func eachPart(s string, f func(string) string) string {
	if !strings.Contains(s, ";") {
		return f(s)
	}
	parts := strings.Split(s, ";")
	for i, part := range parts {
		parts[i] = f(part)
	}
	return strings.Join(parts, ";")
}

// startsFormula reports whether a spreadsheet could take s for a formula.
// Apostrophes count as blanks, so that guarding can be undone without doubt.
func startsFormula(s string) bool {
	s = strings.TrimLeftFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || r == '"' || r == '\''
	})
	r, _ := utf8.DecodeRuneInString(s)
	return strings.ContainsRune("=+-@＝＋－＠", r) && s != ""
}

// cut returns s with at most limit UTF-16 units (the unit in which
// spreadsheets count), ending in a visible mark that tells the full length
// where something was cut. limit must leave room for the mark (40 units).
func cut(s string, limit int) string {
	if len(s) <= limit { // bytes are never fewer than units
		return s
	}
	total := utf16Len(s)
	if total <= limit {
		return s
	}
	mark := fmt.Sprintf(" … [cut, %d characters in all]", total)
	keep := limit - utf16Len(mark)
	n := 0
	for i, r := range s {
		n += utf16Units(r)
		if n > keep {
			return s[:i] + mark
		}
	}
	return s
}

func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n += utf16Units(r)
	}
	return n
}

func utf16Units(r rune) int {
	if r > 0xFFFF {
		return 2
	}
	return 1
}
