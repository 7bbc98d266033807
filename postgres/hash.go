package postgres

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"reconciler/sources"
)

// A hash stands for a text in an index, 8 bytes instead of the text. It proves
// nothing: whatever a hash finds is compared in full. The first byte keeps the
// kinds of names apart, a zero byte their parts.
const (
	hashProviderID = 'i'
	hashRecord     = 'r'
	hashReference  = 'b'
	hashEchoedKey  = 'k'
	hashFolded     = 'f'
	hashContent    = 'c'
	hashNear       = 'n'
)

// hasher computes hashes without allocating.
type hasher struct{ buf []byte }

func (h *hasher) sum(kind byte, parts ...string) int64 {
	h.buf = append(h.buf[:0], kind)
	for _, p := range parts {
		h.buf = append(h.buf, p...)
		h.buf = append(h.buf, 0)
	}
	return int64(xxhash.Sum64(h.buf)) //nolint:gosec // the bits are kept, the sign means nothing
}

// content is the hash of everything that a record says, but for its line: two
// rows with equal content say the same.
func (h *hasher) content(rec *sources.Record) int64 {
	b := append(h.buf[:0], hashContent)
	str := func(s string) { b = append(append(b, s...), 0) }
	num := func(n int64) { b = binary.LittleEndian.AppendUint64(b, uint64(n)) } //nolint:gosec // bits only
	for _, s := range [...]string{
		rec.ProviderOperationID, rec.IdempotencyKey, rec.BusinessReference, rec.Currency,
		string(rec.Direction), string(rec.Kind), string(rec.Status), rec.ProviderStatus, rec.BatchID, rec.RelatedID, rec.Account,
	} {
		str(s)
	}
	for _, s := range rec.FoldedReferences {
		str(s)
	}
	num(rec.AmountMinor)
	num(rec.FeeMinor)
	flags := int64(0)
	if rec.HasAmount {
		flags |= 1
	}
	if rec.HasFee {
		flags |= 2
	}
	num(flags)
	num(rec.OccurredAt.UnixMicro())
	num(rec.OccurredTo.UnixMicro())
	num(rec.BookedAt.UnixMicro())
	num(rec.SettledAt.UnixMicro())
	h.buf = b
	return int64(xxhash.Sum64(b)) //nolint:gosec // bits only
}
