-- The journal that every writer shares. A table that is there already is
-- adopted in place: its columns stay, new ones may be NULL, nothing is
-- rewritten. What takes long on a large table (indexes, the check of old rows,
-- the queue) is in the later files, which do not shut writers out.

-- 1. Is the table that we find one that we can adopt? This comes first, under
--    no lock that would stop a writer.
DO $adopt$
DECLARE
    journal constant regclass := to_regclass(format('%I.agent_operations', {{.journal_literal}}::text));
    kind    "char";
    wanted  record;
    actual  text;
    strays  bigint;
    example text;
BEGIN
    IF journal IS NULL THEN
        RETURN;
    END IF;
    SELECT relkind INTO kind FROM pg_class WHERE oid = journal;
    IF kind <> 'r' THEN
        RAISE EXCEPTION 'agent_operations cannot be adopted: it is not an ordinary table'
            USING ERRCODE = 'RC010', HINT = 'Keep the journal in one plain table; a view or a partitioned table cannot carry its triggers.';
    END IF;
    FOR wanted IN
        SELECT * FROM (VALUES
            ('idempotency_key', true, '{text,character varying}'::text[]),
            ('action_type', true, '{text,character varying}'),
            ('workflow_id', true, '{text,character varying}'),
            ('payload_hash', true, '{text,character varying}'),
            ('status', true, '{text,character varying}'),
            ('attempt_count', true, '{smallint,integer,bigint}'),
            ('provider_operation_id', true, '{text,character varying}'),
            ('result_json', true, '{jsonb}'),
            ('last_error_code', true, '{text,character varying}'),
            ('lease_until', true, '{timestamp with time zone}'),
            ('created_at', true, '{timestamp with time zone}'),
            ('updated_at', true, '{timestamp with time zone}'),
            ('step', false, '{text,character varying}'),
            ('run_id', false, '{text,character varying}'),
            ('provider', false, '{text,character varying}'),
            ('account', false, '{text,character varying}'),
            ('business_reference', false, '{text,character varying}'),
            ('amount_minor', false, '{bigint}'),
            ('currency', false, '{character,character varying,text}'),
            ('first_attempt_at', false, '{timestamp with time zone}'),
            ('last_attempt_at', false, '{timestamp with time zone}'),
            ('retry_not_before', false, '{timestamp with time zone}'),
            ('retry_not_after', false, '{timestamp with time zone}')
        ) AS c (name, given, types)
    LOOP
        SELECT format_type(atttypid, NULL) INTO actual
        FROM pg_attribute WHERE attrelid = journal AND attname = wanted.name AND NOT attisdropped;
        IF actual IS NULL AND wanted.given THEN
            RAISE EXCEPTION 'agent_operations cannot be adopted: it has no column %', wanted.name
                USING ERRCODE = 'RC010', HINT = format('Add it: ALTER TABLE %s ADD COLUMN %I %s.', journal, wanted.name, wanted.types[1]);
        ELSIF actual = 'timestamp without time zone' AND wanted.types[1] = 'timestamp with time zone' THEN
            RAISE EXCEPTION 'agent_operations cannot be adopted: column % is a timestamp without time zone, so nobody can say which instant it means', wanted.name
                USING ERRCODE = 'RC010', HINT = format('Convert it, naming the zone in which the writers wrote: ALTER TABLE %s ALTER COLUMN %I TYPE timestamptz USING %2$I AT TIME ZONE ''UTC''.', journal, wanted.name);
        ELSIF actual IS NOT NULL AND actual <> ALL (wanted.types) THEN
            RAISE EXCEPTION 'agent_operations cannot be adopted: column % has type %, not %', wanted.name, actual, wanted.types[1]
                USING ERRCODE = 'RC010', HINT = format('Convert it: ALTER TABLE %s ALTER COLUMN %I TYPE %s.', journal, wanted.name, wanted.types[1]);
        END IF;
    END LOOP;
    IF NOT EXISTS (
        SELECT FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
        WHERE i.indrelid = journal AND i.indisunique AND i.indisvalid AND i.indpred IS NULL
          AND i.indnkeyatts = 1 AND a.attname = 'idempotency_key')
    THEN
        RAISE EXCEPTION 'agent_operations cannot be adopted: idempotency_key is not unique'
            USING ERRCODE = 'RC010', HINT = format('Make it the primary key: ALTER TABLE %s ADD PRIMARY KEY (idempotency_key).', journal);
    END IF;
    EXECUTE format(
        'SELECT count(*), min(idempotency_key) FROM %s WHERE status IS NULL OR status NOT IN '
        '(''planned'', ''executing'', ''succeeded'', ''failed_retryable'', ''failed_final'', ''unknown'')', journal)
    INTO strays, example;
    IF strays > 0 THEN
        EXECUTE format('SELECT coalesce(quote_literal(status), ''NULL'') FROM %s WHERE idempotency_key = $1', journal)
        INTO actual USING example;
        RAISE EXCEPTION 'agent_operations cannot be adopted: % operations have a status that is not in the journal''s set, for example % with status %', strays, quote_literal(example), actual
            USING ERRCODE = 'RC010', HINT = 'Set each of them to planned, executing, succeeded, failed_retryable, failed_final or unknown; unknown is right wherever nobody can say what happened.';
    END IF;
