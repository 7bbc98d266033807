package private

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// NotInstalledError says that this machine has no PostgreSQL to run, or none
// that can read the database that is there.
type NotInstalledError struct {
	// Need is the major version that the existing database asks for, 0 for any.
	Need int
	// Found lists the directories with PostgreSQL programs of other versions.
	Found []string
}

// Error is one sentence that says what to install.
func (e *NotInstalledError) Error() string {
	if e.Need != 0 {
		return fmt.Sprintf("the private database was made by PostgreSQL %d, which is not installed (found: %s): install it (apt install postgresql-%d, dnf install postgresql%d-server, brew install postgresql@%d), or set database.url",
			e.Need, strings.Join(e.Found, ", "), e.Need, e.Need, e.Need)
	}
	return "PostgreSQL is not installed: install it (apt install postgresql, dnf install postgresql-server, brew install postgresql), or set database.url to a server that runs elsewhere"
}

// binaries is one installation of PostgreSQL.
type binaries struct {
	dir   string
	major int
}

func (b binaries) path(name string) string { return filepath.Join(b.dir, name) }

// findBinaries returns the installation to use: the newest, or the one that
// made the database in data if there is one.
func findBinaries(ctx context.Context, data string) (binaries, error) {
	need, err := clusterMajor(data)
	if err != nil {
		return binaries{}, err
	}
	var found []string
	for _, b := range installed(ctx) {
		if need == 0 || b.major == need {
			return b, nil
		}
		found = append(found, b.dir)
	}
	if err := ctx.Err(); err != nil { // none could be asked for its version
		return binaries{}, fmt.Errorf("look for PostgreSQL: %w", err)
	}
	return binaries{}, &NotInstalledError{Need: need, Found: found}
}

// installed lists the installations: the one on the PATH, then the newest first.
func installed(ctx context.Context) []binaries {
	var dirs []string
	if initdb, err := exec.LookPath("initdb"); err == nil {
		if program, err := filepath.EvalSymlinks(initdb); err == nil {
			dirs = append(dirs, filepath.Dir(program))
		}
	}
	var rest []binaries
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",
		"/usr/pgsql-*/bin",
		"/opt/homebrew/opt/postgresql*/bin",
		"/usr/local/opt/postgresql*/bin",
		"/usr/local/pgsql/bin",
	} {
		// The only error of Glob is a bad pattern.
		matches, _ := filepath.Glob(pattern) //nolint:errcheck // see above
		for _, dir := range matches {
			if b, ok := installation(ctx, dir); ok {
				rest = append(rest, b)
			}
		}
	}
	slices.SortStableFunc(rest, func(a, b binaries) int { return b.major - a.major })
	var all []binaries
	for _, dir := range dirs {
		if b, ok := installation(ctx, dir); ok {
			all = append(all, b)
		}
	}
	return append(all, rest...)
}

// installation asks the programs in dir for their version.
func installation(ctx context.Context, dir string) (binaries, bool) {
	for _, name := range []string{"initdb", "postgres"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.IsDir() {
			return binaries{}, false
		}
	}
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output() //nolint:gosec // a program of the installation
	if err != nil {
		return binaries{}, false
	}
	m := regexp.MustCompile(`\s(\d+)[.\w]*`).FindStringSubmatch(string(out))
	if m == nil {
		return binaries{}, false
	}
	major, err := strconv.Atoi(m[1])
	return binaries{dir: dir, major: major}, err == nil
}

// clusterMajor is the version of PostgreSQL that made the database in data, 0
// where there is none yet.
func clusterMajor(data string) (int, error) {
	text, err := os.ReadFile(filepath.Join(data, "PG_VERSION")) //nolint:gosec // our own directory
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the version of the private database: %w", err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("read the version of the private database in %s: %w", data, err)
	}
	return major, nil
}
