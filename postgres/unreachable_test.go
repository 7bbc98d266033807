package postgres_test

import (
	"errors"
	"net"
	"net/url"
	"strings"
	"testing"

	"reconciler/postgres"
	"reconciler/postgres/postgrestest"
)

// TestUnreachable: a database that can't be opened is one sentence, with the
// place, the cause and what to do, each once.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	good, err := url.Parse(postgrestest.Empty(t))
	if err != nil {
		t.Fatalf("read the url: %v", err)
	}
	change := func(f func(*url.URL)) string {
		u := *good
		f(&u)
		return u.String()
	}
	for name, tc := range map[string]struct{ url, want string }{
		"nobody listens": {
			"postgres://nobody@localhost:1/none",
			"the database at localhost:1 can't be opened: connection refused; start the server, or correct host and port in database.url",
		},
		"no such host": {
			"postgres://nobody@host.invalid:5432/none", "the database at host.invalid:5432 can't be opened: there is no host host.invalid; correct the host in database.url",
		},
		"no socket": {"postgres:///none?host=/nowhere", "the database at /nowhere can't be opened: there is no socket in that folder; "},
		"no such database": {
			change(func(u *url.URL) { u.Path = "/nothing_of_the_kind" }), `database "nothing_of_the_kind" does not exist; create it, or correct the name in database.url`,
		},
		"no such user": {change(func(u *url.URL) { u.User = url.User("nobody_at_all") }), "nobody_at_all"},
		"not a server": {"postgres://nobody@" + deaf(t) + "/none?sslmode=disable", "can't be opened: "},
	} {
		_, err := postgres.Connect(t.Context(), tc.url)
		if err == nil {
			t.Errorf("%s: it opened", name)
			continue
		}
		if !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") || strings.Count(err.Error(), "refused") > 1 {
			t.Errorf("%s: %q, want one line with %q", name, err, tc.want)
		}
		var said *postgres.UnreachableError
		if !errors.As(err, &said) || errors.Unwrap(said) == nil {
			t.Errorf("%s: %#v, want an UnreachableError that holds the driver's", name, err)
		}
		if _, err := postgres.UpToDate(t.Context(), tc.url, postgres.Schemas{}); err == nil || !errors.As(err, &said) {
			t.Errorf("%s: UpToDate: %v, want an UnreachableError", name, err)
		}
	}
}

// deaf is the address of a server that hangs up on everybody.
func deaf(t *testing.T) string {
	t.Helper()
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("stop listening: %v", err)
		}
	})
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if conn.Close() != nil {
				return
			}
		}
	}()
	return l.Addr().String()
}
