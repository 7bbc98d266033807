//go:build unix

package private

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockMode is how a lock file is held. The kernel gives a lock back when the
// process that holds it is gone, however it went.
type lockMode int

const (
	shared    lockMode = syscall.LOCK_SH
	exclusive lockMode = syscall.LOCK_EX
)

// openLock opens a lock file, making it if needed. Each opening is a holder of
// its own, within one process too.
func openLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // our own directory
	if err != nil {
		return nil, fmt.Errorf("open a lock of the private database: %w", err)
	}
	return f, nil
}

// tryLock takes or changes the lock at once; false means that others hold it,
// and then the lock that f had is kept or lost as the system likes.
func tryLock(f *os.File, mode lockMode) (bool, error) {
	for {
		err := syscall.Flock(int(f.Fd()), int(mode)|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		default:
			return false, err
		}
	}
}

// lockFile waits for the lock until the context ends.
func lockFile(ctx context.Context, path string, mode lockMode) (*os.File, error) {
	f, err := openLock(path)
	if err != nil {
		return nil, err
	}
	for {
		got, err := tryLock(f, mode)
		if err == nil && got {
			return f, nil
		}
		if err == nil {
			err = pause(ctx, pollEvery)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
}
