-- The laws of the journal, for every writer in every language.
--
-- Who acts is told by settings of the transaction (set_config(…, true)):
--   reconciler.actor_kind     reconciler or human; not set: worker
--   reconciler.actor          a name; not set: the role and application_name
--   reconciler.run_id, reconciler.reason_code   go into the event
--   reconciler.approval_id    the approved decision that a human move rests on
--   reconciler.writes_events  on: the reconciler writes the events of its moves
--                             itself, with their evidence, in the statement that moves
-- Only a role that may insert into agent_operation_events itself is believed
-- to be other than a worker. So separate roles decide where there are
-- separate roles, and the setting decides where one role serves all.
--
-- Errors: RC001 move that nobody or somebody else may make · RC002 column that
-- does not change · RC003 human without an approved decision · RC004 worker
-- without the provider's evidence · RC005 attempt that is not counted ·
-- RC006 audit trail is append-only · RC007 open operation is not deleted.

-- The same table as journal.CanBecome in Go; a test compares the two.
CREATE FUNCTION {{.journal}}.agent_operation_may_become(from_status text, to_status text, actor_kind text)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $may$
    SELECT CASE from_status
        WHEN 'planned' THEN
            to_status = 'executing' OR (actor_kind <> 'worker' AND to_status IN ('succeeded', 'failed_final', 'unknown'))
        WHEN 'failed_retryable' THEN
            to_status = 'executing' OR (actor_kind <> 'worker' AND to_status IN ('succeeded', 'failed_final', 'unknown'))
        WHEN 'executing' THEN to_status IN ('succeeded', 'failed_retryable', 'failed_final', 'unknown')
        WHEN 'unknown' THEN to_status IN ('succeeded', 'failed_retryable', 'failed_final')
        WHEN 'failed_final' THEN to_status = 'succeeded' AND actor_kind = 'human'
        ELSE false
    END
$may$;

-- Whether a person's move rests on an approved decision. There are no decisions
-- yet, so nothing is approved; the migration that brings them replaces this.
CREATE FUNCTION {{.journal}}.agent_operation_is_approved(idempotency_key text, from_status text, to_status text, approval_id text)
RETURNS boolean LANGUAGE sql STABLE AS $approved$
    SELECT false
$approved$;

-- The role that runs the statement; inside a trigger function of ours
-- current_user is the owner.
CREATE FUNCTION {{.journal}}.agent_operation_caller()
RETURNS text LANGUAGE sql STABLE AS $caller$
    SELECT CASE pg_catalog.current_setting('role') WHEN 'none' THEN session_user::text ELSE pg_catalog.current_setting('role') END
$caller$;

CREATE FUNCTION {{.journal}}.agent_operations_guard() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $guard$
DECLARE
    actor   text;
    who     text;
    instant timestamptz;
