// Package config turns the one YAML file of a deployment (reconciler.yaml)
// into the nouns of the program. It exists as a folder of its own because it
// is the only place that knows YAML and the environment: sources, matcher and
// money stay free of both, and cmd only wires what it is handed.
//
// The file is strict. An unknown key, a value of the wrong kind, a missing
// environment variable or a rule that could lead to a wrong certainty is an
// error that names file, line and key, and all of them are reported together.
// Nothing is guessed where a guess could move money.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/robfig/cron/v3"
	"go.yaml.in/yaml/v4"

	"reconciler/money"
	"reconciler/sources"
)

// maxFile bounds the configuration file, in bytes.
const maxFile = 4 << 20

// Env looks an environment variable up, as os.LookupEnv does.
type Env func(name string) (string, bool)

// Config is the whole file, with defaults filled in and paths resolved
// against the folder of the file. The zero value is not usable; Load makes one.
type Config struct {
	Database Database          `yaml:"database" jsonschema:"required"`
	DataDir  string            `yaml:"data_dir"`
	Permits  Switch            `yaml:"permits"`
	Sources  map[string]Source `yaml:"sources"`
	Policies map[string]Policy `yaml:"policies"`
	Jobs     map[string]Job    `yaml:"jobs"`

	dir       string
	zones     map[string]*time.Location
	schedules map[string]cron.Schedule
	warnings  []Problem
	digest    string
}

// Database says where the journal is. Exactly one of URL and Private is set.
type Database struct {
	URL           Secret `yaml:"url" json:"-"`
	Private       bool   `yaml:"private"`
	JournalSchema string `yaml:"journal_schema"`
	Schema        string `yaml:"schema"`
}

// Source is where a provider's word comes from.
type Source struct {
	Provider        string               `yaml:"provider"`
	Accounts        []string             `yaml:"accounts"`
	Location        string               `yaml:"location" jsonschema:"required"`
	Format          string               `yaml:"format"`
	Profile         string               `yaml:"profile"`
	CSV             sources.CSV          `yaml:"csv"`
	Unpack          Unpack               `yaml:"unpack"`
	Rows            *sources.Rows        `yaml:"rows"`
	Timezone        string               `yaml:"timezone"`
	Fields          sources.Mapping      `yaml:"fields"`
	Completeness    sources.Completeness `yaml:"completeness"`
	DatedBy         sources.Dating       `yaml:"dated_by"`
	SettlementLag   time.Duration        `yaml:"settlement_lag" jsonschema:"required"`
	ClockSkew       time.Duration        `yaml:"clock_skew"`
	ProductionDelay time.Duration        `yaml:"production_delay"`
	// Retention 0 means that the provider remembers for ever.
	Retention time.Duration `yaml:"retention"`
	// Unjournaled is nil where effects without an operation are not looked for.
	Unjournaled *Unjournaled `yaml:"unjournaled"`
	// Calendar is nil where nobody is told that a statement is missing.
	Calendar *Calendar `yaml:"calendar"`
}

// Unpack says how packed documents are opened. What a document is packed
// with, its first bytes say.
type Unpack struct {
	// Member is a pattern for the one file in a zip archive that is meant.
	Member string `yaml:"member"`
	// MaxSize in bytes and MaxRatio to the packed size; 0: the default.
	MaxSize  Size `yaml:"max_size"`
	MaxRatio int  `yaml:"max_ratio"`
}

// Unjournaled tells our own effects from other people's in a source.
type Unjournaled struct {
	Pattern string        `yaml:"pattern" jsonschema:"required"`
	Grace   time.Duration `yaml:"grace"`
}

