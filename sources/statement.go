// Package sources holds the nouns of the provider's word (Statement, Record,
// Coverage ranges) and the two small interfaces between which every provider
// fits: a Location lists and opens deliveries, a Format reads them; neither
// knows the other. Each location and each format has a package below.
//
// The package refuses to decide anything: a source reads, package matcher
// decides, and nothing here knows the journal or the database.
package sources

import (
	"context"
	"fmt"
	"io"
	"iter"
	"time"
)

// Delivery is one thing that a location offers: a file, an object, a listing.
type Delivery struct {
	// Name identifies the delivery within its location, as a person would say it.
	Name string
	// Version tells two contents under one name apart where the location can
	// (an ETag, a version id); empty otherwise.
	Version string
	// Size in bytes; -1 if the location does not say.
	Size int64
	// ModifiedAt is the location's word on when the content was written; zero if unknown.
	ModifiedAt time.Time
	// SHA256 of the content, hex; empty as long as nobody has read it.
	SHA256 string
	// Manifest is the text of the file that vouches for this one; nil if none
	// was asked for.
	Manifest []byte
}

// Location lists and opens deliveries. List yields in a stable order; an error
// ends the listing and means that it is not whole. Open may be called more
// than once for a delivery, and fails if the content changed since List.
type Location interface {
	List(ctx context.Context) iter.Seq2[Delivery, error]
	Open(ctx context.Context, d Delivery) (io.ReadCloser, error)
}

// Siblings is a Location that can open another file next to a delivery by its
// name: the manifest that vouches for it. A file that is not there is an error
// that wraps fs.ErrNotExist.
type Siblings interface {
	Sibling(ctx context.Context, d Delivery, name string) (io.ReadCloser, error)
}

// Period is the time that a statement speaks of: half-open, [From, To), UTC.
type Period struct{ From, To time.Time }

// IsZero reports that the period is not known.
func (p Period) IsZero() bool { return p.From.IsZero() && p.To.IsZero() }

func (p Period) String() string {
	if p.IsZero() {
		return "unknown"
	}
	return fmt.Sprintf("[%s, %s)", p.From.UTC().Format(time.RFC3339), p.To.UTC().Format(time.RFC3339))
}

// Controls are control totals, declared by the provider or computed by us.
// A nil pointer means: not declared, or not computable.
type Controls struct {
	// Count of all data rows, rejected and skipped ones included.
	Count *int64 `json:"count,omitempty"`
	// Sum over the amount column of the same rows, in minor units, signed as written.
	Sum *int64 `json:"sum_minor,omitempty"`
	// Currency of the amounts, where one currency holds for the whole statement.
	Currency string `json:"currency,omitempty"`
	// Opening and Closing balance in minor units. Declared: as the document
	// states them. Computed: what the entries make of the other one.
	Opening *int64 `json:"opening_minor,omitempty"`
	Closing *int64 `json:"closing_minor,omitempty"`
	// First and Last number of a sequence without gaps, in the order of counting.
	First *int64 `json:"first,omitempty"`
	Last  *int64 `json:"last,omitempty"`
}

// EndProof says what proves that a statement was read to its end.
type EndProof string

// The ends that a statement can have.
const (
	// EndUnproven: nothing proves the end, and none was assumed. Never complete.
	EndUnproven EndProof = "unproven"
	// EndAssumed: the configuration takes the end of the file for the end.
	EndAssumed EndProof = "assumed"
	// EndFooter: a declared count or sum in a footer agrees with what was read,
	// or the footer stands there as a trailer.
	EndFooter EndProof = "footer"
	// EndDeclared: a count or sum that the document declares elsewhere agrees.
	EndDeclared EndProof = "declared"
	// EndBalance: opening balance and entries make the closing balance.
	EndBalance EndProof = "balance"
	// EndManifest: a second file vouches for the document.
	EndManifest EndProof = "manifest"
)

