package sources

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// UsableReference reports whether a reference can tell one operation from
// another, and if not, why. Placeholders (NOTPROVIDED, N/A, 000) and what a
// spreadsheet or a wrong encoding made of a reference (1.23E+15, #####, U+FFFD)
// match nothing. The same rule holds for our references and for theirs.
func UsableReference(s string) (usable bool, reason string) {
	if plainlyUsable(s) {
		return true, ""
	}
	var buf [maxPlaceholder]byte
	n, plain := 0, true
	letters, digits, zeros := 0, 0, 0
	for _, r := range s {
		switch {
		case r == utf8.RuneError:
			return false, "damaged: it contains a character that could not be read (U+FFFD)"
		case r >= '0' && r <= '9':
			digits++
			if r == '0' {
				zeros++
			}
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			letters++
		default:
			continue
		}
		if r < 0 || r >= utf8.RuneSelf || n == len(buf) {
			plain = false
			continue
		}
		buf[n] = upperASCII(byte(r))
		n++
	}
	switch {
	case letters == 0 && digits == 0:
		return emptyReason(s)
	case s[0] == '#' && spreadsheetError(s):
		return false, "damaged: a spreadsheet's error stands in its place"
	case letters == 0 && digits == zeros:
		return false, "a placeholder: nothing but zeros"
	case letters == 1 && scientific(s):
		return false, "damaged: a spreadsheet turned it into a number"
	case plain && placeholder(buf[:n]), !plain && len(s) <= 2*maxPlaceholder && foreignPlaceholder(s):
		return false, "a placeholder"
	}
	return true, ""
}

// plainlyUsable recognises most references at a glance: no placeholder has a
// digit other than 0, and a number that a spreadsheet made has just one letter.
func plainlyUsable(s string) bool {
	letters, telling := 0, false
	for i := range len(s) {
		switch c := s[i]; {
		case c >= utf8.RuneSelf:
			return false
		case c >= '1' && c <= '9':
			telling = true
		case upperASCII(c) >= 'A' && upperASCII(c) <= 'Z':
			letters++
		}
	}
	return telling && letters != 1 && s[0] != '#'
}

// maxPlaceholder is the length of the longest placeholder, without punctuation.
const maxPlaceholder = 24

func upperASCII(c byte) byte {
	if c >= 'a' && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}

func emptyReason(s string) (bool, string) {
	trimmed := strings.TrimSpace(s)
	switch {
	case trimmed == "":
		return false, "empty"
	case strings.Trim(trimmed, "#") == "":
		return false, "damaged: the spreadsheet's column was too narrow"
	}
	return false, "a placeholder: neither a letter nor a digit"
}

// placeholder knows the words of banks and programs for "no reference", upper
// case and without blanks and punctuation.
func placeholder(word []byte) bool {
	switch string(word) {
	case "NOTPROVIDED", "NOTPROVIDEDBYBANK", "NOTAVAILABLE", "NOTAPPLICABLE", "NOTSPECIFIED",
		"NOTGIVEN", "NOTSET", "NOTDEFINED", "NOTFOUND", "NOTKNOWN",
		"NONREF", "NOREF", "NOREFERENCE", "NOREFERENCEPROVIDED", "WITHOUTREFERENCE",
		"REFNOTPROVIDED", "REFERENCENOTPROVIDED", "NREF", "NOTREF", "NOTREFERENCED",
		"NONE", "NA", "NULL", "NIL", "NAN", "UNDEFINED", "UNKNOWN", "UNSPECIFIED", "EMPTY",
		"BLANK", "MISSING", "TBD", "NV", "KEINE", "KEINEREFERENZ", "OHNEREFERENZ", "OHNE",
		"SANSREFERENCE", "SINREFERENCIA", "SENZARIFERIMENTO", "GEENREFERENTIE", "BEZREFERENCJI",
		"X", "XX", "XXX", "XXXX", "XXXXX", "XXXXXX", "XXXXXXXX", "XXXXXXXXXX", "XXXXXXXXXXXXXXXX":
		return true
	}
	return false
}

func foreignPlaceholder(s string) bool {
	for _, word := range [...]string{"б/н", "бн", "без номера", "не указан", "не указано", "нет", "sans référence"} {
		if strings.EqualFold(strings.TrimSpace(s), word) {
			return true
		}
	}
	return false
}

// spreadsheetError knows #REF!, #NAME?, #N/A and their translations.
func spreadsheetError(s string) bool {
	last := s[len(s)-1]
	return len(s) <= 16 && (last == '!' || last == '?' || s == "#N/A" || s == "#NV" || s == "#Н/Д")
}

// scientific knows 1.23E+15 and 1,23E15. 12E5 alone is nobody's number: it
// may well be a reference, so a mark or a plus must be there.
func scientific(s string) bool {
	s = strings.TrimSpace(s)
	mantissa, exponent, ok := strings.Cut(strings.ToUpper(s), "E")
	if !ok {
		return false
	}
	mantissa = strings.TrimLeft(mantissa, "+-")
	whole, fraction, marked := strings.Cut(strings.Replace(mantissa, ",", ".", 1), ".")
	power, plus := strings.CutPrefix(exponent, "+")
	return onlyDigits(whole) && onlyDigits(power) && (marked && onlyDigits(fraction) || !marked && plus)
}

func onlyDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// Folder folds references as a source declares it, on both sides. The zero
// value and a nil one fold nothing. It is safe for concurrent use.
type Folder struct {
	fold           Fold
	prefix, suffix string
}

