package matcher

import "slices"

// Claim is one operation's claim on one record.
type Claim struct {
	IdempotencyKey string
	Tier           Tier
}

// Owner decides who owns a record that the given operations claim, judged
// over the whole journal: the strongest tier wins; two claims of the same
// strength are a tie, and nobody owns it. ok is false where nobody does.
func Owner(claims []Claim) (owner string, tie []string, ok bool) {
	best := Tier(0)
	for _, c := range claims {
		switch {
		case best == 0 || c.Tier < best:
			best, tie = c.Tier, append(tie[:0], c.IdempotencyKey)
		case c.Tier == best && !slices.Contains(tie, c.IdempotencyKey):
			tie = append(tie, c.IdempotencyKey)
		}
	}
	if len(tie) == 1 {
		return tie[0], nil, true
	}
	return "", tie, false
}
