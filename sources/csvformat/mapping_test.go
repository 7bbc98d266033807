package csvformat_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reconciler/sources"
	"reconciler/sources/csvformat"
)

// field reads one row with one more column, which the change maps.
func readCell(t *testing.T, cell string, change ...func(*csvformat.Config)) result {
	t.Helper()
	return read(t, "ref,amount,currency,date,x\nR1,1.00,EUR,2026-11-01,"+cell+"\n", change...).accepted(t)
}

func TestReferences(t *testing.T) {
	t.Parallel()
	reference := func(f *sources.Field) func(*csvformat.Config) {
		return func(c *csvformat.Config) { c.Mapping.BusinessReference = f }
	}
	plain := byHeader("x")
	extracted := &sources.Field{Column: plain.Column, Extract: "application-[0-9]+"}
	folded := &sources.Field{Column: plain.Column, Fold: &sources.Fold{Case: true, Punctuation: true}}
	cut := &sources.Field{Column: plain.Column, Fold: &sources.Fold{Length: 5}}
	both := &sources.Field{Column: plain.Column, Extract: "[a-z]+-[0-9]+", Fold: &sources.Fold{Case: true}}
	for _, tt := range []struct {
		name, cell string
		field      *sources.Field
		raw        string
		folded     []string
	}{
		{"raw", "RF18 5390/a7", plain, "RF18 5390/a7", nil},
		{"empty", "", plain, "", nil},
		{"placeholder", "NOTPROVIDED", plain, "", nil},
		{"damaged", "1.23E+15", plain, "", nil},
		{"padded", "  R1  ", plain, "  R1  ", []string{"R1"}},
		{"A36 whole text", "2026/157-A.4 net", plain, "2026/157-A.4 net", nil},
		{"folded", "rf18 5390/a7", folded, "rf18 5390/a7", []string{"RF185390A7"}},
		{"folded placeholder", "not provided", folded, "", nil},
		{"cut", "ABCDE", cut, "ABCDE", []string{"ABCDE", "ABCDE…"}},
		{"not cut", "ABCD", cut, "ABCD", []string{"ABCD"}},
		{"extracted", "for application-17 thanks", extracted, "", []string{"application-17"}},
		{"nothing to extract", "thanks", extracted, "", nil},
		{"two extracted", "application-17 application-18", extracted, "", []string{"application-17", "application-18"}},
		{"part of a word", "application-17a", extracted, "", nil},
		{"extracted and folded", "for inv-17", both, "", []string{"INV-17"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := readCell(t, tt.cell, reference(tt.field))
			if len(got.Records) != 1 {
				t.Fatalf("rejects %v, want a record", got.Rejects)
			}
			rec := got.Records[0]
			if diff := cmp.Diff([]any{tt.raw, tt.folded}, []any{rec.BusinessReference, rec.FoldedReferences}); diff != "" {
				t.Errorf("references (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOurs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		cell, extract string
		want          bool
	}{
		{"application-17", "", true},
		{"foreign-17", "", false},
		{"NOTPROVIDED", "", false},
		{"for application-17", "application-[0-9]+", true},
		{"for foreign-17", "application-[0-9]+", false},
	} {
		got := readCell(t, tt.cell, func(c *csvformat.Config) {
			c.Unjournaled = "application-[0-9]+"
			c.Mapping.BusinessReference = &sources.Field{Column: &sources.Column{Header: "x"}, Extract: tt.extract}
		})
		if got.Records[0].Ours != tt.want {
			t.Errorf("%q: Ours = %v, want %v", tt.cell, got.Records[0].Ours, tt.want)
		}
	}
}

func TestCells(t *testing.T) {
	t.Parallel()
	words := map[string]string{"Executed": "succeeded", "": "pending"}
	for _, tt := range []struct {
		name, cell string
		change     func(*csvformat.Config)
		// reject is the field and a word of the reason; empty: a record.
		reject [2]string
		check  func(sources.Record) bool
	}{
		{
			"status in the map", " Executed ", func(c *csvformat.Config) { c.Mapping.Status = withMap(byHeader("x"), words) },
			[2]string{},
			func(r sources.Record) bool { return r.Status == sources.Succeeded && r.ProviderStatus == "Executed" },
		},
		{
			"empty status in the map", "", func(c *csvformat.Config) { c.Mapping.Status = withMap(byHeader("x"), words) },
			[2]string{},
			func(r sources.Record) bool { return r.Status == sources.Pending },
		},
		{"status not in the map", "executed", func(c *csvformat.Config) { c.Mapping.Status = withMap(byHeader("x"), words) }, [2]string{"status", `"executed" is not in map`}, nil},
		{
			"status without a map", "failed", func(c *csvformat.Config) { c.Mapping.Status = byHeader("x") },
			[2]string{},
			func(r sources.Record) bool { return r.Status == sources.Failed },
		},
		{"empty status", "", func(c *csvformat.Config) { c.Mapping.Status = byHeader("x") }, [2]string{"status", "empty"}, nil},
		{
			"kind", "refund", func(c *csvformat.Config) { c.Mapping.Kind = byHeader("x") },
			[2]string{},
			func(r sources.Record) bool { return r.Kind == sources.KindRefund },
		},
		{"kind not known", "gift", func(c *csvformat.Config) { c.Mapping.Kind = byHeader("x") }, [2]string{"kind", "gift"}, nil},
		{
			"kind constant", "", func(c *csvformat.Config) { c.Mapping.Kind = constant("payment") },
			[2]string{},
			func(r sources.Record) bool { return r.Kind == sources.KindPayment },
		},
		{
			"direction constant", "", func(c *csvformat.Config) { c.Mapping.Direction = constant("debit") },
			[2]string{},
			func(r sources.Record) bool { return r.Direction == sources.Debit },
		},
		{"sign constant", "", func(c *csvformat.Config) { c.Mapping.Currency = constant("JPY") }, [2]string{"amount", "more decimals"}, nil},
		{"currency map", "$", func(c *csvformat.Config) {
			c.Mapping.Currency = withMap(byHeader("x"), map[string]string{"$": "USD"})
		}, [2]string{}, func(r sources.Record) bool { return r.Currency == "USD" && r.AmountMinor == 100 }},
		{"currency not in the map", "€", func(c *csvformat.Config) {
			c.Mapping.Currency = withMap(byHeader("x"), map[string]string{"$": "USD"})
		}, [2]string{"currency", "€"}, nil},
		{"B05 empty currency", "", func(c *csvformat.Config) { c.Mapping.Currency = byHeader("x") }, [2]string{"currency", "empty"}, nil},
		{"unknown currency", "EURO", func(c *csvformat.Config) { c.Mapping.Currency = byHeader("x") }, [2]string{"currency", "ISO 4217"}, nil},
		{
			"withdrawn currency", "BGN", func(c *csvformat.Config) { c.Mapping.Currency = byHeader("x") },
			[2]string{},
			func(r sources.Record) bool { return r.Currency == "BGN" },
		},
		{
			"fee", "-0.25", func(c *csvformat.Config) { c.Mapping.Fee = byHeader("x") },
			[2]string{},
			func(r sources.Record) bool { return r.HasFee && r.FeeMinor == 25 },
		},
		{
			"no fee", "", func(c *csvformat.Config) { c.Mapping.Fee = byHeader("x") },
			[2]string{},
			func(r sources.Record) bool { return !r.HasFee },
		},
		{"fee unreadable", "free", func(c *csvformat.Config) { c.Mapping.Fee = byHeader("x") }, [2]string{"fee", "free"}, nil},
		{
			"not settled yet", "", func(c *csvformat.Config) { c.Mapping.SettledAt = byHeader("x") },
			[2]string{},
			func(r sources.Record) bool { return r.SettledAt.IsZero() },
		},
		{
			"settled", "2026-11-03T10:00:00+01:00", func(c *csvformat.Config) { c.Mapping.SettledAt = byHeader("x") },
			[2]string{},
			func(r sources.Record) bool { return r.SettledAt.Equal(time.Date(2026, 11, 3, 9, 0, 0, 0, time.UTC)) },
		},
		{"settled unreadable", "soon", func(c *csvformat.Config) { c.Mapping.SettledAt = byHeader("x") }, [2]string{"settled_at", `"soon" does not have the declared layout`}, nil},
		{"occurred empty", "", func(c *csvformat.Config) { c.Mapping.OccurredAt = byHeader("x") }, [2]string{"occurred_at", "empty"}, nil},
		{"zero month is a value", "0000-00-00", func(c *csvformat.Config) { c.Mapping.OccurredAt = withLayout(byHeader("x"), "2006-01-02") }, [2]string{"occurred_at", "calendar"}, nil},
		{"hour out of range", "2026-11-01 25:00", func(c *csvformat.Config) { c.Mapping.OccurredAt = withLayout(byHeader("x"), "2006-01-02 15:04") }, [2]string{"occurred_at", "calendar"}, nil},
		{"booked empty without occurred", "", func(c *csvformat.Config) {
			c.Mapping.OccurredAt, c.Mapping.BookedAt = nil, byHeader("x")
		}, [2]string{"booked_at", "empty"}, nil},
		{
			"id padded", "  T1 ", func(c *csvformat.Config) { c.Mapping.ProviderOperationID = byHeader("x") },
			[2]string{},
			func(r sources.Record) bool { return r.ProviderOperationID == "T1" },
		},
		{"id extracted", "tx:T1;", func(c *csvformat.Config) {
			c.Mapping.ProviderOperationID = &sources.Field{Column: byHeader("x").Column, Extract: "tx:([A-Z0-9]+)"}
		}, [2]string{}, func(r sources.Record) bool { return r.ProviderOperationID == "T1" }},
		{"two ids extracted", "tx:T1 tx:T2", func(c *csvformat.Config) {
			c.Mapping.ProviderOperationID = &sources.Field{Column: byHeader("x").Column, Extract: "tx:([A-Z0-9]+)"}
		}, [2]string{"provider_operation_id", "different"}, nil},
		{
			"echoed key", "v1:ab", func(c *csvformat.Config) { c.Mapping.IdempotencyKey = byHeader("x") },
			[2]string{},
			func(r sources.Record) bool { return r.IdempotencyKey == "v1:ab" },
		},
		{
			"batch constant", "", func(c *csvformat.Config) { c.Mapping.BatchID = constant("B1") },
			[2]string{},
			func(r sources.Record) bool { return r.BatchID == "B1" },
		},
		{
			"account constant", "", func(c *csvformat.Config) { c.Mapping.Account = constant("acc") },
			[2]string{},
			func(r sources.Record) bool { return r.Account == "acc" },
		},
		{
			"default account", "", func(*csvformat.Config) {},
			[2]string{},
			func(r sources.Record) bool { return r.Account == "main" },
		},
		{"control character", "T\x07", func(c *csvformat.Config) { c.Mapping.ProviderOperationID = byHeader("x") }, [2]string{"provider_operation_id", "0x07"}, nil},
		{
			"no amount mapped", "", func(c *csvformat.Config) { c.Mapping.Amount, c.Mapping.Currency = nil, nil },
			[2]string{},
			func(r sources.Record) bool { return !r.HasAmount && r.Currency == "" },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := readCell(t, tt.cell, tt.change)
			if tt.reject[0] != "" {
				if len(got.Rejects) != 1 || got.Rejects[0].Field != tt.reject[0] || !strings.Contains(got.Rejects[0].Reason, tt.reject[1]) || got.Rejects[0].Line != 2 {
					t.Errorf("records %+v, rejects %v; want a reject of %q at line 2", got.Records, got.Rejects, tt.reject)
				}
				return
			}
			if len(got.Records) != 1 || !tt.check(got.Records[0]) {
				t.Errorf("records %+v, rejects %v", got.Records, got.Rejects)
			}
		})
	}
}

func TestSignsOfAmounts(t *testing.T) {
	t.Parallel()
	rows := columnLine + "R1,-1.00,EUR,2026-11-01\nR2,2.00,EUR,2026-11-01\n"
	got := read(t, rows).accepted(t)
	if len(got.Rejects) != 1 || !strings.Contains(got.Rejects[0].Reason, "no direction is mapped") || len(got.Records) != 1 ||
		got.Records[0].Direction != sources.DirectionUnknown {
		t.Errorf("no direction: records %+v, rejects %v; want the negative one rejected", got.Records, got.Rejects)
	}
	got = read(t, rows, signed).accepted(t)
	if diff := cmp.Diff(map[string]int64{"R1": -100, "R2": 200}, got.amounts()); diff != "" {
		t.Errorf("by sign (-want +got):\n%s", diff)
	}
	onlyMinus := func(c *csvformat.Config) {
		c.Mapping.Direction = withMap(byHeader("amount"), map[string]string{"-": "debit"})
	}
	got = read(t, rows, onlyMinus).accepted(t)
	if len(got.Rejects) != 1 || got.Rejects[0].Field != "direction" || got.Rejects[0].Line != 3 {
		t.Errorf("rejects %v, want the positive one", got.Rejects)
	}
	if got := read(t, rows, func(c *csvformat.Config) { c.Mapping.Direction = constant("debit") }).accepted(t); len(got.Rejects) != 1 {
		t.Errorf("constant direction: rejects %v, want the negative one", got.Rejects)
	}
	// Computed sums are signed as written.
	if got := read(t, rows, signed).accepted(t); *got.Summary.Computed.Sum != 100 {
		t.Errorf("sum %d, want 100", *got.Summary.Computed.Sum)
	}
}

func TestNewNamesEveryMistake(t *testing.T) {
	t.Parallel()
	minus := -1
	for _, tt := range []struct {
		name   string
		change func(*csvformat.Config)
		want   string
	}{
		{"delimiter", func(c *csvformat.Config) { c.Options.Delimiter = ";;" }, "csv.delimiter:"},
		{"delimiter is a letter", func(c *csvformat.Config) { c.Options.Delimiter = "x" }, "csv.delimiter:"},
		{"delimiter is a quote", func(c *csvformat.Config) { c.Options.Delimiter = `"` }, "csv.delimiter:"},
		{"delimiter is a line end", func(c *csvformat.Config) { c.Options.Delimiter = "\n" }, "csv.delimiter:"},
		{"delimiter is no ASCII", func(c *csvformat.Config) { c.Options.Delimiter = "¦" }, "csv.delimiter:"},
		{"encoding", func(c *csvformat.Config) { c.Options.Encoding = "utf-9" }, "csv.encoding:"},
		{"header row", func(c *csvformat.Config) { c.Options.HeaderRow = &minus }, "csv.header_row:"},
		{"quote", func(c *csvformat.Config) { c.Options.Quote = "'" }, "csv.quote:"},
		{"headers without a header", headerRow(0), "fields.amount.column:"},
		{"footer's headers without a header", func(c *csvformat.Config) {
			headerRow(0)(c)
			numbered(c)
			footer("x", "a", "")(c)
		}, "completeness.footer.count:"},
		{"no status", func(c *csvformat.Config) { c.Mapping.Status = nil }, "fields.status:"},
		{"status value", func(c *csvformat.Config) { c.Mapping.Status = constant("done") }, "fields.status.value:"},
		{"status map", func(c *csvformat.Config) {
			c.Mapping.Status = withMap(byHeader("x"), map[string]string{"a": "done"})
		}, "fields.status.map:"},
		{"kind value", func(c *csvformat.Config) { c.Mapping.Kind = constant("gift") }, "fields.kind.value:"},
		{"direction value", func(c *csvformat.Config) { c.Mapping.Direction = constant("out") }, "fields.direction.value:"},
		{"currency value", func(c *csvformat.Config) { c.Mapping.Currency = constant("eur") }, "fields.currency.value:"},
		{"currency map", func(c *csvformat.Config) {
			c.Mapping.Currency = withMap(byHeader("x"), map[string]string{"€": "EURO"})
		}, "fields.currency.map:"},
		{"no currency", func(c *csvformat.Config) { c.Mapping.Currency = nil }, "fields.currency:"},
		{"fee without amount", func(c *csvformat.Config) {
			c.Mapping.Amount, c.Mapping.Fee = nil, byHeader("x")
		}, "fields.fee:"},
		{"no time", func(c *csvformat.Config) { c.Mapping.OccurredAt = nil }, "fields.occurred_at:"},
		{"no reference", func(c *csvformat.Config) { c.Mapping.BusinessReference = nil }, "fields.business_reference:"},
		{"no account", func(c *csvformat.Config) { c.Account = "" }, "fields.account:"},
		{"neither column nor value", func(c *csvformat.Config) { c.Mapping.Kind = &sources.Field{} }, "fields.kind.column:"},
		{"column and value", func(c *csvformat.Config) {
			c.Mapping.Kind = constant("payment")
			c.Mapping.Kind.Column = &sources.Column{Number: 1}
		}, "fields.kind.column:"},
		{"empty column", func(c *csvformat.Config) { c.Mapping.Kind = byHeader(" ") }, "fields.kind.column:"},
		{"negative column", func(c *csvformat.Config) { c.Mapping.Kind = byNumber(-1) }, "fields.kind.column:"},
		{"constant amount", func(c *csvformat.Config) { c.Mapping.Amount = constant("1") }, "fields.amount.value:"},
		{"constant reference", func(c *csvformat.Config) { c.Mapping.BusinessReference = constant("R") }, "fields.business_reference.value:"},
		{"empty constant", func(c *csvformat.Config) { c.Mapping.BatchID = constant(" ") }, "fields.batch_id.value:"},
		{"marks", numbers(".", "."), "fields.amount.group:"},
		{"decimal of a text", func(c *csvformat.Config) { c.Mapping.BatchID = withNumber(byHeader("x"), ",", "") }, "fields.batch_id.decimal:"},
		{"layout of an amount", func(c *csvformat.Config) { c.Mapping.Amount = withLayout(byHeader("amount"), "2006") }, "fields.amount.layout:"},
		{"layout without a year", dates("02.01."), "fields.occurred_at.layout:"},
		{"layout of another language", dates("dd.mm.yyyy"), "fields.occurred_at.layout:"},
		{"layout without PM", dates("2006-01-02 03:04"), "fields.occurred_at.layout:"},
		{"layout with a zone and no hours", dates("2006-01-02 -07"), "fields.occurred_at.layout:"},
		{"map of a text", func(c *csvformat.Config) {
			c.Mapping.BatchID = withMap(byHeader("x"), map[string]string{"a": "b"})
		}, "fields.batch_id.map:"},
		{"extract of an amount", func(c *csvformat.Config) { c.Mapping.Amount = &sources.Field{Column: byNumber(1).Column, Extract: "x"} }, "fields.amount.extract:"},
		{"extract is broken", func(c *csvformat.Config) {
			c.Mapping.BatchID = &sources.Field{Column: byNumber(1).Column, Extract: "["}
		}, "fields.batch_id.compile extract:"},
		{"fold of an id", func(c *csvformat.Config) {
			c.Mapping.ProviderOperationID = &sources.Field{Column: byNumber(1).Column, Fold: &sources.Fold{}}
		}, "fields.provider_operation_id.fold:"},
		{"fold length", func(c *csvformat.Config) { c.Mapping.BusinessReference.Fold = &sources.Fold{Length: -1} }, "fields.business_reference.fold.length:"},
		{"unique per", func(c *csvformat.Config) {
			c.Mapping.ProviderOperationID = &sources.Field{Column: byNumber(1).Column, UniquePer: "week"}
		}, "fields.provider_operation_id.unique_per:"},
		{"period pattern", func(c *csvformat.Config) { c.Completeness.Period = &sources.PeriodRule{Pattern: "["} }, "completeness.period.pattern:"},
		{"period without groups", func(c *csvformat.Config) { c.Completeness.Period = &sources.PeriodRule{Pattern: "x"} }, "completeness.period.pattern:"},
		{"period with half a pair", func(c *csvformat.Config) {
			c.Completeness.Period = &sources.PeriodRule{Pattern: "(?P<from>.)(?P<day>.)"}
		}, "completeness.period.pattern:"},
		{"period layout", func(c *csvformat.Config) {
			c.Completeness.Period = &sources.PeriodRule{Pattern: "(?P<day>.)", Layout: "x"}
		}, "completeness.period.layout:"},
		{"day with hours", func(c *csvformat.Config) {
			c.Completeness.Period = &sources.PeriodRule{Pattern: "(?P<day>.)", Layout: "20060102T15"}
		}, "completeness.period.layout:"},
		{"footer without match", footer("", "amount", ""), "completeness.footer.match:"},
		{"footer's match", footer("[", "amount", ""), "completeness.footer.match:"},
		{"footer's match of everything", footer("x*", "amount", ""), "completeness.footer.match:"},
		{"footer's sum of nothing", func(c *csvformat.Config) {
			footer("x", "", "amount")(c)
			c.Mapping.Amount, c.Mapping.Currency = nil, nil
		}, "completeness.footer.sum:"},
		{"nothing proves the end", func(c *csvformat.Config) { c.Completeness.End = "" }, "completeness.end:"},
		{"proven without a proof", func(c *csvformat.Config) { c.Completeness.End = "proven" }, "completeness.end:"},
		{"end", func(c *csvformat.Config) { c.Completeness.End = "maybe" }, "completeness.end:"},
		{"unjournaled", func(c *csvformat.Config) { c.Unjournaled = "[" }, "unjournaled.pattern:"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := csvformat.New(simple(tt.change))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("New() = %v, want an error with %s", err, tt.want)
			}
		})
	}
	_, err := csvformat.New(simple(delimiter(";;"), numbers("x", ""), footer("[", "", "")))
	for _, want := range []string{"csv.delimiter", "fields.amount.decimal", "completeness.footer.match"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New() = %v, want every mistake named, %s too", err, want)
		}
	}
}

