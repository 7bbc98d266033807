package config_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reconciler/config"
	"reconciler/matcher"
	"reconciler/money"
	"reconciler/sources"
)

// template is a valid file with one place for what a test is about.
const template = `database: {private: true}
sources:
  bank:
    location: a.csv
    timezone: UTC
    fields:
      business_reference: {column: Ref}
      status: {value: succeeded}
      occurred_at: {column: Date}
    completeness: {period: {pattern: '(?P<day>\d+)'}, end: assumed}
    settlement_lag: 24h
`

// firstProblem is the text of the first problem; empty if there is none.
func firstProblem(t *testing.T, text string) string {
	t.Helper()
	_, err := parse(text)
	if err == nil {
		return ""
	}
	var bad *config.Error
	if !errors.As(err, &bad) {
		t.Fatalf("Parse = %v, want a *config.Error", err)
	}
	return bad.Problems[0].Text
}

func TestEveryKeyArrives(t *testing.T) {
	t.Parallel()
	cfg := load(t, "good/every-key.yaml")
	if cfg.Permits != config.Off {
		t.Errorf("Permits = %v, want off", cfg.Permits)
	}
	if cfg.DataDir != "/var/lib/reconciler" || cfg.Sources["acme-bank"].Location != "/srv/statements/acme-*.csv" || cfg.Jobs["payments"].Report.Dir != "/srv/reports" {
		t.Errorf("absolute paths changed: %q %q %q", cfg.DataDir, cfg.Sources["acme-bank"].Location, cfg.Jobs["payments"].Report.Dir)
	}
	column := func(number int) *sources.Column { return &sources.Column{Number: number} }
	header := func(text string) *sources.Column { return &sources.Column{Header: text} }
	source := cfg.Sources["acme-bank"]
	want := sources.Mapping{
		Account:             &sources.Field{Column: header("Account")},
		ProviderOperationID: &sources.Field{Column: header("3"), UniquePer: "day"},
		IdempotencyKey:      &sources.Field{Column: header("Key")},
		BusinessReference: &sources.Field{Column: column(3), Extract: "(?i)app-([0-9]+)", Fold: &sources.Fold{
			Case: true, Blanks: true, Punctuation: true, Prefix: "REF:", Suffix: "/1", Length: 16,
		}},
		Amount:     &sources.Field{Column: header("Amount"), Decimal: ",", Group: "."},
		Currency:   &sources.Field{Column: header("Currency"), Map: map[string]string{"643": "RUB", "840": "USD"}},
		Direction:  &sources.Field{Column: header("Side"), Map: map[string]string{"D": "debit", "C": "credit"}},
		Kind:       &sources.Field{Column: header("Type"), Map: map[string]string{"NO": "payment", "on": "refund", "1.0": "fee"}},
		Status:     &sources.Field{Column: header("State"), Map: map[string]string{"Executed": "succeeded", "Rejected": "failed", "Processing": "pending", "Storno": "reversed"}},
		OccurredAt: &sources.Field{Column: header("Time"), Layout: "2006-01-02 15:04:05"},
		BookedAt:   &sources.Field{Column: header("Booked"), Layout: "02.01.06"},
		SettledAt:  &sources.Field{Column: header("Settled"), Layout: "Jan 2, 2006 3:04 PM"},
		Fee:        &sources.Field{Column: header("Fee")},
		BatchID:    &sources.Field{Column: header("Payout")},
		RelatedID:  &sources.Field{Column: header("Original")},
	}
	if diff := cmp.Diff(want, source.Fields); diff != "" {
		t.Errorf("fields differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(sources.CSV{Delimiter: "\t", Encoding: "cp866", HeaderRow: line(4), Quote: "none"}, source.CSV); diff != "" {
		t.Errorf("csv differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&config.Unjournaled{Pattern: "^app-", Grace: 48 * time.Hour}, source.Unjournaled); diff != "" {
		t.Errorf("unjournaled differs (-want +got):\n%s", diff)
	}
	rule := matcher.SourceRule{
		Name: "acme-bank", Provider: "acme", Accounts: []string{"40702810900000000001", "0042"},
		CoverageRule: sources.CoverageRule{DatedBy: sources.ByBooking, SettlementLag: 84 * time.Hour, Retention: 9600 * time.Hour},
		EchoesKey:    true, IDPerDay: true, ClockSkew: 90 * time.Second, ProductionDelay: 6 * time.Hour,
	}
	if diff := cmp.Diff(rule, cfg.SourceRule("acme-bank")); diff != "" {
		t.Errorf("source rule differs (-want +got):\n%s", diff)
	}
	policy := matcher.Policy{
		ActionType: "payment_order.create", Class: matcher.Idempotent, Sources: []string{"acme-bank"},
		EffectKind: sources.KindPayment, EffectDirection: sources.Debit,
		OnAbsent: matcher.Fail, RetryNeeds: matcher.NeedsKey, KeyTTL: 720 * time.Hour, KeyMargin: time.Hour, MaxAttempts: 7,
		Tolerance: money.Tolerance{
			Absolute: money.Decimal{Unscaled: 10, Scale: 3}, Percent: money.Decimal{Unscaled: 250, Scale: 2},
		},
		PendingLimit: time.Hour, OverdueAfter: 2 * time.Hour, LeaseGrace: 3 * time.Minute, MaxCall: 4 * time.Minute,
		MaxLease: 5 * time.Minute, MaxRetryAge: 6 * time.Hour, PlanLimit: 7 * time.Hour,
		SenderDeadlineEnforced: true, SafeRefusals: []string{"LIMIT_EXCEEDED", "try later"}, PermitsOff: true,
	}
	if diff := cmp.Diff(policy, cfg.MatcherPolicy("payment_order.create")); diff != "" {
		t.Errorf("policy differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"acme-list"}, cfg.Jobs["mail"].Sources); diff != "" {
		t.Errorf("the default of a job's sources differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"mail", "payments"}, cfg.JobNames()); diff != "" {
		t.Errorf("JobNames differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"acme-bank", "acme-list"}, cfg.SourceNames()); diff != "" {
		t.Errorf("SourceNames differ (-want +got):\n%s", diff)
	}
	if got := cfg.JobZone("payments").String(); got != "America/New_York" {
		t.Errorf("JobZone = %s", got)
	}
}

// A name that the file does not have never gets a permissive answer.
func TestUnknownNames(t *testing.T) {
	t.Parallel()
	cfg := load(t, "example.yaml")
	policy := cfg.MatcherPolicy("nothing.like.it")
	if policy.OnAbsent != matcher.Review || !policy.PermitsOff || len(policy.Sources) != 0 {
		t.Errorf("MatcherPolicy of an unknown action type = %+v, want one that only reviews", policy)
	}
	if _, ok := cfg.Job("none"); ok {
		t.Error("Job(none) is there")
	}
	if _, ok := cfg.Schedule("none"); ok {
		t.Error("Schedule(none) is there")
	}
	_, pattern := cfg.Location("none")
	if cfg.Zone("none") != nil || cfg.JobZone("none") != nil || pattern != "" {
		t.Error("an unknown source or job has a zone or a location")
	}
	if diff := cmp.Diff(matcher.SourceRule{}, cfg.SourceRule("none")); diff != "" {
		t.Errorf("SourceRule(none) differs (-want +got):\n%s", diff)
	}
}

// What the matcher gets is a copy: nobody can change the configuration through it.
func TestConversionsDoNotShareMemory(t *testing.T) {
	t.Parallel()
	cfg := load(t, "example.yaml")
	cfg.MatcherPolicy("payment_order.create").Sources[0] = "changed"
	cfg.SourceRule("acme-bank").Accounts[0] = "changed"
	if got := cfg.MatcherPolicy("payment_order.create").Sources[0]; got != "acme-bank" {
		t.Errorf("the policy's source became %q", got)
	}
	if got := cfg.SourceRule("acme-bank").Accounts[0]; got != "main" {
		t.Errorf("the source's account became %q", got)
	}
}

func TestClassDefaults(t *testing.T) {
	t.Parallel()
	cases := []struct {
		class, more string
		onAbsent    matcher.OnAbsent
		needs       matcher.RetryNeeds
	}{
		{"financial", "", matcher.Review, matcher.NeedsBoth},
		{"irreversible", "", matcher.Retry, matcher.NeedsAbsence},
		{"idempotent", ", key_ttl: 24h", matcher.Retry, matcher.NeedsKey},
		{"irreversible", ", on_absent: review", matcher.Review, matcher.NeedsAbsence},
	}
	for _, c := range cases {
		cfg := mustParse(t, template+"policies: {act: {sources: [bank], class: "+c.class+c.more+"}}\n")
		got := cfg.MatcherPolicy("act")
		if got.OnAbsent != c.onAbsent || got.RetryNeeds != c.needs {
			t.Errorf("class %s%s: on_absent %s, retry_needs %s; want %s, %s", c.class, c.more, got.OnAbsent, got.RetryNeeds, c.onAbsent, c.needs)
		}
	}
}

func TestDurations(t *testing.T) {
	t.Parallel()
	good := map[string]time.Duration{
		"72h": 72 * time.Hour, "30d": 720 * time.Hour, "1d12h": 36 * time.Hour, "0s": 0, "0": 0, "0d": 0,
		"1h30m": 90 * time.Minute, "90s": 90 * time.Second, "250ms": 250 * time.Millisecond, "36500d": 36500 * 24 * time.Hour,
		`"15m"`: 15 * time.Minute,
	}
	for text, want := range good {
		cfg := mustParse(t, strings.Replace(template, "settlement_lag: 24h", "settlement_lag: "+text, 1))
		if got := cfg.Sources["bank"].SettlementLag; got != want {
			t.Errorf("settlement_lag: %s = %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{
		"72", "-1h", "-0s", "-3d", "1d-2h", "d", "1.5d", "3 d", "1w", "99999999d", "36501d", "1h1d", "9999999999h", "true", `""`, "+1d", "1d1d",
	} {
		if got := firstProblem(t, strings.Replace(template, "settlement_lag: 24h", "settlement_lag: "+text, 1)); !strings.Contains(got, "duration") {
			t.Errorf("settlement_lag: %s gives the problem %q, want one on durations", text, got)
		}
	}
}

// YAML readers disagree on whether a plain off is a word or a boolean. The
// kill switch works for all of them, and anything unclear is refused.
func TestPermits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]config.Switch{
		"off": config.Off, "OFF": config.Off, `"off"`: config.Off, "false": config.Off, "${PERMITS}": config.Off,
		"on": config.On, "On": config.On, "'on'": config.On, "true": config.On,
	} {
		cfg := mustParse(t, "permits: "+text+"\n"+template)
		if cfg.Permits != want {
			t.Errorf("permits: %s = %s, want %s", text, cfg.Permits, want)
		}
	}
	for _, text := range []string{"0", "no", "disabled", `""`, "~", "[off]"} {
		if firstProblem(t, "permits: "+text+"\n"+template) == "" {
			t.Errorf("permits: %s is accepted", text)
		}
	}
	if cfg := mustParse(t, template); cfg.Permits != config.On {
		t.Error("permits are off by default")
	}
}

func TestDecimalsKeepTheirDigits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]money.Decimal{
		"0.00": {Scale: 2}, `"0.010"`: {Unscaled: 10, Scale: 3}, "0.10": {Unscaled: 10, Scale: 2}, "5": {Unscaled: 5},
		"90071992547409.93": {Unscaled: 9007199254740993, Scale: 2},
	} {
		cfg := mustParse(t, template+"policies: {act: {sources: [bank], tolerance: {absolute: "+text+"}}}\n")
		if got := cfg.MatcherPolicy("act").Tolerance.Absolute; got != want {
			t.Errorf("absolute: %s = %+v, want %+v", text, got, want)
		}
	}
	for _, text := range []string{"1e2", ".5", "0x10", ".inf", ".nan", "1_000", "1,5", `" 1"`} {
		if firstProblem(t, template+"policies: {act: {sources: [bank], tolerance: {absolute: "+text+"}}}\n") == "" {
			t.Errorf("absolute: %s is accepted", text)
		}
	}
}

func TestColumns(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]sources.Column{
		"3": {Number: 3}, `"3"`: {Header: "3"}, "'003'": {Header: "003"}, "Amount": {Header: "Amount"},
		`" Amount "`: {Header: " Amount "}, "NO": {Header: "NO"}, "1.5": {Header: "1.5"}, `"${ATTEMPTS}"`: {Header: "7"},
		"2026-01-02": {Header: "2026-01-02"}, "true": {Header: "true"},
	} {
		cfg := mustParse(t, strings.Replace(template, "column: Ref", "column: "+text, 1))
		if got := *cfg.Sources["bank"].Fields.BusinessReference.Column; got != want {
			t.Errorf("column: %s = %+v, want %+v", text, got, want)
		}
	}
	for _, text := range []string{"0", "-1", "0o17", "99999999999", `""`, "[a]", "~"} {
		if firstProblem(t, strings.Replace(template, "column: Ref", "column: "+text, 1)) == "" {
			t.Errorf("column: %s is accepted", text)
		}
	}
}

func TestEncodings(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"utf-8", "UTF8", "ascii", "windows-1251", "cp1251", "cp866", "cp850", "cp932", "shift_jis", "euc-jp", "gb18030", "iso-8859-15", "utf-16", "utf-16le", "utf-16be", "koi8-r"} {
		mustParse(t, strings.Replace(template, "location: a.csv", "location: a.csv\n    csv: {encoding: "+name+"}", 1))
	}
	for _, name := range []string{"windows-1521", "cp99999", "replacement", `""`, "latin", "hz-gb-2312"} {
		if firstProblem(t, strings.Replace(template, "location: a.csv", "location: a.csv\n    csv: {encoding: "+name+"}", 1)) == "" {
			t.Errorf("encoding: %s is accepted", name)
		}
	}
}

func TestLayouts(t *testing.T) {
	t.Parallel()
	for _, layout := range []string{
		"02.01.2006", "2006-01-02", "20060102", "2.1.06", "02 Jan 2006", "2006-01-02T15:04:05Z07:00", "02/01/2006 15:04",
		"01/02/2006 3:04 PM", "2006-01-02 15:04:05.000000", "Mon Jan _2 15:04:05 2006", "2006-01-02 15:04:05 -0700", "2006-002",
	} {
		if got := firstProblem(t, strings.Replace(template, "{column: Date}", `{column: Date, layout: "`+layout+`"}`, 1)); got != "" {
			t.Errorf("layout %q: %s", layout, got)
		}
	}
	for _, layout := range []string{
		"", "dd.MM.yyyy", "YYYY-MM-DD", "%d.%m.%Y", "02.01", "15:04:05", "2006-01", "02.01.2006 03:04", "31.12.2025", "2006-01-02 MST", "iso",
	} {
		if firstProblem(t, strings.Replace(template, "{column: Date}", `{column: Date, layout: "`+layout+`"}`, 1)) == "" {
			t.Errorf("layout %q is accepted", layout)
		}
	}
}

func TestExpansion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		if err := writeFile(filepath.Join(dir, name), content); err != nil {
			t.Fatal(err)
		}
	}
	write("lines", "two\nlines\n")
	write("crlf", "value\r\n")
	write("bare", "value")
	write("void", "\n")
	write("large", strings.Repeat("x", 70_000))
	for text, want := range map[string]string{
		"plain":                        "plain",
		"${ATTEMPTS}":                  "7",
		"a-${ATTEMPTS}-${PERMITS}-b":   "a-7-off-b",
		"$${ATTEMPTS}":                 "${ATTEMPTS}",
		"$$${ATTEMPTS}":                "$${ATTEMPTS}",
		"$ATTEMPTS":                    "$ATTEMPTS",
		"costs $5":                     "costs $5",
		"end$":                         "end$",
		"${file:" + dir + "/bare}":     "value",
		"${file:" + dir + "/crlf}":     "value",
		"${file:" + dir + "/lines}":    "two\nlines",
		"${file:bare}":                 "value",
		"x${file:bare}y${ATTEMPTS}z$$": "xvaluey7z$$",
	} {
		cfg, err := config.Parse(filepath.Join(dir, "reconciler.yaml"), []byte(strings.Replace(template, "column: Ref", "column: '"+text+"'", 1)), environment)
		if err != nil {
			t.Errorf("column: %s: %v", text, err)
			continue
		}
		if got := cfg.Sources["bank"].Fields.BusinessReference.Column.Header; got != want {
			t.Errorf("column: %s = %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{
		"${", "${ATTEMPTS", "${}", "${A-B}", "${1A}", "${NOT_SET}", "${EMPTY}", "${file:}", "${file:void}", "${file:large}", "${file:missing}", "${file:.}",
	} {
		_, err := config.Parse(filepath.Join(dir, "reconciler.yaml"), []byte(strings.Replace(template, "column: Ref", "column: '"+text+"'", 1)), environment)
		if err == nil {
			t.Errorf("column: %s is accepted", text)
		}
	}
}

// A value is expanded after parsing: YAML inside it stays text, and what it
// contains is not expanded again.
func TestExpandedTextIsNeverYAML(t *testing.T) {
	t.Parallel()
	env := func(string) (string, bool) { return "postgres://u:p: #${X}\n- {a: b}@h/d", true }
	cfg, err := config.Parse("reconciler.yaml", []byte("database: {url: \"${DATABASE_URL}\"}\n"), env)
	if err != nil {
		t.Fatal(err)
	}
	if want, _ := env(""); cfg.Database.URL.Reveal() != want {
		t.Errorf("url = %q, want %q", cfg.Database.URL.Reveal(), want)
	}
}

func TestDatabasePasswords(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"${DATABASE_URL}", "postgres://app@db/journal", "postgres://app:${DB_PASSWORD}@db/journal", "host=db user=app",
		"host=db password=${DB_PASSWORD} user=app", "postgres:///journal?host=/run/postgresql", "postgres://app:@db/journal",
		"host=db passfile=/root/.pgpass", "postgres://db:5432/journal", "postgresql://db/journal?password=${DB_PASSWORD}",
		"postgres://app@db:5432/journal?options=-c%20search_path=a@b",
	} {
		if got := firstProblem(t, "database: {url: '"+strings.ReplaceAll(url, "'", "''")+"'}\n"); got != "" {
			t.Errorf("url: %s: %s", url, got)
		}
	}
	for _, url := range []string{
		"postgres://app:geheim@db/journal", "postgres://app:ge:h@eim@db/journal", "postgres://${ATTEMPTS}:geheim@db/journal",
		"host=db password=geheim", "host=db PASSWORD = 'ge heim'", "postgres://app@db/journal?sslmode=require&password=geheim",
		"postgres://app@db/journal?sslpassword=geheim", "password=geheim host=db", "postgres://app:ge/heim@db/journal", "postgres://app:ge?h@db/j",
	} {
		got := firstProblem(t, "database: {url: '"+strings.ReplaceAll(url, "'", "''")+"'}\n")
		if !strings.Contains(got, "password in plain") || strings.Contains(got, "heim") {
			t.Errorf("url: %s gives the problem %q, want one on the password that does not show it", url, got)
		}
	}
}

