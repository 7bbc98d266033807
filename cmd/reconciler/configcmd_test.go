package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestConfigCheck(t *testing.T) {
	t.Parallel()
	h := newOffline(t)
	stdout, stderr := h.must(codeDone, "config", "check")
	mustContain(t, stdout, "1 source, 1 policy, 1 job; no problems", "payments", "no schedule: started by cron or by people")
	if stderr != "" {
		t.Errorf("stderr of a good configuration: %q, want nothing", stderr)
	}

	h.writeConfig(strings.Replace(smallConfig, "sources: [acme], report", `sources: [acme], schedule: "15 6 * * *", timezone: Europe/Moscow, report`, 1))
	var got configAnswer
	h.json(codeDone, &got, "config", "check")
	if len(got.Jobs) != 1 || len(got.Jobs[0].Next) != firings {
		t.Fatalf("jobs = %+v, want one with its next %d starts", got.Jobs, firings)
	}
	last := time.Now()
	for _, at := range got.Jobs[0].Next {
		if clock := at.In(time.FixedZone("MSK", 3*60*60)).Format("15:04"); clock != "06:15" || !at.After(last) || at.Sub(last) > 25*time.Hour {
			t.Errorf("a start at %v (%s in Moscow) after %v, want each next day at 06:15 there", at, clock, last)
		}
		last = at
	}
}

func TestConfigCheckProblems(t *testing.T) {
	t.Parallel()
	h := newOffline(t)
	h.writeConfig(strings.NewReplacer("settlement_lag: 24h", "setlement_lag: 24h", "class: financial", "class: sometimes").Replace(smallConfig))
	stdout, stderr := h.must(codeUsage, "config", "check")
	if stdout != "" {
		t.Errorf("stdout of a broken configuration: %q, want nothing", stdout)
	}
	mustContain(t, stderr, "reconciler.yaml:", "sources.acme.setlement_lag", "policies.pay.class")
	for _, line := range strings.Split(strings.TrimSpace(stderr), "\n") {
		if !strings.Contains(line, "reconciler.yaml:") {
			t.Errorf("a line of the problems does not name the file: %q", line)
		}
	}
	var got configAnswer
	h.json(codeUsage, &got, "config", "check")
	if got.OK || len(got.Problems) < 2 || got.Problems[0].Line == 0 || got.Problems[0].Key == "" {
		t.Errorf("config check -o json = %+v, want the problems with line and key", got)
	}
	h.must(codeUsage, "config", "check", "--config", "absent.yaml")
}

func TestConfigSchema(t *testing.T) {
	t.Parallel()
	stdout, _ := newOffline(t).must(codeDone, "config", "schema")
	var schema map[string]any
	if err := json.Unmarshal([]byte(stdout), &schema); err != nil || schema["$schema"] == nil {
		t.Errorf("config schema is no JSON Schema: %v\n%.200s", err, stdout)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	h := newOffline(t)
	stdout, _ := h.must(codeDone, "version")
	mustContain(t, stdout, "reconciler ", "go1.")
	var got programVersion
	h.json(codeDone, &got, "version")
	if got.Version == "" || !strings.HasPrefix(got.Go, "go1.") || got.Modules == 0 {
		t.Errorf("version -o json = %+v, want version, go and the count of modules", got)
	}
}
