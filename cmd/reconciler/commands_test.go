package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Every command says what it does, and those with arguments or flags show how
// they are called.
func TestEveryCommandHasHelp(t *testing.T) {
	t.Parallel()
	a := &app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Short == "" {
			t.Errorf("'%s' has no short description", cmd.CommandPath())
		}
		if cmd.Example == "" && (strings.Contains(cmd.Use, " ") || cmd.HasAvailableLocalFlags()) {
			t.Errorf("'%s' has no example", cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	for _, cmd := range a.root().Commands() {
		walk(cmd)
	}
}

func TestGroupsWantACommand(t *testing.T) {
	t.Parallel()
	h := newOffline(t)
	for _, args := range [][]string{{"statements"}, {"exceptions", "shw"}, {"journal", "drop"}, {"config"}} {
		_, stderr := h.must(codeUsage, args...)
		mustContain(t, stderr, "reconciler "+args[0])
	}
	h.must(codeUsage, "statements", "show")
	h.must(codeUsage, "version", "--output", "xml")
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	h := storyHarness(t)
	h.must(codeDone, "run")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"run", ""}, "payments"},
		{[]string{"ingest", ""}, "acme"},
		{[]string{"coverage", ""}, "acme"},
		{[]string{"statements", "list", "--source", ""}, "acme"},
		{[]string{"statements", "show", ""}, "1\tacme-2026-03-01_2026-03-05.csv"},
		{[]string{"operations", "--status", ""}, "failed_final"},
		{[]string{"operations", "--action-type", ""}, "pay"},
		{[]string{"exceptions", "list", "--state", ""}, "acknowledged"},
		{[]string{"exceptions", "acknowledge", ""}, exceptionOf(h, "op-twice") + "\tduplicate_effect op-twice"},
	} {
		stdout, _ := h.must(codeDone, append([]string{"__complete"}, c.args...)...)
		if !slices.Contains(strings.Split(stdout, "\n"), c.want) {
			t.Errorf("completion of %q lacks %q:\n%s", c.args, c.want, stdout)
		}
	}
	if stdout, _ := h.must(codeDone, "__complete", "run", "payments", ""); strings.Contains(stdout, "payments") {
		t.Errorf("a job that is named already is offered again:\n%s", stdout)
	}
}
