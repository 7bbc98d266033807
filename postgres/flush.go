package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"reconciler/sources"
)

// stored is what is known of a record that the database has already.
type stored struct {
	hash        int64
	key         string
	statementID int64
	reference   string
	amount      *int64
	currency    string
	status      sources.Status
	occurredAt  time.Time
	bookedAt    time.Time
	line        int
	asOf        time.Time
	conflicted  bool
	// repeats are the current statements that say the same or said it before
	// the record changed, this one included.
	repeats []repeat
}

// fate is what becomes of a row that is known already by its key.
type fate int

const (
	fateNew fate = iota
	fateRepeat
	fateMoved
	fateChanged
	fateOlder
	fateConflict
	// fateDisputed: changed against the superseded version, while another
	// current statement stands by the old words or contradicts them. Settled
	// at the end.
	fateDisputed
)

// flush sorts the rows in hand by their index key, compares them with what is
// known, and stores what is new.
func (l *loading) flush(ctx context.Context) error {
	if len(l.rows) == 0 {
		return nil
	}
	slices.SortFunc(l.rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.idHash, b.idHash), cmp.Compare(a.keyHash, b.keyHash), cmp.Compare(a.rec.Line, b.rec.Line))
	})
	if err := l.mergeEqualKeys(ctx); err != nil {
		return err
	}
	known, err := l.probe(ctx)
	if err != nil {
		return err
	}
	if err := l.findRepeats(ctx, known); err != nil {
		return err
	}
	piles := make(map[fate][]int)
	for i := range l.rows {
		f := fateNew
		if k, ok := known[i]; ok {
			if k.key != l.rows[i].key {
				return fmt.Errorf("store %s: records %q and %q have the same hash", l.doc.Name, k.key, l.rows[i].key)
			}
			f = l.fate(&l.rows[i], k)
		} else if l.newer != 0 {
			f = fateOlder
		}
		piles[f] = append(piles[f], i)
	}
	l.noteNear(piles, known)
	if err := l.store(ctx, piles, known); err != nil {
		return fmt.Errorf("store records of %s: %w", l.doc.Name, err)
	}
	l.batches++
	l.rows = l.rows[:0]
	return nil
}

// mergeEqualKeys leaves one row per key. Two rows of one document that speak
// of the same record with another status are two moments of it: the later
// stands, the earlier is kept beside it. With another reference, amount or
// currency they contradict each other, and the second is kept as a conflict.
func (l *loading) mergeEqualKeys(ctx context.Context) error {
	kept := l.rows[:0]
	var conflicts, earlier []row
	for _, r := range l.rows {
		n := len(kept)
		if n == 0 || kept[n-1].idHash != r.idHash || kept[n-1].keyHash != r.keyHash {
			kept = append(kept, r)
			continue
		}
		last := &kept[n-1]
		switch {
		case last.hash == r.hash:
			l.out.Repeated++
		case contradict(&last.rec, &r.rec):
			conflicts = append(conflicts, r)
		case later(&last.rec, &r.rec):
			earlier = append(earlier, *last)
			*last = r
			l.out.Repeated++
		default:
			earlier = append(earlier, r)
			l.out.Repeated++
		}
	}
	l.rows = kept
	if err := l.copyVersions(ctx, conflicts, "conflict"); err != nil {
		return err
	}
	return l.copyVersions(ctx, earlier, "older")
}

func contradict(a, b *sources.Record) bool {
	return a.BusinessReference != b.BusinessReference || a.Currency != b.Currency ||
		a.HasAmount != b.HasAmount || a.AmountMinor != b.AmountMinor
}

// rank orders statuses by how much of an operation's life they know.
func rank(s sources.Status) int {
	switch s {
	case sources.Pending:
		return 0
	case sources.Failed, sources.Succeeded:
		return 1
	case sources.Reversed:
		return 2
	}
	return 0
}

// later reports that b is the later word on the record: by the provider's
// time, then by how far its status is, then by its line.
func later(a, b *sources.Record) bool {
	return cmp.Or(a.OccurredAt.Compare(b.OccurredAt), cmp.Compare(rank(a.Status), rank(b.Status)), cmp.Compare(a.Line, b.Line)) < 0
}

