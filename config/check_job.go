package config

import (
	"maps"
	"slices"
	"strings"
)

// checkJob checks one job; owners collects which job has an action type.
func (c *Config) checkJob(log *ledger, name string, owners map[string]string) {
	p, job := at("jobs", name), c.Jobs[name]
	checkName(log, p, name)
	if len(job.ActionTypes) == 0 {
		log.problem(p.key("action_types"), "must be said; list the action types that this job reconciles")
	}
	checkList(log, p.key("action_types"), job.ActionTypes)
	for i, action := range job.ActionTypes {
		c.checkJobAction(log, name, i, owners)
		owners[action] = name
	}
	checkList(log, p.key("sources"), job.Sources)
	for i, source := range job.Sources {
		at := p.key("sources").item(i)
		if _, ok := c.Sources[source]; !ok && source != "" && log.said(at) && !log.isBroken(keyPath{"sources"}) {
			log.problem(at, "%s is not a source%s", log.show(at, source), suggest(source, slices.Collect(maps.Keys(c.Sources))))
		}
	}
	zone := c.loadZone(log, p.key("timezone"), job.Timezone)
	if at := p.key("schedule"); log.said(at) && zone != nil {
		schedule, warning, err := ParseSchedule(job.Schedule, zone)
		switch {
		case err != nil:
			log.problem(at, "%s %v", log.show(at, job.Schedule), err)
		case warning != "":
			log.warn(at, "%s %s", log.show(at, job.Schedule), warning)
		}
		c.schedules[name] = schedule
	}
	checkText(log, p.key("report", "dir"), job.Report.Dir, "name a folder, or remove the key for out/")
	formats := p.key("report", "formats")
	if len(job.Report.Formats) == 0 {
		log.problem(formats, "is empty; list at least one of %s", strings.Join(reportFormats(), ", "))
	}
	checkList(log, formats, job.Report.Formats)
	for i, format := range job.Report.Formats {
		checkWord(log, formats.item(i), format, reportFormats())
	}
}

func (c *Config) checkJobAction(log *ledger, name string, i int, owners map[string]string) {
	job := c.Jobs[name]
	action, at := job.ActionTypes[i], at("jobs", name, "action_types").item(i)
	if owner, ok := owners[action]; ok && owner != name {
		log.problem(at, "%s belongs to the job %s already; an action type has one job", log.show(at, action), owner)
	}
	policy, ok := c.Policies[action]
	if !ok {
		if action != "" && !log.isBroken(keyPath{"policies"}) {
			log.problem(at, "%s has no policy%s", log.show(at, action), suggest(action, slices.Collect(maps.Keys(c.Policies))))
		}
		return
	}
	for _, source := range policy.Sources {
		if _, known := c.Sources[source]; known && !slices.Contains(job.Sources, source) {
			log.problem(at, "%s needs the source %s, which the job does not fetch; add it to the job's sources", log.show(at, action), source)
		}
	}
}
