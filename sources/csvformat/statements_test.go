package csvformat_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"reconciler/money"
	"reconciler/sources"
	"reconciler/sources/csvformat"
)

var update = flag.Bool("update", false, "write the golden files anew")

const statementsDir = "../../testdata/statements"

// statement is a file as a provider writes it, and how it is read.
type statement struct {
	file string
	cfg  csvformat.Config
}

// statements lists the files of testdata/statements.
func statements(tb testing.TB) []statement {
	tb.Helper()
	zone := func(name string) *time.Location {
		z, err := time.LoadLocation(name)
		if err != nil {
			tb.Fatal(err)
		}
		return z
	}
	period := func(pattern, layout string) *sources.PeriodRule {
		return &sources.PeriodRule{Pattern: pattern, Layout: layout}
	}
	column := func(name string) *sources.Column { return &sources.Column{Header: name} }
	three, none := 3, 0
	acme := csvformat.Config{
		Options: sources.CSV{Delimiter: ";", Encoding: "windows-1251", HeaderRow: &three},
		Mapping: sources.Mapping{
			ProviderOperationID: byHeader("ID"),
			BusinessReference:   &sources.Field{Column: column("Purpose"), Extract: "application-[0-9]+"},
			Amount:              withNumber(byHeader("Amount"), ",", " "),
			Currency:            constant("RUB"),
			Status:              withMap(byHeader("State"), map[string]string{"Executed": "succeeded", "Rejected": "failed", "Processing": "pending"}),
			OccurredAt:          withLayout(byHeader("Date"), "02.01.2006"),
		},
		Completeness: sources.Completeness{
			Period: period(`acme-(?P<from>\d{4}-\d{2}-\d{2})_(?P<to>\d{4}-\d{2}-\d{2})`, ""),
			Footer: &sources.Footer{Match: "^Total", Count: column("Purpose"), Sum: column("Amount")},
		},
		Zone: zone("Europe/Moscow"), Account: "main",
	}
	cards := csvformat.Config{
		Mapping: sources.Mapping{
			ProviderOperationID: byHeader("id"), BusinessReference: byHeader("merchant_ref"),
			Amount: byHeader("gross"), Fee: byHeader("fee"), Currency: byHeader("currency"), Kind: byHeader("type"),
			Status:     withMap(byHeader("state"), map[string]string{"paid": "succeeded", "pending": "pending"}),
			OccurredAt: byHeader("created"), SettledAt: withLayout(byHeader("settled"), "2006-01-02"),
		},
		Completeness: sources.Completeness{
			Period: period(`cards-(?P<day>\d{4}-\d{2}-\d{2})`, ""), Footer: &sources.Footer{Match: "^END$", Count: column("merchant_ref")},
		},
		Account: "main", Unjournaled: "^application-",
	}
	umsatz := csvformat.Config{
		Options: sources.CSV{Delimiter: ";", Encoding: "iso-8859-15"},
		Mapping: sources.Mapping{
			Account: byHeader("Konto"), BusinessReference: &sources.Field{Column: column("Verwendungszweck"), Extract: `EREF\+(\S+)`},
			Amount: withNumber(byHeader("Betrag"), ",", "."), Currency: byHeader("Währung"),
			Direction: withMap(byHeader("Betrag"), map[string]string{"-": "debit", "+": "credit"}),
			Status:    constant("succeeded"), OccurredAt: withLayout(byHeader("Buchungstag"), "02.01.06"),
			SettledAt: withLayout(byHeader("Wertstellung"), "02.01.06"), RelatedID: byHeader("Referenz"),
		},
		Completeness: sources.Completeness{
			Period: period(`umsatz_(?P<day>\d{8})`, "20060102"), Footer: &sources.Footer{Match: "^Summe$", Sum: column("Betrag")},
		},
		Zone: zone("Europe/Berlin"), Accounts: []string{"DE01"},
	}
	listing := csvformat.Config{
		Options: sources.CSV{Delimiter: "\t"},
		Mapping: sources.Mapping{
			BusinessReference: byHeader("Reference"), Amount: byHeader("Amount"), Currency: byHeader("Currency"),
			Status: constant("succeeded"), OccurredAt: withLayout(byHeader("Occurred"), "2006-01-02 15:04:05"),
		},
		Completeness: sources.Completeness{
			Period: period(`listing_(?P<day>\d{4}-\d{2}-\d{2})`, ""),
			Footer: &sources.Footer{Match: "^TOTAL$", Sum: column("Amount"), Count: column("Occurred")},
		},
		Zone: zone("America/New_York"), Account: "main",
	}
	tickets := csvformat.Config{
		Options: sources.CSV{HeaderRow: &none},
		Mapping: sources.Mapping{
			BusinessReference: byNumber(2), OccurredAt: withLayout(byNumber(3), "2006-01-02"),
			Status: withMap(byNumber(4), map[string]string{"open": "succeeded", "closed": "succeeded"}), Kind: constant("ticket"),
		},
		Completeness: sources.Completeness{
			Period: period(`tickets-(?P<day>\d{4}-\d{2}-\d{2})`, ""), Footer: &sources.Footer{Match: "^trailer$", Count: &sources.Column{Number: 2}},
		},
		Account: "main",
	}
	return append(moreStatements(zone), []statement{
		{"acme-2026-11-01_2026-11-02.csv", acme},
		{"acme-2026-11-03_2026-11-03.csv", acme},
		{"cards-2026-11-03.csv", cards},
		{"umsatz_20261104.csv", umsatz},
		{"listing_2026-11-05.txt", listing},
		{"tickets-2026-11-06.csv", tickets},
	}...)
}

