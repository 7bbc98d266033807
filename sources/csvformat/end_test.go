package csvformat_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"reconciler/sources"
	"reconciler/sources/csvformat"
)

const (
	columnLine = "ref,amount,currency,date\n"
	twoRows    = columnLine + "R1,100.00,EUR,2026-11-01\nR2,50.00,EUR,2026-11-01\n"
)

func TestFooter(t *testing.T) {
	t.Parallel()
	count := footer("^Total", "amount", "")
	both := func(c *csvformat.Config) {
		footer("^Total", "currency", "amount")(c)
	}
	for _, tt := range []struct {
		name    string
		text    string
		footer  func(*csvformat.Config)
		refused []string
	}{
		{"count agrees", twoRows + "Total,2\n", count, nil},
		{"count agrees, full width", twoRows + "Total,2,,\n", count, nil},
		{"count agrees, no line end", twoRows + "Total,2", count, nil},
		{"count differs", twoRows + "Total,20039\n", count, []string{"line 4", "declares 20039 records", "has 2"}},
		{"cut at a line end", twoRows, count, []string{"no row matches", "^Total", "cut short"}},
		{"cut in the footer's first cell", twoRows + "Tot", count, []string{"rows must have 4 cells"}},
		{"cut behind the footer's first cell", twoRows + "Total", count, []string{"count", "column 2"}},
		{"cut behind the footer's delimiter", twoRows + "Total,", count, []string{"count", "empty"}},
		{"count unreadable", twoRows + "Total,two\n", count, []string{"count", `"two"`}},
		{"count with decimals", twoRows + "Total,2.00\n", count, []string{"count"}},
		{"count negative", twoRows + "Total,-2\n", count, []string{"count", "negative"}},
		{"both agree", twoRows + "Total,150.00,2\n", both, nil},
		{"sum with fewer decimals", twoRows + "Total,150,2\n", both, nil},
		{"sum differs", twoRows + "Total,150.01,2\n", both, []string{"150.01", "150.00", "differs by 0.01"}},
		{"sum agrees, count does not", twoRows + "Total,150.00,3\n", both, []string{"3 records"}},
		{"cut in the sum", twoRows + "Total,15", both, []string{"column 3"}},
		{"sum unreadable", twoRows + "Total,n/a,2\n", both, []string{"sum", `"n/a"`}},
		{"sum empty", twoRows + "Total,,2\n", both, []string{"sum", "empty"}},
		{"only a trailer", twoRows + "Total\n", footer("^Total$", "", ""), nil},
		{"rows behind the footer", twoRows + "Total,2\nR3,1.00,EUR,2026-11-01\n", count, []string{"line 5", "behind the footer of line 4"}},
		{"a second footer", twoRows + "Total,2\n" + "Total,2\n", count, []string{"line 5", "behind the footer"}},
		{"empty lines behind the footer", twoRows + "Total,2\n\n\n", count, nil},
		{"padded footer", twoRows + " Total , 2 \n", count, nil},
		{"footer among the ragged", columnLine + "R1,1\nTotal,1\n", count, []string{"line 2 has 2"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := read(t, tt.text, tt.footer)
			if tt.refused != nil {
				got.wantRefusal(t, tt.refused...)
				return
			}
			if got.accepted(t).Summary.EndProof != sources.EndFooter || len(got.Records) != 2 {
				t.Errorf("%d records, end %s; want 2 and footer", len(got.Records), got.Summary.EndProof)
			}
		})
	}
}

func TestFooterInOtherForms(t *testing.T) {
	t.Parallel()
	text := "ref;amount;currency;date\n" + strings.Repeat("R;1.234,50;EUR;2026-11-01\n", 1000) + "Summe;1.234.500,00;1.000;\n"
	got := read(t, text, delimiter(";"), numbers(",", "."), footer("^Summe", "currency", "amount")).accepted(t)
	if *got.Summary.Declared.Count != 1000 || *got.Summary.Declared.Sum != 123450000 || got.Summary.Declared.Currency != "EUR" {
		t.Errorf("declared %d and %d %s, want 1000 and 123450000 EUR", *got.Summary.Declared.Count, *got.Summary.Declared.Sum, got.Summary.Declared.Currency)
	}
}

