package csvformat

import (
	"errors"
	"fmt"
	"regexp"

	"reconciler/sources"
)

// defaultWithin is how many lines a header is looked for in.
const defaultWithin = 100

// form is the form of the file, compiled.
type form struct {
	charset   charset
	delimiter byte
	// quote is the quote character; 0 if quotes are plain characters.
	quote     byte
	comment   []byte
	unwrap    bool
	headerRow int
	header    *headerRule
	ignore    *regexp.Regexp
	skipBlank bool
	// rejectRagged: a row of the wrong width is a reject, not a refusal.
	rejectRagged bool
	// trimEnd: empty cells at the end of the header and of rows don't count.
	trimEnd bool
	// skipHeaders: a repeated header is skipped.
	skipHeaders bool
}

// headerRule finds the header by its content.
type headerRule struct {
	contains []string
	match    *regexp.Regexp
	within   int
}

func (f *form) compile(o sources.CSV) error {
	*f = form{delimiter: ',', quote: '"', headerRow: 1, unwrap: o.Unwrap, skipBlank: o.SkipBlank, trimEnd: o.TrimEnd}
	var errs []error
	if o.Delimiter != "" {
		c := o.Delimiter[0]
		if len(o.Delimiter) != 1 || c >= 0x80 || c == '"' || c < ' ' && c != '\t' ||
			c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
			errs = append(errs, fmt.Errorf("csv.delimiter: %q is not one ASCII character that can stand between cells", o.Delimiter))
		}
		f.delimiter = c
	}
	var err error
	if f.charset, err = lookupCharset(o.Encoding); err != nil {
		errs = append(errs, fmt.Errorf("csv.%w", err))
	}
	if o.HeaderRow != nil {
		f.headerRow = *o.HeaderRow
		if f.headerRow < 0 {
			errs = append(errs, fmt.Errorf("csv.header_row: %d is negative; lines count from 1, 0 says that there is no header", f.headerRow))
		}
	}
	errs = append(errs, f.compileHeader(o), f.compileQuote(o.Quote), f.compileRows(o))
	return errors.Join(errs...)
}

func (f *form) compileHeader(o sources.CSV) error {
	if o.Header == nil {
		return nil
	}
	if o.HeaderRow != nil {
		return errors.New("csv.header: it is declared together with header_row; keep one of the two")
	}
	h := &headerRule{contains: o.Header.Contains, within: o.Header.Within}
	if h.within == 0 {
		h.within = defaultWithin
	}
	if (len(o.Header.Contains) == 0) == (o.Header.Match == "") {
		return errors.New("csv.header: declare exactly one of contains and match")
	}
	if o.Header.Match != "" {
		var err error
		if h.match, err = regexp.Compile(o.Header.Match); err != nil {
			return fmt.Errorf("csv.header.match: %w", err)
		}
		if h.match.MatchString("") {
			return fmt.Errorf("csv.header.match: %q matches an empty line too", o.Header.Match)
		}
	}
	f.header = h
	return nil
}

func (f *form) compileQuote(quote string) error {
	switch quote {
	case "", "double":
	case "single":
		f.quote = '\''
	case "none":
		f.quote = 0
	default:
		return fmt.Errorf("csv.quote: %q is neither double nor single nor none", quote)
	}
	if f.quote != 0 && f.delimiter == f.quote {
		return fmt.Errorf("csv.quote: %q is the delimiter too", f.delimiter)
	}
	return nil
}

func (f *form) compileRows(o sources.CSV) error {
	var errs []error
	if o.Comment != "" {
		f.comment = []byte(o.Comment)
		if c := f.comment[0]; c == f.quote && c != 0 || c == f.delimiter || c == '\n' || c == '\r' {
			errs = append(errs, fmt.Errorf("csv.comment: %q cannot be told from a row", o.Comment))
		}
	}
	if o.Ignore != "" {
		ignore, err := regexp.Compile(o.Ignore)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("csv.ignore: %w", err))
		case ignore.MatchString(""):
			errs = append(errs, fmt.Errorf("csv.ignore: %q matches an empty cell too", o.Ignore))
		}
		f.ignore = ignore
	}
	switch o.Ragged {
	case "", "refuse":
	case "reject":
		f.rejectRagged = true
	default:
		errs = append(errs, fmt.Errorf("csv.ragged: %q is neither refuse nor reject", o.Ragged))
	}
	switch o.RepeatedHeader {
	case "", "refuse":
	case "skip":
		f.skipHeaders = true
	default:
		errs = append(errs, fmt.Errorf("csv.repeated_header: %q is neither refuse nor skip", o.RepeatedHeader))
	}
	return errors.Join(errs...)
}

// headless reports that the file has no header.
func (f *form) headless() bool { return f.header == nil && f.headerRow == 0 }
