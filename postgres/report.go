package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"reconciler/reconcile"
	"reconciler/reports"
	"reconciler/sources"
)

// Limits of what a report lists in full; its counts go beyond them.
const (
	reportStatements = 200
	reportWaiting    = 20_000
)

// Report reads what the report of a run shows: everything but the summary.
func (s *Store) Report(ctx context.Context, run reconcile.Run, scope reconcile.Scope) (reports.Report, error) {
	r := reports.Report{GeneratedAt: run.At}
	for _, step := range []func(context.Context, reconcile.Run, reconcile.Scope, *reports.Report) error{
		s.reportExceptions, s.reportSettled, s.reportWaiting, s.reportStatements, s.reportCoverage,
	} {
		if err := step(ctx, run, scope, &r); err != nil {
			return r, fmt.Errorf("read the report of run %s: %w", run.ID, err)
		}
	}
	return r, nil
}

func (s *Store) reportExceptions(ctx context.Context, run reconcile.Run, scope reconcile.Scope, r *reports.Report) error {
	var err error
	r.Exceptions, err = s.Exceptions(ctx, ExceptionFilter{ActionTypes: scope.ActionTypes, Sources: scope.JobSources})
	for i := range r.Exceptions {
		r.Exceptions[i].New = r.Exceptions[i].FirstRunID == run.ID
	}
	return err
}

// ExceptionFilter chooses exceptions; an empty part chooses all.
type ExceptionFilter struct {
	// ActionTypes of operations, and Sources of cases that concern no operation.
	ActionTypes, Sources []string
	// States; the default is those in which a case waits for somebody.
	States []string
	Kind   string
	ID     string
}

// exceptionColumns are read by scanException.
const exceptionColumns = `x.exception_id, x.kind, x.severity, x.state, x.source, x.idempotency_key, x.record_key, x.amount_minor,
	x.currency, x.assignee, x.first_seen_at, x.last_seen_at, x.note, x.evidence, x.first_run_id,
	o.idempotency_key IS NOT NULL, o.action_type, o.workflow_id, o.status, o.business_reference, o.provider, o.account,
	o.amount_minor, o.currency, o.attempt_count, o.created_at, o.last_attempt_at`

// Exceptions lists cases, worst first, then oldest.
func (s *Store) Exceptions(ctx context.Context, f ExceptionFilter) ([]reports.Exception, error) {
	states := f.States
	if len(states) == 0 {
		states = []string{"open", "acknowledged"}
	}
	if f.ID != "" {
		states = []string{"open", "acknowledged", "resolved", "auto_resolved"}
	}
	rows, err := s.db.Query(ctx, s.sql(`
		SELECT `+exceptionColumns+`
		  FROM {r}.exceptions x LEFT JOIN {j}.agent_operations o ON o.idempotency_key = x.idempotency_key
		 WHERE x.state = ANY($1) AND ($2 = '' OR x.kind = $2) AND ($3 = '' OR x.exception_id = $3)
		   AND ($4::text[] IS NULL AND $5::text[] IS NULL
		        OR x.action_type = ANY($4) OR x.idempotency_key IS NULL AND x.source = ANY($5))
		 ORDER BY array_position(ARRAY['critical', 'high', 'medium', 'low'], x.severity), x.first_seen_at, x.exception_id`),
		states, f.Kind, f.ID, f.ActionTypes, f.Sources)
	if err != nil {
		return nil, fmt.Errorf("read exceptions: %w", err)
	}
	out, err := pgx.CollectRows(rows, scanException)
	if err != nil {
		return nil, fmt.Errorf("read exceptions: %w", err)
	}
	return out, nil
}

