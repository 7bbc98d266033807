//go:build unix

package private

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"syscall"
)

// ensureCluster makes the database's files if there are none. They are made
// beside their place and renamed, so what is in place is whole.
func (s *Server) ensureCluster(ctx context.Context, bin binaries) error {
	if exists(s.paths.data) {
		return nil
	}
	unfinished := s.paths.data + ".new"
	if err := s.owner.remake(unfinished); err != nil {
		return err
	}
	args := []string{
		"-D", s.paths.seen(unfinished), "-U", superuser, "-A", "trust",
		"--locale=C", "--encoding=UTF8", "--no-instructions",
	}
	if s.opts.Fast {
		args = append(args, "--no-sync")
	}
	cmd := exec.CommandContext(ctx, bin.path("initdb"), args...) //nolint:gosec // a program of the installation
	s.prepare(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make the private database with %s: %w: %s", bin.path("initdb"), err, strings.Join(strings.Fields(string(out)), " "))
	}
	if err := os.Rename(unfinished, s.paths.data); err != nil {
		return fmt.Errorf("put the private database in place: %w", err)
	}
	s.log.InfoContext(ctx, "made a private database", "dir", s.paths.data, "postgresql", bin.major)
	if s.opts.Fast {
		return nil
	}
	return syncDir(s.paths.root)
}

// syncDir makes a rename in dir outlive a power cut.
func syncDir(dir string) error {
	d, err := os.Open(dir) //nolint:gosec // our own directory
	if err != nil {
		return fmt.Errorf("open %s: %w", dir, err)
	}
	defer d.Close() //nolint:errcheck // only synced
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}

// serverAccount is our own user, or for root one without rights: postgres,
// else nobody, else the number that nobody has everywhere.
func serverAccount() (account, error) {
	uid := os.Geteuid()
	if uid != 0 {
		return account{name: strconv.Itoa(uid), uid: uid, gid: os.Getegid()}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		id, err := strconv.Atoi(u.Uid)
		if err != nil {
			return account{}, fmt.Errorf("read the id of user %s: %w", name, err)
		}
		group, err := strconv.Atoi(u.Gid)
		if err != nil {
			return account{}, fmt.Errorf("read the group of user %s: %w", name, err)
		}
		if id != 0 {
			return account{name: name, uid: id, gid: group, other: true}, nil
		}
	}
	return account{name: "65534", uid: 65534, gid: 65534, other: true}, nil
}

// ownerOf is the user and group of a file.
func ownerOf(info os.FileInfo) (uid, gid int) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid), int(st.Gid)
	}
	return -1, -1
}
