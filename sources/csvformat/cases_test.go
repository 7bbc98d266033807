package csvformat_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"reconciler/sources"
	"reconciler/sources/csvformat"
)

// The cases are inputs that broke other importers, by the names under which
// the project lists them.

func TestA01DecimalMarkIsDeclared(t *testing.T) {
	t.Parallel()
	text := "ref;amount;currency;date\nR1;1.000;EUR;2026-11-01\nR2;1.111,11;EUR;2026-11-01\n"
	got := read(t, text, delimiter(";"), numbers(",", ".")).accepted(t)
	if diff := cmp.Diff(map[string]int64{"R1": 100000, "R2": 111111}, got.amounts()); diff != "" {
		t.Errorf("amounts (-want +got):\n%s", diff)
	}
	other := read(t, text, delimiter(";")).accepted(t)
	if len(other.Records) != 0 || len(other.Rejects) != 2 {
		t.Fatalf("under another form: %d records, rejects %v; want both rejected", len(other.Records), other.Rejects)
	}
	if r := other.Rejects[0]; r.Line != 2 || r.Field != "amount" || !strings.Contains(r.Reason, `"1.000"`) || !strings.Contains(r.Reason, "EUR") {
		t.Errorf("reject %+v, want line 2, field amount, the value and its currency", r)
	}
}

func TestA02WholeCellOrNothing(t *testing.T) {
	t.Parallel()
	text := "ref;amount;currency;date\nR1;-100;EUR;2026-11-01\nR2;-14,99;EUR;2026-11-01\nR3;-9,00;EUR;2026-11-01\nR4;1.355,90€;EUR;2026-11-01\nR5;5323,54;EUR;2026-11-01\n"
	got := read(t, text, delimiter(";"), numbers(",", "."), signed).accepted(t)
	if diff := cmp.Diff(map[string]int64{"R1": -10000, "R2": -1499, "R3": -900, "R5": 532354}, got.amounts()); diff != "" {
		t.Errorf("amounts (-want +got):\n%s", diff)
	}
	if len(got.Rejects) != 1 || got.Rejects[0].Line != 5 {
		t.Errorf("rejects %v, want line 5 alone", got.Rejects)
	}
}

func TestA06DirectionIsAClosedMap(t *testing.T) {
	t.Parallel()
	text := "ref;amount;currency;date;dir\nR1;1.337,00;EUR;2026-11-01;H\nR2;13,37;EUR;2026-11-01;S\nR3;5,00;EUR;2026-11-01;X\nR4;-5,00;EUR;2026-11-01;H\n"
	got := read(t, text, delimiter(";"), numbers(",", "."), func(c *csvformat.Config) {
		c.Mapping.Direction = withMap(byHeader("dir"), map[string]string{"H": "credit", "S": "debit"})
	}).accepted(t)
	if diff := cmp.Diff(map[string]int64{"R1": 133700, "R2": -1337}, got.amounts()); diff != "" {
		t.Errorf("amounts (-want +got):\n%s", diff)
	}
	if len(got.Rejects) != 2 || got.Rejects[0].Field != "direction" || got.Rejects[1].Field != "amount" {
		t.Errorf("rejects %v, want an unknown direction and a contradiction", got.Rejects)
	}
}

func TestA08NoFloat(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("ref,amount,currency,date\n")
	want := map[string]int64{}
	for i, amount := range []string{"19.99", "582.42", "1.15", "8.20", "4.35", "90071992547409.93"} {
		fmt.Fprintf(&text, "R%d,%s,EUR,2026-11-01\n", i, amount)
	}
	for i, minor := range []int64{1999, 58242, 115, 820, 435, 9007199254740993} {
		want[fmt.Sprintf("R%d", i)] = minor
	}
	if diff := cmp.Diff(want, read(t, text.String()).accepted(t).amounts()); diff != "" {
		t.Errorf("amounts (-want +got):\n%s", diff)
	}
}

