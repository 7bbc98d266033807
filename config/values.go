package config

import (
	"log/slog"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"reconciler/sources"
)

// Secret is a text that never shows itself: printed, logged or marshalled it
// reads [redacted]. Reveal gives the text to the one who needs it.
type Secret string

// redacted stands for every secret that is not empty.
const redacted = "[redacted]"

// Reveal returns the secret itself.
func (s Secret) Reveal() string { return string(s) }

func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// GoString keeps %#v from showing the text.
func (s Secret) GoString() string { return strconv.Quote(s.String()) }

// LogValue keeps the text out of logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText keeps the text out of JSON and YAML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Switch is on or off.
type Switch bool

// The two positions.
const (
	On  Switch = true
	Off Switch = false
)

func (s Switch) String() string {
	if s == On {
		return "on"
	}
	return "off"
}

func parseSwitch(text string) (any, string) {
	switch strings.ToLower(text) {
	case "on", "true":
		return On, ""
	case "off", "false":
		return Off, ""
	}
	return nil, "must be on or off"
}

// Size is a number of bytes.
type Size int64

// parseSize reads a whole number with a unit of 1024: "512MiB", "8GiB".
func parseSize(text string) (any, string) {
	const form = "is not a size; write a whole number with its unit: 512MiB, 8GiB"
	for _, unit := range []struct {
		name  string
		shift uint
	}{{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}} {
		digits, ok := strings.CutSuffix(text, unit.name)
		if !ok {
			continue
		}
		number, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 32)
		if err != nil || number <= 0 || number >= 1<<20 {
			return nil, form
		}
		return Size(number << unit.shift), ""
	}
	return nil, form
}

// maxDays keeps days far from the end of time.Duration (292 years).
const maxDays = 36_500

// parseDuration reads Go durations with an optional leading count of days
// ("30d", "1d12h"). A day is 24 hours. Negative durations are refused.
func parseDuration(text string) (any, string) {
	const form = "is not a duration; write a number with its unit: 90s, 15m, 72h, 30d"
	var days time.Duration
	rest := text
	if head, tail, ok := strings.Cut(text, "d"); ok {
		count, err := strconv.ParseUint(head, 10, 32)
		if err != nil || count > maxDays {
			return nil, form
		}
		days, rest = time.Duration(count)*24*time.Hour, tail
		if rest == "" {
			return days, ""
		}
	}
	clock, err := time.ParseDuration(rest)
	switch {
	case err != nil:
		return nil, form
	case clock < 0 || strings.HasPrefix(rest, "-"):
		return nil, "is negative; durations count forward"
	case clock > maxDays*24*time.Hour:
		return nil, form
	}
	return days + clock, ""
}

// parseColumn tells a number (a plain integer in the file) from a header
// (everything else, so also a quoted "3").
func parseColumn(n *yaml.Node, text string) (any, string) {
	if text != n.Value || n.ShortTag() != "!!int" {
		if text == "" {
			return nil, "names no column; write its header, or its number from 1"
		}
		return sources.Column{Header: text}, ""
	}
	number, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, "is no number of a column; count from 1, or quote the text if it is a header"
	}
	if number == 0 {
		return nil, "is no number of a column; columns are counted from 1"
	}
	return sources.Column{Number: int(number)}, ""
}
