package reports

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

//go:embed assets/summary.schema.json
var summarySchema []byte

// SummarySchema returns the JSON Schema (draft 2020-12) of summary.json. Later
// versions may add properties, and never take one away.
func SummarySchema() []byte {
	return slices.Clone(summarySchema)
}

// WriteJSON writes the summary as one indented JSON document. Lists and maps
// without content are written as empty, never as null, and times in UTC.
func WriteJSON(w io.Writer, s Summary) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s.normal()); err != nil {
		return fmt.Errorf("write summary of run %s: %w", s.RunID, err)
	}
	return nil
}

// normal returns s in the form in which it is published.
func (s Summary) normal() Summary {
	s.StartedAt, s.FinishedAt = s.StartedAt.UTC(), s.FinishedAt.UTC()
	coverage := make([]CoverageEnd, len(s.Coverage))
	for i, c := range s.Coverage {
		coverage[i] = c
		if c.CoveredTo != nil {
			to := c.CoveredTo.UTC()
			coverage[i].CoveredTo = &to
		}
	}
	s.Coverage = coverage
	if s.Transitions == nil {
		s.Transitions = []Transition{}
	}
	if s.Exceptions.ByKind == nil {
		s.Exceptions.ByKind = map[string]int{}
	}
	return s
}
