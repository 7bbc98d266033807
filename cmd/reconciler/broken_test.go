package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"reconciler/reports"
)

// brokenLayout is a statement of smallConfig's source with its amounts in the
// last column, so that a file that is cut short may end inside of one. AT
// stands for the time of its rows.
const brokenLayout = `id,ref,currency,dir,status,at,amount
P1,ORD-1,EUR,D,ok,AT,10.01
P2,ORD-2,EUR,D,ok,AT,20.02
P3,ORD-3,EUR,D,no,AT,30.03
Total,3,,,,,60.06
`

// mishap is one way in which a statement arrives broken.
type mishap struct {
	name string
	// damage makes the broken document out of the good one.
	damage func(good string) string
	// why are parts of the reason that the product must give: where it is, and
	// what to do about it.
	why []string
	// rejects: only the second row (line 3) can't be read, the rest counts.
	rejects bool
}

// swap replaces a part of the good document, which must be in it once.
func swap(old, with string) func(string) string {
	return func(good string) string {
		if strings.Count(good, old) != 1 {
			panic(fmt.Sprintf("%q is not once in the document", old))
		}
		return strings.Replace(good, old, with, 1)
	}
}

// cutAfter ends the document after a part of it.
func cutAfter(part string) func(string) string {
	return func(good string) string {
		i := strings.Index(good, part)
		if i < 0 {
			panic(fmt.Sprintf("%q is not in the document", part))
		}
		return good[:i+len(part)]
	}
}

func asUTF16(good string) string {
	var out []byte
	for _, unit := range utf16.Encode([]rune(good)) {
		out = append(out, byte(unit), byte(unit>>8))
	}
	return string(out)
}

func mishaps() []mishap {
	return []mishap{
		{name: "renamed header", damage: swap("ref,currency", "reference,currency"), why: []string{"line 1", `column "ref"`, "correct the mapping"}},
		{name: "repeated header", damage: swap("currency,dir", "ref,dir"), why: []string{"line 1", `"ref"`, "twice", "by its number"}},
		{name: "ragged row, short", damage: swap(",20.02", ""), why: []string{"line 3", "7 cells", "ask the provider"}},
		{name: "ragged row, long", damage: swap(",20.02", ",20,02"), why: []string{"line 3", "7 cells", "ask the provider"}},
		{name: "unclosed quote", damage: swap("ORD-2", `"ORD-2`), why: []string{"line 3", "quote"}},
		{name: "bare quote", damage: swap("ORD-2", `OR"D-2`), why: []string{"line 3", "quote"}},
		{name: "wrong encoding", damage: swap("ORD-2", "ORD-2\xfc"), why: []string{"line 3", "0xFC", "UTF-8", "csv.encoding"}},
		{name: "empty file", damage: func(string) string { return "" }, why: []string{"is empty", "fetch it again"}},
		{name: "header only", damage: cutAfter("amount\n"), why: []string{`no row matches the footer "^Total"`, "fetch the file again"}},
		{name: "cut at a line end", damage: cutAfter("30.03\n"), why: []string{`no row matches the footer "^Total"`, "fetch the file again"}},
		{name: "cut before the last line end", damage: cutAfter("30.03"), why: []string{`no row matches the footer "^Total"`, "fetch the file again"}},
		{name: "cut inside the footer", damage: cutAfter("Total,3,,,"), why: []string{"line 5", "column 7", "cut short"}},
		{name: "cut inside the footer's sum", damage: cutAfter("60.0"), why: []string{"line 5", "60.00", "60.06", "fetch it again"}},
		{name: "cut inside an amount", damage: cutAfter("20.0"), why: []string{`no row matches the footer "^Total"`, "fetch the file again"}},
		{name: "cut after an amount's units", damage: cutAfter("Z,10"), why: []string{`no row matches the footer "^Total"`, "fetch the file again"}},
		{name: "count off", damage: swap("Total,3", "Total,4"), why: []string{"line 5", "declares 4", "has 3", "fetch it again"}},
		{name: "sum off", damage: swap("60.06", "60.07"), why: []string{"line 5", "60.07", "60.06", "0.01", "fetch it again"}},
		{name: "a row is missing in the middle", damage: func(good string) string {
			lines := strings.SplitAfter(good, "\n")
			return strings.Join(slices.Delete(lines, 2, 3), "")
		}, why: []string{"line 4", "declares 3", "has 2", "fetch it again"}},
		{name: "two documents in one", damage: func(good string) string { return good + good }, why: []string{"line 6", "footer of line 5"}},
		{name: "month 13", damage: secondRow(func(at string) string { return at[:5] + "13" + at[7:] }), why: []string{"line 3", `column "at"`, "month", "occurred_at.layout"}},
		{name: "NUL byte", damage: swap("ORD-2", "ORD\x00-2"), rejects: true, why: []string{"line 3", "business_reference", "0x00"}},
		{name: "UTF-16 without its mark", damage: asUTF16, why: []string{"line 1"}},
		{name: "a page of HTML", damage: func(string) string { return "<html><body>503 Service Unavailable</body></html>\n" }, why: []string{"line 1", `column "id"`, "correct the mapping"}},
		{name: "impossible date", damage: secondRow(func(at string) string { return at[:5] + "02-30" + at[10:] }), rejects: true, why: []string{"line 3", "occurred_at", "does not exist in the calendar"}},
		{name: "implausible year", damage: secondRow(func(at string) string { return "0026" + at[4:] }), rejects: true, why: []string{"line 3", "occurred_at", "implausibly far away"}},
		{name: "unknown status word", damage: secondRow(func(at string) string { return at }, "ok", "done"), rejects: true, why: []string{"line 3", "status", `"done"`, "map"}},
		{name: "amount with 3 decimals", damage: swap("20.02", "20.020"), rejects: true, why: []string{"line 3", "amount", "20.020", "more decimals"}},
		{name: "amount of another notation", damage: swap("20.02", "1.02E1"), rejects: true, why: []string{"line 3", "amount", "1.02E1"}},
		{name: "empty amount", damage: swap("20.02", ""), rejects: true, why: []string{"line 3", "amount", "empty"}},
		{name: "unknown currency", damage: swap("ORD-2,EUR", "ORD-2,EUX"), rejects: true, why: []string{"line 3", "currency", `"EUX"`, "declare a map"}},
		{name: "unknown direction", damage: swap("ORD-2,EUR,D", "ORD-2,EUR,X"), rejects: true, why: []string{"line 3", "direction", `"X"`, "map"}},
	}
}

