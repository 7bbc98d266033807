package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"reconciler/money"
	"reconciler/sources"
)

// link is one statement that states balances, and the statement before it.
type link struct {
	id       int64
	period   sources.Period
	reason   string
	chain    string
	complete bool
	whole    bool
	opening  int64
	currency string
	before   *int64
	name     *string
	closing  *int64
}

// rechain compares the balances of this statement, and of those that follow it
// or what it replaces, with the ones before them: closing = next opening. One
// that does not follow is not complete, until what is wrong has been mended.
func (l *loading) rechain(ctx context.Context) error {
	if l.newer != 0 {
		return nil
	}
	periods := []sources.Period{l.doc.Period}
	for _, old := range l.replaces {
		periods = append(periods, old.period)
	}
	var ends []pgtype.Timestamptz
	for _, p := range periods {
		if !p.IsZero() {
			ends = append(ends, pgtype.Timestamptz{Time: p.To, Valid: true})
		}
	}
	links, err := l.links(ctx, ends)
	if err != nil {
		return err
	}
	for i := range links {
		if err := l.weld(ctx, &links[i]); err != nil {
			return err
		}
	}
	return nil
}

// links reads this statement and those that begin at one of the ends, as far
// as they state with what balance they begin.
func (l *loading) links(ctx context.Context, ends []pgtype.Timestamptz) ([]link, error) {
	rows, err := l.tx.Query(ctx, l.s.sql(`
		WITH current AS (
			SELECT *, coalesce(declared->>'opening_minor', computed->>'opening_minor')::bigint AS opening,
			       coalesce(declared->>'closing_minor', computed->>'closing_minor')::bigint AS closing,
			       coalesce(declared->>'currency', computed->>'currency', '') AS currency
			  FROM {r}.statements
			 WHERE source = $1 AND account = $2 AND state = 'accepted' AND superseded_by IS NULL AND handled_by IS NULL AND period IS NOT NULL)
		SELECT st.statement_id, st.period, st.reason, st.chain, st.complete, st.whole, st.opening, coalesce(nullif(st.currency, ''), b.currency, ''),
		       b.statement_id, b.name, b.closing
		  FROM current st
		  LEFT JOIN LATERAL (
		       SELECT * FROM current p
		        WHERE upper(p.period) = lower(st.period) AND p.closing IS NOT NULL AND (p.currency = st.currency OR p.currency = '' OR st.currency = '')
		        ORDER BY p.closing = st.opening DESC, p.as_of DESC, p.statement_id DESC LIMIT 1) b ON true
		 WHERE st.opening IS NOT NULL AND (st.statement_id = $3 OR lower(st.period) = ANY($4))
		 ORDER BY lower(st.period), st.statement_id`), l.doc.Source, account(l.doc.Accounts), l.out.ID, ends)
	if err != nil {
		return nil, fmt.Errorf("read the chain of balances: %w", err)
	}
	links, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (link, error) {
		var k link
		var period pgtype.Range[pgtype.Timestamptz]
		err := row.Scan(&k.id, &period, &k.reason, &k.chain, &k.complete, &k.whole, &k.opening, &k.currency, &k.before, &k.name, &k.closing)
		k.period = periodOf(period)
		return k, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the chain of balances: %w", err)
	}
	return links, nil
}

// weld notes whether a statement follows from the one before it.
func (l *loading) weld(ctx context.Context, k *link) error {
	chain := ""
	if k.closing != nil && *k.closing != k.opening {
		chain = fmt.Sprintf("it begins with a balance of %s, but statement %d before it (%s) closed with %s: one of them is wrong, or something between them is missing",
			balance(k.opening, k.currency), *k.before, *k.name, balance(*k.closing, k.currency))
	}
	if chain == k.chain {
		return nil
	}
	reason := strings.TrimSuffix(strings.TrimSuffix(k.reason, k.chain), "; ")
	if reason != "" && chain != "" {
		reason += "; "
	}
	reason += chain
	complete := k.whole && chain == ""
	if _, err := l.tx.Exec(ctx, l.s.sql(`UPDATE {r}.statements SET chain = $2, reason = $3, complete = $4 WHERE statement_id = $1`),
		k.id, chain, reason, complete); err != nil {
		return fmt.Errorf("note the chain of balances of statement %d: %w", k.id, err)
	}
	if k.id == l.out.ID {
		l.out.Complete, l.out.Reason = complete, reason
		return nil
	}
	if complete == k.complete {
		return nil
	}
	return l.s.requeueAbsences(ctx, l.tx, l.doc.Source, k.period)
}

func balance(minor int64, currency string) string {
	return strings.TrimSpace(money.FormatMinor(minor, currency) + " " + currency)
}
