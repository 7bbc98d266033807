package csvformat_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"reconciler/sources"
)

// FuzzReader reads any bytes under the configurations of the test statements.
// Whatever they are: no panic, every row is accounted for, every record is
// well formed, and the result does not depend on how the bytes come in.
func FuzzReader(f *testing.F) {
	all := statements(f)
	for i, s := range all {
		text := s.read(f)
		f.Add(uint8(i), text)
		f.Add(uint8(i), text[:len(text)/2])
		f.Add(uint8(i), bytes.ReplaceAll(text, []byte(";"), []byte(",")))
	}
	f.Add(uint8(0), []byte{0xFF, 0xFE, 'a', 0})
	f.Add(uint8(2), []byte("id,id\n\"\n"))
	f.Fuzz(func(t *testing.T, which uint8, text []byte) {
		s := all[int(which)%len(all)]
		format := newFormat(t, s.cfg)
		d := sources.Delivery{Name: s.file}
		got := readAll(t, format, bytes.NewReader(text), d)
		if got.Refusal == nil {
			got.accepted(t)
			declared, computed := got.Summary.Declared, got.Summary.Computed
			if isProven(got.Summary.EndProof) && declared.Count != nil && *declared.Count != got.Summary.Rows {
				t.Errorf("declared %d rows, read %d", *declared.Count, got.Summary.Rows)
			}
			if got.Summary.EndProof == sources.EndBalance && declared.Closing != nil && *declared.Closing != *computed.Closing {
				t.Errorf("declared a balance of %d, computed %d", *declared.Closing, *computed.Closing)
			}
			if !isProven(got.Summary.EndProof) && s.cfg.Completeness.End != "assumed" && got.Summary.EndProof != sources.EndUnproven {
				t.Errorf("end %q without a proof", got.Summary.EndProof)
			}
		}
		line := 0
		for _, rec := range got.Records {
			if rec.Line <= line {
				t.Errorf("line %d comes after line %d", rec.Line, line)
			}
			line = rec.Line
			if rec.Account == "" || rec.AmountMinor < 0 || rec.FeeMinor < 0 || rec.OccurredAt.IsZero() ||
				!slices.Contains(sources.Statuses(), rec.Status) || rec.HasAmount && rec.Currency == "" {
				t.Errorf("malformed record %+v", rec)
			}
			for _, text := range append([]string{rec.ProviderOperationID, rec.BusinessReference, rec.RelatedID, rec.BatchID}, rec.FoldedReferences...) {
				if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
					t.Errorf("line %d holds the text %q", rec.Line, text)
				}
			}
		}
		for _, reject := range got.Rejects {
			if reject.Line == 0 || reject.Reason == "" || !utf8.ValidString(reject.Reason) {
				t.Errorf("malformed reject %+v", reject)
			}
		}
		if diff := cmp.Diff(got, readAll(t, format, iotest.OneByteReader(bytes.NewReader(text)), d)); diff != "" {
			t.Errorf("byte by byte (-whole +portions):\n%s", diff)
		}
	})
}
