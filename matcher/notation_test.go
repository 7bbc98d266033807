package matcher_test

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"pgregory.net/rapid"

	"reconciler/journal"
	"reconciler/matcher"
	"reconciler/money"
	"reconciler/sources"
)

// The notation of testdata/decisions.csv: its head explains it to readers,
// this file reads it.

func origin() time.Time { return time.Date(2026, time.March, 2, 10, 0, 0, 0, time.UTC) }

// offset reads +4d22m as a duration, with days.
func offset(t rapid.TB, text string) time.Duration {
	t.Helper()
	negative := strings.HasPrefix(text, "-")
	rest := strings.TrimLeft(text, "+-")
	var d time.Duration
	if before, after, ok := strings.Cut(rest, "d"); ok {
		n, err := strconv.Atoi(before)
		if err != nil {
			t.Fatalf("offset %q: %v", text, err)
		}
		d, rest = time.Duration(n*24)*time.Hour, after
	}
	if rest != "" && rest != "0" {
		parsed, err := time.ParseDuration(rest)
		if err != nil {
			t.Fatalf("offset %q: %v", text, err)
		}
		d += parsed
	}
	if negative {
		return -d
	}
	return d
}

func at(t rapid.TB, text string) time.Time {
	t.Helper()
	return origin().Add(offset(t, text))
}

// asOffset is the inverse of at: days, hours and minutes; "" for the zero time.
func asOffset(instant time.Time) string {
	if instant.IsZero() {
		return ""
	}
	d := instant.Sub(origin())
	sign := "+"
	if d < 0 {
		sign, d = "-", -d
	}
	all := int(d / time.Minute)
	days, hours, minutes := all/1440, all/60%24, all%60
	out := sign
	if days > 0 {
		out += fmt.Sprintf("%dd", days)
	}
	if hours > 0 {
		out += fmt.Sprintf("%dh", hours)
	}
	if minutes > 0 || out == sign {
		out += fmt.Sprintf("%dm", minutes)
	}
	return out
}

func minor(t rapid.TB, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(strings.Replace(text, ".", "", 1), 10, 64)
	if err != nil {
		t.Fatalf("amount %q: %v", text, err)
	}
	return n
}

// setting splits key=value; the value of a bare word is empty.
func setting(word string) (key, value string) {
	key, value, _ = strings.Cut(word, "=")
	return key, value
}

func readOperation(t rapid.TB, text string) (journal.Operation, time.Time) {
	t.Helper()
	words := strings.Fields(text)
	if len(words) == 0 {
		t.Fatal("operation without a status")
	}
	op := journal.Operation{
		IdempotencyKey: "op-1", ActionType: "payment_order.create", BusinessReference: "application-7",
		Status: journal.Status(words[0]), Provider: "acme", Account: "main",
		AmountMinor: 10000, HasAmount: true, Currency: "EUR",
		CreatedAt: origin(), UpdatedAt: origin(),
	}
	if op.Status != journal.Planned {
		op.AttemptCount = 1
		op.UpdatedAt = at(t, "+2m")
		op.FirstAttemptAt, op.LastAttemptAt = at(t, "+1m"), at(t, "+1m")
	}
	if op.Status == journal.Executing {
		op.UpdatedAt = at(t, "+1m")
		op.LeaseUntil = at(t, "+10m")
	}
	var workerUpdatedAt time.Time
	for _, word := range words[1:] {
		key, value := setting(word)
		switch key {
		case "lease":
			op.LeaseUntil = readLease(t, value)
		case "amount":
			op.HasAmount, op.AmountMinor = false, 0
		case "currency":
			op.Currency = ""
		case "provider":
			op.Provider = strings.TrimPrefix(value, "none")
		case "account":
			op.Account = strings.TrimPrefix(value, "none")
		case "pid":
			op.ProviderOperationID = value
		case "attempts":
			op.AttemptCount = int(minor(t, value))
		case "not_before":
			op.RetryNotBefore = at(t, value)
		case "not_after":
			op.RetryNotAfter = at(t, value)
		case "unstamped":
			op.FirstAttemptAt, op.LastAttemptAt = time.Time{}, time.Time{}
		case "moved":
			workerUpdatedAt, op.UpdatedAt = op.UpdatedAt, at(t, value)
		default:
			t.Fatalf("operation: unknown word %q", word)
		}
	}
	return op, workerUpdatedAt
}

