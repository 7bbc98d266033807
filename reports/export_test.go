package reports

// WriteXLSXRows writes a workbook with so few rows on a sheet that a test
// reaches the end of one.
var WriteXLSXRows = fillXLSX

// Cut cuts text for a cell.
var Cut = cut
