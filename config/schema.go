package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/invopop/jsonschema"

	"reconciler/money"
	"reconciler/sources"
)

// schemaID names the schema; nothing is served there.
const schemaID = "https://reconciler.invalid/schema/reconciler.yaml.json"

// Schema is the JSON Schema (draft 2020-12) of the file, indented, for editors
// and for checks without the program. It knows the form of every key; what
// only Load can know (that a source exists, that an expression compiles) is
// not in it.
func Schema() ([]byte, error) {
	texts := descriptions()
	reflector := jsonschema.Reflector{
		FieldNameTag:               "yaml",
		RequiredFromJSONSchemaTags: true,
		ExpandedStruct:             true,
		Anonymous:                  true,
		Mapper:                     mapType,
		LookupComment: func(t reflect.Type, field string) string {
			if field == "" {
				return texts[t.Name()]
			}
			return texts[t.Name()+"."+field]
		},
	}
	schema := reflector.Reflect(&Config{})
	schema.ID = schemaID
	schema.Title = "reconciler.yaml"
	closeSets(schema)
	for _, object := range objects(schema) {
		for pair := object.Properties.Oldest(); pair != nil; pair = pair.Next() {
			pair.Value = allowReference(pair.Value)
		}
	}
	allowParts(schema)
	data, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("marshal the JSON Schema: %w", err)
	}
	return append(data, '\n'), nil
}

// objects lists the root and every definition.
func objects(schema *jsonschema.Schema) []*jsonschema.Schema {
	out := []*jsonschema.Schema{schema}
	for _, definition := range schema.Definitions {
		if definition.Properties != nil {
			out = append(out, definition)
		}
	}
	return out
}

// mapType gives the form of the types that the decoder reads in a special way.
func mapType(t reflect.Type) *jsonschema.Schema {
	one := uint64(1)
	switch t {
	case reflect.TypeFor[time.Duration]():
		return &jsonschema.Schema{Type: "string", Pattern: `^([0-9]+d)?([0-9.]+(ns|us|µs|ms|s|m|h))*$`, MinLength: &one, Examples: []any{"90s", "72h", "30d"}}
	case reflect.TypeFor[money.Decimal]():
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string", Pattern: `^[0-9]+(\.[0-9]+)?$`}, {Type: "number", Minimum: "0"}}}
	case reflect.TypeFor[sources.Column]():
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
			{Type: "string", MinLength: &one, Description: "A header of the document."},
			{Type: "integer", Minimum: "1", Description: "The number of a column, from 1."},
		}}
	case reflect.TypeFor[Size]():
		return &jsonschema.Schema{Type: "string", Pattern: `^[0-9]+ ?[KMGT]iB$`, Examples: []any{"512MiB", "8GiB"}}
	case reflect.TypeFor[Secret]():
		return &jsonschema.Schema{Type: "string", MinLength: &one, WriteOnly: true}
	case reflect.TypeFor[Switch]():
		// YAML 1.1 readers take a plain on and off for booleans.
		return &jsonschema.Schema{Enum: []any{"on", "off", true, false}, Default: "on"}
	}
	return nil
}

// closeSets adds what reflection can't see: the closed sets of words, the
// least values, and texts that people write as numbers.
func closeSets(schema *jsonschema.Schema) {
	property := func(definition, key string) *jsonschema.Schema {
		d, ok := schema.Definitions[definition]
		if !ok {
			return &jsonschema.Schema{}
		}
		value, ok := d.Properties.Get(key)
		if !ok {
			return &jsonschema.Schema{}
		}
		return value
	}
	for _, set := range wordSets() {
		enum := make([]any, len(set.words))
		for i, word := range set.words {
			enum[i] = word
		}
		p := property(set.definition, set.key)
		if p.Items != nil {
			p.Items.Enum = enum
			continue
		}
		p.Enum, p.Type = enum, ""
		if set.standard != "" {
			p.Default = set.standard
		}
	}
	property("CSV", "header_row").Minimum = "0"
	property("Header", "within").Minimum = "1"
	property("Place", "row").Minimum = "1"
	property("Unpack", "max_ratio").Minimum = "1"
	property("Policy", "max_attempts").Minimum = "1"
	property("Fold", "length").Minimum = "0"
	text := &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, {Type: "number"}}}
	property("Source", "accounts").Items = text
	value := property("Field", "value")
	value.Type, value.AnyOf = "", text.AnyOf
	if database, ok := schema.Definitions["Database"]; ok {
		database.AnyOf = []*jsonschema.Schema{{Required: []string{"url"}}, {Required: []string{"private"}}}
	}
	if field, ok := schema.Definitions["Field"]; ok {
		field.OneOf = []*jsonschema.Schema{
			{Required: []string{"column"}}, {Required: []string{"value"}}, {Required: []string{"debit", "credit"}}, {Required: []string{"columns"}},
		}
	}
}

// wordSet is a key whose value is one of a closed set of words.
type wordSet struct {
	definition, key string
	words           []string
	standard        string
}

func wordSets() []wordSet {
	directions := []string{string(sources.Debit), string(sources.Credit)}
	return []wordSet{
		{"Source", "format", []string{"csv"}, "csv"},
		{"CSV", "quote", []string{quoteDouble, quoteSingle, quoteNone}, quoteDouble},
		{"CSV", "ragged", []string{"refuse", "reject"}, "refuse"},
		{"CSV", "repeated_header", []string{"refuse", "skip"}, "refuse"},
		{"Side", "sign", []string{"none", "minus", "any"}, "none"},
		{"Field", "unit", []string{"major", "minor"}, "major"},
		{"Field", "equals", []string{"amount + fee", "amount - fee"}, "amount + fee"},
		{"PeriodRule", "daily", []string{"occurred_at", "booked_at", "settled_at"}, ""},
		{"Balances", "order", []string{"ascending", "descending"}, "ascending"},
		{"Balances", "of", []string{"amount", "net"}, "amount"},
		{"Sequence", "order", []string{"ascending", "descending"}, "ascending"},
		{"Source", "dated_by", []string{string(sources.ByOccurrence), string(sources.ByBooking)}, string(sources.ByOccurrence)},
		{"Completeness", "end", []string{endProven, endAssumed}, endProven},
		{"Field", "unique_per", []string{"day"}, ""},
		{"Field", "decimal", []string{".", ","}, "."},
		{"Policy", "class", classWords(), "financial"},
		{"Policy", "on_absent", absentWords(), ""},
		{"Policy", "retry_needs", needWords(), ""},
		{"Policy", "sender_deadline", []string{senderEnforced}, ""},
		{"Effect", "kind", asWords(sources.Kinds()), ""},
		{"Effect", "direction", directions, ""},
		{"Report", "formats", reportFormats(), ""},
	}
}

// allowReference lets ${NAME} stand where the form alone would forbid it.
func allowReference(s *jsonschema.Schema) *jsonschema.Schema {
	narrow := len(s.Enum) > 0 || s.Pattern != "" || s.Type == "integer" || s.Type == "boolean" || (len(s.AnyOf) > 0 && s.Type == "")
	if !narrow {
		return s
	}
	inner := *s
	inner.Description, inner.Default, inner.Examples = "", nil, nil
	reference := &jsonschema.Schema{Type: "string", Pattern: `\$\{[^}]+\}`}
	return &jsonschema.Schema{
		Description: s.Description, Default: s.Default, Examples: s.Examples,
		AnyOf: []*jsonschema.Schema{&inner, reference},
	}
}
