package csvguess_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"

	"reconciler/sources"
	"reconciler/sources/csvguess"
)

func look(t *testing.T, text string) *csvguess.Look {
	t.Helper()
	l, err := csvguess.Inspect(strings.NewReader(text), "statement.csv", nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestEncodings(t *testing.T) {
	t.Parallel()
	const russian = "Дата операции;Сумма;Описание\n01.11.2026;-10,00;Оплата заказа\n"
	const czech = "Datum zaúčtování;Částka CZK;Zpráva pro příjemce\n2026/11/01;-10,00;Příliš žluťoučký\n"
	const german = "Buchungstag;Betrag;Verwendungszweck\n01.11.2026;-10,00;Müller Straße, Köln\n"
	const chinese = "交易时间,金额,交易状态\n2026-11-01 10:00:00,10.00,交易成功\n"
	const japaneseText = "取引日,金額,お取扱内容\n2026-11-01,1200,カード決済のご利用\n"
	for _, tc := range []struct {
		name, text string
		coding     encoding.Encoding
		want       string
		sure       bool
	}{
		{"utf-8", russian, encoding.Nop, "utf-8", true},
		{"utf-8 with a mark", "\ufeff" + german, encoding.Nop, "utf-8", true},
		{"utf-16", russian, unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM), "utf-16", true},
		{"utf-16 without a mark", "date;amount\n2026-11-01;1\n", unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), "utf-16be", false},
		{"windows-1251", russian, charmap.Windows1251, "windows-1251", false},
		{"cp866", russian, charmap.CodePage866, "cp866", false},
		{"koi8-r", russian, charmap.KOI8R, "koi8-r", false},
		{"windows-1250", czech, charmap.Windows1250, "windows-1250", false},
		{"windows-1252", german, charmap.Windows1252, "windows-1252", false},
		{"gb18030", chinese, simplifiedchinese.GB18030, "gb18030", false},
		{"shift_jis", japaneseText, japanese.ShiftJIS, "shift_jis", false},
	} {
		data, err := tc.coding.NewEncoder().Bytes([]byte(tc.text))
		if err != nil {
			t.Fatal(err)
		}
		l, err := csvguess.Inspect(bytes.NewReader(data), "x.csv", nil)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if l.Encoding.Name != tc.want || l.Encoding.Sure != tc.sure || l.Rows != 1 || l.HeaderLine != 1 {
			t.Errorf("%s: %+v, %d rows, header in line %d", tc.name, l.Encoding, l.Rows, l.HeaderLine)
		}
	}
}

// What is declared is taken for true, and the others are still shown.
func TestDeclaredForm(t *testing.T) {
	t.Parallel()
	data, err := charmap.Windows1251.NewEncoder().Bytes([]byte("a;b\nнет;2\nДата;Сумма\n01.11.2026;5\n"))
	if err != nil {
		t.Fatal(err)
	}
	row := 3
	l, err := csvguess.Inspect(bytes.NewReader(data), "x.csv", &sources.CSV{Encoding: "cp1251", Delimiter: ";", HeaderRow: &row})
	if err == nil && (l.HeaderLine != 3 || l.Columns[1].Name != "Сумма" || len(l.Preamble) != 2) {
		t.Errorf("look = %+v", l)
	}
	if l, err = csvguess.Inspect(bytes.NewReader(data), "x.csv", &sources.CSV{Encoding: "windows-1251", Header: &sources.Header{Contains: []string{"сумма"}}}); err != nil || l.HeaderLine != 3 {
		t.Errorf("header by its name: %+v, %v", l, err)
	}
	if _, err := csvguess.Inspect(bytes.NewReader(data), "x.csv", &sources.CSV{Encoding: "klingon"}); err == nil {
		t.Error("an unknown encoding is accepted")
	}
}

func TestForms(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text    string
		delimiter     string
		header, width int
		rows          int
	}{
		{"comma", "id,amount\nA1,1.00\nA2,2.00\n", ",", 1, 2, 2},
		{"semicolon with decimal commas", "id;amount;at\nA1;1,00;2026-11-01\nA2;2,00;2026-11-01\n", ";", 1, 3, 2},
		{"tab", "id\tamount\nA1\t1.00\n", "\t", 1, 2, 1},
		{"pipe without a header", "A1|1.00|20261101\nA2|2.00|20261101\n", "|", 0, 3, 2},
		{"preamble", "Statement\nfrom,2026-11-01\n\nid,amount,at\nA1,1.00,2026-11-01\nA2,1.00,2026-11-01\n", ",", 4, 3, 2},
		{"dangling delimiter", "id,amount,at,\nA1,1.00,2026-11-01\nA2,1.00,2026-11-01\n", ",", 1, 3, 2},
		{"quoted line break", "id,text,amount\nA1,\"two\nlines\",1.00\nA2,x,2.00\n", ",", 1, 3, 2},
		{"two blocks", "a,b,c\nx,1,2\n,,\nid,amount,at\nA1,1,2026-11-01\nA2,2,2026-11-01\nA3,2,2026-11-01\n", ",", 4, 3, 3},
		{"header only", "id,amount\n", ",", 1, 2, 0},
	} {
		l := look(t, tc.text)
		if l.Delimiter != tc.delimiter || l.HeaderLine != tc.header || l.Width != tc.width || l.Rows != tc.rows {
			t.Errorf("%s: delimiter %q, header in line %d, %d columns, %d rows", tc.name, l.Delimiter, l.HeaderLine, l.Width, l.Rows)
		}
	}
}

