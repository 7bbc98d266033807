package reports_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"reconciler/reports"
)

// zone loads a time zone.
func zone(tb testing.TB, name string) *time.Location {
	tb.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		tb.Fatalf("LoadLocation(%q): %v", name, err)
	}
	return loc
}

func ptr[T any](v T) *T { return &v }

// at is an instant of July 2026 in UTC.
func at(day, hour, minute int) time.Time {
	return time.Date(2026, time.July, day, hour, minute, 0, 0, time.UTC)
}

// operation is a payment order of the invented company.
func operation(n int, status string, minor int64, currency string) reports.Operation {
	return reports.Operation{
		IdempotencyKey:    fmt.Sprintf("v1:5f3a9c%04d7be2d41c0a86e19b", n),
		ActionType:        "payment_order.create",
		WorkflowID:        fmt.Sprintf("payout-2026-07-%02d", n%28+1),
		Status:            status,
		BusinessReference: fmt.Sprintf("application-%06d", 10400+n),
		Provider:          "acme", Account: "main",
		AmountMinor: minor, HasAmount: true, Currency: currency,
		AttemptCount: 1, CreatedAt: at(10, 8, n%60), LastAttemptAt: at(10, 8, n%60).Add(12 * time.Second),
	}
}

// record is a line of the acme-bank register about an operation.
func record(op reports.Operation, id string, line int) reports.Record {
	return reports.Record{
		Source: "acme-bank", RecordKey: "k" + id, Statement: "acme-2026-07-01_2026-07-13.csv", Line: line,
		ProviderOperationID: id, BusinessReference: op.BusinessReference,
		AmountMinor: op.AmountMinor, HasAmount: op.HasAmount, Currency: op.Currency,
		Direction: "debit", Kind: "payment", Status: "succeeded", OccurredAt: at(10, 8, 31),
	}
}

// hostile is text from a provider that means harm; see also TestHostileText.
const hostile = "<img src=x onerror=alert(1)> =HYPERLINK(\"http://evil.example\") \u202Egpj.exe {{.}} \x01"

// rich is a report in which every section has something to show.
func rich(tb testing.TB) reports.Report {
	tb.Helper()
	r := reports.Report{
		Summary:     richSummary(),
		GeneratedAt: at(14, 3, 15),
		Zone:        zone(tb, "Europe/Moscow"),
		Zones:       map[string]*time.Location{"kuwait-cards": zone(tb, "Asia/Kuwait"), "acme-api": time.UTC},
	}
	r.Exceptions = richExceptions()
	r.Settled = richSettled()
	r.Waiting = richWaiting()
	r.Statements = richStatements()
	r.Coverage = []reports.Coverage{
		{Source: "acme-bank", Account: "main", Ranges: []reports.Range{
			{From: at(1, 0, 0).Add(-3 * time.Hour), To: at(14, 0, 0).Add(-3 * time.Hour)},
		}},
		{Source: "acme-api", Account: "main", Ranges: []reports.Range{
			{From: at(1, 0, 0).Add(-3 * time.Hour), To: at(5, 0, 0).Add(-3 * time.Hour)},
			{From: at(6, 0, 0).Add(-3 * time.Hour), To: at(14, 2, 40)},
		}},
		{Source: "kuwait-cards", Account: "card-settlement"},
	}
	return r
}

func richSummary() reports.Summary {
	return reports.Summary{
		RunID: "01981f5e-4c1a-7d3b-9b1e-2f0c6a7d9e44", Job: "payments", Verdict: "exceptions",
		StartedAt: at(14, 3, 15), FinishedAt: at(14, 3, 16), Version: "1.4.0",
		ConfigDigest: "sha256:9d1c3f0f7a5e4b6c8d2e1f0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a1b0c",
		Statements:   reports.StatementCounts{Accepted: 3, Quarantined: 0, Duplicate: 12},
		Coverage: []reports.CoverageEnd{
			{Source: "acme-bank", Account: "main", CoveredTo: ptr(at(13, 21, 0)), Gaps: 2},
			{Source: "kuwait-cards", Account: "card-settlement"},
		},
		Records:    reports.RecordCounts{Read: 48211, New: 1204, Changed: 3, Rejected: 0},
		Operations: reports.OperationCounts{Examined: 1311, Succeeded: 5, FailedFinal: 1, FailedRetryable: 1, Unknown: 1, Pending: 5},
		Transitions: []reports.Transition{
			{IdempotencyKey: "v1:5f3a9c00317be2d41c0a86e19b", From: "unknown", To: "succeeded", ReasonCode: "confirmed"},
		},
		Exceptions: reports.ExceptionCounts{Opened: 2, StillOpen: 6, AutoResolved: 4, ByKind: map[string]int{
			"duplicate_effect": 1, "amount_mismatch": 2, "absent_needs_decision": 1, "coverage_gap": 1, "unjournaled_effect": 1, "pending_too_long": 1, "never_claimed": 1,
		}},
		LostRaces: 1,
	}
}

