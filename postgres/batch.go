package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"reconciler/journal"
	"reconciler/matcher"
	"reconciler/reconcile"
	"reconciler/sources"
)

// subjectState is what a batch remembers of an operation for the moment of
// applying: the row as read, the changes that led to it, and what was
// concluded before.
type subjectState struct {
	op      journal.Operation
	changes []int64
	// leaseUntil and updatedAt exactly as read, infinity included.
	leaseUntil, updatedAt pgtype.Timestamptz
	prior                 *priorDecision
	// coverage that the facts rest on.
	coverage *coverageCache
	// owned and disowned are records whose owner is to be put right.
	owned, disowned []recordHash
}

type recordHash struct{ id, key int64 }

type priorDecision struct {
	status          string
	attempt         int64
	reason          string
	digest          string
	settled         bool
	movedReason     string
	movedFrom       string
	movedTo         string
	movedAt         time.Time
	movedUpdatedAt  time.Time
	workerUpdatedAt time.Time
	replaced        bool
	reviewed        bool
	provableAt      time.Time
	mayRetry        bool
}

// Batch reads the next operations that need a decision, in order of their
// keys, all as of one instant of the database.
func (s *Store) Batch(ctx context.Context, scope reconcile.Scope, after string, limit int) (reconcile.Batch, error) {
	var out reconcile.Batch
	err := s.inTx(ctx, func(tx pgx.Tx) error {
		if !s.rehearsal {
			if _, err := tx.Exec(ctx, `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`); err != nil {
				return fmt.Errorf("take a snapshot: %w", err)
			}
		}
		b := &batch{s: s, tx: tx, scope: scope}
		keys, err := b.worklist(ctx, after, limit)
		if err != nil || len(keys) == 0 {
			return err
		}
		out.Last, out.More = keys[len(keys)-1], len(keys) == limit
		if err := b.read(ctx, keys); err != nil {
			return err
		}
		out.Subjects, out.Generations = b.subjects, b.generations
		return nil
	})
	if err != nil {
		return out, fmt.Errorf("read operations after %q: %w", after, err)
	}
	return out, nil
}

// batch is one reading of operations and all that speaks about them.
type batch struct {
	s           *Store
	tx          pgx.Tx
	scope       reconcile.Scope
	h           hasher
	generations map[string]int64
	// providers and their sources, as registered.
	providerOf map[string]string
	subjects   []reconcile.Subject
	states     []*subjectState
	index      map[string]int
	folders    map[string]*sources.Folder
}

// read fills in the subjects.
func (b *batch) read(ctx context.Context, keys []string) error {
	for _, step := range []func(context.Context) error{
		b.readSources,
		func(ctx context.Context) error { return b.readOperations(ctx, keys) },
		func(ctx context.Context) error { return b.readChanges(ctx, keys) },
		func(ctx context.Context) error { return b.readDecisions(ctx, keys) },
		func(ctx context.Context) error { return b.readHuman(ctx, keys) },
		b.chooseSources,
		b.readCoverage,
		b.readCandidates,
		b.readCounterEvidence,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// worklist gives the keys of the operations to examine: those about which
// something has changed since they were last found settled.
func (b *batch) worklist(ctx context.Context, after string, limit int) ([]string, error) {
	rows, err := b.tx.Query(ctx, b.s.sql(`
		SELECT DISTINCT c.idempotency_key
		  FROM {j}.agent_operation_changes c JOIN {j}.agent_operations o USING (idempotency_key)
		 WHERE c.idempotency_key > $1 AND o.action_type = ANY($2)
		   AND ($3 = '' OR o.workflow_id = $3) AND ($4 = '' OR o.idempotency_key = $4)
		   AND ($5::timestamptz IS NULL OR o.created_at >= $5) AND ($6::timestamptz IS NULL OR o.created_at < $6)
		 ORDER BY 1 LIMIT $7`),
		after, b.scope.ActionTypes, b.scope.WorkflowID, b.scope.Operation, nullTime(b.scope.From), nullTime(b.scope.To), limit)
	if err != nil {
		return nil, fmt.Errorf("read the list of work: %w", err)
	}
	keys, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("read the list of work: %w", err)
	}
	return keys, nil
}

func (b *batch) readSources(ctx context.Context) error {
	rows, err := b.tx.Query(ctx, b.s.sql(`SELECT source, provider, generation FROM {r}.sources ORDER BY source`))
	if err != nil {
		return fmt.Errorf("read sources: %w", err)
	}
	b.generations, b.providerOf = map[string]int64{}, map[string]string{}
	var source, provider string
	var generation int64
	if _, err := pgx.ForEachRow(rows, []any{&source, &provider, &generation}, func() error {
		b.generations[source], b.providerOf[source] = generation, provider
		return nil
	}); err != nil {
		return fmt.Errorf("read sources: %w", err)
	}
	b.folders = map[string]*sources.Folder{}
	for name, f := range b.scope.Folds {
		folder, err := sources.NewFolder(f)
		if err != nil {
			return fmt.Errorf("folding of %s: %w", name, err)
		}
		b.folders[name] = folder
	}
	return nil
}

// chooseSources leaves of the generations those of the sources that can speak
// about the batch: the job's, and all of the providers that are asked. What
// another provider delivers meanwhile is nothing to it.
func (b *batch) chooseSources(context.Context) error {
	asked := map[string]bool{}
	for _, rule := range b.scope.Sources {
		asked[rule.Provider] = true
	}
	for _, st := range b.states {
		for _, provider := range b.providersOf(st.op) {
			asked[provider] = true
		}
	}
	maps.DeleteFunc(b.generations, func(source string, _ int64) bool { return !asked[b.providerOf[source]] })
	return nil
}

// operationColumns are read by scanOperation, in this order.
const operationColumns = `o.idempotency_key, o.action_type, o.workflow_id, o.payload_hash, o.status, o.attempt_count,
	o.provider_operation_id, o.last_error_code, o.lease_until, o.created_at, o.updated_at, o.step, o.run_id, o.provider,
	o.account, o.business_reference, o.amount_minor, o.currency, o.first_attempt_at, o.last_attempt_at,
	o.retry_not_before, o.retry_not_after`

// endless is what a lease of 'infinity' is to Go: later than any limit.
func endless() time.Time { return time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC) }

