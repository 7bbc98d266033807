package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"reconciler/journal"
	"reconciler/matcher"
	"reconciler/reconcile"
)

// writeJournal writes the operations as workers would have: with plain SQL,
// without any library of ours.
func (d *demo) writeJournal(ctx context.Context) error {
	batch := &pgx.Batch{}
	for _, s := range d.scenes {
		if s.status == "" {
			continue
		}
		created := s.at.in(d.now, d.zone)
		var attempts int
		var lease, attempted *time.Time
		if s.status != journal.Planned {
			at, until := created.Add(2*time.Second), created.Add(5*time.Minute)
			if !s.lease.isZero() {
				until = s.lease.in(d.now, d.zone)
			}
			attempts, attempted, lease = 1, &at, &until
		}
		updated := created.Add(30 * time.Second)
		if s.status == journal.Planned || s.status == journal.Executing {
			updated = created.Add(2 * time.Second)
		}
		var minor, currency any
		if s.currency != "" {
			minor, currency = s.minor, s.currency
		}
		batch.Queue(`
			INSERT INTO agent_operations (idempotency_key, action_type, workflow_id, payload_hash, status, attempt_count, provider, account,
			       business_reference, amount_minor, currency, lease_until, created_at, updated_at, first_attempt_at, last_attempt_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $15)`,
			s.key, s.action, "order-"+strings.TrimPrefix(s.reference, "TW-"), "demo:"+s.key, string(s.status), attempts, s.provider(), s.account,
			s.reference, minor, currency, lease, created, updated, attempted)
	}
	if err := d.session.pool.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("write the journal of the demo: %w", err)
	}
	return nil
}

// provider that the operation was sent to.
func (s scene) provider() string {
	switch s.action {
	case mailAction:
		return "pigeonry"
	case ticketAction:
		return "deskling"
	}
	return "alder-bank"
}

// conclusion is what the reconciler says about one scene.
type conclusion struct {
	Key        string             `json:"idempotency_key"`
	Story      string             `json:"story"`
	Before     journal.Status     `json:"before"`
	Status     journal.Status     `json:"status"`
	Outcome    matcher.Outcome    `json:"outcome"`
	Reason     matcher.ReasonCode `json:"reason_code"`
	MayRetry   bool               `json:"may_retry"`
	NotAfter   *time.Time         `json:"not_after,omitempty"`
	ProvableAt *time.Time         `json:"provable_at,omitempty"`
	Exceptions []string           `json:"exceptions,omitempty"`
}

// conclusions reads what stands about every scene now.
func (d *demo) conclusions(ctx context.Context) (map[string]conclusion, error) {
	rows, err := d.session.pool.Query(ctx, `
		SELECT s.idempotency_key, s.status, s.outcome, s.reason_code, s.may_retry, s.not_after, s.provable_at,
		       ARRAY(SELECT kind FROM reconciler.exceptions x
		              WHERE x.idempotency_key = s.idempotency_key AND x.state IN ('open', 'acknowledged') ORDER BY kind)
		  FROM reconciler.operation_status s
		UNION ALL
		SELECT s.reference, '', '', x.kind, false, NULL AS not_after, NULL AS provable_at, ARRAY[x.kind]
		  FROM reconciler.exceptions x
		 CROSS JOIN LATERAL (SELECT x.evidence #>> '{records,0,business_reference}') AS s(reference)
		 WHERE x.kind = 'unjournaled_effect' AND x.state IN ('open', 'acknowledged')`)
	if err != nil {
		return nil, fmt.Errorf("read what was concluded: %w", err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (conclusion, error) {
		var c conclusion
		err := row.Scan(&c.Key, &c.Status, &c.Outcome, &c.Reason, &c.MayRetry, &c.NotAfter, &c.ProvableAt, &c.Exceptions)
		return c, err
	})
	if err != nil {
		return nil, fmt.Errorf("read what was concluded: %w", err)
	}
	out := map[string]conclusion{}
	for _, c := range all {
		out[c.Key] = c
	}
	for _, s := range d.scenes {
		c := out[s.key]
		c.Key, c.Story, c.Before = s.key, s.story, s.status
		out[s.key] = c
	}
	return out, nil
}

// rowsBesidesRuns counts the rows of all tables but the list of runs.
func (d *demo) rowsBesidesRuns(ctx context.Context) (int64, error) {
	rows, err := d.session.pool.Query(ctx, `
		SELECT table_schema, table_name FROM information_schema.tables
		 WHERE table_schema IN ('public', 'reconciler') AND table_type = 'BASE TABLE' AND table_name <> 'runs'`)
	if err != nil {
		return 0, fmt.Errorf("list tables: %w", err)
	}
	counts, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		var schema, name string
		err := row.Scan(&schema, &name)
		return "(SELECT count(*) FROM " + pgx.Identifier{schema, name}.Sanitize() + ")", err
	})
	if err != nil {
		return 0, fmt.Errorf("list tables: %w", err)
	}
	var n int64
	if err := d.session.pool.QueryRow(ctx, "SELECT "+strings.Join(counts, " + ")).Scan(&n); err != nil {
		return 0, fmt.Errorf("count rows: %w", err)
	}
	return n, nil
}

// ingestBank registers what the bank has delivered, without deciding on
// anything, and returns the reasons for which statements were refused, by name.
func (d *demo) ingestBank(ctx context.Context) (map[string]string, error) {
	src, err := buildSource(d.session.cfg, "alder-bank", nil)
	if err != nil {
		return nil, err
	}
	if err := d.session.store.PutSource(ctx, src.Rule); err != nil {
		return nil, err
	}
	refused := map[string]string{}
	for delivery, err := range src.Location.List(ctx) {
		if err != nil {
			return nil, fmt.Errorf("list the statements of the demo: %w", err)
		}
		res, err := reconcile.Ingest(ctx, d.session.store, d.archive(), reconcile.IngestRequest{Source: src, Delivery: delivery, At: d.now})
		if err != nil {
			return nil, err
		}
		d.ingested += res.Loaded.Summary.Rows
		if res.Registered.State == "quarantined" {
			refused[delivery.Name] = res.Registered.Reason
		}
	}
	return refused, nil
}

// otherSessions counts who else is connected to the server at url.
func otherSessions(ctx context.Context, url string) (n int, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return 0, fmt.Errorf("connect: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	err = conn.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`).Scan(&n)
	return n, err
}
