// Package parts makes one delivery of a document that comes in several files.
// It is a folder of its own because it stands before any location and any
// format, and both stay as they are: to them there is one document, and its
// period is covered only if every part of it was there.
package parts

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"reconciler/sources"
)

// MaxParts bounds how many files one document may have.
const MaxParts = 1000

// ErrMissing says that not all parts of a document are there yet.
var ErrMissing = errors.New("parts are missing")

// Location offers the documents of another location, whole.
type Location struct {
	inner    sources.Location
	pattern  *regexp.Regexp
	part, of int
}

var _ sources.Location = (*Location)(nil)

// Compile checks a rule. The error names the key.
func Compile(rule *sources.Parts) (*regexp.Regexp, error) {
	pattern, err := regexp.Compile(rule.Pattern)
	if err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	if pattern.SubexpIndex("part") < 0 || pattern.SubexpIndex("of") < 0 {
		return nil, fmt.Errorf("pattern: %q must have the groups (?P<part>…) and (?P<of>…)", rule.Pattern)
	}
	return pattern, nil
}

// Wrap joins the files of a location by a rule; without one it returns the
// location as it is.
func Wrap(inner sources.Location, rule *sources.Parts) (sources.Location, error) {
	if rule == nil {
		return inner, nil
	}
	pattern, err := Compile(rule)
	if err != nil {
		return nil, err
	}
	return &Location{inner: inner, pattern: pattern, part: pattern.SubexpIndex("part"), of: pattern.SubexpIndex("of")}, nil
}

// document is what was listed of one document.
type document struct {
	name  string
	of    int
	parts map[int]sources.Delivery
	// wrong says what is wrong with its names.
	wrong string
}

// List yields each document once, in the order of their names. One of which a
// part is missing is offered too, and can't be opened: it must not be
// overlooked. A file that is no part is offered as it is.
func (l *Location) List(ctx context.Context) iter.Seq2[sources.Delivery, error] {
	return func(yield func(sources.Delivery, error) bool) {
		documents, whole, err := l.group(ctx)
		if err != nil {
			yield(sources.Delivery{}, err)
			return
		}
		for _, d := range documents {
			whole = append(whole, d.delivery())
		}
		slices.SortFunc(whole, func(a, b sources.Delivery) int { return strings.Compare(a.Name, b.Name) })
		for _, d := range whole {
			if !yield(d, nil) {
				return
			}
		}
	}
}

func (l *Location) group(ctx context.Context) (map[string]*document, []sources.Delivery, error) {
	documents := map[string]*document{}
	var whole []sources.Delivery
	for d, err := range l.inner.List(ctx) {
		if err != nil {
			return nil, nil, err
		}
		name, part, of, ok := l.read(d.Name)
		if !ok {
			whole = append(whole, d)
			continue
		}
		doc := documents[name]
		if doc == nil {
			doc = &document{name: name, of: of, parts: map[int]sources.Delivery{}}
			documents[name] = doc
		}
		switch {
		case part < 1 || part > of || of > MaxParts:
			doc.wrong = fmt.Sprintf("%q is part %d of %d; there may be up to %d", d.Name, part, of, MaxParts)
		case doc.parts[part].Name != "":
			doc.wrong = fmt.Sprintf("%q and %q are both part %d", doc.parts[part].Name, d.Name, part)
		default:
			doc.parts[part] = d
		}
	}
	return documents, whole, nil
}

// read takes a name apart: that of the document has * for the number.
func (l *Location) read(name string) (document string, part, of int, ok bool) {
	at := l.pattern.FindStringSubmatchIndex(name)
	if at == nil || at[2*l.part] < 0 || at[2*l.of] < 0 {
		return "", 0, 0, false
	}
	partAt, ofAt := at[2*l.part:2*l.part+2], at[2*l.of:2*l.of+2]
	part, partErr := strconv.Atoi(name[partAt[0]:partAt[1]])
	of, ofErr := strconv.Atoi(name[ofAt[0]:ofAt[1]])
	if partErr != nil || ofErr != nil {
		return "", 0, 0, false
	}
	return name[:partAt[0]] + "*" + name[partAt[1]:], part, of, true
}