func TestA10A11ByteOrderMark(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"\ufeffref,amount,currency,date\nR1,1.00,EUR,2026-11-01\n",
		"\ufeff\ufeffref,amount,currency,date\nR1,1.00,EUR,2026-11-01\n",
		"\ufeff\"ref\",\"amount\",\"currency\",\"date\"\n\"R1\",\"1.00\",\"EUR\",\"2026-11-01\"\n",
	} {
		got := read(t, text).accepted(t)
		if diff := cmp.Diff(map[string]int64{"R1": 100}, got.amounts()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
	read(t, "\ufeffref,amount,currency,date\nR1,1.00,EUR,2026-11-01\n", inEncoding("windows-1251")).
		wantRefusal(t, "byte order mark of UTF-8", "windows-1251")
}

func TestA12EncodingIsDeclared(t *testing.T) {
	t.Parallel()
	text := "ref,amount,currency,date,payee\nR1,1.00,EUR,2026-11-01,M\xfcller\nR2,2.00,EUR,2026-11-01,Ok\n"
	withPayee := func(c *csvformat.Config) { c.Mapping.RelatedID = byHeader("payee") }
	for _, name := range []string{"cp1252", "windows-1252", "ISO-8859-1", "latin1"} {
		got := read(t, text, inEncoding(name), withPayee).accepted(t)
		if len(got.Records) != 2 || got.Records[0].RelatedID != "Müller" {
			t.Errorf("%s: %+v, want two records, the first with Müller", name, got.Records)
		}
	}
	got := read(t, text, withPayee)
	got.wantRefusal(t, "line 2", "0xFC", fmt.Sprintf("offset %d", strings.Index(text, "\xfc")), "encoding")
	if len(got.Records) != 0 {
		t.Errorf("%d records before the refusal, want none", len(got.Records))
	}
	read(t, "ref,amount,currency,date\nR1,1.00,EUR,2026-11-01\nR\x81\x20,1.00,EUR,2026-11-01\n", inEncoding("shift_jis")).
		wantRefusal(t, "line 3", "does not exist in the declared encoding")
	// Cyrillic, in the encodings of banks.
	cyrillic := "ref,amount,currency,date,payee\nR1,1.00,RUB,2026-11-01,\xce\xce\xce\n"
	if got := read(t, cyrillic, inEncoding("windows-1251"), withPayee).accepted(t); got.Records[0].RelatedID != "ООО" {
		t.Errorf("windows-1251: %q, want ООО", got.Records[0].RelatedID)
	}
	cyrillic = strings.ReplaceAll(cyrillic, "\xce", "\x8e")
	if got := read(t, cyrillic, inEncoding("cp866"), withPayee).accepted(t); got.Records[0].RelatedID != "ООО" {
		t.Errorf("cp866: %q, want ООО", got.Records[0].RelatedID)
	}
}

func utf16Bytes(text string, order binary.AppendByteOrder) string {
	var out []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, unit)
	}
	return string(out)
}

func TestA13UTF16(t *testing.T) {
	t.Parallel()
	text := "ref\tamount\tcurrency\tdate\r\nR1\t1.00\tEUR\t2026-11-01\r\n"
	for name, tt := range map[string]struct{ text, encoding string }{
		"mark, little endian":             {utf16Bytes("\ufeff"+text, binary.LittleEndian), ""},
		"mark, big endian":                {utf16Bytes("\ufeff"+text, binary.BigEndian), ""},
		"mark against the declared order": {utf16Bytes("\ufeff"+text, binary.BigEndian), "utf-16le"},
		"declared, no mark":               {utf16Bytes(text, binary.LittleEndian), "utf-16"},
		"declared big endian":             {utf16Bytes(text, binary.BigEndian), "utf-16be"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := read(t, tt.text, delimiter("\t"), inEncoding(tt.encoding)).accepted(t)
			if diff := cmp.Diff(map[string]int64{"R1": 100}, got.amounts()); diff != "" {
				t.Errorf("amounts (-want +got):\n%s", diff)
			}
		})
	}
	read(t, utf16Bytes(text, binary.LittleEndian), delimiter("\t")).wantRefusal(t, "UTF-16", "csv.encoding")
	read(t, utf16Bytes("\ufeff"+text, binary.LittleEndian)[:61], delimiter("\t")).wantRefusal(t, "does not exist in the declared encoding")
	read(t, "\xff\xfe\x00\x00r\x00\x00\x00", delimiter("\t")).wantRefusal(t, "UTF-32")
}

