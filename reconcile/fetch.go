package reconcile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"reconciler/sources"
)

// fetch reads what a source delivers. A source that can't be listed or opened
// is an outage: the run goes on with what is stored, and is incomplete.
func (st *running) fetch(ctx context.Context, src Source) error {
	for d, err := range src.Location.List(ctx) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			st.outage(src, fmt.Errorf("list deliveries: %w", err))
			return nil
		}
		if err := st.ingest(ctx, src, d); err != nil {
			var outage *outageError
			if !errors.As(err, &outage) {
				return err
			}
			st.outage(src, err)
		}
	}
	return nil
}

// outageError is a source that can't be read; the rest of the run can go on.
type outageError struct{ err error }

func (e *outageError) Error() string { return e.err.Error() }
func (e *outageError) Unwrap() error { return e.err }

func (st *running) outage(src Source, err error) {
	st.Log.Error("source can't be read; the run is incomplete", "source", src.Rule.Name, "error", err)
	st.outages = append(st.outages, fmt.Sprintf("%s: can't be read: %v", src.Rule.Name, err))
}

// ingest registers one delivery, unless it is known already.
func (st *running) ingest(ctx context.Context, src Source, d sources.Delivery) error {
	res, err := Ingest(ctx, st.Store, st.Archive, IngestRequest{
		Source: src, Delivery: d, RunID: st.run.ID, At: st.run.At,
		Progress: st.done, Started: func() { st.phase("load "+d.Name, -1) },
	})
	if err != nil {
		return err
	}
	log := st.Log.With("source", src.Rule.Name, "statement", d.Name, "statement_id", res.Registered.ID)
	switch {
	case res.Known:
		st.sum.Statements.Duplicate++
		log.Debug("statement is known already", "state", res.Registered.State)
	case res.Registered.State == "quarantined":
		st.sum.Statements.Quarantined++
		log.Warn("statement is in quarantine", "reason", res.Registered.Reason)
	default:
		st.sum.Statements.Accepted++
		log.Info("statement accepted", "records", res.Loaded.Summary.Records, "new", res.Loaded.New, "changed", res.Loaded.Changed,
			"rejects", res.Loaded.Rejects, "complete", res.Registered.Complete)
	}
	st.sum.Records.Read += res.Loaded.Summary.Rows
	st.sum.Records.New += res.Loaded.New
	st.sum.Records.Changed += res.Loaded.Changed
	st.sum.Records.Rejected += res.Loaded.Rejects
	return nil
}

// IngestRequest is one delivery to register.
type IngestRequest struct {
	Source
	Delivery sources.Delivery
	RunID    string
	At       time.Time
	Progress func(rows int64)
	Started  func()
}

// Ingested says what became of a delivery.
type Ingested struct {
	Registered Registered
	Loaded     Loaded
	// Known: it had been registered before; nothing was stored.
	Known bool
}