// moreStatements are files with sections, balances and types of rows.
func moreStatements(zone func(string) *time.Location) []statement {
	column := func(name string) *sources.Column { return &sources.Column{Header: name} }
	place := func(match string, column int) *sources.Place {
		return &sources.Place{Match: match, Column: &sources.Column{Number: column}}
	}
	settlement := csvformat.Config{
		Options: sources.CSV{Header: &sources.Header{Contains: []string{"CH", "Transaction ID"}}, Ignore: "^(RH|FH|SH|SF|SC|RF|RC)$"},
		Rows:    &sources.Rows{Column: column("Event Code"), Map: map[string]string{"T00*": "payment", "T11*": "reversal", "T04*": "payout"}},
		Mapping: sources.Mapping{
			ProviderOperationID: byHeader("Transaction ID"), BusinessReference: byHeader("Invoice ID"), Currency: byHeader("Currency"),
			Amount: &sources.Field{Column: column("Gross Amount"), Unit: "minor"}, Fee: &sources.Field{Column: column("Fee Amount"), Unit: "minor"},
			Direction: withMap(byHeader("Debit or Credit"), map[string]string{"DR": "debit", "CR": "credit"}),
			Status:    constant("succeeded"), OccurredAt: withLayout(byHeader("Initiation Date"), "2006/01/02 15:04:05 -0700"),
		},
		Completeness: sources.Completeness{
			Period: &sources.PeriodRule{
				Cells:  &sources.PeriodCells{From: place(`^"SH"`, 2), To: place(`^"SH"`, 3)},
				Layout: "2006/01/02 15:04:05 -0700", Inclusive: true,
			},
			Footer: &sources.Footer{Match: "^FF$", Count: &sources.Column{Number: 2}},
		},
		Zone: zone("America/Los_Angeles"), Account: "main",
	}
	konto := csvformat.Config{
		Options: sources.CSV{Delimiter: ";", Encoding: "windows-1252", Header: &sources.Header{Contains: []string{"Buchung", "Saldo"}}},
		Mapping: sources.Mapping{
			BusinessReference: &sources.Field{Column: column("Zweck"), Extract: `EREF\+(\S+)`},
			Amount: &sources.Field{
				Debit: &sources.Side{Column: column("Soll"), Sign: "minus"}, Credit: &sources.Side{Column: column("Haben")},
				Decimal: ",", Group: ".", Symbols: map[string]string{"EUR": "EUR", "": "EUR"},
			},
			Currency: byHeader("Währung"), Status: constant("succeeded"), OccurredAt: withLayout(byHeader("Buchung"), "02.01.2006"),
		},
		Completeness: sources.Completeness{
			Period: &sources.PeriodRule{Cells: &sources.PeriodCells{
				From: &sources.Place{Match: `^Zeitraum;(\S+)`}, To: &sources.Place{Match: `^Zeitraum;\S+ - (\S+)`},
			}, Layout: "02.01.2006"},
			Balances: &sources.Balances{
				Opening: place(`^Kontostand am 01\.11`, 2), Closing: place(`^Kontostand am 30\.11`, 2),
				Running: column("Saldo"), Order: "descending",
			},
			Sequence: &sources.Sequence{Column: column("Nr"), Order: "descending"},
		},
		Zone: zone("Europe/Berlin"), Account: "main",
	}
	dollars := func(name string) *sources.Field {
		return &sources.Field{Column: column(name), Group: ",", Symbols: map[string]string{"$": "USD"}}
	}
	wallet := csvformat.Config{
		Options: sources.CSV{Delimiter: "|", Header: &sources.Header{Match: `^Date\|`}, Unwrap: true},
		Rows:    &sources.Rows{Column: column("Type"), Map: map[string]string{"General Payment": "payment", "Refund": "refund", "Hold": "skip"}},
		Mapping: sources.Mapping{
			ProviderOperationID: byHeader("ID"), BusinessReference: byHeader("Reference"), RelatedID: byHeader("Related"),
			Amount: dollars("Gross"), Fee: dollars("Fee"), Net: dollars("Net"), Currency: &sources.Field{Column: column("Currency"), AnyCase: true},
			Direction: withMap(byHeader("Gross"), map[string]string{"-": "debit", "+": "credit"}),
			Status:    &sources.Field{Column: column("State"), Map: map[string]string{"Completed": "succeeded", "Denied": "failed"}, AnyCase: true},
			OccurredAt: &sources.Field{
				Column: column("Date"), TimeColumn: column("Time"), ZoneColumn: column("Zone"), Layout: "02.01.2006 3:04:05 PM",
				Zones: map[string]string{"PST": "-08:00", "CET": "Europe/Paris"},
			},
		},
		Completeness: sources.Completeness{Count: &sources.Place{Match: `rows: (\d+)$`}, Period: &sources.PeriodRule{Pattern: `wallet_(?P<day>[0-9-]+)`}},
		Zone:         zone("America/Los_Angeles"), Account: "main",
	}
	return []statement{
		{"settlement-20261107.csv", settlement},
		{"konto_2026-11.csv", konto},
		{"wallet_2026-11-05.psv", wallet},
	}
}

