package csvformat

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"reconciler/money"
	"reconciler/sources"
)

// fieldID names a field of the mapping; it indexes plan.fields.
type fieldID int

const (
	fieldAccount fieldID = iota
	fieldProviderID
	fieldKey
	fieldReference
	fieldAmount
	fieldCurrency
	fieldDirection
	fieldKind
	fieldStatus
	fieldOccurred
	fieldBooked
	fieldSettled
	fieldFee
	fieldBatch
	fieldRelated
	fieldCount
)

// field is one field of the mapping, compiled.
type field struct {
	name string
	// spec is nil if the field is not mapped.
	spec    *sources.Field
	extract *sources.Extractor
	// words translates the provider's words; nil for fields that are no words.
	words    map[string]word
	number   money.NumberFormat
	layout   *layout
	constant word
}

// word is one translated word of the provider.
type word struct {
	raw, value string
	// exponent of value, where it is a currency.
	exponent int
}

// plan is the compiled mapping.
type plan struct {
	fields [fieldCount]field
	folder *sources.Folder
	folded bool
	// signed: the direction is the sign of the amount.
	signed  bool
	account string
	// accounts that the source covers; nil: all of them.
	accounts map[string]string
}

// mapped reports whether the field comes from a column.
func (f *field) mapped() bool { return f.spec != nil && f.spec.Column != nil }

func compilePlan(cfg Config) (plan, error) {
	m := &cfg.Mapping
	p := plan{account: cfg.Account}
	p.fields = [fieldCount]field{
		fieldAccount:    {name: "account", spec: m.Account},
		fieldProviderID: {name: "provider_operation_id", spec: m.ProviderOperationID},
		fieldKey:        {name: "idempotency_key", spec: m.IdempotencyKey},
		fieldReference:  {name: "business_reference", spec: m.BusinessReference},
		fieldAmount:     {name: "amount", spec: m.Amount},
		fieldCurrency:   {name: "currency", spec: m.Currency},
		fieldDirection:  {name: "direction", spec: m.Direction},
		fieldKind:       {name: "kind", spec: m.Kind},
		fieldStatus:     {name: "status", spec: m.Status},
		fieldOccurred:   {name: "occurred_at", spec: m.OccurredAt},
		fieldBooked:     {name: "booked_at", spec: m.BookedAt},
		fieldSettled:    {name: "settled_at", spec: m.SettledAt},
		fieldFee:        {name: "fee", spec: m.Fee},
		fieldBatch:      {name: "batch_id", spec: m.BatchID},
		fieldRelated:    {name: "related_id", spec: m.RelatedID},
	}
	var errs []error
	for id := range fieldCount {
		if err := p.compileField(id, cfg); err != nil {
			errs = append(errs, fmt.Errorf("fields.%s.%w", p.fields[id].name, err))
		}
	}
	errs = append(errs, p.checkWhole(cfg))
	if m.BusinessReference != nil {
		var err error
		if p.folder, err = sources.NewFolder(m.BusinessReference.Fold); err != nil {
			errs = append(errs, fmt.Errorf("fields.business_reference.%w", err))
		}
		p.folded = m.BusinessReference.Fold != nil
	}
	if len(cfg.Accounts) > 0 {
		p.accounts = make(map[string]string, len(cfg.Accounts))
		for _, account := range cfg.Accounts {
			p.accounts[account] = account
		}
	}
	return p, errors.Join(errs...)
}

// checkWhole checks what concerns more than one field.
func (p *plan) checkWhole(cfg Config) error {
	var errs []error
	has := func(id fieldID) bool { return p.fields[id].spec != nil }
	if !has(fieldStatus) {
		errs = append(errs, errors.New("fields.status: not mapped; if every row is an effect that succeeded, declare status: {value: succeeded}"))
	}
	if !has(fieldOccurred) && !has(fieldBooked) {
		errs = append(errs, errors.New("fields.occurred_at: neither occurred_at nor booked_at is mapped; a record without a time proves nothing"))
	}
	if !has(fieldProviderID) && !has(fieldKey) && !has(fieldReference) {
		errs = append(errs, errors.New("fields.business_reference: none of provider_operation_id, idempotency_key and business_reference is mapped; no record could be matched"))
	}
	if has(fieldAmount) && !has(fieldCurrency) {
		errs = append(errs, errors.New("fields.currency: not mapped, but amounts need one; declare a column, or currency: {value: EUR}"))
	}
	if has(fieldFee) && !has(fieldAmount) {
		errs = append(errs, errors.New("fields.fee: mapped without amount"))
	}
	if !has(fieldAccount) && cfg.Account == "" {
		errs = append(errs, errors.New("fields.account: not mapped, and the source has no account"))
	}
	return errors.Join(errs...)
}

func (p *plan) compileField(id fieldID, cfg Config) error {
	f := &p.fields[id]
	if f.spec == nil {
		return nil
	}
	if (f.spec.Column == nil) == (f.spec.Value == nil) {
		return errors.New("column: declare exactly one of column and value")
	}
	if c := f.spec.Column; c != nil && (c.Number < 0 || c.Number == 0 && strings.TrimSpace(c.Header) == "") {
		return errors.New("column: name a header, or a number from 1")
	}
	if err := checkKeys(id, f.spec); err != nil {
		return err
	}
	switch id {
	case fieldAmount, fieldFee:
		f.number = money.NumberFormat{Decimal: f.spec.Decimal, Group: f.spec.Group}
		return f.number.Check()
	case fieldOccurred, fieldBooked, fieldSettled:
		var err error
		f.layout, err = newLayout(f.spec.Layout, cfg.Zone)
		return err
	case fieldStatus, fieldKind, fieldDirection:
		p.signed = p.signed || id == fieldDirection && readsSign(f.spec, p.fields[fieldAmount].spec)
		return f.compileWords(allowedWords(id))
	case fieldCurrency:
		return f.compileCurrencies()
	case fieldAccount, fieldProviderID, fieldKey, fieldReference, fieldBatch, fieldRelated, fieldCount:
	}
	if f.spec.Value != nil {
		f.constant = word{raw: *f.spec.Value, value: *f.spec.Value}
		if strings.TrimSpace(*f.spec.Value) == "" {
			return errors.New("value: it is empty")
		}
	}
	if f.spec.Extract == "" {
		return nil
	}
	var err error
	f.extract, err = sources.NewExtractor(f.spec.Extract)
	return err
}

