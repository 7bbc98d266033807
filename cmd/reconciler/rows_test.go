package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// rowsSource is one source of rowsConfig; every %s is its name, which is its
// provider too. All sources write the same columns.
const rowsSource = `  %[1]s:
    accounts: [main%[2]s]
    location: statements/%[1]s-*.csv
    format: csv
    timezone: UTC
    fields:
      account: {column: acc}
      provider_operation_id: {column: id}
      idempotency_key: {column: key}
      business_reference: {column: ref%[3]s}
      amount: {column: amount}
      currency: {column: cur}
      direction: {column: dir, map: {D: debit, C: credit}}
      kind: {column: kind, map: {pay: payment, refund: refund, fee: fee, mail: message, back: chargeback}}
      status: {column: status, map: {ok: succeeded, wait: pending, no: failed, no-funds: failed, undone: reversed}}
      related_id: {column: rel}
      occurred_at: {column: at%[4]s}
%[5]s    completeness:
      period: {pattern: '%[1]s-(?P<from>\d{4}-\d{2}-\d{2})_(?P<to>\d{4}-\d{2}-\d{2})'}
      %[6]s
    settlement_lag: 24h
`

const rowsPolicies = `policies:
  pay: {class: financial, sources: [acme, day, text, book, soft, gap, mute], effect: {kind: payment, direction: debit}, key_ttl: 24h}
  fail: {class: financial, sources: [acme, day, text, book, soft, gap, mute], effect: {kind: payment, direction: debit}, on_absent: fail, key_ttl: 24h}
  retry: {class: financial, sources: [acme, soft], effect: {kind: payment, direction: debit}, on_absent: retry, key_ttl: 25d, max_attempts: 3}
  short: {class: financial, sources: [acme], effect: {kind: payment, direction: debit}, on_absent: retry, key_ttl: 24h}
  loose: {class: financial, sources: [acme], effect: {kind: payment, direction: debit}, on_absent: fail, key_ttl: 25d, tolerance: {absolute: "0.05"}, safe_refusals: [no-funds]}
  two: {class: financial, sources: [acme, day], effect: {kind: payment, direction: debit}, on_absent: fail, key_ttl: 24h}
  mail: {class: irreversible, sources: [acme], effect: {kind: message}, sender_deadline: enforced}
  lax: {class: irreversible, sources: [acme], effect: {kind: message}}
  idem: {class: idempotent, sources: [acme], effect: {kind: payment}, on_absent: retry, retry_needs: key, key_ttl: 24h}
jobs:
  all: {action_types: [pay, fail, retry, short, loose, two, mail, lax, idem], sources: [acme, day, text, book, soft, gap, mute]}
`

func rowsConfig() string {
	const proven = `footer: {match: "^Total", count: id}`
	var b strings.Builder
	b.WriteString("database: {url: \"${DATABASE_URL}\"}\ndata_dir: data\nsources:\n")
	for _, s := range [][6]string{
		{"acme", ", savings", "", "", "", proven + "\n    unjournaled: {pattern: \"^ORD-\", grace: 24h}"},
		{"day", "", ", fold: {case: true, punctuation: true}", `, layout: "02.01.2006"`, "", proven},
		{"text", "", `, extract: "ORD-[0-9]+"`, "", "", proven},
		{"book", "", "", "", "      booked_at: {column: at}\n", proven + "\n    dated_by: booked"},
		{"soft", "", "", "", "", "end: assumed"},
		{"gap", "", "", "", "", proven},
		{"mute", "", "", "", "", proven},
	} {
		fmt.Fprintf(&b, rowsSource, s[0], s[1], s[2], s[3], s[4], s[5])
	}
	return b.String() + rowsPolicies
}

// shown is one line of a statement. What is empty is that of the operation:
// its provider as source, its account, reference, amount and currency; a
// payment, out, done, a minute after the operation was written.
type shown struct {
	src, acc, id, key, ref, cur, dir, kind, status, rel string
	minor                                               int64
	at                                                  time.Duration
}

// decisionRow is one operation, what its provider shows of it, and what a run
// must make of it.
type decisionRow struct {
	name, action string
	// The operation: unknown, one attempt, at acme, account main, unless said.
	// none stands for NULL. ago is how long ago it was written (default ten
	// days), lease when its lease ends and worker when it was last written,
	// both after it was written (default one minute).
	status, provider, account, ref, cur, id string
	attempts                                int
	minor                                   int64
	ago, lease, worker                      time.Duration
	notBefore, notAfter                     time.Duration
	shows                                   []shown
	// What must be: the status, the reason code of the conclusion, that of the
	// event (empty for no event), the cases as "kind severity", the columns of
	// operation_status.
	to, reason, event, cases, outcome string
	retry, provable                   bool
}

