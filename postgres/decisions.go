package postgres

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"reconciler/journal"
	"reconciler/matcher"
)

// decisionRows are the columns of operation_decisions, side by side.
type decisionRows struct {
	keys, status, reasons, outcomes, evidences, digests []string
	attempts                                            []int64
	mayRetry, settled, replaced                         []bool
	notBefore, notAfter, provableAt                     []*time.Time
	movedReason, movedFrom, movedTo                     []*string
	movedAt, movedUpdatedAt, workerUpdatedAt            []*time.Time
}

// putDecisions keeps what was concluded, where it differs from what stands.
func (a *applying) putDecisions(ctx context.Context) error {
	var rows decisionRows
	for i := range a.items {
		it := &a.items[i]
		if it.lost || it.unchanged() {
			continue
		}
		rows.add(it, a.at)
	}
	if len(rows.keys) == 0 {
		return nil
	}
	_, err := a.tx.Exec(ctx, a.s.sql(`
		INSERT INTO {r}.operation_decisions AS d (idempotency_key, status, attempt_count, reason_code, outcome, may_retry, not_before,
		       not_after, provable_at, settled, evidence, digest, moved_reason, moved_from, moved_to, moved_at, moved_updated_at,
		       worker_updated_at, evidence_replaced, decided_at, run_id)
		SELECT w.*, $20, $21
		  FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::bool[], $7::timestamptz[], $8::timestamptz[],
		              $9::timestamptz[], $10::bool[], $11::jsonb[], $12::text[], $13::text[], $14::text[], $15::text[],
		              $16::timestamptz[], $17::timestamptz[], $18::timestamptz[], $19::bool[]) AS w
		ON CONFLICT (idempotency_key) DO UPDATE
		   SET status = excluded.status, attempt_count = excluded.attempt_count, reason_code = excluded.reason_code,
		       outcome = excluded.outcome, may_retry = excluded.may_retry, not_before = excluded.not_before,
		       not_after = excluded.not_after, provable_at = excluded.provable_at, settled = excluded.settled,
		       evidence = excluded.evidence, digest = excluded.digest,
		       moved_reason = coalesce(excluded.moved_reason, d.moved_reason), moved_from = coalesce(excluded.moved_from, d.moved_from),
		       moved_to = coalesce(excluded.moved_to, d.moved_to), moved_at = coalesce(excluded.moved_at, d.moved_at),
		       moved_updated_at = coalesce(excluded.moved_updated_at, d.moved_updated_at),
		       worker_updated_at = coalesce(excluded.worker_updated_at, d.worker_updated_at),
		       evidence_replaced = excluded.evidence_replaced, decided_at = excluded.decided_at, run_id = excluded.run_id`),
		rows.keys, rows.status, rows.attempts, rows.reasons, rows.outcomes, rows.mayRetry, rows.notBefore, rows.notAfter,
		rows.provableAt, rows.settled, rows.evidences, rows.digests, rows.movedReason, rows.movedFrom, rows.movedTo,
		rows.movedAt, rows.movedUpdatedAt, rows.workerUpdatedAt, rows.replaced, a.at, a.run.ID)
	if err != nil {
		return fmt.Errorf("keep conclusions: %w", err)
	}
	return nil
}

// status after the verdict.
func (it *applyItem) status() string {
	if t := it.decision.Transition; t != nil {
		return string(t.To)
	}
	return string(it.state.op.Status)
}

// digest of everything that a conclusion says.
func (it *applyItem) digest() string {
	d := it.decision
	return digestOf(it.status(), strconv.Itoa(it.state.op.AttemptCount), string(d.Reason), string(d.Outcome),
		strconv.FormatBool(d.MayRetry), d.ProvableAt.UTC().Format(time.RFC3339Nano), strconv.FormatBool(it.settled()), string(it.evidence))
}

// unchanged reports that the conclusion stands already. That an operation is
// settled is no news about one on which a conclusion stands: the reason why it
// is where it is stays readable.
func (it *applyItem) unchanged() bool {
	p := it.state.prior
	if p == nil || it.decision.Transition != nil {
		return false
	}
	stands := p.status == it.status() && p.attempt == int64(it.state.op.AttemptCount) && p.replaced == it.replaced()
	if stands && it.decision.Reason == matcher.Settled {
		return p.settled == it.settled()
	}
	// Nor is it that a permit of ours still waits to be used.
	if own := it.facts.Earlier; stands && it.decision.Reason == matcher.Waiting && own != nil && own.To == journal.FailedRetryable {
		return p.mayRetry == it.decision.MayRetry
	}
	return stands && p.digest == it.digest()
}

// replaced reports that the verdict leaves a status standing that what it
// rested on no longer carries.
func (it *applyItem) replaced() bool {
	return it.decision.Reason == matcher.EvidenceChanged && it.decision.Transition == nil
}

func (r *decisionRows) add(it *applyItem, at time.Time) {
	d, op := it.decision, it.state.op
	r.keys, r.status = append(r.keys, op.IdempotencyKey), append(r.status, it.status())
	r.attempts, r.reasons = append(r.attempts, int64(op.AttemptCount)), append(r.reasons, string(d.Reason))
	r.outcomes, r.mayRetry = append(r.outcomes, string(d.Outcome)), append(r.mayRetry, d.MayRetry)
	r.provableAt, r.settled = append(r.provableAt, nullTime(d.ProvableAt)), append(r.settled, it.settled())
	r.evidences, r.digests = append(r.evidences, string(it.evidence)), append(r.digests, it.digest())
	r.replaced = append(r.replaced, it.replaced())
	t := d.Transition
	if t == nil {
		r.notBefore, r.notAfter = append(r.notBefore, nullTime(op.RetryNotBefore)), append(r.notAfter, nullTime(op.RetryNotAfter))
		r.movedReason, r.movedFrom, r.movedTo = append(r.movedReason, nil), append(r.movedFrom, nil), append(r.movedTo, nil)
		r.movedAt, r.movedUpdatedAt, r.workerUpdatedAt = append(r.movedAt, nil), append(r.movedUpdatedAt, nil), append(r.workerUpdatedAt, nil)
		return
	}
	worker := it.facts.WorkerUpdatedAt
	if worker.IsZero() {
		worker = op.UpdatedAt
	}
	r.notBefore, r.notAfter = append(r.notBefore, nullTime(t.RetryNotBefore)), append(r.notAfter, nullTime(t.RetryNotAfter))
	r.movedReason = append(r.movedReason, null(string(t.Reason)))
	r.movedFrom, r.movedTo = append(r.movedFrom, null(string(op.Status))), append(r.movedTo, null(string(t.To)))
	r.movedAt, r.movedUpdatedAt = append(r.movedAt, &at), append(r.movedUpdatedAt, &at)
	r.workerUpdatedAt = append(r.workerUpdatedAt, nullTime(worker))
}
