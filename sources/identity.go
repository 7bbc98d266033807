package sources

import (
	"strconv"
	"time"
)

// Key returns the record_key: the canonical, readable text by which a record
// of this source is told from every other. Two records have the same key only
// if they agree in every part of it.
//
// With a provider's id it is account|id|kind|direction, and |day where ids
// restart daily. Without one it is
// account|day|amount|currency|direction|kind|reference|idempotency key|#ordinal,
// with the time instead of the day where periods are not whole days.
func (i IdentityRule) Key(rec *Record) string {
	return string(i.AppendKey(nil, rec))
}

// AppendKey appends what Key returns. Whoever numbers equal records asks for
// the key with ordinal 0 and counts.
func (i IdentityRule) AppendKey(dst []byte, rec *Record) []byte {
	if rec.ProviderOperationID == "" {
		dst = i.appendAlike(dst, rec)
		dst = append(dst, '|', '#')
		return strconv.AppendInt(dst, int64(rec.Ordinal), 10)
	}
	dst = appendPart(dst, rec.Account)
	dst = append(dst, '|')
	dst = appendPart(dst, rec.ProviderOperationID)
	dst = append(dst, '|')
	dst = appendPart(dst, string(rec.Kind))
	dst = append(dst, '|')
	dst = appendPart(dst, string(rec.Direction))
	if i.IDUniquePerDay {
		dst = append(dst, '|')
		dst = i.appendDay(dst, when(rec))
	}
	return dst
}

// appendAlike appends the key of a record without an id, up to its ordinal.
func (i IdentityRule) appendAlike(dst []byte, rec *Record) []byte {
	dst = appendPart(dst, rec.Account)
	dst = append(dst, '|')
	if i.TimeInKey {
		if at := when(rec); !at.IsZero() {
			dst = at.UTC().AppendFormat(dst, time.RFC3339Nano)
		}
	} else {
		dst = i.appendDay(dst, when(rec))
	}
	dst = append(dst, '|')
	if rec.HasAmount {
		dst = strconv.AppendInt(dst, rec.AmountMinor, 10)
	}
	for _, part := range [...]string{rec.Currency, string(rec.Direction), string(rec.Kind)} {
		dst = append(dst, '|')
		dst = appendPart(dst, part)
	}
	dst = append(dst, '|')
	if rec.BusinessReference != "" {
		dst = appendPart(dst, rec.BusinessReference)
	} else {
		for _, reference := range rec.FoldedReferences {
			dst = append(dst, '~')
			dst = appendPart(dst, reference)
		}
	}
	dst = append(dst, '|')
	return appendPart(dst, rec.IdempotencyKey)
}

// when is the time by which a record is told apart: when it happened, else
// when it was booked or settled.
func when(rec *Record) time.Time {
	switch {
	case !rec.OccurredAt.IsZero():
		return rec.OccurredAt
	case !rec.BookedAt.IsZero():
		return rec.BookedAt
	}
	return rec.SettledAt
}

// appendDay appends the day in the source's zone; nothing for no time.
func (i IdentityRule) appendDay(dst []byte, at time.Time) []byte {
	if at.IsZero() {
		return dst
	}
	if i.Zone != nil {
		at = at.In(i.Zone)
	} else {
		at = at.UTC()
	}
	return at.AppendFormat(dst, time.DateOnly)
}

// appendPart escapes the characters that separate parts.
func appendPart(dst []byte, part string) []byte {
	for i := range len(part) {
		switch c := part[i]; c {
		case '|', '\\', '~':
			dst = append(dst, '\\', c)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}