// checkKeys refuses what has no meaning for the field, instead of ignoring it.
func checkKeys(id fieldID, s *sources.Field) error {
	number := id == fieldAmount || id == fieldFee
	instant := id == fieldOccurred || id == fieldBooked || id == fieldSettled
	words := id == fieldStatus || id == fieldKind || id == fieldDirection || id == fieldCurrency
	text := !number && !instant && !words
	for _, c := range []struct {
		key        string
		set, fits  bool
		only       string
		constantOK bool
	}{
		{"decimal", s.Decimal != "", number, "amounts", false},
		{"group", s.Group != "", number, "amounts", false},
		{"layout", s.Layout != "", instant, "times", false},
		{"map", s.Map != nil, words, "status, kind, direction and currency", false},
		{"extract", s.Extract != "", text, "identifiers and references", false},
		{"fold", s.Fold != nil, id == fieldReference, "business_reference", false},
		{"unique_per", s.UniquePer != "", id == fieldProviderID, "provider_operation_id", false},
		{"value", s.Value != nil, words || id == fieldAccount || id == fieldBatch, "what can be the same in every row", true},
	} {
		switch {
		case c.set && !c.fits:
			return fmt.Errorf("%s: it is for %s only", c.key, c.only)
		case c.set && s.Value != nil && !c.constantOK:
			return fmt.Errorf("%s: it has no meaning for a constant value", c.key)
		}
	}
	if s.UniquePer != "" && s.UniquePer != "day" {
		return fmt.Errorf("unique_per: %q is not known; write day", s.UniquePer)
	}
	return nil
}

// readsSign reports that direction is declared as the sign of the amount: the
// same column, mapped from + and -.
func readsSign(direction, amount *sources.Field) bool {
	if direction.Column == nil || amount == nil || amount.Column == nil || *direction.Column != *amount.Column {
		return false
	}
	for key := range direction.Map {
		if key != "+" && key != "-" {
			return false
		}
	}
	return len(direction.Map) > 0
}

// allowedWords lists what a mapping may translate to.
func allowedWords(id fieldID) []string {
	var allowed []string
	switch id { //nolint:exhaustive // only fields of a closed set have words
	case fieldStatus:
		for _, s := range sources.Statuses() {
			allowed = append(allowed, string(s))
		}
	case fieldKind:
		for _, k := range sources.Kinds() {
			allowed = append(allowed, string(k))
		}
	case fieldDirection:
		allowed = []string{string(sources.Debit), string(sources.Credit)}
	}
	return allowed
}

func (f *field) compileWords(allowed []string) error {
	if f.spec.Value != nil {
		if !slices.Contains(allowed, *f.spec.Value) {
			return fmt.Errorf("value: %q is not one of %s", *f.spec.Value, strings.Join(allowed, ", "))
		}
		f.constant = word{value: *f.spec.Value} // not the provider's word
		return nil
	}
	f.words = make(map[string]word)
	if f.spec.Map == nil {
		for _, w := range allowed {
			f.words[w] = word{raw: w, value: w}
		}
		return nil
	}
	for from, to := range f.spec.Map {
		if !slices.Contains(allowed, to) {
			return fmt.Errorf("map: %q is not one of %s", to, strings.Join(allowed, ", "))
		}
		f.words[strings.TrimSpace(from)] = word{raw: from, value: to}
	}
	return nil
}

func (f *field) compileCurrencies() error {
	if f.spec.Value != nil {
		exponent, ok := money.Exponent(*f.spec.Value)
		if !ok {
			return fmt.Errorf("value: %q is not an ISO 4217 currency", *f.spec.Value)
		}
		f.constant = word{raw: *f.spec.Value, value: *f.spec.Value, exponent: exponent}
		return nil
	}
	if f.spec.Map == nil {
		return nil
	}
	f.words = make(map[string]word, len(f.spec.Map))
	for from, to := range f.spec.Map {
		exponent, ok := money.Exponent(to)
		if !ok {
			return fmt.Errorf("map: %q is not an ISO 4217 currency", to)
		}
		f.words[strings.TrimSpace(from)] = word{raw: from, value: to, exponent: exponent}
	}
	return nil
}

// footerRule recognises the footer and knows where it declares what.
type footerRule struct {
	match      *regexp.Regexp
	count, sum *sources.Column
}

func newFooterRule(footer *sources.Footer, m *sources.Mapping) (*footerRule, error) {
	if footer == nil {
		return nil, nil //nolint:nilnil // no rule is a rule: the file has no footer
	}
	if footer.Match == "" {
		return nil, errors.New("match: it is empty; write a regular expression for the first cell of the footer")
	}
	match, err := regexp.Compile(footer.Match)
	if err != nil {
		return nil, fmt.Errorf("match: %w", err)
	}
	if match.MatchString("") {
		return nil, fmt.Errorf("match: %q matches an empty cell too", footer.Match)
	}
	if footer.Sum != nil && m.Amount == nil {
		return nil, errors.New("sum: there is no field amount to sum up")
	}
	return &footerRule{match: match, count: footer.Count, sum: footer.Sum}, nil
}
