package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

	"reconciler/journal"
	"reconciler/money"
	"reconciler/reports"
)

// storyWidth is the widest that the story gets; narrowest is what its table needs.
const (
	storyWidth = 100
	narrowest  = 76
)

// teller writes the story for people. After the first error it is silent, and
// err says why.
type teller struct {
	printer
	width    int
	coloured bool
}

func newTeller(w io.Writer, env func(string) (string, bool)) *teller {
	t := &teller{printer: printer{w: w}, width: storyWidth}
	file, ok := w.(*os.File)
	if !ok || !isTerminal(file) {
		return t
	}
	if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
		t.width = min(max(width, narrowest), storyWidth)
	}
	_, refused := env("NO_COLOR")
	kind, _ := env("TERM")
	t.coloured = !refused && kind != "dumb"
	return t
}

func (t *teller) paint(s string, colours ...text.Color) string {
	if !t.coloured {
		return s
	}
	return text.Colors(colours).Sprint(s)
}

// say writes a paragraph.
func (t *teller) say(format string, args ...any) {
	t.block(wrap(fmt.Sprintf(format, args...), t.width))
}

// block writes lines without the blanks at their ends.
func (t *teller) block(lines string) {
	for l := range strings.Lines(lines) {
		t.line("%s", strings.TrimRight(l, " \n"))
	}
}

// wrap breaks each line of a text at blanks.
func wrap(s string, width int) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = text.WrapSoft(l, width)
	}
	return strings.Join(lines, "\n")
}

func (t *teller) act(number int, title string) {
	head := fmt.Sprintf("━━ Act %d: %s ", number, title)
	t.line("\n%s\n", t.paint(head+strings.Repeat("━", max(t.width-text.StringWidth(head), 0)), text.Bold, text.FgCyan))
}

func (t *teller) begin(folder string) {
	t.line("%s", t.paint("reconciler demo", text.Bold))
	t.say("Tallow & Wick make candles. Their agents pay suppliers, send invoices and open tickets on their own, and write each of these "+
		"down in a journal before they call the provider. Sometimes the answer gets lost. Then nobody knows whether the money has left, "+
		"and paying again might pay twice. Everything of this demo is in the folder %s.", folder)
}

// journal is act 1.
func (t *teller) journal(all []scene) {
	t.act(1, "the journal, this morning")
	meaning := map[journal.Status]string{
		journal.Unknown:         "the call was made and the answer was lost",
		journal.Executing:       "a worker is at it, or died while it was",
		journal.FailedRetryable: "failed, as far as the worker knew; to be tried again",
		journal.Planned:         "not yet tried",
		journal.Succeeded:       "done, as far as the worker knew",
		journal.FailedFinal:     "failed for good, as far as the worker knew",
	}
	counts, operations := make(map[journal.Status]int), 0
	for _, s := range all {
		if s.status != "" {
			counts[s.status]++
			operations++
		}
	}
	t.say("%d operations are in it. Their workers left them as:", operations)
	t.line("")
	order := slices.SortedFunc(maps.Keys(counts), func(a, b journal.Status) int {
		if d := counts[b] - counts[a]; d != 0 {
			return d
		}
		return strings.Compare(string(a), string(b))
	})
	for _, status := range order {
		t.line("  %3d  %s  %s", counts[status], t.paint(fmt.Sprintf("%-17s", status), text.FgYellow), meaning[status])
	}
}

// firstRun is act 2.
func (t *teller) firstRun(d *demo, refused map[string]string, sum reports.Summary, found map[string]conclusion) {
	t.act(2, "the statements come, and the run")
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		why, _, _ := strings.Cut(refused[name], ";")
		t.say("One of the bank's files is refused as a whole, and nothing in it counts: %s (%s). Then it comes again, complete.", name, why)
		t.line("")
	}
	t.say("%d statements are read, %d records. Then every operation is looked up in them:", sum.Statements.Accepted+sum.Statements.Duplicate, d.records())
	for _, c := range d.chapters {
		t.chapter(d, c, found)
	}
	o := sum.Operations
	t.line("")
	t.say("%d operations examined, %d moved by proof: %d → succeeded, %d → failed_final, %d → failed_retryable (may be tried again). "+
		"%d wait for proof. %d cases are open for people. What no statement proves was left as it was.",
		o.Examined, o.Succeeded+o.FailedFinal+o.FailedRetryable, o.Succeeded, o.FailedFinal, o.FailedRetryable, o.Pending, sum.Exceptions.StillOpen)
	t.warn(sum)
}

// warn says why a run is incomplete, which in this story it never is.
func (t *teller) warn(sum reports.Summary) {
	for _, why := range sum.Incomplete {
		t.say("! The run is incomplete: %s", why)
	}
}

func (t *teller) chapter(d *demo, c chapter, found map[string]conclusion) {
	t.line("\n%s  %s", t.paint(c.title, text.Bold), t.paint("("+c.note+")", text.Faint))
	w := t.table()
	for _, s := range c.scenes {
		t.row(w, d, s, found[s.key])
	}
	t.block(w.Render())
}

