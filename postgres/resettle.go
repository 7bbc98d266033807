package postgres

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"reconciler/sources"
)

// repeat is one current statement that says of a record what was known of it
// already when the statement came.
type repeat struct {
	statementID int64
	asOf        time.Time
	// hash of the version that it repeats.
	hash int64
}

// repeatSize is the length of one packed repeat: two hashes that name the
// record, and one of the version.
const repeatSize = 24

// packRepeats writes what a statement repeats.
func packRepeats(rows []row, which []int) []byte {
	out := make([]byte, 0, repeatSize*len(which))
	for _, i := range which {
		for _, n := range [...]int64{rows[i].idHash, rows[i].keyHash, rows[i].hash} {
			out = binary.LittleEndian.AppendUint64(out, uint64(n)) //nolint:gosec // bits only
		}
	}
	return out
}

func unpackRepeat(packed []byte) (h recordHash, version int64) {
	at := func(n int) int64 { return int64(binary.LittleEndian.Uint64(packed[8*n:])) } //nolint:gosec // bits only
	return recordHash{at(0), at(1)}, at(2)
}

func splitHashes(hashes []recordHash) (ids, keys []int64) {
	for _, h := range hashes {
		ids, keys = append(ids, h.id), append(keys, h.key)
	}
	return ids, keys
}

// hull is the smallest closed range of time around instants; zero ones are not
// taken in.
type hull struct{ from, to time.Time }

func (h *hull) take(times ...time.Time) {
	for _, t := range times {
		if t.IsZero() {
			continue
		}
		if h.from.IsZero() || t.Before(h.from) {
			h.from = t
		}
		if t.After(h.to) {
			h.to = t
		}
	}
}

