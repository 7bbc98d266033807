//go:build !unix

package private

import (
	"context"
	"errors"
	"os"
)

const superuser = "postgres"

type lockMode int

const (
	shared lockMode = iota
	exclusive
)

// errSystem says that this system has no Unix sockets, pipes and sessions as
// the private server needs them.
var errSystem = errors.New("a private PostgreSQL runs on Linux and macOS only: set database.url")

func serverAccount() (account, error) { return account{}, errSystem }

func ownerOf(os.FileInfo) (uid, gid int) { return -1, -1 }

func openLock(string) (*os.File, error) { return nil, errSystem }

func tryLock(*os.File, lockMode) (bool, error) { return false, errSystem }

func lockFile(context.Context, string, lockMode) (*os.File, error) { return nil, errSystem }

func (s *Server) ensureCluster(context.Context, binaries) error { return errSystem }

func (s *Server) launch(context.Context, binaries) error { return errSystem }

func (s *Server) waitReady(context.Context, <-chan struct{}) error { return errSystem }

func (s *Server) stopProcess(context.Context) error { return errSystem }

func (s *Server) runningPID() (int, error) { return 0, errSystem }

func (s *Server) startWatchdog() error { return errSystem }

func (s *Server) dismissWatchdog() error { return errSystem }

func (s *Server) ping(context.Context) error { return errSystem }
