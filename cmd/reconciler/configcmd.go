package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"reconciler/config"
)

func (a *app) configCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:     "config",
		Short:   "Check the configuration, or print its JSON Schema",
		Example: "  reconciler config check\n  reconciler config schema > reconciler.schema.json",
	}, a.configCheckCommand(), &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration, for editors",
		Long: `Print the JSON Schema (draft 2020-12) of the configuration. Editors with a YAML
language server complete and check by it, if the file begins with
  # yaml-language-server: $schema=reconciler.schema.json`,
		Example: "  reconciler config schema > reconciler.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			schema, err := config.Schema()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "%s\n", schema)
			return err
		},
	})
}

func (a *app) configCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Check the configuration without touching anything",
		Long: `Check the configuration as a run would: every key and value, every source's
format and location, every job. Neither the database nor a source is opened.
Shows warnings, and when the schedules fire next.

All problems are printed, one a line, with file, line and key; the exit code is
then 2.`,
		Example: `  reconciler config check
  reconciler config check --config staging.yaml`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.checkConfig(time.Now()) },
	}
}

// firings is how many of the next starts of a job are shown.
const firings = 3

// configAnswer is what `config check` answers.
type configAnswer struct {
	OK       bool         `json:"ok"`
	File     string       `json:"file"`
	Digest   string       `json:"digest,omitempty"`
	Problems []configWord `json:"problems"`
	Warnings []configWord `json:"warnings"`
	Sources  int          `json:"sources"`
	Policies int          `json:"policies"`
	Jobs     []jobPlan    `json:"jobs"`
}

// configWord is one problem or warning.
type configWord struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	Key  string `json:"key,omitempty"`
	Text string `json:"text"`

	shown string
}

func wordOf(p config.Problem) configWord {
	return configWord{File: p.File, Line: p.Line, Key: p.Key, Text: p.Text, shown: p.String()}
}

// jobPlan says when a job starts by itself.
type jobPlan struct {
	Job      string      `json:"job"`
	Schedule string      `json:"schedule,omitempty"`
	Timezone string      `json:"timezone"`
	Next     []time.Time `json:"next"`
}

func (a *app) checkConfig(now time.Time) error {
	out := configAnswer{File: a.configFile(), Problems: []configWord{}, Warnings: []configWord{}, Jobs: []jobPlan{}}
	cfg, err := config.Load(out.File, a.env)
	var broken *config.Error
	switch {
	case errors.As(err, &broken):
		for _, p := range broken.Problems {
			out.Problems = append(out.Problems, wordOf(p))
		}
	case err != nil:
		return err
	default:
		out.fill(cfg, now)
	}
	out.OK = len(out.Problems) == 0
	if err := a.printConfig(out); err != nil {
		return err
	}
	if !out.OK {
		return &exitError{code: codeUsage}
	}
	return nil
}

// fill adds what a readable configuration says, and what is wrong with it when
// it is put to use.
func (c *configAnswer) fill(cfg *config.Config, now time.Time) {
	c.Digest, c.Sources, c.Policies = cfg.Digest(), len(cfg.Sources), len(cfg.Policies)
	for _, w := range cfg.Warnings() {
		c.Warnings = append(c.Warnings, wordOf(w))
	}
	for _, name := range cfg.SourceNames() {
		if _, err := buildSource(cfg, name, nil); err != nil {
			text := err.Error()
			c.Problems = append(c.Problems, configWord{File: c.File, Text: text, shown: c.File + ": " + text})
		}
	}
	for _, name := range cfg.JobNames() {
		job, _ := cfg.Job(name)
		zone := cfg.JobZone(name)
		plan := jobPlan{Job: name, Schedule: job.Schedule, Timezone: zone.String(), Next: []time.Time{}}
		if schedule, ok := cfg.Schedule(name); ok {
			at := now
			for range firings {
				if at = schedule.Next(at); at.IsZero() {
					break
				}
				plan.Next = append(plan.Next, at.In(zone))
			}
		}
		c.Jobs = append(c.Jobs, plan)
	}
}

func (a *app) printConfig(out configAnswer) error {
	if a.output == "json" {
		return a.printJSON(out)
	}
	if !out.OK {
		p := &printer{w: a.stderr}
		for _, w := range out.Problems {
			p.line("%s", w.shown)
		}
		return p.err
	}
	p := &printer{w: a.stdout}
	p.line("%s: %s, %s, %s; no problems", out.File, count(int64(out.Sources), "source"), policies(out.Policies), count(int64(len(out.Jobs)), "job"))
	for _, w := range out.Warnings {
		p.line("warning: %s", w.shown)
	}
	for _, job := range out.Jobs {
		if job.Schedule == "" {
			p.line("  %-14s no schedule: started by cron or by people", job.Job)
			continue
		}
		p.line("  %-14s %q in %s, next:", job.Job, job.Schedule, job.Timezone)
		for _, at := range job.Next {
			p.line("  %-14s   %s", "", at.Format("Mon 2006-01-02 15:04 MST"))
		}
	}
	return p.err
}

func policies(n int) string {
	if n == 1 {
		return "1 policy"
	}
	return thousands(int64(n)) + " policies"
}
