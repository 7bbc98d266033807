package csvformat_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reconciler/sources"
	"reconciler/sources/csvformat"
)

// amountOf changes the field amount.
func amountOf(change func(*sources.Field)) func(*csvformat.Config) {
	return func(c *csvformat.Config) {
		f := *c.Mapping.Amount
		change(&f)
		c.Mapping.Amount = &f
	}
}

// twoColumns reads amounts from the columns debit and credit.
func twoColumns(debitSign string) func(*csvformat.Config) {
	return func(c *csvformat.Config) {
		c.Mapping.Amount = &sources.Field{
			Debit:  &sources.Side{Column: &sources.Column{Header: "debit"}, Sign: debitSign},
			Credit: &sources.Side{Column: &sources.Column{Header: "credit"}},
		}
	}
}

func euros(c *csvformat.Config) { c.Mapping.Currency = constant("EUR") }

// rowsOf writes a file with the columns ref, amount, date; a cell with a
// delimiter is quoted.
func rowsOf(amounts ...string) string {
	var b strings.Builder
	b.WriteString("ref;amount;date\n")
	for i, amount := range amounts {
		fmt.Fprintf(&b, "R%d;%s;2026-11-01\n", i+1, amount)
	}
	return b.String()
}

func TestA02WholeCellWithASign(t *testing.T) {
	t.Parallel()
	got := read(t, rowsOf("-100", "-14,99", "-9,00", "1.355,90€", "5323,54"), delimiter(";"), numbers(",", "."), signed, euros,
		amountOf(func(f *sources.Field) { f.Symbols = map[string]string{"€": "EUR", "": "EUR"} })).accepted(t)
	if diff := cmp.Diff(map[string]int64{"R1": -10000, "R2": -1499, "R3": -900, "R4": 135590, "R5": 532354}, got.amounts()); diff != "" {
		t.Errorf("amounts (-want +got):\n%s", diff)
	}
}

func TestA03OneDecimalDigit(t *testing.T) {
	t.Parallel()
	got := read(t, rowsOf(`" -110.7 €"`, `" -116.62 €"`, `" -110 €"`, `"€ 1.5"`), delimiter(";"), signed,
		func(c *csvformat.Config) { c.Mapping.Currency = nil },
		amountOf(func(f *sources.Field) { f.Symbols = map[string]string{"€": "EUR"} })).accepted(t)
	if diff := cmp.Diff(map[string]int64{"R1": -11070, "R2": -11662, "R3": -11000, "R4": 150}, got.amounts()); diff != "" {
		t.Errorf("amounts (-want +got):\n%s\nrejects %v", diff, got.Rejects)
	}
	for _, rec := range got.Records {
		if rec.Currency != "EUR" {
			t.Errorf("line %d: currency %q, want that of the sign", rec.Line, rec.Currency)
		}
	}
}

func TestA04_AccountingNegatives(t *testing.T) {
	t.Parallel()
	text := rowsOf("(12.34)", "$(12.34)", "($12.34)", "12.34-", "1,234.56-", "-$12.34", "--5.00", "-", "(-5.00)")
	got := read(t, text, delimiter(";"), numbers(".", ","), signed, func(c *csvformat.Config) { c.Mapping.Currency = constant("USD") },
		amountOf(func(f *sources.Field) { f.Symbols = map[string]string{"$": "USD", "": "USD"} })).accepted(t)
	want := map[string]int64{"R1": -1234, "R2": -1234, "R3": -1234, "R4": -1234, "R5": -123456, "R6": -1234}
	if diff := cmp.Diff(want, got.amounts()); diff != "" {
		t.Errorf("amounts (-want +got):\n%s", diff)
	}
	if len(got.Rejects) != 3 || got.Summary.Rows != 9 {
		t.Errorf("%d rows, rejects %v; want 9 and the last three", got.Summary.Rows, got.Rejects)
	}
}

