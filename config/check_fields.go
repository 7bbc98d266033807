package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"reconciler/money"
	"reconciler/sources"
)

// mapped is one configured field of a source.
type mapped struct {
	name  string
	path  keyPath
	field *sources.Field
}

// mappedFields lists the configured fields, in the order of sources.Mapping.
func mappedFields(p keyPath, m *sources.Mapping) []mapped {
	var out []mapped
	v := reflect.ValueOf(m).Elem()
	for i, name := range fieldNames(v.Type()) {
		if field, ok := v.Field(i).Interface().(*sources.Field); ok && field != nil && name != "" {
			out = append(out, mapped{name: name, path: p.key(name), field: field})
		}
	}
	return out
}

func checkFields(log *ledger, p keyPath, s Source) {
	at := p.key("fields")
	m := &s.Fields
	for _, f := range mappedFields(at, m) {
		f.check(log)
	}
	if m.Status == nil {
		log.problem(at.key("status"), "must be said; map the provider's words ({column: State, map: {Executed: succeeded}}), or give one for all rows ({value: succeeded})")
	}
	if m.ProviderOperationID == nil && m.IdempotencyKey == nil && m.BusinessReference == nil {
		log.problem(at, "has nothing by which a record could be found; map provider_operation_id, idempotency_key or business_reference")
	}
	if m.Fee != nil && m.Amount == nil {
		log.problem(at.key("amount"), "must be said where a fee is; name its column")
	}
	if m.Amount != nil && m.Currency == nil && len(m.Amount.Symbols) == 0 {
		log.problem(at.key("currency"), "must be said where an amount is; name its column, or give one for all rows ({value: EUR})")
	}
	switch {
	case s.DatedBy == sources.ByBooking && m.BookedAt == nil && m.OccurredAt == nil:
		log.problem(at.key("booked_at"), "must be said where dated_by is booked (or at least occurred_at); name its column")
	case s.DatedBy == sources.ByOccurrence && m.OccurredAt == nil:
		log.problem(at.key("occurred_at"), "must be said where dated_by is occurred; name its column, or say dated_by: booked")
	}
	if !log.said(p.key("timezone")) && hasLocalTimes(m) {
		log.warn(p.key("timezone"), "is not said, and times without a zone are read as UTC; name the zone in which this provider keeps its days")
	}
}

func hasLocalTimes(m *sources.Mapping) bool {
	for _, f := range []*sources.Field{m.OccurredAt, m.BookedAt, m.SettledAt} {
		if f == nil || f.Timezone != "" || f.ZoneColumn != nil || f.Zones != nil {
			continue
		}
		for _, layout := range append([]string{f.Layout}, f.Layouts...) {
			zoned := strings.Contains(layout, "Z07") || strings.Contains(layout, "-07") || isEpoch(layout)
			if layout != "" && !zoned {
				return true
			}
		}
	}
	return false
}

// The names of fields that share a form.
func isAmount(name string) bool { return name == "amount" || name == "fee" || name == "net" }

func isTime(name string) bool { return strings.HasSuffix(name, "_at") }

// isWord: the field has one of a few values.
func isWord(name string) bool { return targets(name) != nil || name == "currency" }

// targets lists the words that a field's map may lead to; nil if any may.
func targets(name string) []string {
	switch name {
	case "status":
		return asWords(sources.Statuses())
	case "kind":
		return asWords(sources.Kinds())
	case "direction":
		return asWords([]sources.Direction{sources.Debit, sources.Credit})
	}
	return nil
}

func asWords[T ~string](values []T) []string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	return words
}

func (f mapped) check(log *ledger) {
	switch {
	case f.field.Column == nil && f.field.Value == nil && f.field.Debit == nil && f.field.Credit == nil && len(f.field.Columns) == 0:
		log.problem(f.path, "says neither column nor value; write one of them")
	case f.field.Column != nil && f.field.Value != nil:
		log.problem(f.path, "says both column and value; keep one of them")
	}
	f.checkValue(log)
	f.checkMap(log)
	f.checkExtract(log)
	f.checkAmount(log)
	f.checkTime(log)
	f.checkReference(log)
}

// misplaced refuses options that have no effect on this field.
func (f mapped) misplaced(log *ledger, where string, options ...string) {
	for _, option := range options {
		if p := f.path.key(option); log.said(p) {
			log.problem(p, "has no effect here; it belongs to %s", where)
		}
	}
}

