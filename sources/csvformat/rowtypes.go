package csvformat

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"reconciler/sources"
)

// rowRule says by a column what a row is.
type rowRule struct {
	column  *sources.Column
	words   map[string]rowType
	anyCase bool
	// prefixes are words that end in *, the longest first.
	prefixes []rowPrefix
	// fallback is what all other words are; nil: a reject.
	fallback *rowType
}

// rowType is what a row is: skipped, or a record; an empty kind is the
// business of the field kind.
type rowType struct {
	skip bool
	kind sources.Kind
}

type rowPrefix struct {
	text string
	to   rowType
}

func newRowRule(rows *sources.Rows, hasKind bool) (*rowRule, error) {
	if rows == nil {
		return nil, nil //nolint:nilnil // no rule is a rule: every row is a record
	}
	if err := checkColumn(rows.Column); err != nil {
		return nil, err
	}
	if len(rows.Map) == 0 {
		return nil, errors.New("map: it is empty; write what each type of row is")
	}
	r := &rowRule{column: rows.Column, anyCase: rows.AnyCase, words: make(map[string]rowType, len(rows.Map))}
	for text, target := range rows.Map {
		to, err := rowTypeOf(target, hasKind)
		if err != nil {
			return nil, fmt.Errorf("map: %w", err)
		}
		key := strings.TrimSpace(text)
		if r.anyCase {
			key = strings.ToLower(key)
		}
		if prefix, ok := strings.CutSuffix(key, "*"); ok {
			r.prefixes = append(r.prefixes, rowPrefix{text: prefix, to: to})
			continue
		}
		if other, ok := r.words[key]; ok && other != to {
			return nil, fmt.Errorf("map: %q is there twice, with two meanings", text)
		}
		r.words[key] = to
	}
	slices.SortFunc(r.prefixes, func(x, y rowPrefix) int {
		if n := len(y.text) - len(x.text); n != 0 {
			return n
		}
		return strings.Compare(x.text, y.text)
	})
	if rows.Default != "" {
		to, err := rowTypeOf(rows.Default, hasKind)
		if err != nil {
			return nil, fmt.Errorf("default: %w", err)
		}
		r.fallback = &to
	}
	return r, nil
}

func rowTypeOf(target string, hasKind bool) (rowType, error) {
	switch target {
	case sources.RowSkip:
		return rowType{skip: true}, nil
	case sources.RowRecord:
		return rowType{}, nil
	}
	kind := sources.Kind(target)
	switch {
	case !slices.Contains(sources.Kinds(), kind):
		return rowType{}, fmt.Errorf("%q is neither a kind nor record nor skip", target)
	case hasKind:
		return rowType{}, fmt.Errorf("%q is a kind, but fields.kind is mapped too; write record, or remove fields.kind", target)
	}
	return rowType{kind: kind}, nil
}

// rowType finds what a row is; ok is false if its word is not known.
func (r *reader) rowType(cells [][]byte) (t rowType, ok bool) {
	rule := r.format.plan.rows
	cell := trim(cells[r.rowColumn])
	if rule.anyCase {
		cell = []byte(strings.ToLower(string(cell)))
	}
	if t, ok = rule.words[string(cell)]; ok {
		return t, true
	}
	for _, p := range rule.prefixes {
		if strings.HasPrefix(string(cell), p.text) {
			return p.to, true
		}
	}
	if rule.fallback != nil {
		return *rule.fallback, true
	}
	return rowType{}, false
}
