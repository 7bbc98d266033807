---- tern: disable-tx ----
-- Built beside the writers, which goes on for long on a large journal and
-- waits for transactions that are open; nobody waits for it. A build that was
-- cut short leaves an index that is of no use, so each is dropped first.
SET lock_timeout = '10min';

DROP INDEX CONCURRENTLY IF EXISTS {{.journal}}.agent_operations_business_reference;
CREATE INDEX CONCURRENTLY agent_operations_business_reference
    ON {{.journal}}.agent_operations (business_reference) WHERE business_reference IS NOT NULL;

DROP INDEX CONCURRENTLY IF EXISTS {{.journal}}.agent_operations_provider_operation_id;
CREATE INDEX CONCURRENTLY agent_operations_provider_operation_id
    ON {{.journal}}.agent_operations (provider_operation_id) WHERE provider_operation_id IS NOT NULL;

-- The journals that we adopt have an index on (status, lease_until) under
-- a name of their own; a second one would only cost.
DO $status$
BEGIN
    IF NOT EXISTS (
        SELECT FROM pg_index i
        JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
        JOIN pg_attribute b ON b.attrelid = i.indrelid AND b.attnum = i.indkey[1]
        WHERE i.indrelid = to_regclass(format('%I.agent_operations', {{.journal_literal}}::text))
          AND i.indisvalid AND i.indpred IS NULL AND a.attname = 'status' AND b.attname = 'lease_until')
    THEN
        CREATE INDEX agent_operations_status_lease ON {{.journal}}.agent_operations (status, lease_until);
    END IF;
END
$status$;

ALTER TABLE {{.journal}}.agent_operations VALIDATE CONSTRAINT agent_operations_status_is_known;
ALTER TABLE {{.journal}}.agent_operations VALIDATE CONSTRAINT agent_operations_amount_is_a_magnitude;
