package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"reconciler/config"
)

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	data, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// asJSON turns YAML into what a JSON Schema validator reads.
func asJSON(t *testing.T, data []byte) any {
	t.Helper()
	var tree any
	if err := yaml.Load(data, &tree); err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(mustJSON(t, tree)))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// Schema and Load agree on every file that Load accepts.
func TestSchemaAcceptsWhatLoads(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	files, err := filepath.Glob(filepath.Join(testdata, "good", "*.yaml"))
	if err != nil || len(files) < 4 {
		t.Fatalf("found %d good files (%v)", len(files), err)
	}
	files = append(files, filepath.Join(testdata, "example.yaml"), filepath.Join(testdata, "minimal.yaml"))
	for _, file := range files {
		if _, err := config.Load(file, environment); err != nil {
			t.Errorf("Load(%s): %v", file, err)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(asJSON(t, data)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// The faults of form among the bad files, by the schema alone.
func TestSchemaRefuses(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	for _, name := range []string{
		"unknown-key", "unknown-key-far", "unknown-section", "unknown-field", "missing-lag", "lag-without-unit", "lag-list",
		"accounts-not-a-list", "source-is-text", "database-missing", "database-none", "database-private-text", "permits-unclear", "location-missing",
		"csv-header-row-text", "field-neither", "field-both", "field-column-zero", "end-word", "policy-class", "policy-max-attempts",
		"policy-effect", "policy-sender-deadline", "policy-no-source", "job-format", "job-no-actions", "format-unknown", "unjournaled-empty",
	} {
		data, err := os.ReadFile(filepath.Join(testdata, "bad", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		err = schema.Validate(asJSON(t, data))
		var invalid *jsonschema.ValidationError
		if !errors.As(err, &invalid) {
			t.Errorf("the schema accepts bad/%s.yaml (%v)", name, err)
		}
	}
}

// A key without a description has not been explained to anybody.
func TestSchemaDescribesEveryKey(t *testing.T) {
	t.Parallel()
	data, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	type object struct {
		Description string
		Properties  map[string]struct {
			Description string `json:"description"`
			Ref         string `json:"$ref"`
		}
		AdditionalProperties any
	}
	var schema struct {
		object
		Schema string            `json:"$schema"`
		Defs   map[string]object `json:"$defs"`
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	if want := "https://json-schema.org/draft/2020-12/schema"; schema.Schema != want {
		t.Errorf("$schema = %q, want %q", schema.Schema, want)
	}
	schema.Defs["(root)"] = schema.object
	if len(schema.Defs) < 14 {
		t.Errorf("the schema has %d definitions, want at least 14", len(schema.Defs))
	}
	for name, definition := range schema.Defs {
		if definition.Description == "" {
			t.Errorf("%s has no description", name)
		}
		if definition.AdditionalProperties != false {
			t.Errorf("%s allows unknown keys", name)
		}
		for key, property := range definition.Properties {
			if property.Description == "" {
				t.Errorf("%s.%s has no description", name, key)
			}
		}
	}
}
