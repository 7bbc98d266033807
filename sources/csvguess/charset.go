package csvguess

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"
	encodings "golang.org/x/text/encoding/unicode"
)

// Encoding is how the bytes of a document may be read.
type Encoding struct {
	// Name to declare.
	Name string
	// Mark says that the document begins with a byte order mark.
	Mark bool
	// ASCII: no byte is above 0x7F, so that nearly every encoding fits.
	ASCII bool
	// Sure: the bytes themselves prove it.
	Sure bool
	// Others that fit too, the likelier first.
	Others []Candidate
	// Sample is a piece of the text that depends on the encoding.
	Sample string
}

// Candidate is an encoding in which the document can be read without an error.
type Candidate struct {
	Name string
	// Sample is a piece of the text read so, and Instead how the chosen
	// encoding reads the same piece.
	Sample, Instead string

	text  string
	score int
}

// decode reads the bytes as declared, or as it seems best.
func (l *Look) decode(data []byte, declared string) (string, error) {
	e := &l.Encoding
	switch {
	case bytes.HasPrefix(data, []byte("\ufeff")):
		*e = Encoding{Name: "utf-8", Mark: true, Sure: true}
		return strings.TrimLeft(string(data), "\ufeff"), nil
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}), bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		*e = Encoding{Name: "utf-16", Mark: true, Sure: true}
		return decodeBy(encodings.UTF16(encodings.LittleEndian, encodings.UseBOM), data)
	case bytes.IndexByte(data[:min(len(data), 64)], 0) >= 0:
		order, name := encodings.LittleEndian, "utf-16le"
		if data[0] == 0 {
			order, name = encodings.BigEndian, "utf-16be"
		}
		*e = Encoding{Name: name}
		return decodeBy(encodings.UTF16(order, encodings.IgnoreBOM), data)
	case utf8.Valid(data):
		ascii := bytes.IndexFunc(data, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
		*e = Encoding{Name: "utf-8", ASCII: ascii, Sure: !ascii, Sample: sample(string(data))}
		if declared == "" || isUTF8(declared) || ascii {
			return string(data), nil
		}
	}
	if declared != "" && !isUTF8(declared) {
		coding, err := lookup(declared)
		if err != nil {
			return "", err
		}
		text, err := decodeBy(coding, data)
		if e.Name == "" { // otherwise the bytes are UTF-8, whatever is declared
			*e = Encoding{Name: declared, Sample: sample(text), Others: differing(text, others(data, declared))}
		}
		return text, err
	}
	all := others(data, "")
	if len(all) == 0 {
		return "", errors.New("the bytes are text in no encoding that is known here; is it a CSV file at all?")
	}
	*e = Encoding{Name: all[0].Name, Sample: sample(all[0].text), Others: differing(all[0].text, all[1:])}
	coding, err := lookup(all[0].Name)
	if err != nil {
		return "", err
	}
	return decodeBy(coding, data)
}

func isUTF8(name string) bool {
	return slices.Contains([]string{"utf-8", "utf8", "ascii", "us-ascii"}, strings.ToLower(strings.TrimSpace(name)))
}

func decodeBy(coding encoding.Encoding, data []byte) (string, error) {
	text, err := coding.NewDecoder().Bytes(data)
	if err != nil {
		return "", fmt.Errorf("decode the text: %w", err)
	}
	return string(text), nil
}

// lookup finds an encoding by its usual names.
func lookup(name string) (encoding.Encoding, error) {
	key := strings.ToLower(strings.TrimSpace(name))
	if key == "cp932" {
		key = "shift_jis"
	}
	if digits, ok := strings.CutPrefix(key, "cp"); ok {
		if coding, err := ianaindex.IANA.Encoding("ibm" + digits); err == nil && coding != nil {
			return coding, nil
		}
	}
	if coding, err := htmlindex.Get(key); err == nil {
		return coding, nil
	}
	coding, err := ianaindex.IANA.Encoding(key)
	if err != nil || coding == nil {
		return nil, fmt.Errorf("%q is not a known encoding", name)
	}
	return coding, nil
}