const none = "none"

const (
	minute = time.Minute
	hour   = time.Hour
	dayLen = 24 * time.Hour
)

func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

func orNull(value, otherwise string) any {
	if value = or(value, otherwise); value != none {
		return value
	}
	return nil
}

// rowsCase is a deployment that holds decision rows.
type rowsCase struct {
	*harness
	// now is when the statements were produced; records go up to it.
	now   time.Time
	lines map[string][]string
}

func newRowsCase(t *testing.T, config string) *rowsCase {
	t.Helper()
	h := newHarness(t)
	h.writeConfig(config)
	return &rowsCase{harness: h, now: time.Now().UTC().Truncate(time.Second), lines: map[string][]string{}}
}

// put inserts the operation of the n-th row, and notes what is shown of it.
func (c *rowsCase) put(n int, r *decisionRow) {
	c.tb.Helper()
	r.minor, r.ref = or(r.minor, int64(10_000+100*n)), or(r.ref, fmt.Sprintf("ORD-%d", 1000+n))
	r.provider, r.account, r.cur, r.ago = or(r.provider, "acme"), or(r.account, "main"), or(r.cur, "EUR"), or(r.ago, 10*dayLen)
	created := c.now.Add(-r.ago)
	for _, s := range r.shows {
		src := or(s.src, r.provider)
		layout := time.RFC3339Nano
		if src == "day" {
			layout = "02.01.2006"
		}
		minor := or(s.minor, r.minor)
		c.lines[src] = append(c.lines[src], strings.Join([]string{
			or(s.acc, strings.Replace(r.account, none, "main", 1)), s.id, s.key, or(s.ref, r.ref), fmt.Sprintf("%d.%02d", minor/100, minor%100), or(s.cur, r.cur),
			or(s.dir, "D"), or(s.kind, "pay"), or(s.status, "ok"), s.rel, created.Add(or(s.at, minute)).Format(layout),
		}, ","))
	}
	if r.action == "" {
		return
	}
	at := func(after time.Duration) any { return created.Add(after) }
	var before, after, amount any
	if r.notBefore != 0 {
		before = c.now.Add(r.notBefore)
	}
	if r.notAfter != 0 {
		after = c.now.Add(r.notAfter)
	}
	if r.minor > 0 {
		amount = r.minor
	}
	c.sql(`INSERT INTO agent_operations (idempotency_key, action_type, workflow_id, payload_hash, status, attempt_count, provider, account,
		       business_reference, provider_operation_id, amount_minor, currency, created_at, updated_at, lease_until, first_attempt_at, last_attempt_at,
		       retry_not_before, retry_not_after)
		VALUES ($1, $2, 'W', $1, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, CASE WHEN $4 > 0 THEN $11::timestamptz END,
		        CASE WHEN $4 > 0 THEN $11::timestamptz END, $14, $15)`,
		r.name, r.action, or(r.status, "unknown"), max(or(r.attempts, 1), 0), orNull(r.provider, ""), orNull(r.account, ""), orNull(r.ref, ""),
		orNull(r.id, none), amount, orNull(r.cur, ""), created, at(or(r.worker, minute)), at(or(r.lease, minute)), before, after)
}

// deliver writes the statements of all sources: the forty days up to now, as
// of now less a day, so that all but the last two days are covered.
func (c *rowsCase) deliver(version int) {
	c.tb.Helper()
	from, to := c.now.AddDate(0, 0, -40).Format(time.DateOnly), c.now.Format(time.DateOnly)
	for _, src := range []string{"acme", "day", "text", "book", "soft"} {
		if src == "soft" && len(c.lines[src]) == 0 {
			continue // without a footer an empty one proves nothing
		}
		c.statement(src, from, to, c.now.Add(time.Duration(version)*time.Second))
	}
	// A hole of two days, ten days ago.
	c.statement("gap", from, c.now.AddDate(0, 0, -11).Format(time.DateOnly), c.now)
	c.statement("gap", c.now.AddDate(0, 0, -8).Format(time.DateOnly), to, c.now)
}

func (c *rowsCase) statement(src, from, to string, at time.Time) {
	c.tb.Helper()
	text := "acc,id,key,ref,amount,cur,dir,kind,status,rel,at\n"
	for _, line := range c.lines[src] {
		text += line + "\n"
	}
	if src != "soft" {
		text += fmt.Sprintf("Total,%d,,,,,,,,,\n", len(c.lines[src]))
	}
	c.writeStatement(src+"-"+from+"_"+to+".csv", text, at)
}

