package postgres

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"reconciler/sources"
)

// retire ends the statements in whose place this one comes: what only they
// contained is gone, what another current statement says instead is current
// again, and what rested on it is decided again.
func (l *loading) retire(ctx context.Context) error {
	if len(l.replaces) == 0 {
		return nil
	}
	ids := make([]int64, len(l.replaces))
	for i, old := range l.replaces {
		ids[i] = old.id
	}
	if _, err := l.tx.Exec(ctx, l.s.sql(`
		UPDATE {r}.statements SET state = 'superseded', superseded_by = $2 WHERE statement_id = ANY($1)`), ids, l.out.ID); err != nil {
		return fmt.Errorf("supersede statements %d: %w", ids, err)
	}
	rows, err := l.tx.Query(ctx, l.s.sql(`
		SELECT id_hash, key_hash, row_hash, status, occurred_at, booked_at FROM {r}.records WHERE statement_id = ANY($1)`), ids)
	if err != nil {
		return fmt.Errorf("compare with the superseded version: %w", err)
	}
	left := leftBehind{version: map[recordHash]int64{}, moments: map[recordHash]map[int64]sources.Record{}, homes: map[recordHash]voice{}}
	left.dates.take(l.doc.Period.From, l.doc.Period.To)
	var h recordHash
	var version int64
	var status sources.Status
	var occurred, booked *time.Time
	if _, err := pgx.ForEachRow(rows, []any{&h.id, &h.key, &version, &status, &occurred, &booked}, func() error {
		left.version[h] = version
		left.take(h, version, sources.Record{Status: status, OccurredAt: instant(occurred), BookedAt: instant(booked)})
		return nil
	}); err != nil {
		return fmt.Errorf("compare with the superseded version: %w", err)
	}
	for _, old := range l.replaces {
		left.dates.take(old.period.From, old.period.To)
	}
	if err := l.outweighed(ctx, ids, &left); err != nil {
		return err
	}
	if err := l.resettle(ctx, left); err != nil {
		return err
	}
	for _, old := range l.replaces {
		if err := l.s.requeueAbsences(ctx, l.tx, l.doc.Source, old.period); err != nil {
			return err
		}
	}
	return nil
}

// outweighed adds the records that the superseded versions only repeated, and
// so may have kept as they are against what another statement says.
func (l *loading) outweighed(ctx context.Context, ids []int64, left *leftBehind) error {
	rows, err := l.tx.Query(ctx, l.s.sql(`SELECT record_hashes FROM {r}.statement_repeats WHERE statement_id = ANY($1)`), ids)
	if err != nil {
		return fmt.Errorf("read what the superseded version repeated: %w", err)
	}
	var repeated []recordHash
	var packed []byte
	if _, err := pgx.ForEachRow(rows, []any{&packed}, func() error {
		for ; len(packed) >= repeatSize; packed = packed[repeatSize:] {
			h, _, _ := unpackRepeat(packed)
			repeated = append(repeated, h)
		}
		return nil
	}); err != nil || len(repeated) == 0 {
		return err
	}
	idHashes, keyHashes := splitHashes(repeated)
	rows, err = l.tx.Query(ctx, l.s.sql(`
		SELECT r.id_hash, r.key_hash, r.row_hash, r.status, r.occurred_at, r.booked_at, r.line, r.statement_id, st.as_of
		  FROM unnest($1::bigint[], $2::bigint[]) AS k(id_hash, key_hash)
		  JOIN {r}.records r USING (id_hash, key_hash)
		  JOIN {r}.statements st ON st.statement_id = r.statement_id
		 WHERE r.statement_id <> ALL($3) AND r.statement_id <> $4 AND EXISTS (
		       SELECT 1 FROM {r}.record_versions v WHERE v.id_hash = k.id_hash AND v.key_hash = k.key_hash AND v.replaced_reason = 'older')`),
		idHashes, keyHashes, ids, l.out.ID)
	if err != nil {
		return fmt.Errorf("compare with what the superseded version repeated: %w", err)
	}
	var (
		h                recordHash
		home             = voice{stored: true}
		status           sources.Status
		occurred, booked *time.Time
	)
	if _, err := pgx.ForEachRow(rows, []any{
		&h.id, &h.key, &home.hash, &status, &occurred, &booked, &home.line, &home.statementID, &home.asOf,
	}, func() error {
		left.version[h], left.homes[h] = home.hash, home
		left.take(h, home.hash, sources.Record{Status: status, OccurredAt: instant(occurred), BookedAt: instant(booked)})
		return nil
	}); err != nil {
		return fmt.Errorf("compare with what the superseded version repeated: %w", err)
	}
	return nil
}

