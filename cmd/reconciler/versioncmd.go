package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Say which program this is",
		Example: "  reconciler version\n  reconciler version -o json",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return a.printVersion() },
	}
}

// programVersion is what `version` answers.
type programVersion struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	// Revision of the source, if it was built from a repository; Modified says
	// that there were changes on top of it.
	Revision    string `json:"revision,omitempty"`
	CommittedAt string `json:"committed_at,omitempty"`
	Modified    bool   `json:"modified"`
	// Modules that were built in.
	Modules int `json:"modules"`
}

func (a *app) printVersion() error {
	v := programVersion{Version: version(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		v.Modules = len(info.Deps)
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				v.Revision = s.Value
			case "vcs.time":
				v.CommittedAt = s.Value
			case "vcs.modified":
				v.Modified = s.Value == "true"
			}
		}
	}
	if a.output == "json" {
		return a.printJSON(v)
	}
	_, err := fmt.Fprintf(a.stdout, "reconciler %s (%s, %s, %d modules)\n", v.Version, v.Go, v.Platform, v.Modules)
	return err
}