func TestA05_DebitAndCreditColumns(t *testing.T) {
	t.Parallel()
	text := "ref,debit,credit,date\nR1,-70.55,,2026-11-01\nR2,70.55,,2026-11-01\nR3,10.00,10.00,2026-11-01\nR4,0,56.00,2026-11-01\nR5,,,2026-11-01\n"
	got := read(t, text, twoColumns("any"), euros).accepted(t)
	if diff := cmp.Diff(map[string]int64{"R1": -7055, "R2": -7055, "R4": 5600}, got.amounts()); diff != "" {
		t.Errorf("amounts (-want +got):\n%s", diff)
	}
	if len(got.Rejects) != 2 || !strings.Contains(got.Rejects[0].Reason, "both the debit and the credit") || !strings.Contains(got.Rejects[1].Reason, "neither") {
		t.Errorf("rejects %v, want both and neither", got.Rejects)
	}
	for sign, lines := range map[string][]int{"": {2}, "minus": {3}} {
		var at []int
		for _, r := range read(t, text, twoColumns(sign), euros).accepted(t).Rejects {
			if strings.Contains(r.Reason, "sign: ") {
				at = append(at, r.Line)
			}
		}
		if len(at) == 0 || at[0] != lines[0] {
			t.Errorf("sign %q: rejects for it in lines %v, want %v first", sign, at, lines)
		}
	}
}

func TestA06_Marks(t *testing.T) {
	t.Parallel()
	marked := func(marks map[string]string) func(*csvformat.Config) {
		return func(c *csvformat.Config) {
			euros(c)
			amountOf(func(f *sources.Field) { f.Marks = marks })(c)
		}
	}
	got := read(t, rowsOf("12.34 CR", "12.34DR", "Dr 1.00", "5.00", "-5.00 CR", "5.00 XX", "CR"), delimiter(";"),
		marked(map[string]string{"CR": "credit", "DR": "debit", "Dr": "debit"})).accepted(t)
	if diff := cmp.Diff(map[string]int64{"R1": 1234, "R2": -1234, "R3": -100}, got.amounts()); diff != "" {
		t.Errorf("amounts (-want +got):\n%s", diff)
	}
	if len(got.Rejects) != 4 {
		t.Errorf("rejects %v, want an unmarked, a contradicting, an unknown and an empty one", got.Rejects)
	}
	got = read(t, rowsOf("7.00", "7.00 CR"), delimiter(";"), marked(map[string]string{"CR": "credit", "": "debit"})).accepted(t)
	if diff := cmp.Diff(map[string]int64{"R1": -700, "R2": 700}, got.amounts()); diff != "" {
		t.Errorf("without a mark (-want +got):\n%s", diff)
	}
}

func TestSymbolsAndCurrencies(t *testing.T) {
	t.Parallel()
	symbols := amountOf(func(f *sources.Field) {
		f.Symbols = map[string]string{"$": "USD", "US$": "USD", "A$": "AUD", "EUR": "EUR"}
	})
	got := read(t, "ref;amount;currency;date\nR1;$1.00;USD;2026-11-01\nR2;A$1.00;USD;2026-11-01\nR3;EUR 1.00;EUR;2026-11-01\nR4;1.00;EUR;2026-11-01\n",
		delimiter(";"), symbols).accepted(t)
	if diff := cmp.Diff(map[string]int64{"R1": 100, "R3": 100, "R4": 100}, got.amounts()); diff != "" {
		t.Errorf("amounts (-want +got):\n%s", diff)
	}
	if len(got.Rejects) != 1 || !strings.Contains(got.Rejects[0].Reason, `"A$" stands for AUD, but the currency is USD`) {
		t.Errorf("rejects %v, want the contradiction of line 3", got.Rejects)
	}
	without := func(c *csvformat.Config) { c.Mapping.Currency = nil }
	got = read(t, rowsOf("A$1.00", "1.00"), delimiter(";"), symbols, without).accepted(t)
	if len(got.Records) != 1 || got.Records[0].Currency != "AUD" || len(got.Rejects) != 1 {
		t.Errorf("records %+v, rejects %v; want AUD, and a reject without a sign", got.Records, got.Rejects)
	}
}

