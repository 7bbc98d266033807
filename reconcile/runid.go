package reconcile

import (
	"crypto/rand"
	"strings"
	"time"
)

// NewRunID names a run: its instant, and enough chance that two of one second
// differ.
func NewRunID(at time.Time) string {
	return "run-" + at.UTC().Format("20060102T150405Z") + "-" + strings.ToLower(rand.Text()[:8])
}
