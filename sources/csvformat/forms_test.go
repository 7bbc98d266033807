package csvformat_test

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reconciler/sources"
	"reconciler/sources/csvformat"
)

func options(change func(*sources.CSV)) func(*csvformat.Config) {
	return func(c *csvformat.Config) { change(&c.Options) }
}

func TestHeaderByContent(t *testing.T) {
	t.Parallel()
	contains := options(func(o *sources.CSV) { o.Header = &sources.Header{Contains: []string{"ref", " Amount "}} })
	match := options(func(o *sources.CSV) { o.Header = &sources.Header{Match: "^ref,"} })
	preamble := "Account: \"main\nref: none\n\n"
	for name, header := range map[string]func(*csvformat.Config){"contains": contains, "match": match} {
		for _, before := range []string{"", preamble, "\ufeff" + preamble} {
			got := read(t, before+twoRows, header).accepted(t)
			if len(got.Records) != 2 || got.Records[0].Line != 2+strings.Count(before, "\n") {
				t.Errorf("%s behind %q: %+v, want two records", name, before, got.Records)
			}
		}
		read(t, strings.Repeat("x\n", 100)+twoRows, header).wantRefusal(t, "within the first 100 lines")
		read(t, "x\n", header).wantRefusal(t, "within the first 100 lines")
	}
	within := options(func(o *sources.CSV) { o.Header = &sources.Header{Contains: []string{"ref"}, Within: 1} })
	read(t, "x\n"+twoRows, within).wantRefusal(t, `no line has the headers "ref"`, "first 1 lines")
	quoted := strings.ReplaceAll(twoRows, "ref,amount", `"ref","amount"`)
	read(t, preamble+quoted, contains).accepted(t)
}

func TestCommentsAndOtherRows(t *testing.T) {
	t.Parallel()
	comment := options(func(o *sources.CSV) { o.Comment = "#" })
	got := read(t, "# made by hand\n"+columnLine+"#R0,\"\nR1,1.00,EUR,2026-11-01\n# end", comment).accepted(t)
	if len(got.Records) != 1 || got.Records[0].Line != 4 {
		t.Errorf("comments: %+v, want one record in line 4", got.Records)
	}
	read(t, "# made by hand\n"+columnLine, nop).wantRefusal(t, "missing")
	ignore := options(func(o *sources.CSV) { o.Ignore = "^(Section|Subtotal)" })
	got = read(t, columnLine+"Section A\nR1,1.00,EUR,2026-11-01\nSubtotal,1.00,EUR,,,\n", ignore).accepted(t)
	if len(got.Records) != 1 || got.Summary.Rows != 1 {
		t.Errorf("ignored rows: %+v, want one row", got.Summary)
	}
	blank := options(func(o *sources.CSV) { o.SkipBlank = true })
	text := columnLine + ",,,\nR1,1.00,EUR,2026-11-01\n  \n , ,\u00a0,\n"
	if got := read(t, text, blank).accepted(t); got.Summary.Rows != 1 {
		t.Errorf("blank rows: %+v, want one row", got.Summary)
	}
	read(t, text).wantRefusal(t, "line 4 has 1")
	single := options(func(o *sources.CSV) { o.Quote = "single" })
	got = read(t, columnLine+"'R,1','1.00',EUR,2026-11-01\n'it''s',1.00,EUR,2026-11-01\n\"R3,1.00,EUR,2026-11-01\n", single).accepted(t)
	if diff := cmp.Diff(map[string]int64{"R,1": 100, "it's": 100, `"R3`: 100}, got.amounts()); diff != "" {
		t.Errorf("single quotes (-want +got):\n%s", diff)
	}
	for _, d := range []string{"|", "\t", ";", "^"} {
		if got := read(t, strings.ReplaceAll(twoRows, ",", d), delimiter(d)).accepted(t); len(got.Records) != 2 {
			t.Errorf("delimiter %q: %+v", d, got.Records)
		}
	}
}

func nop(*csvformat.Config) {}

