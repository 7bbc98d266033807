-- Time about which the newest word can't be trusted: it is in quarantine, or a
-- person has released it from there, so that it shows what is, and never what
-- is not. Older statements prove no absence there.
CREATE OR REPLACE VIEW {{.reconciler}}.contested_time AS
SELECT st.source, a.account, st.statement_id, st.period
  FROM {{.reconciler}}.statements st
 CROSS JOIN unnest(st.accounts) AS a(account)
 WHERE st.superseded_by IS NULL AND st.period IS NOT NULL
   AND (st.state = 'quarantined' OR st.state = 'accepted' AND st.handled_by IS NOT NULL);

ALTER TABLE {{.reconciler}}.statements
    -- The file that vouches for it, kept in the archive; empty: none.
    ADD COLUMN manifest_sha256 text NOT NULL DEFAULT '',
    -- Complete but for the balance that it should begin with.
    ADD COLUMN whole boolean NOT NULL DEFAULT false,
    -- How its opening balance does not follow from the statement before it;
    -- empty where it does, or nothing is known.
    ADD COLUMN chain text NOT NULL DEFAULT '';
UPDATE {{.reconciler}}.statements SET whole = complete;
