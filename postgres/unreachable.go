package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

// UnreachableError says that the database could not be opened: where it was
// looked for, why it is not to be had, and what to do. The driver tries every
// address of a host, with and without TLS, and reports each attempt; for people
// one sentence is enough.
type UnreachableError struct {
	// Place is host and port, or the folder of the socket.
	Place string
	// Cause and Remedy are parts of a sentence.
	Cause, Remedy string

	err error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("the database at %s can't be opened: %s; %s", e.Place, e.Cause, e.Remedy)
}

// Unwrap gives the driver's error.
func (e *UnreachableError) Unwrap() error { return e.err }

// unreachable makes a sentence of what the driver says when it can't connect;
// any other error stays as it is.
func unreachable(err error) error {
	var failed *pgconn.ConnectError
	if !errors.As(err, &failed) || errors.Is(err, context.Canceled) {
		return err
	}
	cfg := failed.Config
	out := &UnreachableError{Place: place(cfg), err: err}
	out.Cause, out.Remedy = refusedByServer(err, cfg)
	if out.Cause == "" {
		out.Cause, out.Remedy = notReached(err)
	}
	return out
}

func place(cfg *pgconn.Config) string {
	if strings.HasPrefix(cfg.Host, "/") {
		return cfg.Host
	}
	return net.JoinHostPort(cfg.Host, strconv.Itoa(int(cfg.Port)))
}

// refusedByServer says what a server that answered does not like.
func refusedByServer(err error, cfg *pgconn.Config) (cause, remedy string) {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return "", ""
	}
	switch pg.Code {
	case "28P01", "28000":
		return pg.Message, fmt.Sprintf("check user (%s) and password in database.url, and the server's pg_hba.conf", cfg.User)
	case "3D000":
		return pg.Message, "create it, or correct the name in database.url"
	case "53300":
		return pg.Message, "wait, or raise max_connections"
	case "57P03":
		return pg.Message, "try again in a moment"
	}
	return fmt.Sprintf("%s (SQLSTATE %s)", pg.Message, pg.Code), "correct what the server names"
}

// notReached says why no server answered as one.
func notReached(err error) (cause, remedy string) {
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case errors.As(err, &dns):
		return "there is no host " + dns.Name, "correct the host in database.url"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused", "start the server, or correct host and port in database.url"
	case errors.Is(err, os.ErrNotExist):
		return "there is no socket in that folder", "start the server, or correct the host in database.url"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time", "check the network and the firewall between here and there, and host and port in database.url"
	case strings.Contains(err.Error(), "refused TLS"):
		return "the server does not speak TLS", "turn on its ssl, or say sslmode=disable in database.url if the network between is your own"
	case strings.Contains(err.Error(), "tls error"):
		return "no TLS: " + innermost(err), "check sslmode and sslrootcert in database.url"
	}
	return innermost(err), "check database.url, and that a PostgreSQL server listens there"
}

// innermost is the text of the last cause of the last attempt.
func innermost(err error) string {
	for {
		switch e := err.(type) { //nolint:errorlint // it walks the chain itself
		case interface{ Unwrap() error }:
			next := e.Unwrap()
			if next == nil {
				return err.Error()
			}
			err = next
		case interface{ Unwrap() []error }:
			all := e.Unwrap()
			if len(all) == 0 {
				return err.Error()
			}
			err = all[len(all)-1]
		default:
			return err.Error()
		}
	}
}
