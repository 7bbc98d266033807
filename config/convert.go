package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/robfig/cron/v3"

	"reconciler/matcher"
	"reconciler/money"
	"reconciler/sources"
)

// MatcherPolicy is the policy of an action type as the matcher reads it. The
// kill switch is part of it. An unknown action type gives a policy that only
// ever reviews and names no source, so nothing is covered for it.
func (c *Config) MatcherPolicy(actionType string) matcher.Policy {
	p, ok := c.Policies[actionType]
	if !ok {
		return matcher.Policy{
			ActionType: actionType, Class: matcher.Financial,
			OnAbsent: matcher.Review, RetryNeeds: matcher.NeedsBoth, PermitsOff: true,
		}
	}
	return matcher.Policy{
		ActionType:             actionType,
		Class:                  matcher.Class(p.Class),
		Sources:                slices.Clone(p.Sources),
		EffectKind:             p.Effect.Kind,
		EffectDirection:        p.Effect.Direction,
		OnAbsent:               matcher.OnAbsent(p.OnAbsent),
		RetryNeeds:             matcher.RetryNeeds(p.RetryNeeds),
		KeyTTL:                 p.KeyTTL,
		KeyMargin:              p.KeyMargin,
		MaxAttempts:            p.MaxAttempts,
		Tolerance:              money.Tolerance{Absolute: p.Tolerance.Absolute, Percent: p.Tolerance.Percent},
		PendingLimit:           p.PendingLimit,
		OverdueAfter:           p.OverdueAfter,
		LeaseGrace:             p.LeaseGrace,
		MaxCall:                p.MaxCall,
		MaxLease:               p.MaxLease,
		MaxRetryAge:            p.MaxRetryAge,
		PlanLimit:              p.PlanLimit,
		SenderDeadlineEnforced: p.SenderDeadline == senderEnforced,
		SafeRefusals:           slices.Clone(p.SafeRefusals),
		PermitsOff:             c.Permits == Off,
	}
}

// SourceRule is what deciding needs to know about a source; the zero value
// for an unknown name.
func (c *Config) SourceRule(name string) matcher.SourceRule {
	s, ok := c.Sources[name]
	if !ok {
		return matcher.SourceRule{}
	}
	return matcher.SourceRule{
		Name:     name,
		Provider: s.Provider,
		Accounts: slices.Clone(s.Accounts),
		CoverageRule: sources.CoverageRule{
			DatedBy:       s.DatedBy,
			SettlementLag: s.SettlementLag,
			Retention:     s.Retention,
		},
		ClockSkew:       s.ClockSkew,
		ProductionDelay: s.ProductionDelay,
		EchoesKey:       s.Fields.IdempotencyKey != nil,
		IDPerDay:        s.Fields.ProviderOperationID != nil && s.Fields.ProviderOperationID.UniquePer == "day",
	}
}

// Location is where a source's files are: a pattern, and the folder that it
// starts from if it is relative, which is no pattern itself. The pattern is
// empty for an unknown name.
func (c *Config) Location(name string) (dir, pattern string) {
	return c.dir, c.Sources[name].Location
}

// Zone is the time zone of a source's days; nil for an unknown name.
func (c *Config) Zone(name string) *time.Location { return c.zones[c.Sources[name].Timezone] }

// JobZone is the time zone of a job's schedule and report; nil for an unknown name.
func (c *Config) JobZone(name string) *time.Location { return c.zones[c.Jobs[name].Timezone] }

// JobNames are the names of all jobs, sorted.
func (c *Config) JobNames() []string { return slices.Sorted(maps.Keys(c.Jobs)) }

// SourceNames are the names of all sources, sorted.
func (c *Config) SourceNames() []string { return slices.Sorted(maps.Keys(c.Sources)) }

// Job is the job of that name.
func (c *Config) Job(name string) (Job, bool) {
	job, ok := c.Jobs[name]
	return job, ok
}

// Schedule is the parsed schedule of a job; false if it has none.
func (c *Config) Schedule(job string) (cron.Schedule, bool) {
	schedule, ok := c.schedules[job]
	return schedule, ok
}

// Digest is the SHA-256, in hex, of everything that the file says and
// defaults add, except secrets and the place of the file.
func (c *Config) Digest() string { return c.digest }

func (c *Config) canonicalDigest() (string, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("marshal the configuration for its digest: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// resolvePaths makes folders start from the folder of the file. The patterns
// of locations stay as they are: that folder may be called [old].
func (c *Config) resolvePaths(dir string) {
	resolve := func(name string) string {
		if filepath.IsAbs(name) {
			return filepath.Clean(name)
		}
		return filepath.Join(dir, name)
	}
	c.dir, c.DataDir = dir, resolve(c.DataDir)
	for name, job := range c.Jobs {
		job.Report.Dir = resolve(job.Report.Dir)
		c.Jobs[name] = job
	}
}
