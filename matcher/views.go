package matcher

import (
	"cmp"
	"slices"
	"time"

	"reconciler/sources"
)

// effect is one thing that a provider says about itself once, seen through
// one or more of its sources. Despite the name it may be pending, refused or
// a reversal: role and status say which.
type effect struct {
	views     []Candidate
	kind      sources.Kind
	direction sources.Direction
	role      role
	status    sources.Status
	// amountMinor and currency by the first view that has an amount.
	amountMinor int64
	hasAmount   bool
	currency    string
	// restMinor is what reversals have left of the amount; reduced says that
	// they have taken something, gone that they have taken all.
	restMinor     int64
	reduced, gone bool
}

// mergeViews brings the records of all sources together into distinct effects:
// sources of one provider are views of the same things, different providers
// add up. Candidates must be sorted.
func mergeViews(candidates []Candidate, p Policy) []*effect {
	var out []*effect
	for _, provider := range distinct(candidates, func(c Candidate) string { return c.Provider }) {
		var merged []*effect
		for _, source := range distinct(candidates, func(c Candidate) string { return c.Source }) {
			var view []Candidate
			for _, c := range candidates {
				if c.Provider == provider && c.Source == source {
					view = append(view, c)
				}
			}
			merged = addView(merged, view)
		}
		out = append(out, merged...)
	}
	for _, e := range out {
		e.finish(p)
	}
	slices.SortFunc(out, compareEffects)
	return out
}

// addView lays one more source over the effects known so far. Each record
// finds at most one effect and each effect takes at most one record of the
// view; the surest rule goes first.
func addView(known []*effect, view []Candidate) []*effect {
	taken := make(map[*effect]bool, len(view))
	rest := view
	for _, same := range []func(*effect, Candidate) bool{sameID, sameInAll, sameAmountAndStatus, sameAmount} {
		var open []Candidate
		for _, c := range rest {
			at := slices.IndexFunc(known, func(e *effect) bool { return !taken[e] && same(e, c) })
			if at < 0 {
				open = append(open, c)
				continue
			}
			taken[known[at]] = true
			known[at].add(c)
		}
		rest = open
	}
	for _, c := range rest {
		e := &effect{}
		e.add(c)
		known = append(known, e)
	}
	return known
}

func (e *effect) add(c Candidate) {
	e.views = append(e.views, c)
	if e.kind == sources.KindUnknown {
		e.kind = c.Record.Kind
	}
	if e.direction == sources.DirectionUnknown {
		e.direction = c.Record.Direction
	}
}

// sameID: both have the provider's identifier, and it is the same.
func sameID(e *effect, c Candidate) bool {
	return compatible(e, c) && slices.ContainsFunc(e.views, func(v Candidate) bool {
		return v.Record.ProviderOperationID != "" && v.Record.ProviderOperationID == c.Record.ProviderOperationID
	})
}

// sameInAll, sameAmountAndStatus and sameAmount pair records of which one
// side has no identifier; two different identifiers are two effects.
func sameInAll(e *effect, c Candidate) bool {
	return sameAmountAndStatus(e, c) && e.kind == c.Record.Kind && e.direction == c.Record.Direction
}

func sameAmountAndStatus(e *effect, c Candidate) bool {
	return sameAmount(e, c) && e.views[0].Record.Status == c.Record.Status
}

func sameAmount(e *effect, c Candidate) bool {
	if !compatible(e, c) {
		return false
	}
	if c.Record.ProviderOperationID != "" && e.id() != "" {
		return false
	}
	first := e.views[0].Record
	return first.HasAmount == c.Record.HasAmount && first.AmountMinor == c.Record.AmountMinor &&
		first.Currency == c.Record.Currency
}

func compatible(e *effect, c Candidate) bool {
	account, other := accountOf(e.views[0]), accountOf(c)
	return (account == "" || other == "" || account == other) &&
		(e.kind == c.Record.Kind || e.kind == sources.KindUnknown || c.Record.Kind == sources.KindUnknown) &&
		(e.direction == c.Record.Direction || e.direction == sources.DirectionUnknown ||
			c.Record.Direction == sources.DirectionUnknown)
}

