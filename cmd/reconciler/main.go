// Command reconciler settles the open operations of a shared journal against
// what the providers say, and hands what it cannot prove to people.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // a slim image has no zone files, and UTC is not a fallback
)

func main() {
	os.Exit(mainExit())
}

func mainExit() int {
	ctx, stop := stopOnSignal(context.Background())
	defer stop()
	a := &app{
		args: os.Args[1:], stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, env: os.LookupEnv,
		terminal: isTerminal(os.Stderr), dir: ".",
	}
	return a.main(ctx)
}

// signalError is the cause of a context that a signal has ended.
type signalError struct{ sig syscall.Signal }

func (e signalError) Error() string { return "stopped by " + e.sig.String() }

// stopOnSignal ends the context on the first SIGINT or SIGTERM: the batch in
// hand is committed, then the program leaves. A second one ends it at once.
func stopOnSignal(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		defer close(done)
		first, ok := <-signals
		if !ok {
			return
		}
		sig, _ := first.(syscall.Signal) //nolint:errcheck // only these two signals arrive
		cancel(signalError{sig})
		if _, again := <-signals; again {
			os.Exit(128 + int(sig))
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		<-done
		cancel(nil)
	}
}

// exitCode is what the process ends with, by what stopped it.
func exitCode(ctx context.Context, err error) int {
	var sig signalError
	if errors.As(context.Cause(ctx), &sig) {
		return 128 + int(sig.sig)
	}
	var exit *exitError
	if errors.As(err, &exit) {
		return exit.code
	}
	return codeFailed
}

// The exit codes, as --help lists them.
const (
	codeDone       = 0
	codeFailed     = 1
	codeUsage      = 2
	codeExceptions = 3
	codeIncomplete = 4
	codeLocked     = 75
)

const exitCodesHelp = `Exit codes:
  0    the run is done (open exceptions are finance's work, not a failure)
  1    the run failed; a retry may help, nothing is half-done
  2    usage or configuration
  3    exceptions are open (only with --exit-code)
  4    incomplete: a statement is in quarantine, has rejects, or is missing
  75   another run of this job holds the lock
  130  interrupted (143: terminated); the batch in hand was committed
`

// exitError ends the program with a code; its error, if any, is printed.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usage(format string, args ...any) error {
	return &exitError{codeUsage, fmt.Errorf(format, args...)}
}