// leftBehind are the records whose home has been superseded.
type leftBehind struct {
	// version that has been current so far; in the end that which is.
	version map[recordHash]int64
	// moments of all versions, by the hash of the version: what the order of
	// two lines of one file depends on.
	moments map[recordHash]map[int64]sources.Record
	// homes of those whose home has not been superseded after all.
	homes map[recordHash]voice
	dates hull
}

func (b *leftBehind) take(h recordHash, version int64, moment sources.Record) {
	if b.moments[h] == nil {
		b.moments[h] = map[int64]sources.Record{}
	}
	b.moments[h][version] = moment
	b.dates.take(moment.OccurredAt, moment.BookedAt)
}

// voice is one current statement's word on a record.
type voice struct {
	repeat
	// stored: a row of record_versions under this very statement holds it.
	stored bool
}

// resettle finds, for records whose statement has been superseded, the version
// that the newest of the other current statements says.
func (l *loading) resettle(ctx context.Context, left leftBehind) error {
	if len(left.version) == 0 {
		return nil
	}
	voices, err := l.voices(ctx, &left)
	if err != nil {
		return err
	}
	wanted := make(map[recordHash]bool, len(left.version))
	for h := range left.version {
		wanted[h] = true
	}
	repeats, err := l.repeatsOf(ctx, wanted, left.dates, true)
	if err != nil {
		return err
	}
	for h, list := range repeats {
		for _, r := range list {
			voices[h] = append(voices[h], voice{repeat: r})
		}
	}
	for h, home := range left.homes {
		voices[h] = append(voices[h], home)
	}
	var gone []recordHash
	handOver := map[int64][]recordHash{}
	for h, version := range left.version {
		if len(voices[h]) == 0 {
			gone = append(gone, h)
			continue
		}
		best := slices.MaxFunc(voices[h], left.compare(h))
		keeper := best
		if best.hash != version {
			l.revived = append(l.revived, h)
			keeper = voice{}
			// Another statement may still stand by the words that go.
			if i := slices.IndexFunc(voices[h], func(v voice) bool { return v.hash == version }); i >= 0 {
				keeper = voices[h][i]
			}
		}
		if _, settled := left.homes[h]; keeper.statementID != 0 && !settled {
			handOver[keeper.statementID] = append(handOver[keeper.statementID], h)
		}
		left.version[h] = best.hash
	}
	for home, records := range handOver {
		if err := l.rehomeAll(ctx, home, records); err != nil {
			return err
		}
	}
	l.out.Gone = int64(len(gone))
	if err := l.leave(ctx, gone, "gone"); err != nil {
		return err
	}
	if err := l.leave(ctx, l.revived, "changed"); err != nil {
		return err
	}
	if err := l.revive(ctx, left.version, voices); err != nil {
		return err
	}
	return l.keepWords(ctx, left.version, voices)
}

// compare orders the words on one record: the newer statement's are the
// greater, and of two lines of one statement the later's.
func (b *leftBehind) compare(h recordHash) func(x, y voice) int {
	return func(x, y voice) int {
		order := cmp.Or(x.asOf.Compare(y.asOf), cmp.Compare(x.statementID, y.statementID))
		if order != 0 || x.hash == y.hash {
			return order
		}
		first, second := b.moments[h][x.hash], b.moments[h][y.hash]
		first.Line, second.Line = x.line, y.line
		if later(&first, &second) {
			return -1
		}
		return 1
	}
}

