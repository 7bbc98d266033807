-- Everything that was in an adopted journal has to be looked at once. What came
-- in after the triggers is in the queue already; twice does no harm.
INSERT INTO {{.journal}}.agent_operation_changes (idempotency_key)
SELECT idempotency_key FROM {{.journal}}.agent_operations;
