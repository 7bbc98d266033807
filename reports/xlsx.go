package reports

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/xuri/excelize/v2"

	"reconciler/money"
)

const (
	// cellLimit is the most UTF-16 units that a spreadsheet keeps in a cell.
	cellLimit = 32767
	// sheetRows is the most rows that a sheet has, the header included.
	sheetRows = 1 << 20
)

// WriteXLSX writes a workbook with a summary sheet and the open exceptions,
// one row each. Amounts are numbers with the format of their currency and,
// beside it, exact text; ids are text; times are dates in the report's zone,
// which the header names. No cell is a formula. Large sheets spill into the
// system's temporary folder while they are made.
func WriteXLSX(w io.Writer, r Report) error {
	return fillXLSX(w, r, "", sheetRows)
}

// fillXLSX writes a workbook with its spill files in tmpDir (empty: the
// system's) and at most maxRows rows on a sheet.
func fillXLSX(w io.Writer, r Report, tmpDir string, maxRows int) (err error) {
	f := excelize.NewFile(excelize.Options{TmpDir: tmpDir})
	defer func() {
		if closeErr := f.Close(); err == nil && closeErr != nil {
			err = fmt.Errorf("remove spill files of workbook: %w", closeErr)
		}
	}()
	f.SetZipWriter(func(io.Writer) excelize.ZipWriter { return newSortedZip(w) })
	book := &workbook{file: f, report: r.ordered(), words: NewWords(), maxRows: maxRows, money: map[int]int{}}
	for _, step := range []func() error{book.makeStyles, book.properties, book.summary, book.exceptions} {
		if err := step(); err != nil {
			return fmt.Errorf("make workbook of run %s: %w", r.Summary.RunID, err)
		}
	}
	if err := f.Write(w); err != nil {
		return fmt.Errorf("write workbook of run %s: %w", r.Summary.RunID, err)
	}
	return nil
}

// workbook carries what the sheets share.
type workbook struct {
	file    *excelize.File
	report  Report
	words   Words
	maxRows int

	heading, headingRight, title, label, plain, wrapped, date, number int
	// severity maps a severity to its cell style, money a currency exponent to its.
	severity map[string]int
	money    map[int]int
}

// properties sets the document's own times to those of the run, so that the
// same report gives the same bytes.
func (b *workbook) properties() error {
	at := b.report.GeneratedAt.UTC().Format(time.RFC3339)
	return b.file.SetDocProps(&excelize.DocProperties{
		Creator: "reconciler " + Visible(b.report.Summary.Version), Created: at, Modified: at,
		Title: "Exceptions of " + Visible(b.report.Summary.Job), Identifier: Visible(b.report.Summary.RunID),
	})
}

// text returns a text cell: visible, cut at the cell limit, never a formula.
func (b *workbook) text(s string, style int) excelize.Cell {
	return excelize.Cell{StyleID: style, Value: cut(Visible(s), cellLimit)}
}

// at returns a date cell with the wall clock of the report's zone; dates have
// no zone of their own in a spreadsheet.
func (b *workbook) at(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return excelize.Cell{StyleID: b.date, Value: t.In(b.report.zone()).Truncate(time.Second)}
}

// amount returns a number cell with the digits of its currency. A spreadsheet
// keeps about fifteen digits of a number; an amount that would lose some is
// written as text, which no sum takes for a number.
func (b *workbook) amount(minor int64, currency string) (any, error) {
	exact, ok := decimal(minor, currency)
	if !ok {
		return excelize.Cell{}, nil
	}
	exponent, _ := money.Exponent(currency)
	style, err := b.moneyStyle(exponent)
	if err != nil {
		return nil, err
	}
	// The library takes numbers as floating point only. The value is parsed
	// from the exact text and used only if it prints as the same text again.
	number, err := strconv.ParseFloat(exact, 64)
	if err != nil {
		return nil, fmt.Errorf("read amount %s: %w", exact, err)
	}
	if digits(minor) > 15 || strconv.FormatFloat(number, 'f', exponent, 64) != exact {
		return b.text(exact, b.plain), nil
	}
	return excelize.Cell{StyleID: style, Value: number}, nil
}

// digits counts the decimal digits of a number.
func digits(n int64) int {
	text := strconv.FormatInt(n, 10)
	if n < 0 {
		return len(text) - 1
	}
	return len(text)
}