// voices are the versions that current statements have in record_versions.
func (l *loading) voices(ctx context.Context, left *leftBehind) (map[recordHash][]voice, error) {
	hashes := make([]recordHash, 0, len(left.version))
	for h := range left.version {
		hashes = append(hashes, h)
	}
	ids, keys := splitHashes(hashes)
	rows, err := l.tx.Query(ctx, l.s.sql(`
		SELECT v.id_hash, v.key_hash, v.row_hash, v.statement_id, st.as_of, v.status, v.occurred_at, v.booked_at, v.line,
		       st.state = 'accepted' AND st.superseded_by IS NULL
		  FROM unnest($1::bigint[], $2::bigint[]) AS k(id_hash, key_hash)
		  JOIN {r}.record_versions v USING (id_hash, key_hash)
		  JOIN {r}.statements st ON st.statement_id = v.statement_id`), ids, keys)
	if err != nil {
		return nil, fmt.Errorf("look for other versions of records: %w", err)
	}
	out := map[recordHash][]voice{}
	var (
		h                recordHash
		v                = voice{stored: true}
		status           sources.Status
		occurred, booked *time.Time
		current          bool
	)
	if _, err := pgx.ForEachRow(rows, []any{
		&h.id, &h.key, &v.hash, &v.statementID, &v.asOf, &status, &occurred, &booked, &v.line, &current,
	}, func() error {
		left.take(h, v.hash, sources.Record{Status: status, OccurredAt: instant(occurred), BookedAt: instant(booked)})
		if current {
			out[h] = append(out[h], v)
		}
		return nil
	}); err != nil {
		return nil, fmt.Errorf("look for other versions of records: %w", err)
	}
	return out, nil
}

// rehomeAll makes a current statement the home of records that it contains.
func (l *loading) rehomeAll(ctx context.Context, home int64, records []recordHash) error {
	ids, keys := splitHashes(records)
	if _, err := l.tx.Exec(ctx, l.s.sql(`
		WITH moved AS (
			UPDATE {r}.records r SET statement_id = $3
			  FROM unnest($1::bigint[], $2::bigint[]) AS k(id_hash, key_hash)
			 WHERE r.id_hash = k.id_hash AND r.key_hash = k.key_hash RETURNING 1)
		UPDATE {r}.statements SET stored_count = stored_count + (SELECT count(*) FROM moved) WHERE statement_id = $3`),
		ids, keys, home); err != nil {
		return fmt.Errorf("hand repeated records over: %w", err)
	}
	if home == l.out.ID {
		l.stored += int64(len(records))
	}
	return nil
}

func (l *loading) leave(ctx context.Context, records []recordHash, reason string) error {
	if len(records) == 0 {
		return nil
	}
	ids, keys := splitHashes(records)
	return l.moveAway(ctx, ids, keys, reason)
}

// revive makes a version of each revived record current again that a current
// statement says. The version may be stored under a superseded statement that
// the current one only repeats: then it is copied.
func (l *loading) revive(ctx context.Context, winners map[recordHash]int64, voices map[recordHash][]voice) error {
	var copied []recordHash
	var homes, versions []int64
	for _, h := range l.revived {
		var best voice
		for _, v := range voices[h] {
			if v.hash != winners[h] || best.stored && !v.stored {
				continue
			}
			if best.statementID == 0 || v.stored && !best.stored || cmp.Or(v.asOf.Compare(best.asOf), cmp.Compare(v.statementID, best.statementID)) > 0 {
				best = v
			}
		}
		copied, homes, versions = append(copied, h), append(homes, best.statementID), append(versions, best.hash)
		if !best.stored && best.statementID == l.out.ID {
			l.stored++
		}
	}
	if len(copied) == 0 {
		return nil
	}
	ids, keys := splitHashes(copied)
	tag, err := l.tx.Exec(ctx, l.s.sql(`
		WITH k AS (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) AS k(id_hash, key_hash, home, version)),
		pick AS (
			SELECT DISTINCT ON (v.id_hash, v.key_hash) v.ctid AS at, v.statement_id = k.home AS own, k.home, v.*
			  FROM {r}.record_versions v JOIN k USING (id_hash, key_hash)
			 WHERE v.row_hash = k.version
			 ORDER BY v.id_hash, v.key_hash, v.statement_id = k.home DESC),
		taken AS (DELETE FROM {r}.record_versions v USING pick WHERE v.ctid = pick.at AND pick.own),
		counted AS (
			UPDATE {r}.statements st SET stored_count = stored_count + p.n
			  FROM (SELECT home, count(*) AS n FROM pick WHERE NOT own GROUP BY home) p WHERE p.home = st.statement_id)
		INSERT INTO {r}.records (`+recordColumns+`)
		SELECT id_hash, key_hash, reference_hash, row_hash, home, amount_minor, fee_minor,
		       occurred_at, occurred_to, booked_at, settled_at, line, false, source, record_key, account,
		       provider_operation_id, idempotency_key, business_reference, folded_references, currency, direction, kind, status,
		       provider_status, batch_id, related_id, NULL
		  FROM pick`), ids, keys, homes, versions)
	if err != nil {
		return fmt.Errorf("bring earlier versions back: %w", err)
	}
	if tag.RowsAffected() != int64(len(copied)) {
		return fmt.Errorf("bring earlier versions back: %d of %d are there", tag.RowsAffected(), len(copied))
	}
	return nil
}