func scanException(row pgx.CollectableRow) (reports.Exception, error) {
	var (
		x                                                              reports.Exception
		op                                                             reports.Operation
		source, key, recordKey, currency, assignee                     *string
		action, workflow, status, reference, provider, acc, opCurrency *string
		amount, opAmount, attempts                                     *int64
		has                                                            bool
		created, attempted                                             *time.Time
	)
	err := row.Scan(&x.ExceptionID, &x.Kind, &x.Severity, &x.State, &source, &key, &recordKey, &amount,
		&currency, &assignee, &x.FirstSeenAt, &x.LastSeenAt, &x.Note, &x.Evidence, &x.FirstRunID,
		&has, &action, &workflow, &status, &reference, &provider, &acc, &opAmount, &opCurrency, &attempts, &created, &attempted)
	if err != nil {
		return x, err
	}
	x.Source, x.IdempotencyKey, x.RecordKey, x.Currency, x.Assignee = text(source), text(key), text(recordKey), text(currency), text(assignee)
	x.FirstSeenAt, x.LastSeenAt = x.FirstSeenAt.UTC(), x.LastSeenAt.UTC()
	if amount != nil {
		x.AmountMinor, x.HasAmount = *amount, true
	}
	if has {
		op = reports.Operation{
			IdempotencyKey: x.IdempotencyKey, ActionType: text(action), WorkflowID: text(workflow), Status: text(status),
			BusinessReference: text(reference), Provider: text(provider), Account: text(acc), Currency: text(opCurrency),
			CreatedAt: instant(created), LastAttemptAt: instant(attempted),
		}
		if opAmount != nil {
			op.AmountMinor, op.HasAmount = *opAmount, true
		}
		if attempts != nil {
			op.AttemptCount = int(*attempts)
		}
		x.Operation = &op
	}
	x.Records, err = evidenceRecords(x.Evidence)
	return x, err
}

// evidenceRecords are the records that a stored evidence names; the sides of a
// contradiction are such records, too.
func evidenceRecords(raw json.RawMessage) ([]reports.Record, error) {
	var e struct {
		Records []recordEvidence `json:"records"`
		Sides   []recordEvidence `json:"sides"`
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, fmt.Errorf("read stored evidence: %w", err)
	}
	for i := range e.Sides {
		e.Sides[i].Conflicted = true
	}
	var out []reports.Record
	for _, r := range append(e.Records, e.Sides...) {
		rec := reports.Record{
			Source: r.Source, RecordKey: r.RecordKey, Statement: r.Statement, Line: r.Line, ProviderOperationID: r.ProviderOperationID,
			BusinessReference: r.BusinessReference, Currency: r.Currency, Direction: r.Direction, Kind: r.Kind, Status: r.Status,
			OccurredAt: instant(r.OccurredAt), Tier: r.Tier, Ownership: r.Ownership, Replaced: r.Replaced, Conflicted: r.Conflicted,
		}
		if r.AmountMinor != nil {
			rec.AmountMinor, rec.HasAmount = *r.AmountMinor, true
		}
		out = append(out, rec)
	}
	return out, nil
}

// reportOperationColumns are read by scanReportOperation.
const reportOperationColumns = `o.idempotency_key, coalesce(o.action_type, ''), coalesce(o.workflow_id, ''), o.status, coalesce(o.business_reference, ''),
	coalesce(o.provider, ''), coalesce(o.account, ''), o.amount_minor, coalesce(o.currency, ''), coalesce(o.attempt_count, 0), o.created_at, o.last_attempt_at`

type operationScan struct {
	op                 reports.Operation
	amount             *int64
	created, attempted *time.Time
}

func (s *operationScan) targets() []any {
	return []any{
		&s.op.IdempotencyKey, &s.op.ActionType, &s.op.WorkflowID, &s.op.Status, &s.op.BusinessReference, &s.op.Provider, &s.op.Account,
		&s.amount, &s.op.Currency, &s.op.AttemptCount, &s.created, &s.attempted,
	}
}

func (s *operationScan) operation() reports.Operation {
	op := s.op
	if s.amount != nil {
		op.AmountMinor, op.HasAmount = *s.amount, true
	}
	op.CreatedAt, op.LastAttemptAt = instant(s.created), instant(s.attempted)
	return op
}

