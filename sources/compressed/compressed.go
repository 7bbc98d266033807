// Package compressed opens what is packed before a format reads it: gzip (of
// several members too), zip and zstd. It is a folder of its own because it
// stands between every location and every format, and knows neither.
//
// What a delivery is, its first bytes say, never its name or what a server
// claims. It is unpacked once: an archive in an archive is refused. One that
// is damaged, cut short or too large is refused as a document; it is never
// the end of one.
package compressed

import (
	"archive/zip"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"reconciler/sources"
)

// The limits that hold where none are declared.
const (
	DefaultMaxSize  = 8 << 30
	DefaultMaxRatio = 500
)

// ratioFrom is how much may be unpacked before the ratio is judged: short
// texts that repeat themselves pack well.
const ratioFrom = 16 << 20

// Rule says what is unpacked, and how much of it.
type Rule struct {
	// Member is a pattern (* ? [a-z]) for the name of the one file in a zip
	// archive that is meant; empty: the archive has one file.
	Member string
	// MaxSize of what is unpacked, in bytes, and MaxRatio to the packed bytes;
	// 0: the default.
	MaxSize, MaxRatio int64
}

// Check reports what is wrong with a rule, by the name of the key.
func (r Rule) Check() error {
	if _, err := path.Match(r.Member, ""); err != nil {
		return fmt.Errorf("member: %q is not a pattern; close every [", r.Member)
	}
	switch {
	case r.MaxSize < 0:
		return errors.New("max_size: it is negative")
	case r.MaxRatio < 0:
		return errors.New("max_ratio: it is negative")
	}
	return nil
}

// Wrap makes a format that unpacks its documents first.
func Wrap(f sources.Format, rule Rule) (sources.Format, error) {
	if err := rule.Check(); err != nil {
		return nil, err
	}
	if rule.MaxSize == 0 {
		rule.MaxSize = DefaultMaxSize
	}
	if rule.MaxRatio == 0 {
		rule.MaxRatio = DefaultMaxRatio
	}
	return &format{Format: f, rule: rule}, nil
}

type format struct {
	sources.Format
	rule Rule
}

var (
	_ sources.PeriodStater = (*format)(nil)
	_ sources.Vouched      = (*format)(nil)
)

// Digest covers which file of an archive is read. The limits are not in it:
// they change whether a document is read, never what.
func (f *format) Digest() string {
	if f.rule.Member == "" {
		return f.Format.Digest()
	}
	sum := sha256.Sum256([]byte(f.Format.Digest() + "\x00" + f.rule.Member))
	return hex.EncodeToString(sum[:])
}

// Open unpacks the document and opens it.
func (f *format) Open(r io.Reader, d sources.Delivery) (sources.Reader, error) {
	plain, err := open(r, f.rule)
	if err != nil {
		return nil, err
	}
	return f.Format.Open(plain, d)
}

// StatesAsOf asks the format inside.
func (f *format) StatesAsOf() bool {
	inner, ok := f.Format.(sources.AsOfStater)
	return ok && inner.StatesAsOf()
}

// StatesPeriod asks the format inside.
func (f *format) StatesPeriod() bool {
	inner, ok := f.Format.(sources.PeriodStater)
	return ok && inner.StatesPeriod()
}

// ManifestName asks the format inside.
func (f *format) ManifestName(d sources.Delivery) string {
	if inner, ok := f.Format.(sources.Vouched); ok {
		return inner.ManifestName(d)
	}
	return ""
}

// open returns the unpacked bytes of r.
func open(r io.Reader, rule Rule) (io.Reader, error) {
	in := &counter{src: r}
	packed := bufio.NewReaderSize(in, 64<<10)
	kind, err := sniff(packed, in)
	if err != nil || kind == "" {
		return packed, err
	}
	out := &expanding{kind: kind, in: in, rule: rule}
	switch kind {
	case "gzip":
		out.src, err = gzip.NewReader(packed)
	case "zstd":
		err = out.openZstd(packed)
	case "zip":
		err = out.openZip(r, packed)
	default:
		return nil, &sources.Refusal{
			Line: 0, Reason: fmt.Sprintf("the file is packed with %s, which is not supported", kind), Remedy: "ask the provider for gzip, zip or zstd",
		}
	}
	if err != nil {
		return nil, out.judge(err)
	}
	plain := bufio.NewReaderSize(out, 64<<10)
	inner, err := sniff(plain, nil)
	if err != nil {
		return nil, err
	}
	if inner != "" {
		return nil, &sources.Refusal{
			Reason: fmt.Sprintf("the file is packed twice: %s in %s", inner, kind), Remedy: "ask the provider to pack it once",
		}
	}
	return plain, nil
}