func TestNumbersAndTimes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		cells string
		want  csvguess.Numbers
	}{
		{"1.00|-2.50", csvguess.Numbers{Decimal: ".", Decimals: 2, Negative: 1, Positive: 1}},
		{"1.234,56|7,00", csvguess.Numbers{Decimal: ",", Group: ".", Decimals: 2, Positive: 2}},
		{"1,234.56|1,000,000", csvguess.Numbers{Decimal: ".", Group: ",", Decimals: 2, Positive: 2}},
		{"1 234,5|(7,00)", csvguess.Numbers{Decimal: ",", Group: " ", Decimals: 2, Positive: 1, Negative: 1}},
		{"1,234|5,678", csvguess.Numbers{Decimal: ",", Decimals: 3, Positive: 2, Unclear: true}},
		{"1,234|5.50", csvguess.Numbers{Decimal: ".", Group: ",", Decimals: 2, Positive: 2}},
		{"€5.00|5.00 €", csvguess.Numbers{Decimal: ".", Decimals: 2, Positive: 2, Symbols: []string{"€"}}},
		{"5.00 CR|6.00 DR", csvguess.Numbers{Decimal: ".", Decimals: 2, Positive: 2, Marks: []string{"CR", "DR"}}},
		{"100|200", csvguess.Numbers{Positive: 2}},
	} {
		text := "n|x\n"
		for _, cell := range strings.Split(tc.cells, "|") {
			text += cell + "|2026-11-01\n"
		}
		got := look(t, text).Columns[0].Numbers
		if got == nil {
			t.Errorf("%s: no numbers", tc.cells)
			continue
		}
		if got.Decimal != tc.want.Decimal || got.Group != tc.want.Group || got.Decimals != tc.want.Decimals || got.Negative != tc.want.Negative ||
			got.Positive != tc.want.Positive || got.Unclear != tc.want.Unclear || strings.Join(got.Symbols, " ") != strings.Join(tc.want.Symbols, " ") ||
			strings.Join(got.Marks, " ") != strings.Join(tc.want.Marks, " ") {
			t.Errorf("%s: %+v, want %+v", tc.cells, *got, tc.want)
		}
	}
	for _, mixed := range []string{"1.50|1,50", "1.5|abc", "12 34|1", "-|5"} {
		text := "n|x\n"
		for _, cell := range strings.Split(mixed, "|") {
			text += cell + "|2026-11-01\n"
		}
		if got := look(t, text).Columns[0].Numbers; got != nil {
			t.Errorf("%s: %+v, want none", mixed, *got)
		}
	}
}