// secondRow changes the time of the second row or, if words are given, its
// status from one to the other.
func secondRow(change func(at string) string, words ...string) func(string) string {
	return func(good string) string {
		lines := strings.SplitAfter(good, "\n")
		cells := strings.Split(lines[2], ",")
		cells[5] = change(cells[5])
		if len(words) == 2 {
			cells[4] = strings.Replace(cells[4], words[0], words[1], 1)
		}
		lines[2] = strings.Join(cells, ",")
		return strings.Join(lines, "")
	}
}

// brokenSource is one source with its own journal, policy and job, to which one
// mishap happens.
type brokenSource struct {
	*harness
	// name of source, provider, action type and job.
	name string
	mishap
}

// brokenAt is when the operations and records of these tests happened.
func brokenAt() time.Time {
	return time.Now().UTC().AddDate(0, 0, -10).Truncate(24 * time.Hour).Add(10 * time.Hour)
}

// someMishaps are those after which a good statement is no longer the newest.
func someMishaps() []mishap {
	return slices.DeleteFunc(mishaps(), func(m mishap) bool {
		return !slices.Contains([]string{
			"renamed header", "ragged row, short", "empty file", "cut at a line end", "sum off", "month 13", "unknown status word",
		}, m.name)
	})
}

// brokenDeployment has a source of its own for every mishap.
func brokenDeployment(t *testing.T, mishaps []mishap) (*harness, []brokenSource) {
	t.Helper()
	h := newHarness(t)
	var all []brokenSource
	var srcs, policies, jobs strings.Builder
	base := strings.SplitAfter(smallConfig, "sources:\n")
	source, _, _ := strings.Cut(base[1], "policies:")
	for i, m := range mishaps {
		b := brokenSource{harness: h, name: fmt.Sprintf("m%02d", i), mishap: m}
		all = append(all, b)
		srcs.WriteString(strings.ReplaceAll(source, "acme", b.name))
		fmt.Fprintf(&policies, "  %s: {class: financial, sources: [%[1]s], effect: {kind: payment, direction: debit}, on_absent: fail, key_ttl: 24h}\n", b.name)
		fmt.Fprintf(&jobs, "  %s: {action_types: [%[1]s], sources: [%[1]s]}\n", b.name)
		for n, key := range []string{"paid", "second", "refused"} {
			b.journal(key, fmt.Sprintf("ORD-%d", n+1), int64(n+1)*1001)
		}
		b.journal("absent", "ORD-9", 9009)
	}
	h.writeConfig(base[0] + srcs.String() + "policies:\n" + policies.String() + "jobs:\n" + jobs.String())
	return h, all
}

// journal inserts an unknown operation of this source.
func (b *brokenSource) journal(key, reference string, cents int64) {
	b.tb.Helper()
	b.sql(`INSERT INTO agent_operations (idempotency_key, action_type, workflow_id, payload_hash, status, attempt_count, provider, account,
		       business_reference, amount_minor, currency, lease_until, created_at, updated_at)
		VALUES ($1 || '/' || $2, $1, 'W-1', $2, 'unknown', 1, $1, 'main', $3, $4, 'EUR', $5, $5, $5)`, b.name, key, reference, cents, brokenAt())
}

