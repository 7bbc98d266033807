package csvformat

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"reconciler/sources"
)

// charset is a declared encoding; a nil coding is UTF-8, which needs no conversion.
type charset struct {
	name   string
	coding encoding.Encoding
}

// lookupCharset finds an encoding by any of its usual names.
func lookupCharset(name string) (charset, error) {
	key := strings.ToLower(strings.TrimSpace(name))
	switch key {
	case "", "utf-8", "utf8", "us-ascii", "ascii":
		return charset{name: "utf-8"}, nil
	case "utf-16", "utf16", "utf-16le":
		return charset{name: "utf-16le", coding: utf16(unicode.LittleEndian)}, nil
	case "utf-16be":
		return charset{name: "utf-16be", coding: utf16(unicode.BigEndian)}, nil
	case "cp932":
		return charset{name: "shift_jis", coding: japanese.ShiftJIS}, nil
	}
	coding, err := htmlindex.Get(key)
	if err != nil {
		coding, err = ianaindex.IANA.Encoding(ianaName(key))
	}
	if err != nil || coding == nil || coding == encoding.Replacement {
		return charset{}, fmt.Errorf("encoding: %q is not a known encoding; write for example utf-8, windows-1251 or iso-8859-15", name)
	}
	if canonical, err := htmlindex.Name(coding); err == nil {
		key = canonical
	}
	return charset{name: key, coding: coding}, nil
}

// ianaName turns cp850 into the registered ibm850.
func ianaName(key string) string {
	if digits, ok := strings.CutPrefix(key, "cp"); ok {
		return "ibm" + digits
	}
	return key
}

func utf16(order unicode.Endianness) encoding.Encoding {
	return unicode.UTF16(order, unicode.IgnoreBOM)
}

// open returns the text as UTF-8, with its byte order mark still there, and
// whether it was converted. A mark is the file's own word on its encoding: for
// UTF-16 it wins; a UTF-8 mark under another declaration is a refusal.
func (c charset) open(r io.Reader) (text io.Reader, decoded bool, err error) {
	head := make([]byte, 4)
	n, _, err := readFull(r, head)
	if err != nil {
		return nil, false, err
	}
	head = head[:n]
	whole := io.MultiReader(bytes.NewReader(head), r)
	coding := c.coding
	switch {
	case bytes.HasPrefix(head, []byte{0xFF, 0xFE, 0, 0}), bytes.HasPrefix(head, []byte{0, 0, 0xFE, 0xFF}):
		return nil, false, &sources.Refusal{
			Line: 1, Reason: "the file is written in UTF-32", Remedy: "ask the provider for UTF-8",
		}
	case bytes.HasPrefix(head, []byte{0xFF, 0xFE}):
		coding = utf16(unicode.LittleEndian)
	case bytes.HasPrefix(head, []byte{0xFE, 0xFF}):
		coding = utf16(unicode.BigEndian)
	case bytes.HasPrefix(head, []byte("\ufeff")) && coding != nil:
		return nil, false, &sources.Refusal{
			Line: 1, Reason: fmt.Sprintf("the file begins with the byte order mark of UTF-8, but %s is declared", c.name),
			Remedy: "set csv.encoding to utf-8, or leave it out",
		}
	}
	if coding == nil {
		return whole, false, nil
	}
	return transform.NewReader(whole, coding.NewDecoder()), true, nil
}
