package csvformat_test

import (
	"strings"
	"testing"
	"time"

	"reconciler/sources"
	"reconciler/sources/csvformat"
)

func proven(change func(*sources.Completeness)) func(*csvformat.Config) {
	return func(c *csvformat.Config) {
		c.Completeness.End = ""
		change(&c.Completeness)
	}
}

func assumed(change func(*sources.Completeness)) func(*csvformat.Config) {
	return func(c *csvformat.Config) { change(&c.Completeness) }
}

func atMatch(pattern string) *sources.Place { return &sources.Place{Match: pattern} }

func days(p sources.Period) string {
	if p.IsZero() {
		return ""
	}
	return p.From.Format(time.DateOnly) + " " + p.To.Format(time.DateOnly)
}

func TestPeriodInCells(t *testing.T) {
	t.Parallel()
	header := options(func(o *sources.CSV) { o.Header = &sources.Header{Contains: []string{"ref", "amount"}} })
	cells := func(from, to *sources.Place, layout string) func(*csvformat.Config) {
		return assumed(func(c *sources.Completeness) {
			c.Period = &sources.PeriodRule{Cells: &sources.PeriodCells{From: from, To: to}, Layout: layout}
		})
	}
	number := func(n int) *sources.Column { return &sources.Column{Number: n} }
	for _, tt := range []struct {
		name, before, after string
		from, to            *sources.Place
		layout, want        string
	}{
		{"one line", "time [2026-11-01] to [2026-11-02],,\n", "", atMatch(`time \[(\S+)\]`), atMatch(`to \[(\S+)\]`), "", "2026-11-01 2026-11-03"},
		{"rows and columns", "Statement\nFrom,01.11.2026,To,\"02.11.2026\"\n", "", &sources.Place{Row: 2, Column: number(2)}, &sources.Place{Row: 2, Column: number(4)}, "02.01.2006", "2026-11-01 2026-11-03"},
		{"match and column", "Period,2026-11-01,2026-11-02\n", "", &sources.Place{Match: "^Period", Column: number(2)}, &sources.Place{Match: "^Period", Column: number(3)}, "", "2026-11-01 2026-11-03"},
		{"one day", "Day: 2026-11-01\n", "", atMatch(`Day: (\S+)`), nil, "", "2026-11-01 2026-11-02"},
		{"whole line", "2026-11-01\n", "", &sources.Place{Row: 1}, nil, "", "2026-11-01 2026-11-02"},
		{"instants", "\"From\",\"2026-11-01T00:00:00-08:00\"\n\"To\",\"2026-11-02T00:00:00-08:00\"\n", "", &sources.Place{Match: `^"From"`, Column: number(2)}, &sources.Place{Row: 2, Column: number(2)}, "", "2026-11-01 2026-11-02"},
		{"behind the rows", "", "Day: 2026-11-01,,\n", atMatch(`^Day: (\S+)`), nil, "", "2026-11-01 2026-11-02"},
		{"behind the rows, by header", "", "Day,2026-11-01\n", &sources.Place{Match: "^Day$", Column: &sources.Column{Header: "amount"}}, nil, "", "2026-11-01 2026-11-02"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := read(t, tt.before+twoRows+tt.after, header, cells(tt.from, tt.to, tt.layout)).accepted(t)
			if have := days(got.Summary.Period); have != tt.want || got.Summary.Rows != 2 {
				t.Errorf("period %s, %d rows; want %s and 2", have, got.Summary.Rows, tt.want)
			}
		})
	}
	last := assumed(func(c *sources.Completeness) {
		c.Period = &sources.PeriodRule{Cells: &sources.PeriodCells{From: atMatch(`From (.*?) to`), To: atMatch(`to (.*)$`)}, Layout: "2006-01-02 15:04", Inclusive: true}
	})
	if got := read(t, "From 2026-11-01 00:00 to 2026-11-02 23:59\n"+twoRows, header, last).accepted(t); days(got.Summary.Period) != "2026-11-01 2026-11-03" {
		t.Errorf("period %v, want it to the end of the last minute", got.Summary.Period)
	}
	day := cells(atMatch(`Day: (\S+)`), nil, "")
	read(t, twoRows, header, day).wantRefusal(t, "completeness.period.cells.from is not in the file", "no line matches")
	read(t, "Day: soon\n"+twoRows, header, day).wantRefusal(t, "cannot be read", `"soon"`)
	read(t, "Day: 2026-11-01\nDay: 2026-11-02\n"+twoRows, header, day).wantRefusal(t, "line 2", "fits this line and line 1")
	// What is known before the rows is known after Open.
	r, err := newFormat(t, simple(header, day)).Open(strings.NewReader("Day: 2026-11-01\n"+twoRows), sources.Delivery{})
	if err != nil {
		t.Fatal(err)
	}
	if early, ok := r.(sources.PeriodReader); !ok || days(early.Period()) != "2026-11-01 2026-11-02" {
		t.Error("the period is not known after Open")
	}
}