// Ingest reads one delivery: known already, accepted, or into quarantine. The
// bytes are kept in the archive first, and read from there, so that what was
// read can be shown for ever.
func Ingest(ctx context.Context, store Statements, archive Archive, req IngestRequest) (Ingested, error) {
	doc := req.document(req.Delivery)
	doc.RunID, doc.At, doc.Progress = req.RunID, req.At, req.Progress
	var unreadable *sources.Refusal
	period, err := req.Format.Period(req.Delivery)
	if err != nil && !errors.As(err, &unreadable) {
		return Ingested{}, fmt.Errorf("tell the period of %s: %w", req.Delivery.Name, err)
	}
	doc.Period = period
	if err := vouch(ctx, archive, &req, &doc); err != nil {
		return Ingested{}, err
	}
	digest, err := keep(ctx, archive, req, &doc)
	if err != nil {
		return Ingested{}, err
	}
	doc.SHA256 = digest
	req.Delivery.SHA256, req.Delivery.Size = digest, doc.Size
	stater, ok := req.Format.(sources.PeriodStater)
	doc.AnyPeriod = ok && stater.StatesPeriod()
	known, err := store.Known(ctx, doc.StatementID)
	if err != nil {
		return Ingested{}, err
	}
	if known != nil {
		return Ingested{Registered: *known, Known: true}, store.Redelivered(ctx, doc, *known)
	}
	var rejects []sources.Reject
	dated, ok := req.Format.(sources.AsOfStater)
	if statesAsOf := ok && dated.StatesAsOf(); doc.AnyPeriod || statesAsOf {
		var said sources.Summary
		said, rejects, err = survey(ctx, archive, req, statesAsOf)
		if err != nil && !errors.As(err, &unreadable) {
			return Ingested{}, err
		}
		doc.StatedAsOf = said.AsOf
		if doc.AnyPeriod {
			doc.Period = said.Period
		}
	}
	if unreadable != nil {
		return quarantine(ctx, store, doc, rejects, unreadable)
	}
	if req.Started != nil {
		req.Started()
	}
	return load(ctx, store, archive, req, doc)
}

// keep brings the delivery's bytes into the archive.
func keep(ctx context.Context, archive Archive, req IngestRequest, doc *Document) (digest string, err error) {
	body, err := req.Location.Open(ctx, req.Delivery)
	if err != nil {
		return "", &outageError{fmt.Errorf("open %s: %w", req.Delivery.Name, err)}
	}
	digest, doc.Size, err = archive.Put(ctx, body)
	if closing := body.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return "", &outageError{fmt.Errorf("read %s: %w", req.Delivery.Name, err)}
	}
	return digest, nil
}

// vouch reads the manifest of a delivery, where its format asks for one. One
// that is not there is an outage: the delivery is not finished. What it says is
// a part of how the document is read, so another manifest reads it again.
func vouch(ctx context.Context, archive Archive, req *IngestRequest, doc *Document) error {
	vouched, ok := req.Format.(sources.Vouched)
	if !ok {
		return nil
	}
	name := vouched.ManifestName(req.Delivery)
	if name == "" {
		return nil
	}
	siblings, ok := req.Location.(sources.Siblings)
	if !ok {
		return &outageError{fmt.Errorf("read the manifest %s: this kind of location has no files next to each other", name)}
	}
	body, err := siblings.Sibling(ctx, req.Delivery, name)
	if err != nil {
		return &outageError{fmt.Errorf("read the manifest of %s, which is not finished without it: %w", req.Delivery.Name, err)}
	}
	text, err := io.ReadAll(io.LimitReader(body, sources.MaxManifest+1))
	if closing := body.Close(); err == nil {
		err = closing
	}
	if err == nil && len(text) > sources.MaxManifest {
		err = fmt.Errorf("it is larger than %d bytes", sources.MaxManifest)
	}
	if err != nil {
		return &outageError{fmt.Errorf("read the manifest %s: %w", name, err)}
	}
	if doc.ManifestSHA256, _, err = archive.Put(ctx, bytes.NewReader(text)); err != nil {
		return fmt.Errorf("keep the manifest %s: %w", name, err)
	}
	doc.vouchedBy(text)
	req.Delivery.Manifest = append([]byte{}, text...)
	return nil
}

// vouchedBy notes what the manifest says as a part of how the document is read.
func (d *Document) vouchedBy(manifest []byte) {
	sum := sha256.Sum256(append([]byte(d.MappingDigest), manifest...))
	d.MappingDigest = hex.EncodeToString(sum[:])
}

// document is what the source knows of a delivery before it is read.
func (s *Source) document(d sources.Delivery) Document {
	return Document{
		StatementID: StatementID{Source: s.Rule.Name, Accounts: s.Rule.Accounts, MappingDigest: s.Format.Digest()},
		Provider:    s.Rule.Provider, Name: strings.ToValidUTF8(d.Name, "\uFFFD"), Version: d.Version, Size: d.Size, Format: s.Format.Name(),
		ModifiedAt: d.ModifiedAt, ProductionDelay: s.ProductionDelay,
		Identity: s.Identity, DatedBy: s.Rule.DatedBy, Fold: s.Fold,
	}
}

