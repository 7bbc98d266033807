package reconcile

import (
	"context"
	"fmt"
	"time"

	"reconciler/matcher"
	"reconciler/sources"
)

// kindOverdue files a statement that should be there and is not.
const kindOverdue = "statement_overdue"

// overdue finds, for every source with a calendar, the statements that should
// be there by now: one case for each account and period, named by its date.
func (st *running) overdue(ctx context.Context) (reasons []string, findings []Finding, err error) {
	for _, src := range st.job.Sources {
		if src.Calendar == nil {
			continue
		}
		delivered, err := st.Store.Delivered(ctx, src.Rule.Name)
		if err != nil {
			return nil, nil, err
		}
		for _, account := range src.Rule.Accounts {
			for _, e := range Overdue(src, delivered[account], st.run.At) {
				f := overdueFinding(src, account, e)
				findings = append(findings, f)
				reasons = append(reasons, f.Note)
			}
		}
	}
	return reasons, findings, nil
}

// Overdue lists what a source should have delivered for one account by now:
// since it was first expected, else since its first statement, else the last
// one that is due.
func Overdue(src Source, delivered sources.Ranges, now time.Time) []sources.Expectation {
	c := *src.Calendar
	start := src.ExpectedSince
	switch {
	case !start.IsZero():
	case len(delivered) > 0:
		start = delivered[0].From
	default:
		late := c.Overdue(nil, now.AddDate(0, -2, 0), now)
		return late[max(len(late)-1, 0):]
	}
	return c.Overdue(delivered, start, now)
}

func overdueFinding(src Source, account string, e sources.Expectation) Finding {
	name := e.Name(*src.Calendar)
	return Finding{
		Kind: kindOverdue, Severity: matcher.High, Source: src.Rule.Name, Subject: account + " " + name,
		Note: fmt.Sprintf("%s, account %s: the statement for %s was due at %s and is not there. Nothing can be proven absent for that time; ask the provider for it.",
			src.Rule.Name, account, name, e.DueAt.In(src.Calendar.Zone).Format("2006-01-02 15:04 MST")),
		Evidence: map[string]any{"account": account, "period": name, "from": e.Period.From, "to": e.Period.To, "due_at": e.DueAt},
	}
}