func richExceptions() []reports.Exception {
	twice := operation(1, "succeeded", 12500000, "RUB")
	amount := operation(2, "unknown", 4999, "EUR")
	dinar := operation(3, "unknown", 1250500, "KWD")
	gone := operation(4, "unknown", 88000, "RUB")
	gone.AttemptCount = 2
	pending := operation(5, "executing", 350000, "JPY")
	never := operation(6, "planned", 0, "")
	never.HasAmount, never.ActionType, never.LastAttemptAt, never.AttemptCount = false, "email.send", time.Time{}, 0
	never.BusinessReference = ""
	second := record(twice, "AC-2026-778814", 1207)
	second.OccurredAt = at(10, 8, 47)
	off := record(amount, "1234567890123456789", 88)
	off.AmountMinor = 49990
	replaced := record(amount, "1234567890123456789", 61)
	replaced.Statement, replaced.Replaced = "acme-2026-07-01_2026-07-10.csv", true
	part := record(dinar, "000123", 14)
	part.Source, part.Statement, part.AmountMinor = "kuwait-cards", "settlement_2026-07-12.csv", 1250000
	slow := record(pending, "JP-1", 9)
	slow.Status = "pending"
	return []reports.Exception{
		{
			ExceptionID: "01981f5e-0001", Kind: "duplicate_effect", Severity: "critical", State: "open", Source: "acme-bank",
			IdempotencyKey: twice.IdempotencyKey, AmountMinor: 12500000, HasAmount: true, Currency: "RUB",
			FirstSeenAt: at(14, 3, 15), LastSeenAt: at(14, 3, 15), New: true, Operation: &twice,
			Note:    "The provider shows two payments for one operation. Ask for the second one back and record the decision.",
			Records: []reports.Record{record(twice, "AC-2026-778801", 1194), second},
		},
		{
			ExceptionID: "01981f5e-0002", Kind: "amount_mismatch", Severity: "critical", State: "acknowledged", Source: "acme-bank",
			IdempotencyKey: amount.IdempotencyKey, AmountMinor: 44991, HasAmount: true, Currency: "EUR",
			FirstSeenAt: at(11, 3, 15), LastSeenAt: at(14, 3, 15), Assignee: "olga@finance.example", Operation: &amount,
			Note:    "Ordered 49.99 EUR, the provider booked 499.90 EUR. Have it corrected, or accept the difference.",
			Records: []reports.Record{off, replaced},
		},
		{
			ExceptionID: "01981f5e-0003", Kind: "amount_mismatch", Severity: "critical", State: "open", Source: "kuwait-cards",
			IdempotencyKey: dinar.IdempotencyKey, AmountMinor: 500, HasAmount: true, Currency: "KWD",
			FirstSeenAt: at(2, 3, 15), LastSeenAt: at(14, 3, 15), Operation: &dinar,
			Note:    "Ordered 1,250.500 KWD, the provider booked 1,250.000 KWD.",
			Records: []reports.Record{part},
		},
		{
			ExceptionID: "01981f5e-0004", Kind: "absent_needs_decision", Severity: "high", State: "open", Source: "acme-bank",
			IdempotencyKey: gone.IdempotencyKey, AmountMinor: 88000, HasAmount: true, Currency: "RUB",
			FirstSeenAt: at(6, 3, 15), LastSeenAt: at(14, 3, 15), Operation: &gone,
			Note: "Complete statements from 10 July to 13 July show nothing of it. Permit another attempt, or close it as failed.",
			Evidence: json.RawMessage(`{"reason_code": "absent_needs_decision", "window": {"from": "2026-07-10T08:04:00Z", "to": "2026-07-13T08:19:00Z"},
				"coverage": [{"source": "acme-bank", "account": "main", "proven": [{"from": "2026-06-30T21:00:00Z", "to": "2026-07-13T21:00:00Z"}],
					"assumed": [{"from": "2026-06-30T21:00:00Z", "to": "2026-07-13T21:00:00Z"}]}],
				"statements": [41, 42], "speaks_against": ["max_attempts is used up (2)", "the provider may have forgotten our key"]}`),
		},
		{
			ExceptionID: "01981f5e-0005", Kind: "unjournaled_effect", Severity: "high", State: "open", Source: "acme-bank",
			RecordKey: "9b1e", AmountMinor: 1999900, HasAmount: true, Currency: "RUB",
			FirstSeenAt: at(12, 3, 15), LastSeenAt: at(14, 3, 15),
			Note: "A payment with our reference has no operation: " + hostile,
			Records: []reports.Record{{
				Source: "acme-bank", Statement: "a\"><script>1</script>.csv", Line: 77, ProviderOperationID: "=1+1",
				BusinessReference: hostile, AmountMinor: 1999900, HasAmount: true, Currency: "RUB",
				Kind: "payment", Direction: "debit", Status: "succeeded", OccurredAt: at(9, 22, 30),
			}},
		},
		{
			ExceptionID: "01981f5e-0006", Kind: "coverage_gap", Severity: "medium", State: "open", Source: "acme-api",
			FirstSeenAt: at(7, 3, 15), LastSeenAt: at(14, 3, 15),
			Note:     "The listing of 5 July is missing between two accepted ones. Fetch it again.",
			Evidence: json.RawMessage(`{"account":"main","from":"2026-07-04T21:00:00Z","to":"2026-07-05T21:00:00Z"}`),
		},
		{
			ExceptionID: "01981f5e-0007", Kind: "pending_too_long", Severity: "medium", State: "open", Source: "acme-bank",
			IdempotencyKey: pending.IdempotencyKey, AmountMinor: 350000, HasAmount: true, Currency: "JPY",
			FirstSeenAt: time.Date(2026, time.May, 20, 3, 15, 0, 0, time.UTC), LastSeenAt: at(14, 3, 15), Operation: &pending,
			Records: []reports.Record{slow},
		},
		{
			ExceptionID: "01981f5e-0008", Kind: "never_claimed", Severity: "low", State: "open",
			IdempotencyKey: never.IdempotencyKey, FirstSeenAt: at(13, 20, 30), LastSeenAt: at(14, 3, 15), New: true, Operation: &never,
			Note: "Planned two days ago and never taken up. Check the workers of email.send.",
		},
	}
}