// fate decides what becomes of a row whose key is known.
func (l *loading) fate(r *row, k stored) fate {
	prior := l.inPlaceOf(k.statementID)
	switch {
	case prior && l.disputed[r.recordHash()]:
		return fateDisputed
	case k.hash == r.hash && prior:
		return fateMoved
	case k.hash == r.hash:
		return fateRepeat
	case l.newer != 0:
		return fateOlder
	case prior && (k.conflicted || len(k.repeats) > 0):
		return fateDisputed
	case prior:
		return fateChanged
	}
	old := k.record()
	line, own := k.in(l.out.ID)
	old.Line = line
	switch {
	case contradict(&old, &r.rec):
		return fateConflict
	case own && !later(&old, &r.rec):
		return fateOlder
	case l.olderThan(k.newest()):
		return fateOlder
	}
	return fateChanged
}

// record is the stored version, as far as it is compared.
func (k *stored) record() sources.Record {
	out := sources.Record{
		BusinessReference: k.reference, Currency: k.currency, Status: k.status, OccurredAt: k.occurredAt, Line: k.line,
	}
	if k.amount != nil {
		out.HasAmount, out.AmountMinor = true, *k.amount
	}
	return out
}

// in reports whether the statement contains the stored version, and where.
func (k *stored) in(statement int64) (line int, ok bool) {
	if k.statementID == statement {
		return k.line, true
	}
	for _, r := range k.repeats {
		if r.statementID == statement && r.hash == k.hash {
			return r.line, true
		}
	}
	return 0, false
}

// newest is the newest statement that contains the stored version.
func (k *stored) newest() repeat {
	out := repeat{statementID: k.statementID, asOf: k.asOf}
	for _, r := range k.repeats {
		if r.hash == k.hash && cmp.Or(r.asOf.Compare(out.asOf), cmp.Compare(r.statementID, out.statementID)) > 0 {
			out = r
		}
	}
	return out
}

// olderThan reports that another statement speaks later than this one; of two
// that speak of the same moment the one that came later does.
func (l *loading) olderThan(other repeat) bool {
	return cmp.Or(other.asOf.Compare(l.asOf), cmp.Compare(other.statementID, l.out.ID)) > 0
}

