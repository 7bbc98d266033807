package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The whole-run tests of this file are named after public bug reports, by the
// numbers under which they are collected.

// textsConfig is smallConfig with a source that gives no ids, days without a
// time, and a memo, from which the reference is taken.
func textsConfig(reference string) string {
	return strings.NewReplacer(
		"      provider_operation_id: {column: id}\n", "",
		"business_reference: {column: ref}", "business_reference: "+reference,
		"occurred_at: {column: at}", `occurred_at: {column: at, layout: "2006-01-02"}`,
		`    unjournaled: {pattern: "^ORD-"}`+"\n", "",
	).Replace(smallConfig)
}

// memos is a statement of n payments, one a day from the 1st of March 2026,
// in the provider's words.
func memos(n int, words string) string {
	var rows []string
	sum := int64(0)
	for i := range n {
		minor := int64(1000 + i)
		sum += minor
		rows = append(rows, fmt.Sprintf("x,%s,%d.%02d,EUR,D,ok,2026-03-%02d", fmt.Sprintf(words, i), minor/100, minor%100, i+1))
	}
	return acmeStatement(n, sum, rows...)
}

const (
	layoutA = "Payment ORD-%02d thank you"
	layoutB = "SEPA/ORD-%02d/transfer"
)

// The provider changes its texts, so that every old row of the overlap looks
// new: where the reference is in the text, it stops the statement for review.
func TestB07_ChangedTextsStopTheStatement(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.writeConfig(textsConfig("{column: ref}"))
	h.writeStatement("acme-2026-03-01_2026-03-10.csv", memos(10, layoutA), past(15, 0))
	h.must(codeDone, "run")
	h.writeStatement("acme-2026-03-01_2026-03-12.csv", memos(12, layoutB), past(16, 0))
	var sum struct {
		Incomplete []string `json:"incomplete_because"`
	}
	h.json(codeIncomplete, &sum, "run")
	mustContain(t, strings.Join(sum.Incomplete, "\n"), "acme-2026-03-01_2026-03-12.csv", "10 of 12 new records equal known ones except their reference", "mend the mapping")
	equalText(t, "records", h.text(`SELECT count(*) FROM reconciler.records`), "10")
	equalText(t, "versions", h.text(`SELECT count(*) FROM reconciler.record_versions`), "0")
	equalText(t, "case", h.text(`SELECT kind || ' ' || state FROM reconciler.exceptions WHERE idempotency_key IS NULL`), "statement_rejected open")

	// The mapping is mended: two records are new, and all are what they were.
	h.writeConfig(textsConfig(`{column: ref, extract: "ORD-[0-9]+"}`))
	h.must(codeDone, "run")
	equalText(t, "records", h.text(`SELECT count(*) FROM reconciler.records`), "12")
	equalText(t, "case", h.text(`SELECT kind || ' ' || state FROM reconciler.exceptions`), "statement_rejected auto_resolved")
}

// Where the text is no part of the reference, a changed text changes nothing.
func TestB07_TextsThatAreNoPartOfTheReference(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.writeConfig(textsConfig(`{column: ref, extract: "ORD-[0-9]+"}`))
	h.writeStatement("acme-2026-03-01_2026-03-10.csv", memos(10, layoutA), past(15, 0))
	h.must(codeDone, "run")
	h.writeStatement("acme-2026-03-01_2026-03-12.csv", memos(12, layoutB), past(16, 0))
	var lines []ingestLine
	h.json(codeDone, &lines, "ingest", "acme")
	if got := lines[1]; got.State != "accepted" || !got.Complete || got.Records != 12 || got.New != 2 || got.Changed != 0 {
		t.Errorf("second file: %+v, want it complete, with 2 new of 12 records", got)
	}
	equalText(t, "versions", h.text(`SELECT count(*) FROM reconciler.record_versions`), "0")
}

// balanceConfig is smallConfig with balances in the place of the footer.
var balanceConfig = strings.NewReplacer(
	`footer: {match: "^Total", count: ref, sum: amount}`,
	`balances: {opening: {match: "^Opening", column: amount}, closing: {match: "^Closing", column: amount}}`,
	"currency: {column: currency}", "currency: {value: EUR}",
).Replace(smallConfig)

func balancedStatement(opening, closing string, rows ...string) string {
	return "id,ref,amount,currency,dir,status,at\nOpening,," + opening + ",,,,\n" + strings.Join(append(rows, ""), "\n") + "Closing,," + closing + ",,,,\n"
}