// earliest is what an instant before our era is to Go: earlier than any limit.
// Both leave room for lags and margins inside the years that JSON can write.
func earliest() time.Time { return time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC) }

func stamp(t pgtype.Timestamptz) time.Time {
	switch {
	case !t.Valid || t.InfinityModifier == pgtype.NegativeInfinity:
		return time.Time{}
	case t.InfinityModifier == pgtype.Infinity || t.Time.After(endless()):
		return endless()
	case t.Time.Before(earliest()):
		return earliest()
	}
	return t.Time.UTC()
}

// scanOperation reads one row of operationColumns.
func scanOperation(row pgx.Row) (*subjectState, error) {
	var (
		op                                                   journal.Operation
		workflow, payload, providerID, errorCode, step, run  *string
		provider, account, reference, currency, action, stat *string
		attempts, amount                                     *int64
		lease, created, updated, first, last, before, after  pgtype.Timestamptz
	)
	err := row.Scan(&op.IdempotencyKey, &action, &workflow, &payload, &stat, &attempts, &providerID, &errorCode,
		&lease, &created, &updated, &step, &run, &provider, &account, &reference, &amount, &currency, &first, &last, &before, &after)
	if err != nil {
		return nil, err
	}
	op.ActionType, op.WorkflowID, op.PayloadHash, op.Status = text(action), text(workflow), text(payload), journal.Status(text(stat))
	if attempts != nil {
		op.AttemptCount = int(*attempts)
	}
	op.ProviderOperationID, op.LastErrorCode, op.Step, op.RunID = text(providerID), text(errorCode), text(step), text(run)
	op.Provider, op.Account, op.BusinessReference, op.Currency = text(provider), text(account), text(reference), strings.TrimRight(text(currency), " ")
	if amount != nil {
		op.AmountMinor, op.HasAmount = *amount, true
	}
	op.LeaseUntil, op.CreatedAt, op.UpdatedAt = stamp(lease), stamp(created), stamp(updated)
	op.FirstAttemptAt, op.LastAttemptAt = stamp(first), stamp(last)
	op.RetryNotBefore, op.RetryNotAfter = stamp(before), stamp(after)
	return &subjectState{op: op, leaseUntil: lease, updatedAt: updated}, nil
}

func (b *batch) readOperations(ctx context.Context, keys []string) error {
	rows, err := b.tx.Query(ctx, b.s.sql(`SELECT `+operationColumns+` FROM {j}.agent_operations o
		WHERE o.idempotency_key = ANY($1) ORDER BY o.idempotency_key`), keys)
	if err != nil {
		return fmt.Errorf("read operations: %w", err)
	}
	b.states, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (*subjectState, error) { return scanOperation(row) })
	if err != nil {
		return fmt.Errorf("read operations: %w", err)
	}
	b.index = make(map[string]int, len(b.states))
	for i, st := range b.states {
		b.index[st.op.IdempotencyKey] = i
		b.subjects = append(b.subjects, reconcile.Subject{
			Facts: matcher.Facts{Operation: st.op, Sources: b.rules(st.op)},
			State: st,
		})
	}
	return nil
}

// rules are the sources that the operation's policy names, in order.
func (b *batch) rules(op journal.Operation) []matcher.SourceRule {
	var rules []matcher.SourceRule
	for _, name := range b.scope.Policies[op.ActionType].Sources {
		rules = append(rules, b.scope.Sources[name])
	}
	return rules
}

