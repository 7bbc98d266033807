package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"reconciler/sources"
)

// recordColumns are the columns of a binary COPY, in the order in which
// encodeRow writes them.
const recordColumns = `id_hash, key_hash, reference_hash, row_hash, statement_id, amount_minor, fee_minor,
	occurred_at, occurred_to, booked_at, settled_at, line, conflicted, source, record_key, account,
	provider_operation_id, idempotency_key, business_reference, folded_references, currency, direction, kind, status,
	provider_status, batch_id, related_id, owner_key`

const recordColumnCount = 28

// textOID is the type of the elements of folded_references.
const textOID = 25

// copyRecords writes new rows straight into records, without a detour through
// reflection, and their further names into record_lookups.
func (l *loading) copyRecords(ctx context.Context, which []int) error {
	if len(which) == 0 {
		return nil
	}
	rows := make([]*row, len(which))
	for i, n := range which {
		rows[i] = &l.rows[n]
	}
	src := &copyReader{rows: rows, encode: l.encodeRow}
	tag, err := l.tx.Conn().PgConn().CopyFrom(ctx, src, l.s.sql(`COPY {r}.records (`+recordColumns+`) FROM STDIN (FORMAT binary)`))
	if err != nil {
		return fmt.Errorf("copy records: %w", err)
	}
	if tag.RowsAffected() != int64(len(rows)) {
		return fmt.Errorf("copy records: %d of %d arrived", tag.RowsAffected(), len(rows))
	}
	l.stored += int64(len(rows))
	if err := l.putLookups(ctx, rows); err != nil {
		return err
	}
	return l.putUnjournaled(ctx, rows)
}

// copyVersions keeps rows that are not current.
func (l *loading) copyVersions(ctx context.Context, rows []row, reason string) error {
	if len(rows) == 0 {
		return nil
	}
	pointers := make([]*row, len(rows))
	for i := range rows {
		rows[i].conflicted = reason == "conflict"
		pointers[i] = &rows[i]
	}
	src := &copyReader{rows: pointers, encode: func(b []byte, r *row) []byte {
		b = l.encodeRow(b, r)
		binary.BigEndian.PutUint16(b[l.tupleStart:], recordColumnCount+2)
		b = appendInt8(b, l.out.ID)
		return appendText(b, reason)
	}}
	_, err := l.tx.Conn().PgConn().CopyFrom(ctx, src,
		l.s.sql(`COPY {r}.record_versions (`+recordColumns+`, replaced_by, replaced_reason) FROM STDIN (FORMAT binary)`))
	if err != nil {
		return fmt.Errorf("copy replaced records: %w", err)
	}
	l.stored += int64(len(rows))
	return l.putLookups(ctx, pointers)
}

// copyReader gives rows as a binary COPY stream.
type copyReader struct {
	rows   []*row
	encode func([]byte, *row) []byte
	buf    []byte
	at     int
	next   int
	state  int
}

// The phases of a copyReader.
const (
	copyHeader = iota
	copyRows
	copyDone
)

// copyChunk is about how much is encoded ahead.
const copyChunk = 64 << 10