func TestUnitsAndExponents(t *testing.T) {
	t.Parallel()
	head := "ref;amount;currency;date\n"
	row := func(amount, currency string) string { return head + "R;" + amount + ";" + currency + ";2026-11-01\n" }
	minor := amountOf(func(f *sources.Field) { f.Unit = "minor" })
	exponents := func(e map[string]int) func(*csvformat.Config) {
		return func(c *csvformat.Config) {
			c.Mapping.Currency = &sources.Field{Column: byHeader("currency").Column, Exponents: e}
		}
	}
	zeros := amountOf(func(f *sources.Field) { f.TrailingZeros = true })
	for _, tt := range []struct {
		name, amount, currency string
		change                 []func(*csvformat.Config)
		want                   int64
		reject                 string
	}{
		{"minor units", "1234", "EUR", []func(*csvformat.Config){minor}, 1234, ""},
		{"minor units with decimals", "12.34", "EUR", []func(*csvformat.Config){minor}, 0, "more decimals"},
		{"minor units of a currency without any", "500", "JPY", []func(*csvformat.Config){minor}, 500, ""},
		{"three decimals", "1.125", "KWD", nil, 1125, ""},
		{"hundredths of a currency without any", "100.00", "ISK", []func(*csvformat.Config){exponents(map[string]int{"ISK": 2})}, 100, ""},
		{"a part that the currency does not have", "100.50", "ISK", []func(*csvformat.Config){exponents(map[string]int{"ISK": 2})}, 0, "more decimals than the currency has for ISK"},
		{"minor units by the provider's count", "10000", "ISK", []func(*csvformat.Config){minor, exponents(map[string]int{"ISK": 2})}, 100, ""},
		{"fewer than ISO has", "5", "KWD", []func(*csvformat.Config){minor, exponents(map[string]int{"KWD": 2})}, 50, ""},
		{"a currency that ISO does not know", "1.2345", "XYZ", []func(*csvformat.Config){exponents(map[string]int{"XYZ": 4})}, 12345, ""},
		{"six decimals, zeros", "12.340000", "EUR", []func(*csvformat.Config){zeros}, 1234, ""},
		{"six decimals, not zeros", "12.340001", "EUR", []func(*csvformat.Config){zeros}, 0, "more decimals"},
		{"six decimals, undeclared", "12.340000", "EUR", nil, 0, "more decimals"},
		{"no leading zero", ".50", "EUR", nil, 50, ""},
		{"plus behind", "5.00+", "EUR", nil, 500, ""},
		{"typographic minus", "−5.00", "EUR", []func(*csvformat.Config){signed}, 500, ""},
		{"narrow blank", "1\u202f234.50", "EUR", []func(*csvformat.Config){numbers(".", " ")}, 123450, ""},
		{"no-break blank", "1\u00a0234.50", "EUR", []func(*csvformat.Config){numbers(".", " ")}, 123450, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := read(t, row(tt.amount, tt.currency), append([]func(*csvformat.Config){delimiter(";")}, tt.change...)...).accepted(t)
			if tt.reject != "" {
				if len(got.Rejects) != 1 || !strings.Contains(got.Rejects[0].Reason, tt.reject) {
					t.Errorf("rejects %v, want one with %q", got.Rejects, tt.reject)
				}
				return
			}
			if len(got.Records) != 1 || got.Records[0].AmountMinor != tt.want {
				t.Errorf("records %+v, rejects %v; want %d", got.Records, got.Rejects, tt.want)
			}
		})
	}
}

// TestReferencesKeepTheirBlanks: what is dropped from numbers is none of a
// reference's business.
func TestReferencesKeepTheirBlanks(t *testing.T) {
	t.Parallel()
	for _, reference := range []string{"A\u00a01", "A\u202f1", "A−1", "A 1"} {
		got := read(t, columnLine+reference+",1.00,EUR,2026-11-01\n").accepted(t)
		if len(got.Records) != 1 || got.Records[0].BusinessReference != reference {
			t.Errorf("%q is read as %+v", reference, got.Records)
		}
	}
}

