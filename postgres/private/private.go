// Package private runs a real PostgreSQL of the program's own: its files lie
// under a data directory, it listens on a Unix socket only, and it lives as
// long as somebody uses it. It exists so that the program can be tried, tested
// and run on one machine without a database being set up first.
//
// # Who shares it
//
// Every process that starts a server on the same directory gets the same one.
// A shared lock on the file users says that a process uses it; the file start
// is locked while a server is being started or stopped. The last user out
// stops the server.
//
// # What a crash leaves
//
// A user that is killed cannot stop anything. So each user holds a named pipe
// open for writing, and a watchdog (a shell that reads the pipe) sees its end
// when the last user is gone, however it went, and stops the server. Should
// the watchdog have been killed too, the next start finds a server without
// users, stops it and starts its own. An initdb that was cut short leaves only
// a directory that the next start removes.
//
// # Root
//
// PostgreSQL refuses to run as root, so a program that runs as root starts it
// as user postgres, or as nobody. The data directory may be one that this user
// cannot walk to.
package private

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	startLimit = 30 * time.Second
	stopLimit  = 30 * time.Second
	pollEvery  = 10 * time.Millisecond
)

// Options says where a private server lives and how safe it must be.
type Options struct {
	// Dir is the program's data directory; the server takes the sub-directory
	// postgres of it. It is made if it does not exist.
	Dir string
	// Log gets one line when a server is made, started, joined or stopped. Nil: none.
	Log *slog.Logger
	// Fast gives up durability: a power cut may destroy the database. For
	// tests and demonstrations only. It counts for the process that starts
	// the server, not for those that join it.
	Fast bool
	// Temporary removes Dir, with all that is in it, when the last user is
	// gone, even one that was killed. Dir must be one that nobody uses again.
	Temporary bool
}

// Server is one use of a private PostgreSQL. Stop ends the use.
type Server struct {
	paths  paths
	owner  account
	opts   Options
	users  *os.File // locked in shared mode as long as the server is used
	alive  *os.File // the pipe's writing end: its close tells the watchdog
	log    *slog.Logger
	stop   sync.Once
	result error
}

// Start returns a running server on opts.Dir: the one that other processes use
// there already, or a new one. The caller must Stop it. A machine without
// PostgreSQL gives *NotInstalledError.
func Start(ctx context.Context, opts Options) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	srv, err := newServer(opts)
	if err != nil {
		return nil, err
	}
	starting, err := lockFile(ctx, srv.paths.startLock, exclusive)
	if err != nil {
		return nil, fmt.Errorf("wait for another process that starts or stops the private database in %s: %w", srv.paths.root, err)
	}
	defer starting.Close() //nolint:errcheck // closing only gives the lock back
	if err := srv.startOrJoin(ctx); err != nil {
		return nil, errors.Join(err, srv.release())
	}
	return srv, nil
}

// newServer makes the directories; nothing runs yet.
func newServer(opts Options) (*Server, error) {
	if opts.Dir == "" {
		return nil, errors.New("start the private database: no data directory is given")
	}
	dir, err := filepath.Abs(opts.Dir)
	if err != nil {
		return nil, fmt.Errorf("resolve the data directory %s: %w", opts.Dir, err)
	}
	opts.Dir = dir
	log := opts.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	owner, err := serverAccount()
	if err != nil {
		return nil, err
	}
	p, err := makePaths(dir, owner)
	if err != nil {
		return nil, err
	}
	return &Server{paths: p, owner: owner, opts: opts, log: log}, nil
}

// startOrJoin runs under the start lock. Whoever can lock the users file alone
// knows that nobody uses a server here: one that runs all the same was left by
// a crash.
func (s *Server) startOrJoin(ctx context.Context) error {
	users, err := openLock(s.paths.usersLock)
	if err != nil {
		return err
	}
	s.users = users
	alone, err := tryLock(users, exclusive)
	if err != nil {
		return fmt.Errorf("lock %s: %w", s.paths.usersLock, err)
	}
	if alone {
		if err := s.stopProcess(ctx); err != nil {
			return fmt.Errorf("stop the private database that a crash left in %s: %w", s.paths.data, err)
		}
		if err := s.startWatchdog(); err != nil {
			return err
		}
		if err := s.startFresh(ctx); err != nil {
			return err
		}
	} else if err := s.join(ctx); err != nil {
		return err
	}
	// From exclusive to shared is not one step, but whoever could come in
	// between would have to hold the start lock.
	if got, err := tryLock(users, shared); err != nil || !got {
		return fmt.Errorf("lock %s for sharing (got it: %t): %w", s.paths.usersLock, got, err)
	}
	return nil
}

