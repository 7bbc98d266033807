package reconcile

import (
	"bytes"
	"errors"
	"io"

	"reconciler/sources"
)

// partial reads a document as far as it can be read: a refusal is its end, not
// an error. The last record before it is left out where the document may be
// cut inside of it: an amount that is cut short is another amount.
type partial struct {
	reader sources.Reader
	tail   *tail
	held   *sources.Record
	ended  bool
	// refusal that ended the reading; nil: there was none.
	refusal *sources.Refusal
	summary sources.Summary
}

// openPartial begins to read. A document that can't even be opened has no
// record, and its refusal.
func openPartial(f sources.Format, body io.Reader, d sources.Delivery) (*partial, error) {
	p := &partial{tail: &tail{r: body}}
	reader, err := f.Open(p.tail, d)
	switch {
	case errors.As(err, &p.refusal):
		p.ended = true
	case err != nil:
		return nil, err
	}
	p.reader = reader
	return p, nil
}

// Next implements sources.Reader. It gives every record one step late.
func (p *partial) Next(rec *sources.Record) error {
	for !p.ended {
		var next sources.Record
		err := p.reader.Next(&next)
		var reject *sources.Reject
		switch {
		case errors.As(err, &reject):
			p.summary.Rows++
			p.summary.Rejects++
			return reject
		case errors.As(err, &p.refusal):
			p.ended = true
		case errors.Is(err, io.EOF):
			p.ended = true
			if err := p.close(); err != nil {
				return err
			}
		case err != nil:
			return err
		case p.held == nil:
			p.held = &next
		default:
			*rec, *p.held = *p.held, next
			return p.give()
		}
	}
	if p.held == nil || p.doubtful(p.held) {
		return io.EOF
	}
	*rec, p.held = *p.held, nil
	return p.give()
}

func (p *partial) give() error {
	p.summary.Rows++
	p.summary.Records++
	return nil
}

// close asks the document for its totals.
func (p *partial) close() error {
	sum, err := p.reader.Summary()
	if err != nil && !errors.As(err, &p.refusal) {
		return err
	}
	if err == nil {
		// What was read is counted here.
		sum.Rows, sum.Records, sum.Rejects = p.summary.Rows, p.summary.Records, p.summary.Rejects
		p.summary = sum
		p.summary.Rows += sum.Skipped
	}
	return nil
}

// doubtful reports that the record may be a stump.
func (p *partial) doubtful(rec *sources.Record) bool {
	return p.refusal != nil && p.refusal.Line <= rec.Line && !p.tail.endsLine()
}

// Summary implements sources.Reader.
func (p *partial) Summary() (sources.Summary, error) {
	out := p.summary
	out.EndProof = sources.EndUnproven
	return out, nil
}

// tail remembers the last bytes of what is read.
type tail struct {
	r    io.Reader
	last [2]byte
}

// Read implements io.Reader.
func (t *tail) Read(b []byte) (int, error) {
	n, err := t.r.Read(b)
	switch {
	case n >= 2:
		copy(t.last[:], b[n-2:n])
	case n == 1:
		t.last = [2]byte{t.last[1], b[0]}
	}
	return n, err
}

// endsLine reports that the last character is a line end, in UTF-8 or UTF-16.
func (t *tail) endsLine() bool {
	return bytes.ContainsAny(t.last[1:], "\n\r") || t.last[1] == 0 && bytes.ContainsAny(t.last[:1], "\n\r") ||
		t.last[0] == 0 && bytes.ContainsAny(t.last[1:], "\n\r")
}
