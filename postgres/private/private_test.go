//go:build unix

package private_test

import (
	"bufio"
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
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reconciler/postgres/private"
)

// childDir tells the test binary to be another process that uses a server.
const childDir = "PRIVATE_TEST_CHILD_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		os.Exit(child(dir, os.Getenv(childDir+"_TEMPORARY") != ""))
	}
	os.Exit(m.Run())
}

// child starts a server, says so, and uses it until it is killed.
func child(dir string, temporary bool) int {
	srv, err := private.Start(context.Background(), private.Options{Dir: dir, Fast: true, Temporary: temporary})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("ready")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return 1
	}
	if err := srv.Stop(); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// spawn runs a child on dir and returns it when it uses the server.
func spawn(t *testing.T, dir string, env ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(append(os.Environ(), childDir+"="+dir), env...)
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(t, cmd) })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "ready\n" {
		t.Fatalf("child says %q (%v), want ready", line, err)
	}
	return cmd
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	var ended *exec.ExitError
	if err := cmd.Wait(); cmd.ProcessState == nil && !errors.As(err, &ended) {
		t.Error(err)
	}
}

func start(t *testing.T, dir string) *private.Server {
	t.Helper()
	srv, err := private.Start(t.Context(), private.Options{Dir: dir, Fast: true})
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	t.Cleanup(func() { stop(t, srv) })
	return srv
}

func stop(t *testing.T, srv *private.Server) {
	t.Helper()
	if err := srv.Stop(); err != nil {
		t.Errorf("Stop: %v", err)
	}
}

func query[T any](t *testing.T, url, sql string) T {
	t.Helper()
	var value T
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	defer func() {
		if err := conn.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	if err := conn.QueryRow(t.Context(), sql).Scan(&value); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return value
}

func pidFile(dir string) string { return filepath.Join(dir, "postgres", "data", "postmaster.pid") }

// serverPID is the process of the server in dir.
func serverPID(t *testing.T, dir string) int {
	t.Helper()
	text, err := os.ReadFile(pidFile(dir))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// eventually waits for what another process does.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			t.Fatalf("not within 30 s: %s", what)
		case <-tick.C:
		}
	}
}

func running(pid int) bool {
	state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err == nil {
		return !strings.Contains(string(state), ") Z ")
	}
	return syscall.Kill(pid, 0) == nil && !errors.Is(err, os.ErrNotExist)
}

func TestDataOutlivesAStopAndADurableServerSyncs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 2 {
		srv, err := private.Start(t.Context(), private.Options{Dir: dir})
		if err != nil {
			t.Fatalf("Start: %v", err)
		}
		for range 2 { // twice does no harm
			if err := srv.CreateDatabase(t.Context(), `odd "name"`); err != nil {
				t.Fatalf("CreateDatabase: %v", err)
			}
		}
		url := srv.URL(`odd "name"`)
		if got := query[string](t, url, `SELECT current_setting('fsync') || current_setting('synchronous_commit') || current_setting('full_page_writes')`); got != "ononon" {
			t.Errorf("durable settings = %q, want all on", got)
		}
		if got := query[string](t, url, `SELECT current_setting('listen_addresses') || current_setting('TimeZone') || current_setting('server_encoding')`); got != "UTCUTF8" {
			t.Errorf("listen_addresses, timezone, encoding = %q, want none, UTC, UTF8", got)
		}
		if i == 0 {
			query[int](t, url, `WITH made AS (SELECT lo_from_bytea(4711, 'kept')) SELECT count(*)::int FROM made`)
		} else if got := query[string](t, url, `SELECT encode(lo_get(4711), 'escape')`); got != "kept" {
			t.Errorf("after a restart = %q, want kept", got)
		}
		stop(t, srv)
		stop(t, srv) // twice does no harm
		if _, err := os.Stat(pidFile(dir)); !os.IsNotExist(err) {
			t.Errorf("the server runs after its last user stopped: %v", err)
		}
	}
}

func TestUsersShareOneServerAndTheLastStopsIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	other := spawn(t, dir)
	pid := serverPID(t, dir)
	first, second := start(t, dir), start(t, dir)
	if got := serverPID(t, dir); got != pid {
		t.Errorf("joined server = process %d, want %d", got, pid)
	}
	kill(t, other) // it had started the server
	stop(t, first)
	if got := query[int](t, second.URL("postgres"), `SELECT 1`); got != 1 {
		t.Errorf("the server is gone although it is used")
	}
	stop(t, second)
	if running(pid) {
		t.Errorf("the server runs after its last user stopped")
	}
}

func TestManyStartAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	type result struct {
		srv *private.Server
		err error
	}
	results := make(chan result)
	const users = 5
	for range users {
		go func() {
			srv, err := private.Start(context.Background(), private.Options{Dir: dir, Fast: true})
			results <- result{srv, err}
		}()
	}
	for range users {
		r := <-results
		if r.err != nil {
			t.Errorf("Start: %v", r.err)
			continue
		}
		t.Cleanup(func() { stop(t, r.srv) })
		query[int](t, r.srv.URL("postgres"), `SELECT 1`)
	}
}

func TestKilledUserLeavesNoServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	user := spawn(t, dir)
	pid := serverPID(t, dir)
	kill(t, user)
	eventually(t, "the watchdog stops the server", func() bool { return !running(pid) })
}

func TestKilledUserOfATemporaryServerLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "temporary")
	user := spawn(t, dir, childDir+"_TEMPORARY=yes")
	kill(t, user)
	eventually(t, "the watchdog removes the directory", func() bool {
		_, err := os.Stat(dir)
		return os.IsNotExist(err)
	})
}

// A server whose user and watchdog were both killed is nobody's: the next
// start takes its place, and what was committed is there.
func TestOrphanIsReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	user := spawn(t, dir)
	orphan := serverPID(t, dir)
	killWatchdog(t, dir)
	kill(t, user)
	if !running(orphan) {
		t.Fatalf("the server ended by itself; the test proves nothing")
	}
	srv := start(t, dir)
	if got := serverPID(t, dir); got == orphan || running(orphan) {
		t.Errorf("the orphan %d still runs; the server is %d", orphan, got)
	}
	query[int](t, srv.URL("postgres"), `SELECT 1`)
}

// killWatchdog kills the shell that was started for dir.
func killWatchdog(t *testing.T, dir string) {
	t.Helper()
	procs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range procs {
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), "reconciler-watchdog\x00"+dir) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("no watchdog for %s", dir)
}

func TestServerThatDiedInUseIsStartedAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := start(t, dir)
	pid := serverPID(t, dir)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server is dead", func() bool { return !running(pid) })
	start(t, dir)
	if got := query[int](t, first.URL("postgres"), `SELECT 1`); got != 1 {
		t.Errorf("the first user can't use the new server")
	}
}

// The number in a stale file may belong to any process by now, here to us.
func TestStaleFilesOfACrashAreNoObstacle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stop(t, start(t, dir))
	for file, text := range map[string]string{
		pidFile(dir): fmt.Sprintf("%d\n", os.Getpid()),
		filepath.Join(dir, "postgres", "data.new", "half"): "initdb was killed",
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	query[int](t, start(t, dir).URL("postgres"), `SELECT 1`)
}

func TestHalfMadeClusterIsMadeAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	half := filepath.Join(dir, "postgres", "data.new")
	if err := os.MkdirAll(half, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(half, "PG_VERSION"), []byte("3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	query[int](t, start(t, dir).URL("postgres"), `SELECT 1`)
}

func TestLongPathGetsAShortSocket(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 20))
	srv := start(t, dir)
	query[int](t, srv.URL("postgres"), `SELECT 1`)
	if url := srv.URL("postgres"); strings.Contains(url, "longlong") {
		t.Errorf("URL = %s, want a socket outside the long path", url)
	}
}

// As root, the server runs as a user who can't walk through this directory.
func TestDirectoryBelowAClosedOne(t *testing.T) {
	t.Parallel()
	closed := filepath.Join(t.TempDir(), "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(closed, "data")
	user := spawn(t, dir)
	pid := serverPID(t, dir)
	query[int](t, start(t, dir).URL("postgres"), `SELECT 1`)
	kill(t, user)
	if info, err := os.Stat(closed); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the closed directory = %v (%v), want mode 0700 as it was", info.Mode(), err)
	}
	if !running(pid) {
		t.Error("the server ended although it is used")
	}
}

func TestDatabaseOfAnotherVersionSaysWhatToInstall(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stop(t, start(t, dir))
	if err := os.WriteFile(filepath.Join(dir, "postgres", "data", "PG_VERSION"), []byte("9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := private.Start(t.Context(), private.Options{Dir: dir, Fast: true})
	var missing *private.NotInstalledError
	if !errors.As(err, &missing) || missing.Need != 9 || !strings.Contains(err.Error(), "apt install postgresql-9") {
		t.Errorf("Start = %v, want a NotInstalledError that names PostgreSQL 9", err)
	}
}

func TestStartHeedsItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := private.Start(ctx, private.Options{Dir: t.TempDir(), Fast: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("Start = %v, want the context's error", err)
	}
}

func TestNoDirectoryIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := private.Start(t.Context(), private.Options{}); err == nil {
		t.Error("Start without a directory succeeds")
	}
}
