package private

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
}

// makePaths makes the directories, belonging to the server's account.
func makePaths(dir string, owner account, temporary bool) (paths, error) {
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
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return p, fmt.Errorf("make the data directory: %w", err)
	}
	if temporary {
		// The watchdog removes it, as the server's account.
		if err := owner.own(dir); err != nil {
			return p, err
		}
	}
	if err := owner.openWay(dir); err != nil {
		return p, err
	}
	for _, d := range []string{p.root, p.socket} {
		if err := owner.makeDir(d); err != nil {
			return p, err
		}
	}
	return p, nil
}

// account is the operating system's user that the server runs as.
type account struct {
	name     string
	uid, gid int
	// other is set if it is not our own user: PostgreSQL refuses to run as root.
	other bool
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
// must belong to it: a stranger's directory under a shared /tmp is refused.
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
	if info.IsDir() && a.other && uid == os.Geteuid() {
		// A start that was killed between making and giving it.
		return a.own(dir)
	}
	if !info.IsDir() || uid != a.uid {
		return fmt.Errorf("use %s for the private database: it does not belong to user %s; remove it, or run as the user who made it", dir, a.name)
	}
	return os.Chmod(dir, 0o700) //nolint:gosec // a directory needs the x
}

// openWay makes sure that the account can get to dir: a server that runs as
// another user needs the x on every directory above its files.
func (a account) openWay(dir string) error {
	if !a.other {
		return nil
	}
	if !a.mayEnter(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return fmt.Errorf("look at the data directory: %w", err)
		}
		// The data directory is ours: others may pass through, not list it.
		if err := os.Chmod(dir, info.Mode().Perm()|0o011); err != nil {
			return fmt.Errorf("open the data directory for user %s: %w", a.name, err)
		}
	}
	for d := filepath.Dir(dir); ; d = filepath.Dir(d) {
		if !a.mayEnter(d) {
			return fmt.Errorf("run the private database in %s: we are root, so it runs as user %s, who may not enter %s; set data_dir to a place such as /var/lib/reconciler, or allow it with: chmod o+x %s",
				dir, a.name, d, d)
		}
		if d == filepath.Dir(d) {
			return nil
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

// remake removes what a crash left at dir and makes it anew.
func (a account) remake(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove what a broken start left: %w", err)
	}
	return a.makeDir(dir)
}

// createFile opens a file of the account's for appending.
func (a account) createFile(path string, mode fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, mode) //nolint:gosec // our own directory
	if err != nil {
		return nil, fmt.Errorf("open a file of the private database: %w", err)
	}
	if err := a.own(path); err != nil {
		return nil, fmt.Errorf("%w (%w)", err, f.Close())
	}
	return f, nil
}