func (s *Store) reportSettled(ctx context.Context, run reconcile.Run, _ reconcile.Scope, r *reports.Report) error {
	rows, err := s.db.Query(ctx, s.sql(`
		SELECT e.from_status, e.to_status, e.reason_code, e.evidence, `+reportOperationColumns+`
		  FROM {j}.agent_operation_events e JOIN {j}.agent_operations o USING (idempotency_key)
		 WHERE e.run_id = $1 AND e.actor_kind = 'reconciler' ORDER BY o.idempotency_key, e.event_id`), run.ID)
	if err != nil {
		return fmt.Errorf("read transitions: %w", err)
	}
	r.Settled, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (reports.Settled, error) {
		var st reports.Settled
		var scan operationScan
		var raw json.RawMessage
		if err := row.Scan(append([]any{&st.From, &st.To, &st.ReasonCode, &raw}, scan.targets()...)...); err != nil {
			return st, err
		}
		st.Operation = scan.operation()
		st.IdempotencyKey = st.Operation.IdempotencyKey
		records, err := evidenceRecords(raw)
		for _, rec := range records {
			if rec.Status == string(sources.Succeeded) && rec.Remark() == "" {
				st.ProviderOperationID, st.Statement, st.Line = rec.ProviderOperationID, rec.Statement, rec.Line
				break
			}
		}
		return st, err
	})
	if err != nil {
		return fmt.Errorf("read transitions: %w", err)
	}
	return nil
}

func (s *Store) reportWaiting(ctx context.Context, _ reconcile.Run, scope reconcile.Scope, r *reports.Report) error {
	rows, err := s.db.Query(ctx, s.sql(`
		SELECT d.reason_code, d.provable_at, `+reportOperationColumns+`
		  FROM {r}.operation_decisions d JOIN {j}.agent_operations o USING (idempotency_key)
		 WHERE NOT d.settled AND o.action_type = ANY($1) AND d.status = o.status
		   AND d.reason_code IN ('not_yet_provable', 'coverage_gap', 'refused_not_final', 'pending')
		 ORDER BY d.provable_at NULLS LAST, o.idempotency_key LIMIT $2`), scope.ActionTypes, reportWaiting)
	if err != nil {
		return fmt.Errorf("read what waits for proof: %w", err)
	}
	r.Waiting, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (reports.Waiting, error) {
		var w reports.Waiting
		var scan operationScan
		var provable *time.Time
		if err := row.Scan(append([]any{&w.ReasonCode, &provable}, scan.targets()...)...); err != nil {
			return w, err
		}
		w.Operation, w.ProvableAt = scan.operation(), instant(provable)
		return w, nil
	})
	if err != nil {
		return fmt.Errorf("read what waits for proof: %w", err)
	}
	return nil
}

func (s *Store) reportStatements(ctx context.Context, run reconcile.Run, scope reconcile.Scope, r *reports.Report) error {
	var err error
	r.Statements, err = s.ListStatements(ctx, StatementFilter{Sources: scope.JobSources, Current: true, RunID: run.ID, Limit: reportStatements})
	return err
}

// StatementFilter chooses statements; an empty part chooses all.
type StatementFilter struct {
	Sources []string
	ID      int64
	// Current leaves out what a newer statement has replaced.
	Current bool
	// RunID marks the statements that this run registered.
	RunID string
	Limit int
}

