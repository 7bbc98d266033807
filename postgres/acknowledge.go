package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Errors to ask for when a person acts on a case.
var (
	// ErrNoException says that there is no case under this id.
	ErrNoException = errors.New("no such exception")
	// ErrExceptionClosed says that the case is closed, so there is nothing left
	// for a person to take up.
	ErrExceptionClosed = errors.New("the exception is closed")
)

// Acknowledge notes that a person has taken up a case, and has its operation
// looked at again: from now on, also when the case closes by itself, only a
// person's decision permits a retry of it. It reports whether the state
// changed; a case that is acknowledged already stays as it is, and takes the
// comment, if there is one. Errors to ask for: ErrNoException, ErrExceptionClosed.
func (s *Store) Acknowledge(ctx context.Context, id, actor, comment string) (changed bool, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		var key *string
		err := tx.QueryRow(ctx, s.sql(`SELECT idempotency_key FROM {r}.exceptions WHERE exception_id = $1`), id).Scan(&key)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrNoException
		}
		if err != nil {
			return err
		}
		// A run writes conclusions before cases, so this locks in that order.
		if err := s.markReviewed(ctx, tx, key); err != nil {
			return err
		}
		changed, err = s.takeUp(ctx, tx, personsEvent{id, "acknowledged", actor, comment})
		if err != nil || !changed {
			return err
		}
		return s.lookAgain(ctx, tx, key)
	})
	if err != nil {
		return false, fmt.Errorf("acknowledge exception %s: %w", id, err)
	}
	return changed, nil
}

// markReviewed notes with the conclusion on an operation, if there is one, that
// a person has seen it.
func (s *Store) markReviewed(ctx context.Context, tx pgx.Tx, key *string) error {
	if key == nil {
		return nil
	}
	if _, err := tx.Exec(ctx, s.sql(`UPDATE {r}.operation_decisions SET reviewed = true WHERE idempotency_key = $1`), *key); err != nil {
		return fmt.Errorf("note that a person has seen %q: %w", *key, err)
	}
	return nil
}

// lookAgain puts an operation, if there is one, on the list of work.
func (s *Store) lookAgain(ctx context.Context, tx pgx.Tx, key *string) error {
	if key == nil {
		return nil
	}
	if _, err := tx.Exec(ctx, s.sql(`INSERT INTO {j}.agent_operation_changes (idempotency_key) VALUES ($1)`), *key); err != nil {
		return fmt.Errorf("have %q looked at again: %w", *key, err)
	}
	return nil
}

// takeUp moves an open case.
func (s *Store) takeUp(ctx context.Context, tx pgx.Tx, e personsEvent) (changed bool, err error) {
	var state string
	err = tx.QueryRow(ctx, s.sql(`SELECT state FROM {r}.exceptions WHERE exception_id = $1 FOR UPDATE`), e.id).Scan(&state)
	switch {
	case err != nil:
		return false, err
	case state == "acknowledged" && e.comment == "":
		return false, nil
	case state == "acknowledged":
		e.event = "commented"
		return false, s.putPersonsEvent(ctx, tx, e)
	case state != "open":
		return false, fmt.Errorf("%w (%s)", ErrExceptionClosed, state)
	}
	if _, err := tx.Exec(ctx, s.sql(`UPDATE {r}.exceptions SET state = 'acknowledged' WHERE exception_id = $1`), e.id); err != nil {
		return false, err
	}
	return true, s.putPersonsEvent(ctx, tx, e)
}

// personsEvent is what a person did to a case.
type personsEvent struct{ id, event, actor, comment string }

func (s *Store) putPersonsEvent(ctx context.Context, tx pgx.Tx, e personsEvent) error {
	_, err := tx.Exec(ctx, s.sql(`
		INSERT INTO {r}.exception_events (exception_id, event, actor, comment, at) VALUES ($1, $2, $3, $4, now())`),
		e.id, e.event, e.actor, null(e.comment))
	if err != nil {
		return fmt.Errorf("write the history: %w", err)
	}
	return nil
}

// ExceptionEvent is one step in the history of a case.
type ExceptionEvent struct {
	At       time.Time
	Event    string
	Actor    string
	RunID    string
	Comment  string
	Evidence json.RawMessage
}

// ExceptionEvents reads the history of a case, oldest first.
func (s *Store) ExceptionEvents(ctx context.Context, id string) ([]ExceptionEvent, error) {
	rows, err := s.db.Query(ctx, s.sql(`
		SELECT at, event, actor, coalesce(run_id, ''), coalesce(comment, ''), evidence
		  FROM {r}.exception_events WHERE exception_id = $1 ORDER BY at, event_id`), id)
	if err != nil {
		return nil, fmt.Errorf("read the history of exception %s: %w", id, err)
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (ExceptionEvent, error) {
		var e ExceptionEvent
		err := row.Scan(&e.At, &e.Event, &e.Actor, &e.RunID, &e.Comment, &e.Evidence)
		e.At = e.At.UTC()
		return e, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the history of exception %s: %w", id, err)
	}
	return out, nil
}
