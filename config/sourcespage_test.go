package config_test

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"reconciler/config"
	"reconciler/sources"
)

// The page on sources speaks of every key that a mapping can have.
func TestSourcesPageHasEveryKey(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/sources.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []any{
		sources.CSV{},
		sources.Header{},
		sources.Rows{},
		sources.Mapping{},
		sources.Field{},
		sources.Side{},
		sources.Fold{},
		sources.Completeness{},
		sources.PeriodRule{},
		sources.Place{},
		sources.Footer{},
		sources.Balances{},
		sources.Sequence{},
		sources.Manifest{},
		sources.Parts{},
		config.Unpack{},
	} {
		typ := reflect.TypeOf(one)
		for i := range typ.NumField() {
			key, _, _ := strings.Cut(typ.Field(i).Tag.Get("yaml"), ",")
			if !regexp.MustCompile("`" + key + "`|\\b" + key + ":").Match(page) {
				t.Errorf("docs/sources.md does not name %s (%s)", key, typ.Name())
			}
		}
	}
}
