package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"reconciler/matcher"
	"reconciler/money"
	"reconciler/reconcile"
)

// Unjournaled finds effects that bear our reference pattern and have no
// operation, once the source's grace after the effect has passed.
func (s *Store) Unjournaled(ctx context.Context, scope reconcile.Scope, grace map[string]time.Duration, now time.Time) ([]reconcile.Finding, error) {
	var out []reconcile.Finding
	for _, source := range scope.JobSources {
		wait, asked := grace[source]
		if !asked {
			continue
		}
		// A record that has found its operation is no candidate. One that is not
		// current stays: it may become so again.
		if _, err := s.db.Exec(ctx, s.sql(`
			DELETE FROM {r}.unjournaled_candidates c
			 WHERE c.source = $1 AND EXISTS (
			       SELECT 1 FROM {r}.records r WHERE r.id_hash = c.id_hash AND r.key_hash = c.key_hash AND r.owner_key IS NOT NULL)`), source); err != nil {
			return nil, fmt.Errorf("look for effects without operation: %w", err)
		}
		rows, err := s.db.Query(ctx, s.sql(`
			SELECT r.record_key, coalesce(r.business_reference, r.folded_references[1], ''), r.amount_minor, coalesce(r.currency, ''),
			       coalesce(r.provider_operation_id, ''), st.name, r.line, r.occurred_at
			  FROM {r}.unjournaled_candidates c
			  JOIN {r}.records r USING (id_hash, key_hash)
			  JOIN {r}.statements st ON st.statement_id = r.statement_id
			 WHERE c.source = $1 AND r.status = 'succeeded' AND coalesce(r.kind, '') NOT IN ('fee', 'payout')
			   AND coalesce(r.occurred_at, c.first_seen_at) < $2
			   `+unclaimed+`
			 ORDER BY r.record_key`), source, now.Add(-wait))
		if err != nil {
			return nil, fmt.Errorf("look for effects without operation: %w", err)
		}
		found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (reconcile.Finding, error) { return scanUnjournaled(row, source) })
		if err != nil {
			return nil, fmt.Errorf("look for effects without operation: %w", err)
		}
		out = append(out, found...)
	}
	return out, nil
}

func scanUnjournaled(row pgx.CollectableRow, source string) (reconcile.Finding, error) {
	var key, reference, currency, id, statement string
	var amount *int64
	var line int
	var occurred *time.Time
	if err := row.Scan(&key, &reference, &amount, &currency, &id, &statement, &line, &occurred); err != nil {
		return reconcile.Finding{}, err
	}
	f := reconcile.Finding{
		Kind: string(matcher.UnjournaledEffect), Severity: matcher.High, Source: source, Subject: key, RecordKey: key, Currency: currency,
		Evidence: map[string]any{"records": []recordEvidence{{
			Source: source, RecordKey: key, Statement: statement, Line: line, ProviderOperationID: id,
			BusinessReference: reference, AmountMinor: amount, Currency: currency, Status: "succeeded", OccurredAt: occurred,
		}}},
	}
	sum := "An effect"
	if amount != nil {
		f.RiskMinor, f.HasRisk = *amount, true
		sum = money.FormatMinor(*amount, currency) + " " + currency
	}
	f.Note = fmt.Sprintf("%s under reference %s stands in %s line %d, and no operation of the journal bears that reference. Find out who sent it past the journal.",
		sum, reference, statement, line)
	return f, nil
}