func TestA40_WrappedDigits(t *testing.T) {
	t.Parallel()
	head := "ref;amount;date\n"
	unwrap := func(c *csvformat.Config) { euros(c); c.Options.Unwrap = true }
	for _, row := range []string{`="00123";1,00;2026-11-01`, `"=""00123""";1,00;2026-11-01`, `="00123";="1,00";2026-11-01`} {
		got := read(t, head+row+"\n", delimiter(";"), numbers(",", ""), unwrap).accepted(t)
		if diff := cmp.Diff(map[string]int64{"00123": 100}, got.amounts()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row, diff)
		}
	}
	for _, other := range []string{`=00123`, `=1+2`, `"=""00123"`} {
		got := read(t, head+other+";1,00;2026-11-01\n", delimiter(";"), numbers(",", ""), unwrap).accepted(t)
		if want := strings.ReplaceAll(strings.Trim(other, `"`), `""`, `"`); len(got.Records) != 1 || got.Records[0].BusinessReference != want {
			t.Errorf("%s: %+v, want it as it is: %s", other, got.Records, want)
		}
	}
	read(t, head+`="00123";1,00;2026-11-01`+"\n", delimiter(";"), numbers(",", ""), euros).wantRefusal(t, "formula", "csv.unwrap")
	got := read(t, head+`"=""00123""";1,00;2026-11-01`+"\n", delimiter(";"), numbers(",", ""), euros).accepted(t)
	if len(got.Rejects) != 1 || got.Rejects[0].Field != "business_reference" || !strings.Contains(got.Rejects[0].Reason, "csv.unwrap") {
		t.Errorf("undeclared: %+v %v, want a reject", got.Records, got.Rejects)
	}
	plain := func(c *csvformat.Config) { unwrap(c); c.Options.Quote = "none" }
	if got := read(t, head+`="00123";1,00;2026-11-01`+"\n", delimiter(";"), numbers(",", ""), plain).accepted(t); len(got.Records) != 1 || got.Records[0].BusinessReference != "00123" {
		t.Errorf("without quotes: %+v", got.Records)
	}
}

func TestB16_GrossFeeNet(t *testing.T) {
	t.Parallel()
	netted := func(equals string) func(*csvformat.Config) {
		return func(c *csvformat.Config) {
			euros(c)
			c.Mapping.Amount, c.Mapping.Fee = byHeader("gross"), byHeader("fee")
			c.Mapping.Net = &sources.Field{Column: byHeader("net").Column, Equals: equals}
			c.Mapping.BatchID = byHeader("payout")
		}
	}
	head := "ref,gross,fee,net,payout,date\n"
	for _, tt := range []struct {
		row, equals string
		fee         int64
		reject      string
	}{
		{"R1,100.00,-3.00,97.00,P1", "", 300, ""},
		{"R1,100.00,3.00,97.00,P1", "", 0, "amount + fee is 103.00, not the 97.00 of the row"},
		{"R1,100.00,3.00,97.00,P1", "amount - fee", 300, ""},
		{"R1,100.00,-3.00,96.99,P1", "", 0, "amount + fee is 97.00, not the 96.99"},
		{"R1,100.00,,100.00,P1", "", 0, ""},
		{"R1,100.00,0,100.00,P1", "", 0, ""},
		{"R1,100.00,-3.00,,P1", "", 300, ""},
		{"R1,100.00,-3.00,n/a,P1", "", 0, "this is not a number"},
	} {
		got := read(t, head+tt.row+",2026-11-01\n", netted(tt.equals)).accepted(t)
		switch {
		case tt.reject != "":
			if len(got.Rejects) != 1 || got.Rejects[0].Field != "net" || !strings.Contains(got.Rejects[0].Reason, tt.reject) {
				t.Errorf("%s: rejects %v, want %q", tt.row, got.Rejects, tt.reject)
			}
		case len(got.Records) != 1 || got.Records[0].AmountMinor != 10000 || got.Records[0].FeeMinor != tt.fee || got.Records[0].BatchID != "P1":
			t.Errorf("%s: %+v %v, want 100.00 with a fee of %d", tt.row, got.Records, got.Rejects, tt.fee)
		}
	}
	parts := func(c *csvformat.Config) {
		netted("amount - fee")(c)
		c.Mapping.Fee = &sources.Field{Columns: []sources.Column{{Header: "fee"}, {Header: "scheme"}}}
	}
	got := read(t, "ref,gross,fee,scheme,net,payout,date\nR1,100.00,2.00,0.50,97.50,P1,2026-11-01\nR2,100.00,,,100.00,P1,2026-11-01\n", parts).accepted(t)
	if len(got.Records) != 2 || got.Records[0].FeeMinor != 250 || got.Records[1].HasFee {
		t.Errorf("a fee in parts: %+v %v", got.Records, got.Rejects)
	}
}

