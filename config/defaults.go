package config

import (
	"slices"
	"time"

	"reconciler/matcher"
	"reconciler/sources"
)

// day is how long a `d` in a duration is.
const day = 24 * time.Hour

// endProven and endAssumed are the values of completeness.end.
const (
	endProven  = "proven"
	endAssumed = "assumed"
)

// The values of csv.quote.
const (
	quoteDouble = "double"
	quoteSingle = "single"
	quoteNone   = "none"
)

// reportFormats are the forms in which reports are written, all by default.
func reportFormats() []string { return []string{"csv", "xlsx", "html", "json"} }

// fill puts defaults where the file says nothing. A value that was said, even
// zero, is never replaced.
func (c *Config) fill(log *ledger) {
	setDefault(log, at("data_dir"), &c.DataDir, ".reconciler")
	setDefault(log, at("permits"), &c.Permits, On)
	setDefault(log, at("database", "journal_schema"), &c.Database.JournalSchema, "public")
	setDefault(log, at("database", "schema"), &c.Database.Schema, "reconciler")
	for name, source := range c.Sources {
		source.fill(log, name)
		c.Sources[name] = source
	}
	for name, policy := range c.Policies {
		policy.fill(log, at("policies", name))
		c.Policies[name] = policy
	}
	for name, job := range c.Jobs {
		c.fillJob(log, at("jobs", name), &job)
		c.Jobs[name] = job
	}
}

func setDefault[T any](log *ledger, p keyPath, value *T, standard T) {
	if !log.said(p) {
		*value = standard
	}
}

func (s *Source) fill(log *ledger, name string) {
	p := at("sources", name)
	setDefault(log, p.key("provider"), &s.Provider, name)
	account := name
	if f := s.Fields.Account; f != nil && f.Value != nil {
		account = *f.Value
	}
	setDefault(log, p.key("accounts"), &s.Accounts, []string{account})
	setDefault(log, p.key("format"), &s.Format, "csv")
	setDefault(log, p.key("csv", "delimiter"), &s.CSV.Delimiter, ",")
	setDefault(log, p.key("csv", "encoding"), &s.CSV.Encoding, "utf-8")
	if first := 1; s.CSV.Header == nil {
		setDefault(log, p.key("csv", "header_row"), &s.CSV.HeaderRow, &first)
	}
	setDefault(log, p.key("csv", "quote"), &s.CSV.Quote, quoteDouble)
	setDefault(log, p.key("timezone"), &s.Timezone, "UTC")
	setDefault(log, p.key("completeness", "end"), &s.Completeness.End, endProven)
	setDefault(log, p.key("dated_by"), &s.DatedBy, sources.ByOccurrence)
	setDefault(log, p.key("clock_skew"), &s.ClockSkew, 5*time.Minute)
	setDefault(log, p.key("production_delay"), &s.ProductionDelay, day)
	if s.Unjournaled != nil {
		setDefault(log, p.key("unjournaled", "grace"), &s.Unjournaled.Grace, day)
	}
	if s.Calendar != nil {
		s.Calendar.fill(log, p.key("calendar"), s.Timezone)
	}
}

func (p *Policy) fill(log *ledger, path keyPath) {
	setDefault(log, path.key("class"), &p.Class, string(matcher.Financial))
	onAbsent, needs := classDefaults(matcher.Class(p.Class))
	setDefault(log, path.key("on_absent"), &p.OnAbsent, string(onAbsent))
	setDefault(log, path.key("retry_needs"), &p.RetryNeeds, string(needs))
	setDefault(log, path.key("key_margin"), &p.KeyMargin, 10*time.Minute)
	setDefault(log, path.key("max_attempts"), &p.MaxAttempts, 5)
	setDefault(log, path.key("pending_limit"), &p.PendingLimit, 72*time.Hour)
	setDefault(log, path.key("overdue_after"), &p.OverdueAfter, 240*time.Hour)
	setDefault(log, path.key("lease_grace"), &p.LeaseGrace, 5*time.Minute)
	setDefault(log, path.key("max_call"), &p.MaxCall, 15*time.Minute)
	setDefault(log, path.key("max_lease"), &p.MaxLease, time.Hour)
	setDefault(log, path.key("max_retry_age"), &p.MaxRetryAge, 720*time.Hour)
	setDefault(log, path.key("plan_limit"), &p.PlanLimit, day)
}

// classDefaults are the consequences that a class has where the policy names
// none; an unknown class, which is refused later, gets the careful ones.
func classDefaults(class matcher.Class) (matcher.OnAbsent, matcher.RetryNeeds) {
	switch class {
	case matcher.Irreversible:
		return matcher.Retry, matcher.NeedsAbsence
	case matcher.Idempotent:
		return matcher.Retry, matcher.NeedsKey
	case matcher.Financial:
		return matcher.Review, matcher.NeedsBoth
	}
	return matcher.Review, matcher.NeedsBoth
}

func (c *Config) fillJob(log *ledger, p keyPath, job *Job) {
	if !log.said(p.key("sources")) {
		for _, action := range job.ActionTypes {
			for _, source := range c.Policies[action].Sources {
				if !slices.Contains(job.Sources, source) {
					job.Sources = append(job.Sources, source)
				}
			}
		}
	}
	setDefault(log, p.key("timezone"), &job.Timezone, "UTC")
	setDefault(log, p.key("report", "dir"), &job.Report.Dir, "out/")
	setDefault(log, p.key("report", "formats"), &job.Report.Formats, reportFormats())
}
