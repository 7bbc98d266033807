package private

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxSocketPath is how long the path of a Unix socket may be: 108 bytes on
// Linux and 104 on macOS, with the closing zero.
const maxSocketPath = 103

// socketName is what the server calls its socket in the socket directory.
const socketName = ".s.PGSQL.5432"

// paths are the files of one private server.
type paths struct {
	root      string // <data directory>/postgres
	data      string // PGDATA
	logFile   string
	startLock string
	usersLock string
	pipe      string
	socket    string // directory
	// handle is the open root directory, set where the server's account may
	// not walk to it (data_dir below /root, or below a mktemp -d of root): its
	// processes inherit it and go through it. Nil where they can walk.
	handle *os.File
}

// handleRoot is how a child sees the root directory through the open directory
// that it inherits as its first extra file.
const handleRoot = "/proc/self/fd/3"

// makePaths makes the directories. The root directory is ours; only what the
// server writes belongs to the server's account, so it can't put a link in the
// way of what we write as root.
func makePaths(dir string, owner account) (paths, error) {
	root := filepath.Join(dir, "postgres")
	p := paths{
		root:      root,
		data:      filepath.Join(root, "data"),
		logFile:   filepath.Join(root, "server.log"),
		startLock: filepath.Join(root, "start.lock"),
		usersLock: filepath.Join(root, "users.lock"),
		pipe:      filepath.Join(root, "alive"),
		socket:    filepath.Join(root, "socket"),
	}
	if len(filepath.Join(p.socket, socketName)) > maxSocketPath {
		sum := sha256.Sum256([]byte(root))
		p.socket = filepath.Join(os.TempDir(), "reconciler-"+hex.EncodeToString(sum[:6]))
	}
	if err := os.MkdirAll(root, 0o750); err != nil {
		return p, fmt.Errorf("make the directory of the private database: %w", err)
	}
	if err := os.Chmod(root, owner.rootMode()); err != nil {
		return p, fmt.Errorf("open the directory of the private database for its user: %w", err)
	}
	blocked := owner.blockedBy(dir)
	if blocked == "" {
		return p, nil
	}
	if !exists(filepath.Dir(handleRoot)) {
		return p, fmt.Errorf("run the private database in %s: we are root, so it runs as user %s, who may not enter %s; set data_dir to a place such as /var/lib/reconciler, or allow it with: chmod o+x %s",
			dir, owner.name, blocked, blocked)
	}
	handle, err := os.Open(root) //nolint:gosec // our own directory
	if err != nil {
		return p, fmt.Errorf("open the directory of the private database: %w", err)
	}
	p.handle = handle
	return p, nil
}

// seen is the path as the server's account can use it.
func (p paths) seen(path string) string {
	if rest, below := strings.CutPrefix(path, p.root); below && p.handle != nil {
		return handleRoot + rest
	}
	return path
}

// account is the operating system's user that the server runs as.
type account struct {
	name     string
	uid, gid int
	// other is set if it is not our own user: PostgreSQL refuses to run as root.
	other bool
}

// rootMode lets another account pass through the root directory, not list it.
func (a account) rootMode() fs.FileMode {
	if a.other {
		return 0o711
	}
	return 0o700
}

// own gives a file or directory to the account.
func (a account) own(path string) error {
	if !a.other {
		return nil
	}
	if err := os.Lchown(path, a.uid, a.gid); err != nil {
		return fmt.Errorf("give %s to user %s, as whom the private database runs: %w", path, a.name, err)
	}
	return nil
}

// makeDir makes a directory that only the account may use. One that exists
// must be so already: a stranger's directory under a shared /tmp is refused.
func (a account) makeDir(dir string) error {
	err := os.Mkdir(dir, 0o700)
	switch {
	case err == nil:
		return a.own(dir)
	case !os.IsExist(err):
		return fmt.Errorf("make a directory of the private database: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("look at a directory of the private database: %w", err)
	}
	uid, _ := ownerOf(info)
	closed := info.IsDir() && info.Mode().Perm()&0o077 == 0
	if closed && a.other && uid == os.Geteuid() {
		return a.own(dir) // a start was killed between making and giving it
	}
	if !closed || uid != a.uid {
		return fmt.Errorf("use %s for the private database: it must be a directory that belongs to user %s alone (mode 0700); remove it, or run as the user who made it", dir, a.name)
	}
	return nil
}

// remake removes what a crash left at dir and makes it anew.
func (a account) remake(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove what a broken start left: %w", err)
	}
	return a.makeDir(dir)
}

// blockedBy is the first directory on the way to dir that the account may not
// enter, such as /root; none if it is our own.
func (a account) blockedBy(dir string) string {
	if !a.other {
		return ""
	}
	for d := dir; ; d = filepath.Dir(d) {
		if !a.mayEnter(d) {
			return d
		}
		if d == filepath.Dir(d) {
			return ""
		}
	}
}

func (a account) mayEnter(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil {
		return false
	}
	uid, gid := ownerOf(info)
	switch perm := info.Mode().Perm(); {
	case uid == a.uid:
		return perm&0o100 != 0
	case gid == a.gid:
		return perm&0o010 != 0
	default:
		return perm&0o001 != 0
	}
}

// exists reports that path is there; an error other than its absence counts as there.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !os.IsNotExist(err)
}
