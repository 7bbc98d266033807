package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"reconciler/reconcile"
	"reconciler/sources"
)

// defaultLoadBatch is the number of rows of one batch outside tests.
const defaultLoadBatch = 100_000

// rejectLimit is how many rejects of one statement are kept in full; the rest
// is only counted.
const rejectLimit = 10_000

// rowQuerier is the part of a pool or transaction that reads one row.
type rowQuerier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func oneRegistered(row pgx.Row) (*reconcile.Registered, error) {
	var reg reconcile.Registered
	err := row.Scan(&reg.ID, &reg.State, &reg.Complete, &reg.Reason, &reg.Rejects)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // "not known" is an answer, not an error
	}
	if err != nil {
		return nil, err
	}
	return &reg, nil
}

// row is a record on its way into the database.
type row struct {
	rec           sources.Record
	key           string
	idHash        int64
	keyHash       int64
	referenceHash int64
	hash          int64
	// conflicted: another row under this key contradicts it.
	conflicted bool
}

func (r *row) recordHash() recordHash { return recordHash{r.idHash, r.keyHash} }

// loading is the state of one statement that is being loaded.
type loading struct {
	s    *Store
	tx   pgx.Tx
	doc  reconcile.Document
	out  reconcile.Loaded
	h    hasher
	rows []row
	keys []byte
	// asOf by which versions are compared.
	asOf time.Time
	// replaces are the current statements in whose place this one comes: the
	// version before it, another reading of the same bytes, and what a person
	// had released. newer is the current version that this one is older than,
	// 0 if there is none: then it comes in the place of nothing.
	replaces []replaced
	newer    int64
	// near is nil where there is nothing that the records could be near to.
	near *nearness
	// ordinals counts equal records without an id.
	ordinals map[int64]int
	batches  int
	stored   int64
	// revived are records of which another version became the current one.
	revived []recordHash
	// disputed are known records that this document words otherwise, so that
	// other current statements may contradict it now, or no longer do.
	disputed map[recordHash]bool
	rejects  []sources.Reject
	// outside counts records that are dated outside the period, undated those
	// whose date does not say.
	outside, undated int64
	// tupleStart is where the row being encoded begins.
	tupleStart int
}

// Load reads the document to its end, and registers it with all that it says,
// or not at all: one transaction, in which nothing is visible before its end.
func (s *Store) Load(ctx context.Context, d reconcile.Document, r sources.Reader) (reconcile.Loaded, error) {
	l := &loading{s: s, doc: d, ordinals: map[int64]int{}, disputed: map[recordHash]bool{}}
	err := s.inTx(ctx, func(tx pgx.Tx) error {
		l.tx = tx
		if err := l.begin(ctx); err != nil || l.out.Known {
			return err
		}
		if err := l.read(ctx, r); err != nil {
			return err
		}
		return l.finish(ctx, r)
	})
	if err != nil {
		return reconcile.Loaded{}, err
	}
	return l.out, nil
}

// begin takes the source's row, so that one statement of a source is loaded at
// a time, and registers the statement.
func (l *loading) begin(ctx context.Context) error {
	d := l.doc
	if err := l.lockSource(ctx); err != nil {
		return err
	}
	reg, err := l.s.registered(ctx, l.tx, d.StatementID)
	if err != nil {
		return fmt.Errorf("look up statement %s: %w", d.Name, err)
	}
	if reg != nil {
		l.out.Registered, l.out.Known = *reg, true
		return nil
	}
	firstSeen, err := l.s.firstSeen(ctx, l.tx, d)
	if err != nil {
		return err
	}
	if l.asOf, err = l.s.asOf(ctx, l.tx, d, firstSeen); err != nil {
		return err
	}
	lo, hi := bounds(d.Period)
	err = l.tx.QueryRow(ctx, l.s.sql(`
		INSERT INTO {r}.statements (source, account, accounts, name, version, sha256, size, format, mapping_digest,
		       state, complete, end_proof, period, as_of, run_id, first_seen_at, accepted_at, manifest_sha256, as_of_stated)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'accepted', false, 'unproven',
		       CASE WHEN $10::timestamptz IS NULL THEN NULL ELSE tstzrange($10, $11) END, $12, $13, $14, $15, $16, $17)
		RETURNING statement_id`),
		d.Source, account(d.Accounts), d.Accounts, d.Name, d.Version, d.SHA256, d.Size, d.Format, d.MappingDigest,
		lo, hi, l.asOf, null(d.RunID), firstSeen, d.At, d.ManifestSHA256, !d.StatedAsOf.IsZero()).Scan(&l.out.ID)
	if err != nil {
		return fmt.Errorf("register statement %s: %w", d.Name, err)
	}
	if err := l.findPrevious(ctx); err != nil {
		return err
	}
	return l.findOthers(ctx)
}