// probe asks for all rows in hand at once what is known of them.
func (l *loading) probe(ctx context.Context) (map[int]stored, error) {
	ids, keys := make([]int64, len(l.rows)), make([]int64, len(l.rows))
	for i := range l.rows {
		ids[i], keys[i] = l.rows[i].idHash, l.rows[i].keyHash
	}
	rows, err := l.tx.Query(ctx, l.s.sql(`
		SELECT k.n, r.row_hash, r.record_key, r.statement_id, r.business_reference, r.amount_minor, r.currency,
		       r.status, r.occurred_at, r.booked_at, r.line, st.as_of, r.conflicted
		  FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS k(id_hash, key_hash, n)
		 CROSS JOIN LATERAL (
		       -- One look into the index for each row, whatever the planner
		       -- believes of a table that has just been filled.
		       SELECT * FROM {r}.records f WHERE f.id_hash = k.id_hash AND f.key_hash = k.key_hash LIMIT 1) r
		  JOIN {r}.statements st ON st.statement_id = r.statement_id`), ids, keys)
	if err != nil {
		return nil, fmt.Errorf("compare with known records: %w", err)
	}
	known := map[int]stored{}
	var (
		n                   int64
		k                   stored
		reference, currency *string
		occurred, booked    *time.Time
	)
	_, err = pgx.ForEachRow(rows, []any{
		&n, &k.hash, &k.key, &k.statementID, &reference, &k.amount, &currency, &k.status, &occurred, &booked, &k.line, &k.asOf, &k.conflicted,
	}, func() error {
		k.reference, k.currency, k.occurredAt, k.bookedAt = text(reference), text(currency), instant(occurred), instant(booked)
		if k.amount != nil {
			minor := *k.amount
			k.amount = &minor
		}
		known[int(n-1)] = k
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("compare with known records: %w", err)
	}
	return known, nil
}

// store puts every pile where it belongs.
func (l *loading) store(ctx context.Context, piles map[fate][]int, known map[int]stored) error {
	l.out.New += int64(len(piles[fateNew]))
	l.out.Changed += int64(len(piles[fateChanged]) + len(piles[fateDisputed]))
	l.out.Repeated += int64(len(piles[fateRepeat]) + len(piles[fateMoved]))
	if ids, keys := l.hashes(piles[fateChanged]); len(ids) > 0 {
		if err := l.moveAway(ctx, ids, keys, "changed"); err != nil {
			return err
		}
	}
	if err := l.rehome(ctx, piles[fateMoved]); err != nil {
		return err
	}
	fresh := slices.Concat(piles[fateNew], piles[fateChanged])
	slices.Sort(fresh)
	if err := l.copyRecords(ctx, fresh); err != nil {
		return err
	}
	if err := l.copyVersions(ctx, l.pick(slices.Concat(piles[fateOlder], piles[fateDisputed])), "older"); err != nil {
		return err
	}
	for _, i := range slices.Concat(piles[fateDisputed], piles[fateChanged]) {
		k := known[i]
		old := k.record()
		if contradict(&old, &l.rows[i].rec) || k.conflicted {
			l.disputed[l.rows[i].recordHash()] = true
		}
	}
	if err := l.copyVersions(ctx, l.pick(piles[fateConflict]), "conflict"); err != nil {
		return err
	}
	return l.putRepeats(ctx, piles[fateRepeat], known)
}

func (l *loading) pick(which []int) []row {
	out := make([]row, 0, len(which))
	for _, i := range which {
		out = append(out, l.rows[i])
	}
	return out
}

func (l *loading) hashes(which []int) (ids, keys []int64) {
	for _, i := range which {
		ids, keys = append(ids, l.rows[i].idHash), append(keys, l.rows[i].keyHash)
	}
	return ids, keys
}

// moveAway turns current records into replaced versions. The owners of those
// records, and what was decided on them, are looked at again.
func (l *loading) moveAway(ctx context.Context, ids, keys []int64, reason string) error {
	_, err := l.tx.Exec(ctx, l.s.sql(`
		WITH k AS (SELECT * FROM unnest($1::bigint[], $2::bigint[]) AS k(id_hash, key_hash)),
		gone AS (
			DELETE FROM {r}.records r USING k
			 WHERE r.id_hash = k.id_hash AND r.key_hash = k.key_hash RETURNING r.*),
		kept AS (
			INSERT INTO {r}.record_versions SELECT gone.*, $3, $4, $5 FROM gone),
		marked AS (
			UPDATE {r}.operation_decisions d SET evidence_replaced = true
			  FROM gone WHERE d.idempotency_key = gone.owner_key AND NOT d.evidence_replaced)
		INSERT INTO {j}.agent_operation_changes (idempotency_key)
		SELECT DISTINCT owner_key FROM gone WHERE owner_key IS NOT NULL`),
		ids, keys, l.out.ID, reason, l.doc.At)
	if err != nil {
		return fmt.Errorf("move replaced records away: %w", err)
	}
	return nil
}

// rehome makes this statement the home of records that it repeats from the
// version it supersedes.
func (l *loading) rehome(ctx context.Context, which []int) error {
	if len(which) == 0 {
		return nil
	}
	ids, keys := l.hashes(which)
	lines := make([]int, 0, len(which))
	for _, i := range which {
		lines = append(lines, l.rows[i].rec.Line)
	}
	_, err := l.tx.Exec(ctx, l.s.sql(`
		UPDATE {r}.records r SET statement_id = $4, line = k.line
		  FROM unnest($1::bigint[], $2::bigint[], $3::int[]) AS k(id_hash, key_hash, line)
		 WHERE r.id_hash = k.id_hash AND r.key_hash = k.key_hash`), ids, keys, lines, l.out.ID)
	if err != nil {
		return fmt.Errorf("take over repeated records: %w", err)
	}
	l.stored += int64(len(which))
	// Read under a new mapping, a record may bear our pattern now.
	rows := make([]*row, len(which))
	for i, n := range which {
		rows[i] = &l.rows[n]
	}
	return l.putUnjournaled(ctx, rows)
}

func (l *loading) putRepeats(ctx context.Context, which []int, known map[int]stored) error {
	which = slices.DeleteFunc(which, func(i int) bool { return known[i].statementID == l.out.ID })
	if len(which) == 0 {
		return nil
	}
	_, err := l.tx.Exec(ctx, l.s.sql(`INSERT INTO {r}.statement_repeats (statement_id, batch, record_hashes) VALUES ($1, $2, $3)`),
		l.out.ID, l.batches, packRepeats(l.rows, which))
	if err != nil {
		return fmt.Errorf("note repeated records: %w", err)
	}
	return nil
}
