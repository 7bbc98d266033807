package postgres_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"reconciler/postgres"
	"reconciler/postgres/postgrestest"
)

func TestCheckFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	const insert = `INSERT INTO agent_operations (idempotency_key, status, business_reference, attempt_count, lease_until, provider_operation_id) VALUES `
	for name, tc := range map[string]struct {
		sql  string
		want []string // code, severity, example
	}{
		"all is well": {insert + `('k', 'executing', 'R', 1, now(), NULL), ('l', 'succeeded', 'R', 1, NULL, 'P')`, nil},
		"trigger missing": {
			`DROP TRIGGER agent_operations_guard ON agent_operations`,
			[]string{"trigger_missing", "broken", "agent_operations_guard"},
		},
		"trigger disabled": {
			`ALTER TABLE agent_operation_events DISABLE TRIGGER agent_operation_events_append_only`,
			[]string{"trigger_disabled", "broken", "agent_operation_events_append_only"},
		},
		"plain timestamp": {
			`ALTER TABLE agent_operations ALTER COLUMN lease_until TYPE timestamp`,
			[]string{"plain_timestamp", "broken", "agent_operations.lease_until"},
		},
		"constraint dropped and used": {
			`ALTER TABLE agent_operations DROP CONSTRAINT agent_operations_status_is_known; ` + insert + `('k', 'done', 'R', 1, NULL, NULL)`,
			[]string{"constraint_missing", "broken", "agent_operations_status_is_known", "status_unknown_word", "broken", "k"},
		},
		"index dropped": {
			`DROP INDEX agent_operations_status_lease`,
			[]string{"index_missing", "warning", "agent_operations (status, lease_until)"},
		},
		"moved past the trigger": {
			insert + `('k', 'planned', 'R', 0, NULL, NULL); UPDATE agent_operations SET status = 'executing', attempt_count = 1, lease_until = now();
			SET session_replication_role = replica; UPDATE agent_operations SET status = 'planned'; RESET session_replication_role`,
			[]string{"moved_past_the_trigger", "broken", "k"},
		},
		"executing without lease or attempt": {
			insert + `('k', 'executing', 'R', 0, NULL, NULL)`,
			[]string{"executing_without_lease", "warning", "k", "executing_without_attempt", "warning", "k"},
		},
		"lease long expired": {
			insert + `('k', 'executing', 'R', 1, now() - interval '2 days', NULL)`,
			[]string{"lease_long_expired", "warning", "k"},
		},
		"created in future, amount without currency": {
			insert + `('k', 'planned', 'R', 0, NULL, NULL); INSERT INTO agent_operations (idempotency_key, status, business_reference, created_at, amount_minor)
			VALUES ('l', 'planned', 'R', now() + interval '1 day', 5)`,
			[]string{"created_in_future", "warning", "l", "amount_without_currency", "warning", "l"},
		},
		"succeeded without evidence or reference": {
			insert + `('k', 'succeeded', NULL, 1, NULL, NULL)`,
			[]string{"succeeded_without_evidence", "info", "k", "without_reference", "info", "k"},
		},
		"outdated": {
			`UPDATE agent_operation_schema_version SET version = 3`,
			[]string{"schema_outdated", "broken", "public.agent_operation_schema_version"},
		},
		"newer": {
			`UPDATE agent_operation_schema_version SET version = 1000`,
			[]string{"schema_newer", "broken", "public.agent_operation_schema_version"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := postgrestest.Connect(t, postgrestest.New(t))
			exec(t, conn, tc.sql)
			found, err := postgres.Check(t.Context(), conn, postgres.DefaultSchemas())
			if err != nil {
				t.Fatalf("Check: %v", err)
			}
			var got []string
			for _, f := range found {
				got = append(got, f.Code, string(f.Severity), f.Example)
				if f.Count != 1 || f.Message == "" {
					t.Errorf("%s: count %d, message %q, want 1 and a message", f.Code, f.Count, f.Message)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckOfAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	conn := postgrestest.Connect(t, postgrestest.Empty(t))
	found, err := postgres.Check(t.Context(), conn, postgres.DefaultSchemas())
	if err != nil {
		t.Fatalf("Check: %v", err)
	}
	if len(found) != 2 || found[0].Code != "schema_missing" || found[1].Code != "schema_missing" {
		t.Errorf("Check = %+v, want schema_missing for both schemas", found)
	}
}
