package reports

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"time"
	"unicode/utf8"
)

//go:embed assets/report.html.tmpl assets/report.css assets/report.js
var assets embed.FS

// shownRows is how many rows a section of the HTML report shows. The rest is
// counted, and named where it can be found.
const shownRows = 2000

// WriteHTML writes the report as one self-contained page: it loads nothing,
// reads without scripts, prints on A4 and works on a phone. All text from
// outside is escaped, with marks that can't be seen shown as escapes; a
// content security policy that names the digests of our own style and script
// keeps anything else from running. A section shows at most 2,000 rows and
// says how many more there are.
func WriteHTML(w io.Writer, r Report) error {
	page, err := newPage(r.ordered())
	if err != nil {
		return fmt.Errorf("make HTML report of run %s: %w", r.Summary.RunID, err)
	}
	t, err := template.New("report.html.tmpl").ParseFS(assets, "assets/report.html.tmpl")
	if err != nil {
		return fmt.Errorf("read template of HTML report: %w", err)
	}
	if err := t.Execute(w, page); err != nil {
		return fmt.Errorf("write HTML report of run %s: %w", r.Summary.RunID, err)
	}
	return nil
}

// page is what the template shows. Everything is text that is ready to be
// read; the template only places it.
type page struct {
	Style  template.CSS
	Script template.JS
	Policy string

	Title, Job string
	Generated  string
	Zone       string
	Verdict    verdict
	Figures    []figure
	Risk       riskTable
	Cases      []caseGroup
	CasesMore  string
	Ageing     ageTable
	Settled    settledTable
	Waiting    waitingTable
	Statements statementTable
	Coverage   coverageStrips
	Legend     []legendEntry
	Footer     []fact
}

// fact is a name with its value.
type fact struct {
	Name, Value string
	// Mono asks for a fixed-width face: ids and digests.
	Mono bool
}

// Class names the room that the fact needs: of one, of two, or of a whole line.
func (f fact) Class() string {
	switch n := utf8.RuneCountInString(f.Value); {
	case n > 64:
		return "full"
	case n > 26:
		return "long"
	}
	return ""
}

// figure is one of the numbers at the top.
type figure struct {
	Value, Label, Detail string
	// Tone colours it: "bad" the number, "warn" the detail, or nothing.
	Tone string
}

// legendEntry explains a kind that occurs in the report.
type legendEntry struct{ Title, Code, Meaning, Do string }

// builder makes the page from a report.
type builder struct {
	Report
	words Words
}

func newPage(r Report) (page, error) {
	style, err := assets.ReadFile("assets/report.css")
	if err != nil {
		return page{}, err
	}
	script, err := assets.ReadFile("assets/report.js")
	if err != nil {
		return page{}, err
	}
	b := builder{Report: r, words: NewWords()}
	cases, more := b.cases()
	p := page{
		Style:  template.CSS(style), //nolint:gosec // our own embedded file
		Script: template.JS(script), //nolint:gosec // our own embedded file
		Policy: "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-" + digest(style) +
			"'; script-src 'sha256-" + digest(script) + "'",
		Title:      "Reconciliation of " + Visible(r.Summary.Job) + ", " + b.day(r.GeneratedAt),
		Job:        Visible(r.Summary.Job),
		Generated:  b.moment(r.GeneratedAt),
		Zone:       Visible(r.zone().String()),
		Verdict:    b.verdict(),
		Figures:    b.figures(),
		Risk:       b.risk(),
		Cases:      cases,
		CasesMore:  more,
		Ageing:     b.ageing(),
		Settled:    b.settled(),
		Waiting:    b.waiting(),
		Statements: b.statements(),
		Coverage:   b.coverage(),
		Legend:     b.legend(),
		Footer:     b.footer(),
	}
	return p, nil
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// day writes the date of t in the report's zone.
func (b builder) day(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.In(b.zone()).Format("2 Jan 2006")
}

// moment writes date and time of t in the report's zone, to the minute.
func (b builder) moment(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.In(b.zone()).Format("2 Jan 2006, 15:04")
}

// endless is the year in which a range without an end is stored to end.
const endless = 9999

// span writes a half-open range. Where it is made of whole days of the
// source's zone, else of the report's, its last day is named instead of the
// midnight after it. Days of another zone than the report's name it.
func (b builder) span(source string, from, to time.Time) string {
	if to.Year() >= endless {
		to = time.Time{}
	}
	switch {
	case from.IsZero() && to.IsZero():
		return "–"
	case from.IsZero():
		return "until " + b.moment(to)
	case to.IsZero():
		return "from " + b.moment(from) + " on"
	}
	if zone := b.Zones[source]; zone != nil && wholeDays(from.In(zone), to.In(zone)) {
		text := days(from.In(zone), to.In(zone))
		if !wholeDays(from.In(b.zone()), to.In(b.zone())) {
			text += " (" + Visible(zone.String()) + ")"
		}
		return text
	}
	if first, end := from.In(b.zone()), to.In(b.zone()); wholeDays(first, end) {
		return days(first, end)
	}
	return b.moment(from) + " – " + b.moment(to)
}

func wholeDays(first, end time.Time) bool {
	return midnight(first) && midnight(end) && end.After(first)
}

// days writes whole days by their first and last.
func days(first, end time.Time) string {
	last := end.AddDate(0, 0, -1)
	switch {
	case first.Format(time.DateOnly) == last.Format(time.DateOnly):
		return first.Format("2 Jan 2006")
	case first.Year() == last.Year() && first.Month() == last.Month():
		return first.Format("2") + "–" + last.Format("2 Jan 2006")
	case first.Year() == last.Year():
		return first.Format("2 Jan") + " – " + last.Format("2 Jan 2006")
	}
	return first.Format("2 Jan 2006") + " – " + last.Format("2 Jan 2006")
}

func midnight(local time.Time) bool {
	return local.Hour() == 0 && local.Minute() == 0 && local.Second() == 0 && local.Nanosecond() == 0
}

// legend explains the kinds and reasons that occur, in order of their titles.
func (b builder) legend() []legendEntry {
	var out []legendEntry
	for _, k := range kindCounts(b.Exceptions) {
		word := b.words.Of(k.kind)
		if word.Meaning != "" {
			out = append(out, legendEntry{word.Title, Visible(k.kind), word.Meaning, word.Do})
		}
	}
	return out
}

func (b builder) footer() []fact {
	s := b.Summary
	return []fact{
		{"Run", orDash(s.RunID), true},
		{"Program", orDash(s.Version), true},
		{"Configuration", orDash(s.ConfigDigest), true},
		{"Started", b.moment(s.StartedAt), false},
		{"Finished", b.moment(s.FinishedAt), false},
		{"All times in", Visible(b.zone().String()), false},
	}
}

// orDash makes s visible, and an empty one too.
func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return Visible(s)
}