// check compares what a run made of a row with what it must.
func (c *rowsCase) check(t *testing.T, r decisionRow) {
	t.Helper()
	const columns = `
		SELECT concat_ws(' | ', o.status, s.reason_code, coalesce((SELECT reason_code FROM agent_operation_events e
		           WHERE e.idempotency_key = o.idempotency_key AND actor_kind = 'reconciler' ORDER BY event_id DESC LIMIT 1), '-'),
		       coalesce((SELECT string_agg(kind || ' ' || severity, ', ' ORDER BY kind) FROM reconciler.exceptions x
		           WHERE x.idempotency_key = o.idempotency_key AND state = 'open'), '-'),
		       s.outcome, CASE WHEN s.may_retry THEN 'may retry' ELSE '-' END, CASE WHEN s.provable_at IS NULL THEN '-' ELSE 'provable' END)
		  FROM agent_operations o JOIN reconciler.operation_status s USING (idempotency_key) WHERE o.idempotency_key = $1`
	word := map[bool]map[string]string{true: {"retry": "may retry", "provable": "provable"}, false: {"retry": "-", "provable": "-"}}
	want := strings.Join([]string{
		or(r.to, or(r.status, "unknown")), r.reason, or(r.event, "-"), or(r.cases, "-"), or(r.outcome, "uncertain"), word[r.retry]["retry"], word[r.provable]["provable"],
	}, " | ")
	if diff := cmp.Diff(want, c.text(columns, r.name)); diff != "" {
		t.Errorf("status | reason | event | cases | outcome | retry | provable (-want +got):\n%s%s", diff, c.text(
			`SELECT string_agg(note, E'\n') FROM reconciler.exceptions WHERE idempotency_key = $1`, r.name))
	}
}