func TestPeriodInRows(t *testing.T) {
	t.Parallel()
	columns := assumed(func(c *sources.Completeness) {
		c.Period = &sources.PeriodRule{Columns: &sources.PeriodColumns{From: &sources.Column{Header: "start"}, To: &sources.Column{Header: "end"}}}
	})
	head := "ref,amount,currency,date,start,end\n"
	row := "R1,1.00,EUR,2026-11-01,2026-11-01,2026-11-02\n"
	if got := read(t, head+row+row, columns).accepted(t); days(got.Summary.Period) != "2026-11-01 2026-11-03" {
		t.Errorf("period %v", got.Summary.Period)
	}
	read(t, head+row+strings.Replace(row, "11-02\n", "11-03\n", 1), columns).wantRefusal(t, "line 3", "2026-11-03", "line 2")

	daily := assumed(func(c *sources.Completeness) { c.Period = &sources.PeriodRule{Daily: "occurred_at"} })
	berlin := inZone(t, "Europe/Berlin")
	got := read(t, twoRows, daily, berlin).accepted(t)
	if p := got.Summary.Period; p.From.Format(time.RFC3339) != "2026-10-31T23:00:00Z" || p.To.Format(time.RFC3339) != "2026-11-01T23:00:00Z" {
		t.Errorf("period %v, want the day in Berlin", p)
	}
	read(t, twoRows+"R3,1.00,EUR,2026-11-02\n", daily, berlin).wantRefusal(t, "line 4", "occurred_at is on 2026-11-02", "line 2 on 2026-11-01")
	// F04: the day on which the clocks change has 25 hours.
	long := read(t, columnLine+"R1,1.00,EUR,2026-10-24T22:00:00Z\nR2,1.00,EUR,2026-10-25T22:59:59Z\n", daily, berlin, dates("")).accepted(t)
	if p := long.Summary.Period; p.To.Sub(p.From) != 25*time.Hour {
		t.Errorf("period %v, want 25 hours", p)
	}
	read(t, columnLine+"R1,1.00,EUR,2026-10-24T21:59:59Z\nR2,1.00,EUR,2026-10-24T22:00:00Z\n", daily, berlin, dates("")).wantRefusal(t, "line 3")
}

func TestDeclaredElsewhere(t *testing.T) {
	t.Parallel()
	header := options(func(o *sources.CSV) { o.Header = &sources.Header{Contains: []string{"ref", "amount"}} })
	count := proven(func(c *sources.Completeness) { c.Count = atMatch(`Rows: (\d+)`) })
	sum := proven(func(c *sources.Completeness) {
		c.Sum = &sources.Place{Match: "^Sum", Column: &sources.Column{Header: "amount"}}
	})
	got := read(t, "Rows: 2\n"+twoRows, header, count).accepted(t)
	if got.Summary.EndProof != sources.EndDeclared || *got.Summary.Declared.Count != 2 {
		t.Errorf("summary %+v, want a declared count", got.Summary)
	}
	read(t, "Rows: 3\n"+twoRows, header, count).wantRefusal(t, "the document declares 3 records, the file has 2")
	read(t, twoRows, header, count).wantRefusal(t, "completeness.count is not in the file")
	if got := read(t, "Rows: 0\n"+columnLine, header, count).accepted(t); got.Summary.EndProof != sources.EndDeclared {
		t.Errorf("no row: %+v, want a proven end", got.Summary)
	}
	if got := read(t, twoRows+"Sum,150.00\n", header, sum).accepted(t); got.Summary.EndProof != sources.EndDeclared || *got.Summary.Declared.Sum != 15000 {
		t.Errorf("summary %+v, want a declared sum", got.Summary)
	}
	read(t, twoRows+"Sum,150.01\n", header, sum).wantRefusal(t, "the document declares a sum of 150.01", "differs by 0.01")
	asOf := assumed(func(c *sources.Completeness) {
		c.AsOf = &sources.Place{Match: "Made (.*)$", Layout: "02.01.2006 15:04"}
	})
	if got := read(t, "Made 02.11.2026 06:00\n"+twoRows, header, asOf, inZone(t, "Europe/Berlin")).accepted(t); got.Summary.AsOf.Format(time.RFC3339) != "2026-11-02T05:00:00Z" {
		t.Errorf("as of %v", got.Summary.AsOf)
	}
}