// accountOf is the account of a record; a source whose single account was
// never named calls it by its own name, which says nothing to other sources.
func accountOf(c Candidate) string {
	if c.Record.Account == c.Source {
		return ""
	}
	return c.Record.Account
}

// finish settles what the views say together.
func (e *effect) finish(p Policy) {
	slices.SortFunc(e.views, compareCandidates)
	e.role = roleOf(e.kind, e.direction, p)
	e.status = e.views[0].Record.Status
	for _, v := range e.views {
		if weight(v.Record.Status) > weight(e.status) {
			e.status = v.Record.Status
		}
		if v.Record.HasAmount && !e.hasAmount {
			e.amountMinor, e.currency, e.hasAmount = v.Record.AmountMinor, v.Record.Currency, true
		}
	}
	e.restMinor = e.amountMinor
}

// weight ranks the statuses where views of one thing disagree: what was taken
// back did happen, an effect and a refusal is an effect, pending and a refusal
// is pending.
func weight(s sources.Status) int {
	return slices.Index([]sources.Status{sources.Failed, sources.Pending, sources.Succeeded, sources.Reversed}, s)
}

// id is the provider's identifier by the first view that has one.
func (e *effect) id() string {
	for _, v := range e.views {
		if v.Record.ProviderOperationID != "" {
			return v.Record.ProviderOperationID
		}
	}
	return ""
}

func (e *effect) hasID(id string) bool {
	return id != "" && slices.ContainsFunc(e.views, func(v Candidate) bool {
		return v.Record.ProviderOperationID == id
	})
}

// names reports that a record of e names an identifier of other, as a refund
// names the charge, or shares it.
func (e *effect) names(other *effect) bool {
	return slices.ContainsFunc(e.views, func(v Candidate) bool {
		return other.hasID(v.Record.RelatedID) || other.hasID(v.Record.ProviderOperationID)
	})
}

func (e *effect) provider() string { return e.views[0].Provider }

// happenedAt is the best time that the record has; zero if it has none.
func happenedAt(rec sources.Record) time.Time {
	for _, t := range []time.Time{rec.OccurredAt, rec.BookedAt, rec.SettledAt} {
		if !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

// compareCandidates orders by time (undated last), then by line, so that the
// order in which facts arrive never matters.
func compareCandidates(a, b Candidate) int {
	at, bt := happenedAt(a.Record), happenedAt(b.Record)
	if at.IsZero() != bt.IsZero() {
		if at.IsZero() {
			return 1
		}
		return -1
	}
	return cmp.Or(
		at.Compare(bt),
		cmp.Compare(a.Record.Line, b.Record.Line),
		cmp.Compare(a.Source, b.Source),
		cmp.Compare(a.RecordKey, b.RecordKey),
		cmp.Compare(a.StatementID, b.StatementID),
		cmp.Compare(a.Record.Status, b.Record.Status),
		cmp.Compare(a.Record.AmountMinor, b.Record.AmountMinor),
	)
}

func compareEffects(a, b *effect) int { return compareCandidates(a.views[0], b.views[0]) }

func distinct(candidates []Candidate, of func(Candidate) string) []string {
	var out []string
	for _, c := range candidates {
		out = append(out, of(c))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func recordIDs(effects ...[]*effect) []RecordID {
	var out []RecordID
	for _, list := range effects {
		for _, e := range list {
			for _, v := range e.views {
				out = append(out, v.RecordID)
			}
		}
	}
	return sortedIDs(out)
}

func candidateIDs(candidates []Candidate) []RecordID {
	var out []RecordID
	for _, c := range candidates {
		out = append(out, c.RecordID)
	}
	return sortedIDs(out)
}

func sortedIDs(ids []RecordID) []RecordID {
	slices.SortFunc(ids, func(a, b RecordID) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.RecordKey, b.RecordKey))
	})
	return slices.Compact(ids)
}

func uniqueSorted(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}
