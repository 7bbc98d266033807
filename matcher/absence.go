package matcher

import (
	"cmp"
	"slices"
	"time"

	"reconciler/sources"
)

// hole is covered time that is missing between accepted statements, or before
// the first of them, although later time is covered.
type hole struct {
	source, account string
	period          sources.Period
	// tooFresh: statements speak of all of it, but were made before the lag
	// had passed.
	tooFresh bool
}

// proof says how far the accepted statements cover the evidence window.
type proof struct {
	// required are the sources that must cover it.
	required []SourceRule
	// covered by complete statements, proven by such whose end is proven.
	covered, proven bool
	// never: some provider or account is shown by no source at all.
	never bool
	holes []hole
	// provableAt is when the missing coverage can be there; zero if it can't
	// come by itself.
	provableAt time.Time
	// relied lists the ranges that cover the window.
	relied []SourceCoverage
}

// account is one account of one source that must cover the window.
type account struct {
	rule SourceRule
	name string
}

// prove looks whether every source that could show the effect covers the
// whole window.
func prove(f Facts, p Policy, t timing) proof {
	accounts, never := requiredAccounts(f, p)
	out := proof{never: never || len(accounts) == 0}
	out.covered = !out.never
	out.proven = out.covered
	for _, a := range accounts {
		if len(out.required) == 0 || out.required[len(out.required)-1].Name != a.rule.Name {
			out.required = append(out.required, a.rule)
		}
		out.look(a, coverageOf(f.Coverage, a), t)
	}
	if out.never || len(out.holes) > 0 || t.endless() {
		out.provableAt = time.Time{}
	}
	return out
}

func (pr *proof) look(a account, c SourceCoverage, t timing) {
	w := t.window(a.rule)
	if !c.Proven.Covers(w) {
		pr.proven = false
	}
	missing := c.All.Missing(w)
	if len(missing) == 0 {
		pr.relied = append(pr.relied, SourceCoverage{
			Source: a.rule.Name, Account: a.name, Proven: overlapping(c.Proven, w), All: overlapping(c.All, w),
		})
		return
	}
	pr.covered = false
	pr.provableAt = latest(pr.provableAt, t.shownBy(a.rule).Add(a.rule.ProductionDelay))
	for _, m := range missing {
		if h, ok := holeAround(c.All, m); ok {
			pr.holes = append(pr.holes, hole{source: a.rule.Name, account: a.name, period: h, tooFresh: !h.From.IsZero() && c.Spoken.Covers(h)})
		}
	}
}

// holeAround widens a missing part of a window to the whole hole, so that
// every operation that falls into it names the same one.
func holeAround(covered sources.Ranges, missing sources.Period) (sources.Period, bool) {
	at := slices.IndexFunc(covered, func(c sources.Period) bool { return !c.From.Before(missing.To) })
	if at < 0 {
		return sources.Period{}, false
	}
	var from time.Time
	if at > 0 {
		from = covered[at-1].To
	}
	return sources.Period{From: from, To: covered[at].From}, true
}

// requiredAccounts lists what must cover the operation: of the policy's
// sources those of its provider, and of these the operation's account, or all
// accounts where it names none. never is true where a provider or account, or
// a source that the policy names, is shown by nobody.
func requiredAccounts(f Facts, p Policy) (accounts []account, never bool) {
	op := f.Operation
	rules, complete := policySources(f, p)
	if op.Provider != "" {
		rules = slices.DeleteFunc(rules, func(s SourceRule) bool { return s.Provider != op.Provider })
	}
	known := op.Account == "" || slices.ContainsFunc(rules, func(s SourceRule) bool {
		return slices.Contains(s.Accounts, op.Account)
	})
	for _, s := range rules {
		for _, name := range accountsOf(s, f) {
			accounts = append(accounts, account{rule: s, name: name})
		}
	}
	return accounts, !complete || !known
}

// accountsOf are the accounts of one source that could show the operation.
func accountsOf(s SourceRule, f Facts) []string {
	op := f.Operation
	switch {
	case op.Account == "":
		return s.Accounts
	case slices.Contains(s.Accounts, op.Account):
		return []string{op.Account}
	case op.Provider == "":
		// Without a provider every source of the policy must cover it.
		return s.Accounts
	}
	return nil
}

// policySources are the rules of the sources that the policy names, by name;
// complete is false if one of them has no rule or no account.
func policySources(f Facts, p Policy) (rules []SourceRule, complete bool) {
	complete = true
	for _, name := range p.Sources {
		if !slices.ContainsFunc(f.Sources, func(s SourceRule) bool { return s.Name == name }) {
			complete = false
		}
	}
	for _, s := range f.Sources {
		if len(p.Sources) > 0 && !slices.Contains(p.Sources, s.Name) {
			continue
		}
		complete = complete && len(s.Accounts) > 0
		rules = append(rules, s)
	}
	slices.SortFunc(rules, func(a, b SourceRule) int { return cmp.Compare(a.Name, b.Name) })
	return rules, complete
}

// coverageOf adds up what is covered of an account.
func coverageOf(all []SourceCoverage, a account) SourceCoverage {
	out := SourceCoverage{Source: a.rule.Name, Account: a.name}
	for _, c := range all {
		if c.Source != a.rule.Name || c.Account != a.name {
			continue
		}
		out.Proven = append(out.Proven, c.Proven...)
		out.All = append(append(out.All, c.All...), c.Proven...)
	}
	out.Proven = sources.NewRanges(out.Proven...)
	out.All = sources.NewRanges(out.All...)
	return out
}

func overlapping(ranges sources.Ranges, w sources.Period) sources.Ranges {
	var out sources.Ranges
	for _, r := range ranges {
		if r.From.Before(w.To) && r.To.After(w.From) {
			out = append(out, r)
		}
	}
	return out
}