func TestFooterOfTwoColumns(t *testing.T) {
	t.Parallel()
	text := "ref,debit,credit,date\nR1,70.55,,2026-11-01\nR2,,56.00,2026-11-01\nR3,1.00,,2026-11-01\n"
	sums := func(c *csvformat.Config) {
		c.Completeness = sources.Completeness{Footer: &sources.Footer{Match: "^Total", Debit: &sources.Column{Header: "debit"}, Credit: &sources.Column{Header: "credit"}}}
	}
	if got := read(t, text+"Total,71.55,56.00\n", twoColumns(""), euros, sums).accepted(t); got.Summary.EndProof != sources.EndFooter {
		t.Errorf("end %s, want footer", got.Summary.EndProof)
	}
	read(t, text+"Total,71.55,57.00\n", twoColumns(""), euros, sums).wantRefusal(t, "a credit sum of 57.00", "come to 56.00")
	read(t, text+"Total,71.54,56.00\n", twoColumns(""), euros, sums).wantRefusal(t, "a debit sum of 71.54")
}

// balanced declares balances around rows.
func balanced(opening, closing bool, running, order string) func(*csvformat.Config) {
	return func(c *csvformat.Config) {
		signed(c)
		b := &sources.Balances{Order: order}
		if opening {
			b.Opening = &sources.Place{Match: "^Opening", Column: &sources.Column{Number: 2}}
		}
		if closing {
			b.Closing = &sources.Place{Match: "^Closing", Column: &sources.Column{Number: 2}}
		}
		if running != "" {
			b.Running = &sources.Column{Header: running}
		}
		c.Completeness.Balances = b
		if closing {
			c.Completeness.End = ""
		}
		c.Options.Header = &sources.Header{Contains: []string{"ref", "amount"}}
	}
}

func TestBalances(t *testing.T) {
	t.Parallel()
	rows := columnLine + "R1,100.00,EUR,2026-11-01\nR2,-30.00,EUR,2026-11-01\n"
	both := balanced(true, true, "", "")
	got := read(t, "Opening,5.00\n"+rows+"Closing,75.00\n", both).accepted(t)
	s := got.Summary
	if s.EndProof != sources.EndBalance || *s.Declared.Opening != 500 || *s.Declared.Closing != 7500 || *s.Computed.Closing != 7500 {
		t.Errorf("summary %+v, want a balance from 5.00 to 75.00", s)
	}
	for name, text := range map[string]string{
		"makes 75.00":        "Opening,5.00\n" + rows + "Closing,76.00\n",
		"makes 105.00":       "Opening,5.00\nClosing,75.00\n" + columnLine + "R1,100.00,EUR,2026-11-01\n",
		"no closing balance": "Opening,5.00\n" + rows,
		"no opening balance": rows + "Closing,75.00\n",
	} {
		if got := read(t, text, both); got.Refusal == nil {
			t.Errorf("%s: accepted with end %s", name, got.Summary.EndProof)
		}
	}
	read(t, "Opening,5.00\n"+rows+"Closing,76.00\n", both).wantRefusal(t, "opening balance 5.00", "entries 70.00", "make 75.00", "76.00", "differs by 1.00")
	if got := read(t, "Opening,5.00\n"+rows+"R3,x,EUR,2026-11-01\nClosing,75.00\n", both).accepted(t); got.Summary.EndProof != sources.EndUnproven {
		t.Errorf("end %s with an unreadable row, want unproven", got.Summary.EndProof)
	}
	if got := read(t, "Opening,5.00\n"+columnLine+"Closing,5.00\n", both, euros).accepted(t); got.Summary.EndProof != sources.EndBalance || *got.Summary.Declared.Closing != 500 {
		t.Errorf("no row: %+v, want an empty statement that is proven", got.Summary)
	}
	read(t, "Opening,5.00\n"+columnLine+"Closing,6.00\n", both).wantRefusal(t, "differs by")
	two := strings.Replace(rows, "-30.00,EUR", "-30.00,USD", 1)
	if got := read(t, "Opening,5.00\n"+two+"Closing,75.00\n", both).accepted(t); got.Summary.EndProof != sources.EndUnproven {
		t.Errorf("end %s with two currencies, want unproven", got.Summary.EndProof)
	}
}

