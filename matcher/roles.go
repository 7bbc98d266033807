package matcher

import (
	"slices"
	"strings"
	"unicode"

	"reconciler/sources"
)

// role is what a record is to an operation of a given policy.
type role int

const (
	// roleOther: neither an effect nor a reversal (a fee, a payout, the
	// original payment of a refund). It only speaks against "nothing".
	roleOther role = iota
	// roleEffect: the policy's kind and direction.
	roleEffect
	// roleReversal: takes an effect back.
	roleReversal
	// roleRepresentment: takes a chargeback back.
	roleRepresentment
)

// roleOf says what a kind and a direction mean under the policy. What the
// source did not map is unknown, and counts as the policy's own.
func roleOf(kind sources.Kind, direction sources.Direction, p Policy) role {
	own := direction == sources.DirectionUnknown || p.EffectDirection == sources.DirectionUnknown ||
		direction == p.EffectDirection
	switch {
	case ownKind(kind, p) && own:
		return roleEffect
	case ownKind(kind, p):
		return roleReversal
	case !takesBack(kind):
		return roleOther
	case takesBack(p.EffectKind):
		// The action is itself a refund: only its return takes it back.
		if kind == sources.KindReversal && direction != p.EffectDirection {
			return roleReversal
		}
		return roleOther
	case kind == sources.KindChargeback && p.EffectDirection != sources.DirectionUnknown &&
		direction == p.EffectDirection:
		return roleRepresentment
	}
	return roleReversal
}

func ownKind(kind sources.Kind, p Policy) bool {
	if kind == sources.KindUnknown || kind == p.EffectKind {
		return true
	}
	if p.EffectKind != sources.KindUnknown {
		return false
	}
	return !takesBack(kind) && kind != sources.KindFee && kind != sources.KindPayout
}

func takesBack(kind sources.Kind) bool {
	return kind == sources.KindRefund || kind == sources.KindReversal || kind == sources.KindChargeback
}

// saysExists reports that a failed record is no refusal: the provider refused
// a repetition because it has the first one ("already exists", "duplicate").
func saysExists(rec sources.Record) bool {
	for _, word := range words(rec.ProviderStatus) {
		if word == "already" || strings.HasPrefix(word, "duplicat") {
			return true
		}
	}
	return false
}

// safeRefusal reports that the policy lists this refusal as one after which a
// retry is safe.
func safeRefusal(rec sources.Record, p Policy) bool {
	text := strings.TrimSpace(rec.ProviderStatus)
	return text != "" && slices.ContainsFunc(p.SafeRefusals, func(safe string) bool {
		return strings.EqualFold(strings.TrimSpace(safe), text)
	})
}

// words splits a provider's status text into lower-case words, at camel case
// too: DuplicateReference, already_exists and "Already exists" read alike.
func words(text string) []string {
	var spaced strings.Builder
	var previous rune
	for _, r := range text {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			spaced.WriteByte(' ')
		case unicode.IsUpper(r) && unicode.IsLower(previous):
			spaced.WriteByte(' ')
			spaced.WriteRune(unicode.ToLower(r))
		default:
			spaced.WriteRune(unicode.ToLower(r))
		}
		previous = r
	}
	return strings.Fields(spaced.String())
}