func TestTotalsCountEveryRow(t *testing.T) {
	t.Parallel()
	text := "acc,ref,amount,currency,date\n" +
		"main,R1,100.00,EUR,2026-11-01\n" +
		"main,R2,20.00,EUR,2026-02-30\n" + // a reject whose amount is known
		"other,R3,3.00,EUR,2026-11-01\n" + // another account
		"Total,3,123.00,,\n"
	accounts := func(c *csvformat.Config) {
		footer("^Total", "ref", "amount")(c)
		c.Mapping.Account, c.Account, c.Accounts = byHeader("acc"), "", []string{"main"}
	}
	got := read(t, text, accounts).accepted(t)
	if s := got.Summary; s.Records != 1 || s.Rejects != 1 || s.Skipped != 1 || s.EndProof != sources.EndFooter {
		t.Errorf("summary %+v, want one record, one reject, one skipped, end footer", s)
	}
	unreadable := strings.Replace(text, "20.00", "twenty", 1)
	got = read(t, unreadable, accounts).accepted(t)
	if s := got.Summary; s.Computed.Sum != nil || *s.Declared.Sum != 12300 || s.EndProof != sources.EndFooter {
		t.Errorf("summary %+v, want no computed sum, and the count to prove the end", s)
	}
	onlySum := read(t, unreadable, accounts, func(c *csvformat.Config) { c.Completeness.Footer.Count = nil }).accepted(t)
	if onlySum.Summary.EndProof != sources.EndUnproven {
		t.Errorf("end %s, want unproven: the only total could not be compared", onlySum.Summary.EndProof)
	}
	skippedUnreadable := strings.Replace(text, "3.00,EUR,2026-11-01", "x,EUR,2026-11-01", 1)
	if got := read(t, skippedUnreadable, accounts).accepted(t); got.Summary.Computed.Sum != nil || got.Summary.Skipped != 1 {
		t.Errorf("summary %+v, want no computed sum: a skipped row is unreadable", got.Summary)
	}
	read(t, strings.ReplaceAll(text, "main", "misspelt"), accounts).wantRefusal(t, "none of the 3 rows", "accounts")
	empty := read(t, strings.Replace(text, "other", "", 1), accounts).accepted(t)
	if empty.Summary.Rejects != 2 || empty.Rejects[1].Field != "account" {
		t.Errorf("rejects %v, want the empty account among them", empty.Rejects)
	}
}

func TestSumOfSeveralCurrencies(t *testing.T) {
	t.Parallel()
	sum := footer("^Total", "", "amount")
	rows := columnLine + "R1,100,JPY,2026-11-01\nR2,0.5,EUR,2026-11-01\nR3,1.125,KWD,2026-11-01\n"
	got := read(t, rows+"Total,101.625\n", sum).accepted(t)
	if got.Summary.Computed.Sum != nil || got.Summary.EndProof != sources.EndFooter {
		t.Errorf("summary %+v, want a proven end without one computed sum", got.Summary)
	}
	read(t, rows+"Total,101.626\n", sum).wantRefusal(t, "101.626", "101.625", "0.001")
	// One that sums up to nothing still decides how the total is written.
	cancelled := columnLine + "R1,100,JPY,2026-11-01\nR2,1.25,EUR,2026-11-01\nR3,-1.25,EUR,2026-11-01\n"
	read(t, cancelled+"Total,100.00\n", sum, signed).accepted(t)
	same := read(t, columnLine+"R1,1.00,USD,2026-11-01\nR2,2.00,EUR,2026-11-01\nTotal,3.00\n", sum).accepted(t)
	if *same.Summary.Computed.Sum != 300 || same.Summary.Computed.Currency != "" {
		t.Errorf("computed %d %q, want 300 without a currency", *same.Summary.Computed.Sum, same.Summary.Computed.Currency)
	}
}

func TestSumBeyondInt64(t *testing.T) {
	t.Parallel()
	row := "R,92233720368547758.07,EUR,2026-11-01\n"
	got := read(t, columnLine+row+row+row).accepted(t)
	if got.Summary.Computed.Sum != nil {
		t.Errorf("computed %d, want none: the sum does not fit", *got.Summary.Computed.Sum)
	}
	minus := strings.Replace(row, "R,", "R,-", 1)
	got = read(t, columnLine+row+row+minus+minus+"Total,0\n", footer("^Total", "", "amount"), signed).accepted(t)
	if got.Summary.EndProof != sources.EndFooter || *got.Summary.Computed.Sum != 0 {
		t.Errorf("summary %+v, want a sum of zero that agrees", got.Summary)
	}
}

func TestEmptyDocuments(t *testing.T) {
	t.Parallel()
	count := footer("^Total", "amount", "")
	for _, text := range []string{"", "\ufeff", "\ufeff\ufeff"} {
		read(t, text).wantRefusal(t, "the file is empty")
	}
	read(t, "", headerRow(0), numbered).wantRefusal(t, "the file is empty")
	read(t, "\n\n", headerRow(0), numbered).wantRefusal(t, "has no row")
	read(t, columnLine).wantRefusal(t, "has no row")
	read(t, columnLine+"Total\n", footer("^Total", "", "")).wantRefusal(t, "has no row")
	read(t, columnLine+"Total,1\n", count).wantRefusal(t, "declares 1 records")
	got := read(t, columnLine+"Total,0\n", count).accepted(t)
	if got.Summary.EndProof != sources.EndFooter || got.Summary.Rows != 0 || *got.Summary.Declared.Count != 0 {
		t.Errorf("summary %+v, want an empty statement that is proven", got.Summary)
	}
	read(t, columnLine+"Total,0.00\n", footer("^Total", "", "amount")).accepted(t)
	read(t, columnLine+"Total,5.00\n", footer("^Total", "", "amount")).wantRefusal(t, "5.00")
}

