//go:build unix

package reports

import (
	"errors"
	"os"
	"syscall"
)

// lockDir makes writers of the same folder wait for each other and removes
// what killed ones have left. The lock ends with the process that holds it.
// A file system without locks gets none, and keeps its leftovers: without
// the lock one could be a living writer's.
func lockDir(dir string) (unlock func()) {
	d, err := os.Open(dir) //nolint:gosec // the folder comes from the configuration
	if err != nil {
		return func() {}
	}
	unlock = func() { _ = d.Close() } //nolint:errcheck // opened for reading only; closing it gives the lock back
	err = syscall.EINTR
	for errors.Is(err, syscall.EINTR) {
		err = syscall.Flock(int(d.Fd()), syscall.LOCK_EX)
	}
	if err == nil {
		removeLeftovers(dir)
	}
	return unlock
}

// syncDir makes the renames in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir) //nolint:gosec // the folder comes from the configuration
	if err != nil {
		return err
	}
	syncErr := d.Sync()
	if err := d.Close(); err != nil {
		return err
	}
	return syncErr
}
