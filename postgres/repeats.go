package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// repeat is one current statement that says of a record what was known of it
// already when the statement came.
type repeat struct {
	statementID int64
	asOf        time.Time
	// hash of the version that it repeats, and the line in which it does.
	hash int64
	line int
}

// repeatSize is the length of one packed repeat: two hashes that name the
// record, one of the version, and the line.
const repeatSize = 28

// packRepeats writes what a statement repeats.
func packRepeats(rows []row, which []int) []byte {
	out := make([]byte, 0, repeatSize*len(which))
	for _, i := range which {
		for _, n := range [...]int64{rows[i].idHash, rows[i].keyHash, rows[i].hash} {
			out = binary.LittleEndian.AppendUint64(out, uint64(n)) //nolint:gosec // bits only
		}
		out = binary.LittleEndian.AppendUint32(out, uint32(rows[i].rec.Line)) //nolint:gosec // lines are counted in int32
	}
	return out
}

func unpackRepeat(packed []byte) (h recordHash, version int64, line int) {
	at := func(n int) int64 { return int64(binary.LittleEndian.Uint64(packed[8*n:])) } //nolint:gosec // bits only
	return recordHash{at(0), at(1)}, at(2), int(binary.LittleEndian.Uint32(packed[24:]))
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
// this one and those whose as_of is not earlier.
func (l *loading) repeatsOf(ctx context.Context, wanted map[recordHash]bool, dates hull, all bool) (map[recordHash][]repeat, error) {
	out := map[recordHash][]repeat{}
	if len(wanted) == 0 {
		return out, nil
	}
	rows, err := l.tx.Query(ctx, l.s.sql(`
		SELECT p.statement_id, st.as_of, p.record_hashes
		  FROM {r}.statement_repeats p JOIN {r}.statements st USING (statement_id)
		 WHERE st.source = $1 AND st.state = 'accepted' AND st.superseded_by IS NULL
		   AND (st.strays OR st.period && tstzrange($2, $3, '[]')) AND ($4 OR st.as_of >= $5 OR st.statement_id = $6)`),
		l.doc.Source, nullTime(dates.from), nullTime(dates.to), all, l.asOf, l.out.ID)
	if err != nil {
		return nil, fmt.Errorf("read repeated records: %w", err)
	}
	var one repeat
	var packed []byte
	if _, err := pgx.ForEachRow(rows, []any{&one.statementID, &one.asOf, &packed}, func() error {
		for ; len(packed) >= repeatSize; packed = packed[repeatSize:] {
			h, version, line := unpackRepeat(packed)
			if wanted[h] {
				one.hash, one.line = version, line
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
			wanted[l.rows[i].recordHash()] = true
			dates.take(k.occurredAt, k.bookedAt)
			superseding = superseding || l.inPlaceOf(k.statementID)
		}
	}
	found, err := l.repeatsOf(ctx, wanted, dates, superseding)
	if err != nil {
		return err
	}
	for i, k := range known {
		r := &l.rows[i]
		for _, one := range found[r.recordHash()] {
			// What a superseded version repeats counts no more.
			if !l.inPlaceOf(one.statementID) {
				k.repeats = append(k.repeats, one)
			}
		}
		known[i] = k
	}
	return nil
}
