package reports_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"reconciler/reports"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with the file of that name in testdata/reports.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("..", "testdata", "reports", name)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatalf("write golden file: %v", err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read golden file (make it with -update): %v", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got); if that is meant, run with -update:\n%s", name, diff)
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, report := range map[string]reports.Report{"rich": rich(t), "quiet": quiet(t), "incomplete": incomplete(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var csv, html, summary bytes.Buffer
			if err := reports.WriteCSV(&csv, report); err != nil {
				t.Fatalf("WriteCSV: %v", err)
			}
			golden(t, name+".csv", csv.Bytes())
			if err := reports.WriteHTML(&html, report); err != nil {
				t.Fatalf("WriteHTML: %v", err)
			}
			golden(t, name+".html", html.Bytes())
			if err := reports.WriteJSON(&summary, report.Summary); err != nil {
				t.Fatalf("WriteJSON: %v", err)
			}
			golden(t, name+".json", summary.Bytes())
		})
	}
}

// schema compiles the published schema.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(reports.SummarySchema()))
	if err != nil {
		t.Fatalf("schema is not JSON: %v", err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("summary.json", doc); err != nil {
		t.Fatalf("AddResource: %v", err)
	}
	compiled, err := c.Compile("summary.json")
	if err != nil {
		t.Fatalf("Compile: %v", err)
	}
	return compiled
}

func TestSummaryFollowsItsSchema(t *testing.T) {
	t.Parallel()
	compiled := schema(t)
	for name, s := range map[string]reports.Summary{
		"rich": rich(t).Summary, "quiet": quiet(t).Summary, "incomplete": incomplete(t).Summary,
		"zero but verdict": {Verdict: "reconciled"},
	} {
		var out bytes.Buffer
		if err := reports.WriteJSON(&out, s); err != nil {
			t.Fatalf("%s: WriteJSON: %v", name, err)
		}
		doc, err := jsonschema.UnmarshalJSON(&out)
		if err != nil {
			t.Fatalf("%s: not JSON: %v", name, err)
		}
		if err := compiled.Validate(doc); err != nil {
			t.Errorf("%s does not follow the schema: %v", name, err)
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	t.Parallel()
	compiled := schema(t)
	var out bytes.Buffer
	if err := reports.WriteJSON(&out, rich(t).Summary); err != nil {
		t.Fatalf("WriteJSON: %v", err)
	}
	for name, change := range map[string]struct{ from, to string }{
		"unknown verdict":  {`"verdict": "exceptions"`, `"verdict": "fine"`},
		"negative count":   {`"lost_races": 1`, `"lost_races": -1`},
		"null list":        {`"by_kind": {`, `"by_kind": null, "x": {`},
		"no time":          {`"2026-07-14T03:15:00Z"`, `"yesterday"`},
		"missing property": {`"run_id"`, `"runid"`},
		"unknown status":   {`"to": "succeeded"`, `"to": "done"`},
	} {
		text := strings.Replace(out.String(), change.from, change.to, 1)
		if text == out.String() {
			t.Errorf("%s: the summary has no %s", name, change.from)
			continue
		}
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%s: not JSON: %v", name, err)
		}
		if compiled.Validate(doc) == nil {
			t.Errorf("%s: the schema accepts it", name)
		}
	}
}

// TestSchemaNamesEveryField compares the JSON names of Summary and its parts
// with the properties of the schema, in both directions.
func TestSchemaNamesEveryField(t *testing.T) {
	t.Parallel()
	var doc map[string]any
	if err := json.Unmarshal(reports.SummarySchema(), &doc); err != nil {
		t.Fatalf("schema is not JSON: %v", err)
	}
	got, want := propertyPaths(doc, ""), fieldPaths(reflect.TypeFor[reports.Summary](), "")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-) and properties (+):\n%s", diff)
	}
}

func propertyPaths(node map[string]any, prefix string) []string {
	if items, ok := node["items"].(map[string]any); ok {
		node = items
	}
	properties, ok := node["properties"].(map[string]any)
	if !ok {
		return []string{prefix}
	}
	var out []string
	for name, property := range properties {
		if p, ok := property.(map[string]any); ok {
			out = append(out, propertyPaths(p, prefix+"/"+name)...)
		}
	}
	sort.Strings(out)
	return out
}

func fieldPaths(typ reflect.Type, prefix string) []string {
	for typ.Kind() == reflect.Slice || typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || typ.PkgPath() == "time" {
		return []string{prefix}
	}
	var out []string
	for i := range typ.NumField() {
		name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		out = append(out, fieldPaths(typ.Field(i).Type, prefix+"/"+name)...)
	}
	sort.Strings(out)
	return out
}

func TestSameReportSameBytes(t *testing.T) {
	t.Parallel()
	first, second := t.TempDir(), t.TempDir()
	a, err := reports.WriteDir(first, reports.Formats(), rich(t))
	if err != nil {
		t.Fatalf("WriteDir: %v", err)
	}
	shuffled := rich(t)
	for i, j := 0, len(shuffled.Exceptions)-1; i < j; i, j = i+1, j-1 {
		shuffled.Exceptions[i], shuffled.Exceptions[j] = shuffled.Exceptions[j], shuffled.Exceptions[i]
	}
	b, err := reports.WriteDir(second, reports.Formats(), shuffled)
	if err != nil {
		t.Fatalf("WriteDir: %v", err)
	}
	for i := range a {
		left, err := os.ReadFile(a[i])
		if err != nil {
			t.Fatal(err)
		}
		right, err := os.ReadFile(b[i])
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(left, right) {
			t.Errorf("%s: two writes of the same report differ", filepath.Base(a[i]))
		}
	}
}
