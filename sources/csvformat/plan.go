package csvformat

import (
	"errors"
	"fmt"
	"slices"
	"strings"

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
	fieldNet
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
	words map[string]word
	// fallback is what a word outside of words means; nil: a reject.
	fallback *word
	anyCase  bool
	amount   amountRule
	time     timeRule
	constant word
}

// word is one translated word of the provider.
type word struct {
	raw, value string
	// exponent of value, where it is a currency; written is how many decimals
	// the provider gives it.
	exponent, written int
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
	rows     *rowRule
	// directed: the columns or marks of the amount say its direction.
	directed bool
}

// mapped reports whether the field comes from a column of its own.
func (f *field) mapped() bool { return f.spec != nil && f.spec.Column != nil }

// exponents are the decimals that the provider gives currencies.
func exponents(m *sources.Mapping) map[string]int {
	if m.Currency == nil {
		return nil
	}
	return m.Currency.Exponents
}

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
		fieldNet:        {name: "net", spec: m.Net},
		fieldBatch:      {name: "batch_id", spec: m.BatchID},
		fieldRelated:    {name: "related_id", spec: m.RelatedID},
	}
	var errs []error
	for id := range fieldCount {
		if err := p.compileField(id, cfg); err != nil {
			errs = append(errs, fmt.Errorf("fields.%s.%w", p.fields[id].name, err))
		}
	}
	p.directed = p.fields[fieldAmount].amount.sides != nil || p.fields[fieldAmount].amount.marks != nil || p.fields[fieldAmount].amount.unmarked != ""
	errs = append(errs, p.checkWhole(cfg))
	var err error
	if p.rows, err = newRowRule(cfg.Rows, m.Kind != nil); err != nil {
		errs = append(errs, fmt.Errorf("rows.%w", err))
	}
	if m.BusinessReference != nil {
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
	if has(fieldAmount) && !has(fieldCurrency) && p.fields[fieldAmount].amount.symbols == nil {
		errs = append(errs, errors.New("fields.currency: not mapped, but amounts need one; declare a column, currency: {value: EUR}, or amount.symbols"))
	}
	if has(fieldNet) && !has(fieldAmount) {
		errs = append(errs, errors.New("fields.net: mapped without amount"))
	}
	if p.directed && has(fieldDirection) {
		errs = append(errs, errors.New("fields.direction: the columns or marks of the amount say it already; remove one of the two"))
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
	if err := checkOrigin(id, f.spec); err != nil {
		return err
	}
	if err := checkKeys(id, f.spec); err != nil {
		return err
	}
	var err error
	f.anyCase = f.spec.AnyCase
	switch id {
	case fieldAmount, fieldFee, fieldNet:
		f.amount, err = newAmountRule(f.spec, exponents(&cfg.Mapping))
		return err
	case fieldOccurred, fieldBooked, fieldSettled:
		f.time, err = newTimeRule(f.spec, cfg.Zone)
		return err
	case fieldStatus, fieldKind, fieldDirection:
		p.signed = p.signed || id == fieldDirection && readsSign(f.spec, p.fields[fieldAmount].spec)
		return f.compileWords(allowedWords(id))
	case fieldCurrency:
		return f.compileCurrencies(f.spec.Exponents)
	case fieldAccount, fieldProviderID, fieldKey, fieldReference, fieldBatch, fieldRelated, fieldCount, noField:
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
	f.extract, err = sources.NewExtractor(f.spec.Extract)
	return err
}

// checkOrigin requires that a field comes from exactly one place.
func checkOrigin(id fieldID, s *sources.Field) error {
	origins := 0
	for _, set := range []bool{s.Column != nil, s.Value != nil, s.Debit != nil || s.Credit != nil, len(s.Columns) > 0} {
		if set {
			origins++
		}
	}
	if origins != 1 {
		return errors.New("column: declare exactly one of column and value")
	}
	for i := range s.Columns {
		if err := checkColumn(&s.Columns[i]); err != nil {
			return fmt.Errorf("columns: %w", err)
		}
	}
	switch {
	case (s.Debit != nil || s.Credit != nil) && id != fieldAmount && id != fieldNet:
		return errors.New("debit: it is for amount and net only")
	case len(s.Columns) > 0 && id != fieldFee:
		return errors.New("columns: it is for fee only")
	}
	for _, c := range []*sources.Column{s.Column, s.TimeColumn, s.ZoneColumn} {
		if c != nil {
			if err := checkColumn(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkKeys refuses what has no meaning for the field, instead of ignoring it.
func checkKeys(id fieldID, s *sources.Field) error {
	number := id == fieldAmount || id == fieldFee || id == fieldNet
	instant := id == fieldOccurred || id == fieldBooked || id == fieldSettled
	words := id == fieldStatus || id == fieldKind || id == fieldDirection || id == fieldCurrency
	text := !number && !instant && !words
	closed := words && id != fieldCurrency
	const ofAmounts, ofTimes, ofWords = "amounts", "times", "status, kind, direction and currency"
	for _, c := range []struct {
		key        string
		set, fits  bool
		only       string
		constantOK bool
	}{
		{"decimal", s.Decimal != "", number, ofAmounts, false},
		{"group", s.Group != "", number, ofAmounts, false},
		{"unit", s.Unit != "", number, ofAmounts, false},
		{"trailing_zeros", s.TrailingZeros, number, ofAmounts, false},
		{"marks", s.Marks != nil, id == fieldAmount || id == fieldNet, "amount and net", false},
		{"symbols", s.Symbols != nil, number, ofAmounts, false},
		{"equals", s.Equals != "", id == fieldNet, "net", false},
		{"exponents", s.Exponents != nil, id == fieldCurrency, "currency", true},
		{"layout", s.Layout != "", instant, ofTimes, false},
		{"layouts", s.Layouts != nil, instant, ofTimes, false},
		{"time_column", s.TimeColumn != nil, instant, ofTimes, false},
		{"timezone", s.Timezone != "", instant, ofTimes, false},
		{"zone_column", s.ZoneColumn != nil, instant, ofTimes, false},
		{"zones", s.Zones != nil, instant, ofTimes, false},
		{"map", s.Map != nil, words, ofWords, false},
		{"any_case", s.AnyCase, words, ofWords, false},
		{"default", s.Default != nil, closed, "status, kind and direction", false},
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
	if f.spec.Default != nil {
		if !slices.Contains(allowed, *f.spec.Default) {
			return fmt.Errorf("default: %q is not one of %s", *f.spec.Default, strings.Join(allowed, ", "))
		}
		f.fallback = &word{value: *f.spec.Default}
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
		if err := f.addWord(from, word{raw: from, value: to}); err != nil {
			return err
		}
	}
	return nil
}

// addWord refuses two entries that are the same word with different meanings.
func (f *field) addWord(from string, w word) error {
	key := strings.TrimSpace(from)
	if f.anyCase {
		key = strings.ToLower(key)
	}
	if other, ok := f.words[key]; ok && other.value != w.value {
		return fmt.Errorf("map: %q and %q are the same word with two meanings", from, other.raw)
	}
	f.words[key] = w
	return nil
}

func (f *field) compileCurrencies(exponents map[string]int) error {
	for code, digits := range exponents {
		if len(code) != 3 || strings.ToUpper(code) != code || digits < 0 || digits > maxExponent {
			return fmt.Errorf("exponents: %q: %d is not a code of three capital letters with 0 to %d decimals", code, digits, maxExponent)
		}
	}
	if f.spec.Value != nil {
		w, err := currencyWord(*f.spec.Value, exponents)
		if err != nil {
			return fmt.Errorf("value: %w", err)
		}
		f.constant = w
		return nil
	}
	if f.spec.Map == nil {
		return nil
	}
	f.words = make(map[string]word, len(f.spec.Map))
	for from, to := range f.spec.Map {
		w, err := currencyWord(to, exponents)
		if err != nil {
			return fmt.Errorf("map: %w", err)
		}
		if err := f.addWord(from, w); err != nil {
			return err
		}
	}
	return nil
}