// decisionRows are the rows of the decision table as whole runs.
func decisionRows() []decisionRow {
	refused := []shown{{status: "no"}}
	return slices.Concat([]decisionRow{
		// One effect that agrees.
		{name: "confirmed", action: "pay", shows: []shown{{id: "c1"}}, to: "succeeded", reason: "confirmed", event: "confirmed", outcome: "effect"},
		{name: "confirmed, executing", action: "pay", status: "executing", shows: []shown{{}}, to: "succeeded", reason: "confirmed", event: "confirmed", outcome: "effect"},
		{name: "confirmed before it is covered", action: "pay", ago: 2 * hour, shows: []shown{{}}, to: "succeeded", reason: "confirmed", event: "confirmed", outcome: "effect"},
		{name: "confirmed by an echoed key", action: "pay", shows: []shown{{ref: "X-1", key: "confirmed by an echoed key"}}, to: "succeeded", reason: "confirmed", event: "confirmed", outcome: "effect"},
		{name: "confirmed by the provider's id", action: "pay", id: "p-77", shows: []shown{{ref: "X-2", id: "p-77"}}, to: "succeeded", reason: "confirmed", event: "confirmed", outcome: "effect"},
		{name: "named-by-its-key", action: "pay", ref: none, shows: []shown{{ref: "named-by-its-key"}}, to: "succeeded", reason: "confirmed", event: "confirmed", outcome: "effect"},
		{name: "confirmed within the tolerance", action: "loose", minor: 50_000, shows: []shown{{minor: 49_995}}, to: "succeeded", reason: "confirmed", event: "confirmed", outcome: "effect"},
		{name: "parts that add up", action: "pay", minor: 10_000, shows: []shown{{id: "a1", minor: 6_000}, {id: "a2", minor: 4_000}}, to: "succeeded", reason: "confirmed", event: "confirmed", outcome: "effect"},
		{name: "an effect and a refusal", action: "pay", shows: []shown{{id: "b1", status: "no"}, {id: "b2"}}, to: "succeeded", reason: "confirmed", event: "confirmed", outcome: "effect"},
		{name: "an effect and a fee", action: "pay", shows: []shown{{id: "b3"}, {id: "b4", kind: "fee", minor: 30}}, to: "succeeded", reason: "confirmed", event: "confirmed", outcome: "effect"},
		{name: "planned and done", action: "pay", status: "planned", attempts: -1, shows: []shown{{}}, to: "succeeded", reason: "confirmed_before_retry", event: "confirmed_before_retry", outcome: "effect"},
		{name: "retryable and done", action: "pay", status: "failed_retryable", shows: []shown{{}}, to: "succeeded", reason: "confirmed_before_retry", event: "confirmed_before_retry", outcome: "effect"},
		{name: "succeeded and agrees", action: "pay", status: "succeeded", shows: []shown{{}}, reason: "settled", outcome: "effect"},
		{name: "a message without money", action: "mail", minor: -1, cur: none, shows: []shown{{kind: "mail", minor: 1, cur: "EUR"}}, to: "succeeded", reason: "confirmed", event: "confirmed", outcome: "effect"},
		// One effect that does not.
		{name: "another amount", action: "pay", shows: []shown{{minor: 77_777}}, reason: "amount_mismatch", cases: "amount_mismatch critical", outcome: "disputed"},
		{name: "another amount, executing", action: "pay", status: "executing", shows: []shown{{minor: 77_778}}, to: "unknown", reason: "amount_mismatch", event: "lease_expired", cases: "amount_mismatch critical", outcome: "disputed"},
		{name: "another amount, planned", action: "pay", status: "planned", attempts: -1, shows: []shown{{minor: 77_779}}, to: "unknown", reason: "amount_mismatch", event: "amount_mismatch", cases: "amount_mismatch critical", outcome: "disputed"},
		{name: "past the tolerance", action: "loose", minor: 50_100, shows: []shown{{minor: 50_094}}, reason: "amount_mismatch", cases: "amount_mismatch critical", outcome: "disputed"},
		{name: "another currency", action: "pay", shows: []shown{{cur: "USD"}}, reason: "currency_mismatch", cases: "currency_mismatch critical", outcome: "disputed"},
		{name: "no amount in the journal", action: "pay", minor: -1, shows: []shown{{minor: 5_000}}, reason: "amount_unknown", cases: "amount_unknown high", outcome: "disputed"},
		{name: "parts below", action: "pay", minor: 10_000, shows: []shown{{id: "a3", minor: 6_000}, {id: "a4", minor: 3_000}}, reason: "partial_effect", cases: "partial_effect high", outcome: "disputed"},
		{name: "twice", action: "pay", shows: []shown{{id: "d2", at: 5 * minute}, {id: "d1"}}, to: "succeeded", reason: "duplicate_effect", event: "duplicate_effect", cases: "duplicate_effect critical", outcome: "disputed"},
		{name: "twice, planned", action: "pay", status: "planned", attempts: -1, shows: []shown{{id: "d3"}, {id: "d4"}}, to: "succeeded", reason: "duplicate_effect", event: "duplicate_effect", cases: "duplicate_effect critical", outcome: "disputed"},
		{name: "twice after success", action: "pay", status: "succeeded", shows: []shown{{id: "d5"}, {id: "d6"}}, reason: "duplicate_effect", cases: "duplicate_effect critical", outcome: "disputed"},
		{name: "twice and none agrees", action: "pay", minor: 10_000, shows: []shown{{id: "d7", minor: 60_00}, {id: "d8", minor: 61_00}}, reason: "duplicate_effect", cases: "duplicate_effect critical", outcome: "disputed"},
		{name: "twice and one given back", action: "pay", shows: []shown{{id: "d9"}, {id: "e1"}, {id: "e2", kind: "refund", dir: "C", rel: "e1"}}, to: "succeeded", reason: "confirmed", event: "confirmed", outcome: "effect"},
		{name: "at two providers", action: "two", provider: none, account: none, shows: []shown{{src: "acme", id: "f1"}, {src: "day", id: "f2"}}, to: "succeeded", reason: "duplicate_effect", event: "duplicate_effect", cases: "duplicate_effect critical", outcome: "disputed"},
		{name: "given back by status", action: "pay", shows: []shown{{status: "undone"}}, to: "succeeded", reason: "reversed_at_provider", event: "reversed_at_provider", cases: "reversed_at_provider high", outcome: "reversed"},
		{name: "given back by a refund", action: "pay", shows: []shown{{id: "g1"}, {id: "g2", kind: "refund", dir: "C", rel: "g1", at: hour}}, to: "succeeded", reason: "reversed_at_provider", event: "reversed_at_provider", cases: "reversed_at_provider high", outcome: "reversed"},
		{name: "given back after success", action: "pay", status: "succeeded", shows: []shown{{status: "undone"}}, reason: "reversed_at_provider", cases: "reversed_at_provider high", outcome: "reversed"},
		{name: "an effect after failure", action: "pay", status: "failed_final", shows: []shown{{}}, reason: "effect_after_failure", cases: "effect_after_failure critical", outcome: "disputed"},
		// Refusals.
		{name: "refused", action: "pay", shows: refused, to: "failed_final", reason: "refused", event: "refused", outcome: "no_effect"},
		{name: "refused, not covered", action: "pay", ago: 2 * hour, shows: refused, reason: "refused_not_final", provable: true},
		{name: "refused, executing, not covered", action: "pay", status: "executing", ago: 2 * hour, shows: refused, to: "unknown", reason: "refused_not_final", event: "lease_expired", provable: true},
		{name: "refused, the end assumed", action: "pay", provider: "soft", shows: refused, reason: "refused", cases: "refused high"},
		{name: "refused and safe", action: "loose", shows: []shown{{status: "no-funds"}}, to: "failed_retryable", reason: "refused", event: "refused", outcome: "no_effect", retry: true},
		{name: "refused and not safe", action: "loose", shows: refused, to: "failed_final", reason: "refused", event: "refused", outcome: "no_effect"},
		{name: "refused after success", action: "pay", status: "succeeded", shows: refused, reason: "refused_after_success", cases: "refused_after_success critical", outcome: "disputed"},
		// Somebody is at it, or may be.
		{name: "a live lease", action: "pay", status: "executing", ago: 20 * minute, lease: hour, shows: []shown{{}}, reason: "in_progress"},
		{name: "a lease held too long", action: "pay", status: "executing", ago: 3 * hour, lease: 4 * hour, reason: "lease_overheld", cases: "lease_overheld high"},
		{name: "planned", action: "pay", status: "planned", attempts: -1, ago: 2 * hour, reason: "waiting", outcome: "not_tried", retry: true},
		{name: "planned too long", action: "pay", status: "planned", attempts: -1, ago: 3 * dayLen, reason: "never_claimed", cases: "never_claimed medium", outcome: "not_tried", retry: true},
		{name: "retryable", action: "pay", status: "failed_retryable", reason: "waiting", retry: true},
		{name: "retryable and refused", action: "pay", status: "failed_retryable", shows: refused, reason: "waiting", retry: true},
		{name: "retryable, not yet", action: "pay", status: "failed_retryable", notBefore: hour, reason: "waiting"},
		{name: "retryable, no more", action: "pay", status: "failed_retryable", notAfter: -hour, to: "unknown", reason: "absent", event: "absent", cases: "absent_needs_decision high", outcome: "no_effect"},
		{name: "pending", action: "pay", ago: 2 * dayLen, shows: []shown{{status: "wait"}}, reason: "pending", outcome: "pending"},
		{name: "pending, planned", action: "pay", status: "planned", attempts: -1, ago: 2 * dayLen, shows: []shown{{status: "wait"}}, to: "unknown", reason: "pending", event: "pending", outcome: "pending"},
		{name: "pending and refused", action: "pay", ago: 2 * dayLen, shows: []shown{{id: "h1", status: "wait"}, {id: "h2", status: "no"}}, reason: "pending", outcome: "pending"},
		{name: "pending too long", action: "pay", shows: []shown{{status: "wait"}}, reason: "pending_too_long", cases: "pending_too_long high", outcome: "pending"},
		{name: "failed and nothing", action: "pay", status: "failed_final", reason: "settled", outcome: "no_effect"},
	}, absenceRows())
}