// deliver writes the source's n-th delivery, a day of brokenAt, under a name
// that ends in suffix.
func (b *brokenSource) deliver(n int, suffix, text string) {
	b.tb.Helper()
	day := brokenAt().Format(time.DateOnly)
	b.writeStatement(b.name+"-"+day+"_"+day+suffix+".csv", text, brokenAt().AddDate(0, 0, 7).Add(time.Duration(n)*time.Hour))
}

func goodStatement() string {
	return strings.ReplaceAll(brokenLayout, "AT", brokenAt().Add(time.Minute).Format(time.RFC3339))
}

// statuses are those of the source's operations, with the reason of the last move.
func (b *brokenSource) statuses() string {
	b.tb.Helper()
	return b.text(`SELECT string_agg(split_part(o.idempotency_key, '/', 2) || ' ' || o.status || coalesce(' ' || (SELECT e.reason_code
		  FROM agent_operation_events e WHERE e.idempotency_key = o.idempotency_key ORDER BY event_id DESC LIMIT 1), ''), ', ' ORDER BY o.idempotency_key)
		FROM agent_operations o WHERE action_type = $1`, b.name)
}

// cases are the source's exceptions, those of its operations included.
func (b *brokenSource) cases() string {
	b.tb.Helper()
	return b.text(`SELECT string_agg(concat_ws(' ', kind, split_part(idempotency_key, '/', 2), state), ', ' ORDER BY kind, idempotency_key, state)
		FROM reconciler.exceptions WHERE source = $1 OR action_type = $1`, b.name)
}

// statement is the state of the newest statement, with what is wrong with it.
func (b *brokenSource) statement() string {
	b.tb.Helper()
	return b.text(`SELECT state || CASE WHEN complete THEN ' complete' ELSE '' END || ': ' || reason || coalesce((
		       SELECT string_agg(format(' line %s, %s: %s', line, field, r.reason), ';') FROM reconciler.rejects r WHERE r.statement_id = st.statement_id), '')
		  FROM reconciler.statements st WHERE source = $1 ORDER BY statement_id DESC LIMIT 1`, b.name)
}

// runAll runs every job and returns their verdicts.
func runAll(h *harness, code int) map[string]reports.Summary {
	h.tb.Helper()
	var list []reports.Summary
	h.json(code, &list, "run")
	out := map[string]reports.Summary{}
	for _, sum := range list {
		out[sum.Job] = sum
	}
	return out
}

const (
	settledByGood   = "absent failed_final absent, paid succeeded confirmed, refused failed_final refused, second succeeded confirmed"
	nothingKnown    = "absent unknown, paid unknown, refused unknown, second unknown"
	provenByRejects = "absent unknown, paid succeeded confirmed, refused unknown, second unknown"
)

// Whatever is wrong with a statement: nothing is called absent, what can't be
// trusted confirms nothing, the run says so and what to do, and the repaired
// statement, under the same name or another, settles everything.
func TestBrokenStatements(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{"", "-repaired"} {
		t.Run("repaired as name"+suffix, func(t *testing.T) {
			t.Parallel()
			h, all := brokenDeployment(t, mishaps())
			for _, b := range all {
				b.deliver(0, "", b.damage(goodStatement()))
			}
			for again := range 2 {
				sums := runAll(h, codeIncomplete)
				for _, b := range all {
					t.Run(fmt.Sprintf("%s, run %d", b.mishap.name, again+1), func(t *testing.T) { b.checkBroken(t, sums[b.name], again) }) //nolint:paralleltest // the parts share one connection
				}
			}
			for _, b := range all {
				b.deliver(1, suffix, goodStatement())
			}
			sums := runAll(h, codeDone)
			for _, b := range all {
				t.Run(b.mishap.name+", repaired", func(t *testing.T) { b.checkRepaired(t, sums[b.name]) }) //nolint:paralleltest // the parts share one connection
			}
		})
	}
}