func TestAnchorsAndMergeKeys(t *testing.T) {
	t.Parallel()
	cfg := load(t, "good/anchors.yaml")
	lag := func(name string) time.Duration { return cfg.Sources[name].SettlementLag }
	if lag("main") != 24*time.Hour || lag("savings") != 48*time.Hour || lag("third") != time.Hour {
		t.Errorf("settlement lags = %s, %s, %s", lag("main"), lag("savings"), lag("third"))
	}
	if diff := cmp.Diff(cfg.Sources["main"].Fields, cfg.Sources["savings"].Fields); diff != "" {
		t.Errorf("merged fields differ:\n%s", diff)
	}
	if _, got := cfg.Location("savings"); got != "savings/*.csv" {
		t.Errorf("the own location lost against the merged one: %s", got)
	}
	if got := cfg.SourceRule("savings").Accounts; len(got) != 1 || got[0] != "savings" {
		t.Errorf("accounts of savings = %q", got)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	cfg := load(t, "good/warnings.yaml")
	got := map[string]bool{}
	for _, w := range cfg.Warnings() {
		got[w.Key] = true
	}
	want := map[string]bool{
		"sources.bank.completeness": true, "sources.bank.timezone": true, "sources.idle": true, "policies.unused": true,
		"policies.pay.sources[0]": true, "policies.mail.on_absent": true, "jobs.all.schedule": true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings differ (-want +got):\n%s\n%v", diff, cfg.Warnings())
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	digest := func(text string) string { return mustParse(t, text).Digest() }
	base := digest(template)
	if len(base) != 64 {
		t.Fatalf("Digest = %q, want 64 hex digits", base)
	}
	same := map[string]string{
		"a comment":         "# words\n" + template,
		"a default said":    template + "permits: on\ndata_dir: .reconciler\n",
		"another form":      strings.Replace(template, "database: {private: true}", "database:\n  private: true", 1),
		"an equal duration": strings.Replace(template, "24h", "1d", 1),
	}
	for name, text := range same {
		if digest(text) != base {
			t.Errorf("%s changes the digest", name)
		}
	}
	other := map[string]string{
		"the lag":      strings.Replace(template, "24h", "25h", 1),
		"the switch":   template + "permits: off\n",
		"a column":     strings.Replace(template, "column: Ref", "column: 1", 1),
		"the location": strings.Replace(template, "a.csv", "b.csv", 1),
		"a policy":     template + "policies: {act: {sources: [bank]}}\n",
		"a tolerance":  template + "policies: {act: {sources: [bank], tolerance: {absolute: 0.01}}}\n",
	}
	seen := map[string]string{base: "the base"}
	for name, text := range other {
		d := digest(text)
		if before, ok := seen[d]; ok {
			t.Errorf("%s has the digest of %s", name, before)
		}
		seen[d] = name
	}
	url := func(secret string) string {
		env := func(string) (string, bool) { return "postgres://u:" + secret + "@h/d", true }
		cfg, err := config.Parse("reconciler.yaml", []byte("database: {url: \"${U}\"}\n"), env)
		if err != nil {
			t.Fatal(err)
		}
		return cfg.Digest()
	}
	if url("one") != url("two") {
		t.Error("a secret is part of the digest")
	}
	elsewhere, err := config.Parse("/etc/reconciler/reconciler.yaml", []byte(template), environment)
	if err != nil || elsewhere.Digest() != base {
		t.Errorf("the place of the file is part of the digest (%v)", err)
	}
}

func TestPathsStartFromTheFile(t *testing.T) {
	t.Parallel()
	cfg, err := config.Parse("/etc/[acme]/reconciler.yaml", []byte(template+"jobs: {j: {action_types: [act]}}\npolicies: {act: {sources: [bank]}}\n"), environment)
	if err != nil {
		t.Fatal(err)
	}
	if dir, pattern := cfg.Location("bank"); dir != "/etc/[acme]" || pattern != "a.csv" {
		t.Errorf("Location = %s, %s", dir, pattern)
	}
	if cfg.DataDir != "/etc/[acme]/.reconciler" || cfg.Jobs["j"].Report.Dir != "/etc/[acme]/out" {
		t.Errorf("DataDir = %s, report dir = %s", cfg.DataDir, cfg.Jobs["j"].Report.Dir)
	}
}
