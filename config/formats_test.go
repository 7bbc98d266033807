package config_test

import (
	"path/filepath"
	"testing"

	"reconciler/config"
	"reconciler/sources/csvformat"
	"reconciler/sources/filesource"
)

// What loads is understood by the packages that have to work with it: no
// fault is left for them to find without a line.
func TestWhatLoadsCanBeBuilt(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(testdata, "good", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, filepath.Join(testdata, "example.yaml"), filepath.Join(testdata, "minimal.yaml"))
	for _, file := range files {
		cfg, err := config.Load(file, environment)
		if err != nil {
			t.Errorf("Load(%s): %v", file, err)
			continue
		}
		for _, name := range cfg.SourceNames() {
			if err := build(cfg, name); err != nil {
				t.Errorf("%s: source %s: %v", file, name, err)
			}
		}
	}
}

func build(cfg *config.Config, name string) error {
	dir, pattern := cfg.Location(name)
	if _, err := filesource.Glob(dir, pattern); err != nil {
		return err
	}
	_, err := csvformat.New(cfg.CSVConfig(name))
	return err
}