// exceptions writes the exceptions, on as many sheets as they need.
func (b *workbook) exceptions() error {
	rest := b.report.Exceptions
	perSheet := b.maxRows - 1
	for n := 1; n == 1 || len(rest) > 0; n++ {
		part := rest[:min(len(rest), perSheet)]
		rest = rest[len(part):]
		name := "Exceptions"
		if n > 1 {
			name += " " + strconv.Itoa(n)
		}
		if err := b.exceptionSheet(name, part); err != nil {
			return fmt.Errorf("fill sheet %s: %w", name, err)
		}
	}
	return nil
}

func (b *workbook) exceptionSheet(name string, exceptions []Exception) error {
	if _, err := b.file.NewSheet(name); err != nil {
		return err
	}
	columns := b.columns()
	last, err := excelize.CoordinatesToCellName(len(columns), len(exceptions)+1)
	if err != nil {
		return err
	}
	if err := b.file.AutoFilter(name, "A1:"+last, nil); err != nil {
		return err
	}
	if err := b.printing(name, "landscape"); err != nil {
		return err
	}
	if err := b.printedPart(name, len(exceptions)+1); err != nil {
		return err
	}
	sheet, err := b.file.NewStreamWriter(name)
	if err != nil {
		return err
	}
	if err := sheet.SetPanes(&excelize.Panes{
		Freeze: true, XSplit: 2, YSplit: 1, TopLeftCell: "C2", ActivePane: "bottomRight",
	}); err != nil {
		return err
	}
	header := make([]any, len(columns))
	for i, c := range columns {
		if err := sheet.SetColWidth(i+1, i+1, characters(c.width)); err != nil {
			return err
		}
		style := b.heading
		if c.number {
			style = b.headingRight
		}
		header[i] = b.text(c.title, style)
	}
	if err := sheet.SetRow("A1", header, excelize.RowOpts{Height: 32}); err != nil {
		return err
	}
	if err := b.exceptionRows(sheet, columns, exceptions); err != nil {
		return err
	}
	return sheet.Flush()
}

func (b *workbook) exceptionRows(sheet *excelize.StreamWriter, columns []column, exceptions []Exception) error {
	cells := make([]any, len(columns))
	for i, e := range exceptions {
		line := xlsxLine{Exception: e, row: b.report.row(e, b.words)}
		for j, c := range columns {
			cell, err := c.cell(line)
			if err != nil {
				return fmt.Errorf("exception %s: %w", e.ExceptionID, err)
			}
			cells[j] = cell
		}
		if err := sheet.SetRow("A"+strconv.Itoa(i+2), cells, height(string(line.row.WhatToDo), adviceWidth-6)); err != nil {
			return fmt.Errorf("exception %s: %w", e.ExceptionID, err)
		}
	}
	return nil
}

// printing makes a sheet print on A4, one page wide, with its name and the
// page number at the foot.
func (b *workbook) printing(name, orientation string) error {
	a4, wide, tall, fit := 9, 1, 0, true
	if err := b.file.SetSheetProps(name, &excelize.SheetPropsOptions{FitToPage: &fit}); err != nil {
		return err
	}
	if err := b.file.SetPageLayout(name, &excelize.PageLayoutOptions{
		Orientation: &orientation, Size: &a4, FitToWidth: &wide, FitToHeight: &tall,
	}); err != nil {
		return err
	}
	return b.file.SetHeaderFooter(name, &excelize.HeaderFooterOptions{OddFooter: "&L&A&RPage &P of &N"})
}

// printedColumns are the columns that are worth paper: all up to the assignee.
const printedColumns = 14

// printedPart prints the first row on every page, and only the columns that
// are still readable on one.
func (b *workbook) printedPart(name string, rows int) error {
	if err := b.file.SetDefinedName(&excelize.DefinedName{
		Name: "_xlnm.Print_Titles", RefersTo: "'" + name + "'!$1:$1", Scope: name,
	}); err != nil {
		return err
	}
	last, err := excelize.CoordinatesToCellName(printedColumns, rows, true)
	if err != nil {
		return err
	}
	return b.file.SetDefinedName(&excelize.DefinedName{
		Name: "_xlnm.Print_Area", RefersTo: "'" + name + "'!$A$1:" + last, Scope: name,
	})
}

// height returns the height of a row in points, so that what is to be done
// can be read without dragging. Programs that open the file don't agree on
// whether they should find it themselves.
func height(advice string, width int) excelize.RowOpts {
	const line, most = 15, 6
	lines := (utf16Len(advice) + width - 1) / width
	return excelize.RowOpts{Height: line * characters(min(max(lines, 1), most))}
}