func (l *loading) lockSource(ctx context.Context) error {
	var n int64
	err := l.tx.QueryRow(ctx, l.s.sql(`SELECT generation FROM {r}.sources WHERE source = $1 FOR UPDATE`), l.doc.Source).Scan(&n)
	if err != nil {
		return fmt.Errorf("lock source %s: %w", l.doc.Source, err)
	}
	return nil
}

// firstSeen is when these bytes were first seen as a statement of this period,
// whatever the mapping then was.
func (s *Store) firstSeen(ctx context.Context, db rowQuerier, d reconcile.Document) (time.Time, error) {
	var seen *time.Time
	lo, hi := bounds(d.Period)
	err := db.QueryRow(ctx, s.sql(`
		SELECT min(first_seen_at) FROM {r}.statements
		 WHERE source = $1 AND sha256 = $2 AND account = $3
		   AND ((period IS NULL AND $4::timestamptz IS NULL) OR period = tstzrange($4, $5))`),
		d.Source, d.SHA256, account(d.Accounts), lo, hi).Scan(&seen)
	if err != nil {
		return time.Time{}, fmt.Errorf("look up first sight of %s: %w", d.Name, err)
	}
	if seen == nil {
		return d.At, nil
	}
	return seen.UTC(), nil
}

// asOf is derivedAsOf, but never later than what the same bytes were believed
// before: copying a file anew makes it no fresher.
func (s *Store) asOf(ctx context.Context, db rowQuerier, d reconcile.Document, firstSeen time.Time) (time.Time, error) {
	at := derivedAsOf(d, firstSeen)
	if !d.StatedAsOf.IsZero() {
		return at, nil
	}
	var before *time.Time
	lo, hi := bounds(d.Period)
	err := db.QueryRow(ctx, s.sql(`
		SELECT min(as_of) FROM {r}.statements
		 WHERE source = $1 AND sha256 = $2 AND account = $3 AND NOT as_of_stated
		   AND ((period IS NULL AND $4::timestamptz IS NULL) OR period = tstzrange($4, $5))`),
		d.Source, d.SHA256, account(d.Accounts), lo, hi).Scan(&before)
	if err != nil {
		return time.Time{}, fmt.Errorf("look up what %s was believed before: %w", d.Name, err)
	}
	if before != nil && before.Before(at) {
		return before.UTC(), nil
	}
	return at, nil
}

// derivedAsOf is the moment up to which a document speaks: as it says itself, but not
// after it was first seen; else the earlier of modification and first sight,
// less the production delay.
func derivedAsOf(d reconcile.Document, firstSeen time.Time) time.Time {
	if at := d.StatedAsOf; !at.IsZero() {
		// Nobody can speak of a time that had not come when it was first seen.
		if at.After(firstSeen) {
			at = firstSeen
		}
		return at.UTC()
	}
	at := firstSeen
	if !d.ModifiedAt.IsZero() && d.ModifiedAt.Before(at) {
		at = d.ModifiedAt
	}
	return at.Add(-d.ProductionDelay).UTC()
}

// read takes the document row by row.
func (l *loading) read(ctx context.Context, r sources.Reader) error {
	l.rows = make([]row, 0, 1024)
	var rec sources.Record
	var read int64
	for {
		err := r.Next(&rec)
		var reject *sources.Reject
		switch {
		case errors.Is(err, io.EOF):
			return l.flush(ctx)
		case errors.As(err, &reject):
			l.out.Rejects++
			if len(l.rejects) < rejectLimit {
				l.rejects = append(l.rejects, *reject)
			}
			continue
		case err != nil:
			return fmt.Errorf("read %s: %w", l.doc.Name, err)
		}
		l.take(&rec)
		if read++; read%10_000 == 0 {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			if l.doc.Progress != nil {
				l.doc.Progress(read)
			}
		}
		if len(l.rows) >= l.s.loadBatch {
			if err := l.flush(ctx); err != nil {
				return err
			}
		}
	}
}

