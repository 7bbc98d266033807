package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"reconciler/journal"
	"reconciler/matcher"
	"reconciler/sources"
)

// counterLimit is how many records that speak against an absence are named.
const counterLimit = 5

// binds holds where the provider and account of operation o, as far as it
// names them, are those of record r.
const binds = `
	coalesce(nullif(o.account, ''), r.account) = r.account
	AND (coalesce(o.provider, '') = '' OR o.provider = (SELECT src.provider FROM {r}.sources src WHERE src.source = r.source))`

// unclaimed holds for a record r that no operation of the journal names. Each
// name is asked for by itself, so that each has its index.
const unclaimed = `
	AND NOT EXISTS (SELECT 1 FROM {j}.agent_operations o WHERE o.business_reference = r.business_reference AND ` + binds + `)
	AND NOT EXISTS (SELECT 1 FROM {j}.agent_operations o
	                 WHERE o.idempotency_key = r.business_reference AND coalesce(o.business_reference, '') = '' AND ` + binds + `)
	AND NOT EXISTS (SELECT 1 FROM {j}.agent_operations o WHERE o.idempotency_key = r.idempotency_key AND ` + binds + `)
	AND NOT EXISTS (SELECT 1 FROM {j}.agent_operations o WHERE o.provider_operation_id = r.provider_operation_id AND ` + binds + `)
	AND NOT EXISTS (
	    SELECT 1 FROM {r}.record_lookups rl JOIN {r}.operation_lookups ol USING (hash)
	      JOIN {j}.agent_operations o ON o.idempotency_key = ol.idempotency_key
	     WHERE rl.id_hash = r.id_hash AND rl.key_hash = r.key_hash AND ` + binds + `)`

// suspects are the windows of operations whose absence is in question, side by
// side as the columns of a query.
type suspects struct {
	n                []int
	from, to, booked []time.Time
	amounts          []*int64
	currencies       []string
	accounts         []*string
	sources          []string
}

// readCounterEvidence looks, for operations whose absence is in question, for
// records in their window that nobody owns: of the same amount, or without a
// usable reference. Either could be the effect under a lost name.
func (b *batch) readCounterEvidence(ctx context.Context) error {
	var s suspects
	for i := range b.subjects {
		op, policy := b.states[i].op, b.scope.Policies[b.states[i].op.ActionType]
		if op.Status == journal.Succeeded || b.shown(i) {
			continue
		}
		for _, rule := range b.rules(op) {
			if op.Provider != "" && rule.Provider != op.Provider {
				continue
			}
			w := matcher.EvidenceWindow(b.subjects[i].Facts, rule, policy, b.scope.Now)
			s.n, s.from, s.to, s.booked = append(s.n, i), append(s.from, w.From), append(s.to, w.To), append(s.booked, bookedBy(w, rule))
			s.accounts, s.currencies, s.sources = append(s.accounts, null(op.Account)), append(s.currencies, op.Currency), append(s.sources, rule.Name)
			var amount *int64
			if op.HasAmount {
				amount = &op.AmountMinor
			}
			s.amounts = append(s.amounts, amount)
		}
	}
	if len(s.n) == 0 {
		return nil
	}
	if err := planBy(ctx, b.tx, byHash); err != nil {
		return err
	}
	if err := b.unowned(ctx, s, sameAmount, func(f *matcher.Facts) *[]matcher.Unowned { return &f.UnownedSameAmount }); err != nil {
		return err
	}
	if err := b.unowned(ctx, s, withoutReference, func(f *matcher.Facts) *[]matcher.Unowned { return &f.UnownedWithoutReference }); err != nil {
		return err
	}
	return planBy(ctx, b.tx, byAny)
}

// The two ways in which a record r speaks against the absence of p. They are
// asked for one after the other, so that each is one join on equal values.
const (
	sameAmount       = `r.amount_minor = p.amount AND (r.currency = p.currency OR p.currency = '')`
	withoutReference = `r.business_reference IS NULL AND r.folded_references IS NULL AND r.idempotency_key IS NULL`
)

// bookedBy is the end of the time in which an effect of the window is booked.
func bookedBy(w sources.Period, rule matcher.SourceRule) time.Time {
	if rule.DatedBy == sources.ByBooking {
		return w.To
	}
	return w.To.Add(rule.SettlementLag)
}

// shown reports that the provider has shown an effect, or something like one,
// for the subject: its absence is then not in question.
func (b *batch) shown(i int) bool {
	for _, c := range b.subjects[i].Facts.Candidates {
		if !c.Replaced && c.Ownership == matcher.Owned && c.Record.Status != sources.Failed {
			return true
		}
	}
	return false
}

// unowned asks for the records that speak in one way, and adds them to the
// facts. The outer bounds of all windows let the block range index skip what
// can't be in any of them; records under a reference that some operation bears
// are not unowned, whether or not this run has come to that operation yet.
func (b *batch) unowned(ctx context.Context, s suspects, how string, into func(*matcher.Facts) *[]matcher.Unowned) error {
	first, last := slices.MinFunc(s.from, time.Time.Compare), slices.MaxFunc(s.booked, time.Time.Compare)
	// Booking follows the effect, and is often only a day, whose longest has 25 hours.
	rows, err := b.tx.Query(ctx, b.s.sql(`
		SELECT p.n, r.source, r.record_key, st.name, r.line, r.kind, r.direction
		  FROM {r}.records r
		  JOIN unnest($1::int[], $2::timestamptz[], $3::timestamptz[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::timestamptz[])
		    AS p(n, since, until, amount, currency, account, source, booked)
		    ON r.source = p.source AND (p.account IS NULL OR r.account = p.account) AND `+how+`
		   AND CASE WHEN r.occurred_at IS NOT NULL
		            THEN coalesce(r.occurred_to, r.occurred_at + interval '1 microsecond') > p.since AND r.occurred_at < p.until
		            WHEN r.booked_at IS NOT NULL THEN r.booked_at + interval '25 hours' > p.since AND r.booked_at < p.booked
		            ELSE true END
		  JOIN {r}.statements st ON st.statement_id = r.statement_id
		 WHERE r.owner_key IS NULL AND r.status <> 'failed'
		   AND (r.occurred_at IS NULL OR r.occurred_at < $10 AND r.occurred_at >= $9::timestamptz - interval '25 hours')
		   `+unclaimed+`
		 ORDER BY p.n, r.source, r.record_key`),
		s.n, s.from, s.to, s.amounts, s.currencies, s.accounts, s.sources, s.booked, first, last)
	if err != nil {
		return fmt.Errorf("look for records that speak against an absence: %w", err)
	}
	var (
		n               int
		u               matcher.Unowned
		kind, direction *string
	)
	if _, err := pgx.ForEachRow(rows, []any{&n, &u.Source, &u.RecordKey, &u.Statement, &u.Line, &kind, &direction}, func() error {
		f := &b.subjects[n].Facts
		policy := b.scope.Policies[f.Operation.ActionType]
		if list := into(f); len(*list) < counterLimit && matcher.CouldBeEffect(policy, sources.Kind(text(kind)), sources.Direction(text(direction))) {
			*list = append(*list, u)
		}
		return nil
	}); err != nil {
		return fmt.Errorf("look for records that speak against an absence: %w", err)
	}
	return nil
}
