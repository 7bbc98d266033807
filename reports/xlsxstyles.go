package reports

import (
	"strings"

	"github.com/xuri/excelize/v2"
)

// makeStyles registers the cell styles, always in the same order.
func (b *workbook) makeStyles() error {
	font := &excelize.Font{Family: "Calibri", Size: 11}
	top := &excelize.Alignment{Vertical: "top"}
	// Numbers end where text would begin; the indent keeps them apart.
	left := &excelize.Alignment{Vertical: "top", Horizontal: "left", Indent: 1}
	const asText = 49 // the built-in format "@"
	stamp := "yyyy-mm-dd hh:mm"
	for _, s := range []struct {
		id    *int
		style excelize.Style
	}{
		{&b.plain, excelize.Style{Font: font, Alignment: left, NumFmt: asText}},
		{&b.wrapped, excelize.Style{Font: font, Alignment: &excelize.Alignment{Vertical: "top", Horizontal: "left", Indent: 1, WrapText: true}, NumFmt: asText}},
		{&b.date, excelize.Style{Font: font, Alignment: left, CustomNumFmt: &stamp}},
		{&b.number, excelize.Style{Font: font, Alignment: top, NumFmt: 3}},
		{&b.label, excelize.Style{Font: &excelize.Font{Family: "Calibri", Size: 11, Color: "5A6472"}, Alignment: left}},
		{&b.title, excelize.Style{Font: &excelize.Font{Family: "Calibri", Size: 16, Bold: true, Color: "17212F"}}},
		{&b.heading, headingStyle("left")},
		{&b.headingRight, headingStyle("right")},
	} {
		id, err := b.file.NewStyle(&s.style)
		if err != nil {
			return err
		}
		*s.id = id
	}
	return b.severityStyles()
}

func headingStyle(side string) excelize.Style {
	return excelize.Style{
		Font:      &excelize.Font{Family: "Calibri", Size: 11, Bold: true, Color: "FFFFFF"},
		Fill:      excelize.Fill{Type: "pattern", Pattern: 1, Color: []string{"26384F"}},
		Alignment: &excelize.Alignment{Vertical: "center", Horizontal: side, Indent: 1, WrapText: true},
	}
}

// severityStyles colours the severity cells as the HTML report does.
func (b *workbook) severityStyles() error {
	b.severity = map[string]int{}
	for _, s := range []struct{ severity, ink, paper string }{
		{severityCritical, "8F1D14", "FBE4E1"},
		{severityHigh, "7A3E00", "FDEBD3"},
		{severityMedium, "5C4A00", "FBF3CC"},
		{severityLow, "3B4755", "EAEEF3"},
	} {
		id, err := b.file.NewStyle(&excelize.Style{
			Font:      &excelize.Font{Family: "Calibri", Size: 11, Bold: true, Color: s.ink},
			Fill:      excelize.Fill{Type: "pattern", Pattern: 1, Color: []string{s.paper}},
			Alignment: &excelize.Alignment{Vertical: "top", Horizontal: "left", Indent: 1},
			NumFmt:    49,
		})
		if err != nil {
			return err
		}
		b.severity[s.severity] = id
	}
	return nil
}

// moneyStyle returns the style of amounts with so many digits behind the mark.
func (b *workbook) moneyStyle(exponent int) (int, error) {
	if id, ok := b.money[exponent]; ok {
		return id, nil
	}
	format := "#,##0"
	if exponent > 0 {
		format += "." + strings.Repeat("0", exponent)
	}
	id, err := b.file.NewStyle(&excelize.Style{
		Font:         &excelize.Font{Family: "Calibri", Size: 11},
		Alignment:    &excelize.Alignment{Vertical: "top"},
		CustomNumFmt: &format,
	})
	if err != nil {
		return 0, err
	}
	b.money[exponent] = id
	return id, nil
}

// count returns a whole-number cell.
func (b *workbook) count(n int) excelize.Cell {
	return excelize.Cell{StyleID: b.number, Value: n}
}

// characters turns a width in characters into the type that the library asks for.
func characters(n int) float64 { //nolint:forbidigo // the width of a column, not money
	return float64(n) //nolint:forbidigo // the width of a column, not money
}
