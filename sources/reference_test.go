package sources_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"reconciler/sources"
)

func TestUsableReference(t *testing.T) {
	t.Parallel()
	for _, usable := range []string{
		"application-17", "R1", "RF18 5390 0754 A7", "12E5", "7E12", "4E-05", "1E15", "E", "0001", "100", "NA-1", "NONE-7",
		"NOTPROVIDED-1", "2026/157-A.4 net", "счёт 12", "#17", "Ärger", "X-1", "INV#REF", "日本", "１２", "a", "1.5", "1,234",
	} {
		if ok, reason := sources.UsableReference(usable); !ok {
			t.Errorf("UsableReference(%q) = false, %q; want true", usable, reason)
		}
	}
	for text, reason := range map[string]string{
		"":                         "empty",
		" \u00a0\t":                "empty",
		"NOTPROVIDED":              "placeholder",
		"Not Provided":             "placeholder",
		"not-provided":             "placeholder",
		" NOTPROVIDED ":            "placeholder",
		"NONREF":                   "placeholder",
		"noref":                    "placeholder",
		"None":                     "placeholder",
		"n/a":                      "placeholder",
		"N.A.":                     "placeholder",
		"NULL":                     "placeholder",
		"<null>":                   "placeholder",
		"nil":                      "placeholder",
		"NaN":                      "placeholder",
		"unknown":                  "placeholder",
		"keine Referenz":           "placeholder",
		"б/н":                      "placeholder",
		"Без номера":               "placeholder",
		"sans référence":           "placeholder",
		"-":                        "placeholder",
		"--":                       "placeholder",
		"...":                      "placeholder",
		"?????":                    "placeholder",
		"0":                        "placeholder",
		"000000000000000000000000": "placeholder",
		"0.00":                     "placeholder",
		"00-00":                    "placeholder",
		"XXXX":                     "placeholder",
		"1.23E+15":                 "damaged",
		"1,23E+15":                 "damaged",
		"1.23e15":                  "damaged",
		"-1.5E+3":                  "damaged",
		"1E+15":                    "damaged",
		" 2.02612E+11 ":            "damaged",
		"#####":                    "damaged",
		"#REF!":                    "damaged",
		"#N/A":                     "damaged",
		"#NAME?":                   "damaged",
		"#DIV/0!":                  "damaged",
		"#ССЫЛКА!":                 "damaged",
		"M\ufffdller 17":           "damaged",
		"M\xfcller 17":             "damaged",
	} {
		ok, got := sources.UsableReference(text)
		if ok || !strings.Contains(got, reason) {
			t.Errorf("UsableReference(%q) = %v, %q; want false, %s", text, ok, got, reason)
		}
	}
}

func FuzzUsableReference(f *testing.F) {
	for _, s := range []string{"", "0", "NOTPROVIDED", "1.23E+15", "#REF!", "R1", "é", "\xff", "e", "e+", "1e+", ".e+1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		usable, reason := sources.UsableReference(s)
		if usable == (reason != "") {
			t.Errorf("UsableReference(%q) = %v with the reason %q", s, usable, reason)
		}
		if usable && (s == "" || !utf8.ValidString(s)) {
			t.Errorf("UsableReference(%q) = true", s)
		}
		// Whether a letter is upper or lower case never decides.
		if utf8.ValidString(s) && len(s) < 100 && strings.EqualFold(strings.ToUpper(s), s) {
			if upper, _ := sources.UsableReference(strings.ToUpper(s)); upper != usable {
				t.Errorf("UsableReference(%q) = %v, in upper case %v", s, usable, upper)
			}
		}
	})
}

