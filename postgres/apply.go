package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"reconciler/matcher"
	"reconciler/reconcile"
	"reconciler/reports"
)

// applying is one batch of verdicts on its way into the database.
type applying struct {
	s     *Store
	tx    pgx.Tx
	run   reconcile.Run
	batch reconcile.Batch
	at    time.Time
	items []applyItem
	out   reconcile.Applied
}

// applyItem is one verdict with what belongs to it.
type applyItem struct {
	state    *subjectState
	facts    *matcher.Facts
	decision matcher.Decision
	evidence json.RawMessage
	// lost: somebody else moved the operation; nothing of the verdict holds.
	lost bool
	// statements that an absence rests on.
	statements []int64
}

// Apply carries out verdicts by compare-and-set, with their events,
// exceptions and conclusions, in one transaction.
func (s *Store) Apply(ctx context.Context, run reconcile.Run, b reconcile.Batch, verdicts []reconcile.Verdict) (reconcile.Applied, error) {
	a := &applying{s: s, run: run, batch: b}
	err := s.inRepeatedTx(ctx, func(tx pgx.Tx) error {
		a.tx, a.out, a.items = tx, reconcile.Applied{}, nil
		for _, step := range []func(context.Context) error{
			a.lockEvidence,
			func(ctx context.Context) error { return a.gather(ctx, verdicts) },
			a.move,
			a.compare,
			a.putOwners,
			a.putDecisions,
			a.putProofs,
			a.putExceptions,
			a.clearQueue,
		} {
			if err := step(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, reconcile.ErrEvidenceMoved) {
		return reconcile.Applied{}, err
	}
	if err != nil {
		return reconcile.Applied{}, fmt.Errorf("apply decisions up to %q: %w", b.Last, err)
	}
	return a.out, nil
}

// lockEvidence holds the sources as they are, one by one in order of their
// names, and compares their generations with those that the facts rest on.
func (a *applying) lockEvidence(ctx context.Context) error {
	for _, source := range slices.Sorted(maps.Keys(a.batch.Generations)) {
		var generation int64
		err := a.tx.QueryRow(ctx, a.s.sql(`SELECT generation FROM {r}.sources WHERE source = $1 FOR SHARE`), source).Scan(&generation)
		if err != nil {
			return fmt.Errorf("hold source %s: %w", source, err)
		}
		if generation != a.batch.Generations[source] {
			return fmt.Errorf("source %s: %w", source, reconcile.ErrEvidenceMoved)
		}
	}
	if err := a.tx.QueryRow(ctx, `SELECT now()`).Scan(&a.at); err != nil {
		return fmt.Errorf("read the database's clock: %w", err)
	}
	a.at = a.at.UTC()
	// The journal's triggers leave the events of this transaction to us: they
	// are written with their evidence, in the statement that makes the move.
	_, err := a.tx.Exec(ctx, `
		SELECT set_config('reconciler.actor_kind', 'reconciler', true), set_config('reconciler.writes_events', 'on', true),
		       set_config('reconciler.run_id', $1, true)`, a.run.ID)
	if err != nil {
		return fmt.Errorf("say who acts: %w", err)
	}
	return nil
}

// gather pairs verdicts with their evidence, and with the statements that
// carry an absence, whose records are counted again.
func (a *applying) gather(ctx context.Context, verdicts []reconcile.Verdict) error {
	for _, v := range verdicts {
		subject := &a.batch.Subjects[v.Subject]
		state, ok := subject.State.(*subjectState)
		if !ok {
			return fmt.Errorf("operation %s was not read by this store", subject.Facts.Operation.IdempotencyKey)
		}
		it := applyItem{state: state, facts: &subject.Facts, decision: v.Decision}
		ev := evidenceOf(subject.Facts, v.Decision)
		if v.Decision.Absence {
			it.statements = carriers(state.coverage, v.Decision)
			ev.Statements = it.statements
			if err := a.s.recount(ctx, a.tx, it.statements); err != nil {
				return err
			}
		}
		var err error
		if it.evidence, err = ev.encode(); err != nil {
			return err
		}
		a.items = append(a.items, it)
	}
	return nil
}

// carriers are the statements whose coverage meets the window of a decision.
func carriers(c *coverageCache, d matcher.Decision) []int64 {
	var ids []int64
	for _, st := range c.statements {
		relied := slices.ContainsFunc(d.Proof, func(p matcher.SourceCoverage) bool {
			return p.Source == st.source && p.Account == st.account
		})
		if relied && st.covered.From.Before(d.Window.To) && d.Window.From.Before(st.covered.To) && !slices.Contains(ids, st.id) {
			ids = append(ids, st.id)
		}
	}
	slices.Sort(ids)
	return ids
}

// recount compares what a statement stored with what is there now, once per
// process and statement: a torn load, of whatever cause, must not pass for a
// whole one.
func (s *Store) recount(ctx context.Context, tx pgx.Tx, ids []int64) error {
	for _, id := range ids {
		s.mu.Lock()
		done := s.recounts[id]
		s.mu.Unlock()
		if done {
			continue
		}
		var want, have int64
		err := tx.QueryRow(ctx, s.sql(`
			SELECT st.stored_count, (SELECT count(*) FROM {r}.records WHERE statement_id = st.statement_id)
			       + (SELECT count(*) FROM {r}.record_versions WHERE statement_id = st.statement_id)
			  FROM {r}.statements st WHERE st.statement_id = $1`), id).Scan(&want, &have)
		if err != nil {
			return fmt.Errorf("recount statement %d: %w", id, err)
		}
		if want != have {
			return fmt.Errorf("statement %d stored %d records and %d are there: the database has lost some; restore it before anything is called absent", id, want, have)
		}
		s.mu.Lock()
		s.recounts[id] = true
		s.mu.Unlock()
	}
	return nil
}

// move makes all transitions of the batch in one statement, each by
// compare-and-set on the row as read, together with their events.
func (a *applying) move(ctx context.Context) error {
	var (
		keys, from, to, reason, evidences []string
		attempts                          []int64
		leases, updates                   []pgtype.Timestamptz
		providerIDs                       []*string
		notBefore, notAfter               []*time.Time
		which                             = map[string]int{}
	)
	for i := range a.items {
		it := &a.items[i]
		t := it.decision.Transition
		if t == nil {
			continue
		}
		op := it.state.op
		which[op.IdempotencyKey] = i
		keys, from, to, reason = append(keys, op.IdempotencyKey), append(from, string(op.Status)), append(to, string(t.To)), append(reason, string(t.Reason))
		attempts, leases, updates = append(attempts, int64(op.AttemptCount)), append(leases, it.state.leaseUntil), append(updates, it.state.updatedAt)
		providerIDs, evidences = append(providerIDs, null(t.ProviderOperationID)), append(evidences, string(it.evidence))
		notBefore, notAfter = append(notBefore, nullTime(t.RetryNotBefore)), append(notAfter, nullTime(t.RetryNotAfter))
	}
	if len(keys) == 0 {
		return nil
	}
	rows, err := a.tx.Query(ctx, a.s.sql(`
		WITH want AS (
			SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::timestamptz[], $5::timestamptz[], $6::text[],
			                     $7::text[], $8::text[], $9::timestamptz[], $10::timestamptz[], $11::jsonb[])
			    AS w(idempotency_key, from_status, attempt_count, lease_until, updated_at, to_status, reason_code,
			         provider_operation_id, not_before, not_after, evidence)),
		moved AS (
			UPDATE {j}.agent_operations o
			   SET status = w.to_status, updated_at = $12,
			       provider_operation_id = coalesce(o.provider_operation_id, w.provider_operation_id),
			       retry_not_before = w.not_before, retry_not_after = w.not_after
			  FROM want w
			 WHERE o.idempotency_key = w.idempotency_key AND o.status = w.from_status
			   AND coalesce(o.attempt_count, 0) = w.attempt_count
			   AND o.lease_until IS NOT DISTINCT FROM w.lease_until AND o.updated_at IS NOT DISTINCT FROM w.updated_at
			RETURNING o.idempotency_key, w.from_status, w.to_status, w.attempt_count, w.reason_code, w.evidence)
		INSERT INTO {j}.agent_operation_events
		       (idempotency_key, from_status, to_status, attempt_count, actor_kind, actor, run_id, reason_code, evidence, at)
		SELECT idempotency_key, from_status, to_status, attempt_count, 'reconciler', $13, $14, reason_code, evidence, $12
		  FROM moved ORDER BY idempotency_key
		RETURNING idempotency_key`),
		keys, from, attempts, leases, updates, to, reason, providerIDs, notBefore, notAfter, evidences,
		a.at, "reconciler/"+a.run.Job, a.run.ID)
	if err != nil {
		return fmt.Errorf("move operations: %w", err)
	}
	moved, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("move operations: %w", err)
	}
	slices.Sort(moved)
	for _, key := range keys {
		_, won := slices.BinarySearch(moved, key)
		a.tell(&a.items[which[key]], won)
	}
	return nil
}

// tell notes what became of a move that was asked for.
func (a *applying) tell(it *applyItem, won bool) {
	key, t := it.state.op.IdempotencyKey, it.decision.Transition
	if !won {
		it.lost = true
		a.out.Lost = append(a.out.Lost, key)
		return
	}
	a.out.Transitions = append(a.out.Transitions, reports.Transition{
		IdempotencyKey: key, From: string(it.state.op.Status), To: string(t.To), ReasonCode: string(t.Reason),
	})
}

// compare drops the verdicts without a move whose operation somebody else has
// changed since it was read: they speak of what is no more.
func (a *applying) compare(ctx context.Context) error {
	var (
		keys, status    []string
		attempts        []int64
		leases, updates []pgtype.Timestamptz
	)
	for i := range a.items {
		it := &a.items[i]
		if it.decision.Transition != nil {
			continue
		}
		op := it.state.op
		keys, status, attempts = append(keys, op.IdempotencyKey), append(status, string(op.Status)), append(attempts, int64(op.AttemptCount))
		leases, updates = append(leases, it.state.leaseUntil), append(updates, it.state.updatedAt)
	}
	if len(keys) == 0 {
		return nil
	}
	rows, err := a.tx.Query(ctx, a.s.sql(`
		SELECT w.idempotency_key
		  FROM unnest($1::text[], $2::text[], $3::bigint[], $4::timestamptz[], $5::timestamptz[])
		    AS w(idempotency_key, status, attempt_count, lease_until, updated_at)
		  LEFT JOIN {j}.agent_operations o USING (idempotency_key)
		 WHERE o.status IS DISTINCT FROM w.status OR coalesce(o.attempt_count, 0) <> w.attempt_count
		    OR o.lease_until IS DISTINCT FROM w.lease_until OR o.updated_at IS DISTINCT FROM w.updated_at`), keys, status, attempts, leases, updates)
	if err != nil {
		return fmt.Errorf("compare operations: %w", err)
	}
	changed, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("compare operations: %w", err)
	}
	slices.Sort(changed)
	for i := range a.items {
		it := &a.items[i]
		if _, found := slices.BinarySearch(changed, it.state.op.IdempotencyKey); found {
			it.lost = true
		}
	}
	a.out.Lost = append(a.out.Lost, changed...)
	return nil
}

// putOwners puts the owners of records right, where they have changed. Who
// owned one before is looked at again: what it was decided on is not its own.
func (a *applying) putOwners(ctx context.Context) error {
	var ids, keys []int64
	var owners []*string
	for i := range a.items {
		it := &a.items[i]
		if it.lost {
			continue
		}
		for _, h := range it.state.owned {
			ids, keys, owners = append(ids, h.id), append(keys, h.key), append(owners, &it.state.op.IdempotencyKey)
		}
		for _, h := range it.state.disowned {
			ids, keys, owners = append(ids, h.id), append(keys, h.key), append(owners, nil)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	_, err := a.tx.Exec(ctx, a.s.sql(`
		WITH k AS (
			SELECT k.owner_key, r.at, r.owner_key AS former
			  FROM (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS n(id_hash, key_hash, owner_key)
			         ORDER BY id_hash, key_hash) AS k
			 CROSS JOIN LATERAL (
			       -- As in a load: one look into the index for each.
			       SELECT f.ctid AS at, f.owner_key FROM {r}.records f
			        WHERE f.id_hash = k.id_hash AND f.key_hash = k.key_hash LIMIT 1 FOR UPDATE) r
			 WHERE r.owner_key IS DISTINCT FROM k.owner_key),
		put AS (UPDATE {r}.records r SET owner_key = k.owner_key FROM k WHERE r.ctid = k.at)
		INSERT INTO {j}.agent_operation_changes (idempotency_key)
		SELECT DISTINCT former FROM k WHERE former IS NOT NULL`), ids, keys, owners)
	if err != nil {
		return fmt.Errorf("note who owns records: %w", err)
	}
	return nil
}

// putProofs notes which statements the batch's absences rest on.
func (a *applying) putProofs(ctx context.Context) error {
	var ids []int64
	var keys []string
	for _, it := range a.items {
		if it.lost {
			continue
		}
		for _, id := range it.statements {
			ids, keys = append(ids, id), append(keys, it.state.op.IdempotencyKey)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	_, err := a.tx.Exec(ctx, a.s.sql(`
		INSERT INTO {r}.absence_proofs (statement_id, idempotency_key)
		SELECT * FROM unnest($1::bigint[], $2::text[]) ON CONFLICT DO NOTHING`), ids, keys)
	if err != nil {
		return fmt.Errorf("note what absences rest on: %w", err)
	}
	return nil
}

// clearQueue takes settled operations off the list of work. Of the others one
// entry stays.
func (a *applying) clearQueue(ctx context.Context) error {
	var done []int64
	for _, it := range a.items {
		changes := it.state.changes
		if it.lost || len(changes) == 0 {
			continue
		}
		if !it.settled() {
			changes = changes[:len(changes)-1]
		}
		done = append(done, changes...)
	}
	if len(done) == 0 {
		return nil
	}
	if _, err := a.tx.Exec(ctx, a.s.sql(`DELETE FROM {j}.agent_operation_changes WHERE change_id = ANY($1)`), done); err != nil {
		return fmt.Errorf("take settled operations off the list of work: %w", err)
	}
	return nil
}

// settled reports that nothing about the operation is open after this verdict.
func (it *applyItem) settled() bool {
	d := it.decision
	if len(d.Breaks) > 0 {
		return false
	}
	return d.Settled || d.Transition != nil && d.Transition.To.Terminal()
}
