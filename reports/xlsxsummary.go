package reports

import (
	"errors"
	"strconv"
	"strings"

	"github.com/xuri/excelize/v2"
)

// sheetLines collects the rows of a small sheet.
type sheetLines struct {
	sheet *excelize.StreamWriter
	next  int
	err   error
}

// add writes one row; after an error it does nothing.
func (s *sheetLines) add(cells ...any) {
	if s.err != nil {
		return
	}
	s.next++
	s.err = s.sheet.SetRow("A"+strconv.Itoa(s.next), cells)
}

// summary writes the first sheet: verdict, counts, money at risk, kinds.
func (b *workbook) summary() error {
	const name = "Summary"
	if err := b.file.SetSheetName("Sheet1", name); err != nil {
		return err
	}
	if err := b.printing(name, "portrait"); err != nil {
		return err
	}
	sheet, err := b.file.NewStreamWriter(name)
	if err != nil {
		return err
	}
	for i, width := range []int{36, 26, 10, 20, 20} {
		if err := sheet.SetColWidth(i+1, i+1, characters(width)); err != nil {
			return err
		}
	}
	lines := &sheetLines{sheet: sheet}
	b.summaryHead(lines)
	b.summaryCounts(lines)
	b.summaryMoney(lines)
	b.summaryKinds(lines)
	if lines.err != nil {
		return lines.err
	}
	return sheet.Flush()
}

func (b *workbook) summaryHead(lines *sheetLines) {
	s := b.report.Summary
	verdict := b.words.Of(s.Verdict)
	lines.add(b.text("Reconciliation "+s.Job, b.title))
	if s.DryRun {
		lines.add(b.text("Rehearsal: nothing of this was stored.", b.plain))
	}
	lines.add()
	lines.add(b.text("Verdict", b.label), b.text(verdict.Title, b.plain))
	lines.add(nil, b.text(verdict.Meaning, b.plain))
	for _, reason := range s.Incomplete {
		lines.add(b.text("Incomplete because", b.label), b.text(reason, b.plain))
	}
	for _, c := range b.report.Coverage {
		lines.add(b.text("Covered, "+strings.Trim(c.Source+" / "+c.Account, " /"), b.label), b.text(b.report.coveredWords(c), b.plain))
	}
	lines.add(b.text("Time zone of this report", b.label), b.text(b.report.zone().String(), b.plain))
	lines.add(b.text("Started", b.label), b.at(s.StartedAt))
	lines.add(b.text("Finished", b.label), b.at(s.FinishedAt))
	lines.add(b.text("Run", b.label), b.text(s.RunID, b.plain))
	lines.add(b.text("Program", b.label), b.text(s.Version, b.plain))
	lines.add(b.text("Configuration", b.label), b.text(s.ConfigDigest, b.plain))
	lines.add()
}

func (b *workbook) summaryCounts(lines *sheetLines) {
	s := b.report.Summary
	for _, c := range []struct {
		label string
		n     int
	}{
		{"Open exceptions", len(b.report.Exceptions)},
		{"  opened by this run", s.Exceptions.Opened},
		{"  closed by this run", s.Exceptions.AutoResolved},
		{"Operations examined", s.Operations.Examined},
		{"  settled by this run", len(b.report.Settled)},
		{"  waiting for proof", len(b.report.Waiting)},
		{"Statements accepted", s.Statements.Accepted},
		{"  quarantined", s.Statements.Quarantined},
		{"  known already", s.Statements.Duplicate},
	} {
		lines.add(b.text(c.label, b.label), b.count(c.n))
	}
	lines.add()
}

func (b *workbook) summaryMoney(lines *sheetLines) {
	totals, without := risks(b.report.Exceptions)
	lines.add(b.text("Money at risk", b.heading), b.text("Sum", b.headingRight), b.text("Cases", b.headingRight),
		b.text("Of it critical", b.headingRight), b.text("Largest case", b.headingRight))
	for _, t := range totals {
		sum, sumErr := b.amount(t.Minor, t.Currency)
		critical, criticalErr := b.amount(t.Critical, t.Currency)
		largest, largestErr := b.amount(t.Largest, t.Currency)
		if err := errors.Join(sumErr, criticalErr, largestErr); err != nil {
			lines.err = err
			return
		}
		name := t.Currency
		if t.Over {
			name += ", more than"
		}
		lines.add(b.text(name, b.plain), sum, b.count(t.Cases), critical, largest)
	}
	if n := without.count(); n > 0 {
		lines.add(b.text("Cases without an amount", b.label), nil, b.count(n))
		for _, sentence := range without.sentences(b.words) {
			lines.add(nil, b.text(sentence, b.plain))
		}
	}
	lines.add()
}

func (b *workbook) summaryKinds(lines *sheetLines) {
	lines.add(b.text("Problem", b.heading), b.text("Code", b.heading), b.text("Cases", b.headingRight))
	for _, k := range kindCounts(b.report.Exceptions) {
		lines.add(b.text(b.words.Of(k.kind).Title, b.plain), b.text(k.kind, b.plain), b.count(k.n))
	}
}
