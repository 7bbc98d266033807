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

func byHeader(name string) *sources.Field {
	return &sources.Field{Column: &sources.Column{Header: name}}
}

func byNumber(number int) *sources.Field {
	return &sources.Field{Column: &sources.Column{Number: number}}
}

func constant(value string) *sources.Field { return &sources.Field{Value: &value} }

func withMap(f *sources.Field, words map[string]string) *sources.Field {
	f.Map = words
	return f
}

func withLayout(f *sources.Field, layout string) *sources.Field {
	f.Layout = layout
	return f
}

func withNumber(f *sources.Field, decimal, group string) *sources.Field {
	f.Decimal, f.Group = decimal, group
	return f
}

// result is all that a document gives.
type result struct {
	Records []sources.Record
	Rejects []sources.Reject
	Refusal *sources.Refusal
	Summary sources.Summary
}

// readAll reads a document to its end; an outage fails the test.
func readAll(tb testing.TB, f *csvformat.Format, text io.Reader, d sources.Delivery) result {
	tb.Helper()
	out, err := tryAll(f, text, d)
	if err != nil {
		tb.Fatalf("read %s: %v", d.Name, err)
	}
	return out
}

// tryAll is readAll with the outage as an error.
func tryAll(f *csvformat.Format, text io.Reader, d sources.Delivery) (result, error) {
	var out result
	r, err := f.Open(text, d)
	if err != nil {
		return out, out.refuse(err)
	}
	for {
		var rec sources.Record
		err := r.Next(&rec)
		var reject *sources.Reject
		switch {
		case err == nil:
			out.Records = append(out.Records, rec)
		case errors.As(err, &reject):
			out.Rejects = append(out.Rejects, *reject)
		case errors.Is(err, io.EOF):
			out.Summary, err = r.Summary()
			if err != nil {
				return out, out.refuse(err)
			}
			return out, nil
		default:
			return out, out.refuse(err)
		}
	}
}

func (r *result) refuse(err error) error {
	if errors.As(err, &r.Refusal) {
		return nil
	}
	return err
}

// wantRefusal checks that the document is refused, and with which words.
func (r result) wantRefusal(tb testing.TB, words ...string) {
	tb.Helper()
	if r.Refusal == nil {
		tb.Fatalf("read %d records and %d rejects, want a refusal with %q", len(r.Records), len(r.Rejects), words)
	}
	for _, word := range words {
		if !strings.Contains(r.Refusal.Error(), word) {
			tb.Errorf("refused: %v; want %q in it", r.Refusal, word)
		}
	}
}

// accepted checks that the document is not refused.
func (r result) accepted(tb testing.TB) result {
	tb.Helper()
	if r.Refusal != nil {
		tb.Fatalf("refused: %v", r.Refusal)
	}
	if s := r.Summary; s.Rows != s.Records+s.Rejects+s.Skipped || s.Records != int64(len(r.Records)) || s.Rejects != int64(len(r.Rejects)) {
		tb.Errorf("the summary counts %d rows, %d records, %d rejects, %d skipped; read %d records and %d rejects",
			s.Rows, s.Records, s.Rejects, s.Skipped, len(r.Records), len(r.Rejects))
	}
	return r
}

// simple is a configuration for ref,amount,currency and what a test adds.
func simple(change ...func(*csvformat.Config)) csvformat.Config {
	cfg := csvformat.Config{
		Mapping: sources.Mapping{
			BusinessReference: byHeader("ref"),
			Amount:            byHeader("amount"),
			Currency:          byHeader("currency"),
			Status:            constant("succeeded"),
			OccurredAt:        withLayout(byHeader("date"), "2006-01-02"),
		},
		Completeness: sources.Completeness{End: "assumed"},
		Account:      "main",
	}
	for _, c := range change {
		c(&cfg)
	}
	return cfg
}

func newFormat(tb testing.TB, cfg csvformat.Config) *csvformat.Format {
	tb.Helper()
	f, err := csvformat.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// read reads a text under a configuration.
func read(tb testing.TB, text string, change ...func(*csvformat.Config)) result {
	tb.Helper()
	return readAll(tb, newFormat(tb, simple(change...)), strings.NewReader(text), sources.Delivery{Name: "statement.csv"})
}

// amounts lists reference and signed amount of every record.
func (r result) amounts() map[string]int64 {
	out := make(map[string]int64)
	for _, rec := range r.Records {
		amount := rec.AmountMinor
		if rec.Direction == sources.Debit {
			amount = -amount
		}
		out[rec.BusinessReference] = amount
	}
	return out
}

func delimiter(d string) func(*csvformat.Config) {
	return func(c *csvformat.Config) { c.Options.Delimiter = d }
}

func inEncoding(name string) func(*csvformat.Config) {
	return func(c *csvformat.Config) { c.Options.Encoding = name }
}

func headerRow(n int) func(*csvformat.Config) {
	return func(c *csvformat.Config) { c.Options.HeaderRow = &n }
}

func numbers(decimal, group string) func(*csvformat.Config) {
	return func(c *csvformat.Config) { c.Mapping.Amount = withNumber(byHeader("amount"), decimal, group) }
}

func dates(layout string) func(*csvformat.Config) {
	return func(c *csvformat.Config) { c.Mapping.OccurredAt = withLayout(byHeader("date"), layout) }
}

func inZone(tb testing.TB, name string) func(*csvformat.Config) {
	tb.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		tb.Fatal(err)
	}
	return func(c *csvformat.Config) { c.Zone = zone }
}

func footer(match, count, sum string) func(*csvformat.Config) {
	return func(c *csvformat.Config) {
		c.Completeness = sources.Completeness{Footer: &sources.Footer{Match: match}}
		if count != "" {
			c.Completeness.Footer.Count = &sources.Column{Header: count}
		}
		if sum != "" {
			c.Completeness.Footer.Sum = &sources.Column{Header: sum}
		}
	}
}

// signed reads the direction from the sign of the amount.
func signed(c *csvformat.Config) {
	c.Mapping.Direction = withMap(byHeader("amount"), map[string]string{"-": "debit", "+": "credit"})
}
