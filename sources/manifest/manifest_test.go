package manifest_test

import (
	"strings"
	"testing"

	"reconciler/sources"
	"reconciler/sources/manifest"
)

func TestNewNamesTheKey(t *testing.T) {
	t.Parallel()
	for want, bad := range map[string]sources.Manifest{
		"name: ":                                 {Name: "done"},
		"name: a file does not vouch":            {Name: "{name}"},
		"count: error parsing":                   {Name: "{name}.done", Count: "("},
		`size: "[0-9]+" must have one group`:     {Name: "{name}.done", Size: "[0-9]+"},
		`sha256: "(a)(b)" must have one group (`: {Name: "{name}.done", SHA256: "(a)(b)"},
	} {
		if _, err := manifest.New(&bad); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("New(%+v) = %v, want an error with %q", bad, err, want)
		}
	}
	if rule, err := manifest.New(nil); rule != nil || err != nil {
		t.Errorf("New(nil) = %v, %v; want none", rule, err)
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	for form, want := range map[string]string{"{name}.done": "a.b.csv.done", "{stem}.ctl": "a.b.ctl", "control_{name}": "control_a.b.csv"} {
		rule, err := manifest.New(&sources.Manifest{Name: form})
		if err != nil {
			t.Fatal(err)
		}
		if got := rule.Name(sources.Delivery{Name: "in/2026/a.b.csv"}); got != want {
			t.Errorf("%s: %s, want %s", form, got, want)
		}
	}
}