func readLease(t rapid.TB, value string) time.Time {
	t.Helper()
	switch value {
	case "none":
		return time.Time{}
	case "endless":
		return time.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC)
	}
	return at(t, value)
}

func defaultPolicy() matcher.Policy {
	return matcher.Policy{
		ActionType: "payment_order.create", Class: matcher.Financial, Sources: []string{"acme-bank"},
		EffectKind: sources.KindPayment, EffectDirection: sources.Debit,
		OnAbsent: matcher.Review, RetryNeeds: matcher.NeedsBoth,
		KeyTTL: 24 * time.Hour, KeyMargin: 10 * time.Minute, MaxAttempts: 5,
		PendingLimit: 72 * time.Hour, OverdueAfter: 240 * time.Hour, LeaseGrace: 5 * time.Minute,
		MaxCall: 15 * time.Minute, MaxLease: time.Hour, MaxRetryAge: 720 * time.Hour, PlanLimit: 24 * time.Hour,
	}
}

func readPolicy(t rapid.TB, text string) matcher.Policy {
	t.Helper()
	p := defaultPolicy()
	for word := range strings.FieldsSeq(text) {
		key, value := setting(word)
		switch key {
		case "class":
			p.Class = matcher.Class(value)
		case "on_absent":
			p.OnAbsent = matcher.OnAbsent(value)
		case "needs":
			p.RetryNeeds = matcher.RetryNeeds(value)
		case "ttl":
			p.KeyTTL = offset(t, value)
		case "age":
			p.MaxRetryAge = offset(t, value)
		case "safe":
			p.SafeRefusals = append(p.SafeRefusals, value)
		case "deadline":
			p.SenderDeadlineEnforced = true
		case "permits":
			p.PermitsOff = true
		case "tolerance":
			p.Tolerance = money.Tolerance{Absolute: money.Decimal{Unscaled: minor(t, value), Scale: 2}}
		case "kind":
			p.EffectKind = sources.Kind(strings.TrimPrefix(value, "any"))
		case "direction":
			p.EffectDirection = sources.Direction(strings.TrimPrefix(value, "any"))
		case "sources":
			p.Sources = strings.Split(value, "|")
		default:
			t.Fatalf("policy: unknown word %q", word)
		}
	}
	return p
}

// sourceRules are the sources that the table knows, of which the policy names some.
func sourceRules(p matcher.Policy) []matcher.SourceRule {
	rule := sources.CoverageRule{DatedBy: sources.ByOccurrence, SettlementLag: 72 * time.Hour}
	booked := sources.CoverageRule{DatedBy: sources.ByBooking, SettlementLag: 72 * time.Hour}
	known := map[string]matcher.SourceRule{
		"acme-bank":   {Provider: "acme", Accounts: []string{"main"}, CoverageRule: rule},
		"acme-api":    {Provider: "acme", Accounts: []string{"main"}, CoverageRule: rule},
		"acme-booked": {Provider: "acme", Accounts: []string{"main"}, CoverageRule: booked},
		"beta-bank":   {Provider: "beta", Accounts: []string{"beta"}, CoverageRule: rule},
	}
	var out []matcher.SourceRule
	for _, name := range p.Sources {
		s, ok := known[name]
		if !ok {
			continue
		}
		s.Name, s.ClockSkew, s.ProductionDelay = name, 5*time.Minute, 24*time.Hour
		out = append(out, s)
	}
	return out
}

func readRecords(t rapid.TB, text string) []matcher.Candidate {
	t.Helper()
	var out []matcher.Candidate
	for i, one := range split(text, ";") {
		out = append(out, readRecord(t, one, i+1))
	}
	return out
}

func readRecord(t rapid.TB, text string, line int) matcher.Candidate {
	t.Helper()
	words := strings.Fields(text)
	c := matcher.Candidate{
		RecordID: matcher.RecordID{Source: "acme-bank", RecordKey: fmt.Sprintf("r%d-%d", line, line)},
		Tier:     matcher.TierBusinessReference, Ownership: matcher.Owned, StatementID: int64(line),
		Record: sources.Record{
			Line: line, Account: "main", BusinessReference: "application-7", Status: sources.Status(words[0]),
			Currency: "EUR", Direction: sources.Debit, Kind: sources.KindPayment, OccurredAt: at(t, "+1m"),
		},
	}
	for _, word := range words[1:] {
		readRecordWord(t, &c, word)
	}
	switch c.Source {
	case "beta-bank":
		c.Provider, c.Record.Account = "beta", "beta"
	default:
		c.Provider = "acme"
	}
	return c
}

