package matcher

import (
	"slices"

	"reconciler/sources"
)

// net takes reversals off effects. Chargebacks that were won back come off
// first. A reversal then finds the effect that it names, else one of the same
// amount, else it is taken from the running sum, the latest effect first: a
// refund without a name mostly takes back the duplicate. Effects and
// reversals must be sorted.
func net(effects, reversals, representments []*effect, p Policy) {
	reversals = represent(reversals, representments)
	rest := takeNamed(effects, reversals, p)
	rest = takeEqual(effects, rest)
	takeSum(effects, rest, p)
}

// represent drops the chargebacks that came back: by name, else by amount,
// else the first in that currency, of which the rest stays.
func represent(reversals, representments []*effect) []*effect {
	for _, back := range representments {
		at := chargebackOf(reversals, back)
		if at < 0 {
			continue
		}
		if r := reversals[at]; r.restMinor > back.restMinor {
			r.restMinor -= back.restMinor
			continue
		}
		reversals = slices.Delete(slices.Clone(reversals), at, at+1)
	}
	return reversals
}

func chargebackOf(reversals []*effect, back *effect) int {
	for _, fits := range []func(*effect) bool{
		func(r *effect) bool { return back.names(r) || r.names(back) },
		func(r *effect) bool { return r.sameMoney(back) },
		func(r *effect) bool { return r.currency == back.currency },
	} {
		at := slices.IndexFunc(reversals, func(r *effect) bool {
			return r.kind == sources.KindChargeback && r.provider() == back.provider() && fits(r)
		})
		if at >= 0 {
			return at
		}
	}
	return -1
}

func takeNamed(effects, reversals []*effect, p Policy) []*effect {
	var rest []*effect
	for _, r := range reversals {
		at := slices.IndexFunc(effects, func(e *effect) bool {
			return e.provider() == r.provider() && r.names(e)
		})
		if at < 0 {
			rest = append(rest, r)
			continue
		}
		effects[at].take(r, p)
	}
	return rest
}

func takeEqual(effects, reversals []*effect) []*effect {
	var rest []*effect
	for _, r := range reversals {
		e := lastOf(effects, func(e *effect) bool { return !e.gone && e.sameMoney(r) })
		if e == nil {
			rest = append(rest, r)
			continue
		}
		e.gone, e.restMinor = true, 0
	}
	return rest
}

func takeSum(effects, reversals []*effect, p Policy) {
	for _, r := range reversals {
		left := r
		for left != nil {
			e := lastOf(effects, func(e *effect) bool { return !e.gone && e.provider() == r.provider() })
			if e == nil {
				break
			}
			left = e.take(left, p)
		}
	}
}

// sameMoney: the same amount in the same currency at the same provider.
func (e *effect) sameMoney(other *effect) bool {
	return e.provider() == other.provider() && e.hasAmount && other.hasAmount &&
		e.restMinor == other.restMinor && e.currency == other.currency
}

// take lets reversal r take from e, and returns what is left of r; nil if
// nothing. Without comparable amounts the whole effect counts as taken back:
// calling it standing would be the bolder claim.
func (e *effect) take(r *effect, p Policy) *effect {
	if e.gone {
		return nil
	}
	if !e.hasAmount || !r.hasAmount || e.currency != r.currency {
		e.gone, e.restMinor = true, 0
		return nil
	}
	if r.restMinor >= e.restMinor || p.Tolerance.Allows(e.restMinor, r.restMinor, e.currency) {
		left := *r
		left.restMinor = r.restMinor - e.restMinor
		e.gone, e.restMinor = true, 0
		if left.restMinor <= 0 {
			return nil
		}
		return &left
	}
	if r.restMinor > 0 {
		e.restMinor -= r.restMinor
		e.reduced = true
	}
	return nil
}

func lastOf(effects []*effect, is func(*effect) bool) *effect {
	for _, e := range slices.Backward(effects) {
		if is(e) {
			return e
		}
	}
	return nil
}
