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

// readCounterEvidence looks, for operations that an absence could move by
// itself, for records in their window that nobody owns: of the same amount, or
// without a usable reference. Either could be the effect under a lost name.
func (b *batch) readCounterEvidence(ctx context.Context) error {
	var (
		n          []int
		from, to   []time.Time
		booked     []time.Time
		amounts    []*int64
		currencies []string
		accounts   []*string
		names      []string
	)
	for i := range b.subjects {
		op, policy := b.states[i].op, b.scope.Policies[b.states[i].op.ActionType]
		byItself := policy.OnAbsent != matcher.Review || policy.RetryNeeds == matcher.NeedsKey || b.refused(i)
		if op.Status == journal.Succeeded || !byItself || b.shown(i) {
			continue
		}
		for _, rule := range b.rules(op) {
			if op.Provider != "" && rule.Provider != op.Provider {
				continue
			}
			w := matcher.EvidenceWindow(b.subjects[i].Facts, rule, policy, b.scope.Now)
			n, from, to, names = append(n, i), append(from, w.From), append(to, w.To), append(names, rule.Name)
			booked = append(booked, bookedBy(w, rule))
			accounts, currencies = append(accounts, null(op.Account)), append(currencies, op.Currency)
			var amount *int64
			if op.HasAmount {
				amount = &op.AmountMinor
			}
			amounts = append(amounts, amount)
		}
	}
	if len(n) == 0 {
		return nil
	}
	return b.unowned(ctx, [...]any{n, from, to, amounts, currencies, accounts, names, booked}, from, booked)
}

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

// refused reports that the provider has refused the subject: that it failed
// may then be concluded whatever the policy says about absence.
func (b *batch) refused(i int) bool {
	return slices.ContainsFunc(b.subjects[i].Facts.Candidates, func(c matcher.Candidate) bool {
		return c.Record.Status == sources.Failed
	})
}

// unowned asks for the records. The outer bounds of all windows let the block
// range index skip what can't be in any of them; records under a reference
// that some operation bears are not unowned, whether or not this run has come
// to that operation yet.
func (b *batch) unowned(ctx context.Context, probe [8]any, from, until []time.Time) error {
	first, last := from[0], until[0]
	for i := range from {
		if from[i].Before(first) {
			first = from[i]
		}
		if until[i].After(last) {
			last = until[i]
		}
	}
	// Booking follows the effect, and is often only a day, whose longest has 25 hours.
	rows, err := b.tx.Query(ctx, b.s.sql(`
		SELECT p.n, r.source, r.record_key, r.business_reference IS NULL AND r.folded_references IS NULL AND r.idempotency_key IS NULL,
		       p.amount IS NOT NULL AND r.amount_minor = p.amount AND r.currency = p.currency, r.kind, r.direction
		  FROM {r}.records r
		  JOIN unnest($1::int[], $2::timestamptz[], $3::timestamptz[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::timestamptz[])
		    AS p(n, since, until, amount, currency, account, source, booked)
		    ON r.source = p.source AND (p.account IS NULL OR r.account = p.account)
		   AND CASE WHEN r.occurred_at IS NOT NULL
		            THEN coalesce(r.occurred_to, r.occurred_at + interval '1 microsecond') > p.since AND r.occurred_at < p.until
		            WHEN r.booked_at IS NOT NULL THEN r.booked_at + interval '25 hours' > p.since AND r.booked_at < p.booked
		            ELSE true END
		 WHERE r.owner_key IS NULL AND r.status <> 'failed'
		   AND (r.occurred_at IS NULL OR r.occurred_at < $10 AND r.occurred_at >= $9::timestamptz - interval '25 hours')
		   AND (r.business_reference IS NULL AND r.folded_references IS NULL AND r.idempotency_key IS NULL
		        OR r.amount_minor = p.amount AND r.currency = p.currency)
		   `+unclaimed+`
		 ORDER BY p.n, r.source, r.record_key`),
		append(probe[:], first, last)...)
	if err != nil {
		return fmt.Errorf("look for records that speak against an absence: %w", err)
	}
	var (
		n               int
		id              matcher.RecordID
		nameless, equal bool
		kind, direction *string
	)
	if _, err := pgx.ForEachRow(rows, []any{&n, &id.Source, &id.RecordKey, &nameless, &equal, &kind, &direction}, func() error {
		f := &b.subjects[n].Facts
		policy := b.scope.Policies[f.Operation.ActionType]
		if !matcher.CouldBeEffect(policy, sources.Kind(text(kind)), sources.Direction(text(direction))) {
			return nil
		}
		if equal && len(f.UnownedSameAmount) < counterLimit {
			f.UnownedSameAmount = append(f.UnownedSameAmount, id)
		}
		if nameless && len(f.UnownedWithoutReference) < counterLimit {
			f.UnownedWithoutReference = append(f.UnownedWithoutReference, id)
		}
		return nil
	}); err != nil {
		return fmt.Errorf("look for records that speak against an absence: %w", err)
	}
	return nil
}
