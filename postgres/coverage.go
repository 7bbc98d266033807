package postgres

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"reconciler/matcher"
	"reconciler/sources"
)

// coverageCache keeps the covered time as of one set of generations, for it
// is asked for with every batch and changes only with a statement.
type coverageCache struct {
	generations map[string]int64
	coverage    []matcher.SourceCoverage
	statements  []coveringStatement
}

// coveringStatement is one statement's part in the coverage.
type coveringStatement struct {
	id              int64
	source, account string
	covered         sources.Period
}

// covered reads the covered time of the given sources, less the time about
// which the newest word is in quarantine.
func (s *Store) covered(ctx context.Context, db Querier, generations map[string]int64) (*coverageCache, error) {
	s.mu.Lock()
	cached := s.coverage
	s.mu.Unlock()
	if cached != nil && maps.Equal(cached.generations, generations) {
		return cached, nil
	}
	names := make([]string, 0, len(generations))
	for name := range generations {
		names = append(names, name)
	}
	c := &coverageCache{generations: maps.Clone(generations)}
	type slot struct{ source, account string }
	proven, all, contested, spoken := map[slot][]sources.Period{}, map[slot][]sources.Period{}, map[slot][]sources.Period{}, map[slot][]sources.Period{}
	rows, err := db.Query(ctx, s.sql(`
		SELECT statement_id, source, account, proven, covered, period FROM {r}.statement_coverage
		 WHERE source = ANY($1) AND NOT isempty(covered) ORDER BY source, account, statement_id`), names)
	if err != nil {
		return nil, fmt.Errorf("read coverage: %w", err)
	}
	var (
		st            coveringStatement
		sure          bool
		period, whole pgtype.Range[pgtype.Timestamptz]
	)
	if _, err := pgx.ForEachRow(rows, []any{&st.id, &st.source, &st.account, &sure, &period, &whole}, func() error {
		st.covered = periodOf(period)
		k := slot{st.source, st.account}
		spoken[k] = append(spoken[k], periodOf(whole))
		all[k] = append(all[k], st.covered)
		if sure {
			proven[k] = append(proven[k], st.covered)
		}
		c.statements = append(c.statements, st)
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read coverage: %w", err)
	}
	rows, err = db.Query(ctx, s.sql(`SELECT source, account, period FROM {r}.contested_time WHERE source = ANY($1)`), names)
	if err != nil {
		return nil, fmt.Errorf("read quarantined time: %w", err)
	}
	var k slot
	if _, err := pgx.ForEachRow(rows, []any{&k.source, &k.account, &period}, func() error {
		contested[k] = append(contested[k], periodOf(period))
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read quarantined time: %w", err)
	}
	for k := range all {
		off := sources.NewRanges(contested[k]...)
		c.coverage = append(c.coverage, matcher.SourceCoverage{
			Source: k.source, Account: k.account, Proven: without(proven[k], off), All: without(all[k], off),
			Spoken: sources.NewRanges(spoken[k]...),
		})
	}
	s.mu.Lock()
	s.coverage = c
	s.mu.Unlock()
	return c, nil
}

// without is the union of periods less the ranges of off.
func without(periods []sources.Period, off sources.Ranges) sources.Ranges {
	var left []sources.Period
	for _, p := range periods {
		left = append(left, off.Missing(p)...)
	}
	return sources.NewRanges(left...)
}

// periodOf reads a range of the database. An open end becomes the last or
// first instant that Go and PostgreSQL share.
func periodOf(r pgtype.Range[pgtype.Timestamptz]) sources.Period {
	var p sources.Period
	if r.LowerType == pgtype.Inclusive || r.LowerType == pgtype.Exclusive {
		p.From = r.Lower.Time.UTC()
	}
	p.To = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	if r.UpperType == pgtype.Inclusive || r.UpperType == pgtype.Exclusive {
		p.To = r.Upper.Time.UTC()
	}
	return p
}
