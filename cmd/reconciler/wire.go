package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"reconciler/config"
	"reconciler/matcher"
	"reconciler/reconcile"
	"reconciler/sources"
	"reconciler/sources/compressed"
	"reconciler/sources/csvformat"
	"reconciler/sources/filesource"
	"reconciler/sources/parts"
)

// buildSource makes a configured source ready to be read. Files, if any are
// given, are read instead of what its location lists.
func buildSource(cfg *config.Config, name string, files []string) (reconcile.Source, error) {
	src := cfg.Sources[name]
	rule := cfg.SourceRule(name)
	out := reconcile.Source{
		Rule: rule, ProductionDelay: src.ProductionDelay,
		Identity: sources.IdentityRule{Source: name, Provider: rule.Provider, Zone: cfg.Zone(name)},
	}
	if id := src.Fields.ProviderOperationID; id != nil {
		out.Identity.IDUniquePerDay = id.UniquePer == "day"
	}
	out.Identity.TimeInKey = src.Completeness.Period.WithTimes()
	if ref := src.Fields.BusinessReference; ref != nil {
		out.Fold, out.Tokens = ref.Fold, ref.Fold != nil || ref.Extract != ""
	}
	if u := src.Unjournaled; u != nil {
		out.Unjournaled, out.Grace = true, u.Grace
	}
	out.Calendar, out.ExpectedSince = cfg.Calendar(name)
	format, err := csvformat.New(cfg.CSVConfig(name))
	if err != nil {
		return out, &exitError{codeUsage, fmt.Errorf("sources.%s: %w", name, err)}
	}
	if out.Format, err = compressed.Wrap(format, cfg.UnpackRule(name)); err != nil {
		return out, &exitError{codeUsage, fmt.Errorf("sources.%s.unpack.%w", name, err)}
	}
	if len(files) > 0 {
		out.Location, err = filesource.Files(files...)
	} else {
		out.Location, err = filesource.Glob(cfg.Location(name))
	}
	if err == nil {
		out.Location, err = parts.Wrap(out.Location, src.Completeness.Parts)
	}
	if err != nil {
		return out, &exitError{codeUsage, fmt.Errorf("sources.%s.location: %w", name, err)}
	}
	return out, nil
}

// buildJob makes a configured job ready to run. Statements, if any are given,
// are read instead of what the sources list.
func buildJob(cfg *config.Config, name string, statements []string) (reconcile.Job, error) {
	job, ok := cfg.Job(name)
	if !ok {
		return reconcile.Job{}, usage("there is no job %q; the configuration has: %s", name, strings.Join(cfg.JobNames(), ", "))
	}
	out := reconcile.Job{
		Name: name, ActionTypes: job.ActionTypes, Policies: map[string]matcher.Policy{}, Rules: map[string]matcher.SourceRule{},
		Folds: map[string]*sources.Fold{}, Version: version(), ConfigDigest: cfg.Digest(),
	}
	names := slices.Clone(job.Sources)
	for _, action := range job.ActionTypes {
		out.Policies[action] = cfg.MatcherPolicy(action)
		names = append(names, out.Policies[action].Sources...)
	}
	slices.Sort(names)
	chosen, err := assignFiles(cfg, job.Sources, statements)
	if err != nil {
		return out, err
	}
	for _, source := range slices.Compact(names) {
		built, err := buildSource(cfg, source, chosen[source])
		if err != nil {
			return out, err
		}
		out.Rules[source] = built.Rule
		if built.Tokens {
			out.Folds[source] = built.Fold
		}
		if slices.Contains(job.Sources, source) && (len(statements) == 0 || len(chosen[source]) > 0) {
			out.Sources = append(out.Sources, built)
		}
	}
	return out, nil
}

// assignFiles finds the source of each file: the one whose location matches
// its name, or the only one there is.
func assignFiles(cfg *config.Config, names, files []string) (map[string][]string, error) {
	out := map[string][]string{}
	for _, file := range files {
		var matching []string
		for _, name := range names {
			_, pattern := cfg.Location(name)
			if ok, err := filepath.Match(filepath.Base(pattern), filepath.Base(file)); err == nil && ok {
				matching = append(matching, name)
			}
		}
		if len(matching) == 0 && len(names) == 1 {
			matching = names
		}
		if len(matching) != 1 {
			return nil, usage("%s: can't tell its source among %s by its name; load it with 'reconciler ingest SOURCE %s' and run without --statement",
				file, strings.Join(names, ", "), file)
		}
		out[matching[0]] = append(out[matching[0]], file)
	}
	return out, nil
}
