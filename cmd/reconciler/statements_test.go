package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// past is an instant so long ago that everything about it can be proven.
func past(day, hour int) time.Time { return time.Date(2026, 3, day, hour, 0, 0, 0, time.UTC) }

// mustContain fails the test for every wanted part that text lacks.
func mustContain(tb testing.TB, text string, parts ...string) {
	tb.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			tb.Errorf("the answer lacks %q:\n%s", part, text)
		}
	}
}

func TestStatementsList(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	stdout, _ := h.must(codeDone, "statements", "list")
	mustContain(t, stdout, "no statements yet")

	h.writeStatement("acme-2026-03-01_2026-03-05.csv", acmeStatement(1, 1000, "P1,ORD-1,10.00,EUR,D,ok,2026-03-02T10:00:05Z"), past(8, 0))
	h.writeStatement("acme-2026-03-06_2026-03-06.csv", acmeStatement(7, 1000, "P2,ORD-2,10.00,EUR,D,ok,2026-03-06T10:00:05Z"), past(8, 0))
	h.must(codeIncomplete, "ingest", "acme")
	stdout, _ = h.must(codeDone, "statements", "list")
	mustContain(t, stdout, "acme-2026-03-01_2026-03-05.csv", "2026-03-01 … 2026-03-05", "accepted", "footer", "quarantined", "2026-03-06 ", "7")

	// A newer version replaces the first one, which --all still shows.
	h.writeStatement("acme-2026-03-01_2026-03-05.csv", acmeStatement(0, 0), past(9, 0))
	h.must(codeIncomplete, "ingest", "acme")
	var current, all []statementLine
	h.json(codeDone, &current, "statements", "list", "--source", "acme")
	h.json(codeDone, &all, "statements", "list", "--all")
	states := func(lines []statementLine) (out []string) {
		for _, l := range lines {
			out = append(out, l.State)
		}
		return out
	}
	if diff := cmp.Diff([]string{"accepted", "quarantined"}, states(current)); diff != "" {
		t.Errorf("states of current statements (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"accepted", "quarantined", "superseded"}, states(all)); diff != "" {
		t.Errorf("states of all statements (-want +got):\n%s", diff)
	}
	_, stderr := h.must(codeUsage, "statements", "list", "--source", "acmee")
	mustContain(t, stderr, `no source "acmee"`, "acme")
}

func TestStatementsShow(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	const name = "acme-2026-03-01_2026-03-05.csv"
	h.writeStatement(name, acmeStatement(1, 1000, "P1,ORD-1,10.00,EUR,D,ok,2026-03-02T10:00:05Z"), past(8, 0))
	h.must(codeDone, "ingest", "acme")
	h.writeStatement(name, acmeStatement(3, 3000, "P1,ORD-1,10.00,EUR,D,ok,2026-03-02T10:00:05Z",
		"P2,ORD-2,10.00,EUR,D,gone,2026-03-02T10:00:05Z", "P3,ORD-3,10.00,EUR,D,lost,2026-03-02T10:00:05Z"), past(9, 0))
	h.must(codeIncomplete, "ingest", "acme")

	stdout, _ := h.must(codeDone, "statements", "show", "2")
	mustContain(t, stdout, "not complete", "3: 1 record, 2 rejects, 0 skipped", "30.00 EUR", "replaces       statement 1", "gone", "lost", "status")
	stdout, _ = h.must(codeDone, "statements", "show", "2", "--rejects", "1")
	mustContain(t, stdout, "gone", "1 more; --rejects 2 shows them")
	stdout, _ = h.must(codeDone, "statements", "show", "1")
	mustContain(t, stdout, "superseded", "replaced by    statement 2")

	var got statementAnswer
	h.json(codeDone, &got, "statements", "show", "2")
	if got.Declared.Count == nil || *got.Declared.Count != 3 || len(got.SHA256) != 64 || got.MappingDigest == "" {
		t.Errorf("statements show: declared %+v, sha256 %q, mapping %q; want the totals and digests", got.Declared, got.SHA256, got.MappingDigest)
	}
	if diff := cmp.Diff([]int64{1}, got.Supersedes); diff != "" {
		t.Errorf("supersedes (-want +got):\n%s", diff)
	}
	if len(got.Rejected) != 2 || got.Rejected[0].Line != 3 || got.Rejected[0].Field != "status" {
		t.Errorf("rejects = %+v, want lines 3 and 4 for their status", got.Rejected)
	}
	for _, id := range []string{"99", "first", "0"} {
		h.must(codeUsage, "statements", "show", id)
	}
}
