package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"reconciler/postgres/postgrestest"
)

// signalled is a deployment whose run is held up by a lock of the test, so
// that a signal arrives at a known place.
type signalled struct {
	*harness
	// gate holds what the run waits for; open lets it go on.
	gate pgx.Tx
	cmd  *exec.Cmd
	out  bytes.Buffer
}

const (
	signalLines = 8_000
	signalOps   = 5_000
)

// whileLoading stops a run in the middle of a statement, whileApplying in its
// second batch of operations.
const (
	whileLoading  = `LOCK TABLE reconciler.records IN ACCESS EXCLUSIVE MODE`
	whileApplying = `SELECT 1 FROM agent_operations WHERE idempotency_key = 'op-0003003' FOR UPDATE`
)

func newSignalled(t *testing.T, at time.Time) *signalled {
	t.Helper()
	s := &signalled{harness: newHarness(t)}
	bigCase(s.harness, signalLines, signalOps, at)
	return s
}

// start starts a run and returns once it waits at the gate.
func (s *signalled) start(gate string) {
	s.tb.Helper()
	ctx := s.tb.Context()
	var err error
	if s.gate, err = postgrestest.Connect(s.tb, s.env["DATABASE_URL"]).Begin(ctx); err != nil {
		s.tb.Fatal(err)
	}
	if _, err := s.gate.Exec(ctx, gate); err != nil {
		s.tb.Fatal(err)
	}
	s.cmd = s.program(ctx, "run")
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.out
	if err := s.cmd.Start(); err != nil {
		s.tb.Fatal(err)
	}
	s.until("a run waits at the gate", `SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
}

// until asks the database until the answer is yes.
func (s *signalled) until(what, question string) {
	s.tb.Helper()
	ctx, cancel := context.WithTimeout(s.tb.Context(), time.Minute)
	defer cancel()
	for yes := false; !yes; {
		if err := s.db.QueryRow(ctx, question+` AND pg_sleep(0.01) IS NOT NULL`).Scan(&yes); err != nil {
			s.tb.Fatalf("wait until %s: %v", what, err)
		}
	}
}

func (s *signalled) signal(sig syscall.Signal) {
	s.tb.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.tb.Fatal(err)
	}
}

func (s *signalled) open() {
	s.tb.Helper()
	if err := s.gate.Rollback(s.tb.Context()); err != nil {
		s.tb.Fatal(err)
	}
}

// ends waits for the end of the run, which must have the exit code, say that
// it was interrupted, and hold no lock any more.
func (s *signalled) ends(code int) {
	s.tb.Helper()
	s.wait(code)
	if !strings.Contains(s.out.String(), "interrupted") {
		s.tb.Errorf("it does not say that it was interrupted:\n%s", s.out.String())
	}
	if left := s.text(`SELECT count(*) FROM reconciler.job_locks`); left != "0" {
		s.tb.Errorf("%s locks are left behind, want the job's to be free at once", left)
	}
}

func (s *signalled) wait(code int) {
	s.tb.Helper()
	var exit *exec.ExitError
	if err := s.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		s.tb.Fatal(err)
	}
	if got := s.cmd.ProcessState.ExitCode(); got != code {
		s.tb.Errorf("exit code %d, want %d\n%s", got, code, s.out.String())
	}
}

// A signal at any place ends the run in good order: a statement in hand is
// rolled back, a batch in hand is committed, the lock is free, and the next
// run ends where an undisturbed one does.
func TestSignals(t *testing.T) {
	t.Parallel()
	at := brokenAt()
	calm := newSignalled(t, at)
	calm.must(codeDone, "run")
	want := calm.endState()

	again := func(t *testing.T, s *signalled) {
		t.Helper()
		s.must(codeDone, "run")
		if diff := cmp.Diff(want, s.endState()); diff != "" {
			t.Errorf("end state (-undisturbed +interrupted):\n%s", diff)
		}
	}
	for name, c := range map[string]struct {
		sig  syscall.Signal
		code int
	}{"SIGTERM": {syscall.SIGTERM, 143}, "SIGINT": {syscall.SIGINT, 130}} {
		t.Run(name+" while loading", func(t *testing.T) {
			t.Parallel()
			s := newSignalled(t, at)
			s.start(whileLoading)
			// The gate stays shut: the run leaves without waiting for it.
			s.signal(c.sig)
			s.ends(c.code)
			s.open()
			if got := s.text(`SELECT (SELECT count(*) FROM reconciler.statements) + (SELECT count(*) FROM reconciler.records)`); got != "0" {
				t.Errorf("%s rows of the statement in hand are visible, want none", got)
			}
			again(t, s)
		})
		t.Run(name+" while applying", func(t *testing.T) {
			t.Parallel()
			s := newSignalled(t, at)
			s.start(whileApplying)
			s.signal(c.sig)
			s.open()
			s.ends(c.code)
			if got := s.text(`SELECT count(*) FROM reconciler.operation_decisions`); got != "4000" {
				t.Errorf("%s operations are decided, want the two batches up to the one in hand, 4000", got)
			}
			if got := s.text(`SELECT count(*) FROM reconciler.runs WHERE finished_at IS NULL`); got != "1" {
				t.Errorf("%s runs are without an end in the log, want the one that was interrupted", got)
			}
			again(t, s)
		})
	}
	t.Run("a second signal", func(t *testing.T) {
		t.Parallel()
		s := newSignalled(t, at)
		s.start(whileApplying)
		// The gate stays shut: the batch in hand is not waited for. Two signals
		// in one moment may be one to the system, so this goes on until it is heard.
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.wait(130)
		}()
		impatient := time.NewTicker(50 * time.Millisecond)
		defer impatient.Stop()
		for waiting := true; waiting; {
			if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Fatal(err)
			}
			select {
			case <-ended:
				waiting = false
			case <-impatient.C:
			}
		}
		s.open()
		again(t, s)
	})
}