// delivery describes the document: as large as all parts, as old as the last.
func (d *document) delivery() sources.Delivery {
	out := sources.Delivery{Name: d.name}
	var versions []string
	for part := range d.of {
		one := d.parts[part+1]
		if out.Size >= 0 && one.Size >= 0 {
			out.Size += one.Size
		} else {
			out.Size = -1
		}
		if one.ModifiedAt.After(out.ModifiedAt) {
			out.ModifiedAt = one.ModifiedAt
		}
		if one.Version != "" {
			versions = append(versions, one.Version)
		}
	}
	out.Version = strings.Join(versions, "+")
	return out
}

// Open opens all parts, one behind the other. It fails with ErrMissing if they
// are not all there: the provider is not ready.
func (l *Location) Open(ctx context.Context, d sources.Delivery) (io.ReadCloser, error) {
	documents, _, err := l.group(ctx)
	if err != nil {
		return nil, err
	}
	doc, ok := documents[d.Name]
	if !ok {
		return l.inner.Open(ctx, d)
	}
	if doc.wrong != "" {
		return nil, fmt.Errorf("open %s: %s", d.Name, doc.wrong)
	}
	var missing []string
	for part := range doc.of {
		if doc.parts[part+1].Name == "" {
			missing = append(missing, strconv.Itoa(part+1))
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("open %s: %w: %s of %d", d.Name, ErrMissing, strings.Join(missing, ", "), doc.of)
	}
	if now := doc.delivery(); now.Size != d.Size || !now.ModifiedAt.Equal(d.ModifiedAt) || now.Version != d.Version {
		return nil, fmt.Errorf("open %s: a part changed since it was listed; run again when all have been written", d.Name)
	}
	return &joined{ctx: ctx, location: l, doc: doc}, nil
}

// joined reads the parts of a document in their order. A line that ends with a
// part ends there.
type joined struct {
	ctx      context.Context //nolint:containedctx // lives as long as the reader, whose Read has no context
	location *Location
	doc      *document
	at       int
	open     io.ReadCloser
	text     *bufio.Reader
	packed   bool
	last     byte
}

// Read implements io.Reader.
func (j *joined) Read(p []byte) (int, error) {
	for len(p) > 0 {
		if j.open == nil {
			if j.at == j.doc.of {
				return 0, io.EOF
			}
			if j.at > 0 && !j.packed && j.last != '\n' {
				p[0], j.last = '\n', '\n'
				return 1, nil
			}
			if err := j.next(); err != nil {
				return 0, err
			}
		}
		n, err := j.text.Read(p)
		if n > 0 {
			j.last = p[n-1]
		}
		if err == io.EOF { //nolint:errorlint // a wrapped one is a source that broke off
			err = j.Close()
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
	return 0, nil
}

// next opens the next part, and looks whether it is packed: archives follow
// each other without anything between them.
func (j *joined) next() error {
	j.at++
	var err error
	if j.open, err = j.location.inner.Open(j.ctx, j.doc.parts[j.at]); err != nil {
		return err
	}
	j.text = bufio.NewReaderSize(j.open, 64<<10)
	head, err := j.text.Peek(4)
	if err != nil && err != io.EOF { //nolint:errorlint // a wrapped one is a source that broke off
		return err
	}
	j.packed = bytes.HasPrefix(head, []byte("\x1f\x8b")) || bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd"))
	return nil
}

// Close implements io.Closer.
func (j *joined) Close() error {
	if j.open == nil {
		return nil
	}
	err := j.open.Close()
	j.open = nil
	return err
}

// Sibling asks the location inside.
func (l *Location) Sibling(ctx context.Context, d sources.Delivery, name string) (io.ReadCloser, error) {
	inner, ok := l.inner.(sources.Siblings)
	if !ok {
		return nil, fmt.Errorf("open %s: this kind of location has no files next to each other", name)
	}
	return inner.Sibling(ctx, d, name)
}
