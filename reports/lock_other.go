//go:build !unix

package reports

// lockDir does nothing where folders can't be locked.
func lockDir(string) (unlock func()) { return func() {} }

// syncDir does nothing where folders can't be synced.
func syncDir(string) error { return nil }