func readRecordWord(t rapid.TB, c *matcher.Candidate, word string) {
	t.Helper()
	rec := &c.Record
	key, value := setting(word)
	switch key {
	case "id":
		rec.ProviderOperationID = value
	case "related":
		rec.RelatedID = value
	case "in":
		c.Source = value
	case "key":
		c.RecordKey = value
	case "account":
		rec.Account = value
	case "text":
		rec.ProviderStatus = value
	case "at":
		rec.OccurredAt = at(t, value)
	case "day":
		rec.OccurredAt = at(t, value)
		rec.OccurredTo = rec.OccurredAt.Add(24 * time.Hour)
	case "booked":
		rec.BookedAt = at(t, value)
	case "undated":
		rec.OccurredAt = time.Time{}
	case "kind?":
		rec.Kind = sources.KindUnknown
	case "direction?":
		rec.Direction = sources.DirectionUnknown
	case "no-amount":
		rec.HasAmount, rec.AmountMinor, rec.Currency = false, 0, ""
	case "no-currency":
		rec.Currency = ""
	case "other":
		c.Ownership, c.Rivals = matcher.OwnedByOther, []string{"op-2"}
	case "contested":
		c.Ownership, c.Rivals = matcher.Contested, []string{"op-2"}
	case "replaced":
		c.Replaced = true
	case "conflicted":
		c.Conflicted = true
	case "debit", "credit":
		rec.Direction = sources.Direction(word)
	case "USD", "EUR":
		rec.Currency = word
	default:
		if strings.ContainsAny(word, "0123456789") {
			rec.AmountMinor, rec.HasAmount = minor(t, word), true
			return
		}
		rec.Kind = sources.Kind(word)
	}
}

// readCoverage reads "full", "none", or ranges of one source after another.
func readCoverage(t rapid.TB, text string) []matcher.SourceCoverage {
	t.Helper()
	var out []matcher.SourceCoverage
	for _, one := range split(text, ";") {
		if one == "none" {
			continue
		}
		c := matcher.SourceCoverage{Source: "acme-bank", Account: "main"}
		if name, rest, ok := strings.Cut(one, ":"); ok {
			c.Source, one = name, strings.TrimSpace(rest)
		}
		if c.Source == "beta-bank" {
			c.Account = "beta"
		}
		if one == "full" {
			one = "-30d..+6d"
		}
		var proven, all []sources.Period
		for _, r := range split(one, "|") {
			ranges, assumed := strings.CutPrefix(r, "assumed ")
			from, to, _ := strings.Cut(ranges, "..")
			period := sources.Period{From: at(t, from), To: at(t, to)}
			all = append(all, period)
			if !assumed {
				proven = append(proven, period)
			}
		}
		c.Proven, c.All = sources.NewRanges(proven...), sources.NewRanges(all...)
		out = append(out, c)
	}
	return out
}

func readFacts(t rapid.TB, text string, f *matcher.Facts) {
	t.Helper()
	for word := range strings.FieldsSeq(text) {
		key, value := setting(word)
		switch key {
		case "late_success":
			f.LateSuccess = true
		case "reviewed":
			f.Reviewed = true
		case "same_amount":
			f.UnownedSameAmount = append(f.UnownedSameAmount, matcher.Unowned{RecordID: matcher.RecordID{Source: "acme-bank", RecordKey: "u1"}})
		case "no_reference":
			f.UnownedWithoutReference = append(f.UnownedWithoutReference, matcher.Unowned{RecordID: matcher.RecordID{Source: "acme-bank", RecordKey: "u2"}})
		case "earlier":
			f.Earlier = &matcher.Earlier{
				ReasonCode: matcher.ReasonCode(value), From: journal.Unknown, To: f.Operation.Status, At: at(t, "+5d"),
			}
		case "evidence_replaced":
			f.Earlier.EvidenceReplaced = true
		default:
			t.Fatalf("facts: unknown word %q", word)
		}
	}
}

// split cuts a list, without blanks and empty parts.
func split(text, sep string) []string {
	var out []string
	for part := range strings.SplitSeq(text, sep) {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
