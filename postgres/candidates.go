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

// found is a record version that some operation of the batch may match.
type found struct {
	recordHash
	matcher.Candidate
	owner  string
	claims []matcher.Claim
	// able are the claims that count for ownership: those of operations that
	// existed when the record is dated, or all of them if none did.
	able []matcher.Claim
	// strangers bear the name, but another account: theirs is no claim, yet
	// they can't be called unseen.
	strangers []matcher.Claim
}

// readCandidates finds every record, current or replaced, that any tier
// connects with the operations of the batch, and who else claims it.
func (b *batch) readCandidates(ctx context.Context) error {
	probes := b.probes()
	records, err := b.lookUp(ctx, probes)
	if err != nil || len(records) == 0 {
		return err
	}
	rivals, err := b.rivals(ctx, records)
	if err != nil {
		return err
	}
	index := b.indexClaims(rivals)
	for i := range records {
		b.claim(&records[i], rivals, index)
		b.attach(&records[i])
	}
	return nil
}

// claim lists who claims a record, and by which tier.
func (b *batch) claim(f *found, ops []journal.Operation, index claimants) {
	for _, i := range index.of(f) {
		op := ops[i]
		// An operation without provider is looked for in its policy's sources.
		if op.Provider == "" && !b.policyKnows(op, f.Provider) {
			continue
		}
		var forms []string
		if folder, ok := b.folders[f.Source]; ok {
			forms = folder.Ours(op.Reference())
		}
		tier, ok := matcher.TierOf(op, &f.Record, f.Provider, forms)
		if !ok {
			op.Account = ""
			if b.scope.Sources[f.Source].IDPerDay {
				op.ProviderOperationID = ""
			}
			if tier, ok := matcher.TierOf(op, &f.Record, f.Provider, forms); ok {
				f.strangers = append(f.strangers, matcher.Claim{IdempotencyKey: op.IdempotencyKey, Tier: tier})
			}
			continue
		}
		c := matcher.Claim{IdempotencyKey: op.IdempotencyKey, Tier: tier}
		f.claims = append(f.claims, c)
		if !matcher.Predates(op, b.scope.Sources[f.Source].ClockSkew, f.Record) {
			f.able = append(f.able, c)
		}
	}
	if len(f.able) == 0 {
		f.able = f.claims
	}
}

// policyKnows reports whether a provider is among those of the operation's
// policy. Of a policy outside this job nothing is known, and it may be.
func (b *batch) policyKnows(op journal.Operation, provider string) bool {
	policy, ok := b.scope.Policies[op.ActionType]
	if !ok {
		return true
	}
	return slices.ContainsFunc(policy.Sources, func(name string) bool { return b.scope.Sources[name].Provider == provider })
}

// attach hands the record to the operations of the batch that claim it, and
// notes where its stored owner is to be put right.
func (b *batch) attach(f *found) {
	owner, _, owned := matcher.Owner(f.able)
	b.attachStrangers(f, owned)
	for _, c := range f.claims {
		i, ok := b.index[c.IdempotencyKey]
		if !ok {
			continue
		}
		cand := f.Candidate
		cand.Tier, cand.Ownership, cand.Rivals = c.Tier, matcher.Contested, nil
		for _, other := range f.claims {
			if other.IdempotencyKey != c.IdempotencyKey {
				cand.Rivals = append(cand.Rivals, other.IdempotencyKey)
			}
		}
		switch {
		case owned && owner == c.IdempotencyKey:
			cand.Ownership = matcher.Owned
		case owned, !b.tied(f.able, c):
			cand.Ownership = matcher.OwnedByOther
		}
		slices.Sort(cand.Rivals)
		b.subjects[i].Facts.Candidates = append(b.subjects[i].Facts.Candidates, cand)
		if f.Replaced {
			continue
		}
		switch {
		case cand.Ownership == matcher.Owned && f.owner != owner:
			b.states[i].owned = append(b.states[i].owned, f.recordHash)
		case !owned && f.owner != "":
			b.states[i].disowned = append(b.states[i].disowned, f.recordHash)
		}
	}
}

// attachStrangers shows the record to the operations of the batch that bear its
// name on another account of the provider.
func (b *batch) attachStrangers(f *found, owned bool) {
	for _, c := range f.strangers {
		i, ok := b.index[c.IdempotencyKey]
		if !ok {
			continue
		}
		cand := f.Candidate
		cand.Tier, cand.Ownership, cand.Rivals = c.Tier, matcher.Contested, nil
		if owned {
			cand.Ownership = matcher.OwnedByOther
		}
		b.subjects[i].Facts.Candidates = append(b.subjects[i].Facts.Candidates, cand)
	}
}

