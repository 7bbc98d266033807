package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"reconciler/sources"
)

// ErrNothingReadable says that nothing of a document can be read, so that
// there is nothing to release.
var ErrNothingReadable = errors.New("nothing of the document can be read")

// ErrOtherMapping says that a document was refused under a mapping that is no
// longer the source's.
var ErrOtherMapping = errors.New("the mapping has changed since the document was refused")

// Handling is what a person does with a statement, and why.
type Handling struct {
	Actor, Reason string
	At            time.Time
}

// Releaser stores what a person releases from quarantine.
type Releaser interface {
	// Release loads what the reader yields as the records of a statement in
	// quarantine, which is never complete from then on. ErrNothingReadable if it
	// yields no record.
	Release(ctx context.Context, id int64, d Document, r sources.Reader, by Handling) (Loaded, error)
}

// ReleaseRequest is one document to release.
type ReleaseRequest struct {
	Source
	Kept Kept
	Handling
	Progress func(rows int64)
}

// Release makes the readable records of a document in quarantine evidence of
// presence. It never is evidence of absence, and no version of its period: it
// takes nothing back that another statement says.
func Release(ctx context.Context, store Releaser, archive Archive, req ReleaseRequest) (Loaded, error) {
	outdated, err := req.Kept.Outdated(ctx, archive, req.Source)
	if err != nil {
		return Loaded{}, err
	}
	if outdated {
		return Loaded{}, ErrOtherMapping
	}
	d, err := req.Kept.delivery(ctx, archive, req.Source)
	if err != nil {
		return Loaded{}, err
	}
	doc := req.document(d)
	doc.SHA256, doc.Period, doc.Accounts, doc.MappingDigest = d.SHA256, req.Kept.Period, req.Kept.Accounts, req.Kept.MappingDigest
	doc.At, doc.Progress = req.At, req.Progress
	body, err := archive.Open(ctx, d.SHA256)
	if err != nil {
		return Loaded{}, fmt.Errorf("open the archived %s: %w", d.Name, err)
	}
	defer body.Close() //nolint:errcheck // only read from
	reader, err := openPartial(req.Format, body, d)
	if err != nil {
		return Loaded{}, fmt.Errorf("open %s: %w", d.Name, err)
	}
	return store.Release(ctx, req.Kept.ID, doc, reader, req.Handling)
}
