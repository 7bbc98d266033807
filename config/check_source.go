package config

import (
	"errors"
	"net/url"
	"path"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"

	"reconciler/sources"
	"reconciler/sources/parts"
)

func (c *Config) checkSource(log *ledger, name string) {
	p, s := at("sources", name), c.Sources[name]
	checkName(log, p, name)
	checkText(log, p.key("provider"), s.Provider, "name the provider, or remove the key for the source's name")
	checkAccounts(log, p, s)
	checkLocation(log, p, s.Location)
	checkFormat(log, p, s)
	c.loadZone(log, p.key("timezone"), s.Timezone)
	checkFields(log, p, s)
	checkCompleteness(log, p.key("completeness"), s.Completeness, &s.Fields)
	checkWord(log, p.key("dated_by"), s.DatedBy, []sources.Dating{sources.ByOccurrence, sources.ByBooking})
	if !log.said(p.key("settlement_lag")) {
		log.problem(p.key("settlement_lag"), "must be said; write the longest time that this provider may take to show an effect: 72h")
	}
	if log.said(p.key("retention")) && s.Retention == 0 {
		log.problem(p.key("retention"), "is zero; write how long the provider remembers, or remove the key if it is for ever")
	}
	if s.Retention > 0 && s.DatedBy == sources.ByOccurrence && s.Retention <= s.SettlementLag {
		log.problem(p.key("retention"), "is not longer than the settlement lag, so nothing would ever be covered; correct one of the two")
	}
	if s.Unjournaled != nil {
		checkFilled(log, p.key("unjournaled", "pattern"), s.Unjournaled.Pattern)
	}
	if s.Calendar != nil {
		s.Calendar.check(c, log, p.key("calendar"))
	}
	if !log.hasProblems(p) && s.Format == "csv" {
		c.checkBuild(log, name)
	}
}

func checkAccounts(log *ledger, p keyPath, s Source) {
	p = p.key("accounts")
	checkList(log, p, s.Accounts)
	account := s.Fields.Account
	switch {
	case len(s.Accounts) == 0:
		log.problem(p, "is empty; name an account, or remove the key for one account named like the source")
	case account == nil && len(s.Accounts) > 1:
		log.problem(p, "names several accounts, and nothing says which a record belongs to; add fields.account, or make a source of each")
	case account != nil && account.Column != nil && !log.said(p):
		log.problem(p, "must be said where the account stands in each row; list the accounts that this source covers")
	case account != nil && account.Value != nil && !slices.Contains(s.Accounts, *account.Value):
		log.problem(p, "does not contain the account of fields.account; use the same word in both")
	}
}

// checkLocation accepts the forms that this version can fetch.
func checkLocation(log *ledger, p keyPath, location string) {
	at := p.key("location")
	if !log.said(at) {
		log.problem(at, "must be said; name the files: statements/acme-*.csv")
		return
	}
	checkText(log, at, location, "name the files: statements/acme-*.csv")
	if scheme, _, ok := strings.Cut(location, "://"); ok {
		if u, err := url.Parse(location); err == nil {
			scheme = u.Scheme
		}
		log.problem(at, "a location of the kind %s:// is not supported by this version; fetch the files to a folder and name that: statements/*.csv", scheme)
		return
	}
	_, err := path.Match(location, "")
	switch {
	case err != nil:
		log.problem(at, "%s is not a file pattern; close every [", log.show(at, location))
	case strings.HasSuffix(location, "/") || location == "." || location == "..":
		log.problem(at, "%s is a folder; name the files in it: *.csv", log.show(at, location))
	case strings.Contains(location, "**"):
		log.problem(at, "%s has **, which is not supported; write one * for each folder", log.show(at, location))
	}
}

func checkFormat(log *ledger, p keyPath, s Source) {
	if s.Format != "csv" {
		at := p.key("format")
		log.problem(at, "format %s is not supported by this version; use csv", log.show(at, s.Format))
	}
	checkCSV(log, p, s)
}