// Known rows are skipped, but the balances are proven on the whole document;
// one without rows is in nobody's way.
func TestB09_BalancesOverKnownRows(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.writeConfig(balanceConfig)
	row := func(id, amount string) string { return id + ",R-" + id + "," + amount + ",,C,ok,2026-03-02T10:00:00Z" }
	h.writeStatement("acme-2026-03-02_2026-03-02.csv", balancedStatement("100.00", "130.00", row("P1", "10.00"), row("P2", "20.00")), past(8, 0))
	h.must(codeDone, "run")
	h.writeStatement("acme-2026-03-01_2026-03-02.csv", balancedStatement("100.00", "160.00", row("P1", "10.00"), row("P2", "20.00"), row("P3", "30.00")), past(9, 0))
	h.writeStatement("acme-2026-03-03_2026-03-03.csv", balancedStatement("160.00", "160.00"), past(9, 0))
	var lines []ingestLine
	h.json(codeDone, &lines, "ingest", "acme")
	if got := lines[0]; !got.Complete || got.New != 1 || got.Records != 3 {
		t.Errorf("overlapping file: %+v, want it complete, with one new of 3 records", got)
	}
	if got := lines[2]; got.State != "accepted" || !got.Complete || got.Records != 0 {
		t.Errorf("file without rows: %+v, want it complete", got)
	}
}

// The closing balance of one statement is the opening one of the next; where
// it is not, nothing is proven, until one of them has been mended.
func TestBalancesThatDoNotFollow(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.writeConfig(balanceConfig)
	h.operation("op-9", "R-9", 900, past(2, 9))
	row := func(id, amount string) string { return id + ",R-" + id + "," + amount + ",,C,ok,2026-03-02T10:00:00Z" }
	h.writeStatement("acme-2026-03-01_2026-03-01.csv", balancedStatement("90.00", "100.00", strings.Replace(row("P0", "10.00"), "03-02", "03-01", 1)), past(8, 0))
	h.writeStatement("acme-2026-03-02_2026-03-05.csv", balancedStatement("100.01", "110.01", row("P1", "10.00")), past(9, 0))
	_, stderr := h.must(codeIncomplete, "run")
	equalText(t, "op-9", h.text(`SELECT reason_code FROM reconciler.operation_decisions`), "unresolved_overdue")
	mustContain(t, h.text(`SELECT reason FROM reconciler.statements WHERE NOT complete`)+stderr, "begins with a balance of 100.01 EUR", "closed with 100.00 EUR")
	h.writeStatement("acme-2026-03-01_2026-03-01.csv", balancedStatement("90.00", "100.01", strings.Replace(row("P0", "10.01"), "03-02", "03-01", 1)), past(10, 0))
	h.must(codeDone, "run")
	equalText(t, "op-9", h.text(`SELECT reason_code FROM reconciler.operation_decisions`), "absent")
}

// A statement is issued again with corrections, under a new name: it takes the
// place of the first, and nothing is turned back on its own.
func TestB10_IssuedAgainWithCorrections(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	for i, key := range []string{"op-1", "op-2", "op-3"} {
		h.operation(key, "R"+key[3:], []int64{10000, 500, 500}[i], past(2, 9))
	}
	const at = ",EUR,D,ok,2026-03-02T10:00:00Z"
	h.writeStatement("acme-2026-03-01_2026-03-05.csv", acmeStatement(2, 10500, "P1,R1,100.00"+at, "P2,R2,5.00"+at), past(8, 0))
	h.must(codeDone, "run")
	equalText(t, "statuses", h.text(`SELECT string_agg(status, ', ' ORDER BY idempotency_key) FROM agent_operations`), "succeeded, succeeded, unknown")
	h.writeStatement("acme-2026-03-01_2026-03-05-STMT-7-v2.csv", acmeStatement(2, 1500, "P1,R1,10.00"+at, "P3,R3,5.00"+at), past(9, 0))
	h.must(codeDone, "run")
	equalText(t, "statements", h.text(`SELECT string_agg(state, ' ' ORDER BY statement_id) FROM reconciler.statements`), "superseded accepted")
	equalText(t, "current records", h.text(`SELECT string_agg(provider_operation_id || ' ' || amount_minor, ', ' ORDER BY 1) FROM reconciler.records`), "P1 1000, P3 500")
	equalText(t, "kept versions", h.text(`SELECT string_agg(provider_operation_id || ' ' || amount_minor || ' ' || replaced_reason, ', ' ORDER BY provider_operation_id) FROM reconciler.record_versions`),
		"P1 10000 changed, P2 500 gone")
	equalText(t, "statuses", h.text(`SELECT string_agg(status, ', ' ORDER BY idempotency_key) FROM agent_operations`), "succeeded, succeeded, succeeded")
	equalText(t, "cases", h.text(`SELECT string_agg(idempotency_key || ' ' || kind, ', ' ORDER BY idempotency_key, kind) FROM reconciler.exceptions WHERE state = 'open' AND kind = 'evidence_changed'`),
		"op-1 evidence_changed, op-2 evidence_changed")
	want := h.endState()
	h.must(codeDone, "run")
	if diff := cmp.Diff(want, h.endState()); diff != "" {
		t.Errorf("the same again changed (-before +after):\n%s", diff)
	}
}