// take computes what a record is known by.
func (l *loading) take(rec *sources.Record) {
	d := &l.doc
	out := row{rec: *rec}
	if rec.ProviderOperationID == "" {
		l.keys = d.Identity.AppendKey(l.keys[:0], &out.rec)
		h := l.h.sum(hashRecord, string(l.keys))
		out.rec.Ordinal = l.ordinals[h]
		l.ordinals[h]++
	}
	out.key = d.Identity.Key(&out.rec)
	out.keyHash = l.h.sum(hashRecord, d.Source, out.key)
	if rec.ProviderOperationID != "" {
		out.idHash = l.h.sum(hashProviderID, d.Provider, rec.ProviderOperationID)
	} else {
		out.idHash = l.h.sum(hashContent, d.Source, out.key)
	}
	if rec.BusinessReference != "" {
		out.referenceHash = l.h.sum(hashReference, d.Provider, rec.BusinessReference)
	}
	out.hash = l.h.content(&out.rec)
	switch dated, inside := l.insidePeriod(rec); {
	case !inside:
		l.outside++
	case !dated:
		l.undated++
	}
	l.rows = append(l.rows, out)
}

// insidePeriod compares a record's date with the statement's period. One that
// the period does not hold says that the period, or the file's name, is not
// to be believed; without a date (dated is false) nothing can be said.
func (l *loading) insidePeriod(rec *sources.Record) (dated, inside bool) {
	p := l.doc.Period
	if p.IsZero() {
		return false, true
	}
	at := rec.OccurredAt
	if l.doc.DatedBy == sources.ByBooking {
		at = rec.BookedAt
		if at.IsZero() {
			// Booked later than it happened: only "not after the end" can be asked.
			return false, rec.OccurredAt.IsZero() || rec.OccurredAt.Before(p.To)
		}
	}
	if at.IsZero() {
		return false, true
	}
	return true, !at.Before(p.From) && at.Before(p.To)
}

// finish judges the whole, retires what it supersedes, and completes the
// registration.
func (l *loading) finish(ctx context.Context, r sources.Reader) error {
	sum, err := r.Summary()
	if err != nil {
		return fmt.Errorf("close %s: %w", l.doc.Name, err)
	}
	l.out.Summary = sum
	reasons := l.judge(sum)
	l.out.State = "accepted"
	if l.newer != 0 {
		l.out.State = "superseded"
	}
	if err := l.retire(ctx); err != nil {
		return err
	}
	if err := l.checkNear(ctx); err != nil {
		return err
	}
	l.out.Complete = len(reasons) == 0
	for i, why := range reasons {
		if i > 0 {
			l.out.Reason += "; "
		}
		l.out.Reason += why
	}
	if err := l.register(ctx, sum); err != nil {
		return err
	}
	if err := l.s.putRejects(ctx, l.tx, l.out.ID, l.rejects); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{l.rechain, l.flagConflicts, l.touch, l.closeQuarantine} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return l.s.bump(ctx, l.tx, l.doc.Source)
}

// judge lists what keeps the statement from being complete.
func (l *loading) judge(sum sources.Summary) []string {
	var why []string
	if sum.EndProof == sources.EndUnproven {
		why = append(why, "nothing proves that it was read to its end")
	}
	if l.out.Rejects > 0 {
		why = append(why, counted(l.out.Rejects, "row")+" could not be understood")
	}
	if l.doc.Period.IsZero() {
		why = append(why, "its period is not known")
	}
	if l.outside > 0 {
		why = append(why, fmt.Sprintf("%s dated outside its period %s", counted(l.outside, "record"), l.doc.Period))
	}
	return why
}