// Summary is what a format knows once the last row has been read.
type Summary struct {
	// Period and AsOf are as the document states them; zero if it does not.
	Period   Period
	AsOf     time.Time
	Declared Controls
	Computed Controls
	EndProof EndProof
	// Rows = Records + Rejects + Skipped.
	Rows, Records, Rejects, Skipped int64
	// FirstOccurred and LastOccurred bound OccurredAt over the records; zero if
	// no record has one. A period that they contradict is a wrong one.
	FirstOccurred, LastOccurred time.Time
	// Notes are for people: what was read in a way that they should know of.
	Notes []string
}

// Format reads documents of one form with one field mapping.
type Format interface {
	// Name of the format, as in the configuration ("csv").
	Name() string
	// Digest of everything in the mapping that can change what is read; hex.
	// A document read under another digest is read again.
	Digest() string
	// Period tells what can be known of the period without reading a row (from
	// the name of the delivery); zero if nothing.
	Period(d Delivery) (Period, error)
	// Open starts to read a document. The returned error may be a *Refusal.
	Open(r io.Reader, d Delivery) (Reader, error)
}

// Reader reads one document, row by row, in constant memory.
type Reader interface {
	// Next fills rec with the next record. It returns io.EOF after the last
	// row; a *Reject for a row that could not be understood (reading goes on);
	// a *Refusal if the document as a whole can't be trusted; any other error
	// is an outage. The strings in rec stay valid; rec itself is reused.
	Next(rec *Record) error
	// Summary is valid after io.EOF. Its error is a *Refusal if the document
	// as a whole can't be trusted (totals differ, no footer, no row at all).
	Summary() (Summary, error)
}

// PeriodReader is a Reader that may know the period of its document before the
// first row: from its preamble.
type PeriodReader interface {
	Reader
	// Period is zero if only the rows tell it, or nothing does.
	Period() Period
}

// PeriodStater is a Format whose documents may state their period themselves.
type PeriodStater interface {
	// StatesPeriod: the period is known after Open (PeriodReader), or where it
	// is still zero then, in the Summary after the last row.
	StatesPeriod() bool
}

// AsOfStater is a Format whose documents may state their as_of themselves.
type AsOfStater interface {
	// StatesAsOf: the as_of is in the Summary after the last row.
	StatesAsOf() bool
}

// MaxManifest bounds what is read of a manifest, in bytes.
const MaxManifest = 1 << 20

// Vouched is a Format whose documents come with a manifest.
type Vouched interface {
	// ManifestName is the file next to a delivery that must vouch for it;
	// empty if none does. Its text goes into Delivery.Manifest.
	ManifestName(d Delivery) string
}

// Reject is a row that could not be understood.
type Reject struct { //nolint:errname // the field's word, and a noun that is stored; being an error is how it travels
	// Line is the physical line on which the row starts, the header included.
	Line int
	// Field is the key of the mapping (occurred_at), empty if the row as such is wrong.
	Field string
	// Reason says what is wrong with the value, and quotes it.
	Reason string
}

func (r *Reject) Error() string {
	if r.Field == "" {
		return fmt.Sprintf("line %d: %s", r.Line, r.Reason)
	}
	return fmt.Sprintf("line %d: %s: %s", r.Line, r.Field, r.Reason)
}

// Refusal says why a document as a whole can't be trusted. The statement goes
// to quarantine: none of it counts as evidence or coverage.
type Refusal struct { //nolint:errname // as Reject
	// Line is the physical line where it shows; 0 if it concerns the whole document.
	Line int
	// Column is the header or number of the column; empty if none.
	Column string
	// Reason says what is wrong; Remedy what to do about it.
	Reason string
	Remedy string
}

func (r *Refusal) Error() string {
	text := r.Reason
	if r.Column != "" {
		text = fmt.Sprintf("column %q: %s", r.Column, text)
	}
	if r.Line > 0 {
		text = fmt.Sprintf("line %d: %s", r.Line, text)
	}
	if r.Remedy != "" {
		text += "; " + r.Remedy
	}
	return text
}