func richSettled() []reports.Settled {
	var out []reports.Settled
	for i, s := range []struct{ from, to, reason string }{
		{"unknown", "succeeded", "confirmed"},
		{"executing", "succeeded", "confirmed"},
		{"failed_retryable", "succeeded", "confirmed_before_retry"},
		{"unknown", "failed_final", "refused"},
		{"unknown", "failed_retryable", "absent"},
		{"executing", "unknown", "lease_expired"},
		{"unknown", "succeeded", "confirmed"},
	} {
		op := operation(31+i, s.to, int64(120000+i*31337), "RUB")
		settled := reports.Settled{
			Transition: reports.Transition{IdempotencyKey: op.IdempotencyKey, From: s.from, To: s.to, ReasonCode: s.reason},
			Operation:  op,
		}
		if s.to == "succeeded" || s.to == "failed_final" {
			settled.ProviderOperationID = fmt.Sprintf("AC-2026-77%04d", 9000+i)
			settled.Statement, settled.Line = "acme-2026-07-01_2026-07-13.csv", 200+i
		}
		out = append(out, settled)
	}
	return out
}

func richWaiting() []reports.Waiting {
	return []reports.Waiting{
		{Operation: operation(50, "unknown", 61000, "RUB"), ReasonCode: "coverage_gap", ProvableAt: at(12, 7, 32)},
		{Operation: operation(51, "unknown", 730000, "RUB"), ReasonCode: "not_yet_provable", ProvableAt: at(14, 21, 0)},
		{Operation: operation(52, "unknown", 15000, "RUB"), ReasonCode: "not_yet_provable", ProvableAt: at(15, 6, 20)},
		{Operation: operation(53, "executing", 15000, "EUR"), ReasonCode: "pending", ProvableAt: at(15, 6, 30)},
		{Operation: operation(54, "unknown", 990, "RUB"), ReasonCode: "refused_not_final", ProvableAt: at(17, 6, 30)},
		{Operation: operation(55, "unknown", 125000, "RUB"), ReasonCode: "not_yet_provable"},
	}
}