func checkCSV(log *ledger, p keyPath, s Source) {
	csv := p.key("csv")
	delimiter, charset, header := csv.key("delimiter"), csv.key("encoding"), csv.key("header_row")
	if !isDelimiter(s.CSV.Delimiter) {
		log.problem(delimiter, `%s must be one character that can stand between cells: ",", ";" or "\t"`, log.show(delimiter, s.CSV.Delimiter))
	}
	checkWord(log, csv.key("quote"), s.CSV.Quote, []string{quoteDouble, quoteSingle, quoteNone})
	if !knownEncoding(s.CSV.Encoding) {
		log.problem(charset, "%s is not a known encoding; write its usual name: utf-8, windows-1251, shift_jis", log.show(charset, s.CSV.Encoding))
	}
	row := s.CSV.HeaderRow
	if row != nil && *row < 0 {
		log.problem(header, "is negative; it is the line of the header, counted from 1, or 0 if there is none")
	}
	if row != nil && *row == 0 && !log.isBroken(header) {
		checkNumbered(log, p, s)
	}
}

func isDelimiter(text string) bool {
	if len(text) != 1 {
		return false
	}
	c := rune(text[0])
	return c == '\t' || (c >= ' ' && c < 0x7F && c != '"' && !unicode.IsLetter(c) && !unicode.IsDigit(c))
}

// knownEncoding accepts the names of the web, those of IANA, and code pages
// by the number that people know them by.
func knownEncoding(name string) bool {
	key := strings.ToLower(strings.TrimSpace(name))
	switch key {
	case "utf8", "us-ascii", "ascii", "utf16", "cp932":
		return true
	}
	if number, ok := strings.CutPrefix(key, "cp"); ok {
		if known, err := ianaindex.IANA.Encoding("ibm" + number); err == nil && known != nil {
			return true
		}
	}
	known, err := htmlindex.Get(key)
	if err != nil {
		known, err = ianaindex.IANA.Encoding(key)
	}
	return err == nil && known != nil && known != encoding.Replacement
}

// checkNumbered: without a header there is nothing to find a column by but its number.
func checkNumbered(log *ledger, p keyPath, s Source) {
	for key, column := range sources.NamedColumns(&s.Fields, s.Rows, &s.Completeness) {
		if at := p.key(strings.Split(key, ".")...); column.Number == 0 {
			log.problem(at, "%s is a header, but csv.header_row: 0 says that there is none; write the number of the column", log.show(at, column.Header))
		}
	}
}

func checkCompleteness(log *ledger, p keyPath, c sources.Completeness, fields *sources.Mapping) {
	if checkWord(log, p.key("end"), c.End, []string{endProven, endAssumed}) && c.End == endProven && !c.Proves() {
		log.problem(p.key("end"), "%s needs a proof of the end; configure completeness.footer (or count, sum, balances, manifest), or say end: assumed, under which an absence is only ever reviewed", endProven)
	}
	if f := c.Footer; f != nil {
		checkFilled(log, p.key("footer", "match"), f.Match)
		if f.Sum != nil && fields.Amount == nil {
			log.problem(p.key("footer", "sum"), "has no amounts to compare with; map fields.amount, or remove it")
		}
	}
	if c.Parts != nil {
		if _, err := parts.Compile(c.Parts); err != nil {
			log.problem(p.key("parts", "pattern"), "is not right: %s", log.withheld(p.key("parts"), strings.TrimPrefix(err.Error(), "pattern: ")))
		}
	}
	if c.Period == nil {
		log.warn(p, "has no period, so statements of this source cover no time and prove no absence; add completeness.period")
		return
	}
	checkPeriod(log, p.key("period"), *c.Period)
}

func checkPeriod(log *ledger, p keyPath, rule sources.PeriodRule) {
	if rule.Pattern == "" && (rule.Cells != nil || rule.Columns != nil || rule.Daily != "") {
		// The document itself states it.
	} else if re := pattern(log, p.key("pattern"), rule.Pattern); re != nil {
		groups := re.SubexpNames()
		has := func(name string) bool { return slices.Contains(groups, name) }
		if has("day") == (has("from") || has("to")) || has("from") != has("to") {
			log.problem(p.key("pattern"), "must have the groups from and to, or the one group day; write (?P<from>…) and (?P<to>…)")
		}
	}
	if log.said(p.key("layout")) {
		checkLayout(log, p.key("layout"), rule.Layout)
	}
}

// regexpFault puts the shown text in place of the expression, of which the
// parser quotes a part: it may have come from the environment.
func regexpFault(err error, shown string) string {
	if fault := (*syntax.Error)(nil); errors.As(err, &fault) {
		return fault.Code.String() + " in " + shown
	}
	return "it can't be compiled: " + shown
}
