//go:build unix

package private

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// superuser is the database's own superuser. It has no password: the socket
// directory lets in only the server's account and root.
const superuser = "postgres"

// maxLog is the size of the server's log at which a start begins a new one.
const maxLog = 10 << 20

// watchdog reads the process id of the server (again when it had to be started
// again), and the word stopped if all went well. The pipe ends when the last
// process that uses the server is gone. A start that was killed before it wrote
// the id leaves it to the server's own file. The number may be another process
// by now, so it must be in that file and, where the system tells, work in the
// data directory.
const watchdog = `
data=$1; remove=$2; socket=$3; pid=
while read -r word; do
  [ "$word" = stopped ] && exit 0
  pid=$word
done
if [ -z "$pid" ]; then
  for _ in 1 2 3 4 5; do [ -s "$data/postmaster.pid" ] && break; sleep 1; done
  read -r pid 2>/dev/null <"$data/postmaster.pid" || pid=
fi
runs() {
  read -r now 2>/dev/null <"$data/postmaster.pid" || return 1
  [ "$now" = "$pid" ] && kill -0 "$pid" 2>/dev/null || return 1
  [ ! -d /proc/self ] || [ "/proc/$pid/cwd" -ef "$data" ]
}
if [ -n "$pid" ] && runs; then
  kill -INT "$pid" 2>/dev/null
  for _ in 1 2 3 4 5 6 7 8 9 10; do runs || break; sleep 1; done
fi
[ -n "$remove" ] && rm -rf "$socket" "$remove"
exit 0
`

// launch starts a server and waits until it answers. A server that was killed with its backends alive blocks the next one for some
// moments, so an early end for that reason is tried again.
func (s *Server) launch(ctx context.Context, bin binaries) error {
	if err := s.removeStalePID(); err != nil {
		return err
	}
	for {
		exited, err := s.startProcess(ctx, bin)
		if err != nil {
			return err
		}
		err = s.waitReady(ctx, exited)
		if err == nil {
			return nil
		}
		if !errors.Is(err, errEnded) || !strings.Contains(err.Error(), "shared memory block") {
			return err
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("wait for the rest of a killed private database to end: %w", err)
		}
	}
}

// startWatchdog makes the pipe and starts its reader. The reader inherits an
// open end, so a kill of this process at any moment is seen by it.
func (s *Server) startWatchdog() error {
	if err := os.RemoveAll(s.paths.pipe); err != nil {
		return fmt.Errorf("remove an old pipe: %w", err)
	}
	if err := syscall.Mkfifo(s.paths.pipe, 0o600); err != nil {
		return fmt.Errorf("make the pipe %s: %w", s.paths.pipe, err)
	}
	alive, err := os.OpenFile(s.paths.pipe, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("open the pipe: %w", err)
	}
	s.alive = alive
	// Non-blocking I/O belongs to the open file description: the shell gets
	// one of its own, which blocks.
	fd, err := syscall.Open(s.paths.pipe, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open the pipe: %w", err)
	}
	reader := os.NewFile(uintptr(fd), s.paths.pipe)
	defer reader.Close() //nolint:errcheck // read by nobody here
	remove := ""
	if s.opts.Temporary {
		remove = s.opts.Dir
	}
	//nolint:gosec,noctx // a fixed script; it must outlive every context of this process
	cmd := exec.Command("/bin/sh", "-c", watchdog, "reconciler-watchdog", s.paths.data, remove, s.paths.socket)
	cmd.Stdin = reader
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the watchdog of the private database: %w", err)
	}
	go reap(cmd)
	return nil
}

// dismissWatchdog tells it that the server was stopped in order.
func (s *Server) dismissWatchdog() error {
	if s.alive == nil {
		return nil
	}
	if _, err := io.WriteString(s.alive, "stopped\n"); err != nil {
		return fmt.Errorf("dismiss the watchdog of the private database: %w", err)
	}
	return nil
}

// startProcess starts the server; the channel is closed when it has ended.
func (s *Server) startProcess(ctx context.Context, bin binaries) (<-chan struct{}, error) {
	if info, err := os.Stat(s.paths.logFile); err == nil && info.Size() > maxLog {
		if err := os.Rename(s.paths.logFile, s.paths.logFile+".old"); err != nil {
			return nil, fmt.Errorf("put the old log of the private database aside: %w", err)
		}
	}
	logFile, err := os.OpenFile(s.paths.logFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o640) //nolint:gosec // for the administrator's group
	if err != nil {
		return nil, fmt.Errorf("open the log of the private database: %w", err)
	}
	defer logFile.Close() //nolint:errcheck // written by the server only
	args := []string{"-D", s.paths.seen(s.paths.data)}
	for _, set := range s.settings(ctx, bin) {
		args = append(args, "-c", set)
	}
	//nolint:gosec,noctx // a program of the installation; it must outlive every context of this process
	cmd := exec.Command(bin.path("postgres"), args...)
	cmd.Stdout, cmd.Stderr = logFile, logFile
	s.prepare(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", bin.path("postgres"), err)
	}
	exited := make(chan struct{})
	go func() {
		reap(cmd)
		close(exited)
	}()
	if _, err := fmt.Fprintf(s.alive, "%d\n", cmd.Process.Pid); err != nil {
		return nil, fmt.Errorf("tell the watchdog of the private database: %w", err)
	}
	return exited, nil
}

