package config_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reconciler/config"
	"reconciler/sources"
	"reconciler/sources/csvformat"
)

// Every profile is a mapping that the format accepts, says what it is, and
// says nothing that only an account can know.
func TestProfiles(t *testing.T) {
	t.Parallel()
	profiles, err := config.Profiles()
	if err != nil {
		t.Fatal(err)
	}
	if len(profiles) < 14 {
		t.Fatalf("there are %d profiles, want at least 14", len(profiles))
	}
	for _, p := range profiles {
		if p.Title == "" || p.About == "" {
			t.Errorf("%s has no title or no description", p.Name)
		}
		if p.Source.SettlementLag != 0 || p.Source.Location != "" || len(p.Source.Accounts) > 0 {
			t.Errorf("%s says what only an account can know", p.Name)
		}
		cfg, err := config.FromProfile(p.Name, needed(t, p))
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		if err := build(cfg, p.Name); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
}

// needed are values for all that a profile asks for.
func needed(t *testing.T, p config.Profile) [][2]string {
	t.Helper()
	values := map[string]string{
		"accounts": "[main]", "timezone": "Europe/Berlin", "fields.business_reference": "{column: Description}",
		"fields.business_reference.extract": "ORD-[0-9]+", "fields.occurred_at.layout": `"02/01/2006 15:04:05"`,
	}
	var out [][2]string
	for key, reason := range p.Needs {
		value, ok := values[key]
		if !ok || reason == "" {
			t.Errorf("%s needs %s, which is not explained or not known", p.Name, key)
		}
		out = append(out, [2]string{key, value})
	}
	return out
}

const withProfile = `
database: {private: true}
sources:
  cards:
    location: statements/*.csv
    settlement_lag: 72h
`

func TestSourceOverridesItsProfile(t *testing.T) {
	t.Parallel()
	cfg, err := config.Parse("reconciler.yaml", []byte(withProfile+`
    profile: stripe-payments
    csv: {delimiter: ";"}
    fields:
      provider_operation_id: null
      business_reference: {column: Invoice Number}
      status: {map: {Blocked: failed, Pending: failed}}
      direction: {column: Side, map: {in: credit}}
      occurred_at: {layouts: ["02/01/2006 15:04"]}
      kind: {value: refund}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := cfg.Sources["cards"]
	credit, refund, date := sources.Column{Header: "Side"}, "refund", sources.Column{Header: "Created date (UTC)"}
	amount, currency, status, invoice := sources.Column{Header: "Amount"}, sources.Column{Header: "Currency"}, sources.Column{Header: "Status"}, sources.Column{Header: "Invoice Number"}
	want := sources.Mapping{
		BusinessReference: &sources.Field{Column: &invoice},
		Amount:            &sources.Field{Column: &amount},
		Currency:          &sources.Field{Column: &currency, AnyCase: true},
		Direction:         &sources.Field{Column: &credit, Map: map[string]string{"in": "credit"}},
		Kind:              &sources.Field{Value: &refund},
		Status: &sources.Field{Column: &status, AnyCase: true, Map: map[string]string{
			"Paid": "succeeded", "Failed": "failed", "Refunded": "reversed", "Pending": "failed", "Blocked": "failed",
		}},
		OccurredAt: &sources.Field{Column: &date, Layouts: []string{"02/01/2006 15:04"}},
	}
	if diff := cmp.Diff(want, got.Fields); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	if got.CSV.Delimiter != ";" || got.Timezone != "UTC" || got.Completeness.End != "assumed" || got.Format != "csv" {
		t.Errorf("source = %+v", got)
	}
}

// A profile is no more than what it says: a source that says the same without
// it is read the same.
func TestProfileIsNothingButItsKeys(t *testing.T) {
	t.Parallel()
	const own = "\n    fields: {business_reference: {column: Description}}\n    profile: stripe-payments\n"
	const spelled = `
    timezone: UTC
    fields:
      provider_operation_id: {column: id}
      business_reference: {column: Description}
      amount: {column: Amount}
      currency: {column: Currency, any_case: true}
      direction: {value: credit}
      kind: {value: payment}
      status: {column: Status, any_case: true, map: {Paid: succeeded, Failed: failed, Pending: pending, Refunded: reversed}}
      occurred_at: {column: "Created date (UTC)", layout: "2006-01-02 15:04:05"}
    completeness: {end: assumed}
`
	short, err := config.Parse("reconciler.yaml", []byte(withProfile+own), nil)
	if err != nil {
		t.Fatal(err)
	}
	long, err := config.Parse("reconciler.yaml", []byte(withProfile+spelled), nil)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := digest(t, long, "cards"), digest(t, short, "cards"); a != b {
		t.Errorf("the digest of the mapping is %s spelled out, %s by the profile", a, b)
	}
}

func digest(t *testing.T, cfg *config.Config, name string) string {
	t.Helper()
	format, err := csvformat.New(cfg.CSVConfig(name))
	if err != nil {
		t.Fatal(err)
	}
	return format.Digest()
}

// What the profile can't know is asked for; a source that has no use for it
// says so.
func TestNeedsOfAProfile(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, want string }{
		{"    profile: revolut\n    timezone: UTC\n", "sources.cards.fields.business_reference.extract: must be said with the profile revolut"},
		{"    profile: revolut\n    fields: {business_reference: {extract: 'ORD-[0-9]+'}}\n", "sources.cards.timezone: must be said with the profile revolut"},
		{"    profile: revolut\n    timezone: UTC\n    fields: {business_reference: null}\n", "has nothing by which a record could be found"},
		{"    profile: revolut\n    timezone: UTC\n    fields: {business_reference: null, idempotency_key: {column: Description}}\n", ""},
		{"    profile: revolut\n    timezone: UTC\n    fields: {business_reference: {extract: 'ORD-[0-9]+'}, fee: }\n", "has no value"},
		{"    profile: [revolut]\n", "must be a single value"},
		{"    profile: null\n", "has no value"},
	} {
		_, err := config.Parse("reconciler.yaml", []byte(withProfile+tc.text), nil)
		var bad *config.Error
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%q: %v", tc.text, err)
		case tc.want != "" && (!errors.As(err, &bad) || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%q: %v, want %q", tc.text, err, tc.want)
		}
	}
}

func TestFromProfile(t *testing.T) {
	t.Parallel()
	cfg, err := config.FromProfile("paypal-activity", [][2]string{
		{"fields.occurred_at.layout", `"02/01/2006 15:04:05"`}, {"csv.delimiter", `";"`}, {"csv.delimiter", `"\t"`}, {"fields.fee", "null"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := cfg.Sources["paypal-activity"]
	if got.CSV.Delimiter != "\t" || got.Fields.OccurredAt.Layout != "02/01/2006 15:04:05" || got.Fields.OccurredAt.TimeColumn == nil || got.Fields.Fee != nil {
		t.Errorf("source = %+v", got)
	}
	for _, tc := range []struct {
		name, key, value, want string
	}{
		{"paypal", "timezone", "UTC", `there is no profile "paypal"`},
		{"wise", "timezone", "Mars/Olympus", "is not a known time zone"},
		{"wise", "timezone.name", "UTC", "must be a single value"},
		{"wise", "location.x", "UTC", "something that has no keys stands on its way"},
		{"wise", "fields.fee", "{", "is not readable as YAML"},
		{"wise", "field", "x", "unknown key"},
	} {
		if _, err := config.FromProfile(tc.name, [][2]string{{tc.key, tc.value}}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("FromProfile(%s, %s=%s) = %v, want %q", tc.name, tc.key, tc.value, err, tc.want)
		}
	}
}
