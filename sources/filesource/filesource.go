// Package filesource lists and opens statements in a folder: a glob over it,
// or files that a person names. It is a folder of its own because each
// location is one, behind the same small interface.
//
// What is still being written is not offered: hidden files and the names that
// upload programs use for unfinished ones are left out, and a file that
// changes between listing and the end of reading is an error, never a short
// statement.
package filesource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"reconciler/sources"
)

// ErrChanged says that a file is not the one that was listed. It is an
// outage: the next run finds the file at rest.
var ErrChanged = errors.New("the file changed while it was read")

// Location offers the files that a glob matches, or a fixed list of files. It
// is safe for concurrent use.
type Location struct {
	// root is the folder in front of the first wildcard.
	root string
	// segments of the pattern below root.
	segments []string
	// files, if set, are the deliveries by name, instead of a pattern.
	files map[string]string
}

var _ sources.Location = (*Location)(nil)

// Glob offers the files below a base folder that match a pattern with the
// wildcards * ? [a-z], which stop at slashes. A relative pattern starts from
// the base folder. Names of deliveries are relative to the folder in front of
// the first wildcard.
func Glob(base, pattern string) (*Location, error) {
	if pattern == "" {
		return nil, errors.New("location: the pattern is empty; write a path such as statements/*.csv")
	}
	root := base
	if filepath.IsAbs(pattern) {
		root = string(filepath.Separator)
	}
	parts := slices.DeleteFunc(strings.Split(filepath.ToSlash(pattern), "/"),
		func(part string) bool { return part == "" || part == "." })
	for len(parts) > 1 && !strings.ContainsAny(parts[0], `*?[\`) {
		root = filepath.Join(root, parts[0])
		parts = parts[1:]
	}
	if len(parts) == 0 || strings.HasSuffix(pattern, "/") {
		return nil, fmt.Errorf("location: pattern %q names a folder; write which files in it, as *.csv", pattern)
	}
	for _, part := range parts {
		if part == ".." || strings.Contains(part, "**") {
			return nil, fmt.Errorf("location: pattern %q: %s is not supported behind a wildcard; write one * for each folder", pattern, part)
		}
		if _, err := path.Match(part, ""); err != nil {
			return nil, fmt.Errorf("location: pattern %q: %w", pattern, err)
		}
	}
	if root == "" {
		root = "."
	}
	return &Location{root: root, segments: parts}, nil
}

// Files offers exactly these files; one that does not exist is an error when
// they are listed. A file is named by its last element, or by the whole path
// where two have the same.
func Files(paths ...string) (*Location, error) {
	if len(paths) == 0 {
		return nil, errors.New("location: no file is named")
	}
	l := &Location{files: make(map[string]string, len(paths))}
	byBase := make(map[string]int)
	for _, p := range paths {
		byBase[filepath.Base(p)]++
	}
	for _, p := range paths {
		name := filepath.Base(p)
		if byBase[name] > 1 {
			name = filepath.ToSlash(filepath.Clean(p))
		}
		l.files[name] = p
	}
	return l, nil
}

// List yields the files in the order of their names. A folder that cannot be
// read is an error: nobody can tell that from a delivery that did not come.
func (l *Location) List(ctx context.Context) iter.Seq2[sources.Delivery, error] {
	return func(yield func(sources.Delivery, error) bool) {
		names, err := l.names(ctx)
		if err != nil {
			yield(sources.Delivery{}, err)
			return
		}
		for _, name := range names {
			if err := ctx.Err(); err != nil {
				yield(sources.Delivery{}, fmt.Errorf("list files: %w", err))
				return
			}
			d, ok, err := l.stat(name)
			if err != nil {
				yield(sources.Delivery{}, err)
				return
			}
			if ok && !yield(d, nil) {
				return
			}
		}
	}
}

// path of a delivery.
func (l *Location) path(name string) (string, error) {
	if l.files != nil {
		p, ok := l.files[name]
		if !ok {
			return "", fmt.Errorf("open %q: it is not among the named files", name)
		}
		return p, nil
	}
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", fmt.Errorf("open %q: it is not below %s", name, l.root)
	}
	return filepath.Join(l.root, filepath.FromSlash(name)), nil
}

// stat describes a file; ok is false for what is no regular file, and for one
// that was taken away after the folder had been read.
func (l *Location) stat(name string) (d sources.Delivery, ok bool, err error) {
	p, err := l.path(name)
	if err != nil {
		return d, false, err
	}
	info, err := os.Stat(p)
	if errors.Is(err, fs.ErrNotExist) && l.files == nil {
		if _, linkErr := os.Lstat(p); errors.Is(linkErr, fs.ErrNotExist) {
			return d, false, nil
		}
	}
	if err != nil {
		return d, false, fmt.Errorf("list files: %w", err)
	}
	if !info.Mode().IsRegular() {
		if l.files != nil {
			return d, false, fmt.Errorf("list files: %s is not a regular file", p)
		}
		return d, false, nil
	}
	return sources.Delivery{Name: name, Size: info.Size(), ModifiedAt: info.ModTime().UTC()}, true, nil
}

func (l *Location) names(ctx context.Context) ([]string, error) {
	var names []string
	if l.files != nil {
		for name := range l.files {
			names = append(names, name)
		}
		slices.Sort(names)
		return names, nil
	}
	names = []string{""}
	for i, segment := range l.segments {
		var below []string
		for _, folder := range names {
			if err := ctx.Err(); err != nil {
				return nil, fmt.Errorf("list files: %w", err)
			}
			found, err := l.matches(folder, segment, i == len(l.segments)-1)
			if err != nil {
				return nil, err
			}
			below = append(below, found...)
		}
		names = below
	}
	slices.Sort(names)
	return names, nil
}

// matches returns what in a folder matches one segment of the pattern: files
// for the last segment, folders before it.
func (l *Location) matches(folder, segment string, last bool) ([]string, error) {
	dir := filepath.Join(l.root, filepath.FromSlash(folder))
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list files: %w", err)
	}
	var found []string
	for _, entry := range entries {
		ok, err := path.Match(segment, entry.Name())
		if err != nil {
			return nil, fmt.Errorf("list files: pattern %q: %w", segment, err)
		}
		if !ok || unfinished(entry.Name()) {
			continue
		}
		if !last {
			info, err := os.Stat(filepath.Join(dir, entry.Name()))
			if err != nil {
				return nil, fmt.Errorf("list files: %w", err)
			}
			if !info.IsDir() {
				continue
			}
		}
		found = append(found, path.Join(folder, entry.Name()))
	}
	return found, nil
}

// unfinished knows hidden files and the names under which browsers, upload
// programs and offices keep what is not whole yet.
func unfinished(name string) bool {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "~$") || strings.HasSuffix(name, "~") {
		return true
	}
	switch strings.ToLower(filepath.Ext(name)) {
	case ".tmp", ".temp", ".part", ".partial", ".filepart", ".crdownload", ".download", ".swp":
		return true
	}
	return false
}

// Open opens a delivery that List gave. It fails with ErrChanged if the file
// is not the one that was listed; so does a Read of the result that finds the
// file grown, cut or rewritten meanwhile.
func (l *Location) Open(ctx context.Context, d sources.Delivery) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("open %q: %w", d.Name, err)
	}
	p, err := l.path(d.Name)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(p) //nolint:gosec // the path comes from the configuration or the command line
	if err != nil {
		return nil, fmt.Errorf("open statement: %w", err)
	}
	opened := &file{f: f, listed: d}
	if err := opened.check(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return opened, nil
}

// file reads a file and watches that it stays as it was listed.
type file struct {
	f      *os.File
	listed sources.Delivery
	read   int64
}

// Read fails instead of ending a file that is not what was listed.
func (o *file) Read(p []byte) (int, error) {
	n, err := o.f.Read(p)
	o.read += int64(n)
	if err == nil {
		return n, nil
	}
	if !errors.Is(err, io.EOF) {
		return n, fmt.Errorf("read statement: %w", err)
	}
	if changed := o.check(); changed != nil {
		return n, changed
	}
	if o.listed.Size >= 0 && o.read != o.listed.Size {
		return n, fmt.Errorf("read statement %q: %w: %d bytes were listed, %d read", o.listed.Name, ErrChanged, o.listed.Size, o.read)
	}
	return n, io.EOF
}

// Close closes the file; it checks nothing, for whoever stops early knows why.
func (o *file) Close() error {
	if err := o.f.Close(); err != nil {
		return fmt.Errorf("close statement: %w", err)
	}
	return nil
}

// check compares the file with what was listed, as far as that is known.
func (o *file) check() error {
	info, err := o.f.Stat()
	if err != nil {
		return fmt.Errorf("read statement: %w", err)
	}
	sized := o.listed.Size >= 0 && info.Size() != o.listed.Size
	dated := !o.listed.ModifiedAt.IsZero() && !info.ModTime().Equal(o.listed.ModifiedAt)
	if sized || dated || !info.Mode().IsRegular() {
		return fmt.Errorf("read statement %q: %w since it was listed; run again when it has been written", o.listed.Name, ErrChanged)
	}
	return nil
}