BEGIN
    IF NEW.idempotency_key IS DISTINCT FROM OLD.idempotency_key OR NEW.action_type IS DISTINCT FROM OLD.action_type
        OR NEW.payload_hash IS DISTINCT FROM OLD.payload_hash OR NEW.created_at IS DISTINCT FROM OLD.created_at
    THEN
        RAISE EXCEPTION 'operation %: idempotency_key, action_type, payload_hash and created_at never change', quote_literal(OLD.idempotency_key)
            USING ERRCODE = 'RC002', HINT = 'Another action is another operation: insert it under its own key.';
    END IF;
    IF (OLD.provider IS NOT NULL AND NEW.provider IS DISTINCT FROM OLD.provider)
        OR (OLD.account IS NOT NULL AND NEW.account IS DISTINCT FROM OLD.account)
        OR (OLD.business_reference IS NOT NULL AND NEW.business_reference IS DISTINCT FROM OLD.business_reference)
        OR (OLD.amount_minor IS NOT NULL AND NEW.amount_minor IS DISTINCT FROM OLD.amount_minor)
        OR (OLD.currency IS NOT NULL AND NEW.currency IS DISTINCT FROM OLD.currency)
    THEN
        RAISE EXCEPTION 'operation %: provider, account, business_reference, amount_minor and currency are written once', quote_literal(OLD.idempotency_key)
            USING ERRCODE = 'RC002', HINT = 'Another action is another operation: insert it under its own key.';
    END IF;
    IF NEW.attempt_count < OLD.attempt_count
        OR (OLD.status = 'executing' AND NEW.status = 'executing' AND NEW.attempt_count IS DISTINCT FROM OLD.attempt_count)
    THEN
        RAISE EXCEPTION 'operation % is %: attempt % cannot become attempt % here', quote_literal(OLD.idempotency_key), OLD.status, OLD.attempt_count, NEW.attempt_count
            USING ERRCODE = 'RC005', HINT = 'An attempt whose lease has run out may have reached the provider. Wait until it is decided; claim only planned and failed_retryable operations.';
    END IF;

    actor := coalesce(nullif(current_setting('reconciler.actor_kind', true), ''), 'worker');
    IF NEW.status IS NOT DISTINCT FROM OLD.status THEN
        IF actor = 'worker' AND OLD.status = 'failed_retryable' AND (NEW.retry_not_before IS DISTINCT FROM OLD.retry_not_before
            OR NEW.retry_not_after IS DISTINCT FROM OLD.retry_not_after)
        THEN
            RAISE EXCEPTION 'operation %: the limits of a permit are not for workers to change', quote_literal(OLD.idempotency_key)
                USING ERRCODE = 'RC002', HINT = 'Claim it inside its limits; outside them the claim changes no row.';
        END IF;
        -- Writers of old may not touch updated_at; whoever compares it must see the change.
        IF actor = 'worker' AND NEW.updated_at IS NOT DISTINCT FROM OLD.updated_at
            AND (NEW.attempt_count IS DISTINCT FROM OLD.attempt_count OR NEW.lease_until IS DISTINCT FROM OLD.lease_until)
        THEN
            NEW.updated_at := now();
        END IF;
        RETURN NEW;
    END IF;

    IF actor NOT IN ('worker', 'reconciler', 'human') THEN
        RAISE EXCEPTION 'reconciler.actor_kind is %: it can be worker, reconciler or human', quote_literal(actor)
            USING ERRCODE = 'RC001';
    END IF;
    IF NOT {{.journal}}.agent_operation_may_become(OLD.status, NEW.status, actor) THEN
        SELECT string_agg(k, ' or ') INTO who FROM unnest('{worker,reconciler,human}'::text[]) AS k
        WHERE {{.journal}}.agent_operation_may_become(OLD.status, NEW.status, k);
        RAISE EXCEPTION 'operation % may not move from % to % by a %', quote_literal(OLD.idempotency_key), OLD.status, coalesce(NEW.status, 'NULL'), actor
            USING ERRCODE = 'RC001', DETAIL = format('Who may make this move: %s.', coalesce(who, 'nobody'));
    END IF;
    IF actor = 'human' AND {{.journal}}.agent_operation_is_approved(
        OLD.idempotency_key, OLD.status, NEW.status, current_setting('reconciler.approval_id', true)) IS NOT TRUE
    THEN
        RAISE EXCEPTION 'operation % may not move from % to % by a human without an approved decision', quote_literal(OLD.idempotency_key), OLD.status, NEW.status
            USING ERRCODE = 'RC003', HINT = 'A second person approves the decision, and applying it makes the move.';
    END IF;
    -- Nobody knows what happened to an unknown operation, so a worker that
    -- closes it says what the provider answered, not what it hopes.
    IF actor = 'worker' AND OLD.status = 'unknown' AND NOT (
        CASE NEW.status
            WHEN 'succeeded' THEN NEW.provider_operation_id IS NOT NULL OR NEW.result_json IS NOT NULL
            ELSE (NEW.last_error_code IS NOT NULL AND NEW.last_error_code IS DISTINCT FROM OLD.last_error_code)
                OR (NEW.result_json IS NOT NULL AND NEW.result_json IS DISTINCT FROM OLD.result_json)
        END)
    THEN
        RAISE EXCEPTION 'operation % may not move from unknown to % by a worker without the provider''s evidence', quote_literal(OLD.idempotency_key), NEW.status
            USING ERRCODE = 'RC004', HINT = 'Give provider_operation_id or result_json for a success, a new last_error_code or result_json for a failure; without the provider''s answer leave it to the reconciler.';
    END IF;

    -- The clock, not the start of the transaction: a claim that waited, or that
    -- sits in a long transaction, is as late as it is. It is before the call
    -- to the provider either way.
    instant := clock_timestamp();
    IF NEW.status = 'executing' THEN
        IF OLD.status = 'failed_retryable' AND (instant < OLD.retry_not_before OR instant > OLD.retry_not_after) THEN
            RETURN NULL; -- no error: the claim of a writer finds no row to claim
        END IF;
        NEW.first_attempt_at := coalesce(OLD.first_attempt_at, instant);
        NEW.last_attempt_at := instant;
    END IF;
    -- A permit is used up or withdrawn; the event keeps its limits.
    IF OLD.status = 'failed_retryable' THEN
        NEW.retry_not_before := NULL;
        NEW.retry_not_after := NULL;
    END IF;
    -- The reconciler's own moves say nothing about when a worker last acted.
    IF actor = 'worker' AND NEW.updated_at IS NOT DISTINCT FROM OLD.updated_at THEN
        NEW.updated_at := now();
    END IF;
    RETURN NEW;