// survey asks the document itself for its period (and, where whole, for its
// as_of, which may stand behind the rows): its preamble, else all
// of its rows. A *sources.Refusal comes with the rejects before it.
func survey(ctx context.Context, archive Archive, req IngestRequest, whole bool) (sources.Summary, []sources.Reject, error) {
	body, err := archive.Open(ctx, req.Delivery.SHA256)
	if err != nil {
		return sources.Summary{}, nil, fmt.Errorf("open the archived %s: %w", req.Delivery.Name, err)
	}
	defer body.Close() //nolint:errcheck // only read from
	reader, err := req.Format.Open(body, req.Delivery)
	if err != nil {
		return sources.Summary{}, nil, fmt.Errorf("open %s: %w", req.Delivery.Name, err)
	}
	// What stands before the rows is known even of a document that is refused.
	var known sources.Summary
	if early, ok := reader.(sources.PeriodReader); ok {
		known.Period = early.Period()
	}
	if !whole && !known.Period.IsZero() {
		return known, nil, nil
	}
	collected := &rejectCollector{Reader: reader}
	for rec := (sources.Record{}); ctx.Err() == nil; {
		err := collected.Next(&rec)
		var reject *sources.Reject
		switch {
		case err == nil, errors.As(err, &reject):
		case errors.Is(err, io.EOF):
			sum, err := reader.Summary()
			if err != nil {
				return known, collected.rejects, fmt.Errorf("read %s: %w", req.Delivery.Name, err)
			}
			return sum, collected.rejects, nil
		default:
			return known, collected.rejects, fmt.Errorf("read %s: %w", req.Delivery.Name, err)
		}
	}
	return sources.Summary{}, nil, context.Cause(ctx)
}

func load(ctx context.Context, store Statements, archive Archive, req IngestRequest, doc Document) (Ingested, error) {
	body, err := archive.Open(ctx, doc.SHA256)
	if err != nil {
		return Ingested{}, fmt.Errorf("open the archived %s: %w", doc.Name, err)
	}
	defer body.Close() //nolint:errcheck // only read from
	collected := &rejectCollector{}
	var loaded Loaded
	if collected.Reader, err = req.Format.Open(body, req.Delivery); err == nil {
		loaded, err = store.Load(ctx, doc, collected)
	}
	var refusal *sources.Refusal
	switch {
	case errors.As(err, &refusal):
		return quarantine(ctx, store, doc, collected.rejects, refusal)
	case err != nil:
		return Ingested{}, fmt.Errorf("load %s: %w", doc.Name, err)
	}
	return Ingested{Registered: loaded.Registered, Loaded: loaded, Known: loaded.Known}, nil
}

func quarantine(ctx context.Context, store Statements, doc Document, rejects []sources.Reject, refusal *sources.Refusal) (Ingested, error) {
	reg, err := store.Quarantine(ctx, doc, rejects, refusal)
	if err != nil {
		return Ingested{}, err
	}
	return Ingested{Registered: reg}, nil
}

// rejectCollector remembers the rejects that pass, for a document that is
// refused in the end: its load leaves nothing behind.
type rejectCollector struct {
	sources.Reader
	rejects []sources.Reject
}

// collectedRejects is how many rejects of a refused document are kept.
const collectedRejects = 1000

// Next passes the next record on.
func (c *rejectCollector) Next(rec *sources.Record) error {
	err := c.Reader.Next(rec)
	var reject *sources.Reject
	if errors.As(err, &reject) && len(c.rejects) < collectedRejects {
		c.rejects = append(c.rejects, *reject)
	}
	return err
}