// absenceRows are those in which the provider shows nothing.
func absenceRows() []decisionRow {
	const review = "absent_needs_decision high"
	return []decisionRow{
		{name: "absent, reviewed", action: "pay", reason: "absent", cases: review, outcome: "no_effect"},
		{name: "absent, executing", action: "pay", status: "executing", to: "unknown", reason: "absent", event: "absent", cases: review, outcome: "no_effect"},
		{name: "absent, failed", action: "fail", to: "failed_final", reason: "absent", event: "absent", outcome: "no_effect"},
		{name: "absent, executing, failed", action: "fail", status: "executing", to: "failed_final", reason: "absent", event: "absent", outcome: "no_effect"},
		{name: "absent, retried", action: "retry", to: "failed_retryable", reason: "absent", event: "absent", outcome: "no_effect", retry: true},
		{name: "absent, the key forgotten", action: "short", reason: "absent", cases: review},
		{name: "absent, attempts used up", action: "retry", attempts: 3, reason: "absent", cases: review},
		{name: "absent, attempts left", action: "retry", attempts: 2, to: "failed_retryable", reason: "absent", event: "absent", outcome: "no_effect", retry: true},
		{name: "absent, too old", action: "fail", ago: 31 * dayLen, reason: "absent", cases: review},
		{name: "absent mail, writers stop", action: "mail", to: "failed_retryable", reason: "absent", event: "absent", outcome: "no_effect", retry: true},
		{name: "absent mail, writers may go on", action: "lax", reason: "absent", cases: "absent_needs_decision medium"},
		{name: "absent, the end assumed", action: "fail", provider: "soft", reason: "absent", cases: review},
		{name: "absent, retried, the end assumed", action: "retry", provider: "soft", reason: "absent", cases: review},
		{name: "absent, but a fee", action: "fail", shows: []shown{{kind: "fee", minor: 30}}, reason: "absent", cases: review},
		{name: "absent, but on another account", action: "fail", minor: 44_401, shows: []shown{{acc: "savings"}}, reason: "absent", cases: review},
		{name: "absent, but of the same amount", action: "fail", minor: 123_456, shows: []shown{{ref: "X-9"}}, reason: "absent", cases: review},
		{name: "absent, but something without reference", action: "fail", account: "savings", ago: 12 * dayLen, shows: []shown{{ref: "NOTPROVIDED", minor: 99_999}}, reason: "absent", cases: review},
		{name: "absent, its record is of before", action: "fail", ago: 11 * dayLen, shows: []shown{{at: -5*minute - time.Microsecond}}, reason: "absent", cases: review},
		{name: "a record at the window's first instant", action: "fail", ago: 11 * dayLen, shows: []shown{{at: -5 * minute}}, to: "succeeded", reason: "confirmed", event: "confirmed", outcome: "effect"},
		{name: "succeeded and missing", action: "pay", status: "succeeded", reason: "missing_at_provider", cases: "missing_at_provider critical", outcome: "disputed"},
		{name: "succeeded and not covered", action: "pay", status: "succeeded", ago: 2 * hour, reason: "not_yet_provable", outcome: "effect", provable: true},
		// The edge of coverage: window and lag end where it ends, and a microsecond later.
		{name: "covered to the end", action: "fail", ago: 3 * dayLen, worker: dayLen - 20*minute, to: "failed_final", reason: "absent", event: "absent", outcome: "no_effect"},
		{name: "a microsecond too early", action: "fail", ago: 3 * dayLen, worker: dayLen - 20*minute + time.Microsecond, reason: "not_yet_provable", provable: true},
		{name: "a lease moves the window", action: "fail", ago: 3 * dayLen, lease: dayLen - 20*minute + time.Microsecond, reason: "not_yet_provable", provable: true},
		{name: "dated by booking, covered to the end", action: "fail", provider: "book", ago: 3 * dayLen, worker: dayLen - 20*minute, to: "failed_final", reason: "absent", event: "absent", outcome: "no_effect"},
		{name: "dated by booking, a microsecond too early", action: "fail", provider: "book", ago: 3 * dayLen, worker: dayLen - 20*minute + time.Microsecond, reason: "not_yet_provable", provable: true},
		// Not provable.
		{name: "not yet", action: "fail", ago: 2 * hour, reason: "not_yet_provable", provable: true},
		{name: "not yet, executing", action: "fail", status: "executing", ago: 2 * hour, to: "unknown", reason: "not_yet_provable", event: "lease_expired", provable: true},
		{name: "not yet, inside the grace", action: "fail", status: "executing", ago: 3 * minute, reason: "not_yet_provable", provable: true},
		{name: "without account, one not shown", action: "fail", provider: "ghost", ago: 2 * dayLen, reason: "not_yet_provable"},
		{name: "an account that nobody has", action: "fail", account: "third", ago: 2 * dayLen, reason: "not_yet_provable"},
		{name: "without provider, all must cover", action: "fail", provider: none, account: none, ago: 5 * dayLen, reason: "not_yet_provable", provable: true},
		{name: "without provider, all cover", action: "two", provider: none, account: none, to: "failed_final", reason: "absent", event: "absent", outcome: "no_effect"},
		{name: "a hole", action: "fail", provider: "gap", reason: "coverage_gap"},
		{name: "no hole there", action: "fail", provider: "gap", ago: 5 * dayLen, to: "failed_final", reason: "absent", event: "absent", outcome: "no_effect"},
		{name: "overdue", action: "fail", provider: "mute", ago: 20 * dayLen, reason: "unresolved_overdue", cases: "unresolved_overdue high", provable: true},
		{name: "not overdue", action: "fail", provider: "mute", reason: "not_yet_provable", provable: true},
		{name: "the key lives", action: "idem", ago: 2 * hour, to: "failed_retryable", reason: "permitted_by_key", event: "permitted_by_key", retry: true},
		{name: "the key is about to go", action: "idem", ago: dayLen - 25*minute, reason: "not_yet_provable", provable: true},
		{name: "the key just lives", action: "idem", ago: dayLen - 27*minute, to: "failed_retryable", reason: "permitted_by_key", event: "permitted_by_key", retry: true},
		{name: "the key lives but not for finance", action: "short", ago: 2 * hour, reason: "not_yet_provable", provable: true},
		// Days, folded and extracted references, ambiguity.
		{name: "of the same day", action: "fail", provider: "day", shows: []shown{{}}, to: "succeeded", reason: "confirmed", event: "confirmed", outcome: "effect"},
		{name: "of two days before", action: "fail", provider: "day", shows: []shown{{at: -2 * dayLen}}, reason: "absent", cases: review},
		{name: "folded", action: "fail", provider: "day", ref: "ab-Cd 7701", shows: []shown{{ref: "ABCD/7701"}}, to: "succeeded", reason: "confirmed", event: "confirmed", outcome: "effect"},
		{name: "folded, the first of two", action: "fail", provider: "day", ref: "xy-7702", shows: []shown{{ref: "XY7702"}}, reason: "ambiguous_reference", cases: "ambiguous_reference high"},
		{name: "folded, the second of two", action: "fail", provider: "day", ref: "XY 7702", reason: "ambiguous_reference", cases: "ambiguous_reference high"},
		{name: "to the byte is stronger than folded", action: "fail", provider: "day", ref: "zz-7703", shows: []shown{{ref: "zz-7703"}}, to: "succeeded", reason: "confirmed", event: "confirmed", outcome: "effect"},
		{name: "folded is weaker", action: "fail", provider: "day", ref: "ZZ7703", reason: "absent", cases: review},
		{name: "extracted", action: "fail", provider: "text", ref: "ORD-7710", shows: []shown{{ref: "invoice ORD-7710 of May"}}, to: "succeeded", reason: "confirmed", event: "confirmed", outcome: "effect"},
		{name: "extracted, two names in one text", action: "fail", provider: "text", ref: "ORD-7711", shows: []shown{{ref: "ORD-7711 and ORD-7712"}}, reason: "ambiguous_reference", cases: "ambiguous_reference high"},
		{name: "extracted, the other name", action: "fail", provider: "text", ref: "ORD-7712", reason: "ambiguous_reference", cases: "ambiguous_reference high"},
		{name: "extracted, not a part of a longer one", action: "fail", provider: "text", ref: "ORD-77", to: "failed_final", reason: "absent", event: "absent", outcome: "no_effect"},
		{name: "shared by two", action: "fail", ref: "ORD-S", shows: []shown{{}}, reason: "ambiguous_reference", cases: "ambiguous_reference high"},
		{name: "shared by two, planned", action: "pay", status: "planned", attempts: -1, ref: "ORD-S", to: "unknown", reason: "ambiguous_reference", event: "ambiguous_reference", cases: "ambiguous_reference high"},
		{name: "shared, but the id says whose", action: "fail", ref: "ORD-T", id: "t-1", shows: []shown{{id: "t-1"}}, to: "succeeded", reason: "confirmed", event: "confirmed", outcome: "effect"},
		{name: "shared, and the id says another's", action: "fail", ref: "ORD-T", reason: "absent", cases: review},
		// Not of the journal: one past its grace, one not, one of another pattern.
		{ref: "ORD-STRAY", minor: 33_301, shows: []shown{{}}},
		{ref: "ORD-YOUNG", minor: 33_302, ago: 2 * hour, shows: []shown{{}}},
		{ref: "OTHER-1", minor: 33_303, shows: []shown{{}}},
	}
}

