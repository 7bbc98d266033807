package main

import "runtime/debug"

// buildVersion is set by the linker (-X main.buildVersion=v1.2.3).
var buildVersion string //nolint:gochecknoglobals // the linker can only set a package variable

// version names the program in runs, exports and `reconciler version`.
func version() string {
	if buildVersion != "" {
		return buildVersion
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "devel-" + s.Value[:12]
		}
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