// tied reports that a claim is one of the strongest.
func (b *batch) tied(claims []matcher.Claim, c matcher.Claim) bool {
	return slices.Contains(claims, c) && !slices.ContainsFunc(claims, func(other matcher.Claim) bool { return other.Tier < c.Tier })
}

// probeSet holds the hashes to look for, by the column that holds them.
type probeSet struct{ ids, references, lookups []int64 }

// probes hashes all names of the batch's operations, for every provider that
// may know them.
func (b *batch) probes() probeSet {
	var p probeSet
	for i := range b.subjects {
		op := b.states[i].op
		providers := b.providersOf(op)
		for _, provider := range providers {
			if op.ProviderOperationID != "" {
				p.ids = append(p.ids, b.h.sum(hashProviderID, provider, op.ProviderOperationID))
			}
			p.references = append(p.references, b.h.sum(hashReference, provider, op.Reference()))
			p.lookups = append(p.lookups, b.h.sum(hashEchoedKey, provider, op.IdempotencyKey))
		}
		for source, folder := range b.folders {
			if !slices.Contains(providers, b.providerOf[source]) {
				continue
			}
			for _, form := range folder.Ours(op.Reference()) {
				p.lookups = append(p.lookups, b.h.sum(hashFolded, source, form))
			}
		}
	}
	return p
}

// providersOf are the providers that may know the operation: its own, or those
// of its policy's sources.
func (b *batch) providersOf(op journal.Operation) []string {
	if op.Provider != "" {
		return []string{op.Provider}
	}
	var out []string
	for _, rule := range b.rules(op) {
		if !slices.Contains(out, rule.Provider) {
			out = append(out, rule.Provider)
		}
	}
	return out
}

// candidateColumns are read by scanFound, after the flag of replacement.
const candidateColumns = `r.id_hash, r.key_hash, r.source, r.record_key, r.statement_id, st.name, st.as_of, r.conflicted,
	r.line, r.account, r.provider_operation_id, r.idempotency_key, r.business_reference, r.folded_references,
	r.amount_minor, r.currency, r.direction, r.kind, r.status, r.provider_status, r.occurred_at, r.occurred_to,
	r.booked_at, r.settled_at, r.fee_minor, r.batch_id, r.related_id, r.owner_key`

func scanFound(row pgx.CollectableRow, provider func(string) string) (found, error) {
	var (
		f                                                           found
		providerID, key, reference, currency, direction, kind, word *string
		batchID, related, owner                                     *string
		amount, fee                                                 *int64
		occurred, until, booked, settled                            *time.Time
		status                                                      string
	)
	rec := &f.Record
	err := row.Scan(&f.Replaced, &f.id, &f.key, &f.Source, &f.RecordKey, &f.StatementID, &f.Statement, &f.AsOf, &f.Conflicted,
		&rec.Line, &rec.Account, &providerID, &key, &reference, &rec.FoldedReferences,
		&amount, &currency, &direction, &kind, &status, &word, &occurred, &until,
		&booked, &settled, &fee, &batchID, &related, &owner)
	if err != nil {
		return f, err
	}
	rec.ProviderOperationID, rec.IdempotencyKey, rec.BusinessReference = text(providerID), text(key), text(reference)
	rec.Currency, rec.Direction, rec.Kind, rec.Status = text(currency), sources.Direction(text(direction)), sources.Kind(text(kind)), sources.Status(status)
	rec.ProviderStatus, rec.BatchID, rec.RelatedID = text(word), text(batchID), text(related)
	rec.OccurredAt, rec.OccurredTo, rec.BookedAt, rec.SettledAt = instant(occurred), instant(until), instant(booked), instant(settled)
	if amount != nil {
		rec.AmountMinor, rec.HasAmount = *amount, true
	}
	if fee != nil {
		rec.FeeMinor, rec.HasFee = *fee, true
	}
	f.AsOf = f.AsOf.UTC()
	f.Provider, f.owner = provider(f.Source), text(owner)
	return f, nil
}

