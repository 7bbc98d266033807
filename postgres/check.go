package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Severity says how much a Finding matters.
type Severity string

// The closed set of severities.
const (
	// Broken: the promises of the journal do not hold; nothing should run.
	Broken Severity = "broken"
	// Warning: operations that cannot be decided, or writers that misuse the journal.
	Warning Severity = "warning"
	// Info: what is worth knowing and may be as it should.
	Info Severity = "info"
)

// Finding is one thing that Check saw in a journal.
type Finding struct {
	Severity Severity
	// Code is stable, in snake_case.
	Code string
	// Message says what is wrong and what to do.
	Message string
	// Count is how many operations (or objects) it concerns.
	Count int64
	// Example names one of them.
	Example string
}

// Check looks whether a journal is what the program takes it for: schema
// complete and current, laws in force, no impossible states. It changes
// nothing, and reads the whole journal some times. No findings: all is well.
func Check(ctx context.Context, db Querier, s Schemas) ([]Finding, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	found, usable, err := checkVersions(ctx, db, s)
	if err != nil || !usable {
		return found, err
	}
	names := strings.NewReplacer("{j}", pgx.Identifier{s.Journal}.Sanitize())
	for _, rule := range append(schemaRules(), stateRules()...) {
		f := Finding{Severity: rule.severity, Code: rule.code, Message: rule.message}
		var args []any
		if strings.Contains(rule.query, "$1") {
			args = append(args, s.Journal)
		}
		err := db.QueryRow(ctx, names.Replace(rule.query), args...).Scan(&f.Count, &f.Example)
		if err != nil {
			return found, fmt.Errorf("check the journal for %s: %w", rule.code, err)
		}
		if f.Count > 0 {
			found = append(found, f)
		}
	}
	return found, nil
}

// checkVersions compares what is applied with what this program knows. The
// journal can be looked at further if it has its table and all its columns.
func checkVersions(ctx context.Context, db Querier, s Schemas) (found []Finding, usable bool, err error) {
	sets, err := s.sets()
	if err != nil {
		return nil, false, err
	}
	usable = true
	for _, set := range sets {
		version, err := set.version(ctx, db)
		if err != nil {
			return found, false, err
		}
		f := Finding{Severity: Broken, Count: 1, Example: set.schema + "." + set.table}
		switch {
		case version == set.count:
			continue
		case version > set.count:
			f.Code = "schema_newer"
			f.Message = fmt.Sprintf("%s is of version %d, this program knows %d: use the version of the program that migrated it", set.words(), version, set.count)
		case version == 0:
			f.Code = "schema_missing"
			f.Message = fmt.Sprintf("%s has not been made yet: run 'reconciler journal migrate'%s", set.words(), set.adopts())
		default:
			f.Code = "schema_outdated"
			f.Message = fmt.Sprintf("%s is of version %d of %d: run 'reconciler journal migrate'", set.words(), version, set.count)
		}
		usable = usable && (set.folder != "journal" || version >= journalUsable)
		found = append(found, f)
	}
	return found, usable, nil
}

// words name a set for people.
func (m migrationSet) words() string {
	if m.folder == "journal" {
		return fmt.Sprintf("the journal in schema %s", m.schema)
	}
	return fmt.Sprintf("the reconciler's own schema %s", m.schema)
}

// adopts says what becomes of a table that is there already.
func (m migrationSet) adopts() string {
	if m.folder == "journal" {
		return " (an agent_operations that is there is adopted in place)"
	}
	return ""
}

// journalUsable is the migration of the journal after which its tables and
// triggers are there.
const journalUsable = 2

// checkRule is one question to the database, answered by a count and an
// example. $1 is the journal's schema.
type checkRule struct {
	severity             Severity
	code, message, query string
}

