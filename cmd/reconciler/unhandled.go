package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// tellUnhandled says on stderr which open operations no job works on: an
// action type that the configuration forgot must not vanish in silence.
func (a *app) tellUnhandled(ctx context.Context, s *session) error {
	known := []string{}
	for _, name := range s.cfg.JobNames() {
		job, _ := s.cfg.Job(name)
		known = append(known, job.ActionTypes...)
	}
	left, err := s.store.Unhandled(context.WithoutCancel(ctx), known)
	if err != nil {
		return err
	}
	for _, action := range slices.Sorted(maps.Keys(left)) {
		name := action
		if name == "" {
			name = "no action type"
		}
		if _, err := fmt.Fprintf(a.stderr, "reconciler: %d open operations of %s: no job works on them; give it a policy and a job\n", left[action], name); err != nil {
			return fmt.Errorf("print a warning: %w", err)
		}
	}
	return nil
}
