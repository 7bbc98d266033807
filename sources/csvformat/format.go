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
	"reconciler/sources/manifest"
)

// Config is what a source declares about its files.
type Config struct {
	Options sources.CSV
	Mapping sources.Mapping
	// Rows says which rows are records; nil: all of them.
	Rows         *sources.Rows
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
	form     form
	plan     plan
	period   *periodRule
	footer   *footerRule
	places   []placeRule
	balances balanceRule
	sequence sequenceRule
	manifest *manifest.Rule
	// extras: there may be rows that are no data.
	extras bool
	// followed: every row must agree with the one before.
	followed bool
	// dayField has the same day in all rows; noField: it need not.
	dayField fieldID
	assumed  bool
	// proves: something can prove the end.
	proves bool
	zone   *time.Location
	ours   *regexp.Regexp
	digest string
}

// noField says that no field is meant.
const noField fieldID = -1

var (
	_ sources.Format       = (*Format)(nil)
	_ sources.PeriodReader = (*reader)(nil)
	_ sources.PeriodStater = (*Format)(nil)
	_ sources.Vouched      = (*Format)(nil)
)

// New checks a configuration and compiles it. Its error joins everything that
// is wrong, each named by its key in the configuration.
func New(cfg Config) (*Format, error) {
	if cfg.Zone == nil {
		cfg.Zone = time.UTC
	}
	f := &Format{zone: cfg.Zone, dayField: noField}
	errs := []error{f.form.compile(cfg.Options)}
	var err error
	if f.plan, err = compilePlan(cfg); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs, f.compileCompleteness(&cfg))
	if cfg.Unjournaled != "" {
		if f.ours, err = regexp.Compile(cfg.Unjournaled); err != nil {
			errs = append(errs, fmt.Errorf("unjournaled.pattern: %w", err))
		}
	}
	if f.form.headless() {
		errs = append(errs, checkNumbers(&cfg))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	f.extras = f.form.skipBlank || f.form.ignore != nil || len(f.places) > 0
	f.followed = f.sequence.column != nil || f.period != nil && f.period.fromColumn != nil
	f.digest, err = digestOf(cfg, f)
	return f, err
}

func (f *Format) compileCompleteness(cfg *Config) error {
	c := &cfg.Completeness
	var errs []error
	note := func(key string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("completeness.%s%w", key, err))
		}
	}
	var err error
	f.period, err = newPeriodRule(c.Period, cfg.Zone)
	note("period.", err)
	if f.period != nil && f.period.daily {
		note("period.", f.compileDaily(c.Period.Daily))
	}
	if f.places, err = newPlaces(c, f.form.headless()); err != nil {
		errs = append(errs, err)
	}
	f.footer, err = newFooterRule(c.Footer, &cfg.Mapping)
	note("footer.", err)
	f.balances, err = newBalanceRule(cfg, &f.plan)
	note("balances.", err)
	f.sequence, err = newSequenceRule(c.Sequence)
	note("sequence.", err)
	f.manifest, err = manifest.New(c.Manifest)
	note("manifest.", err)
	if c.Sum != nil && cfg.Mapping.Amount == nil {
		note("sum: ", errors.New("there is no field amount to sum up"))
	}
	f.proves = c.Proves()
	switch c.End {
	case "assumed":
		f.assumed = true
	case "", "proven":
		if !f.proves {
			note("end: ", errors.New("nothing is configured that could prove the end; declare a footer, a count, a sum, balances or a manifest, or end: assumed"))
		}
	default:
		note("end: ", fmt.Errorf("%q is neither proven nor assumed", c.End))
	}
	return errors.Join(errs...)
}

func (f *Format) compileDaily(name string) error {
	for _, id := range []fieldID{fieldOccurred, fieldBooked, fieldSettled} {
		if f.plan.fields[id].name != name {
			continue
		}
		if f.plan.fields[id].spec == nil {
			return fmt.Errorf("daily: %s is not mapped", name)
		}
		f.dayField = id
		return nil
	}
	return fmt.Errorf("daily: %q is not one of occurred_at, booked_at, settled_at", name)
}

// checkNumbers requires that a file without a header names no column by header.
func checkNumbers(cfg *Config) error {
	var errs []error
	for key, c := range sources.NamedColumns(&cfg.Mapping, cfg.Rows, &cfg.Completeness) {
		if c.Number == 0 {
			errs = append(errs, fmt.Errorf("%s: %q is a header, but csv.header_row: 0 says that there is none; name the column by its number", key, c.Header))
		}
	}
	return errors.Join(errs...)
}

// digestOf covers everything that can change what is read, with the defaults
// written out, so that saying a default changes nothing.
func digestOf(cfg Config, f *Format) (string, error) {
	quotes := string(f.form.quote)
	cfg.Options.Delimiter, cfg.Options.Encoding, cfg.Options.Quote = string(f.form.delimiter), f.form.charset.name, quotes
	if f.form.header == nil {
		cfg.Options.HeaderRow = &f.form.headerRow
	}
	if cfg.Completeness.End == "" {
		cfg.Completeness.End = "proven"
	}
	content, err := json.Marshal(struct {
		Format  string
		Version int
		Zone    string
		Config  Config
	}{"csv", 2, cfg.Zone.String(), zoneless(cfg)})
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
	if f.period == nil || f.period.pattern == nil {
		return sources.Period{}, nil
	}
	return f.period.of(d.Name)
}

// StatesAsOf reports that the document states its as_of.
func (f *Format) StatesAsOf() bool {
	_, ok := f.has(placeAsOf)
	return ok
}

// StatesPeriod reports that the document states its period, not its name.
func (f *Format) StatesPeriod() bool { return f.period != nil && f.period.pattern == nil }

// ManifestName is the file that must vouch for a delivery; empty if none does.
func (f *Format) ManifestName(d sources.Delivery) string {
	if f.manifest == nil {
		return ""
	}
	return f.manifest.Name(d)
}

// Open reads the preamble and the header. The error is a *sources.Refusal if
// they are not as declared, anything else is an outage.
func (f *Format) Open(r io.Reader, d sources.Delivery) (sources.Reader, error) {
	var vouched *int64
	if f.manifest != nil {
		var err error
		if vouched, err = f.manifest.Check(d); err != nil {
			return nil, err
		}
	}
	text, decoded, err := f.form.charset.open(r)
	if err != nil {
		return nil, err
	}
	period, err := f.Period(d)
	if err != nil {
		return nil, err
	}
	out := &reader{
		format: f, scan: newScanner(text, &f.form, decoded), vouched: vouched,
		times: newTimeReader(f.zone, period, d.ModifiedAt), places: make(places, len(f.places)),
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
