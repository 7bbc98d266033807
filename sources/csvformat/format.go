// Package csvformat reads delimited text (CSV and its relatives) as a
// configured mapping describes it: registers and statements whose form is the
// provider's own. It is a folder of its own because each document form is one,
// behind the same small interface.
//
// It reads strictly. What is not understood is a reject of that row; what
// makes the whole document doubtful (ragged rows, a renamed column, a quote
// that never closes, totals that differ) is a refusal of the document. Nothing
// is guessed from a value: delimiter, encoding, number and time forms are
// declared.
package csvformat

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"

	"reconciler/sources"
)

// Options is the form of the file (`sources.NAME.csv`).
type Options struct {
	// Delimiter between cells, one ASCII character; default ",".
	Delimiter string `yaml:"delimiter,omitempty" json:"delimiter,omitempty"`
	// Encoding by any of its usual names (windows-1251); default utf-8.
	Encoding string `yaml:"encoding,omitempty" json:"encoding,omitempty"`
	// HeaderRow is the physical line of the header, from 1; the lines before
	// it are skipped. Default 1; 0 says that there is no header, so that
	// columns are named by number.
	HeaderRow *int `yaml:"header_row,omitempty" json:"header_row,omitempty"`
	// Quote is "double" (default), or "none" where quotes are plain characters.
	Quote string `yaml:"quote,omitempty" json:"quote,omitempty"`
}

// Config is what a source declares about its files.
type Config struct {
	Options      Options
	Mapping      sources.Mapping
	Completeness sources.Completeness
	// Zone of the source: days and times without an offset are its own. Never nil.
	Zone *time.Location
	// Account of every row where no field account is mapped.
	Account string
	// Accounts are those that the source covers, where a field account is
	// mapped; rows of others are skipped. Empty: all of them.
	Accounts []string
	// Unjournaled is a regular expression for references of ours; empty: none.
	Unjournaled string
}

// Format reads CSV documents of one source. It is safe for concurrent use.
type Format struct {
	charset   charset
	delimiter byte
	quotes    bool
	headerRow int
	plan      plan
	period    *periodRule
	footer    *footerRule
	assumed   bool
	zone      *time.Location
	ours      *regexp.Regexp
	digest    string
}

var (
	_ sources.Format = (*Format)(nil)
	_ sources.Reader = (*reader)(nil)
)

// New checks a configuration and compiles it. Its error joins everything that
// is wrong, each named by its key in the configuration.
func New(cfg Config) (*Format, error) {
	if cfg.Zone == nil {
		cfg.Zone = time.UTC
	}
	f := &Format{zone: cfg.Zone, delimiter: ',', quotes: true, headerRow: 1}
	errs := []error{f.setOptions(cfg.Options)}
	var err error
	if f.plan, err = compilePlan(cfg); err != nil {
		errs = append(errs, err)
	}
	if f.period, err = newPeriodRule(cfg.Completeness.Period, cfg.Zone); err != nil {
		errs = append(errs, fmt.Errorf("completeness.period.%w", err))
	}
	if f.footer, err = newFooterRule(cfg.Completeness.Footer, &cfg.Mapping); err != nil {
		errs = append(errs, fmt.Errorf("completeness.footer.%w", err))
	}
	switch cfg.Completeness.End {
	case "assumed":
		f.assumed = true
	case "", "proven":
		if cfg.Completeness.Footer == nil {
			errs = append(errs, errors.New("completeness.end: nothing is configured that could prove the end; declare completeness.footer, or end: assumed"))
		}
	default:
		errs = append(errs, fmt.Errorf("completeness.end: %q is neither proven nor assumed", cfg.Completeness.End))
	}
	if cfg.Unjournaled != "" {
		if f.ours, err = regexp.Compile(cfg.Unjournaled); err != nil {
			errs = append(errs, fmt.Errorf("unjournaled.pattern: %w", err))
		}
	}
	if f.headerRow == 0 {
		errs = append(errs, f.checkNumbers(cfg.Completeness.Footer))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	f.digest, err = digestOf(cfg, f)
	return f, err
}

func (f *Format) setOptions(o Options) error {
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
	switch o.Quote {
	case "", "double":
	case "none":
		f.quotes = false
	default:
		errs = append(errs, fmt.Errorf("csv.quote: %q is neither double nor none", o.Quote))
	}
	return errors.Join(errs...)
}

// checkNumbers requires that a file without a header names no column by header.
func (f *Format) checkNumbers(footer *sources.Footer) error {
	var errs []error
	named := func(key string, c *sources.Column) {
		if c != nil && c.Number == 0 {
			errs = append(errs, fmt.Errorf("%s.column: %q is a header, but csv.header_row: 0 says that there is none; name the column by its number", key, c.Header))
		}
	}
	for i := range f.plan.fields {
		if f.plan.fields[i].spec != nil {
			named("fields."+f.plan.fields[i].name, f.plan.fields[i].spec.Column)
		}
	}
	if footer != nil {
		named("completeness.footer.count", footer.Count)
		named("completeness.footer.sum", footer.Sum)
	}
	return errors.Join(errs...)
}

// digestOf covers everything that can change what is read, with the defaults
// written out, so that saying a default changes nothing.
func digestOf(cfg Config, f *Format) (string, error) {
	cfg.Options = Options{
		Delimiter: string(f.delimiter), Encoding: f.charset.name,
		HeaderRow: &f.headerRow, Quote: fmt.Sprint(f.quotes),
	}
	if cfg.Completeness.End == "" {
		cfg.Completeness.End = "proven"
	}
	content, err := json.Marshal(struct {
		Format  string
		Version int
		Zone    string
		Config  Config
	}{"csv", 1, cfg.Zone.String(), zoneless(cfg)})
	if err != nil {
		return "", fmt.Errorf("digest the mapping: %w", err)
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), nil
}

func zoneless(cfg Config) Config {
	cfg.Zone = nil
	return cfg
}

// Name is "csv".
func (f *Format) Name() string { return "csv" }

// Digest of everything in the configuration that can change what is read; hex SHA-256.
func (f *Format) Digest() string { return f.digest }

// Period reads the period from the name of the delivery, where the
// configuration has a pattern for it; a name that does not fit is a *sources.Refusal.
func (f *Format) Period(d sources.Delivery) (sources.Period, error) {
	if f.period == nil {
		return sources.Period{}, nil
	}
	return f.period.of(d.Name)
}

// Open reads the preamble and the header. The error is a *sources.Refusal if
// they are not as declared, anything else is an outage.
func (f *Format) Open(r io.Reader, d sources.Delivery) (sources.Reader, error) {
	text, decoded, err := f.charset.open(r)
	if err != nil {
		return nil, err
	}
	period, err := f.Period(d)
	if err != nil {
		return nil, err
	}
	out := &reader{
		format: f, scan: newScanner(text, f.delimiter, f.quotes, decoded),
		times: newTimeReader(f.zone, period, d.ModifiedAt),
	}
	if err := out.open(); err != nil {
		return nil, err
	}
	return out, nil
}

// newTimeReader sets what is plausible: two years around the period; without
// one, from 1990 until five years after the file was written.
func newTimeReader(zone *time.Location, period sources.Period, written time.Time) timeReader {
	from := time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC)
	to := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	switch {
	case !period.IsZero():
		from, to = period.From.AddDate(-2, 0, 0), period.To.AddDate(2, 0, 0)
	case !written.IsZero():
		to = written.AddDate(5, 0, 0)
	}
	return timeReader{zone: zone, from: from.Unix(), to: to.Unix()}
}
