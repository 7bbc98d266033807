package matcher

import (
	"time"

	"reconciler/sources"
)

// RequiredCoverage is what one account of one source has to cover before an
// operation can be called absent, and what of it is not covered yet.
type RequiredCoverage struct {
	Source, Account string
	// Window in which an effect would stand in this source.
	Window sources.Period
	// Missing are the parts of the window that no complete statement covers;
	// Unproven those that none covers whose end is proven.
	Missing, Unproven sources.Ranges
	// ShownBy is the as_of that a statement needs to cover the whole window.
	ShownBy time.Time
}

// Required lists what has to be covered before the operation can be called
// absent, in order of sources. never is true where no coverage helps: its
// provider or account is shown by no source of the policy.
func Required(f Facts, p Policy, now time.Time) (required []RequiredCoverage, never bool) {
	t := newTiming(f, p, now)
	accounts, never := requiredAccounts(f, p)
	for _, a := range accounts {
		c, w := coverageOf(f.Coverage, a), t.window(a.rule)
		required = append(required, RequiredCoverage{
			Source: a.rule.Name, Account: a.name, Window: w,
			Missing: c.All.Missing(w), Unproven: c.Proven.Missing(w), ShownBy: t.shownBy(a.rule),
		})
	}
	return required, never || len(accounts) == 0
}

// TooEarly reports that a record is dated before the evidence window, so that
// it can't be the effect of this operation, whatever name it bears.
func TooEarly(f Facts, p Policy, c Candidate, now time.Time) bool {
	return before(newTiming(f, p, now).window(ruleOf(f.Sources, c.Source)), c.Record)
}