func TestRunningBalance(t *testing.T) {
	t.Parallel()
	head := "ref,amount,currency,date,balance\n"
	rows := []string{"R1,100.00,EUR,2026-11-01,105.00\n", "R2,-30.00,EUR,2026-11-01,75.00\n", "R3,1.00,EUR,2026-11-01,76.00\n"}
	up, down := strings.Join(rows, ""), rows[2]+rows[1]+rows[0]
	for _, tt := range []struct{ name, text, order string }{
		{"ascending", head + up + "Closing,76.00\n", ""},
		{"descending", "Closing,76.00\n" + head + down, "descending"},
	} {
		got := read(t, tt.text, balanced(false, true, "balance", tt.order)).accepted(t)
		if s := got.Summary; s.EndProof != sources.EndBalance || *s.Computed.Opening != 500 || *s.Declared.Closing != 7600 || s.Declared.Opening != nil {
			t.Errorf("%s: summary %+v, want a balance from 5.00 to 76.00", tt.name, s)
		}
	}
	check := balanced(false, false, "balance", "")
	if got := read(t, head+up, check).accepted(t); got.Summary.EndProof != sources.EndAssumed {
		t.Errorf("end %s: a running balance proves no end", got.Summary.EndProof)
	}
	read(t, head+rows[0]+rows[2], check).wantRefusal(t, "line 3", `column "balance"`, "the balance is 76.00", "105.00", "1.00")
	read(t, head+down, check).wantRefusal(t, "another order")
	read(t, head+rows[0]+"Closing,76.00\n", balanced(false, true, "balance", "")).wantRefusal(t, "closing balance is 76.00", "105.00")
	read(t, "Opening,6.00\n"+head+up+"Closing,76.00\n", balanced(true, true, "balance", "")).wantRefusal(t, "opening balance is 6.00", "5.00")
	read(t, head+strings.Replace(up, "105.00", "n/a", 1), check).wantRefusal(t, "line 2", "balance cannot be read")
	// Behind a row that nobody understands, the chain begins anew.
	read(t, head+rows[0]+"Rx,x,EUR,2026-11-01,80.00\n"+"R2,-5.00,EUR,2026-11-01,75.00\n", check).accepted(t)
}

func TestSequence(t *testing.T) {
	t.Parallel()
	head := "no,ref,amount,currency,date\n"
	row := func(numbers ...string) string {
		var b strings.Builder
		b.WriteString(head)
		for _, n := range numbers {
			b.WriteString(n + ",R,1.00,EUR,2026-11-01\n")
		}
		return b.String()
	}
	one := 1
	sequence := func(order string, first *int) func(*csvformat.Config) {
		return assumed(func(c *sources.Completeness) {
			c.Sequence = &sources.Sequence{Column: &sources.Column{Header: "no"}, Order: order, First: first}
		})
	}
	got := read(t, row("7", "8", "09"), sequence("", nil)).accepted(t)
	if s := got.Summary; *s.Computed.First != 7 || *s.Computed.Last != 9 || s.EndProof != sources.EndAssumed {
		t.Errorf("summary %+v, want 7 to 9, and no proof of the end", s)
	}
	if s := read(t, row("9", "8", "7"), sequence("descending", nil)).accepted(t).Summary; *s.Computed.First != 7 || *s.Computed.Last != 9 {
		t.Errorf("summary %+v, want 7 to 9", s)
	}
	read(t, row("7", "9"), sequence("", nil)).wantRefusal(t, "line 3", "number 9 follows 7", "rows are missing")
	read(t, row("7", "7"), sequence("", nil)).wantRefusal(t, "number 7 follows 7")
	read(t, row("7", ""), sequence("", nil)).wantRefusal(t, `"" is not a number`)
	read(t, row("2"), sequence("", &one)).wantRefusal(t, "begins with 2, it should with 1")
	read(t, row("1", "2"), sequence("", &one)).accepted(t)
	cfg := simple(sequence("", nil))
	cfg.Completeness.End = "proven"
	if _, err := csvformat.New(cfg); err == nil || !strings.Contains(err.Error(), "completeness.end") {
		t.Errorf("New = %v, want an error: a sequence proves no end", err)
	}
}