END
$guard$;

-- An operation that is inserted while it runs. The times that the row brings
-- with it count: an import of history is not an attempt of today, and a live
-- writer leaves them to their default, which is now.
CREATE FUNCTION {{.journal}}.agent_operations_stamp() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $stamp$
BEGIN
    NEW.first_attempt_at := coalesce(NEW.first_attempt_at, NEW.created_at, now());
    NEW.last_attempt_at := coalesce(NEW.last_attempt_at, greatest(NEW.created_at, NEW.updated_at), now());
    RETURN NEW;
END
$stamp$;

CREATE FUNCTION {{.journal}}.agent_operations_keep_open() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $keep$
BEGIN
    IF current_setting('reconciler.delete_open', true) = 'on' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'operation % is %: only succeeded and failed_final operations may be deleted', quote_literal(OLD.idempotency_key), OLD.status
        USING ERRCODE = 'RC007', HINT = 'What an open operation did at the provider would be forgotten. If it really must go: SET LOCAL reconciler.delete_open = ''on''.';
END
$keep$;

-- Who says to be the reconciler or a human must be believed, see above.
CREATE FUNCTION {{.journal}}.agent_operation_actor() RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $actor$
DECLARE
    kind constant text := coalesce(nullif(current_setting('reconciler.actor_kind', true), ''), 'worker');
BEGIN
    IF kind <> 'worker' AND NOT has_table_privilege({{.journal}}.agent_operation_caller(),
        format('%I.agent_operation_events', {{.journal_literal}}::text), 'INSERT')
    THEN
        RAISE EXCEPTION 'role % may not act as %', quote_literal({{.journal}}.agent_operation_caller()), kind
            USING ERRCODE = '42501', HINT = 'Only a role that may insert into agent_operation_events acts as other than a worker.';
    END IF;
    RETURN kind;
END
$actor$;

-- Once per statement, not per row: a bulk change costs one insert into each
-- table. The plan is made at the first change of a session, mostly of one row,
-- and kept: as a nested loop it would take the square of a later bulk change.
CREATE FUNCTION {{.journal}}.agent_operations_record_update() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_nestloop = off AS $record$
DECLARE
    kind constant text := {{.journal}}.agent_operation_actor();
BEGIN
    IF kind = 'reconciler' AND current_setting('reconciler.writes_events', true) = 'on' THEN
        RETURN NULL;
    END IF;
    WITH changed AS MATERIALIZED (
        SELECT n.idempotency_key, o.status AS from_status, n.status AS to_status, n.attempt_count,
               n.provider_operation_id, n.last_error_code, o.retry_not_before, o.retry_not_after
        FROM old_rows o JOIN new_rows n ON n.idempotency_key = o.idempotency_key
        WHERE (n.status, n.attempt_count, n.lease_until, n.provider_operation_id, n.business_reference, n.provider, n.account, n.amount_minor, n.currency)
            IS DISTINCT FROM
              (o.status, o.attempt_count, o.lease_until, o.provider_operation_id, o.business_reference, o.provider, o.account, o.amount_minor, o.currency)
    ), events AS (
        INSERT INTO {{.journal}}.agent_operation_events
            (idempotency_key, from_status, to_status, attempt_count, actor_kind, actor, run_id, reason_code, evidence)
        SELECT idempotency_key, from_status, to_status, attempt_count, kind,
               coalesce(nullif(current_setting('reconciler.actor', true), ''),
                   concat_ws('/', {{.journal}}.agent_operation_caller(), nullif(current_setting('application_name'), ''))),
               nullif(current_setting('reconciler.run_id', true), ''),
               nullif(current_setting('reconciler.reason_code', true), ''),
               nullif(jsonb_strip_nulls(jsonb_build_object(
                   'provider_operation_id', provider_operation_id,
                   'last_error_code', last_error_code,
                   'retry_not_before', retry_not_before,
                   'retry_not_after', retry_not_after,
                   'approval_id', CASE kind WHEN 'human' THEN current_setting('reconciler.approval_id', true) END)), '{}')
        FROM changed WHERE from_status IS DISTINCT FROM to_status
    )
    INSERT INTO {{.journal}}.agent_operation_changes (idempotency_key) SELECT idempotency_key FROM changed;
    RETURN NULL;
