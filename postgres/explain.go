package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"reconciler/matcher"
	"reconciler/reconcile"
	"reconciler/reports"
)

// ErrNoOperation says that the journal has no operation of the given key.
var ErrNoOperation = errors.New("no such operation")

// Examined is one operation with all that speaks about it and all that was
// said about it, as of one instant.
type Examined struct {
	// Facts are what a run that began now would decide on.
	Facts matcher.Facts
	// Status is the operation as agents are told of it.
	Status OperationStatus
	// Concluded is what a run last concluded; nil if none has looked at it.
	Concluded *Conclusion
	// Queued: something has changed since, and the next run looks at it.
	Queued bool
	// Events are the history of the operation, oldest first.
	Events []OperationEvent
	// Exceptions about the operation in any state, oldest first.
	Exceptions []reports.Exception
}

// Conclusion is what a run concluded about an operation.
type Conclusion struct {
	// Status and attempt that it was drawn on (after its own transition).
	Status       string
	AttemptCount int
	ReasonCode   string
	Outcome      string
	Settled      bool
	ProvableAt   time.Time
	DecidedAt    time.Time
	RunID        string
	Evidence     json.RawMessage
}

// OperationEvent is one row of the audit trail.
type OperationEvent struct {
	At           time.Time
	From, To     string
	AttemptCount int
	ActorKind    string
	Actor        string
	RunID        string
	ReasonCode   string
	Evidence     json.RawMessage
}

// Examine reads one operation as a run of the scope would, whether or not it
// is on the list of work, and stores nothing. Rules of sources that the
// configuration has changed since the last run count as they are now. The
// error is ErrNoOperation if the journal does not have the key.
func (s *Store) Examine(ctx context.Context, scope reconcile.Scope, key string) (Examined, error) {
	stale, err := s.staleRules(ctx, scope)
	if err != nil {
		return Examined{}, fmt.Errorf("examine operation %q: %w", key, err)
	}
	var out Examined
	if len(stale) == 0 {
		out, err = s.readExamined(ctx, scope, key)
	} else {
		err = s.Rehearse(ctx, func(inner *Store) error {
			for _, rule := range stale {
				if err := inner.PutSource(ctx, rule); err != nil {
					return err
				}
			}
			var err error
			out, err = inner.readExamined(ctx, scope, key)
			return err
		})
	}
	if err != nil {
		return out, fmt.Errorf("examine operation %q: %w", key, err)
	}
	return out, nil
}

// staleRules are the sources of the scope that are not registered as they are
// configured, in order of their names.
func (s *Store) staleRules(ctx context.Context, scope reconcile.Scope) ([]matcher.SourceRule, error) {
	var stale []matcher.SourceRule
	for name, rule := range scope.Sources {
		var same bool
		err := s.db.QueryRow(ctx, s.sql(`
			SELECT EXISTS (SELECT FROM {r}.sources
			 WHERE source = $1 AND provider = $2 AND accounts = $3 AND dated_by = $4 AND settlement_lag = make_interval(secs => $5)
			   AND retention IS NOT DISTINCT FROM CASE WHEN $6 > 0 THEN make_interval(secs => $6) END)`),
			name, rule.Provider, rule.Accounts, string(rule.DatedBy), int64(rule.SettlementLag.Seconds()), int64(rule.Retention.Seconds())).Scan(&same)
		if err != nil {
			return nil, fmt.Errorf("compare source %s: %w", name, err)
		}
		if !same {
			stale = append(stale, rule)
		}
	}
	slices.SortFunc(stale, func(a, b matcher.SourceRule) int { return cmp.Compare(a.Name, b.Name) })
	return stale, nil
}

// readExamined reads everything in one snapshot.
func (s *Store) readExamined(ctx context.Context, scope reconcile.Scope, key string) (Examined, error) {
	var out Examined
	err := s.inTx(ctx, func(tx pgx.Tx) error {
		if !s.rehearsal {
			if _, err := tx.Exec(ctx, `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`); err != nil {
				return fmt.Errorf("take a snapshot: %w", err)
			}
		}
		standing, err := s.operations(ctx, tx, OperationFilter{Key: key})
		if err != nil {
			return err
		}
		if len(standing) == 0 {
			return ErrNoOperation
		}
		b := &batch{s: s, tx: tx, scope: scope}
		if err := b.read(ctx, []string{key}); err != nil {
			return err
		}
		out.Status, out.Facts, out.Queued = standing[0], b.subjects[0].Facts, len(b.states[0].changes) > 0
		for _, step := range []func(context.Context, pgx.Tx, string, *Examined) error{
			s.readConclusion, s.readEvents, s.readCases,
		} {
			if err := step(ctx, tx, key, &out); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

func (s *Store) readConclusion(ctx context.Context, tx pgx.Tx, key string, out *Examined) error {
	var c Conclusion
	var provable *time.Time
	err := tx.QueryRow(ctx, s.sql(`
		SELECT status, attempt_count, reason_code, outcome, settled, provable_at, decided_at, run_id, evidence
		  FROM {r}.operation_decisions WHERE idempotency_key = $1`), key).
		Scan(&c.Status, &c.AttemptCount, &c.ReasonCode, &c.Outcome, &c.Settled, &provable, &c.DecidedAt, &c.RunID, &c.Evidence)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the last conclusion: %w", err)
	}
	c.ProvableAt, c.DecidedAt = instant(provable), c.DecidedAt.UTC()
	out.Concluded = &c
	return nil
}

func (s *Store) readEvents(ctx context.Context, tx pgx.Tx, key string, out *Examined) error {
	rows, err := tx.Query(ctx, s.sql(`
		SELECT at, coalesce(from_status, ''), coalesce(to_status, ''), coalesce(attempt_count, 0), actor_kind, coalesce(actor, ''),
		       coalesce(run_id, ''), coalesce(reason_code, ''), evidence
		  FROM {j}.agent_operation_events WHERE idempotency_key = $1 ORDER BY at, event_id`), key)
	if err != nil {
		return fmt.Errorf("read the history: %w", err)
	}
	out.Events, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (OperationEvent, error) {
		var e OperationEvent
		err := row.Scan(&e.At, &e.From, &e.To, &e.AttemptCount, &e.ActorKind, &e.Actor, &e.RunID, &e.ReasonCode, &e.Evidence)
		e.At = e.At.UTC()
		return e, err
	})
	if err != nil {
		return fmt.Errorf("read the history: %w", err)
	}
	return nil
}

func (s *Store) readCases(ctx context.Context, tx pgx.Tx, key string, out *Examined) error {
	rows, err := tx.Query(ctx, s.sql(`
		SELECT `+exceptionColumns+`
		  FROM {r}.exceptions x LEFT JOIN {j}.agent_operations o ON o.idempotency_key = x.idempotency_key
		 WHERE x.idempotency_key = $1 ORDER BY x.first_seen_at, x.exception_id`), key)
	if err != nil {
		return fmt.Errorf("read exceptions: %w", err)
	}
	if out.Exceptions, err = pgx.CollectRows(rows, scanException); err != nil {
		return fmt.Errorf("read exceptions: %w", err)
	}
	return nil
}
