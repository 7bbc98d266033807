package sources

import (
	"fmt"
	"iter"
)

// NamedColumns yields every column that a source names, with its key below the
// source ("fields.amount.column", "completeness.footer.count").
func NamedColumns(m *Mapping, rows *Rows, c *Completeness) iter.Seq2[string, *Column] {
	return func(yield func(string, *Column) bool) {
		for _, named := range allColumns(m, rows, c) {
			if named.column != nil && !yield(named.key, named.column) {
				return
			}
		}
	}
}

type namedColumn struct {
	key    string
	column *Column
}

func allColumns(m *Mapping, rows *Rows, c *Completeness) []namedColumn {
	var out []namedColumn
	add := func(key string, column *Column) { out = append(out, namedColumn{key, column}) }
	for _, f := range m.Fields() {
		if f.Field == nil {
			continue
		}
		key := "fields." + f.Name
		add(key+".column", f.Field.Column)
		if f.Field.Debit != nil {
			add(key+".debit.column", f.Field.Debit.Column)
		}
		if f.Field.Credit != nil {
			add(key+".credit.column", f.Field.Credit.Column)
		}
		for i := range f.Field.Columns {
			add(fmt.Sprintf("%s.columns.[%d]", key, i), &f.Field.Columns[i])
		}
		add(key+".time_column", f.Field.TimeColumn)
		add(key+".zone_column", f.Field.ZoneColumn)
	}
	if rows != nil {
		add("rows.column", rows.Column)
	}
	place := func(key string, p *Place) {
		if p != nil {
			add("completeness."+key+".column", p.Column)
		}
	}
	if p := c.Period; p != nil && p.Cells != nil {
		place("period.cells.from", p.Cells.From)
		place("period.cells.to", p.Cells.To)
	}
	if p := c.Period; p != nil && p.Columns != nil {
		add("completeness.period.columns.from", p.Columns.From)
		add("completeness.period.columns.to", p.Columns.To)
	}
	if f := c.Footer; f != nil {
		add("completeness.footer.count", f.Count)
		add("completeness.footer.sum", f.Sum)
		add("completeness.footer.debit", f.Debit)
		add("completeness.footer.credit", f.Credit)
	}
	place("as_of", c.AsOf)
	place("count", c.Count)
	place("sum", c.Sum)
	if b := c.Balances; b != nil {
		place("balances.opening", b.Opening)
		place("balances.closing", b.Closing)
		add("completeness.balances.running", b.Running)
	}
	if s := c.Sequence; s != nil {
		add("completeness.sequence.column", s.Column)
	}
	return out
}

// NamedField is a field of the mapping with its key; Field is nil where it is
// not mapped.
type NamedField struct {
	Name  string
	Field *Field
}

// Fields lists all fields of the mapping, in its order.
func (m *Mapping) Fields() []NamedField {
	return []NamedField{
		{"account", m.Account},
		{"provider_operation_id", m.ProviderOperationID},
		{"idempotency_key", m.IdempotencyKey},
		{"business_reference", m.BusinessReference},
		{"amount", m.Amount},
		{"currency", m.Currency},
		{"direction", m.Direction},
		{"kind", m.Kind},
		{"status", m.Status},
		{"occurred_at", m.OccurredAt},
		{"booked_at", m.BookedAt},
		{"settled_at", m.SettledAt},
		{"fee", m.Fee},
		{"net", m.Net},
		{"batch_id", m.BatchID},
		{"related_id", m.RelatedID},
	}
}