// The decision table, from SQL and CSV to SQL: one journal, one run.
func TestDecisionRows(t *testing.T) { //nolint:tparallel // the parts share one connection
	t.Parallel()
	c := newRowsCase(t, rowsConfig())
	rows := decisionRows()
	for i := range rows {
		c.put(i, &rows[i])
	}
	c.deliver(0)
	c.must(codeDone, "run")
	before := c.endState()
	for _, r := range rows {
		if r.action != "" {
			t.Run(r.name, func(t *testing.T) { c.check(t, r) })
		}
	}
	const findings = `SELECT string_agg(concat_ws(' ', kind, severity, source, amount_minor, state), ', ' ORDER BY kind, amount_minor)
		FROM reconciler.exceptions WHERE idempotency_key IS NULL`
	if diff := cmp.Diff("coverage_gap medium gap open, unjournaled_effect high acme 33301 open, unjournaled_effect high acme 44401 open", c.text(findings)); diff != "" {
		t.Errorf("cases of no operation (-want +got):\n%s", diff)
	}
	if got := c.text(`SELECT provider_operation_id FROM agent_operations WHERE idempotency_key = 'twice'`); got != "d1" {
		t.Errorf("of two effects %q is taken for ours, want the earlier, d1", got)
	}
	// The second run finds its permits and waits for their use; from then on nothing moves.
	for n := range 2 { //nolint:paralleltest // the parts share one connection
		c.must(codeDone, "run")
		after := c.endState()
		if n == 0 {
			before["reconciler.operation_decisions"] = after["reconciler.operation_decisions"]
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("run %d changed (-before +after):\n%s", n+2, diff)
		}
	}
}

