package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"reconciler/matcher"
	"reconciler/reconcile"
)

// openException is a case as a run wants it to stand.
type openException struct {
	id, kind, severity, source, key, recordKey, subject, actionType string
	amount                                                          *int64
	currency, note                                                  string
	evidence                                                        json.RawMessage
}

// standing is a case as it stands in the database.
type standing struct {
	id, state, severity, note string
	amount                    *int64
	digest                    string
}

// Columns of the states in which a case waits for somebody.
const waitingStates = `('open', 'acknowledged')`

// putExceptions opens, updates and closes the cases of the batch's operations.
func (a *applying) putExceptions(ctx context.Context) error {
	var want []openException
	var keys []string
	for i := range a.items {
		it := &a.items[i]
		if it.lost {
			continue
		}
		op := it.state.op
		keys = append(keys, op.IdempotencyKey)
		for _, br := range it.decision.Breaks {
			if br.Kind == matcher.CoverageGap {
				continue
			}
			x := openException{
				kind: string(br.Kind), severity: string(br.Severity), source: br.Source, key: op.IdempotencyKey,
				subject: op.IdempotencyKey, actionType: op.ActionType, currency: br.Currency, note: br.Note, evidence: it.evidence,
			}
			if br.HasRisk {
				x.amount = &br.RiskMinor
			}
			x.id = exceptionID(x.kind, x.source, x.subject)
			want = append(want, x)
		}
	}
	opened, err := a.cases().sync(ctx, want, closing{keys: keys})
	a.out.Opened.Add(opened)
	return err
}

// closing says which waiting cases are to be closed if they are not wanted:
// those of operations, or those of kinds and sources.
type closing struct {
	keys           []string
	kinds, sources []string
	// job whose runs alone can say that a gap is no longer in the way.
	job string
}

// caseBook writes cases in one transaction of a run.
type caseBook struct {
	s   *Store
	tx  pgx.Tx
	run reconcile.Run
	at  time.Time
}

func (a *applying) cases() *caseBook { return &caseBook{s: a.s, tx: a.tx, run: a.run, at: a.at} }

// sync brings the stored cases to what a run wants, and closes those
// within the given bounds whose cause has gone.
func (b *caseBook) sync(ctx context.Context, want []openException, c closing) (reconcile.Opened, error) {
	var out reconcile.Opened
	wanted := map[string]openException{}
	for _, x := range want {
		if _, ok := wanted[x.id]; !ok {
			wanted[x.id] = x
		}
	}
	ids := slices.Sorted(maps.Keys(wanted))
	have, err := b.standing(ctx, ids)
	if err != nil {
		return out, err
	}
	var events []exceptionEvent
	for _, id := range ids {
		x := wanted[id]
		old, ok := have[id]
		event := ""
		switch {
		case !ok:
			event = "opened"
			out.Opened++
		case old.state == "auto_resolved", old.state == "resolved" && old.digest != digestOf(string(x.evidence)):
			event = "reopened"
			out.Opened++
		case old.severity != x.severity || old.note != x.note || !equalAmount(old.amount, x.amount):
			event = "changed"
		}
		if event != "" {
			events = append(events, exceptionEvent{id: id, event: event, evidence: x.evidence})
		}
	}
	if err := b.write(ctx, ids, wanted, have); err != nil {
		return out, err
	}
	closed, err := b.close(ctx, ids, c)
	if err != nil {
		return out, err
	}
	out.AutoResolved = len(closed)
	for _, id := range closed {
		events = append(events, exceptionEvent{id: id, event: "auto_resolved"})
	}
	return out, b.remember(ctx, events)
}

func equalAmount(a, b *int64) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func (b *caseBook) standing(ctx context.Context, ids []string) (map[string]standing, error) {
	have := map[string]standing{}
	if len(ids) == 0 {
		return have, nil
	}
	rows, err := b.tx.Query(ctx, b.s.sql(`
		SELECT exception_id, state, severity, note, amount_minor, evidence_digest FROM {r}.exceptions
		 WHERE exception_id = ANY($1) ORDER BY exception_id FOR UPDATE`), ids)
	if err != nil {
		return nil, fmt.Errorf("read exceptions: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (standing, error) {
		var x standing
		err := row.Scan(&x.id, &x.state, &x.severity, &x.note, &x.amount, &x.digest)
		return x, err
	})
	if err != nil {
		return nil, fmt.Errorf("read exceptions: %w", err)
	}
	for _, x := range list {
		have[x.id] = x
	}
	return have, nil
}