END
$record$;

CREATE FUNCTION {{.journal}}.agent_operations_record_insert() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $record$
BEGIN
    INSERT INTO {{.journal}}.agent_operation_changes (idempotency_key) SELECT idempotency_key FROM new_rows;
    RETURN NULL;
END
$record$;

CREATE FUNCTION {{.journal}}.agent_operation_events_append_only() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $append$
BEGIN
    RAISE EXCEPTION 'agent_operation_events is append-only: % is refused', TG_OP
        USING ERRCODE = 'RC006', HINT = 'A correction is a new event.';
END
$append$;

-- What a worker learns after another attempt has taken over: it moves nothing,
-- but it is evidence, so it becomes an event and the operation is looked at
-- again. A worker needs no right on the events for it.
CREATE FUNCTION {{.journal}}.agent_operation_late_news(idempotency_key text, attempt_count bigint, reason_code text, evidence jsonb)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $late$
DECLARE
    current text;
    id      bigint;
BEGIN
    IF NOT has_table_privilege({{.journal}}.agent_operation_caller(), format('%I.agent_operations', {{.journal_literal}}::text), 'UPDATE') THEN
        RAISE EXCEPTION 'role % may not report on operations', quote_literal({{.journal}}.agent_operation_caller())
            USING ERRCODE = '42501', HINT = 'It needs the right to update agent_operations.';
    END IF;
    IF reason_code IS NULL OR reason_code NOT LIKE 'late\_%' THEN
        RAISE EXCEPTION 'late news has a reason code that begins with late_, not %', coalesce(quote_literal(reason_code), 'NULL')
            USING ERRCODE = '22023';
    END IF;
    SELECT o.status INTO current FROM {{.journal}}.agent_operations o
    WHERE o.idempotency_key = agent_operation_late_news.idempotency_key;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no operation %', coalesce(quote_literal(idempotency_key), 'NULL') USING ERRCODE = 'P0002';
    END IF;
    INSERT INTO {{.journal}}.agent_operation_events
        (idempotency_key, from_status, to_status, attempt_count, actor_kind, actor, reason_code, evidence)
    VALUES (idempotency_key, current, current, attempt_count, 'worker',
        concat_ws('/', {{.journal}}.agent_operation_caller(), nullif(current_setting('application_name'), '')), reason_code, evidence)
    RETURNING event_id INTO id;
    INSERT INTO {{.journal}}.agent_operation_changes (idempotency_key) VALUES (idempotency_key);
    RETURN id;
END
$late$;

CREATE TRIGGER agent_operations_stamp BEFORE INSERT ON {{.journal}}.agent_operations
    FOR EACH ROW WHEN (NEW.status = 'executing') EXECUTE FUNCTION {{.journal}}.agent_operations_stamp();
CREATE TRIGGER agent_operations_guard BEFORE UPDATE ON {{.journal}}.agent_operations
    FOR EACH ROW EXECUTE FUNCTION {{.journal}}.agent_operations_guard();
CREATE TRIGGER agent_operations_keep_open BEFORE DELETE ON {{.journal}}.agent_operations
    FOR EACH ROW WHEN (OLD.status NOT IN ('succeeded', 'failed_final')) EXECUTE FUNCTION {{.journal}}.agent_operations_keep_open();
CREATE TRIGGER agent_operations_record_insert AFTER INSERT ON {{.journal}}.agent_operations
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION {{.journal}}.agent_operations_record_insert();
CREATE TRIGGER agent_operations_record_update AFTER UPDATE ON {{.journal}}.agent_operations
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION {{.journal}}.agent_operations_record_update();
CREATE TRIGGER agent_operation_events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {{.journal}}.agent_operation_events
    FOR EACH STATEMENT EXECUTE FUNCTION {{.journal}}.agent_operation_events_append_only();