// others lists the encodings that fit, by how much the text looks like one.
func others(data []byte, but string) []Candidate {
	probe := data[:min(len(data), 256<<10)]
	if cut := bytes.LastIndexByte(probe, '\n'); cut > 0 && len(probe) < len(data) {
		probe = probe[:cut]
	}
	var out []Candidate
	for _, name := range []string{
		"windows-1252", "windows-1251", "windows-1250", "windows-1257", "windows-1253", "windows-1254",
		"gb18030", "shift_jis", "euc-kr", "big5", "koi8-r", "cp866", "cp850",
	} {
		if strings.EqualFold(name, but) {
			continue
		}
		coding, err := lookup(name)
		if err != nil {
			continue
		}
		text, err := decodeBy(coding, probe)
		if err != nil || strings.ContainsRune(text, utf8.RuneError) {
			continue
		}
		if score := plausible(text) + knownWords(text)*knownWordScore; score > 0 {
			out = append(out, Candidate{Name: name, text: text, score: score})
		}
	}
	slices.SortStableFunc(out, func(a, b Candidate) int { return cmp.Compare(b.score, a.score) })
	return out
}

// knownWordScore is what a word of another language weighs that columns are
// called by.
const knownWordScore = 100

// knownWords counts the names of columns beyond ASCII that stand in a text.
func knownWords(text string) int {
	text = strings.ToLower(text[:min(len(text), 16<<10)])
	found := 0
	for r := range roleCount {
		for _, word := range r.names() {
			if sample(word) != "" && strings.Contains(text, word) {
				found++
			}
		}
	}
	return found
}

// differing drops the candidates that read nothing differently, and shows
// where the others do.
func differing(text string, all []Candidate) []Candidate {
	pieces := func(text string) []string {
		return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(",;\t|\"\r\n", r) })
	}
	chosen := pieces(text)
	var out []Candidate
	for _, c := range all {
		other := pieces(c.text)
		for i := range min(len(chosen), len(other)) {
			if chosen[i] != other[i] {
				c.Instead, c.Sample = sample(chosen[i]), sample(other[i])
				out = append(out, c)
				break
			}
		}
	}
	return out
}

// plausible says how much a text looks like one that people wrote, in points
// of a thousand: letters among letters of their own script, capitals in front.
func plausible(text string) int {
	foreign, good := 0, 0
	var before rune
	for _, r := range text {
		if r < utf8.RuneSelf {
			before = r
			continue
		}
		foreign++
		switch {
		case unicode.IsControl(r), unicode.Is(unicode.Co, r):
			good -= 4
		case unicode.Is(unicode.Han, r):
			if r < 0x9FA6 {
				good++
			}
			if before > 0 && before < utf8.RuneSelf && unicode.IsLetter(before) {
				good-- // a single ideograph in a Latin word
			}
		case r >= 0xFF61 && r <= 0xFF9F: // half-width kana: nearly every byte is one
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			good += 2 // the same bytes are ideographs in other encodings
		case unicode.Is(unicode.Hangul, r):
			good++
		case unicode.IsLetter(r):
			good += letterAfter(before, r)
		case unicode.In(r, unicode.P, unicode.Sc, unicode.Zs), r == '№', r == '°':
		default:
			good--
		}
		before = r
	}
	if foreign == 0 {
		return 0
	}
	return good * 1000 / foreign
}

// letterAfter judges a letter by the one before it.
func letterAfter(before, r rune) int {
	cyrillic, latin := unicode.Is(unicode.Cyrillic, r), unicode.Is(unicode.Latin, r)
	neighbour := unicode.IsLetter(before)
	switch {
	case neighbour && unicode.IsLower(before) && unicode.IsUpper(r):
		return -1
	case !neighbour:
		return 1
	case cyrillic && unicode.Is(unicode.Cyrillic, before):
		return 1
	case latin && before < utf8.RuneSelf:
		return 1 // é in a word of plain letters
	case latin && unicode.Is(unicode.Latin, before):
		return 0 // rows of accented letters are the sign of another encoding
	}
	return -1
}

// sample is a piece of text around the first character beyond ASCII.
func sample(text string) string {
	at := strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf })
	if at < 0 {
		return ""
	}
	from := strings.LastIndexAny(text[:at], ",;\t|\"\n") + 1
	piece := []rune(strings.TrimSpace(text[from:min(len(text), from+200)]))
	if end := slices.IndexFunc(piece, func(r rune) bool { return strings.ContainsRune(",;\t|\"\n\r", r) }); end >= 0 {
		piece = piece[:end]
	}
	return strings.TrimSpace(string(piece[:min(len(piece), 40)]))
}
