package sources_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"reconciler/sources"
)

func moscow(t *testing.T) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Moscow")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func TestKey(t *testing.T) {
	t.Parallel()
	// 22:30 UTC is already the second of November in Moscow.
	evening := time.Date(2026, 11, 1, 22, 30, 0, 5, time.UTC)
	withID := sources.Record{
		Account: "main", ProviderOperationID: "T|1", Kind: sources.KindPayment, Direction: sources.Debit, OccurredAt: evening,
	}
	plain := sources.Record{
		Account: "main", AmountMinor: 1250, HasAmount: true, Currency: "EUR", Direction: sources.Credit,
		BusinessReference: "R~1", OccurredAt: evening, Ordinal: 2,
	}
	for _, tt := range []struct {
		name   string
		rule   sources.IdentityRule
		change func(*sources.Record)
		rec    sources.Record
		want   string
	}{
		{"id", sources.IdentityRule{}, nil, withID, `main|T\|1|payment|debit`},
		{"id of a day", sources.IdentityRule{IDUniquePerDay: true, Zone: moscow(t)}, nil, withID, `main|T\|1|payment|debit|2026-11-02`},
		{"id of a UTC day", sources.IdentityRule{IDUniquePerDay: true}, nil, withID, `main|T\|1|payment|debit|2026-11-01`},
		{"no id", sources.IdentityRule{Zone: moscow(t)}, nil, plain, `main|2026-11-02|1250|EUR|credit||R\~1||#2`},
		{"no id, time in the key", sources.IdentityRule{TimeInKey: true, Zone: moscow(t)}, nil, plain, `main|2026-11-01T22:30:00.000000005Z|1250|EUR|credit||R\~1||#2`},
		{"no amount", sources.IdentityRule{}, func(r *sources.Record) { r.HasAmount, r.AmountMinor = false, 0 }, plain, `main|2026-11-01||EUR|credit||R\~1||#2`},
		{"amount zero", sources.IdentityRule{}, func(r *sources.Record) { r.AmountMinor = 0 }, plain, `main|2026-11-01|0|EUR|credit||R\~1||#2`},
		{"extracted references", sources.IdentityRule{}, func(r *sources.Record) {
			r.BusinessReference, r.FoldedReferences = "", []string{"A1", "B2"}
		}, plain, `main|2026-11-01|1250|EUR|credit||~A1~B2||#2`},
		{"echoed key", sources.IdentityRule{}, func(r *sources.Record) { r.IdempotencyKey = "v1:x" }, plain, `main|2026-11-01|1250|EUR|credit||R\~1|v1:x|#2`},
		{"only booked", sources.IdentityRule{}, func(r *sources.Record) {
			r.OccurredAt, r.BookedAt = time.Time{}, evening.AddDate(0, 0, 1)
		}, plain, `main|2026-11-02|1250|EUR|credit||R\~1||#2`},
		{"no time", sources.IdentityRule{TimeInKey: true}, func(r *sources.Record) { r.OccurredAt = time.Time{} }, plain, `main||1250|EUR|credit||R\~1||#2`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rec := tt.rec
			if tt.change != nil {
				tt.change(&rec)
			}
			if got := tt.rule.Key(&rec); got != tt.want {
				t.Errorf("Key() = %s, want %s", got, tt.want)
			}
			if got := string(tt.rule.AppendKey([]byte("x"), &rec)); got != "x"+tt.want {
				t.Errorf("AppendKey(x) = %s, want x%s", got, tt.want)
			}
		})
	}
}

// identity is what a key is made of.
type identity struct {
	Account, ID, Reference, Key string
	Folded                      []string
	Kind                        sources.Kind
	Direction                   sources.Direction
	Currency, Day               string
	Amount                      int64
	HasAmount                   bool
	Ordinal                     int
}