// keepWords stores under their own statements the words of those that have
// only repeated them so far, and are not the current ones: they may contradict.
func (l *loading) keepWords(ctx context.Context, winners map[recordHash]int64, voices map[recordHash][]voice) error {
	var kept []recordHash
	var homes, versions []int64
	for h, list := range voices {
		for _, v := range list {
			if v.stored || v.hash == winners[h] {
				continue
			}
			kept, homes, versions = append(kept, h), append(homes, v.statementID), append(versions, v.hash)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	ids, keys := splitHashes(kept)
	rows, err := l.tx.Query(ctx, l.s.sql(`
		WITH k AS (SELECT DISTINCT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) AS k(id_hash, key_hash, home, version)),
		pick AS (
			SELECT DISTINCT ON (v.id_hash, v.key_hash, k.home, k.version) k.home, v.*
			  FROM {r}.record_versions v JOIN k USING (id_hash, key_hash)
			 WHERE v.row_hash = k.version AND NOT EXISTS (
			       SELECT 1 FROM {r}.record_versions o
			        WHERE o.id_hash = k.id_hash AND o.key_hash = k.key_hash AND o.row_hash = k.version AND o.statement_id = k.home)
			 ORDER BY v.id_hash, v.key_hash, k.home, k.version),
		counted AS (
			UPDATE {r}.statements st SET stored_count = stored_count + p.n
			  FROM (SELECT home, count(*) AS n FROM pick GROUP BY home) p WHERE p.home = st.statement_id)
		INSERT INTO {r}.record_versions (`+recordColumns+`, replaced_by, replaced_reason, replaced_at)
		SELECT id_hash, key_hash, reference_hash, row_hash, home, amount_minor, fee_minor,
		       occurred_at, occurred_to, booked_at, settled_at, line, false, source, record_key, account,
		       provider_operation_id, idempotency_key, business_reference, folded_references, currency, direction, kind, status,
		       provider_status, batch_id, related_id, NULL, $5, 'older', $6
		  FROM pick RETURNING statement_id`), ids, keys, homes, versions, l.out.ID, l.doc.At)
	if err != nil {
		return fmt.Errorf("keep what other statements say: %w", err)
	}
	stored, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return fmt.Errorf("keep what other statements say: %w", err)
	}
	for _, home := range stored {
		if home == l.out.ID {
			l.stored++
		}
	}
	return nil
}

// flagConflicts marks every record that another current statement (or another
// line of its own) contradicts, and clears the mark where that has ended.
// Neither of two that contradict each other confirms anything.
func (l *loading) flagConflicts(ctx context.Context) error {
	ids, keys := splitHashes(slices.AppendSeq(slices.Clone(l.revived), maps.Keys(l.disputed)))
	_, err := l.tx.Exec(ctx, l.s.sql(`
		WITH disputed AS (
			SELECT id_hash, key_hash FROM {r}.record_versions WHERE source = $1 AND replaced_reason = 'conflict'
			UNION
			SELECT id_hash, key_hash FROM {r}.records WHERE source = $1 AND conflicted
			UNION
			SELECT * FROM unnest($2::bigint[], $3::bigint[])),
		judged AS (
			SELECT r.id_hash, r.key_hash, EXISTS (
			       SELECT 1 FROM {r}.record_versions v JOIN {r}.statements st ON st.statement_id = v.statement_id
			        WHERE v.id_hash = r.id_hash AND v.key_hash = r.key_hash AND st.state = 'accepted' AND st.superseded_by IS NULL
			          AND (v.business_reference, v.currency, v.amount_minor)
			              IS DISTINCT FROM (r.business_reference, r.currency, r.amount_minor)) AS conflicted
			  FROM disputed JOIN {r}.records r USING (id_hash, key_hash)),
		flagged AS (
			UPDATE {r}.records r SET conflicted = j.conflicted FROM judged j
			 WHERE r.id_hash = j.id_hash AND r.key_hash = j.key_hash AND r.conflicted <> j.conflicted RETURNING r.owner_key)
		INSERT INTO {j}.agent_operation_changes (idempotency_key)
		SELECT DISTINCT owner_key FROM flagged WHERE owner_key IS NOT NULL`), l.doc.Source, ids, keys)
	if err != nil {
		return fmt.Errorf("flag contradicted records: %w", err)
	}
	return nil
}