func TestA14ZeroByte(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("ref,amount,currency,date,memo\n")
	for i := 1; i <= 1000; i++ {
		memo := "ok"
		if i == 500 {
			memo = "ab\x00cd"
		}
		fmt.Fprintf(&text, "R%d,1.00,EUR,2026-11-01,%s\n", i, memo)
	}
	got := read(t, text.String()).accepted(t)
	if len(got.Records) != 1000 {
		t.Errorf("memo not mapped: %d records, want 1000", len(got.Records))
	}
	got = read(t, text.String(), func(c *csvformat.Config) { c.Mapping.RelatedID = byHeader("memo") }).accepted(t)
	if len(got.Records) != 999 || len(got.Rejects) != 1 || got.Rejects[0].Line != 501 || got.Rejects[0].Field != "related_id" {
		t.Errorf("memo mapped: %d records, rejects %v; want 999 and line 501", len(got.Records), got.Rejects)
	}
}

func TestA15H06LineNumbersArePhysical(t *testing.T) {
	t.Parallel()
	got := read(t, "ref,amount,currency,date,memo\r\nR1,10.00,EUR,2026-11-01,\"line one\r\nline two, with comma\"\r\nR2,3.00,EUR,2026-11-01,x\r\n",
		func(c *csvformat.Config) { c.Mapping.RelatedID = byHeader("memo") }).accepted(t)
	if len(got.Records) != 2 || got.Records[0].Line != 2 || got.Records[1].Line != 4 {
		t.Fatalf("records %+v, want lines 2 and 4", got.Records)
	}
	if memo := got.Records[0].RelatedID; memo != "line one\r\nline two, with comma" {
		t.Errorf("memo %q, want its two lines", memo)
	}
	got = read(t, "ref,amount,currency,date,memo\nR1,1.00,EUR,2026-11-01,\"a\nb\nc\nd\"\nR2,x,EUR,2026-11-01,e\n").accepted(t)
	if len(got.Rejects) != 1 || got.Rejects[0].Line != 6 {
		t.Errorf("rejects %v, want line 6", got.Rejects)
	}
}

func TestA17Quotes(t *testing.T) {
	t.Parallel()
	header := "ref,amount,currency,date,memo\n"
	read(t, header+"R1,1.00,EUR,2026-11-01,\"TV 27 inch\nR2,1.00,EUR,2026-11-01,ok\nR3,1.00,EUR,2026-11-01,ok\n").
		wantRefusal(t, "line 2", "never closes")
	read(t, header+"R1,1.00,EUR,2026-11-01,TV 27\" inch\n").wantRefusal(t, "line 2", "inside an unquoted cell")
	read(t, header+"R1,1.00,EUR,2026-11-01,\"a\nb\" c\n").wantRefusal(t, "line 3", "behind a closing quote")
	got := read(t, header+"\"R\"\"1\"\"\",1.00,EUR,2026-11-01,\"\"\n").accepted(t)
	if len(got.Records) != 1 || got.Records[0].BusinessReference != `R"1"` {
		t.Errorf("records %+v, want the reference R\"1\"", got.Records)
	}
	none := func(c *csvformat.Config) { c.Options.Quote = "none" }
	got = read(t, header+"R1,1.00,EUR,2026-11-01,TV 27\" inch\n\"R2,1.00,EUR,2026-11-01,\"\n", none).accepted(t)
	if len(got.Records) != 2 || got.Records[1].BusinessReference != `"R2` {
		t.Errorf("quotes as plain characters: %+v, want two records", got.Records)
	}
	read(t, header+"R1,1.00,EUR,2026-11-01,\""+strings.Repeat("x,\n", 3<<20)).wantRefusal(t, "line 2", "longer than")
}

func TestA18RaggedRowsAreListed(t *testing.T) {
	t.Parallel()
	header := "ref,payee,amount,currency,date\n"
	got := read(t, header+"R1,a,1.00,EUR,2026-11-01\nR2,1.00,EUR,2026-11-01\nR3,Miller, Sons,1.00,EUR,2026-11-01\nR4,b,1.00,EUR,2026-11-01\n")
	got.wantRefusal(t, "line 3 has 4", "line 4 has 6", "must have 5 cells")
	read(t, header+strings.Repeat("R1,1.00\n", 50)).wantRefusal(t, "line 21 has 2", "30 more")
	read(t, header+strings.Repeat("R1,1.00\n", 3)+"R1,\"x\n").wantRefusal(t, "line 5", "never closes")
}

func TestA19RepeatedHeader(t *testing.T) {
	t.Parallel()
	text := "ref,amount, Amount ,currency,date\nR1,100.00,97.00,EUR,2026-11-01\n"
	read(t, text).wantRefusal(t, `column "amount"`, "there twice", "2 and 3", "number")
	got := read(t, text, func(c *csvformat.Config) { c.Mapping.Amount = byNumber(2) }).accepted(t)
	if diff := cmp.Diff(map[string]int64{"R1": 10000}, got.amounts()); diff != "" {
		t.Errorf("by number (-want +got):\n%s", diff)
	}
	read(t, "ref,amount,currency,date,x,x\nR1,100.00,EUR,2026-11-01,,\n").accepted(t)
}

