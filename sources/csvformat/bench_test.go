package csvformat_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"reconciler/sources"
	"reconciler/sources/csvformat"
)

// register writes a register of n rows with twelve columns, about 190 bytes each.
func register(n int) []byte {
	var b bytes.Buffer
	b.WriteString("id,reference,amount,currency,state,created,settled,fee,batch,merchant,description,channel\n")
	for i := range n {
		fmt.Fprintf(&b, "pay_%016d,application-%08d,%d.%02d,EUR,Executed,2026-11-%02dT%02d:%02d:%02dZ,2026-11-28,0.25,batch-%06d,merchant-4711,"+
			"payment for the application of the customer %08d,web\n",
			i, i, i%9000+1, i%100, i%27+1, i%24, i%60, (i/7)%60, i/1000, i)
	}
	return b.Bytes()
}

func registerConfig() csvformat.Config {
	return csvformat.Config{
		Mapping: sources.Mapping{
			ProviderOperationID: byHeader("id"),
			BusinessReference:   byHeader("reference"),
			Amount:              byHeader("amount"),
			Currency:            byHeader("currency"),
			Status:              withMap(byHeader("state"), map[string]string{"Executed": "succeeded", "Rejected": "failed"}),
			OccurredAt:          byHeader("created"),
			SettledAt:           withLayout(byHeader("settled"), "2006-01-02"),
			Fee:                 byHeader("fee"),
			BatchID:             byHeader("batch"),
		},
		Completeness: sources.Completeness{End: "assumed"},
		Account:      "main",
	}
}

func BenchmarkReader(b *testing.B) {
	const rows = 20_000
	text := register(rows)
	format, err := csvformat.New(registerConfig())
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text) / rows))
	b.ReportAllocs()
	var rec sources.Record
	for left := b.N; left > 0; {
		r, err := format.Open(bytes.NewReader(text), sources.Delivery{})
		if err != nil {
			b.Fatal(err)
		}
		for ; left > 0; left-- {
			err := r.Next(&rec)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