// claimed tries to claim an operation as writers of old do, with one UPDATE,
// and returns how many rows it changed.
func (c *rowsCase) claimed(key string) int64 {
	c.tb.Helper()
	tag, err := c.db.Exec(c.tb.Context(), `UPDATE agent_operations SET status = 'executing', attempt_count = attempt_count + 1, lease_until = now() - interval '1 second'
		WHERE idempotency_key = $1 AND status IN ('planned', 'failed_retryable')`, key)
	if err != nil {
		c.tb.Fatal(err)
	}
	return tag.RowsAffected()
}

// A permit from its beginning to its end: claimed inside its limits and not
// outside, used and then found to have happened before, or withdrawn.
func TestPermits(t *testing.T) { //nolint:tparallel // the parts share one connection
	t.Parallel()
	c := newRowsCase(t, rowsConfig())
	rows := []decisionRow{
		{name: "used", action: "retry"},
		{name: "idle", action: "retry"},
		{name: "late", action: "retry", status: "failed_retryable", notAfter: -hour},
		{name: "early", action: "retry", status: "failed_retryable", notBefore: hour},
	}
	for i := range rows {
		c.put(i, &rows[i])
	}
	for _, key := range []string{"late", "early"} {
		if n := c.claimed(key); n != 0 {
			t.Errorf("a claim of %q outside its limits changed %d rows, want 0", key, n)
		}
	}
	c.deliver(0)
	c.must(codeDone, "run")
	c.must(codeDone, "run") // what has run out is withdrawn first, and permitted anew then
	for _, key := range []string{"used", "idle", "late"} {
		if got := c.text(`SELECT status || ' ' || may_retry FROM reconciler.operation_status WHERE idempotency_key = $1`, key); got != "failed_retryable true" {
			t.Errorf("%q after the first run: %s, want failed_retryable true", key, got)
		}
	}
	if n := c.claimed("used"); n != 1 {
		t.Fatalf("a claim inside its limits changed %d rows, want 1", n)
	}

	// The corrected statements show that both had happened at once.
	for _, i := range []int{0, 1} {
		rows[i].shows = []shown{{id: "late-" + rows[i].name}}
	}
	for _, r := range rows[:2] {
		r.action = ""
		c.put(0, &r)
	}
	c.deliver(1)
	c.must(codeDone, "run")
	for _, want := range []decisionRow{ //nolint:paralleltest // the parts share one connection
		{name: "used", to: "succeeded", reason: "confirmed", event: "confirmed", outcome: "effect"},
		{name: "idle", to: "succeeded", reason: "confirmed_before_retry", event: "confirmed_before_retry", outcome: "effect"},
		{name: "late", to: "failed_retryable", reason: "waiting", event: "absent", retry: true},
		{name: "early", to: "failed_retryable", reason: "waiting"},
	} {
		t.Run(want.name, func(t *testing.T) { c.check(t, want) })
	}

	// A statement that can't be trusted takes the ground from under a permit.
	c.lines["acme"] = append(c.lines["acme"], "cut")
	c.deliver(2)
	c.must(codeIncomplete, "run")
	t.Run("late, withdrawn", func(t *testing.T) {
		c.check(t, decisionRow{
			name: "late", to: "unknown", reason: "evidence_changed", event: "evidence_changed", cases: "evidence_changed medium", provable: true,
		})
	})
	if n := c.claimed("late"); n != 0 {
		t.Errorf("a claim after the permit was withdrawn changed %d rows, want 0", n)
	}
}

// The kill switch: what would be permitted goes to a person.
func TestPermitsOff(t *testing.T) { //nolint:tparallel // the parts share one connection
	t.Parallel()
	c := newRowsCase(t, "permits: off\n"+rowsConfig())
	rows := []decisionRow{
		{name: "absent", action: "retry", reason: "absent", cases: "absent_needs_decision high"},
		{name: "absent mail", action: "mail", reason: "absent", cases: "absent_needs_decision medium"},
		{name: "by key", action: "idem", ago: 2 * hour, reason: "not_yet_provable", provable: true},
		{name: "refused and safe", action: "loose", shows: []shown{{status: "no-funds"}}, reason: "refused", cases: "refused high"},
		{name: "failing is no permit", action: "fail", to: "failed_final", reason: "absent", event: "absent", outcome: "no_effect"},
	}
	for i := range rows {
		c.put(i, &rows[i])
	}
	c.deliver(0)
	c.must(codeDone, "run")
	for _, r := range rows { //nolint:paralleltest // the parts share one connection
		t.Run(r.name, func(t *testing.T) { c.check(t, r) })
	}
}
