package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"reconciler/sources"
)

// A statement is stopped for review when at least nearLeast of its new records
// without an id, and at least one in nearShare, equal known ones but for their
// reference.
const (
	nearLeast = 5
	nearShare = 2
)

// nearness counts, for a statement that overlaps others, records without an id
// that agree in day, account, amount, currency and direction. Where a provider
// changes its texts, every old row of the overlap looks new.
type nearness struct {
	// others are the current statements whose period meets this one's, and that
	// were read under the same mapping: another one may rightly read other
	// references out of the same texts.
	others []int64
	groups map[int64]*nearGroup
	fresh  int64
}

// nearGroup is what is alike but for the reference: the new records, the first
// line of theirs, and the known ones that the statement repeats or changes.
type nearGroup struct{ fresh, line, repeated, known int64 }

// findOthers looks whether there is anything to be near to.
func (l *loading) findOthers(ctx context.Context) error {
	lo, hi := bounds(l.doc.Period)
	if lo == nil || l.newer != 0 {
		return nil
	}
	rows, err := l.tx.Query(ctx, l.s.sql(`
		SELECT statement_id FROM {r}.statements
		 WHERE source = $1 AND period && tstzrange($2, $3) AND state = 'accepted' AND superseded_by IS NULL
		   AND mapping_digest = $4 AND statement_id <> $5`), l.doc.Source, lo, hi, l.doc.MappingDigest, l.out.ID)
	if err != nil {
		return fmt.Errorf("look for statements that overlap %s: %w", l.doc.Name, err)
	}
	others, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return fmt.Errorf("look for statements that overlap %s: %w", l.doc.Name, err)
	}
	n := nearness{groups: map[int64]*nearGroup{}}
	for _, id := range others {
		if !l.inPlaceOf(id) {
			n.others = append(n.others, id)
		}
	}
	if len(n.others) > 0 {
		l.near = &n
	}
	return nil
}

// noteNear counts the rows in hand.
func (l *loading) noteNear(piles map[fate][]int, known map[int]stored) {
	if l.near == nil {
		return
	}
	for f, which := range piles {
		for _, i := range which {
			rec := &l.rows[i].rec
			at := dayOf(rec)
			if rec.ProviderOperationID != "" || !rec.HasAmount || at.IsZero() {
				continue
			}
			g := l.near.group(l.nearHash(rec.Account, rec.Currency, string(rec.Direction), rec.AmountMinor, at))
			if f != fateNew {
				if !l.inPlaceOf(known[i].statementID) {
					g.repeated++
				}
				continue
			}
			l.near.fresh++
			g.fresh++
			if line := int64(rec.Line); g.line == 0 || line < g.line {
				g.line = line
			}
		}
	}
}

func (n *nearness) group(hash int64) *nearGroup {
	g := n.groups[hash]
	if g == nil {
		g = &nearGroup{}
		n.groups[hash] = g
	}
	return g
}

func dayOf(rec *sources.Record) time.Time {
	switch {
	case !rec.OccurredAt.IsZero():
		return rec.OccurredAt
	case !rec.BookedAt.IsZero():
		return rec.BookedAt
	}
	return rec.SettledAt
}

func (l *loading) nearHash(account, currency, direction string, minor int64, at time.Time) int64 {
	return l.h.sum(hashNear, account, currency, direction, fmt.Sprint(minor, at.UnixMicro()))
}

// checkNear refuses the statement where a high share of its new records is
// known under other references. Known records count that are dated in its
// period and that it does not repeat: it should have had them.
func (l *loading) checkNear(ctx context.Context) error {
	if l.near == nil || l.near.fresh < nearLeast {
		return nil
	}
	rows, err := l.tx.Query(ctx, l.s.sql(`
		SELECT account, coalesce(currency, ''), coalesce(direction, ''), amount_minor, coalesce(occurred_at, booked_at, settled_at)
		  FROM {r}.records
		 WHERE statement_id = ANY($1) AND source = $2 AND provider_operation_id IS NULL AND amount_minor IS NOT NULL
		   AND coalesce(CASE WHEN $5 THEN booked_at END, occurred_at, booked_at, settled_at) >= $3
		   AND coalesce(CASE WHEN $5 THEN booked_at END, occurred_at, booked_at, settled_at) < $4`),
		l.near.others, l.doc.Source, l.doc.Period.From, l.doc.Period.To, l.doc.DatedBy == sources.ByBooking)
	if err != nil {
		return fmt.Errorf("look for records like those of %s: %w", l.doc.Name, err)
	}
	var acc, currency, direction string
	var minor int64
	var at time.Time
	if _, err := pgx.ForEachRow(rows, []any{&acc, &currency, &direction, &minor, &at}, func() error {
		if g := l.near.groups[l.nearHash(acc, currency, direction, minor, at)]; g != nil {
			g.known++
		}
		return nil
	}); err != nil {
		return fmt.Errorf("look for records like those of %s: %w", l.doc.Name, err)
	}
	var near, line int64
	for _, g := range l.near.groups {
		alike := min(g.fresh, g.known-g.repeated)
		if alike <= 0 {
			continue
		}
		near += alike
		if line == 0 || g.line < line {
			line = g.line
		}
	}
	if near < nearLeast || near*nearShare < l.near.fresh {
		return nil
	}
	return &sources.Refusal{
		Line:   int(line),
		Reason: fmt.Sprintf("%d of %d new records equal known ones except their reference; has the provider changed its texts?", near, l.near.fresh),
		Remedy: "mend the mapping, so that the old and the new text give one reference; or, if these are other effects, release it",
	}
}