// sniff tells by the first bytes how they are packed; empty: not at all.
func sniff(r *bufio.Reader, in *counter) (string, error) {
	head, err := r.Peek(10)
	if err != nil && !errors.Is(err, io.EOF) {
		if refusal := (*sources.Refusal)(nil); errors.As(err, &refusal) {
			return "", refusal
		}
		return "", outage(err)
	}
	if in != nil && in.err != nil {
		return "", outage(in.err)
	}
	for _, magic := range [...]struct{ kind, bytes string }{
		{"gzip", "\x1f\x8b\x08"},
		{"zip", "PK\x03\x04"},
		{"zip", "PK\x05\x06"},
		{"zstd", "\x28\xb5\x2f\xfd"},
		{"xz", "\xfd7zXZ\x00"},
		{"7-Zip", "7z\xbc\xaf\x27\x1c"},
		{"RAR", "Rar!\x1a\x07"},
		{"lz4", "\x04\x22\x4d\x18"},
	} {
		if bytes.HasPrefix(head, []byte(magic.bytes)) {
			return magic.kind, nil
		}
	}
	if len(head) == 10 && bytes.HasPrefix(head, []byte("BZh")) && bytes.Equal(head[4:], []byte("1AY&SY")) {
		return "bzip2", nil
	}
	return "", nil
}

// outage is an error of the source, never an end.
func outage(err error) error {
	if errors.Is(err, io.EOF) {
		// Callers take io.EOF in an error for the end.
		return fmt.Errorf("read statement: %w: %v", io.ErrUnexpectedEOF, err) //nolint:errorlint // hidden on purpose
	}
	return fmt.Errorf("read statement: %w", err)
}

// counter counts what is read of a source, and remembers how it failed.
type counter struct {
	src io.Reader
	n   int64
	err error
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.src.Read(p)
	c.n += int64(n)
	if err != nil && err != io.EOF { // a wrapped io.EOF is a source that broke off
		c.err = err
	}
	return n, err
}

// counterAt is a counter for random access.
type counterAt struct {
	src io.ReaderAt
	c   *counter
}

// ReadAt implements io.ReaderAt.
func (a counterAt) ReadAt(p []byte, at int64) (int, error) {
	if at < 0 {
		return 0, io.ErrUnexpectedEOF // where a damaged directory points is no fault of the source
	}
	n, err := a.src.ReadAt(p, at)
	a.c.n += int64(n)
	if err != nil && err != io.EOF { // a wrapped io.EOF is a source that broke off
		a.c.err = err
	}
	return n, err
}

// expanding unpacks within limits, and tells damage from an outage.
type expanding struct {
	kind string
	src  io.Reader
	in   *counter
	rule Rule
	n    int64
	// release frees what the unpacking holds; nil: nothing.
	release func()
	failed  error
}

// Read implements io.Reader. Its errors are io.EOF, a *sources.Refusal of the
// document, or an outage.
func (e *expanding) Read(p []byte) (int, error) {
	if e.failed != nil {
		return 0, e.failed
	}
	n, err := e.src.Read(p)
	e.n += int64(n)
	switch {
	case e.n > e.rule.MaxSize:
		err = e.tooLarge(fmt.Sprintf("more than %d bytes (unpack.max_size)", e.rule.MaxSize))
	case e.n > ratioFrom && e.n/e.rule.MaxRatio > e.in.n:
		err = e.tooLarge(fmt.Sprintf("more than %d times its packed size (unpack.max_ratio)", e.rule.MaxRatio))
	case err != nil && err != io.EOF: //nolint:errorlint // only io.EOF itself is the end
		err = e.judge(err)
	}
	if err != nil {
		e.failed = err
		if e.release != nil {
			e.release()
		}
	}
	return n, err
}

func (e *expanding) tooLarge(what string) error {
	return &sources.Refusal{
		Reason: fmt.Sprintf("the %s archive unpacks to %s", e.kind, what),
		Remedy: "if the provider sends files like this, raise the limit",
	}
}