func TestPeriod(t *testing.T) {
	t.Parallel()
	pair := `acme-(?P<from>[^_]+)_(?P<to>[^_]+)\.csv`
	for _, tt := range []struct {
		name, pattern, layout, file, zone string
		from, to                          string
		refused                           string
	}{
		{"dates are inclusive", pair, "", "acme-2026-11-01_2026-11-02.csv", "Europe/Moscow", "2026-10-31T21:00:00Z", "2026-11-02T21:00:00Z", ""},
		{"one day", pair, "", "acme-2026-11-01_2026-11-01.csv", "UTC", "2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z", ""},
		{"a day of 25 hours", `(?P<day>\d{4}-\d\d-\d\d)`, "", "in/2026-10-25.csv", "Europe/Berlin", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z", ""},
		{"instants", pair, "", "acme-2026-11-01T00:00:00Z_2026-11-01T06:00:00+03:00.csv", "UTC", "2026-11-01T00:00:00Z", "2026-11-01T03:00:00Z", ""},
		{"own layout", `(?P<day>\d{8})`, "20060102", "STL-20261101.01.009.CSV", "UTC", "2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z", ""},
		{"own layout with hours", `(?P<from>\d{10})-(?P<to>\d{10})`, "2006010215", "2026110106-2026110112", "Europe/Moscow", "2026-11-01T03:00:00Z", "2026-11-01T09:00:00Z", ""},
		{"another name", pair, "", "copy of acme.csv", "UTC", "", "", "does not match completeness.period.pattern"},
		{"backwards", pair, "", "acme-2026-11-03_2026-11-01.csv", "UTC", "", "", "ends before it begins"},
		{"no date", pair, "", "acme-2026-11-31_2026-12-01.csv", "UTC", "", "", `"2026-11-31"`},
		{"month out of range", pair, "", "acme-2026-11-01_2026-13-01.csv", "UTC", "", "", `"2026-13-01"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFormat(t, simple(inZone(t, tt.zone), func(c *csvformat.Config) {
				c.Completeness.Period = &sources.PeriodRule{Pattern: tt.pattern, Layout: tt.layout}
			}))
			got, err := f.Period(sources.Delivery{Name: tt.file})
			if tt.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tt.refused) {
					t.Errorf("Period(%s) = %v, %v; want a refusal with %s", tt.file, got, err, tt.refused)
				}
				readAll(t, f, strings.NewReader(twoRows), sources.Delivery{Name: tt.file}).wantRefusal(t, tt.refused)
				return
			}
			if err != nil || got.From.Format(time.RFC3339) != tt.from || got.To.Format(time.RFC3339) != tt.to {
				t.Errorf("Period(%s) = %v, %v; want [%s, %s)", tt.file, got, err, tt.from, tt.to)
			}
		})
	}
	if p, err := newFormat(t, simple()).Period(sources.Delivery{Name: "x"}); err != nil || !p.IsZero() {
		t.Errorf("without a rule: %v, %v; want an unknown period", p, err)
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	one := 1
	base := newFormat(t, simple()).Digest()
	for name, change := range map[string]func(*csvformat.Config){
		"nothing":           func(*csvformat.Config) {},
		"default delimiter": delimiter(","),
		"default encoding":  inEncoding("UTF8"),
		"default header":    func(c *csvformat.Config) { c.Options.HeaderRow = &one },
		"default quote":     func(c *csvformat.Config) { c.Options.Quote = "double" },
		"zone by name":      inZone(t, "UTC"),
	} {
		if got := newFormat(t, simple(change)).Digest(); got != base {
			t.Errorf("%s: digest %s, want %s as before", name, got, base)
		}
	}
	seen := map[string]string{base: "nothing"}
	for name, change := range map[string]func(*csvformat.Config){
		"delimiter": delimiter(";"), "encoding": inEncoding("cp1251"), "header row": headerRow(2),
		"quote":        func(c *csvformat.Config) { c.Options.Quote = "none" },
		"zone":         inZone(t, "Europe/Moscow"),
		"column":       func(c *csvformat.Config) { c.Mapping.BusinessReference = byHeader("x") },
		"number":       func(c *csvformat.Config) { c.Mapping.BusinessReference = byNumber(1) },
		"decimal":      numbers(",", ""),
		"layout":       dates("02.01.2006"),
		"map":          func(c *csvformat.Config) { c.Mapping.Kind = withMap(byHeader("x"), map[string]string{"a": "fee"}) },
		"other map":    func(c *csvformat.Config) { c.Mapping.Kind = withMap(byHeader("x"), map[string]string{"a": "payout"}) },
		"fold":         func(c *csvformat.Config) { c.Mapping.BusinessReference.Fold = &sources.Fold{Case: true} },
		"footer":       footer("^T", "amount", ""),
		"other footer": footer("^T", "", "amount"),
		"account":      func(c *csvformat.Config) { c.Account = "second" },
		"accounts":     func(c *csvformat.Config) { c.Accounts = []string{"main"} },
		"pattern":      func(c *csvformat.Config) { c.Unjournaled = "x" },
	} {
		got := newFormat(t, simple(change)).Digest()
		if other, ok := seen[got]; ok {
			t.Errorf("%s has the digest of %s", name, other)
		}
		seen[got] = name
	}
	if name := newFormat(t, simple()).Name(); name != "csv" {
		t.Errorf("Name() = %s, want csv", name)
	}
}