func TestA18_RaggedRowsRejected(t *testing.T) {
	t.Parallel()
	text := "ref,payee,amount,currency,date\nR1,a,1.00,EUR,2026-11-01\nR2,1.00,EUR,2026-11-01\nR3,Miller, Sons,1.00,EUR,2026-11-01\nR4,b,1.00,EUR,2026-11-01\nTotal,4,3.00\n"
	skip := func(c *csvformat.Config) {
		footer("^Total", "payee", "amount")(c)
		c.Options.Ragged = "reject"
	}
	got := read(t, text, skip).accepted(t)
	if diff := cmp.Diff(map[string]int64{"R1": 100, "R4": 100}, got.amounts()); diff != "" {
		t.Errorf("amounts (-want +got):\n%s", diff)
	}
	if len(got.Rejects) != 2 || got.Rejects[0].Line != 3 || got.Rejects[1].Reason != "the row has 6 cells, 5 are needed" || got.Summary.Computed.Sum != nil {
		t.Errorf("rejects %v, sum %v; want lines 3 and 4, and no sum", got.Rejects, got.Summary.Computed.Sum)
	}
}

func TestEmptyCellsAtTheEnd(t *testing.T) {
	t.Parallel()
	trimmed := options(func(o *sources.CSV) { o.TrimEnd = true })
	text := "ref,amount,currency,date,\nR1,1.00,EUR,2026-11-01\nR2,2.00,EUR,2026-11-01,, ,\n"
	if got := read(t, text, trimmed).accepted(t); len(got.Records) != 2 {
		t.Errorf("records %+v, want two", got.Records)
	}
	read(t, text).wantRefusal(t, "line 2 has 4")
	read(t, text+"R3,1.00,EUR,2026-11-01,x\nR4,1.00,EUR\n", trimmed).wantRefusal(t, "line 4 has 5, line 5 has 3")
}