// identify is the plain statement of which records are the same.
func identify(rule sources.IdentityRule, rec *sources.Record) identity {
	if rec.ProviderOperationID != "" {
		id := identity{Account: rec.Account, ID: rec.ProviderOperationID, Kind: rec.Kind, Direction: rec.Direction}
		if rule.IDUniquePerDay {
			id.Day = rec.OccurredAt.Format(time.DateOnly)
		}
		return id
	}
	id := identity{
		Account: rec.Account, Day: rec.OccurredAt.Format(time.DateOnly), Currency: rec.Currency, Kind: rec.Kind,
		Direction: rec.Direction, Key: rec.IdempotencyKey, HasAmount: rec.HasAmount, Ordinal: rec.Ordinal,
		Reference: rec.BusinessReference,
	}
	if rec.HasAmount {
		id.Amount = rec.AmountMinor
	}
	if id.Reference == "" {
		id.Folded = rec.FoldedReferences
	}
	if rule.TimeInKey {
		id.Day = rec.OccurredAt.Format(time.RFC3339Nano)
	}
	return id
}

// TestKeyIsInjective: two records have one key exactly if they are the same.
func TestKeyIsInjective(t *testing.T) {
	t.Parallel()
	text := rapid.StringMatching(`[|\\~#a]{0,3}`)
	draw := func(t *rapid.T, name string) sources.Record {
		return sources.Record{
			Account:             text.Draw(t, name+" account"),
			ProviderOperationID: rapid.OneOf(rapid.Just(""), text).Draw(t, name+" id"),
			BusinessReference:   rapid.OneOf(rapid.Just(""), text).Draw(t, name+" reference"),
			FoldedReferences:    rapid.SliceOfN(text, 0, 2).Draw(t, name+" folded"),
			IdempotencyKey:      text.Draw(t, name+" key"),
			AmountMinor:         rapid.Int64Range(0, 2).Draw(t, name+" amount"),
			HasAmount:           rapid.Bool().Draw(t, name+" has amount"),
			Currency:            rapid.SampledFrom([]string{"", "EUR"}).Draw(t, name+" currency"),
			Direction:           rapid.SampledFrom([]sources.Direction{"", sources.Debit}).Draw(t, name+" direction"),
			Kind:                rapid.SampledFrom([]sources.Kind{"", sources.KindFee}).Draw(t, name+" kind"),
			OccurredAt:          time.Unix(rapid.Int64Range(0, 200_000).Draw(t, name+" at"), 0).UTC(),
			Ordinal:             rapid.IntRange(0, 1).Draw(t, name+" ordinal"),
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		rule := sources.IdentityRule{
			IDUniquePerDay: rapid.Bool().Draw(t, "id per day"),
			TimeInKey:      rapid.Bool().Draw(t, "time in key"),
		}
		a := draw(t, "a")
		b := a
		other := draw(t, "b")
		// Records that differ in little are the ones that could be mixed up.
		for _, take := range []func(){
			func() { b.Account = other.Account },
			func() { b.ProviderOperationID = other.ProviderOperationID },
			func() { b.BusinessReference = other.BusinessReference },
			func() { b.FoldedReferences = other.FoldedReferences },
			func() { b.IdempotencyKey = other.IdempotencyKey },
			func() { b.AmountMinor, b.HasAmount = other.AmountMinor, other.HasAmount },
			func() { b.Currency, b.Direction, b.Kind = other.Currency, other.Direction, other.Kind },
			func() { b.OccurredAt, b.Ordinal = other.OccurredAt, other.Ordinal },
		} {
			if rapid.Bool().Draw(t, "differ") {
				take()
			}
		}
		same := cmp.Equal(identify(rule, &a), identify(rule, &b), equateEmpty())
		if keyA, keyB := rule.Key(&a), rule.Key(&b); (keyA == keyB) != same {
			t.Fatalf("keys %s and %s; the same record: %v\n%s", keyA, keyB, same, cmp.Diff(a, b))
		}
	})
}

// equateEmpty takes an empty list for no list.
func equateEmpty() cmp.Option {
	return cmp.Transformer("empty", func(list []string) map[int]string {
		m := make(map[int]string, len(list))
		for i, s := range list {
			m[i] = s
		}
		return m
	})
}
