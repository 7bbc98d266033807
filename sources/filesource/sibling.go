package filesource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"reconciler/sources"
)

var _ sources.Siblings = (*Location)(nil)

// Sibling opens a file by its name in the folder of a delivery. If it is not
// there, the error wraps fs.ErrNotExist.
func (l *Location) Sibling(ctx context.Context, d sources.Delivery, name string) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("open %q: %w", name, err)
	}
	if name == "" || name != filepath.Base(name) || !filepath.IsLocal(name) {
		return nil, fmt.Errorf("open %q: it is not the name of a file next to %q", name, d.Name)
	}
	p, err := l.path(d.Name)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join(filepath.Dir(p), name)) //nolint:gosec // the name is checked above
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open %q next to %q: %w", name, d.Name, fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("open %q next to %q: %w", name, d.Name, err)
	}
	return f, nil
}
