package config_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reconciler/config"
	"reconciler/matcher"
	"reconciler/money"
	"reconciler/sources"
)

const testdata = "../testdata/config"

// environment is what ${NAME} finds in these tests.
func environment(name string) (string, bool) {
	value, ok := map[string]string{
		"DATABASE_URL": "postgres://reconciler:s3cret-pass@db.example/journal",
		"DB_PASSWORD":  "s3cret-pass",
		"EMPTY":        "",
		"PERMITS":      "off",
		"ATTEMPTS":     "7",
	}[name]
	return value, ok
}

func load(t *testing.T, name string) *config.Config {
	t.Helper()
	cfg, err := config.Load(filepath.Join(testdata, name), environment)
	if err != nil {
		t.Fatalf("Load(%s): %v", name, err)
	}
	return cfg
}

func parse(text string) (*config.Config, error) {
	return config.Parse("reconciler.yaml", []byte(text), environment)
}

func mustParse(t *testing.T, text string) *config.Config {
	t.Helper()
	cfg, err := parse(text)
	if err != nil {
		t.Fatalf("Parse: %v\n%s", err, text)
	}
	return cfg
}

func line(n int) *int { return &n }

func TestLoadExample(t *testing.T) {
	t.Parallel()
	cfg := load(t, "example.yaml")
	text := func(s string) *string { return &s }
	header := func(s string) *sources.Column { return &sources.Column{Header: s} }
	want := map[string]config.Source{"acme-bank": {
		Provider: "acme",
		Accounts: []string{"main"},
		Location: "statements/acme-*.csv",
		Format:   "csv",
		CSV:      sources.CSV{Delimiter: ";", Encoding: "windows-1251", HeaderRow: line(3), Quote: "double"},
		Timezone: "Europe/Moscow",
		Fields: sources.Mapping{
			ProviderOperationID: &sources.Field{Column: header("ID")},
			BusinessReference:   &sources.Field{Column: header("Purpose"), Extract: "application-[0-9]+"},
			Amount:              &sources.Field{Column: header("Amount"), Decimal: ",", Group: " "},
			Currency:            &sources.Field{Value: text("RUB")},
			Status: &sources.Field{Column: header("State"), Map: map[string]string{
				"Executed": "succeeded", "Rejected": "failed", "Processing": "pending",
			}},
			OccurredAt: &sources.Field{Column: header("Date"), Layout: "02.01.2006"},
		},
		Completeness: sources.Completeness{
			Period: &sources.PeriodRule{Pattern: `acme-(?P<from>\d{4}-\d{2}-\d{2})_(?P<to>\d{4}-\d{2}-\d{2})`},
			Footer: &sources.Footer{Match: "^Total", Count: header("Reference"), Sum: header("Amount")},
			End:    "proven",
		},
		DatedBy:         sources.ByOccurrence,
		SettlementLag:   72 * time.Hour,
		ClockSkew:       5 * time.Minute,
		ProductionDelay: 24 * time.Hour,
	}}
	if diff := cmp.Diff(want, cfg.Sources); diff != "" {
		t.Errorf("sources differ (-want +got):\n%s", diff)
	}
	wantJobs := map[string]config.Job{"payments": {
		ActionTypes: []string{"payment_order.create"},
		Sources:     []string{"acme-bank"},
		Schedule:    "15 6 * * *",
		Timezone:    "Europe/Moscow",
		Report:      config.Report{Dir: filepath.Join(testdata, "out"), Formats: []string{"csv", "xlsx", "html", "json"}},
	}}
	if diff := cmp.Diff(wantJobs, cfg.Jobs); diff != "" {
		t.Errorf("jobs differ (-want +got):\n%s", diff)
	}
	if got := cfg.Database.URL.Reveal(); got != "postgres://reconciler:s3cret-pass@db.example/journal" {
		t.Errorf("database.url = %q", got)
	}
	if want := filepath.Join(testdata, ".reconciler"); cfg.DataDir != want {
		t.Errorf("DataDir = %q, want %q", cfg.DataDir, want)
	}
	if got := cfg.Zone("acme-bank").String(); got != "Europe/Moscow" {
		t.Errorf("Zone = %s, want Europe/Moscow", got)
	}
	if w := cfg.Warnings(); len(w) != 0 {
		t.Errorf("Warnings = %v, want none", w)
	}
}