func (s statement) read(tb testing.TB) []byte {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(statementsDir, s.file))
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

func TestStatements(t *testing.T) {
	t.Parallel()
	for _, s := range statements(t) {
		t.Run(s.file, func(t *testing.T) {
			t.Parallel()
			f := newFormat(t, s.cfg)
			d := sources.Delivery{Name: s.file}
			period, err := f.Period(d)
			if err != nil {
				t.Fatal(err)
			}
			read := readAll(t, f, bytes.NewReader(s.read(t)), d).accepted(t)
			if period.IsZero() {
				period = read.Summary.Period
			}
			got := fmt.Sprintf("period %v\n%s", period, describe(read))
			golden := filepath.Join(statementsDir, "golden", s.file)
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// describe writes what was read, one line for each record and reject.
func describe(r result) string {
	var b strings.Builder
	for _, rec := range r.Records {
		fmt.Fprintf(&b, "line %d: account %s", rec.Line, rec.Account)
		show := func(name, value string) {
			if value != "" {
				fmt.Fprintf(&b, ", %s %s", name, value)
			}
		}
		at := func(name string, value time.Time) {
			if !value.IsZero() {
				show(name, value.Format(time.RFC3339Nano))
			}
		}
		show("id", rec.ProviderOperationID)
		show("reference", rec.BusinessReference)
		show("folded", strings.Join(rec.FoldedReferences, " "))
		if rec.HasAmount {
			show("amount", money.FormatMinor(rec.AmountMinor, rec.Currency)+" "+rec.Currency)
		}
		if rec.HasFee {
			show("fee", money.FormatMinor(rec.FeeMinor, rec.Currency))
		}
		show("direction", string(rec.Direction))
		show("kind", string(rec.Kind))
		show("status", string(rec.Status)+" ("+rec.ProviderStatus+")")
		at("occurred", rec.OccurredAt)
		at("to", rec.OccurredTo)
		at("settled", rec.SettledAt)
		show("related", rec.RelatedID)
		if rec.Ours {
			show("ours", "yes")
		}
		b.WriteByte('\n')
	}
	for _, reject := range r.Rejects {
		fmt.Fprintf(&b, "reject: %v\n", &reject)
	}
	s := r.Summary
	controls := func(c sources.Controls) string {
		count, sum := "none", "none"
		if c.Count != nil {
			count = fmt.Sprint(*c.Count)
		}
		if c.Sum != nil {
			sum = fmt.Sprint(*c.Sum)
		}
		text := fmt.Sprintf("count %s, sum %s %s", count, sum, c.Currency)
		if c.Closing != nil {
			text += fmt.Sprintf(", balance %d to %d", *c.Opening, *c.Closing)
		}
		if c.Last != nil {
			text += fmt.Sprintf(", numbers %d to %d", *c.First, *c.Last)
		}
		return text
	}
	fmt.Fprintf(&b, "rows %d = %d records + %d rejects + %d skipped, end %s\ndeclared: %s\ncomputed: %s\n",
		s.Rows, s.Records, s.Rejects, s.Skipped, s.EndProof, controls(s.Declared), controls(s.Computed))
	return b.String()
}

// TestCutAnywhere cuts every statement at every byte. What is left may only
// look complete if nothing is lost but the end of the footer's own line, all
// rows are still there and the footer declares the same.
func TestCutAnywhere(t *testing.T) {
	t.Parallel()
	for _, s := range statements(t) {
		t.Run(s.file, func(t *testing.T) {
			t.Parallel()
			f := newFormat(t, s.cfg)
			text := s.read(t)
			d := sources.Delivery{Name: s.file}
			whole := readAll(t, f, bytes.NewReader(text), d).accepted(t)
			for cut := range text {
				got := readAll(t, f, bytes.NewReader(text[:cut]), d)
				if got.Refusal != nil || !isProven(got.Summary.EndProof) {
					continue
				}
				if lost := bytes.TrimRight(text[cut:], "\r\n\x00"); bytes.IndexByte(lost, '\n') >= 0 {
					t.Errorf("cut at byte %d of %d: looks complete without %q", cut, len(text), lost)
				}
				if diff := cmp.Diff(whole, got); diff != "" {
					t.Errorf("cut at byte %d of %d: looks complete, but reads (-whole +cut):\n%s", cut, len(text), diff)
				}
			}
		})
	}
}

func isProven(end sources.EndProof) bool {
	return end != sources.EndUnproven && end != sources.EndAssumed
}

// TestPortions: what is read does not depend on how the bytes come in.
func TestPortions(t *testing.T) {
	t.Parallel()
	for _, s := range statements(t) {
		t.Run(s.file, func(t *testing.T) {
			t.Parallel()
			f := newFormat(t, s.cfg)
			text := s.read(t)
			d := sources.Delivery{Name: s.file}
			whole := readAll(t, f, bytes.NewReader(text), d)
			if diff := cmp.Diff(whole, readAll(t, f, iotest.OneByteReader(bytes.NewReader(text)), d)); diff != "" {
				t.Errorf("byte by byte (-whole +portions):\n%s", diff)
			}
			if diff := cmp.Diff(whole, readAll(t, f, iotest.DataErrReader(bytes.NewReader(text)), d)); diff != "" {
				t.Errorf("end with the last bytes (-whole +portions):\n%s", diff)
			}
		})
	}
}