func (c *copyReader) Read(p []byte) (int, error) {
	if c.at == len(c.buf) {
		c.buf, c.at = c.buf[:0], 0
		switch c.state {
		case copyHeader:
			c.buf = append(c.buf, "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
			c.state = copyRows
		case copyDone:
			return 0, io.EOF
		}
		for c.next < len(c.rows) && len(c.buf) < copyChunk {
			c.buf = c.encode(c.buf, c.rows[c.next])
			c.next++
		}
		if c.next == len(c.rows) && c.state == copyRows {
			c.buf = append(c.buf, 0xff, 0xff)
			c.state = copyDone
		}
	}
	n := copy(p, c.buf[c.at:])
	c.at += n
	return n, nil
}

func (l *loading) encodeRow(b []byte, r *row) []byte {
	rec := &r.rec
	l.tupleStart = len(b)
	b = binary.BigEndian.AppendUint16(b, recordColumnCount)
	b = appendInt8(b, r.idHash)
	b = appendInt8(b, r.keyHash)
	b = appendOptional(b, r.referenceHash, rec.BusinessReference != "")
	b = appendInt8(b, r.hash)
	b = appendInt8(b, l.out.ID)
	b = appendOptional(b, rec.AmountMinor, rec.HasAmount)
	b = appendOptional(b, rec.FeeMinor, rec.HasFee)
	b = appendTime(b, rec.OccurredAt)
	b = appendTime(b, rec.OccurredTo)
	b = appendTime(b, rec.BookedAt)
	b = appendTime(b, rec.SettledAt)
	b = binary.BigEndian.AppendUint32(b, 4)
	b = binary.BigEndian.AppendUint32(b, uint32(rec.Line)) //nolint:gosec // lines are counted in int32
	b = binary.BigEndian.AppendUint32(b, 1)
	if r.conflicted {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	for _, s := range [...]string{
		l.doc.Source, r.key, rec.Account, rec.ProviderOperationID, rec.IdempotencyKey, rec.BusinessReference,
	} {
		b = appendText(b, s)
	}
	b = appendTexts(b, rec.FoldedReferences)
	for _, s := range [...]string{
		rec.Currency, string(rec.Direction), string(rec.Kind), string(rec.Status), rec.ProviderStatus,
		rec.BatchID, rec.RelatedID,
	} {
		b = appendText(b, s)
	}
	// Who owns a record is found out when its operations are looked at.
	return appendNull(b)
}

func appendNull(b []byte) []byte { return append(b, 0xff, 0xff, 0xff, 0xff) }

func appendInt8(b []byte, n int64) []byte {
	b = binary.BigEndian.AppendUint32(b, 8)
	return binary.BigEndian.AppendUint64(b, uint64(n)) //nolint:gosec // two's complement is the wire's form
}

func appendOptional(b []byte, n int64, valid bool) []byte {
	if !valid {
		return appendNull(b)
	}
	return appendInt8(b, n)
}

// postgresEpoch is 2000-01-01 in microseconds of Unix time.
const postgresEpoch = 946_684_800_000_000

func appendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return appendNull(b)
	}
	return appendInt8(b, t.UnixMicro()-postgresEpoch)
}

// appendText writes a text; the empty text is NULL.
func appendText(b []byte, s string) []byte {
	if s == "" {
		return appendNull(b)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(s))) //nolint:gosec // a cell is far below 4 GiB
	return append(b, s...)
}

func appendTexts(b []byte, texts []string) []byte {
	if len(texts) == 0 {
		return appendNull(b)
	}
	start := len(b)
	b = append(b, 0, 0, 0, 0)
	for _, n := range [...]uint32{1, 0, textOID, uint32(len(texts)), 1} { //nolint:gosec // a handful of texts
		b = binary.BigEndian.AppendUint32(b, n)
	}
	for _, s := range texts {
		b = binary.BigEndian.AppendUint32(b, uint32(len(s))) //nolint:gosec // a cell is far below 4 GiB
		b = append(b, s...)
	}
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4)) //nolint:gosec // as above
	return b
}

// putLookups stores the further names of records: the echoed key, and the
// folded references under the source's folding.
func (l *loading) putLookups(ctx context.Context, rows []*row) error {
	var hashes, ids, keys []int64
	add := func(r *row, hash int64) {
		hashes, ids, keys = append(hashes, hash), append(ids, r.idHash), append(keys, r.keyHash)
	}
	for _, r := range rows {
		if r.rec.IdempotencyKey != "" {
			add(r, l.h.sum(hashEchoedKey, l.doc.Provider, r.rec.IdempotencyKey))
		}
		for _, f := range r.rec.FoldedReferences {
			add(r, l.h.sum(hashFolded, l.doc.Source, f))
		}
	}
	if len(hashes) == 0 {
		return nil
	}
	_, err := l.tx.Exec(ctx, l.s.sql(`
		INSERT INTO {r}.record_lookups (hash, id_hash, key_hash)
		SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[])
		ON CONFLICT DO NOTHING`), hashes, ids, keys)
	if err != nil {
		return fmt.Errorf("store further names of records: %w", err)
	}
	return nil
}

