package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"reconciler/config"
	"reconciler/reports"
)

func (a *app) sourcesCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "sources",
		Short: "Write a mapping: profiles, a first draft, a look before anything is stored",
		Example: `  reconciler sources list
  reconciler sources guess new-bank.csv
  reconciler sources preview acme-bank statements/acme-2026-11-28_2026-11-28.csv`,
	}, a.sourcesListCommand(), a.previewCommand(), a.guessCommand())
}

func (a *app) sourcesListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the configured sources and the ready profiles",
		Long: `List the sources of the configuration, if there is one, and the profiles that
come with the program: ready mappings of providers' documents. A source uses one
by  profile: NAME  and overrides single keys of it.`,
		Example: "  reconciler sources list\n  reconciler sources list -o json | jq '.profiles[] | {name, needs}'",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return a.listSources() },
	}
}

// sourcesAnswer is what `sources list` answers.
type sourcesAnswer struct {
	Sources  []sourceLine  `json:"sources"`
	Profiles []profileLine `json:"profiles"`
}

type sourceLine struct {
	Name          string   `json:"name"`
	Provider      string   `json:"provider"`
	Accounts      []string `json:"accounts"`
	Location      string   `json:"location"`
	Format        string   `json:"format"`
	Profile       string   `json:"profile,omitempty"`
	Timezone      string   `json:"timezone"`
	End           string   `json:"end"`
	SettlementLag string   `json:"settlement_lag"`
}

type profileLine struct {
	Name  string            `json:"name"`
	Title string            `json:"title"`
	About string            `json:"about"`
	Needs map[string]string `json:"needs,omitempty"`
}

func (a *app) listSources() error {
	out := sourcesAnswer{Sources: []sourceLine{}, Profiles: []profileLine{}}
	cfg, err := config.Load(a.configFile(), a.env)
	switch {
	case errors.Is(err, fs.ErrNotExist) && a.configPath == "":
		// The profiles are of use before there is a configuration.
	case err != nil:
		return err
	default:
		for _, name := range cfg.SourceNames() {
			src := cfg.Sources[name]
			out.Sources = append(out.Sources, sourceLine{
				Name: name, Provider: src.Provider, Accounts: src.Accounts, Location: src.Location, Format: src.Format, Profile: src.Profile,
				Timezone: src.Timezone, End: src.Completeness.End, SettlementLag: src.SettlementLag.String(),
			})
		}
	}
	profiles, err := config.Profiles()
	if err != nil {
		return err
	}
	for _, p := range profiles {
		out.Profiles = append(out.Profiles, profileLine{p.Name, p.Title, p.About, p.Needs})
	}
	if a.output == "json" {
		return a.printJSON(out)
	}
	return a.printSources(out)
}

func (a *app) printSources(out sourcesAnswer) error {
	if len(out.Sources) > 0 {
		t := newTable(a.stdout, "source", "provider", "accounts", "reads", "location", "zone", "end", "lag")
		for _, s := range out.Sources {
			reads := s.Format
			if s.Profile != "" {
				reads += ", profile " + s.Profile
			}
			t.AppendRow([]any{s.Name, reports.Visible(s.Provider), reports.Visible(strings.Join(s.Accounts, ", ")), reads, reports.Visible(s.Location), s.Timezone, s.End, s.SettlementLag})
		}
		t.Render()
	}
	p := &printer{w: a.stdout}
	p.line("\nprofiles: ready mappings, to be used as  profile: NAME")
	for _, profile := range out.Profiles {
		p.line("\n  %s: %s", profile.Name, profile.Title)
		for _, line := range wrapped(profile.About, textWidth) {
			p.line("      %s", line)
		}
		for _, key := range slices.Sorted(maps.Keys(profile.Needs)) {
			for i, line := range wrapped(fmt.Sprintf("must be said: %s (%s)", key, profile.Needs[key]), textWidth) {
				if i > 0 {
					line = "  " + line
				}
				p.line("    * %s", line)
			}
		}
	}
	return p.err
}

// textWidth is the width of running text, in characters.
const textWidth = 78

// wrapped breaks a text at its blanks.
func wrapped(text string, width int) []string {
	var out []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > width {
			out = append(out, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(out, line)
}