// What a file can't tell stands in the draft, and nothing is said instead.
func TestDraftSaysWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text string
		want       []string
		not        []string
	}{
		{
			"day or month", "id,date,amount\nA1,01/02/2026,1.50\nA2,03/02/2026,2.50\n",
			[]string{"whether the day or the month comes first", `layout: "02/01/2006"`, `layout: "01/02/2006"`, "# NOT KNOWN: the currency", "# timezone:", "# settlement_lag:", "end: assumed"},
			[]string{"\n    settlement_lag:", "\n    timezone:", "\n      end: proven"},
		},
		{
			"a day above 12", "id,date,amount\nA1,01/02/2026,1.50\nA2,23/02/2026,2.50\n",
			[]string{`occurred_at: {column: "date", layout: "02/01/2006"}`, "a number above 12 shows"},
			[]string{"comes first"},
		},
		{
			"signs", "id,date,amount,currency\nA1,2026-02-01,-1.50,EUR\nA2,2026-02-03,2.50,eur\n",
			[]string{"# ASSUMED: the sign is that of the account (1 rows are negative, 1 are not)", "any_case: true", `"-": debit`},
			nil,
		},
		{
			"no signs", "id,date,amount,currency\nA1,2026-02-01,150,EUR\nA2,2026-02-03,250,EUR\n",
			[]string{"# NOT KNOWN: which way the money goes", "(unit: minor)"},
			[]string{"\n      direction:"},
		},
		{
			"words of a state", "id,date,amount,currency,status\nA1,2026-02-01,1.50,EUR,Paid\nA2,2026-02-03,2.50,EUR,Paid\nA3,2026-02-03,2.50,EUR,Blorp\n",
			[]string{`seen: "Paid" (2), "Blorp" (1)`, `rejected as it stands: "Blorp" (1)`, `map: {"Paid": succeeded}`},
			nil,
		},
		{
			"a footer that agrees", "id,date,amount,currency\nA1,2026-02-01,1.50,EUR\nA2,2026-02-03,2.50,EUR\nTotal,2,4.00,\n",
			[]string{`footer: {match: '^Total', count: "date", sum: "amount"}`, "its numbers agree", "end: proven"},
			nil,
		},
		{
			"a footer that does not", "id,date,amount,currency\nA1,2026-02-01,1.50,EUR\nA2,2026-02-03,2.50,EUR\nTotal,,5.00,\n",
			[]string{"looks like totals, and no number in it", "end: assumed"},
			[]string{"\n      footer:"},
		},
		{
			"a count before the header", "Number of records: 2\nid,date,amount,currency\nA1,2026-02-01,1.50,EUR\nA2,2026-02-03,2.50,EUR\n",
			[]string{`count: {match: '^Number of records: (\d+)'}`, "end: proven"},
			nil,
		},
		{
			"a count that differs", "Number of records: 3\nid,date,amount,currency\nA1,2026-02-01,1.50,EUR\nA2,2026-02-03,2.50,EUR\n",
			[]string{"Line 1 may declare a count, and none of its numbers", "end: assumed"},
			[]string{"\n      count:"},
		},
		{
			"a running balance", "id,date,amount,currency,balance\nA1,2026-02-01,-1.50,EUR,8.50\nA2,2026-02-03,2.50,EUR,11.00\n",
			[]string{`balances: {running: "balance"}`, "end: assumed"},
			nil,
		},
		{
			"net", "id,date,gross,fee,net,currency\nA1,2026-02-01,10.00,0.30,9.70,EUR\nA2,2026-02-03,20.00,0.40,19.60,EUR\n",
			[]string{`equals: "amount - fee"`},
			nil,
		},
		{
			"another currency", "id,date,amount,currency,fee,fee currency\nA1,2026-02-01,10.00,EUR,0.30,USD\n",
			[]string{"# NOT KNOWN: the currency of the fee", `"fee currency" may be it`},
			[]string{"\n      fee:"},
		},
	} {
		draft := look(t, tc.text).Draft("new")
		for _, want := range tc.want {
			if !strings.Contains(draft, want) {
				t.Errorf("%s: no %q in\n%s", tc.name, want, draft)
			}
		}
		for _, not := range tc.not {
			if strings.Contains(draft, not) {
				t.Errorf("%s: %q in\n%s", tc.name, not, draft)
			}
		}
	}
}

func TestNothingToLookAt(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " \n\n", "\ufeff"} {
		if l, err := csvguess.Inspect(strings.NewReader(text), "x.csv", nil); err == nil && l.Rows > 0 {
			t.Errorf("Inspect(%q) finds %d rows", text, l.Rows)
		}
	}
	broken := errors.New("the line is dead")
	if _, err := csvguess.Inspect(iotest.ErrReader(broken), "x.csv", nil); !errors.Is(err, broken) {
		t.Errorf("err = %v, want %v", err, broken)
	}
}

// Whatever the bytes are, there is a draft of whole lines or an error.
func FuzzDraft(f *testing.F) {
	for _, seed := range []string{
		"id,amount,at\nA1,1.00,2026-11-01\n", "a;b\n1,5;2\nTotal;2\n", "\"", "\xff\xfe", "K|1|2\n|x|1\n", "(1\n", "x\n-,−\n", "\x00a,b", "id,amount\n\"\u2028\",(5)\n", "1\u20092,3\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := csvguess.Inspect(bytes.NewReader(data), "x_2026-11-01.csv", nil)
		if err != nil {
			return
		}
		draft := l.Draft("new")
		if draft != l.Draft("new") {
			t.Error("two drafts differ")
		}
		for _, line := range strings.Split(strings.TrimSuffix(draft, "\n"), "\n") {
			body := strings.TrimLeft(line, " ")
			if body == "" || strings.ContainsAny(body, "\r\x00\v\f") {
				t.Errorf("the draft has the line %q", line)
			}
		}
	})
}