// judge tells an outage of the source from an archive that is no good.
func (e *expanding) judge(err error) error {
	if e.in.err != nil {
		return outage(e.in.err)
	}
	if refusal := (*sources.Refusal)(nil); errors.As(err, &refusal) {
		return refusal
	}
	if spool := (*spoolError)(nil); errors.As(err, &spool) {
		return spool
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &sources.Refusal{Reason: fmt.Sprintf("the %s archive is cut short", e.kind), Remedy: "fetch it again"}
	}
	return &sources.Refusal{Reason: fmt.Sprintf("the %s archive is damaged: %v", e.kind, err), Remedy: "fetch it again"}
}

// openZstd bounds the memory that a frame may ask for.
func (e *expanding) openZstd(packed io.Reader) error {
	const maxWindow = 128 << 20
	decoder, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
	if err != nil {
		return err
	}
	e.src, e.release = decoder, decoder.Close
	return nil
}

// openZip finds the one file that is meant.
func (e *expanding) openZip(r, packed io.Reader) error {
	at, size, err := e.randomAccess(r, packed)
	if err != nil {
		return err
	}
	archive, err := zip.NewReader(counterAt{at, e.in}, size)
	if err != nil {
		return err
	}
	member, err := e.member(archive)
	if err != nil {
		return err
	}
	if member.Flags&1 != 0 {
		return &sources.Refusal{Reason: "the zip archive is encrypted", Remedy: "ask the provider for one that is not"}
	}
	e.src, err = member.Open()
	return err
}

func (e *expanding) member(archive *zip.Reader) (*zip.File, error) {
	var fitting []*zip.File
	var names []string
	for _, f := range archive.File {
		base := path.Base(f.Name)
		if strings.HasSuffix(f.Name, "/") || strings.HasPrefix(f.Name, "__MACOSX/") || strings.HasPrefix(base, ".") {
			continue
		}
		if f.Name == "[Content_Types].xml" {
			return nil, &sources.Refusal{Reason: "the file is an Office document, not a packed text", Remedy: "correct format, or ask the provider for CSV"}
		}
		fits := e.rule.Member == ""
		for _, name := range []string{f.Name, base} {
			if ok, err := path.Match(e.rule.Member, name); err == nil && ok {
				fits = true
			}
		}
		if fits {
			fitting = append(fitting, f)
		}
		if len(names) < 10 {
			names = append(names, fmt.Sprintf("%q", f.Name))
		}
	}
	if len(fitting) == 1 {
		return fitting[0], nil
	}
	has := fmt.Sprintf("the zip archive has %d files (%s)", len(archive.File), strings.Join(names, ", "))
	switch {
	case len(archive.File) == 0:
		return nil, &sources.Refusal{Reason: "the zip archive has no file", Remedy: "fetch it again"}
	case e.rule.Member == "":
		return nil, &sources.Refusal{Reason: has, Remedy: "say by unpack.member which one is meant"}
	}
	return nil, &sources.Refusal{
		Reason: fmt.Sprintf("%s, of which %d match unpack.member %q", has, len(fitting), e.rule.Member), Remedy: "make the pattern fit exactly one",
	}
}

// spoolError is a failure of our own disk: an outage.
type spoolError struct{ err error }

func (s *spoolError) Error() string { return fmt.Sprintf("unpack statement: %v", s.err) }
func (s *spoolError) Unwrap() error { return s.err }

// randomAccess is what a zip archive needs: its directory stands at the end. A
// source that can't do it is copied to a file that has no name any more, and
// goes away with its handle.
func (e *expanding) randomAccess(r, packed io.Reader) (io.ReaderAt, int64, error) {
	if file, ok := r.(interface {
		io.ReaderAt
		io.Seeker
	}); ok {
		size, err := file.Seek(0, io.SeekEnd)
		if err != nil {
			return nil, 0, &spoolError{err}
		}
		return file, size, nil
	}
	tmp, err := os.CreateTemp("", "reconciler-*.zip")
	if err != nil {
		return nil, 0, &spoolError{err}
	}
	e.release = func() { _ = tmp.Close() } //nolint:errcheck // only read from
	if err := os.Remove(tmp.Name()); err != nil {
		return nil, 0, &spoolError{err}
	}
	size, err := io.Copy(tmp, io.LimitReader(packed, e.rule.MaxSize+1))
	if e.in.err != nil {
		return nil, 0, e.in.err
	}
	if err != nil {
		return nil, 0, &spoolError{err}
	}
	if size > e.rule.MaxSize {
		return nil, 0, e.tooLarge(fmt.Sprintf("more than %d bytes (unpack.max_size)", e.rule.MaxSize))
	}
	return tmp, size, nil
}