// write inserts and updates cases. A person's acknowledgement
// outlives the update; what a person resolved stays so on the same evidence.
func (b *caseBook) write(ctx context.Context, ids []string, wanted map[string]openException, have map[string]standing) error {
	var kinds, severities, states, subjects, notes, evidences, digests, list []string
	var srcs, keys, recordKeys, actions, currencies []*string
	var amounts []*int64
	for _, id := range ids {
		x, old := wanted[id], have[id]
		digest := digestOf(string(x.evidence))
		if old.state == "resolved" && old.digest == digest {
			continue
		}
		state := "open"
		if old.state == "acknowledged" {
			state = old.state
		}
		list, kinds, severities, states = append(list, id), append(kinds, x.kind), append(severities, x.severity), append(states, state)
		subjects, notes, evidences = append(subjects, x.subject), append(notes, x.note), append(evidences, string(x.evidence))
		digests, srcs, keys = append(digests, digest), append(srcs, null(x.source)), append(keys, null(x.key))
		recordKeys, actions = append(recordKeys, null(x.recordKey)), append(actions, null(x.actionType))
		currencies, amounts = append(currencies, null(x.currency)), append(amounts, x.amount)
	}
	if len(list) == 0 {
		return nil
	}
	_, err := b.tx.Exec(ctx, b.s.sql(`
		INSERT INTO {r}.exceptions AS x (exception_id, kind, severity, state, source, idempotency_key, record_key, subject, action_type,
		       amount_minor, currency, note, evidence, evidence_digest, first_seen_at, last_seen_at, first_run_id, last_run_id)
		SELECT w.*, $15, $15, $16, $16
		  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
		              $10::bigint[], $11::text[], $12::text[], $13::jsonb[], $14::text[]) AS w
		ON CONFLICT (exception_id) DO UPDATE
		   SET severity = excluded.severity, state = excluded.state, amount_minor = excluded.amount_minor, currency = excluded.currency,
		       note = excluded.note, evidence = excluded.evidence, evidence_digest = excluded.evidence_digest,
		       first_seen_at = CASE WHEN x.state IN `+waitingStates+` THEN x.first_seen_at ELSE excluded.first_seen_at END,
		       first_run_id = CASE WHEN x.state IN `+waitingStates+` THEN x.first_run_id ELSE excluded.first_run_id END,
		       last_seen_at = excluded.last_seen_at, last_run_id = excluded.last_run_id`),
		list, kinds, severities, states, srcs, keys, recordKeys, subjects, actions, amounts, currencies, notes, evidences, digests, b.at, b.run.ID)
	if err != nil {
		return fmt.Errorf("write exceptions: %w", err)
	}
	return nil
}

func (b *caseBook) close(ctx context.Context, keep []string, c closing) ([]string, error) {
	if len(c.keys) == 0 && len(c.kinds) == 0 {
		return nil, nil
	}
	// Nothing to keep arrives as NULL, of which nothing is false.
	rows, err := b.tx.Query(ctx, b.s.sql(`
		UPDATE {r}.exceptions SET state = 'auto_resolved', last_seen_at = $4, last_run_id = $5
		 WHERE state IN `+waitingStates+` AND NOT exception_id = ANY(coalesce($1::text[], '{}'))
		   AND (idempotency_key = ANY($2) OR idempotency_key IS NULL AND kind = ANY($3) AND source = ANY($6)
		        AND (kind <> 'coverage_gap' OR EXISTS (
		             SELECT 1 FROM {r}.runs WHERE runs.run_id = exceptions.last_run_id AND runs.job = $7)))
		RETURNING exception_id`), keep, c.keys, c.kinds, b.at, b.run.ID, c.sources, c.job)
	if err != nil {
		return nil, fmt.Errorf("close exceptions: %w", err)
	}
	closed, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("close exceptions: %w", err)
	}
	slices.Sort(closed)
	return closed, nil
}

type exceptionEvent struct {
	id, event string
	evidence  json.RawMessage
}

func (b *caseBook) remember(ctx context.Context, events []exceptionEvent) error {
	if len(events) == 0 {
		return nil
	}
	var ids, kinds []string
	var evidences []*string
	for _, e := range events {
		ids, kinds, evidences = append(ids, e.id), append(kinds, e.event), append(evidences, null(string(e.evidence)))
	}
	_, err := b.tx.Exec(ctx, b.s.sql(`
		INSERT INTO {r}.exception_events (exception_id, event, evidence, actor, run_id, at)
		SELECT w.*, $4, $5, $6 FROM unnest($1::text[], $2::text[], $3::jsonb[]) AS w`),
		ids, kinds, evidences, "reconciler/"+b.run.Job, b.run.ID, b.at)
	if err != nil {
		return fmt.Errorf("write the history of exceptions: %w", err)
	}
	return nil
}

// SyncFindings opens, updates and closes the cases that concern sources and
// records rather than operations. Within kinds and the job's sources, what is
// not in findings is closed; without kinds nothing is.
func (s *Store) SyncFindings(ctx context.Context, run reconcile.Run, scope reconcile.Scope, kinds []string, findings []reconcile.Finding) (reconcile.Opened, error) {
	want := make([]openException, 0, len(findings))
	for _, f := range findings {
		encoded, err := json.Marshal(f.Evidence)
		if err != nil {
			return reconcile.Opened{}, fmt.Errorf("encode evidence of %s: %w", f.Subject, err)
		}
		x := openException{
			id: exceptionID(f.Kind, f.Source, f.Subject), kind: f.Kind, severity: string(f.Severity), source: f.Source,
			key: f.IdempotencyKey, recordKey: f.RecordKey, subject: f.Subject, currency: f.Currency, note: f.Note, evidence: encoded,
		}
		if f.HasRisk {
			x.amount = &f.RiskMinor
		}
		want = append(want, x)
	}
	var out reconcile.Opened
	err := s.inTx(ctx, func(tx pgx.Tx) error {
		var at time.Time
		if err := tx.QueryRow(ctx, `SELECT now()`).Scan(&at); err != nil {
			return fmt.Errorf("read the database's clock: %w", err)
		}
		var err error
		out, err = (&caseBook{s: s, tx: tx, run: run, at: at}).sync(ctx, want, closing{kinds: kinds, sources: scope.JobSources, job: run.Job})
		return err
	})
	if err != nil {
		return out, fmt.Errorf("bring exceptions of sources up to date: %w", err)
	}
	return out, nil
}