// table has the four columns of the story.
func (t *teller) table() table.Writer {
	w := newTable(nil, t.paint("operation", text.Faint), t.paint("what happened", text.Faint),
		t.paint("what is concluded", text.Faint), t.paint("what comes next", text.Faint))
	style := *w.Style()
	style.Format.Header = text.FormatDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Options.SeparateHeader, style.Options.SeparateRows = true, !t.coloured
	style.Box.MiddleHorizontal = "─"
	w.SetStyle(style)
	room := t.width - 2*4 // each column is followed by two blanks
	first, last := room*22/100, room*21/100
	middle := (room - first - last) / 2
	widths := []int{first, room - first - last - middle, middle, last}
	configs := make([]table.ColumnConfig, len(widths))
	for i, width := range widths {
		configs[i] = table.ColumnConfig{Number: i + 1, WidthMin: width, WidthMax: width, WidthMaxEnforcer: wrap}
	}
	w.SetColumnConfigs(configs)
	return w
}

func (t *teller) row(w table.Writer, d *demo, s scene, c conclusion) {
	operation := t.paint(s.key, text.Bold) + "\n" + s.who
	if s.currency != "" {
		operation += "\n" + money.FormatMinor(s.minor, s.currency) + " " + s.currency
	}
	m := meaningOf(c)
	code := string(c.Reason)
	if c.Status != "" && c.Status != c.Before {
		code += " → " + string(c.Status)
	}
	colour := text.FgGreen
	switch {
	case m.exception:
		colour = text.FgRed
	case !c.Status.Terminal():
		colour = text.FgYellow
	}
	next := m.next
	switch {
	case c.NotAfter != nil && c.MayRetry:
		next += " until " + d.clock(*c.NotAfter)
	case c.ProvableAt != nil && !m.exception:
		next += " from " + d.clock(*c.ProvableAt)
	}
	story := s.story
	if s.later != "" && s.then == c.Reason && s.then != s.want {
		story = s.later
	}
	w.AppendRow(table.Row{operation, story, m.words + "\n" + t.paint(code, colour), next})
}

// clock writes an instant of the story where the company is.
func (d *demo) clock(at time.Time) string { return at.In(d.zone).Format("2 Jan 15:04") }

// records counts the lines that all statements of the first run show.
func (d *demo) records() int64 {
	var n int64
	for _, run := range d.out.Runs {
		n += run.Records.Read
	}
	return n + d.ingested
}

// correction is act 3.
func (t *teller) correction(d *demo, name string, sum reports.Summary, found map[string]conclusion) {
	t.act(3, "the bank corrects itself")
	t.say("Later the bank issues the statement of %s once more, with other content (%s). "+
		"Everything that rested on the first version is looked at again:", d.providers.date(correctedDay).Format("2 January"), name)
	t.line("")
	w := t.table()
	for _, s := range d.scenes {
		if s.later != "" {
			c := found[s.key]
			c.Before = c.Status // moved before, not now
			t.row(w, d, s, c)
		}
	}
	t.block(w.Render())
	t.line("")
	t.say("No status is ever turned back on its own: the journal still says succeeded, and people hear of it at once "+
		"(%d new cases, %d open now).", sum.Exceptions.Opened, sum.Exceptions.StillOpen)
	t.warn(sum)
}

// sameAgain is act 4.
func (t *teller) sameAgain(sum reports.Summary, rows, added int64) {
	t.act(4, "the same run again")
	s, o := sum.Statements, sum.Operations
	t.line("  %-12s %d new, %d known already", "statements", s.Accepted, s.Duplicate)
	t.line("  %-12s %d new, %d changed", "records", sum.Records.New, sum.Records.Changed)
	t.line("  %-12s %d looked at, %d moved", "operations", o.Examined, len(sum.Transitions))
	t.line("  %-12s %d opened, %d closed, %d still open", "cases", sum.Exceptions.Opened, sum.Exceptions.AutoResolved, sum.Exceptions.StillOpen)
	t.line("  %-12s %d more in all tables together (%s), but for the entry of the run itself", "rows", added, thousands(rows))
	t.line("")
	t.say("A run may be repeated, or killed at any moment and repeated: it ends the same.")
	t.warn(sum)
}

// end says what is where, and what to try.
func (t *teller) end(d *demo, took time.Duration) {
	t.line("\n%s\n", t.paint(strings.Repeat("━", t.width), text.FgCyan))
	for _, file := range d.out.Report {
		what := "the same report"
		switch {
		case strings.Contains(file, firstReport):
			what = "the report of the first run, with all that it settled"
		case strings.HasSuffix(file, ".html"):
			what = "the report of the last run: open it in a browser"
		case strings.HasSuffix(file, ".xlsx"):
			what = "for finance, as a workbook"
		case strings.HasSuffix(file, ".csv"):
			what = "for finance, as a table"
		case strings.HasSuffix(file, ".json"):
			what = "for programs"
		}
		t.line("  %s  %s", t.paint(fmt.Sprintf("%-43s", file), text.Bold), what)
	}
	t.line("  %-43s  what the providers delivered", d.name+"/statements/")
	t.line("  %-43s  sources, policies and the job, with comments", d.out.Config)
	t.line("\nTry next, for instance:\n")
	for _, try := range demoNext() {
		t.line("  %s", t.paint("reconciler --config "+d.out.Config+" "+try, text.FgCyan))
	}
	t.line("\nTold in %.1f seconds.", took.Seconds())
}

// demoNext are commands that show more of the demo's deployment.
func demoNext() []string {
	return []string{"exceptions list", "explain TW-1010", "run --dry-run"}
}
