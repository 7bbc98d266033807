package reconcile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"time"

	"reconciler/sources"
)

// Kept is a registered statement whose bytes are in the archive, as far as it
// takes to read it once more.
type Kept struct {
	ID       int64
	Source   string
	Accounts []string
	Name     string
	Version  string
	SHA256   string
	Size     int64
	State    string
	Period   sources.Period
	AsOf     time.Time
	// MappingDigest under which it was read.
	MappingDigest string
	// ManifestSHA256 is empty if no file vouches for it.
	ManifestSHA256 string
	// ReplacedBy is 0 while it is current, itself if a person discarded it.
	ReplacedBy int64
}

// delivery is the statement as it was once delivered, with its manifest. What
// speaks for its own time no longer, its file's time, is made up for.
func (k *Kept) delivery(ctx context.Context, archive Archive, src Source) (sources.Delivery, error) {
	d := sources.Delivery{
		Name: k.Name, Version: k.Version, Size: k.Size, SHA256: k.SHA256, ModifiedAt: k.AsOf.Add(src.ProductionDelay),
	}
	if k.ManifestSHA256 == "" {
		return d, nil
	}
	text, err := k.manifest(ctx, archive)
	d.Manifest = text
	return d, err
}

func (k *Kept) manifest(ctx context.Context, archive Archive) ([]byte, error) {
	body, err := archive.Open(ctx, k.ManifestSHA256)
	if err != nil {
		return nil, fmt.Errorf("open the manifest of %s: %w", k.Name, err)
	}
	text, err := io.ReadAll(io.LimitReader(body, sources.MaxManifest))
	if err = errors.Join(err, body.Close()); err != nil {
		return nil, fmt.Errorf("read the manifest of %s: %w", k.Name, err)
	}
	return append([]byte{}, text...), nil
}

// Outdated reports that a kept statement was read under another mapping than
// the source's present one.
func (k *Kept) Outdated(ctx context.Context, archive Archive, src Source) (bool, error) {
	doc := src.document(sources.Delivery{})
	if k.ManifestSHA256 != "" {
		text, err := k.manifest(ctx, archive)
		if err != nil {
			return false, err
		}
		doc.vouchedBy(text)
	}
	return doc.MappingDigest != k.MappingDigest, nil
}

// Reprocess reads a kept statement again, from the archive, under the present
// mapping of its source. Its name, its bytes and its as_of stay what they are.
func Reprocess(ctx context.Context, store Statements, archive Archive, kept Kept, req IngestRequest) (Ingested, error) {
	d, err := kept.delivery(ctx, archive, req.Source)
	if err != nil {
		return Ingested{}, err
	}
	req.Delivery = d
	req.Location = &shelf{archive: archive, kept: kept}
	return Ingest(ctx, store, archive, req)
}

// shelf is the archive as the location of one kept statement.
type shelf struct {
	archive Archive
	kept    Kept
}

var _ sources.Siblings = (*shelf)(nil)

// List yields nothing: what is read is known.
func (s *shelf) List(context.Context) iter.Seq2[sources.Delivery, error] {
	return func(func(sources.Delivery, error) bool) {}
}

// Open opens the kept bytes.
func (s *shelf) Open(ctx context.Context, _ sources.Delivery) (io.ReadCloser, error) {
	return s.archive.Open(ctx, s.kept.SHA256)
}

// Sibling opens the kept manifest.
func (s *shelf) Sibling(ctx context.Context, _ sources.Delivery, name string) (io.ReadCloser, error) {
	if s.kept.ManifestSHA256 == "" {
		return nil, fmt.Errorf("open %s: %w: none was kept when %s was read", name, fs.ErrNotExist, s.kept.Name)
	}
	text, err := s.kept.manifest(ctx, s.archive)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(text)), nil
}