// repeatsOf reads which current statements repeat the given records, all of
// whose versions are dated within the hull: those whose period meets it (or
// whose records may be dated anywhere), and unless all of them are asked for,
// this one and those with a later as_of.
func (l *loading) repeatsOf(ctx context.Context, wanted map[recordHash]bool, dates hull, all bool) (map[recordHash][]repeat, error) {
	out := map[recordHash][]repeat{}
	if len(wanted) == 0 {
		return out, nil
	}
	rows, err := l.tx.Query(ctx, l.s.sql(`
		SELECT p.statement_id, st.as_of, p.record_hashes
		  FROM {r}.statement_repeats p JOIN {r}.statements st USING (statement_id)
		 WHERE st.source = $1 AND st.state = 'accepted' AND st.superseded_by IS NULL
		   AND (st.strays OR st.period && tstzrange($2, $3, '[]')) AND ($4 OR st.as_of > $5 OR st.statement_id = $6)`),
		l.doc.Source, nullTime(dates.from), nullTime(dates.to), all, l.asOf, l.out.ID)
	if err != nil {
		return nil, fmt.Errorf("read repeated records: %w", err)
	}
	var one repeat
	var packed []byte
	if _, err := pgx.ForEachRow(rows, []any{&one.statementID, &one.asOf, &packed}, func() error {
		for ; len(packed) >= repeatSize; packed = packed[repeatSize:] {
			h, version := unpackRepeat(packed)
			if wanted[h] {
				one.hash = version
				out[h] = append(out[h], one)
			}
		}
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read repeated records: %w", err)
	}
	return out, nil
}

// findRepeats completes what is known of records that the rows in hand word
// otherwise: whether other statements stand by the words that are known.
func (l *loading) findRepeats(ctx context.Context, known map[int]stored) error {
	wanted := map[recordHash]bool{}
	dates := hull{}
	dates.take(l.doc.Period.From, l.doc.Period.To)
	superseding := false
	for i, k := range known {
		if k.hash != l.rows[i].hash {
			wanted[recordHash{l.rows[i].idHash, l.rows[i].keyHash}] = true
			dates.take(k.occurredAt, k.bookedAt)
			superseding = superseding || k.statementID == l.previous
		}
	}
	found, err := l.repeatsOf(ctx, wanted, dates, superseding)
	if err != nil {
		return err
	}
	for i, k := range known {
		r := &l.rows[i]
		for _, one := range found[recordHash{r.idHash, r.keyHash}] {
			// What the superseded version repeats counts no more.
			if one.statementID != l.previous || l.stale {
				k.repeats = append(k.repeats, one)
			}
		}
		known[i] = k
	}
	return nil
}

// retire replaces the earlier version of this statement: what only it
// contained is gone, what another current statement says instead is current
// again, and what rested on it is decided again.
func (l *loading) retire(ctx context.Context) error {
	if _, err := l.tx.Exec(ctx, l.s.sql(`
		UPDATE {r}.statements SET state = 'superseded', superseded_by = $2 WHERE statement_id = $1`), l.previous, l.out.ID); err != nil {
		return fmt.Errorf("supersede statement %d: %w", l.previous, err)
	}
	rows, err := l.tx.Query(ctx, l.s.sql(`
		SELECT id_hash, key_hash, row_hash, occurred_at, booked_at FROM {r}.records WHERE statement_id = $1`), l.previous)
	if err != nil {
		return fmt.Errorf("compare with the superseded version: %w", err)
	}
	left := map[recordHash]int64{}
	dates := hull{}
	dates.take(l.doc.Period.From, l.doc.Period.To)
	var h recordHash
	var version int64
	var occurred, booked *time.Time
	if _, err := pgx.ForEachRow(rows, []any{&h.id, &h.key, &version, &occurred, &booked}, func() error {
		left[h] = version
		dates.take(instant(occurred), instant(booked))
		return nil
	}); err != nil {
		return fmt.Errorf("compare with the superseded version: %w", err)
	}
	if err := l.resettle(ctx, left, dates); err != nil {
		return err
	}
	return l.s.requeueAbsences(ctx, l.tx, l.doc.Source, l.doc.Period)
}

// voice is one current statement's word on a record.
type voice struct {
	repeat
	// stored: a row of record_versions under this very statement holds it.
	stored bool
	// in-file order, for statements that say two things.
	record sources.Record
}

// resettle finds, for records whose statement has been superseded, the version
// that the newest of the other current statements says. The map holds the
// version that has been current so far.
func (l *loading) resettle(ctx context.Context, left map[recordHash]int64, dates hull) error {
	if len(left) == 0 {
		return nil
	}
	wanted := make(map[recordHash]bool, len(left))
	for h := range left {
		wanted[h] = true
	}
	voices, err := l.voices(ctx, left, &dates)
	if err != nil {
		return err
	}
	repeats, err := l.repeatsOf(ctx, wanted, dates, true)
	if err != nil {
		return err
	}
	for h, list := range repeats {
		for _, r := range list {
			voices[h] = append(voices[h], voice{repeat: r})
		}
	}
	var gone []recordHash
	handOver := map[int64][]recordHash{}
	for h, version := range left {
		if len(voices[h]) == 0 {
			gone = append(gone, h)
			continue
		}
		best := slices.MaxFunc(voices[h], compareVoices)
		keeper := best
		if best.hash != version {
			l.revived = append(l.revived, h)
			keeper = voice{}
			// Another statement may still stand by the words that go.
			if i := slices.IndexFunc(voices[h], func(v voice) bool { return v.hash == version }); i >= 0 {
				keeper = voices[h][i]
			}
		}
		if keeper.statementID != 0 {
			handOver[keeper.statementID] = append(handOver[keeper.statementID], h)
		}
		left[h] = best.hash
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
	return l.revive(ctx, left, voices)
}

func compareVoices(a, b voice) int {
	order := 0
	if a.stored && b.stored && a.statementID == b.statementID {
		order = 1
		if later(&a.record, &b.record) {
			order = -1
		}
	}
	return cmp.Or(a.asOf.Compare(b.asOf), cmp.Compare(a.statementID, b.statementID), order)
}

// voices are the versions that current statements have in record_versions. It
// takes the dates of all versions into the hull.
func (l *loading) voices(ctx context.Context, left map[recordHash]int64, dates *hull) (map[recordHash][]voice, error) {
	hashes := make([]recordHash, 0, len(left))
	for h := range left {
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
		occurred, booked *time.Time
		current          bool
	)
	if _, err := pgx.ForEachRow(rows, []any{
		&h.id, &h.key, &v.hash, &v.statementID, &v.asOf, &v.record.Status, &occurred, &booked, &v.record.Line, &current,
	}, func() error {
		v.record.OccurredAt = instant(occurred)
		dates.take(v.record.OccurredAt, instant(booked))
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
			if v.hash == winners[h] && (best.statementID == 0 || v.stored && !best.stored) {
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

// flagConflicts marks every record that another current statement (or another
// line of its own) contradicts, and clears the mark where that has ended.
// Neither of two that contradict each other confirms anything.
func (l *loading) flagConflicts(ctx context.Context) error {
	ids, keys := splitHashes(slices.Concat(l.disputed, l.revived))
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