func TestE13_RepeatedHeader(t *testing.T) {
	t.Parallel()
	joined := columnLine + "R1,1.00,EUR,2026-11-01\n" + columnLine + "R2,2.00,EUR,2026-11-01\n"
	read(t, joined).wantRefusal(t, "line 3", "header of line 1 is repeated", "csv.repeated_header")
	skip := options(func(o *sources.CSV) { o.RepeatedHeader = "skip" })
	got := read(t, joined, skip).accepted(t)
	if diff := cmp.Diff(map[string]int64{"R1": 100, "R2": 200}, got.amounts()); diff != "" {
		t.Errorf("amounts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"line 3: the header is repeated"}, got.Summary.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	// Nearly the header is a row like any other.
	if got := read(t, columnLine+"ref,amount,currency,Date\n", skip).accepted(t); len(got.Rejects) != 1 {
		t.Errorf("nearly the header: %+v, want a reject", got.Summary)
	}
}

func TestA10_A13_Marks(t *testing.T) {
	t.Parallel()
	double := utf16Bytes("\ufeff\ufeff"+strings.ReplaceAll(twoRows, ",", "\t"), binary.LittleEndian)
	if got := read(t, double, delimiter("\t")).accepted(t); len(got.Records) != 2 {
		t.Errorf("a double mark in UTF-16: %+v", got.Records)
	}
	for _, name := range []string{"gb18030", "big5", "euc-kr", "koi8-r", "macintosh", "iso-8859-2", "windows-1257", "cp437", "cp850", "cp1250", "latin2", "shift_jis", "euc-jp"} {
		if got := read(t, twoRows, inEncoding(name)).accepted(t); len(got.Records) != 2 {
			t.Errorf("%s: %+v", name, got.Records)
		}
	}
	read(t, columnLine+"R\ufffd,1.00,EUR,2026-11-01\n").wantRefusal(t, "line 2", "U+FFFD")
}

func TestLayouts(t *testing.T) {
	t.Parallel()
	several := func(layouts ...string) func(*csvformat.Config) {
		return func(c *csvformat.Config) {
			c.Mapping.OccurredAt = &sources.Field{Column: byHeader("date").Column, Layouts: layouts}
		}
	}
	text := columnLine + "R1,1.00,EUR,2026-11-01\nR2,1.00,EUR,02.11.2026\nR3,1.00,EUR,03.11.2026 04:05\n"
	got := read(t, text, several("2006-01-02", "02.01.2006", "02.01.2006 15:04")).accepted(t)
	var times []string
	for _, rec := range got.Records {
		times = append(times, rec.OccurredAt.Format(time.RFC3339))
	}
	if diff := cmp.Diff([]string{"2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z", "2026-11-03T04:05:00Z"}, times); diff != "" || got.Summary.Notes != nil {
		t.Errorf("times (-want +got):\n%s\nnotes %v", diff, got.Summary.Notes)
	}
	// A24: a month out of range under the one that fits its form refuses the file.
	read(t, columnLine+"R1,1.00,EUR,14/13/2026\n", several("2006-01-02", "02/01/2006")).wantRefusal(t, "month is out of range", "2006-01-02 or 02/01/2006")
	if got := read(t, columnLine+"R1,1.00,EUR,yesterday\n", several("2006-01-02", "02/01/2006")).accepted(t); len(got.Rejects) != 1 {
		t.Errorf("neither: %+v, want a reject", got.Summary)
	}
	for _, pair := range [][2]string{
		{"02.01.2006", "01.02.2006"},
		{"2/1/2006", "1/2/2006"},
		{"06-01-02", "02-01-06"},
		{"unix", "unix_ms"},
		{"2006-01-02 15:04", "2006-02-01 15:04"},
		{"02.01.06", "06.01.02"},
	} {
		if _, err := csvformat.New(simple(several(pair[0], pair[1]))); err == nil || !strings.Contains(err.Error(), "as different times") {
			t.Errorf("%v: New = %v, want an error: they read one text differently", pair, err)
		}
	}
	for _, pair := range [][2]string{{"2006-01-02", "20060102"}, {"02.01.2006", "02.01.2006 15:04:05"}, {"2006-01-02", "unix"}, {"02.01.2006", "02/01/2006"}} {
		if _, err := csvformat.New(simple(several(pair[0], pair[1]))); err != nil {
			t.Errorf("%v: New = %v", pair, err)
		}
	}
}

func TestTimesOfSeveralCells(t *testing.T) {
	t.Parallel()
	at := func(f sources.Field) func(*csvformat.Config) {
		return func(c *csvformat.Config) {
			f.Column = byHeader("date").Column
			c.Mapping.OccurredAt = &f
		}
	}
	column := func(name string) *sources.Column { return &sources.Column{Header: name} }
	zones := map[string]string{"PST": "-08:00", "CET": "Europe/Paris", "Eastern Time": "America/New_York"}
	for _, tt := range []struct {
		name, date, clock, zone string
		field                   sources.Field
		want, reject            string
	}{
		{"twelve hours", "01.11.2026 9:26 PM", "", "", sources.Field{Layout: "02.01.2006 3:04 PM"}, "2026-11-01T21:26:00Z", ""},
		{"midnight of twelve hours", "01.11.2026 12:05 AM", "", "", sources.Field{Layout: "02.01.2006 3:04 PM"}, "2026-11-01T00:05:00Z", ""},
		{"two columns", "29/12/2015", "07:45:51", "", sources.Field{Layout: "02/01/2006 15:04:05", TimeColumn: column("clock")}, "2015-12-29T07:45:51Z", ""},
		{"two columns, one empty", "29/12/2015", "", "", sources.Field{Layout: "02/01/2006 15:04:05", TimeColumn: column("clock")}, "", "declared layout"},
		{"zone by word", "29/12/2015", "07:45:51", "PST", sources.Field{Layout: "02/01/2006 15:04:05", TimeColumn: column("clock"), ZoneColumn: column("zone"), Zones: zones}, "2015-12-29T15:45:51Z", ""},
		{"zone by word with clocks that change", "2026-07-01 10:00", "", "CET", sources.Field{Layout: "2006-01-02 15:04", ZoneColumn: column("zone"), Zones: zones}, "2026-07-01T08:00:00Z", ""},
		{"unknown word", "2026-07-01 10:00", "", "MEZ", sources.Field{Layout: "2006-01-02 15:04", ZoneColumn: column("zone"), Zones: zones}, "", `the zone "MEZ" is not in zones`},
		{"zone by IANA name", "2026-07-01 10:00", "", "Asia/Tokyo", sources.Field{Layout: "2006-01-02 15:04", ZoneColumn: column("zone")}, "2026-07-01T01:00:00Z", ""},
		{"zone by offset", "2026-07-01 10:00", "", "+0530", sources.Field{Layout: "2006-01-02 15:04", ZoneColumn: column("zone")}, "2026-07-01T04:30:00Z", ""},
		{"abbreviation without a map", "2026-07-01 10:00", "", "CEST", sources.Field{Layout: "2006-01-02 15:04", ZoneColumn: column("zone")}, "", "declare it in zones"},
		{"zone of the field", "2026-07-01 10:00", "", "", sources.Field{Layout: "2006-01-02 15:04", Timezone: "Europe/Berlin"}, "2026-07-01T08:00:00Z", ""},
		{"day in the zone of the field", "2026-07-01", "", "", sources.Field{Layout: "2006-01-02", Timezone: "Europe/Berlin"}, "2026-06-30T22:00:00Z", ""},
		{"A42 named in the cell", "2026-07-01 10:00:00 CEST", "", "", sources.Field{Layout: "2006-01-02 15:04:05 MST", Zones: map[string]string{"CEST": "+02:00"}}, "2026-07-01T08:00:00Z", ""},
		{"A42 named, not in the map", "2026-07-01 10:00:00 EST", "", "", sources.Field{Layout: "2006-01-02 15:04:05 MST", Zones: map[string]string{"CEST": "+02:00"}}, "", `"EST" is not in zones`},
		{"seconds", "1793577600", "", "", sources.Field{Layout: "unix"}, "2026-11-02T00:00:00Z", ""},
		{"seconds with a fraction", "1793577600.25", "", "", sources.Field{Layout: "unix"}, "2026-11-02T00:00:00.25Z", ""},
		{"milliseconds", "1793577600123", "", "", sources.Field{Layout: "unix_ms"}, "2026-11-02T00:00:00.123Z", ""},
		{"milliseconds as seconds", "1793577600123", "", "", sources.Field{Layout: "unix"}, "", "implausibly"},
		{"no number", "17935x", "", "", sources.Field{Layout: "unix"}, "", "declared layout"},
		{"exponent", "1.79e9", "", "", sources.Field{Layout: "unix"}, "", "declared layout"},
		{"A42 gap in another zone", "2026-03-29 02:30", "", "CET", sources.Field{Layout: "2006-01-02 15:04", ZoneColumn: column("zone"), Zones: zones}, "", "clock was set forward"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := read(t, "ref,amount,currency,date,clock,zone\nR1,1.00,EUR,"+tt.date+","+tt.clock+","+tt.zone+"\n", at(tt.field)).accepted(t)
			if tt.reject != "" {
				if len(got.Rejects) != 1 || got.Rejects[0].Field != "occurred_at" || !strings.Contains(got.Rejects[0].Reason, tt.reject) {
					t.Errorf("rejects %v, want %q", got.Rejects, tt.reject)
				}
				return
			}
			if len(got.Records) != 1 || got.Records[0].OccurredAt.Format(time.RFC3339Nano) != tt.want {
				t.Errorf("records %+v, rejects %v; want %s", got.Records, got.Rejects, tt.want)
			}
		})
	}
}

func TestA42_OverlapIsFlagged(t *testing.T) {
	t.Parallel()
	got := read(t, columnLine+"R1,1.00,EUR,2026-10-25 02:30\nR2,1.00,EUR,2026-10-25 02:59\nR3,1.00,EUR,2026-10-25 03:00\n",
		dates("2006-01-02 15:04"), inZone(t, "Europe/Berlin")).accepted(t)
	if len(got.Records) != 3 {
		t.Fatalf("rejects %v", got.Rejects)
	}
	rec := got.Records[0]
	if rec.OccurredAt.Format(time.RFC3339) != "2026-10-25T00:30:00Z" || rec.OccurredTo.Format(time.RFC3339Nano) != "2026-10-25T01:30:00.000001Z" {
		t.Errorf("occurred %v to %v, want both instants", rec.OccurredAt, rec.OccurredTo)
	}
	if !got.Records[2].OccurredTo.IsZero() {
		t.Errorf("an hour later: %v, want one instant", got.Records[2].OccurredTo)
	}
	if len(got.Summary.Notes) != 1 || !strings.Contains(got.Summary.Notes[0], "line 2: the clock showed the occurred_at twice") || !strings.Contains(got.Summary.Notes[0], "1 more") {
		t.Errorf("notes %q", got.Summary.Notes)
	}
}