func TestManifest(t *testing.T) {
	t.Parallel()
	vouched := proven(func(c *sources.Completeness) {
		c.Manifest = &sources.Manifest{Name: "{stem}.ctl", Count: `rows=(\d+)`, SHA256: `sha256=([0-9a-fA-F]+)`, Size: `bytes=(\d+)`}
	})
	f := newFormat(t, simple(vouched))
	d := sources.Delivery{Name: "in/a.csv", Size: 7, SHA256: strings.Repeat("ab", 32)}
	if name := f.ManifestName(d); name != "a.ctl" {
		t.Errorf("ManifestName = %q, want a.ctl", name)
	}
	good := "rows=2\nbytes=7\nsha256=" + strings.Repeat("AB", 32)
	for _, tt := range []struct {
		manifest string
		text     string
		refused  string
	}{
		{good, twoRows, ""},
		{good, columnLine + "R1,1.00,EUR,2026-11-01\n", "the manifest declares 2 records, the file has 1"},
		{strings.Replace(good, "bytes=7", "bytes=8", 1), twoRows, "declares 8 bytes, the file has 7"},
		{strings.Replace(good, "ABAB", "ABCD", 1), twoRows, "declares the SHA-256"},
		{strings.Replace(good, "rows", "lines", 1), twoRows, "nothing in it matches completeness.manifest.count"},
		{good + "\nrows=2", twoRows, "matches twice"},
		{"", twoRows, "is not there"},
	} {
		d.Manifest = []byte(tt.manifest)
		if tt.manifest == "" {
			d.Manifest = nil
		}
		got := readAll(t, f, strings.NewReader(tt.text), d)
		if tt.refused != "" {
			got.wantRefusal(t, tt.refused)
			continue
		}
		if got.accepted(t).Summary.EndProof != sources.EndManifest || *got.Summary.Declared.Count != 2 {
			t.Errorf("%q: %+v, want a proven end", tt.manifest, got.Summary)
		}
	}
	done := newFormat(t, simple(proven(func(c *sources.Completeness) { c.Manifest = &sources.Manifest{Name: "{name}.done"} })))
	if got := readAll(t, done, strings.NewReader(twoRows), sources.Delivery{Name: "a.csv", Manifest: []byte{}}).accepted(t); got.Summary.EndProof != sources.EndManifest {
		t.Errorf("an empty .done file: end %s, want manifest", got.Summary.EndProof)
	}
	readAll(t, done, strings.NewReader(columnLine), sources.Delivery{Name: "a.csv", Manifest: []byte{}}).wantRefusal(t, "has no row")
}

// TestLastLineWithoutEnd: where the proof stands before the rows, nothing shows
// that the last line is whole but its own end.
func TestLastLineWithoutEnd(t *testing.T) {
	t.Parallel()
	header := options(func(o *sources.CSV) { o.Header = &sources.Header{Contains: []string{"ref", "amount"}} })
	count := proven(func(c *sources.Completeness) { c.Count = atMatch(`Rows: (\d+)`) })
	got := read(t, "Rows: 2\n"+strings.TrimSuffix(twoRows, "\n"), header, count).accepted(t)
	if got.Summary.EndProof != sources.EndUnproven || len(got.Summary.Notes) != 1 || !strings.Contains(got.Summary.Notes[0], "line 4: the last line has no end") {
		t.Errorf("summary %+v, want an unproven end and a note", got.Summary)
	}
	if got := read(t, twoRows+"Rows: 2", header, count).accepted(t); got.Summary.EndProof != sources.EndDeclared {
		t.Errorf("a total without a line end: %s, want declared", got.Summary.EndProof)
	}
	sized := newFormat(t, simple(proven(func(c *sources.Completeness) { c.Manifest = &sources.Manifest{Name: "{name}.done", Size: `(\d+)`} })))
	d := sources.Delivery{Name: "a.csv", Size: 5, Manifest: []byte("5")}
	if got := readAll(t, sized, strings.NewReader(strings.TrimSuffix(twoRows, "\n")), d).accepted(t); got.Summary.EndProof != sources.EndManifest {
		t.Errorf("a size vouched for: %s, want manifest", got.Summary.EndProof)
	}
}