// counted writes a number of things.
func counted(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func (l *loading) register(ctx context.Context, sum sources.Summary) error {
	declared, err := json.Marshal(sum.Declared)
	if err != nil {
		return fmt.Errorf("encode declared totals: %w", err)
	}
	computed, err := json.Marshal(sum.Computed)
	if err != nil {
		return fmt.Errorf("encode computed totals: %w", err)
	}
	var superseded *int64
	if l.newer != 0 {
		superseded = &l.newer
	}
	_, err = l.tx.Exec(ctx, l.s.sql(`
		UPDATE {r}.statements
		   SET state = $2, complete = $3, whole = $3, end_proof = $4, row_count = $5, record_count = $6, reject_count = $7,
		       skipped_count = $8, stored_count = $9, declared = $10, computed = $11, reason = $12, superseded_by = $13,
		       strays = $14
		 WHERE statement_id = $1`),
		l.out.ID, l.out.State, l.out.Complete, string(sum.EndProof), sum.Rows, sum.Records, sum.Rejects,
		sum.Skipped, l.stored, string(declared), string(computed), l.out.Reason, superseded,
		l.outside+l.undated > 0)
	if err != nil {
		return fmt.Errorf("complete the registration of %s: %w", l.doc.Name, err)
	}
	return nil
}

// closeQuarantine marks deliveries in quarantine as repaired by this
// statement: those of the same account and period that are not newer than it,
// those that this one has taken the place of, by name, and the same bytes
// under a name or a mapping that did not fit.
func (l *loading) closeQuarantine(ctx context.Context) error {
	if l.newer != 0 {
		return nil
	}
	lo, hi := bounds(l.doc.Period)
	_, err := l.tx.Exec(ctx, l.s.sql(`
		UPDATE {r}.statements SET superseded_by = $1
		 WHERE source = $2 AND account = $3 AND state = 'quarantined' AND superseded_by IS NULL
		   AND (period IS NULL AND name = $4 OR period = tstzrange($5, $6) AND (name = $4 OR as_of <= $7) OR sha256 = $8)`),
		l.out.ID, l.doc.Source, account(l.doc.Accounts), l.doc.Name, lo, hi, l.asOf, l.doc.SHA256)
	if err != nil {
		return fmt.Errorf("close the quarantine of %s: %w", l.doc.Name, err)
	}
	return nil
}

// bump raises the generation of a source's evidence.
func (s *Store) bump(ctx context.Context, tx pgx.Tx, source string) error {
	if _, err := tx.Exec(ctx, s.sql(`UPDATE {r}.sources SET generation = generation + 1 WHERE source = $1`), source); err != nil {
		return fmt.Errorf("raise the generation of %s: %w", source, err)
	}
	return nil
}

func (s *Store) putRejects(ctx context.Context, tx pgx.Tx, id int64, rejects []sources.Reject) error {
	for chunk := range slices.Chunk(rejects, 1000) {
		lines, fields, reasons := make([]int, len(chunk)), make([]string, len(chunk)), make([]string, len(chunk))
		for i, r := range chunk {
			lines[i], fields[i], reasons[i] = r.Line, r.Field, r.Reason
		}
		_, err := tx.Exec(ctx, s.sql(`
			INSERT INTO {r}.rejects (statement_id, line, field, reason)
			SELECT $1, * FROM unnest($2::int[], $3::text[], $4::text[])`), id, lines, fields, reasons)
		if err != nil {
			return fmt.Errorf("store rejects: %w", err)
		}
	}
	return nil
}

// requeueAbsences sends every operation whose absence rests on statements of
// this period back to be decided again.
func (s *Store) requeueAbsences(ctx context.Context, tx pgx.Tx, source string, p sources.Period) error {
	lo, hi := bounds(p)
	if lo == nil {
		return nil
	}
	_, err := tx.Exec(ctx, s.sql(`
		WITH moved AS (
			SELECT DISTINCT a.idempotency_key
			  FROM {r}.absence_proofs a JOIN {r}.statements st USING (statement_id)
			 WHERE st.source = $1 AND st.period && tstzrange($2, $3)),
		marked AS (
			UPDATE {r}.operation_decisions d SET evidence_replaced = true
			  FROM moved WHERE d.idempotency_key = moved.idempotency_key AND NOT d.evidence_replaced)
		INSERT INTO {j}.agent_operation_changes (idempotency_key) SELECT idempotency_key FROM moved`), source, lo, hi)
	if err != nil {
		return fmt.Errorf("send absences back to be decided: %w", err)
	}
	return nil
}