// The example spells every default out, the minimal file none of them: what
// the matcher gets must be the same.
func TestMinimalHasTheDefaultsOfTheExample(t *testing.T) {
	t.Parallel()
	example, minimal := load(t, "example.yaml"), load(t, "minimal.yaml")
	want := matcher.Policy{
		ActionType: "payment_order.create", Class: matcher.Financial, Sources: []string{"acme-bank"},
		EffectKind: sources.KindPayment, EffectDirection: sources.Debit,
		OnAbsent: matcher.Review, RetryNeeds: matcher.NeedsBoth,
		KeyTTL: 24 * time.Hour, KeyMargin: 10 * time.Minute, MaxAttempts: 5,
		Tolerance:    money.Tolerance{Absolute: money.Decimal{Scale: 2}},
		PendingLimit: 72 * time.Hour, OverdueAfter: 240 * time.Hour, LeaseGrace: 5 * time.Minute,
		MaxCall: 15 * time.Minute, MaxLease: time.Hour, MaxRetryAge: 720 * time.Hour, PlanLimit: 24 * time.Hour,
	}
	if diff := cmp.Diff(want, example.MatcherPolicy("payment_order.create")); diff != "" {
		t.Errorf("policy of the example differs (-want +got):\n%s", diff)
	}
	// What the minimal file leaves out on purpose, and has no default.
	want.EffectKind, want.EffectDirection, want.KeyTTL, want.Tolerance = "", "", 0, money.Tolerance{}
	if diff := cmp.Diff(want, minimal.MatcherPolicy("payment_order.create")); diff != "" {
		t.Errorf("policy of the minimal file differs (-want +got):\n%s", diff)
	}
	rule := matcher.SourceRule{
		Name: "acme-bank", Provider: "acme-bank", Accounts: []string{"acme-bank"},
		CoverageRule: sources.CoverageRule{DatedBy: sources.ByOccurrence, SettlementLag: 72 * time.Hour},
		ClockSkew:    5 * time.Minute, ProductionDelay: 24 * time.Hour,
	}
	if diff := cmp.Diff(rule, minimal.SourceRule("acme-bank")); diff != "" {
		t.Errorf("source rule differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(sources.CSV{Delimiter: ",", Encoding: "utf-8", HeaderRow: line(1), Quote: "double"}, minimal.Sources["acme-bank"].CSV); diff != "" {
		t.Errorf("csv defaults differ (-want +got):\n%s", diff)
	}
	job, ok := minimal.Job("payments")
	if !ok {
		t.Fatal("the minimal file has no job payments")
	}
	wantJob := config.Job{
		ActionTypes: []string{"payment_order.create"}, Sources: []string{"acme-bank"}, Timezone: "UTC",
		Report: config.Report{Dir: filepath.Join(testdata, "out"), Formats: []string{"csv", "xlsx", "html", "json"}},
	}
	if diff := cmp.Diff(wantJob, job); diff != "" {
		t.Errorf("job defaults differ (-want +got):\n%s", diff)
	}
	if _, ok := minimal.Schedule("payments"); ok {
		t.Error("the minimal job has a schedule, want none")
	}
	if minimal.Database.JournalSchema != "public" || minimal.Database.Schema != "reconciler" {
		t.Errorf("schemas = %q, %q", minimal.Database.JournalSchema, minimal.Database.Schema)
	}
}

// Every file in bad/ says in its first line which problem comes first: all
// that follows "# " is that line, without the folder.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(testdata, "bad", "*.yaml"))
	if err != nil || len(files) < 40 {
		t.Fatalf("found %d bad files (%v), want at least 40", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			head, _, _ := strings.Cut(string(data), "\n")
			want, ok := strings.CutPrefix(head, "# ")
			if !ok {
				t.Fatalf("%s does not begin with the expected problem", file)
			}
			_, err = config.Load(file, environment)
			var bad *config.Error
			if !errors.As(err, &bad) || len(bad.Problems) == 0 {
				t.Fatalf("Load = %v, want a *config.Error", err)
			}
			first := bad.Problems[0]
			first.File = filepath.Base(first.File)
			if got := first.String(); got != want {
				t.Errorf("first problem\n got: %s\nwant: %s", got, want)
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the problem shows a secret: %v", err)
			}
		})
	}
}

func TestAllProblemsComeTogether(t *testing.T) {
	t.Parallel()
	_, err := config.Load(filepath.Join(testdata, "several.yaml"), environment)
	var bad *config.Error
	if !errors.As(err, &bad) {
		t.Fatalf("Load = %v, want a *config.Error", err)
	}
	var got []string
	for _, p := range bad.Problems {
		got = append(got, fmt.Sprintf("%d %s", p.Line, p.Key))
	}
	want := []string{
		"3 database.url", "5 surces", "6 sources.acme-bank.fields", "6 sources.acme-bank.fields.status",
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("problems = %q, want %q among them", got, line)
		}
	}
	if !slices.IsSortedFunc(bad.Problems, func(a, b config.Problem) int { return a.Line - b.Line }) {
		t.Errorf("problems are not in file order: %q", got)
	}
	if lines := strings.Count(err.Error(), "\n") + 1; lines != len(bad.Problems) {
		t.Errorf("the error has %d lines for %d problems", lines, len(bad.Problems))
	}
}

func TestMissingFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "reconciler.yaml")
	_, err := config.Load(name, environment)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Load = %v, want fs.ErrNotExist inside", err)
	}
	want := name + ": no such file; name it with --config or RECONCILER_CONFIG, or start in its folder"
	if err == nil || err.Error() != want {
		t.Errorf("Load = %v, want %s", err, want)
	}
}

func TestFolderInsteadOfFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := config.Load(dir, environment)
	if want := dir + ": is a folder; name the file inside it"; err == nil || err.Error() != want {
		t.Errorf("Load = %v, want %s", err, want)
	}
}

func TestSecretIsNeverShown(t *testing.T) {
	t.Parallel()
	cfg := load(t, "example.yaml")
	var log bytes.Buffer
	newLogger(&log).Info("start", "url", cfg.Database.URL, "database", cfg.Database)
	texts := []string{
		log.String(),
		fmt.Sprint(cfg.Database.URL), fmt.Sprintf("%v %+v %#v %q %s", cfg.Database, cfg.Database, cfg.Database, cfg.Database.URL, cfg.Database.URL),
		mustJSON(t, cfg), mustJSON(t, cfg.Database.URL),
	}
	for _, text := range texts {
		if strings.Contains(text, "s3cret") {
			t.Errorf("a secret shows in %s", text)
		}
	}
}