// Policy says what may be concluded and done for one action type. Its form in
// the matcher is made by Config.MatcherPolicy.
type Policy struct {
	Class          string        `yaml:"class"`
	Sources        []string      `yaml:"sources" jsonschema:"required"`
	Effect         Effect        `yaml:"effect"`
	OnAbsent       string        `yaml:"on_absent"`
	RetryNeeds     string        `yaml:"retry_needs"`
	KeyTTL         time.Duration `yaml:"key_ttl"`
	KeyMargin      time.Duration `yaml:"key_margin"`
	MaxAttempts    int           `yaml:"max_attempts"`
	Tolerance      Tolerance     `yaml:"tolerance"`
	PendingLimit   time.Duration `yaml:"pending_limit"`
	OverdueAfter   time.Duration `yaml:"overdue_after"`
	LeaseGrace     time.Duration `yaml:"lease_grace"`
	MaxCall        time.Duration `yaml:"max_call"`
	MaxLease       time.Duration `yaml:"max_lease"`
	MaxRetryAge    time.Duration `yaml:"max_retry_age"`
	PlanLimit      time.Duration `yaml:"plan_limit"`
	SenderDeadline string        `yaml:"sender_deadline"`
	SafeRefusals   []string      `yaml:"safe_refusals"`
}

// Effect says which records are the effect of an action type.
type Effect struct {
	Kind      sources.Kind      `yaml:"kind"`
	Direction sources.Direction `yaml:"direction"`
}

// Tolerance is how far an amount may be off: in major units, and in percent.
type Tolerance struct {
	Absolute money.Decimal `yaml:"absolute"`
	Percent  money.Decimal `yaml:"percent"`
}

// Job is what a schedule or a person starts.
type Job struct {
	ActionTypes []string `yaml:"action_types" jsonschema:"required"`
	Sources     []string `yaml:"sources"`
	// Schedule is empty where only people start the job.
	Schedule string `yaml:"schedule"`
	Timezone string `yaml:"timezone"`
	Report   Report `yaml:"report"`
}

// Report says where the report of a job goes and in which forms.
type Report struct {
	Dir     string   `yaml:"dir"`
	Formats []string `yaml:"formats"`
}

// Load reads and checks the file at path; env is asked for `${NAME}`. All
// problems that were found come in one *Error.
func Load(path string, env func(string) (string, bool)) (*Config, error) {
	data, err := readFile(path)
	if err != nil {
		text := err.Error()
		if errors.Is(err, fs.ErrNotExist) {
			text = "no such file; name it with --config or RECONCILER_CONFIG, or start in its folder"
		}
		return nil, &Error{Problems: []Problem{{File: path, Text: text}}, err: err}
	}
	return Parse(path, data, env)
}

// readFile reads a file of at most maxFile bytes. Its errors don't repeat the path.
func readFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err == nil && info.IsDir() {
		return nil, errors.New("is a folder; name the file inside it")
	}
	if err == nil && info.Size() > maxFile {
		return nil, fmt.Errorf("is larger than %d MiB; is it the right file?", maxFile>>20)
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(name) // #nosec G304 -- the person who starts the program names the file
	}
	if pathError := (*fs.PathError)(nil); errors.As(err, &pathError) {
		return nil, fmt.Errorf("can't be read: %w", pathError.Err)
	}
	return data, err
}

// Parse is Load for bytes in hand. The file name appears in problems, and its
// folder is the one that relative paths start from.
func Parse(file string, data []byte, env func(string) (string, bool)) (*Config, error) {
	log := newLedger(file)
	root := parseTree(bytes.TrimPrefix(data, []byte("\ufeff")), log)
	if root == nil {
		return nil, log.err()
	}
	return build(root, log, env)
}

// build makes a configuration of a parsed tree.
func build(root *yaml.Node, log *ledger, env Env) (*Config, error) {
	cfg := &Config{
		zones:     map[string]*time.Location{},
		schedules: map[string]cron.Schedule{},
	}
	dir := filepath.Dir(log.file)
	applyProfiles(root, log)
	d := &decoder{ledger: log, env: env, dir: dir}
	d.decode(root, cfg)
	cfg.fill(log)
	cfg.check(log)
	if err := log.err(); err != nil {
		return nil, err
	}
	cfg.warnings = log.sorted(log.warnings)
	digest, err := cfg.canonicalDigest()
	if err != nil {
		return nil, err
	}
	cfg.digest = digest
	cfg.resolvePaths(dir)
	return cfg, nil
}

// Warnings are things that are allowed and probably not meant, in file order.
func (c *Config) Warnings() []Problem { return c.warnings }