func newFolder(t *testing.T, fold *sources.Fold) *sources.Folder {
	t.Helper()
	f, err := sources.NewFolder(fold)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFold(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		fold *sources.Fold
		in   string
		want string
	}{
		{"nothing declared", nil, "Rf 1-a", "Rf 1-a"},
		{"case", &sources.Fold{Case: true}, "rf-1ä", "RF-1Ä"},
		{"blanks", &sources.Fold{Blanks: true}, " RF\u00a018 \t5390\n", "RF185390"},
		{"A44 canonical form", &sources.Fold{Case: true, Punctuation: true}, "RF18-5390-0754/a7", "RF1853900754A7"},
		{"A44 grouped", &sources.Fold{Case: true, Punctuation: true}, "RF18 5390 0754 A7", "RF1853900754A7"},
		{"A44 shorter", &sources.Fold{Case: true, Punctuation: true}, "RF18 5390 0754", "RF1853900754"},
		{"prefix and suffix", &sources.Fold{Prefix: "ORD:", Suffix: "/1"}, "ORD:17/1", "17"},
		{"prefix in another case", &sources.Fold{Case: true, Prefix: "Ord:"}, "oRD:a", "A"},
		{"prefix without its punctuation", &sources.Fold{Punctuation: true, Prefix: "ORD:"}, "ORD 17", "17"},
		{"prefix twice", &sources.Fold{Prefix: "REF"}, "REFREF1", "1"},
		{"only prefix", &sources.Fold{Prefix: "REF"}, "REF", ""},
		{"no letters left", &sources.Fold{Punctuation: true}, "-/-", ""},
		{"combining mark stays", &sources.Fold{Punctuation: true}, "e\u0301-1", "e\u03011"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t, tt.fold)
			got := f.Fold(tt.in)
			if got != tt.want {
				t.Errorf("Fold(%q) = %q, want %q", tt.in, got, tt.want)
			}
			if again := f.Fold(got); again != got {
				t.Errorf("Fold(%q) = %q, want it unchanged", got, again)
			}
		})
	}
	if _, err := sources.NewFolder(&sources.Fold{Length: -1}); err == nil {
		t.Error("NewFolder with a negative length = nil, want an error")
	}
	var none *sources.Folder
	if got := none.Fold("a b"); got != "a b" {
		t.Errorf("Fold of a nil folder = %q, want the text as it is", got)
	}
}

// meet reports whether a reference of ours and one of theirs meet in tier 4.
func meet(f *sources.Folder, ours, theirs string) bool {
	forms := f.Ours(ours)
	return slices.ContainsFunc(f.Theirs(nil, theirs), func(form string) bool { return slices.Contains(forms, form) })
}

func TestFolderMeets(t *testing.T) {
	t.Parallel()
	canonical := &sources.Fold{Case: true, Punctuation: true}
	cut := &sources.Fold{Length: 10}
	for _, tt := range []struct {
		name         string
		fold         *sources.Fold
		ours, theirs string
		want         bool
	}{
		{"equal, nothing declared", nil, "R-1", "R-1", true},
		{"case, nothing declared", nil, "R-1", "r-1", false},
		{"A44 grouped", canonical, "RF18-5390-0754/a7", "RF18 5390 0754 A7", true},
		{"A44 plain", canonical, "RF18-5390-0754/a7", "RF1853900754A7", true},
		{"A44 shorter", canonical, "RF18-5390-0754/a7", "RF18 5390 0754", false},
		{"cut at the length", cut, "APPLICATION-17", "APPLICATIO", true},
		{"cut shorter", cut, "APPLICATION-17", "APPLICATI", false},
		{"cut longer", cut, "APPLICATION-17", "APPLICATION", false},
		{"whole at the length", cut, "APPLICATIO", "APPLICATIO", true},
		{"whole below the length", cut, "APPLI", "APPLI", true},
		{"ours of the length is no cut one", cut, "APPLICATIO", "APPLICATIONS", false},
		{"cut in characters", &sources.Fold{Length: 3}, "äöüß", "äöü", true},
		{"cut behind the prefix", &sources.Fold{Prefix: "REF", Length: 10}, "123456789", "REF1234567", true},
		{"cut before the blanks were dropped", &sources.Fold{Blanks: true, Length: 10}, "AB CDEFGHIJK", "AB CDEFGHI", true},
		{"cut after the blanks were dropped", &sources.Fold{Blanks: true, Length: 10}, "AB CDEFGHIJK", "ABCDEFGHIJ", true},
		{"not cut, though a blank was dropped", &sources.Fold{Blanks: true, Length: 10}, "AB CDEFGHIJK", "ABCDEFGHI", false},
		{"placeholder", canonical, "NOTPROVIDED", "NOTPROVIDED", false},
		{"damaged", canonical, "1.23E+15", "1.23E+15", false},
		{"nothing left", &sources.Fold{Prefix: "REF"}, "REF", "REFREF", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t, tt.fold)
			if got := meet(f, tt.ours, tt.theirs); got != tt.want {
				t.Errorf("ours %q has %q, theirs %q has %q; meet = %v, want %v",
					tt.ours, f.Ours(tt.ours), tt.theirs, f.Theirs(nil, tt.theirs), got, tt.want)
			}
		})
	}
}

