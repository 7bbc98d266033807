-- What the providers said, what was concluded from it, and what a person has
-- to look at. No order or meaning is in sequence values; hashes come from the
-- client; instants come as parameters or from now().

CREATE TABLE {{.reconciler}}.sources (
    source          text PRIMARY KEY,
    provider        text NOT NULL,
    accounts        text[] NOT NULL,
    dated_by        text NOT NULL CHECK (dated_by IN ('occurred', 'booked')),
    settlement_lag  interval NOT NULL,
    retention       interval,
    -- Rises with every statement that is accepted, superseded, quarantined or
    -- released. Decisions are applied only under the generation they saw.
    generation      bigint NOT NULL DEFAULT 0
);

CREATE TABLE {{.reconciler}}.statements (
    statement_id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source          text NOT NULL REFERENCES {{.reconciler}}.sources,
    account         text NOT NULL,
    accounts        text[] NOT NULL,
    name            text NOT NULL,
    version         text NOT NULL DEFAULT '',
    sha256          text NOT NULL,
    size            bigint NOT NULL,
    format          text NOT NULL,
    mapping_digest  text NOT NULL,
    state           text NOT NULL CHECK (state IN ('accepted', 'quarantined', 'superseded')),
    complete        boolean NOT NULL,
    end_proof       text NOT NULL,
    period          tstzrange,
    as_of           timestamptz NOT NULL,
    as_of_stated    boolean NOT NULL DEFAULT false,
    -- Some of its records bear no date, or one that its period does not hold.
    strays          boolean NOT NULL DEFAULT true,
    row_count       bigint NOT NULL DEFAULT 0,
    record_count    bigint NOT NULL DEFAULT 0,
    reject_count    bigint NOT NULL DEFAULT 0,
    skipped_count   bigint NOT NULL DEFAULT 0,
    -- Rows that this statement put into records or record_versions; the others
    -- were known already. Recounted before an absence is believed.
    stored_count    bigint NOT NULL DEFAULT 0,
    declared        jsonb NOT NULL DEFAULT '{}',
    computed        jsonb NOT NULL DEFAULT '{}',
    reason          text NOT NULL DEFAULT '',
    -- The newer statement of this account and period, or the one that repaired
    -- a quarantined delivery.
    -- Itself where a person has discarded it.
    superseded_by   bigint REFERENCES {{.reconciler}}.statements,
    -- Who released or discarded it, and when.
    handled_by      text,
    handled_at      timestamptz,
    run_id          text,
    first_seen_at   timestamptz NOT NULL,
    accepted_at     timestamptz
);
CREATE INDEX statements_source ON {{.reconciler}}.statements (source, sha256);
CREATE INDEX statements_current ON {{.reconciler}}.statements (source, period) WHERE superseded_by IS NULL;

CREATE TABLE {{.reconciler}}.rejects (
    statement_id    bigint NOT NULL REFERENCES {{.reconciler}}.statements,
    line            integer NOT NULL,
    field           text NOT NULL,
    reason          text NOT NULL
);
CREATE INDEX rejects_statement ON {{.reconciler}}.rejects (statement_id, line);

-- The current versions. (id_hash, key_hash) is the hash of source and
-- record_key; the first half alone is the hash of provider and provider's id,
-- so that one index serves identity and the look-up by id.
CREATE TABLE {{.reconciler}}.records (
    id_hash               bigint NOT NULL,
    key_hash              bigint NOT NULL,
    reference_hash        bigint,
    row_hash              bigint NOT NULL,
    statement_id          bigint NOT NULL,
    amount_minor          bigint,
    fee_minor             bigint,
    occurred_at           timestamptz,
    occurred_to           timestamptz,
    booked_at             timestamptz,
    settled_at            timestamptz,
    line                  integer NOT NULL,
    conflicted            boolean NOT NULL DEFAULT false,
    source                text NOT NULL,
    record_key            text NOT NULL,
    account               text NOT NULL,
    provider_operation_id text,
    idempotency_key       text,
    business_reference    text,
    folded_references     text[],
    currency              text,
    direction             text,
    kind                  text,
    status                text NOT NULL,
    provider_status       text,
    batch_id              text,
    related_id            text,
    owner_key             text,
    CONSTRAINT records_identity PRIMARY KEY (id_hash, key_hash)
);
CREATE INDEX records_reference ON {{.reconciler}}.records (reference_hash) WHERE reference_hash IS NOT NULL;
CREATE INDEX records_conflicted ON {{.reconciler}}.records (source) WHERE conflicted;
CREATE INDEX records_by_load ON {{.reconciler}}.records USING brin (statement_id, occurred_at) WITH (pages_per_range = 16, autosummarize = on);