// join uses the server that others use. The question is whether it answers,
// not whether its process is seen: it may run in another container.
func (s *Server) join(ctx context.Context) error {
	alive, err := os.OpenFile(s.paths.pipe, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("join the private database in %s: %w", s.paths.data, err)
	}
	s.alive = alive
	if s.ping(ctx) != nil {
		pid, err := s.runningPID()
		if err != nil {
			return err
		}
		if pid == 0 {
			s.log.WarnContext(ctx, "the private database had ended while in use; starting it again", "dir", s.paths.data)
			return s.startFresh(ctx)
		}
	}
	s.log.DebugContext(ctx, "joined the private database that is running", "dir", s.paths.data)
	return s.waitReady(ctx, nil)
}

// startFresh starts a server where none runs.
func (s *Server) startFresh(ctx context.Context) error {
	bin, err := findBinaries(ctx, s.paths.data)
	if err != nil {
		return err
	}
	if err := s.ensureCluster(ctx, bin); err != nil {
		return err
	}
	if err := s.owner.makeDir(s.paths.socket); err != nil {
		return err
	}
	if err := s.launch(ctx, bin); err != nil {
		return err
	}
	s.log.DebugContext(ctx, "started a private database", "dir", s.paths.data, "binaries", bin.dir)
	return nil
}

// URL names one database of the server, in a form that pgx and psql read. It
// connects through the Unix socket, as the superuser.
func (s *Server) URL(database string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.User(superuser),
		Path:     "/" + database,
		RawQuery: url.Values{"host": {s.paths.socket}, "sslmode": {"disable"}}.Encode(),
	}
	return u.String()
}

// CreateDatabase makes a database, unless it exists.
func (s *Server) CreateDatabase(ctx context.Context, name string) error {
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return fmt.Errorf("connect to the private database: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing is lost with this connection
	_, err = conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && (pgErr.Code == "42P04" || pgErr.ConstraintName == "pg_database_datname_index") {
		return nil // it exists, or somebody made it at this very moment
	}
	if err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	return nil
}

// Stop ends this use of the server, and the server itself if nobody else uses
// it. It may be called more than once.
func (s *Server) Stop() error {
	s.stop.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
		defer cancel()
		s.result = s.leave(ctx)
	})
	return s.result
}

func (s *Server) leave(ctx context.Context) error {
	starting, err := lockFile(ctx, s.paths.startLock, exclusive)
	if err != nil {
		return errors.Join(fmt.Errorf("wait for another process that starts or stops the private database in %s: %w", s.paths.root, err), s.release())
	}
	defer starting.Close() //nolint:errcheck // closing only gives the lock back
	last, err := tryLock(s.users, exclusive)
	if err != nil {
		return errors.Join(fmt.Errorf("lock %s: %w", s.paths.usersLock, err), s.release())
	}
	if !last {
		return s.release()
	}
	err = errors.Join(s.stopProcess(ctx), s.dismissWatchdog(), os.RemoveAll(s.paths.socket))
	s.log.DebugContext(ctx, "stopped the private database", "dir", s.paths.data)
	if s.opts.Temporary {
		err = errors.Join(err, os.RemoveAll(s.opts.Dir))
	}
	return errors.Join(err, s.release())
}

// release gives back what this use holds; the kernel does the same for a
// process that is killed.
func (s *Server) release() error {
	var errs []error
	for _, f := range []*os.File{s.alive, s.users, s.paths.handle} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	s.alive, s.users, s.paths.handle = nil, nil, nil
	return errors.Join(errs...)
}