func (b *brokenSource) checkBroken(t *testing.T, sum reports.Summary, again int) {
	t.Helper()
	if sum.Verdict != "incomplete" || len(sum.Incomplete) != 1 {
		t.Errorf("verdict %s, because of %q; want incomplete for one reason", sum.Verdict, sum.Incomplete)
	}
	state, statuses, cases := "quarantined: ", nothingKnown, "statement_rejected open"
	counts := reports.StatementCounts{Quarantined: 1}
	if b.rejects {
		state, statuses, cases, counts = "accepted: ", provenByRejects, "", reports.StatementCounts{Accepted: 1}
	}
	if again > 0 {
		counts = reports.StatementCounts{Duplicate: 1}
	}
	got := b.statement()
	if !strings.HasPrefix(got, state) {
		t.Errorf("statement is %q, want %q", got, state)
	}
	mustContain(t, got, b.why...)
	if diff := cmp.Diff(statuses, b.statuses()); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(cases, b.cases()); diff != "" {
		t.Errorf("exceptions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(counts, sum.Statements); diff != "" {
		t.Errorf("statements (-want +got):\n%s", diff)
	}
	if covered := b.text(`SELECT covered FROM reconciler.coverage WHERE source = $1`, b.name); covered != "" {
		t.Errorf("a broken statement covers %s", covered)
	}
	if records := b.text(`SELECT count(*) FROM reconciler.records WHERE source = $1`, b.name); !b.rejects && records != "0" {
		t.Errorf("%s records of a statement in quarantine", records)
	}
}

func (b *brokenSource) checkRepaired(t *testing.T, sum reports.Summary) {
	t.Helper()
	if sum.Verdict != "reconciled" || len(sum.Incomplete) > 0 {
		t.Errorf("verdict %s, because of %q; want reconciled", sum.Verdict, sum.Incomplete)
	}
	cases := "statement_rejected auto_resolved"
	if b.rejects {
		cases = ""
	}
	if diff := cmp.Diff(settledByGood, b.statuses()); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(cases, b.cases()); diff != "" {
		t.Errorf("exceptions (-want +got):\n%s", diff)
	}
	if got := b.statement(); got != "accepted complete: " {
		t.Errorf("statement is %q, want accepted and complete", got)
	}
}

// A broken delivery after a good one: what was proven stands, but the older
// delivery proves no absence any more, until a good one comes.
func TestBrokenReissue(t *testing.T) { //nolint:tparallel // the parts share one connection
	t.Parallel()
	h, all := brokenDeployment(t, someMishaps())
	for _, b := range all {
		b.deliver(0, "", goodStatement())
	}
	runAll(h, codeDone)
	for _, b := range all {
		if diff := cmp.Diff(settledByGood, b.statuses()); diff != "" {
			t.Fatalf("%s: operations after the good statement (-want +got):\n%s", b.mishap.name, diff)
		}
		b.journal("later", "ORD-8", 8008)
		b.deliver(1, "", b.damage(goodStatement()))
	}
	for range 2 {
		sums := runAll(h, codeIncomplete)
		for _, b := range all {
			t.Run(b.mishap.name+", broken", func(t *testing.T) {
				if sums[b.name].Verdict != "incomplete" {
					t.Errorf("verdict %s, want incomplete", sums[b.name].Verdict)
				}
				if got := b.text(`SELECT status FROM agent_operations WHERE idempotency_key = $1 || '/later'`, b.name); got != "unknown" {
					t.Errorf("what a broken statement does not show is %s, want unknown", got)
				}
				mustContain(t, b.statuses(), "absent failed_final absent", "paid succeeded confirmed", "second succeeded confirmed")
				mustContain(t, b.cases(), "evidence_changed absent open")
			})
		}
	}
	for _, b := range all {
		b.deliver(2, "", goodStatement()+"\n")
	}
	sums := runAll(h, codeDone)
	for _, b := range all { //nolint:paralleltest // the parts share one connection
		t.Run(b.mishap.name+", repaired", func(t *testing.T) {
			want := strings.Replace(settledByGood, ", paid", ", later failed_final absent, paid", 1)
			if diff := cmp.Diff(want, b.statuses()); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
			if sums[b.name].Verdict != "reconciled" || strings.Contains(b.cases(), "open") {
				t.Errorf("verdict %s, exceptions %s; want reconciled, and none open", sums[b.name].Verdict, b.cases())
			}
		})
	}
}

// A broken delivery that is older than an accepted one of its period says
// nothing new: the accepted one goes on to prove.
func TestBrokenAndOlder(t *testing.T) {
	t.Parallel()
	h, all := brokenDeployment(t, someMishaps())
	for _, b := range all {
		b.deliver(2, "", goodStatement())
	}
	runAll(h, codeDone)
	for _, b := range all {
		b.journal("later", "ORD-8", 8008)
		b.deliver(1, "-older", b.damage(goodStatement()))
	}
	runAll(h, codeDone)
	for _, b := range all {
		if got := b.text(`SELECT status FROM agent_operations WHERE idempotency_key = $1 || '/later'`, b.name); got != "failed_final" {
			t.Errorf("%s: what the newer good statement does not show is %s, want failed_final", b.mishap.name, got)
		}
		mustContain(t, b.statuses(), "absent failed_final absent", "paid succeeded confirmed", "second succeeded confirmed")
	}
}