// Conflicts finds records whose key two statements use for different things.
func (s *Store) Conflicts(ctx context.Context, scope reconcile.Scope) ([]reconcile.Finding, error) {
	rows, err := s.db.Query(ctx, s.sql(`
		SELECT v.source, v.record_key, st.name, v.line, coalesce(v.business_reference, ''), v.amount_minor, coalesce(v.currency, ''),
		       st2.name, r.line, coalesce(r.business_reference, ''), r.amount_minor, coalesce(r.currency, '')
		  FROM {r}.records r
		  JOIN {r}.record_versions v USING (id_hash, key_hash)
		  JOIN {r}.statements st ON st.statement_id = v.statement_id
		  JOIN {r}.statements st2 ON st2.statement_id = r.statement_id
		 WHERE r.source = ANY($1) AND r.conflicted AND st.state = 'accepted' AND st.superseded_by IS NULL
		   AND (v.business_reference, v.currency, v.amount_minor) IS DISTINCT FROM (r.business_reference, r.currency, r.amount_minor)
		 ORDER BY v.source, v.record_key, st.name, v.line`), scope.JobSources)
	if err != nil {
		return nil, fmt.Errorf("look for conflicting records: %w", err)
	}
	type side struct {
		Statement   string `json:"statement"`
		Line        int    `json:"line"`
		Reference   string `json:"business_reference"`
		AmountMinor *int64 `json:"amount_minor"`
		Currency    string `json:"currency"`
	}
	seen := map[string]bool{}
	var out []reconcile.Finding
	_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) {
		var source, key string
		var a, b side
		if err := row.Scan(&source, &key, &a.Statement, &a.Line, &a.Reference, &a.AmountMinor, &a.Currency,
			&b.Statement, &b.Line, &b.Reference, &b.AmountMinor, &b.Currency); err != nil {
			return struct{}{}, err
		}
		if seen[source+"\x00"+key] {
			return struct{}{}, nil
		}
		seen[source+"\x00"+key] = true
		out = append(out, reconcile.Finding{
			Kind: "record_key_conflict", Severity: matcher.High, Source: source, Subject: key, RecordKey: key,
			Note: fmt.Sprintf("%s line %d and %s line %d use one identifier for different things (reference, amount or currency differ). Ask the provider, or declare unique_per: day if its numbers restart daily.",
				a.Statement, a.Line, b.Statement, b.Line),
			Evidence: map[string]any{"sides": []side{b, a}},
		})
		return struct{}{}, nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for conflicting records: %w", err)
	}
	return out, nil
}

// Rejected finds the current statements that keep a run from being complete:
// those in quarantine, and those that are not whole.
func (s *Store) Rejected(ctx context.Context, scope reconcile.Scope) (reconcile.Incomplete, error) {
	var out reconcile.Incomplete
	rows, err := s.db.Query(ctx, s.sql(`
		SELECT statement_id, source, account, name, state, period, reason, reject_count, sha256 FROM {r}.statements
		 WHERE source = ANY($1) AND superseded_by IS NULL AND NOT complete AND state IN ('accepted', 'quarantined')
		 ORDER BY source, name, statement_id`), scope.JobSources)
	if err != nil {
		return out, fmt.Errorf("look for incomplete statements: %w", err)
	}
	_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) {
		var id, rejects int64
		var source, acc, name, state, reason, digest string
		var period pgtype.Range[pgtype.Timestamptz]
		if err := row.Scan(&id, &source, &acc, &name, &state, &period, &reason, &rejects, &digest); err != nil {
			return struct{}{}, err
		}
		if state == "accepted" {
			out.Reasons = append(out.Reasons, fmt.Sprintf("%s: %s is not complete: %s", source, name, reason))
			return struct{}{}, nil
		}
		out.Reasons = append(out.Reasons, fmt.Sprintf("%s: %s is in quarantine: %s", source, name, reason))
		span := ""
		if period.Valid {
			span = periodOf(period).String()
		}
		out.Findings = append(out.Findings, reconcile.Finding{
			Kind: "statement_rejected", Severity: matcher.High, Source: source, Subject: acc + " " + name + " " + span,
			Note:     fmt.Sprintf("%s can't be trusted, and nothing of it counts: %s. Get it again from the provider, or mend the mapping, and run once more.", name, reason),
			Evidence: map[string]any{"statement_id": id, "statement": name, "sha256": digest, "reason": reason},
		})
		return struct{}{}, nil
	})
	if err != nil {
		return out, fmt.Errorf("look for incomplete statements: %w", err)
	}
	return out, nil
}