// lookUp finds the records, current and replaced, under any of the hashes.
func (b *batch) lookUp(ctx context.Context, p probeSet) ([]found, error) {
	var out []found
	seen := map[string]bool{}
	for _, table := range [...]struct{ name, replaced string }{{"records", "false"}, {"record_versions", "true"}} {
		rows, err := b.tx.Query(ctx, b.s.sql(`
			WITH hit AS (
				SELECT r.* FROM {r}.`+table.name+` r WHERE r.id_hash = ANY($1)
				UNION ALL
				SELECT r.* FROM {r}.`+table.name+` r WHERE r.reference_hash = ANY($2)
				UNION ALL
				SELECT r.* FROM {r}.record_lookups l JOIN {r}.`+table.name+` r USING (id_hash, key_hash) WHERE l.hash = ANY($3))
			SELECT `+table.replaced+`, `+candidateColumns+`
			  FROM hit r JOIN {r}.statements st ON st.statement_id = r.statement_id`), p.ids, p.references, p.lookups)
		if err != nil {
			return nil, fmt.Errorf("look records up: %w", err)
		}
		hits, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (found, error) {
			return scanFound(row, func(source string) string { return b.providerOf[source] })
		})
		if err != nil {
			return nil, fmt.Errorf("look records up: %w", err)
		}
		for _, f := range hits {
			id := fmt.Sprintf("%d/%d/%t/%d/%d", f.id, f.key, f.Replaced, f.StatementID, f.Record.Line)
			if !seen[id] {
				seen[id] = true
				out = append(out, f)
			}
		}
	}
	return out, nil
}

// rivals reads every operation of the whole journal that any of the records
// may name: whatever job, workflow or status it is of.
func (b *batch) rivals(ctx context.Context, records []found) ([]journal.Operation, error) {
	var references, ids, keys []string
	var folded []int64
	for i := range records {
		rec := &records[i].Record
		if rec.BusinessReference != "" {
			references = append(references, rec.BusinessReference)
		}
		if rec.ProviderOperationID != "" {
			ids = append(ids, rec.ProviderOperationID)
		}
		if rec.IdempotencyKey != "" {
			keys = append(keys, rec.IdempotencyKey)
		}
		source := records[i].Source
		if _, declared := b.folders[source]; declared {
			for _, form := range rec.FoldedReferences {
				folded = append(folded, b.h.sum(hashFolded, source, form))
			}
		}
	}
	rows, err := b.tx.Query(ctx, b.s.sql(`
		WITH keys AS (
			SELECT idempotency_key FROM {j}.agent_operations WHERE business_reference = ANY($1)
			UNION
			SELECT idempotency_key FROM {j}.agent_operations WHERE provider_operation_id = ANY($2)
			UNION
			SELECT idempotency_key FROM {j}.agent_operations WHERE idempotency_key = ANY($3)
			UNION
			SELECT idempotency_key FROM {r}.operation_lookups WHERE hash = ANY($4))
		SELECT `+operationColumns+` FROM keys JOIN {j}.agent_operations o USING (idempotency_key)
		 ORDER BY o.idempotency_key`), references, ids, append(keys, references...), folded)
	if err != nil {
		return nil, fmt.Errorf("look for other claims: %w", err)
	}
	ops, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (journal.Operation, error) {
		st, err := scanOperation(row)
		if err != nil {
			return journal.Operation{}, err
		}
		return st.op, nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for other claims: %w", err)
	}
	// The batch's own operations may claim by a folded form before the
	// look-up table knows them.
	for _, st := range b.states {
		if !slices.ContainsFunc(ops, func(op journal.Operation) bool { return op.IdempotencyKey == st.op.IdempotencyKey }) {
			ops = append(ops, st.op)
		}
	}
	return ops, nil
}

// claimants indexes operations by every name that a record can bear.
type claimants map[string][]int

func (b *batch) indexClaims(ops []journal.Operation) claimants {
	c := claimants{}
	add := func(kind, name string, i int) {
		if name != "" {
			k := kind + "\x00" + name
			c[k] = append(c[k], i)
		}
	}
	for i, op := range ops {
		add("id", op.ProviderOperationID, i)
		add("key", op.IdempotencyKey, i)
		add("ref", op.Reference(), i)
		for source, folder := range b.folders {
			for _, form := range folder.Ours(op.Reference()) {
				add("fold\x00"+source, form, i)
			}
		}
	}
	return c
}

// of lists the operations that may claim the record, each once.
func (c claimants) of(f *found) []int {
	var out []int
	rec := &f.Record
	take := func(kind, name string) {
		if name == "" {
			return
		}
		for _, i := range c[kind+"\x00"+name] {
			if !slices.Contains(out, i) {
				out = append(out, i)
			}
		}
	}
	take("id", rec.ProviderOperationID)
	take("key", rec.IdempotencyKey)
	take("ref", rec.BusinessReference)
	for _, form := range rec.FoldedReferences {
		take("fold\x00"+f.Source, form)
	}
	return out
}
