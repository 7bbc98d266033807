package reconcile

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"reconciler/money"
	"reconciler/sources"
)

// Side is one of two statements that are compared, as far as it can be read.
type Side struct {
	Kept             Kept
	Records, Rejects int64
	// Refused says why it could not be read further; empty if it could.
	Refused string
}

// FieldChange is one field of a record with both of its values, as text; empty
// is none.
type FieldChange struct{ Field, Before, After string }

// Change is one record that two statements don't have alike. Before is nil for
// an added one, After for one that is gone.
type Change struct {
	// Key is the record_key. A statement may have it more than once.
	Key           string
	Before, After *sources.Record
	Fields        []FieldChange
}

// Record is the later of the two.
func (c *Change) Record() *sources.Record {
	if c.After != nil {
		return c.After
	}
	return c.Before
}

// Comparison says what changed from one statement to another. The lists may be
// shorter than the counts.
type Comparison struct {
	Before, After                 Side
	Same, AddedN, ChangedN, GoneN int64
	Added, Changed, Gone          []Change
	// Touched names every record that changed or is gone.
	Touched []RecordName
}

// RecordName is what a record is known by: its key, and the provider's id if
// it has one.
type RecordName struct{ Key, ProviderOperationID string }

// CompareRequest names two statements of a source. At most Limit records of
// each sort are listed.
type CompareRequest struct {
	Source
	Before, After Kept
	Limit         int
}

// Compare reads two statements of a source from the archive, under its present
// mapping, and tells how they differ. Records are the same by the source's rule
// of identity, and equal ones are counted off. Memory grows with the keys of one statement only.
func Compare(ctx context.Context, archive Archive, req CompareRequest) (Comparison, error) {
	c := comparing{
		Comparison: Comparison{Before: Side{Kept: req.Before}, After: Side{Kept: req.After}},
		archive:    archive, src: req.Source, limit: req.Limit, old: map[recordDigest]recordDigest{}, changed: map[recordDigest]int{},
	}
	if err := c.walk(ctx, &c.Before, func(key string, rec *sources.Record) {
		c.old[digest(key)] = fingerprint(rec)
	}); err != nil {
		return c.Comparison, err
	}
	if err := c.walk(ctx, &c.After, c.meet); err != nil {
		return c.Comparison, err
	}
	if c.ChangedN == 0 && len(c.old) == 0 {
		return c.Comparison, nil
	}
	c.GoneN = int64(len(c.old))
	again := Side{Kept: req.Before}
	err := c.walk(ctx, &again, c.lookBack)
	return c.Comparison, err
}

type recordDigest [16]byte

type comparing struct {
	Comparison
	archive Archive
	src     Source
	limit   int
	// old are the records of the earlier statement that the later one lacks so
	// far; changed those that it words otherwise, with their place in the list
	// (-1: not listed).
	old     map[recordDigest]recordDigest
	changed map[recordDigest]int
}

// meet compares a record of the later statement with the earlier one.
func (c *comparing) meet(key string, rec *sources.Record) {
	name := digest(key)
	was, known := c.old[name]
	delete(c.old, name)
	switch {
	case !known:
		c.AddedN++
		if len(c.Added) < c.limit {
			c.Added = append(c.Added, Change{Key: stored(key), After: clone(rec)})
		}
	case was == fingerprint(rec):
		c.Same++
	default:
		c.ChangedN++
		place := -1
		if len(c.Changed) < c.limit {
			place = len(c.Changed)
			c.Changed = append(c.Changed, Change{Key: stored(key), After: clone(rec)})
		}
		c.changed[name] = place
	}
}

// lookBack finds the words of the earlier statement on what has changed.
func (c *comparing) lookBack(key string, rec *sources.Record) {
	name := digest(key)
	place, changed := c.changed[name]
	_, gone := c.old[name]
	if !changed && !gone {
		return
	}
	c.Touched = append(c.Touched, RecordName{Key: stored(key), ProviderOperationID: rec.ProviderOperationID})
	switch {
	case gone && len(c.Gone) < c.limit:
		c.Gone = append(c.Gone, Change{Key: stored(key), Before: clone(rec)})
	case changed && place >= 0:
		change := &c.Changed[place]
		change.Before = clone(rec)
		change.Fields = differences(change.Before, change.After)
	}
}

