package main

import (
	"fmt"
	"io"
	"log/slog"
	"time"

	"reconciler/reconcile"
)

// newProgress shows how far long work is: one moving line on a terminal, a log
// line every now and then elsewhere.
func newProgress(w io.Writer, terminal bool, log *slog.Logger) *progress {
	return &progress{w: w, terminal: terminal, log: log, now: time.Now}
}

var _ reconcile.Progress = (*progress)(nil)

type progress struct {
	w        io.Writer
	terminal bool
	log      *slog.Logger
	now      func() time.Time

	phase string
	begun time.Time
	shown time.Time
	width int
}

// How often progress shows.
const (
	everyOnTerminal = 200 * time.Millisecond
	everyInLog      = 15 * time.Second
)

// Phase begins a new one.
func (p *progress) Phase(name string, _ int64) {
	p.clear()
	p.phase, p.begun, p.shown = name, p.now(), p.now()
}

// Done tells how much of the phase is done.
func (p *progress) Done(n int64) {
	now := p.now()
	every := everyInLog
	if p.terminal {
		every = everyOnTerminal
	}
	if now.Sub(p.shown) < every {
		return
	}
	p.shown = now
	rate := int64(0)
	if s := now.Sub(p.begun); s > 0 {
		rate = n * int64(time.Second) / int64(s)
	}
	if !p.terminal {
		p.log.Info("working", "phase", p.phase, "done", n, "per_second", rate)
		return
	}
	line := fmt.Sprintf("%s: %s (%s/s)", p.phase, thousands(n), thousands(rate))
	fmt.Fprintf(p.w, "\r%-*s", p.width, line) //nolint:errcheck // progress is a courtesy
	p.width = max(p.width, len(line))
}

// clear takes the moving line away.
func (p *progress) clear() {
	if p.terminal && p.width > 0 {
		fmt.Fprintf(p.w, "\r%-*s\r", p.width, "") //nolint:errcheck // progress is a courtesy
		p.width = 0
	}
}

// thousands writes a count with separators.
func thousands(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