func TestA20RenamedHeader(t *testing.T) {
	t.Parallel()
	got := read(t, "ref,Amount (EUR),currency,date\nR1,10.00,EUR,2026-11-01\n")
	got.wantRefusal(t, `column "amount"`, "missing", `"Amount (EUR)"`, `"ref"`)
	if got.Refusal.Line != 1 || len(got.Records) != 0 {
		t.Errorf("refusal at line %d after %d records, want line 1 and none", got.Refusal.Line, len(got.Records))
	}
	empty := read(t, "ref,amount,currency,date,new\nR1,,EUR,2026-11-01,x\n").accepted(t)
	if len(empty.Rejects) != 1 || empty.Rejects[0].Field != "amount" || !strings.Contains(empty.Rejects[0].Reason, "empty") {
		t.Errorf("rejects %v, want an empty amount", empty.Rejects)
	}
	read(t, "ref;amount;currency;date\nR1;1.00;EUR;2026-11-01\n").wantRefusal(t, "missing", "delimiter")
}

func TestA21HeaderlessPreambleAndTotals(t *testing.T) {
	t.Parallel()
	got := read(t, "R1,1.00,EUR,2026-11-01\nR2,2.00,EUR,2026-11-01\n", headerRow(0), func(c *csvformat.Config) {
		c.Mapping.BusinessReference, c.Mapping.Amount, c.Mapping.Currency = byNumber(1), byNumber(2), byNumber(3)
		c.Mapping.OccurredAt = withLayout(byNumber(4), "2006-01-02")
	}).accepted(t)
	if diff := cmp.Diff(map[string]int64{"R1": 100, "R2": 200}, got.amounts()); diff != "" {
		t.Errorf("headerless (-want +got):\n%s", diff)
	}
	preamble := "Account: \"main\nfrom;to\n\nref,amount,currency,date\nR1,100.00,EUR,2026-11-01\nR2,50.00,EUR,2026-11-01\n"
	total := []func(*csvformat.Config){headerRow(4), footer("^Total", "", "amount")}
	got = read(t, preamble+"Total,150.00,EUR\n", total...).accepted(t)
	if diff := cmp.Diff(map[string]int64{"R1": 10000, "R2": 5000}, got.amounts()); diff != "" {
		t.Errorf("with a total (-want +got):\n%s", diff)
	}
	if got.Summary.EndProof != sources.EndFooter || *got.Summary.Declared.Sum != 15000 || *got.Summary.Computed.Sum != 15000 || got.Records[0].Line != 5 {
		t.Errorf("summary %+v, first record at line %d; want a footer with 15000 and line 5", got.Summary, got.Records[0].Line)
	}
	read(t, preamble+"Total,160.00,EUR\n", total...).wantRefusal(t, "line 7", "160.00", "150.00", "differs by 10.00")
	read(t, "one\ntwo\n", headerRow(4)).wantRefusal(t, "ends before its header")
}

func TestA23NoFinalLineEnd(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"", "\n", "\r\n", "\r", "\r\r\n", "\n\n\r\n"} {
		got := read(t, "ref,amount,currency,date,memo\nR1,1.00,EUR,2026-11-01,a\nR2,2.00,EUR,2026-11-01,"+end).accepted(t)
		if diff := cmp.Diff(map[string]int64{"R1": 100, "R2": 200}, got.amounts()); diff != "" {
			t.Errorf("end %q (-want +got):\n%s", end, diff)
		}
	}
}

func TestA24DayAndMonth(t *testing.T) {
	t.Parallel()
	text := "ref,amount,currency,date\nR1,1.00,EUR,08.01.2026\nR2,1.00,EUR,14.01.2026\nR3,1.00,EUR,06.02.2026\n"
	got := read(t, text, dates("02.01.2006")).accepted(t)
	var days []string
	for _, rec := range got.Records {
		days = append(days, rec.OccurredAt.Format(time.DateOnly))
	}
	if diff := cmp.Diff([]string{"2026-01-08", "2026-01-14", "2026-02-06"}, days); diff != "" {
		t.Errorf("days (-want +got):\n%s", diff)
	}
	for _, layout := range []string{"01.02.2006", "1.2.2006"} {
		read(t, text, dates(layout)).wantRefusal(t, "line 3", "month is out of range", "14.01.2026", "fields.occurred_at.layout")
	}
}