func TestB20_RowTypes(t *testing.T) {
	t.Parallel()
	text := "ref,type,amount,currency,date\n" +
		"R1,General Authorization,-10.00,USD,2026-11-01\n" +
		"R1,Void of Authorization,10.00,USD,2026-11-01\n" +
		"R1,Payment,-10.00,USD,2026-11-01\n" +
		"R1,Conversion,10.00,USD,2026-11-01\n" +
		"R1,Conversion,-8.80,EUR,2026-11-01\n" +
		"X,T1107,1.00,USD,2026-11-01\n"
	rows := func(fallback string) func(*csvformat.Config) {
		return func(c *csvformat.Config) {
			signed(c)
			c.Rows = &sources.Rows{Column: &sources.Column{Header: "type"}, Default: fallback, Map: map[string]string{
				"General Authorization": "skip", "Void of Authorization": "skip", "Payment": "payment", "Conv*": "skip", "Conversion": "skip", "T11*": "refund", "T1107": "reversal",
			}}
		}
	}
	got := read(t, text, rows("")).accepted(t)
	if len(got.Records) != 2 || got.Records[0].AmountMinor != 1000 || got.Records[0].Kind != sources.KindPayment || got.Records[1].Kind != sources.KindReversal {
		t.Errorf("records %+v, want one payment of 10.00 and a reversal", got.Records)
	}
	if s := got.Summary; s.Skipped != 4 || s.Rows != 6 {
		t.Errorf("%d rows, %d skipped; want 6 and 4", s.Rows, s.Skipped)
	}
	unknown := strings.Replace(text, "Payment", "Gift", 1)
	if got := read(t, unknown, rows("")).accepted(t); len(got.Rejects) != 1 || got.Rejects[0].Field != "rows" || !strings.Contains(got.Rejects[0].Reason, `"Gift" is not in map`) {
		t.Errorf("unknown type: rejects %v, want the type", got.Rejects)
	}
	if got := read(t, unknown, rows("other")).accepted(t); len(got.Records) != 2 || got.Records[0].Kind != sources.KindOther {
		t.Errorf("unknown type with a default: %+v", got.Records)
	}
	// A row that is skipped counts, and its amount is part of the sum.
	total := "Total,6,2.20,,\n"
	sum := func(c *csvformat.Config) {
		rows("")(c)
		footer("^Total", "type", "")(c)
	}
	if got := read(t, text+total, sum).accepted(t); *got.Summary.Declared.Count != 6 {
		t.Errorf("declared %d, want 6", *got.Summary.Declared.Count)
	}
	all := read(t, strings.ReplaceAll(text, "Payment", "Conversion"), rows("skip"), func(c *csvformat.Config) {
		c.Rows.Map = map[string]string{"Conversion": "skip"}
	}).accepted(t)
	if all.Summary.Skipped != 6 || len(all.Records) != 0 {
		t.Errorf("all skipped: %+v", all.Summary)
	}
}

func TestDefaultsOfWords(t *testing.T) {
	t.Parallel()
	words := func(c *csvformat.Config) {
		fallback := "pending"
		c.Mapping.Status = &sources.Field{Column: &sources.Column{Header: "x"}, Map: map[string]string{"Done": "succeeded"}, Default: &fallback, AnyCase: true}
	}
	for cell, want := range map[string]sources.Status{"DONE": "succeeded", "done": "succeeded", "Waiting": "pending", "": "pending"} {
		got := readCell(t, cell, words)
		if len(got.Records) != 1 || got.Records[0].Status != want || cell != "" && !strings.EqualFold(got.Records[0].ProviderStatus, cell) {
			t.Errorf("%q: %+v %v, want %s", cell, got.Records, got.Rejects, want)
		}
	}
	currency := func(c *csvformat.Config) {
		c.Mapping.Currency = &sources.Field{Column: &sources.Column{Header: "x"}, AnyCase: true}
	}
	for cell, want := range map[string]string{"usd": "USD", "Eur": "EUR"} {
		if got := readCell(t, cell, currency); len(got.Records) != 1 || got.Records[0].Currency != want {
			t.Errorf("%q: %+v %v, want %s", cell, got.Records, got.Rejects, want)
		}
	}
}
