package csvformat_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"reconciler/sources"
	"reconciler/sources/csvformat"
)

func TestSmoke(t *testing.T) {
	h := func(s string) *sources.Column { return &sources.Column{Header: s} }
	v := func(s string) *string { return &s }
	zone, err := time.LoadLocation("Europe/Moscow")
	if err != nil {
		t.Fatal(err)
	}
	f, err := csvformat.New(csvformat.Config{
		Options: csvformat.Options{Delimiter: ";"},
		Mapping: sources.Mapping{
			ProviderOperationID: &sources.Field{Column: h("ID")},
			BusinessReference:   &sources.Field{Column: h("Purpose"), Extract: "application-[0-9]+"},
			Amount:              &sources.Field{Column: h("Amount"), Decimal: ",", Group: " "},
			Currency:            &sources.Field{Value: v("RUB")},
			Status:              &sources.Field{Column: h("State"), Map: map[string]string{"Executed": "succeeded"}},
			OccurredAt:          &sources.Field{Column: h("Date"), Layout: "02.01.2006"},
		},
		Completeness: sources.Completeness{
			Period: &sources.PeriodRule{Pattern: `acme-(?P<from>\d{4}-\d{2}-\d{2})_(?P<to>\d{4}-\d{2}-\d{2})`},
			Footer: &sources.Footer{Match: "^Total", Count: h("Purpose"), Sum: h("Amount")},
		},
		Zone: zone, Account: "main",
	})
	if err != nil {
		t.Fatal(err)
	}
	d := sources.Delivery{Name: "acme-2026-11-01_2026-11-02.csv"}
	t.Log(f.Period(d))
	r, err := f.Open(strings.NewReader("ID;Purpose;Amount;State;Date\nT1;pay application-17 thanks;1 000,50;Executed;01.11.2026\nT2;\"x\ny\";1,00;Foo;01.11.2026\nTotal;2;1001,50\n"), d)
	if err != nil {
		t.Fatal(err)
	}
	for {
		var rec sources.Record
		err := r.Next(&rec)
		t.Logf("%+v %v", rec, err)
		if errors.Is(err, io.EOF) {
			break
		}
	}
	s, err := r.Summary()
	t.Logf("%+v %v %v %v", s, err, *s.Declared.Count, *s.Computed.Sum)
}