// ListStatements lists registered statements with their rejects, newest first.
func (s *Store) ListStatements(ctx context.Context, f StatementFilter) ([]reports.Statement, error) {
	if f.Limit == 0 {
		f.Limit = 1_000_000
	}
	rows, err := s.db.Query(ctx, s.sql(`
		SELECT statement_id, source, account, name, state, complete, end_proof, period, as_of, record_count, reject_count,
		       declared, computed, sha256, reason, run_id IS NOT DISTINCT FROM $4 AND $4 <> ''
		  FROM {r}.statements
		 WHERE ($1::text[] IS NULL OR source = ANY($1)) AND ($2 = 0 OR statement_id = $2) AND (NOT $3 OR superseded_by IS NULL)
		 ORDER BY statement_id DESC LIMIT $5`), f.Sources, f.ID, f.Current, f.RunID, f.Limit)
	if err != nil {
		return nil, fmt.Errorf("read statements: %w", err)
	}
	out, err := pgx.CollectRows(rows, scanStatement)
	if err != nil {
		return nil, fmt.Errorf("read statements: %w", err)
	}
	for i := range out {
		if out[i].RejectCount > 0 {
			if out[i].Rejects, err = s.rejects(ctx, out[i].StatementID); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func scanStatement(row pgx.CollectableRow) (reports.Statement, error) {
	var st reports.Statement
	var period pgtype.Range[pgtype.Timestamptz]
	var declared, computed sources.Controls
	if err := row.Scan(&st.StatementID, &st.Source, &st.Account, &st.Name, &st.State, &st.Complete, &st.EndProof, &period, &st.AsOf,
		&st.RecordCount, &st.RejectCount, &declared, &computed, &st.SHA256, &st.Reason, &st.InThisRun); err != nil {
		return st, err
	}
	if period.Valid {
		p := periodOf(period)
		st.From, st.To = p.From, p.To
	}
	st.AsOf = st.AsOf.UTC()
	st.DeclaredCount, st.DeclaredSumMinor = declared.Count, declared.Sum
	st.ComputedCount, st.ComputedSumMinor = computed.Count, computed.Sum
	st.Currency = computed.Currency
	if st.Currency == "" {
		st.Currency = declared.Currency
	}
	return st, nil
}

// rejectsShown is how many rejects of one statement are read for people.
const rejectsShown = 200

func (s *Store) rejects(ctx context.Context, id int64) ([]reports.Reject, error) {
	rows, err := s.db.Query(ctx, s.sql(`SELECT line, field, reason FROM {r}.rejects WHERE statement_id = $1 ORDER BY line LIMIT $2`), id, rejectsShown)
	if err != nil {
		return nil, fmt.Errorf("read rejects of statement %d: %w", id, err)
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (reports.Reject, error) {
		var r reports.Reject
		err := row.Scan(&r.Line, &r.Field, &r.Reason)
		return r, err
	})
	if err != nil {
		return nil, fmt.Errorf("read rejects of statement %d: %w", id, err)
	}
	return out, nil
}

func (s *Store) reportCoverage(ctx context.Context, _ reconcile.Run, scope reconcile.Scope, r *reports.Report) error {
	var err error
	r.Coverage, err = s.Coverage(ctx, scope.JobSources)
	return err
}

// Coverage reads the covered time of every account of the given sources, those
// without any included.
func (s *Store) Coverage(ctx context.Context, names []string) ([]reports.Coverage, error) {
	rows, err := s.db.Query(ctx, s.sql(`
		SELECT src.source, a.account, coalesce(c.covered, '{}'::tstzmultirange)
		  FROM {r}.sources src CROSS JOIN unnest(src.accounts) AS a(account)
		  LEFT JOIN {r}.coverage c ON c.source = src.source AND c.account = a.account
		 WHERE src.source = ANY($1) ORDER BY src.source, a.account`), names)
	if err != nil {
		return nil, fmt.Errorf("read coverage: %w", err)
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (reports.Coverage, error) {
		var c reports.Coverage
		var ranges pgtype.Multirange[pgtype.Range[pgtype.Timestamptz]]
		if err := row.Scan(&c.Source, &c.Account, &ranges); err != nil {
			return c, err
		}
		for _, r := range ranges {
			p := periodOf(r)
			c.Ranges = append(c.Ranges, reports.Range{From: p.From, To: p.To})
		}
		return c, nil
	})
	if err != nil {
		return nil, fmt.Errorf("read coverage: %w", err)
	}
	return out, nil
}