-- Versions that no current statement contains any more, and versions that
-- contradict the current one (conflict).
CREATE TABLE {{.reconciler}}.record_versions (
    LIKE {{.reconciler}}.records INCLUDING DEFAULTS,
    replaced_by     bigint,
    replaced_reason text NOT NULL CHECK (replaced_reason IN ('changed', 'gone', 'older', 'conflict')),
    replaced_at     timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX record_versions_identity ON {{.reconciler}}.record_versions (id_hash, key_hash);
CREATE INDEX record_versions_reference ON {{.reconciler}}.record_versions (reference_hash) WHERE reference_hash IS NOT NULL;
CREATE INDEX record_versions_statement ON {{.reconciler}}.record_versions (statement_id);

-- The further names by which a record may be looked for: the echoed
-- idempotency key and the folded references. The hash says which.
CREATE TABLE {{.reconciler}}.record_lookups (
    hash            bigint NOT NULL,
    id_hash         bigint NOT NULL,
    key_hash        bigint NOT NULL,
    PRIMARY KEY (hash, id_hash, key_hash)
);

-- The records that a statement repeats from others, with the version that it
-- repeats, 28 bytes each: needed only when one of those others is superseded.
CREATE TABLE {{.reconciler}}.statement_repeats (
    statement_id    bigint NOT NULL REFERENCES {{.reconciler}}.statements,
    batch           integer NOT NULL,
    record_hashes   bytea NOT NULL,
    PRIMARY KEY (statement_id, batch)
);

-- Folded forms of the references of operations, for sources that declare a
-- folding; computed by the client whenever an operation is examined or loaded.
CREATE TABLE {{.reconciler}}.operation_lookups (
    hash            bigint NOT NULL,
    idempotency_key text NOT NULL,
    PRIMARY KEY (hash, idempotency_key)
);

-- Records that bear our reference pattern and had no operation when they came.
CREATE TABLE {{.reconciler}}.unjournaled_candidates (
    id_hash         bigint NOT NULL,
    key_hash        bigint NOT NULL,
    source          text NOT NULL,
    first_seen_at   timestamptz NOT NULL,
    PRIMARY KEY (id_hash, key_hash)
);

-- What was last concluded about each operation.
CREATE TABLE {{.reconciler}}.operation_decisions (
    idempotency_key   text PRIMARY KEY,
    status            text NOT NULL,
    attempt_count     bigint NOT NULL,
    reason_code       text NOT NULL,
    outcome           text NOT NULL,
    may_retry         boolean NOT NULL,
    not_before        timestamptz,
    not_after         timestamptz,
    provable_at       timestamptz,
    settled           boolean NOT NULL,
    evidence          jsonb NOT NULL,
    -- Of everything above, so that an unchanged conclusion is not written again.
    digest            text NOT NULL,
    -- The last transition that the reconciler made on this operation.
    moved_reason      text,
    moved_from        text,
    moved_to          text,
    moved_at          timestamptz,
    -- updated_at as our own move left it, and as the worker had left it before.
    moved_updated_at  timestamptz,
    worker_updated_at timestamptz,
    -- Statements and records under the transition were replaced since.
    evidence_replaced boolean NOT NULL DEFAULT false,
    reviewed          boolean NOT NULL DEFAULT false,
    decided_at        timestamptz NOT NULL,
    run_id            text NOT NULL
);

-- Which statements an absence rests on.
CREATE TABLE {{.reconciler}}.absence_proofs (
    statement_id    bigint NOT NULL REFERENCES {{.reconciler}}.statements,
    idempotency_key text NOT NULL,
    PRIMARY KEY (statement_id, idempotency_key)
);

CREATE TABLE {{.reconciler}}.exceptions (
    exception_id    text PRIMARY KEY,
    kind            text NOT NULL,
    severity        text NOT NULL CHECK (severity IN ('critical', 'high', 'medium', 'low')),
    state           text NOT NULL CHECK (state IN ('open', 'acknowledged', 'resolved', 'auto_resolved')),
    source          text,
    idempotency_key text,
    record_key      text,
    subject         text NOT NULL,
    action_type     text,
    amount_minor    bigint,
    currency        text,
    assignee        text,
    note            text NOT NULL,
    first_seen_at   timestamptz NOT NULL,
    last_seen_at    timestamptz NOT NULL,
    first_run_id    text NOT NULL,
    last_run_id     text NOT NULL,
    evidence        jsonb NOT NULL,
    evidence_digest text NOT NULL
);
CREATE INDEX exceptions_open ON {{.reconciler}}.exceptions (idempotency_key) WHERE state IN ('open', 'acknowledged');
CREATE INDEX exceptions_open_source ON {{.reconciler}}.exceptions (source) WHERE state IN ('open', 'acknowledged') AND idempotency_key IS NULL;

CREATE TABLE {{.reconciler}}.exception_events (
    event_id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    exception_id    text NOT NULL REFERENCES {{.reconciler}}.exceptions,
    event           text NOT NULL CHECK (event IN ('opened', 'changed', 'acknowledged', 'reopened', 'resolved', 'auto_resolved', 'assigned', 'commented')),
    actor           text NOT NULL,
    run_id          text,
    comment         text,
    evidence        jsonb,
    at              timestamptz NOT NULL
);
CREATE INDEX exception_events_exception ON {{.reconciler}}.exception_events (exception_id, event_id);

CREATE TABLE {{.reconciler}}.runs (
    run_id          text PRIMARY KEY,
    job             text NOT NULL,
    scope           jsonb NOT NULL,
    started_at      timestamptz NOT NULL,
    finished_at     timestamptz,
    verdict         text,
    version         text NOT NULL,
    config_digest   text NOT NULL,
    summary         jsonb
);
CREATE INDEX runs_job ON {{.reconciler}}.runs (job, started_at);

-- One row per running job: works behind a transaction-pooling proxy, where a
-- session lock does not.
CREATE TABLE {{.reconciler}}.job_locks (
    job             text PRIMARY KEY,
    holder          text NOT NULL,
    token           text NOT NULL,
    acquired_at     timestamptz NOT NULL,
    expires_at      timestamptz NOT NULL
);

-- Covered time of each complete accepted statement: by occurrence nothing
-- after as_of less the lag, by booking nothing after as_of, and nothing that
-- the provider had forgotten by then.
CREATE VIEW {{.reconciler}}.statement_coverage AS
SELECT st.statement_id, st.source, a.account, st.end_proof <> 'assumed' AS proven,
       st.period * tstzrange(
           CASE WHEN src.retention IS NULL THEN NULL ELSE st.as_of - src.retention END,
           CASE WHEN src.dated_by = 'occurred' THEN st.as_of - src.settlement_lag ELSE st.as_of END) AS covered,
       st.period
  FROM {{.reconciler}}.statements st
  JOIN {{.reconciler}}.sources src USING (source)
 CROSS JOIN unnest(st.accounts) AS a(account)
 WHERE st.state = 'accepted' AND st.complete AND st.period IS NOT NULL
   -- An empty range where as_of lies before the period would be an error.
   AND CASE WHEN src.retention IS NULL THEN true
            ELSE st.as_of - src.retention < CASE WHEN src.dated_by = 'occurred' THEN st.as_of - src.settlement_lag ELSE st.as_of END END;

-- Time about which the newest word is in quarantine: older statements prove
-- no absence there.
CREATE VIEW {{.reconciler}}.contested_time AS
SELECT st.source, a.account, st.statement_id, st.period
  FROM {{.reconciler}}.statements st
 CROSS JOIN unnest(st.accounts) AS a(account)
 WHERE st.state = 'quarantined' AND st.superseded_by IS NULL AND st.period IS NOT NULL;

CREATE VIEW {{.reconciler}}.coverage AS
SELECT c.source, c.account,
       range_agg(c.covered) - coalesce(
           (SELECT range_agg(q.period) FROM {{.reconciler}}.contested_time q
             WHERE q.source = c.source AND q.account = c.account), '{}'::tstzmultirange) AS covered
  FROM {{.reconciler}}.statement_coverage c
 WHERE NOT isempty(c.covered)
 GROUP BY c.source, c.account;

-- For agents that ask before they act. A conclusion holds only for the status
-- and attempt that it was drawn on.
CREATE VIEW {{.reconciler}}.operation_status AS
SELECT o.idempotency_key, o.status,
       CASE WHEN d.idempotency_key IS NOT NULL THEN d.outcome
            WHEN o.status = 'succeeded' THEN 'effect'
            WHEN o.status = 'planned' THEN 'not_tried'
            ELSE 'uncertain' END AS outcome,
       -- A permit whose evidence was replaced is about to be withdrawn; one that
       -- only had to wait is good once its time has come.
       CASE WHEN o.status = 'planned' THEN coalesce(d.may_retry, true)
            WHEN o.status = 'failed_retryable' THEN coalesce((d.may_retry OR d.reason_code = 'waiting') AND NOT d.evidence_replaced, true)
                 AND now() BETWEEN coalesce(o.retry_not_before, '-infinity') AND coalesce(o.retry_not_after, 'infinity')
            ELSE false END AS may_retry,
       o.retry_not_before AS not_before,
       o.retry_not_after AS not_after,
       coalesce(d.reason_code, 'not_examined') AS reason_code,
       d.provable_at
  FROM {{.journal}}.agent_operations o
  LEFT JOIN {{.reconciler}}.operation_decisions d
    ON d.idempotency_key = o.idempotency_key AND d.status = o.status AND d.attempt_count = coalesce(o.attempt_count, 0);
CREATE INDEX record_versions_conflict ON {{.reconciler}}.record_versions (source) WHERE replaced_reason = 'conflict';
CREATE INDEX operation_decisions_open ON {{.reconciler}}.operation_decisions (provable_at) WHERE NOT settled;
CREATE INDEX statements_incomplete ON {{.reconciler}}.statements (source) WHERE superseded_by IS NULL AND NOT complete;
ALTER TABLE {{.reconciler}}.sources ADD COLUMN fold_digest text NOT NULL DEFAULT '';