// atOnce ingests with two processes at the same time, and returns their codes.
func (h *harness) atOnce(first, second []string) (codes [2]int, outs [2]string) {
	h.tb.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		codes[0], outs[0] = exitOf(h.tb, h.program(h.tb.Context(), first...))
	}()
	codes[1], outs[1] = exitOf(h.tb, h.program(h.tb.Context(), second...))
	<-done
	return codes, outs
}

// Two processes import the same file at the same moment.
func TestB11_SameFileTwiceAtOnce(t *testing.T) {
	t.Parallel()
	const lines, rounds = 10_000, 4
	h := newHarness(t)
	for round := range rounds {
		at := past(2+round, 10)
		var rows []string
		for i := range lines {
			rows = append(rows, fmt.Sprintf("P-%d-%d,R-%d,1.00,EUR,D,ok,%s", round, i, i, at.Format(time.RFC3339)))
		}
		day := at.Format(time.DateOnly)
		name := "acme-" + day + "_" + day + ".csv"
		h.writeStatement(name, acmeStatement(lines, lines*100, rows...), past(20, 0))
		args := []string{"ingest", "acme", filepath.Join("statements", name), "-o", "json"}
		codes, outs := h.atOnce(args, args)
		if codes != [2]int{codeDone, codeDone} {
			t.Fatalf("round %d: exit codes %d\n%s", round, codes, strings.Join(outs[:], "\n"))
		}
		if known := strings.Count(outs[0]+outs[1], `"known": true`); known != 1 {
			t.Errorf("round %d: %d of the two say that it is known already, want 1\n%s", round, known, strings.Join(outs[:], "\n"))
		}
		equalText(t, "records", h.text(`SELECT count(*) FROM reconciler.records`), fmt.Sprint(lines*(round+1)))
	}
}

// Two files with one record in common are imported at the same moment: it is
// stored once, and neither import ends because of the other.
func TestB12_TwoFilesWithARecordInCommon(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	for round := range 4 {
		var rows []string
		for i := range 1000 {
			rows = append(rows, fmt.Sprintf("P-%d-%d,R-%d,1.00,EUR,D,ok,%s", round, i, i, past(2+round, 10).Format(time.RFC3339)))
		}
		day := past(2+round, 0).Format(time.DateOnly)
		one, two := "acme-"+day+"_"+day+".csv", "acme-2026-03-01_"+day+".csv"
		h.writeStatement(one, acmeStatement(1000, 100_000, rows...), past(20, 0))
		h.writeStatement(two, acmeStatement(1, 100, rows[499]), past(20, 0))
		codes, outs := h.atOnce([]string{"ingest", "acme", filepath.Join("statements", one)}, []string{"ingest", "acme", filepath.Join("statements", two)})
		if codes != [2]int{codeDone, codeDone} {
			t.Fatalf("round %d: exit codes %d\n%s", round, codes, strings.Join(outs[:], "\n"))
		}
		equalText(t, "records", h.text(`SELECT count(*) FROM reconciler.records`), fmt.Sprint(1000*(round+1)))
	}
	equalText(t, "conflicts", h.text(`SELECT count(*) FROM reconciler.records WHERE conflicted`), "0")
}

// What lies beside the statements is none: folders, marks and unfinished files.
func TestE03_WhatLiesBeside(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	const name = "acme-2026-03-01_2026-03-05.csv"
	h.writeConfig(strings.Replace(smallConfig, "statements/acme-*.csv", "statements/acme-*", 1))
	h.writeStatement(name, acmeStatement(1, 1000, "P1,R1,10.00,EUR,D,ok,2026-03-02T10:00:05Z"), past(8, 0))
	h.writeStatement(name+".tmp", "id,ref", past(8, 0))
	h.writeStatement(".acme-2026.csv", "", past(8, 0))
	h.writeStatement(".DS_Store", "", past(8, 0))
	if err := os.Mkdir(filepath.Join(h.dir, "statements", "acme-2026-03-06_2026-03-06.csv"), 0o750); err != nil {
		t.Fatal(err)
	}
	h.must(codeDone, "run")
	equalText(t, "statements", h.text(`SELECT string_agg(name, ' ') FROM reconciler.statements`), name)
}

