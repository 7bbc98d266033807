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
// looked at again: from now on only a person's decision permits a retry. It
// reports whether the state changed; a case that is acknowledged already stays
// as it is, and takes the comment, if there is one. Errors to ask for:
// ErrNoException, ErrExceptionClosed.
func (s *Store) Acknowledge(ctx context.Context, id, actor, comment string) (changed bool, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		var state string
		var key *string
		err := tx.QueryRow(ctx, s.sql(`SELECT state, idempotency_key FROM {r}.exceptions WHERE exception_id = $1 FOR UPDATE`), id).Scan(&state, &key)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return ErrNoException
		case err != nil:
			return err
		case state == "acknowledged" && comment == "":
			return nil
		case state == "acknowledged":
			return s.putPersonsEvent(ctx, tx, personsEvent{id, "commented", actor, comment})
		case state != "open":
			return fmt.Errorf("%w (%s)", ErrExceptionClosed, state)
		}
		changed = true
		if _, err := tx.Exec(ctx, s.sql(`UPDATE {r}.exceptions SET state = 'acknowledged' WHERE exception_id = $1`), id); err != nil {
			return err
		}
		if err := s.putPersonsEvent(ctx, tx, personsEvent{id, "acknowledged", actor, comment}); err != nil {
			return err
		}
		if key == nil {
			return nil
		}
		_, err = tx.Exec(ctx, s.sql(`INSERT INTO {j}.agent_operation_changes (idempotency_key) VALUES ($1)`), *key)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("acknowledge exception %s: %w", id, err)
	}
	return changed, nil
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