func numbered(c *csvformat.Config) {
	c.Mapping.BusinessReference, c.Mapping.Amount, c.Mapping.Currency = byNumber(1), byNumber(2), byNumber(3)
	c.Mapping.OccurredAt = withLayout(byNumber(4), "2006-01-02")
}

func TestAssumedEnd(t *testing.T) {
	t.Parallel()
	if got := read(t, twoRows).accepted(t); got.Summary.EndProof != sources.EndAssumed {
		t.Errorf("end %s, want assumed", got.Summary.EndProof)
	}
	both := func(c *csvformat.Config) {
		footer("^Total", "amount", "")(c)
		c.Completeness.End = "assumed"
	}
	if got := read(t, twoRows+"Total,2\n", both).accepted(t); got.Summary.EndProof != sources.EndFooter {
		t.Errorf("end %s, want footer", got.Summary.EndProof)
	}
	read(t, twoRows, both).wantRefusal(t, "no row matches")
}

// TestOutageIsNoEnd: a source that breaks off is an error of the run, whatever
// kind of error it is. It is never the end of a statement or a refusal.
func TestOutageIsNoEnd(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	f := newFormat(t, simple())
	for _, cause := range []error{broken, io.ErrUnexpectedEOF, fmt.Errorf("get page: %w", io.EOF)} {
		for _, at := range []int{0, 1, 3, len(columnLine), len(twoRows), len(twoRows) - 5} {
			src := io.MultiReader(strings.NewReader(twoRows[:at]), iotest.ErrReader(cause))
			got, err := tryAll(f, src, sources.Delivery{})
			want := cause
			if errors.Is(cause, io.EOF) {
				want = io.ErrUnexpectedEOF
			}
			if !errors.Is(err, want) || errors.Is(err, io.EOF) {
				t.Errorf("%v after %d bytes: got %v, refusal %v, end %q; want an error that is no end", cause, at, err, got.Refusal, got.Summary.EndProof)
			}
		}
	}
	if _, err := tryAll(f, stuck{}, sources.Delivery{}); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a source that gives nothing: %v, want io.ErrNoProgress", err)
	}
}

// stuck never gives a byte, an error or an end.
type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// TestStringsStayValid: what a record holds does not change with later rows.
func TestStringsStayValid(t *testing.T) {
	t.Parallel()
	text := register(5000)
	f := newFormat(t, registerConfig())
	r, err := f.Open(bytes.NewReader(text), sources.Delivery{})
	if err != nil {
		t.Fatal(err)
	}
	var kept []sources.Record
	var copies []string
	var rec sources.Record
	for {
		if err := r.Next(&rec); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, rec)
		copies = append(copies, strings.Clone(rec.ProviderOperationID+" "+rec.BusinessReference+" "+rec.BatchID))
	}
	for i, rec := range kept {
		if now := rec.ProviderOperationID + " " + rec.BusinessReference + " " + rec.BatchID; now != copies[i] {
			t.Fatalf("record %d was %q and is %q", i, copies[i], now)
		}
	}
	want := sources.Record{
		Line: 5001, Account: "main", ProviderOperationID: "pay_0000000000004999", BusinessReference: "application-00004999",
		AmountMinor: 500099, HasAmount: true, Currency: "EUR", Status: sources.Succeeded, ProviderStatus: "Executed",
		OccurredAt: time.Date(2026, 11, 5, 7, 19, 54, 0, time.UTC), SettledAt: time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC),
		FeeMinor: 25, HasFee: true, BatchID: "batch-000004",
	}
	if diff := cmp.Diff(want, kept[4999]); diff != "" {
		t.Errorf("last record (-want +got):\n%s", diff)
	}
}

func TestOccurredBounds(t *testing.T) {
	t.Parallel()
	got := read(t, columnLine+"R1,1.00,EUR,2026-11-03\nR2,1.00,EUR,2026-11-01\nR3,x,EUR,2026-11-09\nR4,1.00,EUR,2026-11-05\n").accepted(t)
	first, last := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 5, 0, 0, 0, 0, time.UTC)
	if s := got.Summary; !s.FirstOccurred.Equal(first) || !s.LastOccurred.Equal(last) {
		t.Errorf("occurred from %v to %v, want %v to %v", s.FirstOccurred, s.LastOccurred, first, last)
	}
}