// TestFoldingNeverHides: whatever a provider does that the source declares, the
// two sides meet. A reference that is missed would look like an absent effect.
func TestFoldingNeverHides(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		fold := sources.Fold{
			Case:        rapid.Bool().Draw(t, "case"),
			Blanks:      rapid.Bool().Draw(t, "blanks"),
			Punctuation: rapid.Bool().Draw(t, "punctuation"),
			Prefix:      rapid.SampledFrom([]string{"", "REF", "ref:", "/"}).Draw(t, "prefix"),
			Suffix:      rapid.SampledFrom([]string{"", "/1"}).Draw(t, "suffix"),
			Length:      rapid.SampledFrom([]int{0, 0, 12, 18}).Draw(t, "length"),
		}
		f, err := sources.NewFolder(&fold)
		if err != nil {
			t.Fatal(err)
		}
		ours := rapid.StringMatching(`[A-Za-z]{2}[ -]?[1-9]{4}[a-z /-]{0,12}[1-9]{1,4}`).Draw(t, "ours")
		theirs := ours
		if fold.Case {
			theirs = strings.ToUpper(theirs)
		}
		dropped := fold.Blanks || fold.Punctuation
		if dropped && rapid.Bool().Draw(t, "drops blanks") {
			theirs = strings.ReplaceAll(theirs, " ", "")
		}
		theirs = fold.Prefix + theirs + fold.Suffix
		if runes := []rune(theirs); fold.Length > 0 && len(runes) > fold.Length {
			theirs = string(runes[:fold.Length])
		}
		if usable, _ := sources.UsableReference(f.Fold(theirs)); !usable {
			t.Skip("nothing is left of it")
		}
		if !meet(f, ours, theirs) {
			t.Fatalf("ours %q has %q, theirs %q has %q under %+v", ours, f.Ours(ours), theirs, f.Theirs(nil, theirs), fold)
		}
	})
}

func TestExtract(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, pattern, text string
		want                []string
	}{
		{"in a text", "application-[0-9]+", "payment for application-17, thanks", []string{"application-17"}},
		{"none", "application-[0-9]+", "payment", nil},
		{"two different", "application-[0-9]+", "application-17 and application-18", []string{"application-17", "application-18"}},
		{"twice the same", "application-[0-9]+", "application-17/application-17", []string{"application-17"}},
		{"B-digits: part of a longer number", "INV-[0-9]{2}", "INV-123 INV-45", []string{"INV-45"}},
		{"part of a longer word", "A[0-9]+", "xA1 A2", []string{"A2"}},
		{"followed by a letter", "A[0-9]+", "A1b", nil},
		{"next to punctuation", "A[0-9]+", "(A1)/A2.", []string{"A1", "A2"}},
		{"group", "order no ([0-9]+)", "order no 17", []string{"17"}},
		{"group that took no part", "a(b)?c", "ac", nil},
		{"letters of other scripts", "[0-9]{3}", "счёт123 456", []string{"456"}},
		{"own punctuation at the edge", "#[0-9]+", "invoice#17", []string{"#17"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, err := sources.NewExtractor(tt.pattern)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, e.Extract(nil, tt.text)); diff != "" {
				t.Errorf("Extract(%q) (-want +got):\n%s", tt.text, diff)
			}
		})
	}
	for _, bad := range []string{"[", "x*", ""} {
		if _, err := sources.NewExtractor(bad); err == nil {
			t.Errorf("NewExtractor(%q) = nil, want an error", bad)
		}
	}
}

func BenchmarkUsableReference(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if ok, _ := sources.UsableReference("application-00001234"); !ok {
			b.Fatal("not usable")
		}
	}
}