// settings are given on the command line, so that a new version of the program
// changes them for an existing database too.
func (s *Server) settings(ctx context.Context, bin binaries) []string {
	set := []string{
		"listen_addresses=",
		`unix_socket_directories="` + strings.ReplaceAll(s.paths.seen(s.paths.socket), `"`, `""`) + `"`,
		"unix_socket_permissions=0700",
		"port=5432",
		"shared_buffers=256MB",
		"max_wal_size=2GB",
		"wal_compression=" + s.walCompression(ctx, bin),
		"jit=off",
		"timezone=UTC",
		"log_timezone=UTC",
		"log_line_prefix=%m [%p] ",
	}
	if s.opts.Fast {
		return append(set, "max_connections=200", "fsync=off", "synchronous_commit=off", "full_page_writes=off")
	}
	return append(set, "max_connections=50", "fsync=on", "synchronous_commit=on", "full_page_writes=on")
}

// walCompression is lz4 where this PostgreSQL was built with it: a quarter of
// the log volume of bulk changes, at no cost in time.
func (s *Server) walCompression(ctx context.Context, bin binaries) string {
	//nolint:gosec // a program of the installation
	cmd := exec.CommandContext(ctx, bin.path("postgres"), "-D", s.paths.seen(s.paths.data), "-C", "wal_compression", "-c", "wal_compression=lz4")
	s.prepare(cmd)
	if err := cmd.Run(); err != nil {
		return "on"
	}
	return "lz4"
}

// errEnded says that the server ended while it was waited for.
var errEnded = errors.New("the private database ended at its start")

// waitReady polls until the server answers. exited may be nil.
func (s *Server) waitReady(ctx context.Context, exited <-chan struct{}) error {
	for {
		err := s.ping(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-exited:
			return fmt.Errorf("%w; the end of %s says: %s", errEnded, s.paths.logFile, tail(s.paths.logFile))
		default:
		}
		if stopped := pause(ctx, pollEvery); stopped != nil {
			return fmt.Errorf("wait for the private database to answer (its log is %s): %w", s.paths.logFile, errors.Join(stopped, err))
		}
	}
}

func (s *Server) ping(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// stopProcess asks the server to end now, rolling back what is open (fast
// shutdown), and waits until it has.
func (s *Server) stopProcess(ctx context.Context) error {
	pid, err := s.runningPID()
	if err != nil {
		return err
	}
	if pid == 0 {
		return nil
	}
	if err := syscall.Kill(pid, syscall.SIGINT); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("stop process %d: %w", pid, err)
	}
	for s.isServer(pid) {
		if err := pause(ctx, pollEvery); err != nil {
			return fmt.Errorf("wait for process %d to end: %w", pid, err)
		}
	}
	return nil
}

// pidFile is where the server writes its process id.
func (s *Server) pidFile() string { return filepath.Join(s.paths.data, "postmaster.pid") }

// runningPID is the process of the server, 0 if none is seen.
func (s *Server) runningPID() (int, error) {
	text, err := os.ReadFile(s.pidFile())
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the process id of the private database: %w", err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil || pid <= 1 || !s.isServer(pid) {
		return 0, nil //nolint:nilerr // a file without a live server's number is a stale one
	}
	return pid, nil
}

// removeStalePID removes the file that a killed server left. A server of ours
// would refuse to start while the number in it belongs to any live process of
// the account, and after a reboot it may.
func (s *Server) removeStalePID() error {
	if err := os.Remove(s.pidFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the process id of a private database that is gone: %w", err)
	}
	return nil
}

// isServer reports whether the process is the server of our data directory, in
// which it works. Where the system does not say (no /proc), a live process that
// we may signal is believed to be it.
func (s *Server) isServer(pid int) bool {
	if err := syscall.Kill(pid, 0); err != nil {
		return false
	}
	if !exists("/proc/self") {
		return true
	}
	cwd, err := os.Stat(fmt.Sprintf("/proc/%d/cwd", pid))
	if err != nil {
		return false
	}
	data, err := os.Stat(s.paths.data)
	return err == nil && os.SameFile(cwd, data)
}

// prepare makes the command run as the server's account, in a session of its
// own: a Ctrl-C at the terminal is for the program, which stops the server in
// its order.
func (s *Server) prepare(cmd *exec.Cmd) {
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if s.paths.handle != nil {
		cmd.ExtraFiles = []*os.File{s.paths.handle}
	}
	if s.owner.other {
		cmd.SysProcAttr.Credential = &syscall.Credential{
			Uid: uint32(s.owner.uid), //nolint:gosec // ids are small
			Gid: uint32(s.owner.gid), //nolint:gosec // ids are small
		}
	}
}

// reap waits for a process that outlives its start. How it ended is in the
// server's log.
func reap(cmd *exec.Cmd) { _ = cmd.Wait() } //nolint:errcheck // see above

// pause waits, unless the context ends first.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// tail is the end of a log, on one line.
func tail(path string) string {
	f, err := os.Open(path) //nolint:gosec // our own directory
	if err != nil {
		return err.Error()
	}
	defer f.Close() //nolint:errcheck // only read
	if info, err := f.Stat(); err == nil && info.Size() > 1000 {
		if _, err := f.Seek(-1000, io.SeekEnd); err != nil {
			return err.Error()
		}
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(string(text)), " ")
}
