package reports

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// sortedZip is a zip archive whose files stand in order of their names and
// carry no time. The library walks its sheets in random order; with this the
// same report gives the same bytes. Files are kept compressed until Close.
type sortedZip struct {
	out   io.Writer
	files []*zipFile
}

func newSortedZip(out io.Writer) *sortedZip { return &sortedZip{out: out} }

// zipFile compresses what is written to it.
type zipFile struct {
	name   string
	packed bytes.Buffer
	flate  *flate.Writer
	crc    uint32
	size   uint64
}

// Create starts a file of the archive.
func (z *sortedZip) Create(name string) (io.Writer, error) {
	if err := z.finish(); err != nil {
		return nil, err
	}
	f := &zipFile{name: name}
	var err error
	if f.flate, err = flate.NewWriter(&f.packed, flate.DefaultCompression); err != nil {
		return nil, fmt.Errorf("compress %s: %w", name, err)
	}
	z.files = append(z.files, f)
	return f, nil
}

// AddFS is part of the library's interface and never used by it here.
func (z *sortedZip) AddFS(fs.FS) error { return errors.ErrUnsupported }

// Close writes the archive.
func (z *sortedZip) Close() error {
	if err := z.finish(); err != nil {
		return err
	}
	slices.SortStableFunc(z.files, func(a, b *zipFile) int { return strings.Compare(a.name, b.name) })
	archive := zip.NewWriter(z.out)
	for _, f := range z.files {
		w, err := archive.CreateRaw(&zip.FileHeader{
			Name: f.name, Method: zip.Deflate, CRC32: f.crc,
			CompressedSize64: uint64(f.packed.Len()), UncompressedSize64: f.size, //nolint:gosec // a length is never negative
		})
		if err != nil {
			return fmt.Errorf("start %s: %w", f.name, err)
		}
		if _, err := f.packed.WriteTo(w); err != nil {
			return fmt.Errorf("write %s: %w", f.name, err)
		}
	}
	return archive.Close()
}

// finish ends the compression of the file that was started last and lets go
// of its window, which is larger than most of the files.
func (z *sortedZip) finish() error {
	if len(z.files) == 0 {
		return nil
	}
	f := z.files[len(z.files)-1]
	if f.flate == nil {
		return nil
	}
	err := f.flate.Close()
	f.flate = nil
	if err != nil {
		return fmt.Errorf("compress %s: %w", f.name, err)
	}
	return nil
}

// Write compresses p into the file.
func (f *zipFile) Write(p []byte) (int, error) {
	if f.flate == nil {
		return 0, fmt.Errorf("write %s: another file was started already", f.name)
	}
	f.crc = crc32.Update(f.crc, crc32.IEEETable, p)
	f.size += uint64(len(p))
	return f.flate.Write(p)
}
