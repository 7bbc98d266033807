package config

import (
	"maps"
	"slices"
	"strings"

	"reconciler/matcher"
	"reconciler/sources"
)

// senderEnforced is the one value of sender_deadline.
const senderEnforced = "enforced"

func classWords() []string {
	return asWords([]matcher.Class{matcher.Financial, matcher.Irreversible, matcher.Idempotent})
}

func absentWords() []string {
	return asWords([]matcher.OnAbsent{matcher.Retry, matcher.Fail, matcher.Review})
}

func needWords() []string {
	return asWords([]matcher.RetryNeeds{matcher.NeedsAbsence, matcher.NeedsKey, matcher.NeedsBoth})
}

func (c *Config) checkPolicy(log *ledger, name string) {
	p, policy := at("policies", name), c.Policies[name]
	if strings.TrimSpace(name) != name || name == "" {
		log.problem(p, "is no name of an action type; write it without blanks around it")
	}
	checkWord(log, p.key("class"), policy.Class, classWords())
	c.checkPolicySources(log, p.key("sources"), policy.Sources)
	if at := p.key("effect", "kind"); log.said(at) {
		checkWord(log, at, policy.Effect.Kind, sources.Kinds())
	}
	if at := p.key("effect", "direction"); log.said(at) {
		checkWord(log, at, policy.Effect.Direction, []sources.Direction{sources.Debit, sources.Credit})
	}
	known := checkWord(log, p.key("on_absent"), policy.OnAbsent, absentWords())
	known = checkWord(log, p.key("retry_needs"), policy.RetryNeeds, needWords()) && known
	if known {
		checkRetry(log, p, policy)
	}
	if policy.MaxAttempts < 1 {
		log.problem(p.key("max_attempts"), "must be 1 or more; to give no permits at all, say on_absent: review")
	}
	checkTolerance(log, p.key("tolerance"), policy.Tolerance)
	if at := p.key("sender_deadline"); log.said(at) {
		checkWord(log, at, policy.SenderDeadline, []string{senderEnforced})
	}
	checkList(log, p.key("safe_refusals"), policy.SafeRefusals)
	c.warnPolicy(log, p, policy)
}

func (c *Config) checkPolicySources(log *ledger, p keyPath, names []string) {
	checkList(log, p, names)
	if len(names) == 0 {
		log.problem(p, "must be said; list the sources that show this action type")
	}
	for i, name := range names {
		if _, ok := c.Sources[name]; !ok && name != "" && !log.isBroken(at("sources")) {
			log.problem(p.item(i), "%s is not a source%s", log.show(p.item(i), name), suggest(name, slices.Collect(maps.Keys(c.Sources))))
		}
	}
}

// checkRetry: a permit that rests on the provider's memory of our key needs
// to know how long that memory is. A policy of the class financial that only
// reviews gives no permit and needs no answer.
func checkRetry(log *ledger, p keyPath, policy Policy) {
	usesKey := policy.RetryNeeds != string(matcher.NeedsAbsence)
	at := p.key("key_ttl")
	needed := usesKey && (policy.OnAbsent == string(matcher.Retry) || policy.RetryNeeds == string(matcher.NeedsKey) || len(policy.SafeRefusals) > 0)
	switch {
	case log.said(at):
		if usesKey && policy.KeyTTL <= policy.KeyMargin+policy.MaxCall {
			log.problem(at, "leaves no time for a retry: key_margin and max_call take %s of it; correct one of them", policy.KeyMargin+policy.MaxCall)
		}
	case needed:
		log.problem(at, "must be said where retry_needs is %s; write how long the provider remembers an idempotency key: 24h", policy.RetryNeeds)
	}
}

func checkTolerance(log *ledger, p keyPath, t Tolerance) {
	if t.Absolute.Unscaled < 0 {
		log.problem(p.key("absolute"), "is negative; write how far an amount may be off, in major units")
	}
	whole := t.Percent.Unscaled
	for range t.Percent.Scale {
		whole /= 10
	}
	if t.Percent.Unscaled < 0 || whole >= 100 {
		log.problem(p.key("percent"), "must be from 0 to less than 100")
	}
}

func (c *Config) warnPolicy(log *ledger, p keyPath, policy Policy) {
	if policy.OnAbsent == string(matcher.Retry) && policy.RetryNeeds == string(matcher.NeedsAbsence) && policy.SenderDeadline != senderEnforced {
		log.warn(p.key("on_absent"), "retry without sender_deadline: enforced always becomes review; say it if writers stop sending at their lease")
	}
	if policy.Class != string(matcher.Financial) {
		return
	}
	for i, name := range policy.Sources {
		if s, ok := c.Sources[name]; ok && s.Fields.Amount == nil {
			log.warn(p.key("sources").item(i), "%s has no amount, so nothing financial is confirmed by it; map fields.amount", log.show(p.key("sources").item(i), name))
		}
	}
}