func richStatements() []reports.Statement {
	return []reports.Statement{
		{
			StatementID: 42, Source: "acme-bank", Account: "main", Name: "acme-2026-07-01_2026-07-13.csv", State: "accepted",
			Complete: true, EndProof: "footer", From: at(1, 0, 0).Add(-3 * time.Hour), To: at(14, 0, 0).Add(-3 * time.Hour), AsOf: at(14, 2, 5),
			RecordCount: 1204, DeclaredCount: ptr(int64(1204)), ComputedCount: ptr(int64(1204)),
			DeclaredSumMinor: ptr(int64(98765432100)), ComputedSumMinor: ptr(int64(98765432100)), Currency: "RUB",
			SHA256: "3f1a9c7be2d41c0a86e19b5f3a9c7be2d41c0a86e19b5f3a9c7be2d41c0a86e1", InThisRun: true,
		},
		{
			StatementID: 41, Source: "acme-api", Account: "main", Name: "listing 2026-07-14T02:40Z", State: "accepted",
			Complete: true, EndProof: "listing_end", From: at(6, 0, 0).Add(-3 * time.Hour), To: at(14, 2, 40), AsOf: at(14, 2, 40),
			RecordCount: 812, SHA256: "77be2d41c0a86e19b5f3a9c7be2d41c0a86e19b5f3a9c7be2d41c0a86e13f1a9", InThisRun: true,
		},
		{
			StatementID: 40, Source: "kuwait-cards", Account: "card-settlement", Name: "settlement_2026-07-12.csv", State: "accepted",
			From: at(11, 21, 0), To: at(12, 21, 0), AsOf: at(13, 5, 0),
			RecordCount: 318, RejectCount: 3, DeclaredCount: ptr(int64(321)), ComputedCount: ptr(int64(321)),
			SHA256: "c0a86e19b5f3a9c7be2d41c0a86e19b5f3a9c7be2d41c0a86e13f1a977be2d41",
			Rejects: []reports.Reject{
				{Line: 18, Field: "amount", Reason: `"1.23E+15" is not an amount: a spreadsheet has damaged it`},
				{Line: 204, Field: "status", Reason: `"Held" is not in status.map`},
				{Line: 205, Field: "occurred_at", Reason: `"31.02.2026" is no date`},
			},
		},
		{
			StatementID: 39, Source: "kuwait-cards", Account: "card-settlement", Name: "settlement_2026-07-11.csv", State: "quarantined",
			From: at(10, 21, 0), To: at(11, 21, 0), AsOf: at(12, 5, 0), RecordCount: 300,
			DeclaredCount: ptr(int64(301)), ComputedCount: ptr(int64(300)),
			DeclaredSumMinor: ptr(int64(45120250)), ComputedSumMinor: ptr(int64(45000250)), Currency: "KWD",
			SHA256: "e19b5f3a9c7be2d41c0a86e19b5f3a9c7be2d41c0a86e13f1a977be2d41c0a86",
			Reason: "The footer declares 301 rows and 45,120.250 KWD; the file holds 300 rows and 45,000.250 KWD.",
		},
	}
}

// quiet is a report of a run with nothing to tell.
func quiet(tb testing.TB) reports.Report {
	tb.Helper()
	r := rich(tb)
	r.Summary.Verdict, r.Summary.LostRaces = "reconciled", 0
	r.Summary.Exceptions = reports.ExceptionCounts{}
	r.Summary.Transitions, r.Summary.Coverage = nil, nil
	r.Exceptions, r.Settled, r.Waiting = nil, nil, nil
	r.Statements, r.Coverage = r.Statements[:2], r.Coverage[:1]
	return r
}

// incomplete is a rehearsal that could not see everything.
func incomplete(tb testing.TB) reports.Report {
	tb.Helper()
	r := rich(tb)
	r.Summary.Verdict, r.Summary.DryRun, r.Summary.RunID = "incomplete", true, ""
	r.Summary.Statements.Quarantined, r.Summary.Records.Rejected = 1, 3
	r.Summary.Incomplete = []string{
		"settlement_2026-07-11.csv of kuwait-cards is in quarantine: the footer declares 301 rows, the file holds 300.",
		"settlement_2026-07-12.csv of kuwait-cards has 3 rows that could not be read.",
	}
	r.Exceptions = r.Exceptions[3:]
	r.Settled, r.Waiting = nil, nil
	return r
}