func TestA25ImpossibleDays(t *testing.T) {
	t.Parallel()
	text := "ref,amount,currency,date\nR1,1.00,EUR,05.11.26\nR2,1.00,EUR,05.11.68\nR3,1.00,EUR,05.11.69\nR4,1.00,EUR,30.02.26\n"
	f := newFormat(t, simple(dates("02.01.06")))
	written := time.Date(2026, 11, 6, 0, 0, 0, 0, time.UTC)
	got := readAll(t, f, strings.NewReader(text), sources.Delivery{ModifiedAt: written}).accepted(t)
	if len(got.Records) != 1 || got.Records[0].OccurredAt != time.Date(2026, 11, 5, 0, 0, 0, 0, time.UTC) {
		t.Errorf("records %+v, want the 5th of November alone", got.Records)
	}
	if len(got.Rejects) != 3 || got.Rejects[2].Line != 5 || !strings.Contains(got.Rejects[2].Reason, "does not exist in the calendar") {
		t.Errorf("rejects %v, want the other three", got.Rejects)
	}
	byPeriod := newFormat(t, simple(dates("02.01.06"), func(c *csvformat.Config) {
		c.Completeness.Period = &sources.PeriodRule{Pattern: `(?P<day>\d{4}-\d{2}-\d{2})`}
	}))
	got = readAll(t, byPeriod, strings.NewReader(text), sources.Delivery{Name: "2020-01-01.csv"}).accepted(t)
	if len(got.Records) != 0 || len(got.Rejects) != 4 || !strings.Contains(got.Rejects[0].Reason, "far away") {
		t.Errorf("a period of 2020: %d records, rejects %v; want all rejected", len(got.Records), got.Rejects)
	}
}

