package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Problem is one thing that is wrong in the file.
type Problem struct {
	// File as it was named; Line from 1, 0 if no line is to blame.
	File string
	Line int
	// Key is the path of the value ("sources.acme-bank.settlement_lag"); empty
	// if the problem concerns the whole file.
	Key string
	// Text says what is wrong and what to do about it.
	Text string
}

func (p Problem) String() string {
	text := p.File
	if p.Line > 0 {
		text += ":" + strconv.Itoa(p.Line)
	}
	if p.Key != "" {
		text += ": " + p.Key
	}
	return text + ": " + p.Text
}

// Error is what Load returns: every problem that was found, in file order.
type Error struct {
	Problems []Problem
	err      error
}

// Error gives one problem per line.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the cause of a file that could not be read, nil otherwise.
func (e *Error) Unwrap() error { return e.err }

// keyPath leads from the root of the file to a value.
type keyPath []string

func at(keys ...string) keyPath { return keys }

func (p keyPath) key(names ...string) keyPath { return append(slices.Clip(p), names...) }

func (p keyPath) item(i int) keyPath { return p.key("[" + strconv.Itoa(i) + "]") }

func (p keyPath) String() string {
	var b strings.Builder
	for i, name := range p {
		if i > 0 && !strings.HasPrefix(name, "[") {
			b.WriteByte('.')
		}
		b.WriteString(name)
	}
	return b.String()
}

// index tells a key that contains a dot from two keys.
func (p keyPath) index() string { return strings.Join(p, "\x00") }

// ledger remembers where every value stands, and collects problems.
type ledger struct {
	file  string
	lines map[string]int
	// raws are the texts of scalars before expansion, where that changed them:
	// what a message may show of a value that came from outside the file.
	raws map[string]string
	// broken are the values that could not be decoded. What is wrong with them
	// is told once; what follows from it is not.
	broken             map[string]bool
	problems, warnings []Problem
}

func newLedger(file string) *ledger {
	return &ledger{file: file, lines: map[string]int{}, raws: map[string]string{}, broken: map[string]bool{}}
}

// said reports whether the file has a value there.
func (l *ledger) said(p keyPath) bool {
	_, ok := l.lines[p.index()]
	return ok
}

// line of a value, or of the nearest thing around it that the file has.
func (l *ledger) line(p keyPath) int {
	for ; len(p) > 0; p = p[:len(p)-1] {
		if line, ok := l.lines[p.index()]; ok {
			return line
		}
	}
	return 1
}

// show quotes a value as the file has it: a value from the environment is
// shown by its name, never by its content.
func (l *ledger) show(p keyPath, value string) string {
	if raw, ok := l.raws[p.index()]; ok {
		value = raw
	}
	if r := []rune(value); len(r) > 80 {
		value = string(r[:80]) + "…"
	}
	return strconv.Quote(value)
}

// hasProblems reports whether anything is wrong at or below a path.
func (l *ledger) hasProblems(p keyPath) bool {
	below := p.String()
	return slices.ContainsFunc(l.problems, func(one Problem) bool {
		return one.Key == below || strings.HasPrefix(one.Key, below+".")
	})
}

// withheld is a text of another package, which may quote values: it is not
// shown where one of them came from outside of the file.
func (l *ledger) withheld(p keyPath, text string) string {
	for len(p) > 3 {
		p = p[:len(p)-1] // to the field or the rule
	}
	prefix := p.index()
	for key := range l.raws {
		if key == prefix || strings.HasPrefix(key, prefix+"\x00") {
			return "its value comes from outside of this file, and is not shown; check it there"
		}
	}
	return text
}

// isBroken reports whether a value, or something around it, could not be decoded.
func (l *ledger) isBroken(p keyPath) bool {
	for n := 0; n <= len(p); n++ {
		if l.broken[p[:n].index()] {
			return true
		}
	}
	return false
}

// problem notes what a check found, unless decoding has said it already.
func (l *ledger) problem(p keyPath, format string, args ...any) {
	if !l.isBroken(p) {
		l.problemAt(l.line(p), p, format, args...)
	}
}

// fault notes what is wrong with the form of a value.
func (l *ledger) fault(p keyPath, format string, args ...any) {
	l.problemAt(l.line(p), p, format, args...)
	l.broken[p.index()] = true
}

func (l *ledger) problemAt(line int, p keyPath, format string, args ...any) {
	l.problems = append(l.problems, l.at(line, p, format, args...))
}

// warn notes what is allowed and probably not meant.
func (l *ledger) warn(p keyPath, format string, args ...any) {
	l.warnings = append(l.warnings, l.at(l.line(p), p, format, args...))
}

func (l *ledger) at(line int, p keyPath, format string, args ...any) Problem {
	return Problem{File: l.file, Line: line, Key: p.String(), Text: fmt.Sprintf(format, args...)}
}

func (l *ledger) sorted(problems []Problem) []Problem {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), strings.Compare(a.Key, b.Key))
	})
	return problems
}

func (l *ledger) err() error {
	if len(l.problems) == 0 {
		return nil
	}
	return &Error{Problems: l.sorted(l.problems)}
}