func (f mapped) checkValue(log *ledger) {
	if f.field.Value == nil {
		return
	}
	p := f.path.key("value")
	for _, option := range []string{"extract", "map", "decimal", "group", "layout", "fold", "unique_per"} {
		if at := f.path.key(option); log.said(at) {
			log.problem(at, "has no effect on a constant value; write the final value")
		}
	}
	checkText(log, p, *f.field.Value, "write the value of every row, or remove the field")
	switch {
	case !isWord(f.name) && f.name != "account" && f.name != "batch_id":
		log.problem(p, "the same %s in every row can't be right; name a column", f.name)
	case f.name == "currency":
		f.checkCurrency(log, p, *f.field.Value)
	case targets(f.name) != nil:
		checkWord(log, p, *f.field.Value, targets(f.name))
	}
}

func (f mapped) checkMap(log *ledger) {
	p := f.path.key("map")
	if !isWord(f.name) {
		f.misplaced(log, "status, kind, direction and currency", "map")
		return
	}
	if !log.said(p) {
		return
	}
	if len(f.field.Map) == 0 {
		log.problem(p, "is empty; translate the provider's words, or remove it")
	}
	for _, word := range slices.Sorted(maps.Keys(f.field.Map)) {
		target := f.field.Map[word]
		if known := targets(f.name); known != nil {
			checkWord(log, p.key(word), target, known)
		} else {
			f.checkCurrency(log, p.key(word), target)
		}
	}
}

func (f mapped) checkCurrency(log *ledger, p keyPath, code string) {
	_, known := money.Exponent(code)
	if _, declared := f.field.Exponents[code]; !known && !declared {
		log.problem(p, "%s is not an ISO 4217 currency; write its three capital letters: EUR", log.show(p, code))
	}
}

func (f mapped) checkExtract(log *ledger) {
	if isWord(f.name) || isAmount(f.name) || isTime(f.name) {
		f.misplaced(log, "identifiers and references", "extract")
	} else if p := f.path.key("extract"); log.said(p) {
		checkFilled(log, p, f.field.Extract)
	}
}

func (f mapped) checkAmount(log *ledger) {
	if !isAmount(f.name) {
		f.misplaced(log, "amount, fee and net", "decimal", "group")
		return
	}
	format := money.NumberFormat{Decimal: f.field.Decimal, Group: f.field.Group}
	if err := format.Check(); err != nil {
		log.problem(f.path, "%v", err)
	}
}

func (f mapped) checkTime(log *ledger) {
	if !isTime(f.name) {
		f.misplaced(log, "the fields that end in _at", "layout")
		return
	}
	if p := f.path.key("layout"); log.said(p) {
		checkLayout(log, p, f.field.Layout)
	}
}

func (f mapped) checkReference(log *ledger) {
	if f.name != "business_reference" {
		f.misplaced(log, "business_reference", "fold")
	}
	if p := f.path.key("unique_per"); f.name != "provider_operation_id" {
		f.misplaced(log, "provider_operation_id", "unique_per")
	} else if log.said(p) {
		checkWord(log, p, f.field.UniquePer, []string{"day"})
	}
	if f.field.Fold != nil && f.field.Fold.Length < 0 {
		log.problem(f.path.key("fold", "length"), "is negative; write the number of characters that the provider keeps")
	}
}

// checkLayout refuses a layout from which a day can't be read back: it is
// usually one in the letters of another language.
func checkLayout(log *ledger, p keyPath, layout string) {
	if isEpoch(layout) {
		return
	}
	probe := time.Date(2031, time.November, 28, 17, 46, 39, 0, time.UTC)
	read, err := time.Parse(layout, probe.Format(layout))
	const form = `%s can't be read as a time; write the moment Mon Jan 2 15:04:05 2006 as the provider would: "02.01.2006", "2006-01-02 15:04:05"`
	switch {
	case err != nil || read.Year() != 2031 || read.Month() != time.November || read.Day() != 28:
		log.problem(p, form, log.show(p, layout))
	case read.Hour() == 0 && !sameText(layout, probe, probe.In(time.FixedZone("XYZ", 3600))):
		log.problem(p, "%s has a zone but no hours; add the hours, or leave the zone out", log.show(p, layout))
	case read.Hour() != 0 && read.Hour() != 17:
		log.problem(p, "%s has a 12-hour clock without AM or PM; write 15 for the hour, or add PM", log.show(p, layout))
	}
}

// isEpoch: the times are numbers since 1970.
func isEpoch(layout string) bool { return layout == "unix" || layout == "unix_ms" }

// sameText reports whether a layout writes two instants alike.
func sameText(layout string, a, b time.Time) bool { return a.Format(layout) == b.Format(layout) }