// walk reads one side, and names each record: by its key, and its number where
// the statement has it more than once.
func (c *comparing) walk(ctx context.Context, side *Side, visit func(key string, rec *sources.Record)) error {
	d, err := side.Kept.delivery(ctx, c.archive, c.src)
	if err != nil {
		return err
	}
	body, err := c.archive.Open(ctx, d.SHA256)
	if err != nil {
		return fmt.Errorf("open the archived %s (statement %d): %w", d.Name, side.Kept.ID, err)
	}
	defer body.Close() //nolint:errcheck // only read from
	reader, err := openPartial(c.src.Format, body, d)
	if err != nil {
		return fmt.Errorf("open %s (statement %d): %w", d.Name, side.Kept.ID, err)
	}
	times := map[recordDigest]int{}
	var rec sources.Record
	for n := 0; ; n++ {
		if n%10_000 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := reader.Next(&rec)
		var reject *sources.Reject
		switch {
		case errors.Is(err, io.EOF):
			if reader.refusal != nil {
				side.Refused = reader.refusal.Error()
			}
			return nil
		case errors.As(err, &reject):
			side.Rejects++
			continue
		case err != nil:
			return fmt.Errorf("read %s (statement %d): %w", d.Name, side.Kept.ID, err)
		}
		side.Records++
		rec.Ordinal = 0
		key := c.src.Identity.Key(&rec)
		name := digest(key)
		nth := times[name]
		times[name]++
		if rec.ProviderOperationID == "" {
			rec.Ordinal = nth
			key = c.src.Identity.Key(&rec)
		} else if nth > 0 {
			key += occurrence + strconv.Itoa(nth+1)
		}
		visit(key, &rec)
	}
}

// occurrence stands between the key of a record and its number, where a
// statement has a record with an id more than once. No key contains it.
const occurrence = "\x00"

// stored is the key under which a record is stored.
func stored(key string) string {
	key, _, _ = strings.Cut(key, occurrence)
	return key
}

func digest(text string) recordDigest {
	sum := sha256.Sum256([]byte(text))
	return recordDigest(sum[:16])
}

func clone(rec *sources.Record) *sources.Record {
	out := *rec
	return &out
}

// recordFields are the fields of a record as text, but for those in which one
// record never differs from itself.
func recordFields(rec *sources.Record) []FieldChange {
	amount, fee := "", ""
	if rec.HasAmount {
		amount = money.FormatMinor(rec.AmountMinor, rec.Currency)
	}
	if rec.HasFee {
		fee = money.FormatMinor(rec.FeeMinor, rec.Currency)
	}
	return []FieldChange{
		{Field: "status", After: string(rec.Status)},
		{Field: "provider_status", After: rec.ProviderStatus},
		{Field: "amount", After: amount},
		{Field: "currency", After: rec.Currency},
		{Field: "business_reference", After: rec.BusinessReference},
		{Field: "folded_references", After: strings.Join(rec.FoldedReferences, " ")},
		{Field: "idempotency_key", After: rec.IdempotencyKey},
		{Field: "direction", After: string(rec.Direction)},
		{Field: "kind", After: string(rec.Kind)},
		{Field: "occurred_at", After: instantText(rec.OccurredAt)},
		{Field: "occurred_to", After: instantText(rec.OccurredTo)},
		{Field: "booked_at", After: instantText(rec.BookedAt)},
		{Field: "settled_at", After: instantText(rec.SettledAt)},
		{Field: "fee", After: fee},
		{Field: "batch_id", After: rec.BatchID},
		{Field: "related_id", After: rec.RelatedID},
	}
}

func instantText(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339Nano)
}

// fingerprint is equal for two records where all of recordFields are.
func fingerprint(rec *sources.Record) recordDigest {
	var stack [512]byte
	b := stack[:0]
	number := func(n int64) { b = binary.LittleEndian.AppendUint64(b, uint64(n)) } //nolint:gosec // bits only
	text := func(t string) {
		number(int64(len(t)))
		b = append(b, t...)
	}
	for _, t := range [...]string{
		string(rec.Status), rec.ProviderStatus, rec.Currency, rec.BusinessReference, rec.IdempotencyKey,
		string(rec.Direction), string(rec.Kind), rec.BatchID, rec.RelatedID,
	} {
		text(t)
	}
	number(int64(len(rec.FoldedReferences)))
	for _, t := range rec.FoldedReferences {
		text(t)
	}
	for _, at := range [...]time.Time{rec.OccurredAt, rec.OccurredTo, rec.BookedAt, rec.SettledAt} {
		number(at.UnixMicro())
	}
	for _, amount := range [...]struct {
		minor int64
		has   bool
	}{{rec.AmountMinor, rec.HasAmount}, {rec.FeeMinor, rec.HasFee}} {
		if amount.has {
			number(amount.minor)
		} else {
			text("none")
		}
	}
	sum := sha256.Sum256(b)
	return recordDigest(sum[:16])
}

func differences(before, after *sources.Record) []FieldChange {
	old, now := recordFields(before), recordFields(after)
	var out []FieldChange
	for i := range now {
		if old[i].After != now[i].After {
			out = append(out, FieldChange{Field: now[i].Field, Before: old[i].After, After: now[i].After})
		}
	}
	return out
}