// cutMark ends a folded form that stands for "the provider cut it here". No
// reference of ours ends so after folding, thus a cut form equals only a cut form.
const cutMark = "…"

// NewFolder compiles a declaration; nil declares nothing.
func NewFolder(fold *Fold) (*Folder, error) {
	f := &Folder{}
	if fold == nil {
		return f, nil
	}
	if fold.Length < 0 {
		return nil, fmt.Errorf("fold.length: %d is negative; write the number of characters, or leave it out", fold.Length)
	}
	f.fold = *fold
	f.prefix, f.suffix = f.reduce(fold.Prefix), f.reduce(fold.Suffix)
	return f, nil
}

// Fold returns the reference in full, folded: case, blanks and punctuation,
// then prefix and suffix cut off. It is empty if nothing is left.
func (f *Folder) Fold(reference string) string {
	if f == nil {
		return reference
	}
	reference = f.reduce(reference)
	if f.prefix != "" {
		for strings.HasPrefix(reference, f.prefix) {
			reference = reference[len(f.prefix):]
		}
	}
	if f.suffix != "" {
		for strings.HasSuffix(reference, f.suffix) {
			reference = reference[:len(reference)-len(f.suffix)]
		}
	}
	return reference
}

// Ours returns the forms under which the provider may show a reference of
// ours: folded in full and, where the provider cuts, every way in which a cut
// can leave it. A record matches in tier 4 if one of its FoldedReferences is
// among them. There are none if the reference is unusable.
func (f *Folder) Ours(reference string) []string {
	if ok, _ := UsableReference(reference); !ok {
		return nil
	}
	full := f.Fold(reference)
	if full == "" {
		return nil
	}
	forms := []string{full}
	if f == nil || f.fold.Length == 0 {
		return forms
	}
	// The provider cuts what it puts on paper: our reference as it is or after
	// it dropped characters, alone or with its own prefix and suffix around it.
	bodies := []string{reference, full}
	if f.fold.Blanks || f.fold.Punctuation {
		bodies = append(bodies, keep(reference, notSpace))
	}
	for _, body := range bodies {
		for _, whole := range [...]string{body, f.fold.Prefix + body + f.fold.Suffix} {
			short, cut := cutTo(whole, f.fold.Length)
			if form := f.Fold(short); cut && form != "" {
				forms = appendNew(forms, form+cutMark)
			}
		}
	}
	return forms
}

// Theirs appends the forms of a reference that a provider gave us: folded in
// full, and as a cut one only if it has exactly the length at which this
// provider cuts.
func (f *Folder) Theirs(dst []string, reference string) []string {
	if ok, _ := UsableReference(reference); !ok {
		return dst
	}
	full := f.Fold(reference)
	if full == "" {
		return dst
	}
	dst = appendNew(dst, full)
	if f != nil && f.fold.Length > 0 && utf8.RuneCountInString(reference) == f.fold.Length {
		dst = appendNew(dst, full+cutMark)
	}
	return dst
}

// reduce folds case, blanks and punctuation.
func (f *Folder) reduce(s string) string {
	if f.fold.Case {
		s = strings.ToUpper(s)
	}
	switch {
	case f.fold.Punctuation:
		return keep(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) })
	case f.fold.Blanks:
		return keep(s, notSpace)
	}
	return s
}

func notSpace(r rune) bool { return !unicode.IsSpace(r) }

// keep drops the runes that do not hold, and allocates only if there are any.
func keep(s string, holds func(rune) bool) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return !holds(r) }) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if holds(r) {
			return r
		}
		return -1
	}, s)
}

// cutTo returns the first n characters, and whether any were cut off.
func cutTo(s string, n int) (string, bool) {
	count := 0
	for i := range s {
		if count == n {
			return s[:i], true
		}
		count++
	}
	return s, false
}

// appendNew appends a form unless it is there already.
func appendNew(dst []string, form string) []string {
	if slices.Contains(dst, form) {
		return dst
	}
	return append(dst, form)
}

// Extractor finds references in longer texts. It is safe for concurrent use.
type Extractor struct {
	pattern *regexp.Regexp
}

// NewExtractor compiles a pattern: its first group is the reference if it has
// one, else the whole match is.
func NewExtractor(pattern string) (*Extractor, error) {
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("compile extract: %w", err)
	}
	if compiled.MatchString("") {
		return nil, fmt.Errorf("extract: %q matches an empty text; require at least one character", pattern)
	}
	return &Extractor{pattern: compiled}, nil
}

// Extract appends the different tokens that the pattern finds in the text, in
// their order. Only whole tokens count: a match that goes on with a letter or
// a digit on either side is part of something else (INV-12 in INV-123).
func (e *Extractor) Extract(dst []string, text string) []string {
	for _, at := range e.pattern.FindAllStringSubmatchIndex(text, -1) {
		if splitsWord(text, at[0]) || splitsWord(text, at[1]) {
			continue
		}
		from, to := at[0], at[1]
		if len(at) >= 4 {
			from, to = at[2], at[3]
		}
		if from < to {
			dst = appendNew(dst, text[from:to])
		}
	}
	return dst
}

// splitsWord reports that a letter or digit stands on both sides of a position.
func splitsWord(text string, at int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, _ := utf8.DecodeRuneInString(text[at:])
	return inWord(before) && inWord(after)
}

func inWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}