func (b *batch) readChanges(ctx context.Context, keys []string) error {
	rows, err := b.tx.Query(ctx, b.s.sql(`SELECT idempotency_key, change_id FROM {j}.agent_operation_changes
		WHERE idempotency_key = ANY($1) ORDER BY change_id`), keys)
	if err != nil {
		return fmt.Errorf("read what changed: %w", err)
	}
	var key string
	var id int64
	if _, err := pgx.ForEachRow(rows, []any{&key, &id}, func() error {
		if i, ok := b.index[key]; ok {
			b.states[i].changes = append(b.states[i].changes, id)
		}
		return nil
	}); err != nil {
		return fmt.Errorf("read what changed: %w", err)
	}
	return nil
}

func (b *batch) readDecisions(ctx context.Context, keys []string) error {
	rows, err := b.tx.Query(ctx, b.s.sql(`
		SELECT idempotency_key, status, attempt_count, reason_code, digest, settled, may_retry, moved_reason, moved_from, moved_to,
		       moved_at, moved_updated_at, worker_updated_at, evidence_replaced, reviewed, provable_at
		  FROM {r}.operation_decisions WHERE idempotency_key = ANY($1)`), keys)
	if err != nil {
		return fmt.Errorf("read earlier decisions: %w", err)
	}
	_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) {
		var (
			key                                       string
			d                                         priorDecision
			reason, from, to                          *string
			at, movedUpdated, workerUpdated, provable *time.Time
		)
		if err := row.Scan(&key, &d.status, &d.attempt, &d.reason, &d.digest, &d.settled, &d.mayRetry, &reason, &from, &to,
			&at, &movedUpdated, &workerUpdated, &d.replaced, &d.reviewed, &provable); err != nil {
			return struct{}{}, err
		}
		d.movedReason, d.movedFrom, d.movedTo = text(reason), text(from), text(to)
		d.movedAt, d.movedUpdatedAt, d.workerUpdatedAt, d.provableAt = instant(at), instant(movedUpdated), instant(workerUpdated), instant(provable)
		if i, ok := b.index[key]; ok {
			b.recall(i, &d)
		}
		return struct{}{}, nil
	})
	if err != nil {
		return fmt.Errorf("read earlier decisions: %w", err)
	}
	return nil
}

// recall gives the subject what the reconciler did to it before, if nobody has
// moved it since.
func (b *batch) recall(i int, d *priorDecision) {
	st, f := b.states[i], &b.subjects[i].Facts
	st.prior = d
	f.Reviewed = d.reviewed
	// The attempt tells whether anybody has moved it since; updated_at does not,
	// for anybody may touch a row.
	if d.movedTo == "" || d.movedTo != string(st.op.Status) || d.attempt != int64(st.op.AttemptCount) {
		return
	}
	if d.movedUpdatedAt.Equal(st.op.UpdatedAt) {
		f.WorkerUpdatedAt = d.workerUpdatedAt
	}
	f.Earlier = &matcher.Earlier{
		ReasonCode: matcher.ReasonCode(d.movedReason), From: journal.Status(d.movedFrom), To: journal.Status(d.movedTo),
		At: d.movedAt, EvidenceReplaced: d.replaced,
	}
}

// readHuman asks what people and late workers have said.
func (b *batch) readHuman(ctx context.Context, keys []string) error {
	rows, err := b.tx.Query(ctx, b.s.sql(`
		SELECT idempotency_key, true FROM {j}.agent_operation_events
		 WHERE idempotency_key = ANY($1) AND reason_code = 'late_success'
		UNION
		SELECT idempotency_key, false FROM {r}.exceptions
		 WHERE idempotency_key = ANY($1) AND state IN ('acknowledged', 'resolved')`), keys)
	if err != nil {
		return fmt.Errorf("read what people said: %w", err)
	}
	var key string
	var late bool
	if _, err := pgx.ForEachRow(rows, []any{&key, &late}, func() error {
		i, ok := b.index[key]
		switch {
		case ok && late:
			b.subjects[i].Facts.LateSuccess = true
		case ok:
			b.subjects[i].Facts.Reviewed = true
		}
		return nil
	}); err != nil {
		return fmt.Errorf("read what people said: %w", err)
	}
	return nil
}

// readCoverage hands every subject the coverage of its policy's sources.
func (b *batch) readCoverage(ctx context.Context) error {
	c, err := b.s.covered(ctx, b.tx, b.generations)
	if err != nil {
		return err
	}
	for i := range b.subjects {
		f := &b.subjects[i].Facts
		b.states[i].coverage = c
		for _, sc := range c.coverage {
			if slices.ContainsFunc(f.Sources, func(r matcher.SourceRule) bool { return r.Name == sc.Source }) {
				f.Coverage = append(f.Coverage, sc)
			}
		}
	}
	return nil
}