func TestA41DaysBelongToTheZone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ zone, layout, text, from, to string }{
		{"America/New_York", "2006-01-02", "2026-08-03", "2026-08-03T04:00:00Z", "2026-08-04T04:00:00Z"},
		{"Australia/Brisbane", "", "2026-11-12T21:40:00Z", "2026-11-12T21:40:00Z", ""},
		{"Europe/Berlin", "", "2026-09-18T22:42:00.5+02:00", "2026-09-18T20:42:00.5Z", ""},
		{"Europe/Berlin", "2006-01-02", "2026-10-25", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"},
		{"Europe/Berlin", "2006-01-02", "2026-03-29", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"},
		// Midnight does not exist on this day, and the next one begins an hour early.
		{"America/Sao_Paulo", "2006-01-02", "2018-11-04", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"},
		// Midnight comes twice before this day begins.
		{"America/Sao_Paulo", "2006-01-02", "2018-02-17", "2018-02-17T02:00:00Z", "2018-02-18T03:00:00Z"},
		{"Europe/Moscow", "02.01.2006", "31.12.2026", "2026-12-30T21:00:00Z", "2026-12-31T21:00:00Z"},
		{"Europe/Moscow", "2.1.2006", "1.2.2026", "2026-01-31T21:00:00Z", "2026-02-01T21:00:00Z"},
		{"Europe/Moscow", "02.01.2006 15:04", "01.02.2026 03:04", "2026-02-01T00:04:00Z", ""},
		{"Europe/Moscow", "2/Jan/06 3:04 PM", "22/Sep/25 9:26 AM", "2025-09-22T06:26:00Z", ""},
	} {
		t.Run(tt.zone+" "+tt.text, func(t *testing.T) {
			t.Parallel()
			got := read(t, "ref,amount,currency,date\nR1,1.00,EUR,"+tt.text+"\n", dates(tt.layout), inZone(t, tt.zone)).accepted(t)
			if len(got.Records) != 1 {
				t.Fatalf("rejects %v, want a record", got.Rejects)
			}
			rec := got.Records[0]
			if from := rec.OccurredAt.Format(time.RFC3339Nano); from != tt.from || rec.OccurredAt.Location() != time.UTC {
				t.Errorf("OccurredAt = %s, want %s", from, tt.from)
			}
			to := ""
			if !rec.OccurredTo.IsZero() {
				to = rec.OccurredTo.Format(time.RFC3339Nano)
			}
			if to != tt.to {
				t.Errorf("OccurredTo = %s, want %s", to, tt.to)
			}
		})
	}
}

func TestA42ClockChanges(t *testing.T) {
	t.Parallel()
	berlin := inZone(t, "Europe/Berlin")
	one := func(value string) string { return "ref,amount,currency,date\nR1,1.00,EUR," + value + "\n" }
	for _, layout := range []string{"2006-01-02 15:04", "2006-1-2 15:04"} {
		gap := read(t, one("2026-03-29 02:30"), dates(layout), berlin).accepted(t)
		if len(gap.Rejects) != 1 || gap.Rejects[0].Field != "occurred_at" || !strings.Contains(gap.Rejects[0].Reason, "clock was set forward") {
			t.Errorf("gap under %s: %d records, rejects %v; want a reject", layout, len(gap.Records), gap.Rejects)
		}
		overlap := read(t, one("2026-10-25 02:30"), dates(layout), berlin).accepted(t)
		if len(overlap.Records) != 1 || overlap.Records[0].OccurredAt.Format(time.RFC3339) != "2026-10-25T00:30:00Z" {
			t.Errorf("overlap under %s: %+v, want the first of the two instants", layout, overlap.Records)
		}
	}
	named := dates("2006-01-02 15:04:05 MST")
	if got := read(t, one("2026-07-01 10:00:00 CEST"), named, berlin).accepted(t); len(got.Records) != 1 || got.Records[0].OccurredAt.Format(time.RFC3339) != "2026-07-01T08:00:00Z" {
		t.Errorf("CEST in Berlin: %+v %v, want 08:00Z", got.Records, got.Rejects)
	}
	if got := read(t, one("2026-07-01 10:00:00 CEST"), named).accepted(t); len(got.Rejects) != 1 || !strings.Contains(got.Rejects[0].Reason, "zone abbreviation") {
		t.Errorf("CEST in UTC: %+v %v, want a reject", got.Records, got.Rejects)
	}
	if got := read(t, one("2026-07-01 10:00:00 UTC"), named, berlin).accepted(t); len(got.Records) != 1 || got.Records[0].OccurredAt.Format(time.RFC3339) != "2026-07-01T10:00:00Z" {
		t.Errorf("UTC in Berlin: %+v %v, want 10:00Z", got.Records, got.Rejects)
	}
}

func TestH02OnlyPlainNumbers(t *testing.T) {
	t.Parallel()
	text := "ref;amount;currency;date\nR1;1,234;EUR;2026-11-01\n"
	for _, bad := range []string{"NaN", "Inf", "1e15", "0x10p0", ""} {
		text += "B;" + bad + ";EUR;2026-11-01\n"
	}
	got := read(t, text, delimiter(";"), numbers(".", ",")).accepted(t)
	if diff := cmp.Diff(map[string]int64{"R1": 123400}, got.amounts()); diff != "" {
		t.Errorf("amounts (-want +got):\n%s", diff)
	}
	if len(got.Rejects) != 5 {
		t.Errorf("rejects %v, want five", got.Rejects)
	}
}

func TestH03RejectedRowIsNoRecord(t *testing.T) {
	t.Parallel()
	f := newFormat(t, simple())
	r, err := f.Open(strings.NewReader("ref,amount,currency,date\nA,1,EUR,2026-11-01\nB,xx,EUR,2026-11-01\nC,3,EUR,2026-11-01\n"), sources.Delivery{})
	if err != nil {
		t.Fatal(err)
	}
	rec := sources.Record{BusinessReference: "left over"}
	if err := r.Next(&rec); err != nil || rec.BusinessReference != "A" {
		t.Fatalf("first: %+v, %v", rec, err)
	}
	if _, err := r.Summary(); err == nil {
		t.Error("Summary before the end = nil, want an error")
	}
	if err := r.Next(&rec); err == nil || err.Error() != `line 3: amount: read amount "xx": this is not a number in the declared form` {
		t.Errorf("second: %v", err)
	}
	if diff := cmp.Diff(sources.Record{}, rec); diff != "" {
		t.Errorf("a rejected row leaves a record (-want +got):\n%s", diff)
	}
	if err := r.Next(&rec); err != nil || rec.AmountMinor != 300 {
		t.Errorf("third: %+v, %v", rec, err)
	}
	for range 2 {
		if err := r.Next(&rec); err != io.EOF { //nolint:errorlint // the contract is io.EOF itself
			t.Errorf("after the last: %v, want io.EOF", err)
		}
	}
}