END
$adopt$;

-- 2. The table.
CREATE TABLE IF NOT EXISTS {{.journal}}.agent_operations (
    idempotency_key       text PRIMARY KEY,
    action_type           text,
    workflow_id           text,
    payload_hash          text,
    status                text NOT NULL,
    attempt_count         integer NOT NULL DEFAULT 0,
    provider_operation_id text,
    result_json           jsonb,
    last_error_code       text,
    lease_until           timestamptz,
    created_at            timestamptz NOT NULL DEFAULT now(),
    updated_at            timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE {{.journal}}.agent_operations
    ADD COLUMN IF NOT EXISTS step               text,
    ADD COLUMN IF NOT EXISTS run_id             text,
    ADD COLUMN IF NOT EXISTS provider           text,
    ADD COLUMN IF NOT EXISTS account            text,
    ADD COLUMN IF NOT EXISTS business_reference text,
    -- A magnitude in minor units: the direction follows from the action type.
    ADD COLUMN IF NOT EXISTS amount_minor       bigint,
    ADD COLUMN IF NOT EXISTS currency           char(3),
    ADD COLUMN IF NOT EXISTS first_attempt_at   timestamptz,
    ADD COLUMN IF NOT EXISTS last_attempt_at    timestamptz,
    ADD COLUMN IF NOT EXISTS retry_not_before   timestamptz,
    ADD COLUMN IF NOT EXISTS retry_not_after    timestamptz;
ALTER TABLE {{.journal}}.agent_operations
    ADD CONSTRAINT agent_operations_status_is_known CHECK (
        status IS NOT NULL AND status IN ('planned', 'executing', 'succeeded', 'failed_retryable', 'failed_final', 'unknown')
    ) NOT VALID,
    ADD CONSTRAINT agent_operations_amount_is_a_magnitude CHECK (amount_minor >= 0) NOT VALID;

-- 3. The audit trail: every change of a status, whoever made it.
CREATE TABLE {{.journal}}.agent_operation_events (
    event_id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    idempotency_key text NOT NULL,
    from_status     text,
    to_status       text,
    attempt_count   bigint,
    actor_kind      text NOT NULL CONSTRAINT agent_operation_events_actor_is_known CHECK (actor_kind IN ('worker', 'reconciler', 'human')),
    actor           text,
    run_id          text,
    reason_code     text,
    evidence        jsonb,
    at              timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX agent_operation_events_operation ON {{.journal}}.agent_operation_events (idempotency_key, event_id);

-- 4. The queue of operations that a reconciler has to look at again. Rows are
--    added by the triggers and deleted by the run that has looked.
CREATE TABLE {{.journal}}.agent_operation_changes (
    change_id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    idempotency_key text NOT NULL
);
CREATE INDEX agent_operation_changes_operation ON {{.journal}}.agent_operation_changes (idempotency_key, change_id);
