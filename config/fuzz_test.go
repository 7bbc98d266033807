package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reconciler/config"
)

// Whatever the file contains, Parse gives a configuration or problems, names
// the file in each, and never shows a secret.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"*.yaml", "*/*.yaml"} {
		files, err := filepath.Glob(filepath.Join(testdata, pattern))
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	for _, text := range []string{"\x00", "\xff\xfe", "? [a]\n: b\n", "{<<: 1}", "a: &a [*a]", "? &a {*a : b}\n: c\n", "database: {<<: [{url: 1}, {url: 2}]}", "%YAML 9.9\n---\n", "--- \n...\n---\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, err := config.Parse("reconciler.yaml", data, environment)
		if err == nil {
			if cfg == nil || len(cfg.Digest()) != 64 {
				t.Fatal("no error and no usable configuration")
			}
			return
		}
		var bad *config.Error
		if !errors.As(err, &bad) || len(bad.Problems) == 0 {
			t.Fatalf("Parse = %v, want a *config.Error with problems", err)
		}
		for _, p := range bad.Problems {
			if p.File != "reconciler.yaml" || p.Line < 0 || p.Text == "" {
				t.Errorf("incomplete problem: %+v", p)
			}
		}
		if strings.Contains(err.Error(), "s3cret-pass") && !strings.Contains(string(data), "s3cret-pass") {
			t.Errorf("a secret shows: %v", err)
		}
	})
}