// foldName names a folding rule. It is no part of a folded form's hash: a form
// that was stored under another rule of the source is found all the same, and
// is compared in full anyway.
func foldName(source string, f *sources.Fold) string {
	if f == nil {
		return source
	}
	return fmt.Sprintf("%s|%t|%t|%t|%q|%q|%d", source, f.Case, f.Blanks, f.Punctuation, f.Prefix, f.Suffix, f.Length)
}

// putUnjournaled notes new records that bear our pattern: each must have an
// operation, now or soon.
func (l *loading) putUnjournaled(ctx context.Context, rows []*row) error {
	var ids, keys []int64
	for _, r := range rows {
		if r.rec.Ours {
			ids, keys = append(ids, r.idHash), append(keys, r.keyHash)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	_, err := l.tx.Exec(ctx, l.s.sql(`
		INSERT INTO {r}.unjournaled_candidates (id_hash, key_hash, source, first_seen_at)
		SELECT k.*, $3, $4 FROM unnest($1::bigint[], $2::bigint[]) AS k
		ON CONFLICT DO NOTHING`), ids, keys, l.doc.Source, l.doc.At)
	if err != nil {
		return fmt.Errorf("note records under our pattern: %w", err)
	}
	return nil
}

// touch sends settled operations back to be looked at that new records of this
// statement, or such as became current again, name in any of the tiers. Open
// ones are in the queue anyway.
func (l *loading) touch(ctx context.Context) (err error) {
	if l.stored > touchByHash {
		if err := planBy(ctx, l.tx, byHash); err != nil {
			return err
		}
		defer func() {
			if err == nil {
				err = planBy(ctx, l.tx, byAny)
			}
		}()
	}
	if l.stored > 0 {
		if err := l.touchNamed(ctx, `r.statement_id = $1`, l.out.ID); err != nil {
			return err
		}
	}
	if len(l.revived) == 0 {
		return nil
	}
	ids, keys := splitHashes(l.revived)
	return l.touchNamed(ctx, `(r.id_hash, r.key_hash) IN (SELECT * FROM unnest($1::bigint[], $2::bigint[]))`, ids, keys)
}

// touchByHash is from how many records on the whole journal is read once,
// instead of looking each of them up in it.
const touchByHash = 50_000

func (l *loading) touchNamed(ctx context.Context, which string, args ...any) error {
	for _, table := range [...]string{"records", "record_versions"} {
		from := `SELECT o.idempotency_key FROM {r}.` + table + ` r JOIN {j}.agent_operations o`
		settled := ` WHERE o.status IN ('succeeded', 'failed_final') AND ` + which
		_, err := l.tx.Exec(ctx, l.s.sql(`
			INSERT INTO {j}.agent_operation_changes (idempotency_key)
			`+from+` ON o.business_reference = r.business_reference`+settled+`
			UNION
			`+from+` ON o.idempotency_key = r.business_reference`+settled+`
			UNION
			`+from+` ON o.provider_operation_id = r.provider_operation_id`+settled+`
			UNION
			`+from+` ON o.idempotency_key = r.idempotency_key`+settled+`
			UNION
			SELECT ol.idempotency_key FROM {r}.`+table+` r JOIN {r}.record_lookups rl USING (id_hash, key_hash)
			  JOIN {r}.operation_lookups ol ON ol.hash = rl.hash
			 WHERE r.folded_references IS NOT NULL AND `+which), args...)
		if err != nil {
			return fmt.Errorf("look for settled operations that the records name: %w", err)
		}
	}
	return nil
}