// schemaRules ask whether the laws are in force.
func schemaRules() []checkRule {
	return []checkRule{
		{
			Broken, "trigger_missing", "a trigger that keeps the laws of the journal is missing: restore it from a dump of the schema, or migrate into a new one", `
			SELECT count(*), coalesce(min(w.name), '')
			  FROM (VALUES ('agent_operations', 'agent_operations_stamp'), ('agent_operations', 'agent_operations_guard'),
			               ('agent_operations', 'agent_operations_keep_open'), ('agent_operations', 'agent_operations_record_insert'),
			               ('agent_operations', 'agent_operations_record_update'),
			               ('agent_operation_events', 'agent_operation_events_append_only')) AS w (relation, name)
			 WHERE NOT EXISTS (
			       SELECT FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			        WHERE n.nspname = $1 AND c.relname = w.relation AND t.tgname = w.name)`,
		},
		{
			Broken, "trigger_disabled", "a trigger of the journal is disabled, so its laws are not kept: ALTER TABLE … ENABLE TRIGGER, then look for what happened meanwhile", `
			SELECT count(*), coalesce(min(t.tgname), '')
			  FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			 WHERE n.nspname = $1 AND c.relname IN ('agent_operations', 'agent_operation_events')
			   AND t.tgname LIKE 'agent\_operation%' AND t.tgenabled NOT IN ('O', 'A')`,
		},
		{
			Broken, "plain_timestamp", "a column is a timestamp without time zone, so nobody can say which instant it means: ALTER TABLE … TYPE timestamptz USING … AT TIME ZONE the writers' zone", `
			SELECT count(*), coalesce(min(c.relname || '.' || a.attname), '')
			  FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			 WHERE n.nspname = $1 AND c.relname IN ('agent_operations', 'agent_operation_events') AND NOT a.attisdropped
			   AND a.atttypid = 'pg_catalog.timestamp'::pg_catalog.regtype`,
		},
		{
			Broken, "constraint_missing", "a check of the journal is missing or was never validated: ALTER TABLE … VALIDATE CONSTRAINT, or add it again", `
			SELECT count(*), coalesce(min(w.name), '')
			  FROM (VALUES ('agent_operations_status_is_known'), ('agent_operations_amount_is_a_magnitude')) AS w (name)
			 WHERE NOT EXISTS (
			       SELECT FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_class c ON c.oid = k.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			        WHERE n.nspname = $1 AND c.relname = 'agent_operations' AND k.conname = w.name AND k.convalidated)`,
		},
		{
			Warning, "index_missing", "the journal has no index on (status, lease_until): claims and the search for expired leases read the whole table", `
			SELECT 1 - count(*), CASE count(*) WHEN 0 THEN 'agent_operations (status, lease_until)' ELSE '' END
			  FROM (SELECT FROM pg_catalog.pg_index i
			          JOIN pg_catalog.pg_class c ON c.oid = i.indrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			          JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
			          JOIN pg_catalog.pg_attribute b ON b.attrelid = i.indrelid AND b.attnum = i.indkey[1]
			         WHERE n.nspname = $1 AND c.relname = 'agent_operations' AND i.indisvalid AND i.indpred IS NULL
			           AND a.attname = 'status' AND b.attname = 'lease_until' LIMIT 1) AS found`,
		},
	}
}

// stateRules ask for operations that should not be.
func stateRules() []checkRule {
	operations := func(where string) string {
		return `SELECT count(*), coalesce(min(idempotency_key), '') FROM {j}.agent_operations o WHERE ` + where
	}
	return []checkRule{
		{
			Broken, "status_unknown_word", "operations have a status outside the journal's set: set them to unknown, or to what they are",
			operations(`status IS NULL OR status NOT IN ('planned', 'executing', 'succeeded', 'failed_retryable', 'failed_final', 'unknown')`),
		},
		{
			Broken, "moved_past_the_trigger", "operations stand in a status that no event names: somebody moved them with the triggers off; find out who, and what the provider says", operations(
				`EXISTS (SELECT FROM {j}.agent_operation_events e WHERE e.idempotency_key = o.idempotency_key)
				AND NOT EXISTS (SELECT FROM {j}.agent_operation_events e WHERE e.idempotency_key = o.idempotency_key AND e.to_status = o.status)`),
		},
		{
			Warning, "executing_without_lease", "operations are executing without a lease: nobody can say when the worker has given up, so they wait for lease_grace after their last change; writers should set lease_until",
			operations(`status = 'executing' AND lease_until IS NULL`),
		},
		{
			Warning, "lease_long_expired", "operations are executing with a lease that ran out more than a day ago: run the reconciler, or look why it leaves them",
			operations(`status = 'executing' AND lease_until < now() - interval '1 day'`),
		},
		{
			Warning, "executing_without_attempt", "operations are executing and count no attempt: their writer does not raise attempt_count when it claims, so a late worker cannot be told from the present one",
			operations(`status = 'executing' AND coalesce(attempt_count, 0) <= 0`),
		},
		{
			Warning, "times_missing", "operations lack created_at, updated_at or attempt_count: the time in which they may have happened cannot be told",
			operations(`created_at IS NULL OR updated_at IS NULL OR attempt_count IS NULL`),
		},
		{
			Warning, "created_in_future", "operations were created in the future of the database's clock: a writer's clock is wrong",
			operations(`created_at > now() + interval '5 minutes'`),
		},
		{
			Warning, "amount_without_currency", "operations have an amount without a currency, or the reverse: they can't be compared with what the provider shows",
			operations(`(amount_minor IS NULL) <> (currency IS NULL)`),
		},
		{
			Info, "succeeded_without_evidence", "operations succeeded and keep neither the provider's id nor its result: only their reference can prove them",
			operations(`status = 'succeeded' AND provider_operation_id IS NULL AND result_json IS NULL`),
		},
		{
			Info, "without_reference", "operations have no business_reference: they are looked for by their idempotency_key, so the provider must show that",
			operations(`coalesce(business_reference, '') = ''`),
		},
	}
}