// A writer first puts an empty file and later the real one under the same
// name; or one of two rows first.
func TestE04_EmptyFirstThenReal(t *testing.T) {
	t.Parallel()
	rows := []string{"P1,R1,10.00,EUR,D,ok,2026-03-02T10:00:05Z", "P2,R2,20.00,EUR,D,ok,2026-03-02T10:00:05Z"}
	const name = "acme-2026-03-01_2026-03-05.csv"
	for what, first := range map[string]string{"empty": "", "half": strings.Split(acmeStatement(2, 3000, rows...), "P2")[0]} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.operation("op-9", "R9", 900, past(2, 9))
			h.writeStatement(name, first, past(8, 0))
			h.must(codeIncomplete, "run")
			equalText(t, "case", h.text(`SELECT kind || ' ' || state FROM reconciler.exceptions WHERE idempotency_key IS NULL`), "statement_rejected open")
			equalText(t, "op-9", h.text(`SELECT reason_code FROM reconciler.operation_decisions`), "unresolved_overdue")
			h.writeStatement(name, acmeStatement(2, 3000, rows...), past(9, 0))
			h.must(codeDone, "run")
			equalText(t, "records", h.text(`SELECT count(*) FROM reconciler.records`), "2")
			equalText(t, "op-9", h.text(`SELECT reason_code FROM reconciler.operation_decisions`), "absent")
		})
	}
	t.Run("half, and nothing declares the end", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		h.writeConfig(strings.NewReplacer(`footer: {match: "^Total", count: ref, sum: amount}`, "", "end: proven", "end: assumed").Replace(smallConfig))
		header := "id,ref,amount,currency,dir,status,at\n"
		h.writeStatement(name, header+rows[0]+"\n", past(8, 0))
		h.must(codeDone, "run")
		h.writeStatement(name, header+rows[0]+"\n"+rows[1]+"\n", past(9, 0))
		var lines []ingestLine
		h.json(codeDone, &lines, "ingest", "acme")
		if got := lines[0]; got.Records != 2 || got.New != 1 || got.Changed != 0 {
			t.Errorf("the whole file: %+v, want one new of 2 records", got)
		}
		equalText(t, "versions", h.text(`SELECT string_agg(state, ' ' ORDER BY statement_id) FROM reconciler.statements`), "superseded accepted")
	})
}

func gzipped(tb testing.TB, texts ...string) string {
	tb.Helper()
	var out bytes.Buffer
	for _, text := range texts {
		w := gzip.NewWriter(&out)
		if _, err := w.Write([]byte(text)); err != nil {
			tb.Fatal(err)
		}
		if err := w.Close(); err != nil {
			tb.Fatal(err)
		}
	}
	return out.String()
}

// Name and bytes disagree on how a file is packed: the bytes are right.
func TestE11_NameAndBytesDisagree(t *testing.T) {
	t.Parallel()
	text := acmeStatement(1, 1000, "P1,R1,10.00,EUR,D,ok,2026-03-02T10:00:05Z")
	for what, file := range map[string]struct{ suffix, bytes string }{
		"packed, and named so":       {".gz", gzipped(t, text)},
		"packed, and not named so":   {"", gzipped(t, text)},
		"plain, and named as packed": {".gz", text},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.writeConfig(strings.Replace(smallConfig, "statements/acme-*.csv", "statements/acme-*", 1))
			h.writeStatement("acme-2026-03-01_2026-03-05.csv"+file.suffix, file.bytes, past(8, 0))
			h.must(codeDone, "run")
			equalText(t, "records", h.text(`SELECT count(*) FROM reconciler.records`), "1")
		})
	}
	t.Run("packed and cut short", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		packed := gzipped(t, text)
		h.writeStatement("acme-2026-03-01_2026-03-05.csv", packed[:len(packed)-9], past(8, 0))
		h.must(codeIncomplete, "run")
		mustContain(t, h.text(`SELECT state || reason FROM reconciler.statements`), "quarantined", "cut short")
	})
}

// Several members in one packed file are one document.
func TestE13_SeveralPackedMembers(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.writeConfig(strings.Replace(smallConfig, "format: csv", "format: csv\n    csv: {repeated_header: skip}", 1))
	const header = "id,ref,amount,currency,dir,status,at\n"
	h.writeStatement("acme-2026-03-01_2026-03-05.csv", gzipped(t, header+"P1,R1,10.00,EUR,D,ok,2026-03-02T10:00:05Z\n",
		header+"P2,R2,20.00,EUR,D,ok,2026-03-02T10:00:05Z\nTotal,2,30.00,,,,\n"), past(8, 0))
	h.must(codeDone, "run")
	equalText(t, "references", h.text(`SELECT string_agg(business_reference, ' ' ORDER BY line) FROM reconciler.records`), "R1 R2")
}
