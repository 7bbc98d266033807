package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"reconciler/journal"
)

// OperationFilter chooses operations of the journal; an empty part chooses all.
type OperationFilter struct {
	Key, WorkflowID, Status, ActionType string
	// Name is a business reference or a provider's id.
	Name  string
	Limit int
}

// OperationStatus is one row of the journal with what is concluded about it,
// as the view operation_status tells agents.
type OperationStatus struct {
	journal.Operation
	Outcome    string
	ReasonCode string
	// MayRetry says that the owner may claim it at this moment.
	MayRetry   bool
	ProvableAt time.Time
}

// ListOperations lists operations, the youngest first. It changes nothing.
func (s *Store) ListOperations(ctx context.Context, f OperationFilter) ([]OperationStatus, error) {
	out, err := s.operations(ctx, s.db, f)
	if err != nil {
		return nil, fmt.Errorf("list operations: %w", err)
	}
	return out, nil
}

func (s *Store) operations(ctx context.Context, db Querier, f OperationFilter) ([]OperationStatus, error) {
	var limit *int
	if f.Limit > 0 {
		limit = &f.Limit
	}
	// The rows are chosen before the view is asked, so that it is asked only
	// about them.
	rows, err := db.Query(ctx, s.sql(`
		WITH o AS (
			SELECT * FROM {j}.agent_operations o
			 WHERE ($1 = '' OR o.idempotency_key = $1) AND ($2 = '' OR o.workflow_id = $2) AND ($3 = '' OR o.status = $3)
			   AND ($4 = '' OR o.action_type = $4) AND ($5 = '' OR o.business_reference = $5 OR o.provider_operation_id = $5)
			 ORDER BY o.created_at DESC NULLS LAST, o.idempotency_key LIMIT $6)
		SELECT `+operationColumns+`, s.outcome, s.reason_code, s.may_retry, s.provable_at
		  FROM o JOIN {r}.operation_status s USING (idempotency_key)
		 ORDER BY o.created_at DESC NULLS LAST, o.idempotency_key`),
		f.Key, f.WorkflowID, f.Status, f.ActionType, f.Name, limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (OperationStatus, error) {
		var st OperationStatus
		var provable pgtype.Timestamptz
		read, err := scanOperation(widerRow{row, []any{&st.Outcome, &st.ReasonCode, &st.MayRetry, &provable}})
		if err != nil {
			return st, err
		}
		st.Operation, st.ProvableAt = read.op, stamp(provable)
		return st, nil
	})
}

// widerRow is a row that ends with columns of its own.
type widerRow struct {
	row  pgx.Row
	more []any
}

// Scan fills dest from the first columns, and the row's own targets from the rest.
func (r widerRow) Scan(dest ...any) error { return r.row.Scan(append(dest, r.more...)...) }

// Standing says what a database holds of the two schemas before they are migrated.
type Standing struct {
	// Journal and Reconciler are the numbers of migrations applied, of
	// JournalLatest and ReconcilerLatest that this program knows.
	Journal, Reconciler             int
	JournalLatest, ReconcilerLatest int
	// Found: there is an agent_operations, of ours or to be adopted, with so
	// many operations.
	Found      bool
	Operations int64
}

// Adoptable reports that the journal's table is there and none of ours yet.
func (st Standing) Adoptable() bool { return st.Found && st.Journal == 0 }

// Current reports that nothing is to be migrated.
func (st Standing) Current() bool {
	return st.Journal == st.JournalLatest && st.Reconciler == st.ReconcilerLatest
}

// StandingOf looks at a database that may not have been migrated.
func StandingOf(ctx context.Context, db Querier, s Schemas) (Standing, error) {
	var st Standing
	if err := s.check(); err != nil {
		return st, err
	}
	sets, err := s.sets()
	if err != nil {
		return st, err
	}
	for i, into := range []struct{ version, latest *int }{{&st.Journal, &st.JournalLatest}, {&st.Reconciler, &st.ReconcilerLatest}} {
		*into.latest = sets[i].count
		if *into.version, err = sets[i].version(ctx, db); err != nil {
			return st, err
		}
	}
	table := pgx.Identifier{s.Journal, "agent_operations"}.Sanitize()
	if err := db.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, table).Scan(&st.Found); err != nil {
		return st, fmt.Errorf("look for the journal: %w", err)
	}
	if !st.Found {
		return st, nil
	}
	if err := db.QueryRow(ctx, `SELECT count(*) FROM `+table).Scan(&st.Operations); err != nil {
		return st, fmt.Errorf("count the operations of the journal: %w", err)
	}
	return st, nil
}
