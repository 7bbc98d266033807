package config

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"reconciler/money"
	"reconciler/sources"
)

// decoder writes a YAML tree into the structs of this package and of package
// sources, by their yaml tags. The parser's own decoder is not used: it knows
// lines but no paths, its messages speak of Go types, and package sources
// can't carry methods of a YAML library. Every value's place goes into the
// ledger, which later checks use to tell "not said" from "said to be zero".
type decoder struct {
	*ledger
	env Env
	dir string
}

func (d *decoder) decode(root *yaml.Node, cfg *Config) {
	if root.Kind != yaml.MappingNode {
		d.fault(nil, "must be a mapping with the sections database, sources, policies, jobs")
		return
	}
	d.decodeInto(root, cfg)
}

// decodeInto decodes a tree into what target points to.
func (d *decoder) decodeInto(root *yaml.Node, target any) {
	d.value(root, nil, reflect.ValueOf(target).Elem())
}

// value decodes n, which stands at p, into a settable value.
func (d *decoder) value(n *yaml.Node, p keyPath, into reflect.Value) {
	if len(p) > 0 && !d.said(p) {
		d.lines[p.index()] = n.Line
	}
	if n.Style&yaml.TaggedStyle != 0 {
		d.fault(p, "has the tag %s; tags are not used in this file, remove it", n.Tag)
		return
	}
	if isNull(n) {
		d.fault(p, "has no value; write one, or remove the key")
		return
	}
	if d.special(n, p, into) {
		return
	}
	switch into.Kind() { //nolint:exhaustive // the kinds that configuration structs have; anything else is refused below
	case reflect.Pointer:
		target := reflect.New(into.Type().Elem())
		d.value(n, p, target.Elem())
		into.Set(target)
	case reflect.Struct:
		d.structure(n, p, into)
	case reflect.Map:
		d.dictionary(n, p, into)
	case reflect.Slice:
		d.list(n, p, into)
	case reflect.String, reflect.Int, reflect.Bool:
		d.scalar(n, p, into)
	default:
		d.fault(p, "can't be configured in this version; remove the key")
	}
}

// special decodes the types that have a form of their own in the file, and
// reports whether into is one of them.
func (d *decoder) special(n *yaml.Node, p keyPath, into reflect.Value) bool {
	var parse func(text string) (any, string)
	switch into.Interface().(type) {
	case time.Duration:
		parse = parseDuration
	case Switch:
		parse = parseSwitch
	case Size:
		parse = parseSize
	case money.Decimal:
		parse = func(text string) (any, string) {
			decimal, err := money.ParseDecimal(text)
			if err != nil {
				return nil, "is not a decimal number; write it with a point: 0.50"
			}
			return decimal, ""
		}
	case sources.Column:
		parse = func(text string) (any, string) { return parseColumn(n, text) }
	default:
		return false
	}
	text, ok := d.text(n, p)
	if !ok {
		return true
	}
	result, wrong := parse(text)
	if wrong != "" {
		d.fault(p, "%s %s", d.show(p, text), wrong)
		return true
	}
	into.Set(reflect.ValueOf(result))
	return true
}

// text is the expanded text of a scalar, exactly as it is written: 0.010 keeps
// its zero and NO is no boolean.
func (d *decoder) text(n *yaml.Node, p keyPath) (string, bool) {
	if n.Kind != yaml.ScalarNode {
		d.fault(p, "must be a single value, not %s", describeNode(n))
		return "", false
	}
	text, err := d.expand(n.Value)
	if err != nil {
		d.fault(p, "%v", err)
		return "", false
	}
	if text != n.Value {
		d.raws[p.index()] = n.Value
	}
	return text, true
}

func (d *decoder) scalar(n *yaml.Node, p keyPath, into reflect.Value) {
	text, ok := d.text(n, p)
	if !ok {
		return
	}
	switch into.Kind() { //nolint:exhaustive // value calls this for three kinds only
	case reflect.String:
		into.SetString(text)
	case reflect.Int:
		number, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			d.fault(p, "%s is not a whole number", d.show(p, text))
			return
		}
		into.SetInt(number)
	case reflect.Bool:
		switch strings.ToLower(text) {
		case "true":
			into.SetBool(true)
		case "false":
			into.SetBool(false)
		default:
			d.fault(p, "%s must be true or false", d.show(p, text))
		}
	}
}

func (d *decoder) list(n *yaml.Node, p keyPath, into reflect.Value) {
	if n.Kind != yaml.SequenceNode {
		d.fault(p, "must be a list, not %s; write [one, two]", describeNode(n))
		return
	}
	out := reflect.MakeSlice(into.Type(), len(n.Content), len(n.Content))
	for i, child := range n.Content {
		d.value(child, p.item(i), out.Index(i))
	}
	into.Set(out)
}

func (d *decoder) dictionary(n *yaml.Node, p keyPath, into reflect.Value) {
	out := reflect.MakeMap(into.Type())
	d.entries(n, p, func(name string, child *yaml.Node, at keyPath) {
		value := reflect.New(into.Type().Elem()).Elem()
		d.value(child, at, value)
		out.SetMapIndex(reflect.ValueOf(name).Convert(into.Type().Key()), value)
	})
	into.Set(out)
}

func (d *decoder) structure(n *yaml.Node, p keyPath, into reflect.Value) {
	fields := fieldNames(into.Type())
	var meant []keyPath
	d.entries(n, p, func(name string, child *yaml.Node, at keyPath) {
		i := slices.Index(fields, name)
		if i >= 0 && name != "" {
			d.value(child, at, into.Field(i))
			return
		}
		d.fault(at, "unknown key%s", suggest(name, fields))
		if known := closest(name, fields); known != "" {
			meant = append(meant, p.key(known))
		}
	})
	// A key that is misspelt is not missing too.
	for _, path := range meant {
		if !d.said(path) {
			d.broken[path.index()] = true
		}
	}
}

// entries calls do for each key of a mapping, once.
func (d *decoder) entries(n *yaml.Node, p keyPath, do func(name string, child *yaml.Node, at keyPath)) {
	if n.Kind != yaml.MappingNode {
		d.fault(p, "must be a mapping (key: value), not %s", describeNode(n))
		return
	}
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, child := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			d.problemAt(key.Line, p, "has a key that is %s; keys are single words", describeNode(key))
			continue
		}
		at := p.key(key.Value)
		if line, ok := first[key.Value]; ok {
			d.problemAt(key.Line, at, "is said twice, first in line %d; remove one", line)
			continue
		}
		first[key.Value] = key.Line
		d.lines[at.index()] = key.Line
		do(key.Value, child, at)
	}
}

// fieldNames gives the key of every field, in order; "" for a field that is
// not configured.
func fieldNames(t reflect.Type) []string {
	names := make([]string, t.NumField())
	for i := range names {
		field := t.Field(i)
		if !field.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		if name != "-" {
			names[i] = name
		}
	}
	return names
}

func describeNode(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		return "a single value"
	case yaml.DocumentNode, yaml.AliasNode, yaml.StreamNode:
		return "something else"
	}
	return "something else"
}
