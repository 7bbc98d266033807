package reports_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"reconciler/reports"
)

func TestVisible(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                 "",
		"Müller 東京 €":      "Müller 東京 €",
		"a\tb\nc\rd":       `a\tb\nc\rd`,
		"bad\x01char\x0Bz": `bad\u0001char\u000Bz`,
		"\u202Egpj.exe":    `\u202Egpj.exe`,
		"\u2066x\u2069":    `\u2066x\u2069`,
		"a\u200Bb\uFEFF":   `a\u200Bb\uFEFF`,
		"\xED\xA0\x80":     `\xED\xA0\x80`,
		"a\u2028b":         `a\u2028b`,
		"\U000E0041":       `\U000E0041`,
		"real \uFFFD":      "real \uFFFD",
		"\uFFFE\uFFFF":     `\uFFFE\uFFFF`,
		"del\x7F\u0085":    `del\u007F\u0085`,
		"می\u200Cخواهم":    "می\u200Cخواهم",
	} {
		if got := reports.Visible(in); got != want {
			t.Errorf("Visible(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestVisibleIsSafeForAnyText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		if rapid.Bool().Draw(t, "runes") {
			in = rapid.String().Draw(t, "text")
		}
		got := reports.Visible(in)
		if !utf8.ValidString(got) {
			t.Fatalf("Visible(%q) is no UTF-8: %q", in, got)
		}
		if i := strings.IndexFunc(got, unicode.IsControl); i >= 0 {
			t.Fatalf("Visible(%q) keeps a control character: %q", in, got)
		}
		if again := reports.Visible(got); again != got {
			t.Fatalf("Visible is not settled: %q, then %q", got, again)
		}
	})
}

func TestGuardFormula(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                     "",
		"application-1":        "application-1",
		"=1+1":                 "'=1+1",
		"+1+1":                 "'+1+1",
		"-1+1":                 "'-1+1",
		"@SUM(A1)":             "'@SUM(A1)",
		"\t=1+1":               "'\t=1+1",
		"\r=1+1":               "'\r=1+1",
		" =1+1":                "' =1+1",
		"\u00a0=1+1":           "'\u00a0=1+1",
		`"=1+1"`:               `'"=1+1"`,
		"＝1+1":                 "'＝1+1",
		"＠SUM(A1)":             "'＠SUM(A1)",
		"a;=1+1":               "a;'=1+1",
		"a; =1+1;b;-2":         "a;' =1+1;b;'-2",
		"'=1":                  "''=1",
		"O'Neill":              "O'Neill",
		"'quoted'":             "'quoted'",
		"2-3":                  "2-3",
		"a=b":                  "a=b",
		"Zürich; Bern; Berlin": "Zürich; Bern; Berlin",
	} {
		got := reports.GuardFormula(in)
		if got != want {
			t.Errorf("GuardFormula(%q) = %q, want %q", in, got, want)
		}
		if back := reports.UnguardFormula(got); back != in {
			t.Errorf("UnguardFormula(%q) = %q, want %q", got, back, in)
		}
	}
}

func TestGuardFormulaCanBeUndone(t *testing.T) {
	t.Parallel()
	nasty := rapid.StringOf(rapid.RuneFrom([]rune("=+-@＝'\" ;\tab1")))
	rapid.Check(t, func(t *rapid.T) {
		in := nasty.Draw(t, "text")
		guarded := reports.GuardFormula(in)
		if got := reports.UnguardFormula(guarded); got != in {
			t.Fatalf("UnguardFormula(%q) = %q, want %q", guarded, got, in)
		}
		for part := range strings.SplitSeq(guarded, ";") {
			if first := strings.TrimLeft(part, " \t\""); first != "" && strings.ContainsAny(first[:1], "=+-@") {
				t.Fatalf("GuardFormula(%q) = %q leaves a formula", in, guarded)
			}
		}
	})
}

func TestCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ж", 40000) + "END"
	got := reports.Cut(long, 32767)
	if n := utf8.RuneCountInString(got); n != 32767 {
		t.Errorf("Cut keeps %d characters, want 32767", n)
	}
	if !strings.HasSuffix(got, "[cut, 40003 characters in all]") {
		t.Errorf("Cut ends in %q, want a mark with the full length", got[len(got)-60:])
	}
	// Emoji count twice, as spreadsheets count.
	if got := reports.Cut(strings.Repeat("😀", 20000), 32767); !strings.HasSuffix(got, "[cut, 40000 characters in all]") {
		t.Errorf("Cut does not count as spreadsheets do: %q", got[len(got)-60:])
	}
	if got := reports.Cut("short", 32767); got != "short" {
		t.Errorf("Cut(short) = %q", got)
	}
}

func TestWordsForEveryCode(t *testing.T) {
	t.Parallel()
	words := reports.NewWords()
	for _, code := range strings.Fields(`
		amount_mismatch currency_mismatch amount_unknown partial_effect duplicate_effect reversed_at_provider
		effect_after_failure refused refused_after_success pending_too_long absent_needs_decision coverage_gap
		unresolved_overdue missing_at_provider lease_overheld never_claimed ambiguous_reference evidence_changed
		unjournaled_effect statement_rejected statement_overdue record_key_conflict settlement_lag_too_short
		duplicate_intent run_overdue confirmed confirmed_before_retry absent permitted_by_key not_yet_provable
		waiting in_progress settled refused_not_final pending lease_expired
		reconciled reconciled_with_pending exceptions incomplete`) {
		word, ok := words[code]
		if !ok || word.Title == "" || word.Meaning == "" {
			t.Errorf("no words for %s", code)
		}
	}
	if got := words.Of("brand_new_kind").Title; got != "Brand new kind" {
		t.Errorf("Of(brand_new_kind) = %q, want the code in words", got)
	}
}
