// Package archive keeps the bytes of statements in a folder, by their SHA-256:
// what a decision rested on can be shown for as long as it is kept. It exists
// because every location needs it and none owns it.
package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
)

// Folder is an archive on a local disk.
type Folder struct{ dir string }

// New returns the archive in dir, which is made when the first bytes arrive.
func New(dir string) *Folder { return &Folder{dir: dir} }

// Put copies r to its end, and returns its digest and size. Bytes that are
// kept already are not kept twice. A copy that breaks off leaves nothing
// under a digest.
func (f *Folder) Put(ctx context.Context, r io.Reader) (digest string, size int64, err error) {
	if err := os.MkdirAll(f.dir, 0o750); err != nil {
		return "", 0, fmt.Errorf("make the archive: %w", err)
	}
	tmp, err := os.CreateTemp(f.dir, ".incoming-*")
	if err != nil {
		return "", 0, fmt.Errorf("write to the archive: %w", err)
	}
	defer func() {
		err = errors.Join(err, ignoreMissing(os.Remove(tmp.Name())))
	}()
	defer tmp.Close() //nolint:errcheck // closed with its error below
	h := sha256.New()
	size, err = io.Copy(io.MultiWriter(tmp, h), &cancellable{ctx, r})
	if err != nil {
		return "", 0, err
	}
	digest = hex.EncodeToString(h.Sum(nil))
	path := f.path(digest)
	if info, err := os.Stat(path); err == nil && info.Size() == size {
		return digest, size, nil
	}
	if err := tmp.Sync(); err != nil {
		return "", 0, fmt.Errorf("write to the archive: %w", err)
	}
	if err := tmp.Close(); err != nil {
		return "", 0, fmt.Errorf("write to the archive: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return "", 0, fmt.Errorf("make the archive: %w", err)
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return "", 0, fmt.Errorf("write to the archive: %w", err)
	}
	return digest, size, nil
}

// Open reads what is kept under a digest.
func (f *Folder) Open(_ context.Context, digest string) (io.ReadCloser, error) {
	file, err := os.Open(f.path(digest))
	if err != nil {
		return nil, fmt.Errorf("open archived statement: %w", err)
	}
	return &verified{File: file, digest: digest, sum: sha256.New()}, nil
}

// verified reads a kept file, and refuses to end if it is not what its name
// says: a damaged copy must not pass for the statement.
type verified struct {
	*os.File
	digest string
	sum    hash.Hash
}

func (v *verified) Read(p []byte) (int, error) {
	n, err := v.File.Read(p)
	v.sum.Write(p[:n])
	if errors.Is(err, io.EOF) && hex.EncodeToString(v.sum.Sum(nil)) != v.digest {
		return n, fmt.Errorf("the archived copy %s is damaged; remove it, and deliver the statement again", v.Name())
	}
	return n, err
}

// WriteTo is not the file's own: every byte goes through Read.
func (v *verified) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{v})
}

func (f *Folder) path(digest string) string {
	return filepath.Join(f.dir, digest[:2], digest)
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// cancellable ends a copy when its context does.
type cancellable struct {
	ctx context.Context //nolint:containedctx // lives for one copy, and io.Copy has no context
	r   io.Reader
}

func (c *cancellable) Read(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.r.Read(p)
}
