package sources

import "strings"

// CSV is the form of a delimited text file (`sources.NAME.csv`).
type CSV struct {
	// Delimiter between cells, one ASCII character; default ",".
	Delimiter string `yaml:"delimiter,omitempty" json:"delimiter,omitempty"`
	// Encoding by any of its usual names (windows-1251); default utf-8.
	Encoding string `yaml:"encoding,omitempty" json:"encoding,omitempty"`
	// HeaderRow is the physical line of the header, from 1; the lines before
	// it are the preamble. Default 1; 0 says that there is no header, so that
	// columns are named by number.
	HeaderRow *int `yaml:"header_row,omitempty" json:"header_row,omitempty"`
	// Header finds the header by what stands in it, instead of by its line.
	Header *Header `yaml:"header,omitempty" json:"header,omitempty"`
	// Quote is "double" (default), "single", or "none" where quotes are plain
	// characters.
	Quote string `yaml:"quote,omitempty" json:"quote,omitempty"`
	// Comment begins a line that is no row ("#"); empty: there is none.
	Comment string `yaml:"comment,omitempty" json:"comment,omitempty"`
	// Ignore is a regular expression on the first cell of rows that are no
	// data: section heads, subtotals. They may have any width.
	Ignore string `yaml:"ignore,omitempty" json:"ignore,omitempty"`
	// SkipBlank skips rows of which every cell is blank. Empty lines are
	// skipped always.
	SkipBlank bool `yaml:"skip_blank,omitempty" json:"skip_blank,omitempty"`
	// Ragged says what a row of the wrong width is: "refuse" (default) the
	// whole file, or "reject" the row.
	Ragged string `yaml:"ragged,omitempty" json:"ragged,omitempty"`
	// TrimEnd: empty cells at the end of the header and of rows don't count.
	TrimEnd bool `yaml:"trim_end,omitempty" json:"trim_end,omitempty"`
	// RepeatedHeader says what a row is that equals the header exactly:
	// "refuse" (default) the whole file, or "skip" it with a note.
	RepeatedHeader string `yaml:"repeated_header,omitempty" json:"repeated_header,omitempty"`
	// Unwrap takes ="00123" for 00123, as spreadsheets protect digits.
	Unwrap bool `yaml:"unwrap,omitempty" json:"unwrap,omitempty"`
}

// Header finds the row of the header by its content. Exactly one of Contains
// and Match is set.
type Header struct {
	// Contains are headers that all stand in the row.
	Contains []string `yaml:"contains,omitempty" json:"contains,omitempty"`
	// Match is a regular expression on the whole line.
	Match string `yaml:"match,omitempty" json:"match,omitempty"`
	// Within how many lines it must be found; default 100.
	Within int `yaml:"within,omitempty" json:"within,omitempty"`
}

// Rows says by a column which rows are records, and of which kind
// (`sources.NAME.rows`).
type Rows struct {
	Column *Column `yaml:"column" json:"column"`
	// Map gives for each word of the provider a kind, "record" (a record whose
	// kind fields.kind tells) or "skip". A word may end in * for every word
	// that begins so; the longest one holds.
	Map map[string]string `yaml:"map" json:"map"`
	// Default is what all other words are; empty: a reject.
	Default string `yaml:"default,omitempty" json:"default,omitempty"`
	// AnyCase: upper and lower case are the same.
	AnyCase bool `yaml:"any_case,omitempty" json:"any_case,omitempty"`
}

// The two targets of Rows.Map that are no kinds.
const (
	RowRecord = "record"
	RowSkip   = "skip"
)

// Mapping says which field of a record comes from where in a row. It is the
// configuration's form (`sources.NAME.fields`), compiled once by each format.
type Mapping struct {
	Account             *Field `yaml:"account,omitempty" json:"account,omitempty"`
	ProviderOperationID *Field `yaml:"provider_operation_id,omitempty" json:"provider_operation_id,omitempty"`
	IdempotencyKey      *Field `yaml:"idempotency_key,omitempty" json:"idempotency_key,omitempty"`
	BusinessReference   *Field `yaml:"business_reference,omitempty" json:"business_reference,omitempty"`
	Amount              *Field `yaml:"amount,omitempty" json:"amount,omitempty"`
	Currency            *Field `yaml:"currency,omitempty" json:"currency,omitempty"`
	Direction           *Field `yaml:"direction,omitempty" json:"direction,omitempty"`
	Kind                *Field `yaml:"kind,omitempty" json:"kind,omitempty"`
	Status              *Field `yaml:"status,omitempty" json:"status,omitempty"`
	OccurredAt          *Field `yaml:"occurred_at,omitempty" json:"occurred_at,omitempty"`
	BookedAt            *Field `yaml:"booked_at,omitempty" json:"booked_at,omitempty"`
	SettledAt           *Field `yaml:"settled_at,omitempty" json:"settled_at,omitempty"`
	Fee                 *Field `yaml:"fee,omitempty" json:"fee,omitempty"`
	Net                 *Field `yaml:"net,omitempty" json:"net,omitempty"`
	BatchID             *Field `yaml:"batch_id,omitempty" json:"batch_id,omitempty"`
	RelatedID           *Field `yaml:"related_id,omitempty" json:"related_id,omitempty"`
}

// Field is where one field of a record comes from, and how it is read. Exactly
// one of Column and Value is set; an amount may have Debit and Credit instead,
// a fee Columns.
type Field struct {
	// Column is a header, or the number of a column from 1 (written as a YAML
	// integer; a quoted "3" is a header called 3).
	Column *Column `yaml:"column,omitempty" json:"column,omitempty"`
	// Value is a constant for every row.
	Value *string `yaml:"value,omitempty" json:"value,omitempty"`
	// Extract is a regular expression that finds the value inside a longer
	// text: its first group if it has one, else the whole match. An extracted
	// business reference matches in tier 4 only; two different matches in one
	// text are both kept.
	Extract string `yaml:"extract,omitempty" json:"extract,omitempty"`
	// Map translates the provider's words (status, kind, direction, currency).
	// A word that is not in it is a reject, unless Default says what it is.
	Map map[string]string `yaml:"map,omitempty" json:"map,omitempty"`
	// Default is what every word outside of Map means, the empty one included.
	Default *string `yaml:"default,omitempty" json:"default,omitempty"`
	// AnyCase: upper and lower case of words are the same.
	AnyCase bool `yaml:"any_case,omitempty" json:"any_case,omitempty"`

	// Debit and Credit are the two columns of an amount (or net) that has one
	// for each direction. Exactly one of them is filled in each row.
	Debit  *Side `yaml:"debit,omitempty" json:"debit,omitempty"`
	Credit *Side `yaml:"credit,omitempty" json:"credit,omitempty"`
	// Columns of a fee that is given in parts; empty cells count nothing.
	Columns []Column `yaml:"columns,omitempty" json:"columns,omitempty"`
	// Decimal mark and digit grouping of amounts; the default is "." and none.
	Decimal string `yaml:"decimal,omitempty" json:"decimal,omitempty"`
	Group   string `yaml:"group,omitempty" json:"group,omitempty"`
	// Unit is "major" (default) or "minor": the number counts the currency's
	// smallest unit and has no decimals.
	Unit string `yaml:"unit,omitempty" json:"unit,omitempty"`
	// TrailingZeros allows more decimals than the currency has, if they are zeros.
	TrailingZeros bool `yaml:"trailing_zeros,omitempty" json:"trailing_zeros,omitempty"`
	// Marks are words inside the cell, before or behind the number, that say
	// the direction: CR, DR. The empty one stands for a cell without a mark.
	Marks map[string]string `yaml:"marks,omitempty" json:"marks,omitempty"`
	// Symbols are currency signs or codes inside the cell, and the currency
	// for which each stands. The empty one stands for a cell without a symbol.
	Symbols map[string]string `yaml:"symbols,omitempty" json:"symbols,omitempty"`
	// Equals is the sum that a net amount is in each row: "amount + fee"
	// (default; a fee that is taken off is negative) or "amount - fee".
	Equals string `yaml:"equals,omitempty" json:"equals,omitempty"`
	// Exponents are the decimals that this provider gives a currency, where
	// they are not those of ISO 4217.
	Exponents map[string]int `yaml:"exponents,omitempty" json:"exponents,omitempty"`

	// Layout of times, in the form of Go's time package: "02.01.2006"; or
	// "unix" or "unix_ms". The default is RFC 3339. A layout without hours
	// gives a day.
	Layout string `yaml:"layout,omitempty" json:"layout,omitempty"`
	// Layouts are several, no two of which read one text as different times.
	Layouts []string `yaml:"layouts,omitempty" json:"layouts,omitempty"`
	// TimeColumn has the time of day, where Column has the day; the layout is
	// that of both with a blank between them.
	TimeColumn *Column `yaml:"time_column,omitempty" json:"time_column,omitempty"`
	// Timezone of this field, where it is not the source's.
	Timezone string `yaml:"timezone,omitempty" json:"timezone,omitempty"`
	// ZoneColumn names the zone of each row: by IANA name or offset, or by a
	// word in Zones.
	ZoneColumn *Column `yaml:"zone_column,omitempty" json:"zone_column,omitempty"`
	// Zones translates abbreviations to IANA names or offsets (+02:00): those
	// in ZoneColumn, or those at the end of the cell where the layout has MST.
	Zones map[string]string `yaml:"zones,omitempty" json:"zones,omitempty"`

	// Fold declares when two references that differ are still the same (tier 4).
	Fold *Fold `yaml:"fold,omitempty" json:"fold,omitempty"`
	// UniquePer: "day" where the provider's ids restart every day.
	UniquePer string `yaml:"unique_per,omitempty" json:"unique_per,omitempty"`
}

// Side is one of the two columns of an amount.
type Side struct {
	Column *Column `yaml:"column" json:"column"`
	// Sign says whether its numbers bear a minus: "none" (default), "minus"
	// (always), or "any" (it says nothing more than the column does).
	Sign string `yaml:"sign,omitempty" json:"sign,omitempty"`
}

// Column names a column by header or by number.
type Column struct {
	Header string
	// Number from 1; 0 if the column is named by its header.
	Number int
}

// Fold declares how references are folded on both sides before tier 4 compares them.
type Fold struct {
	// Case: upper and lower case are the same.
	Case bool `yaml:"case,omitempty" json:"case,omitempty"`
	// Blanks are dropped, wherever they stand.
	Blanks bool `yaml:"blanks,omitempty" json:"blanks,omitempty"`
	// Punctuation (everything but letters and digits) is dropped, blanks included.
	Punctuation bool `yaml:"punctuation,omitempty" json:"punctuation,omitempty"`
	// Prefix and Suffix that the provider puts around our reference are cut off.
	Prefix string `yaml:"prefix,omitempty" json:"prefix,omitempty"`
	Suffix string `yaml:"suffix,omitempty" json:"suffix,omitempty"`
	// Length at which the provider cuts references, in characters; 0 = it does not.
	Length int `yaml:"length,omitempty" json:"length,omitempty"`
}

// Completeness says which time a document speaks of and what proves its end.
// Whatever of it is configured must be there and agree, or the document is
// refused.
type Completeness struct {
	Period *PeriodRule `yaml:"period,omitempty" json:"period,omitempty"`
	// AsOf is where the document says up to which moment it speaks.
	AsOf   *Place  `yaml:"as_of,omitempty" json:"as_of,omitempty"`
	Footer *Footer `yaml:"footer,omitempty" json:"footer,omitempty"`
	// Count and Sum are declared outside of the rows and of the footer.
	Count    *Place    `yaml:"count,omitempty" json:"count,omitempty"`
	Sum      *Place    `yaml:"sum,omitempty" json:"sum,omitempty"`
	Balances *Balances `yaml:"balances,omitempty" json:"balances,omitempty"`
	Sequence *Sequence `yaml:"sequence,omitempty" json:"sequence,omitempty"`
	Manifest *Manifest `yaml:"manifest,omitempty" json:"manifest,omitempty"`
	Parts    *Parts    `yaml:"parts,omitempty" json:"parts,omitempty"`
	// End is "proven" (default) or "assumed".
	End string `yaml:"end,omitempty" json:"end,omitempty"`
}

// Proves reports that something is configured that can prove the end. A
// sequence and a running balance alone can't: they hold in every stump too.
func (c *Completeness) Proves() bool {
	b := c.Balances
	return c.Footer != nil || c.Count != nil || c.Sum != nil || c.Manifest != nil ||
		b != nil && b.Closing != nil && (b.Opening != nil || b.Running != nil)
}

// PeriodRule finds the period. Exactly one of Pattern, Cells, Columns and
// Daily is set. A date-only "to" is inclusive, in the source's zone.
type PeriodRule struct {
	// Pattern is a regular expression on the file name with groups from and to
	// (RFC 3339 or 2006-01-02), or one group day.
	Pattern string `yaml:"pattern,omitempty" json:"pattern,omitempty"`
	// Cells outside of the rows in which the document states its period.
	Cells *PeriodCells `yaml:"cells,omitempty" json:"cells,omitempty"`
	// Columns in which every row states the period of the document.
	Columns *PeriodColumns `yaml:"columns,omitempty" json:"columns,omitempty"`
	// Daily is the field (occurred_at, booked_at, settled_at) that has the
	// same day in all rows; the period is that day.
	Daily string `yaml:"daily,omitempty" json:"daily,omitempty"`
	// Layout of both ends where they are not ISO dates.
	Layout string `yaml:"layout,omitempty" json:"layout,omitempty"`
	// Inclusive: the end is the last second (or minute, as the layout has it)
	// of the period: 23:59:59.
	Inclusive bool `yaml:"inclusive,omitempty" json:"inclusive,omitempty"`
}

// WithTimes reports that periods may begin or end inside a day: records
// without an id are then told apart by their time, not only by their day.
func (r *PeriodRule) WithTimes() bool {
	switch {
	case r == nil || r.Daily != "":
		return false
	case r.Layout != "":
		return strings.Contains(r.Layout, "15") || strings.Contains(r.Layout, "04")
	}
	return r.Cells != nil || r.Columns != nil || strings.Contains(r.Pattern, "T")
}

// PeriodCells are the cells of both ends; without To it is the day From.
type PeriodCells struct {
	From *Place `yaml:"from" json:"from"`
	To   *Place `yaml:"to,omitempty" json:"to,omitempty"`
}

// PeriodColumns are the columns of both ends; without To it is the day From.
type PeriodColumns struct {
	From *Column `yaml:"from" json:"from"`
	To   *Column `yaml:"to,omitempty" json:"to,omitempty"`
}

// Place is a cell outside of the rows: in the preamble, or in a row of its own
// before or behind the others.
type Place struct {
	// Row is the physical line in the preamble, from 1; 0: Match finds it.
	Row int `yaml:"row,omitempty" json:"row,omitempty"`
	// Match is a regular expression on the line (in the preamble) or on the
	// first cell. Its first group is the value, unless Column says where it is.
	Match string `yaml:"match,omitempty" json:"match,omitempty"`
	// Column of the value.
	Column *Column `yaml:"column,omitempty" json:"column,omitempty"`
	// Layout of a time that is not written in ISO 8601.
	Layout string `yaml:"layout,omitempty" json:"layout,omitempty"`
}

// Footer is a row whose first cell matches Match, and the columns in which it
// declares the count of rows, the sum of the amount column, and the sums of
// its two sides.
type Footer struct {
	Match  string  `yaml:"match" json:"match"`
	Count  *Column `yaml:"count,omitempty" json:"count,omitempty"`
	Sum    *Column `yaml:"sum,omitempty" json:"sum,omitempty"`
	Debit  *Column `yaml:"debit,omitempty" json:"debit,omitempty"`
	Credit *Column `yaml:"credit,omitempty" json:"credit,omitempty"`
}

// Balances of the account: opening + entries = closing.
type Balances struct {
	Opening *Place `yaml:"opening,omitempty" json:"opening,omitempty"`
	Closing *Place `yaml:"closing,omitempty" json:"closing,omitempty"`
	// Running is the column with the balance after each row.
	Running *Column `yaml:"running,omitempty" json:"running,omitempty"`
	// Order of the rows: "ascending" (default, the oldest first) or "descending".
	Order string `yaml:"order,omitempty" json:"order,omitempty"`
	// Of says what moves the balance: "amount" (default) or "net".
	Of string `yaml:"of,omitempty" json:"of,omitempty"`
}

// Sequence is a column of numbers without gaps.
type Sequence struct {
	Column *Column `yaml:"column" json:"column"`
	// Order is "ascending" (default) or "descending".
	Order string `yaml:"order,omitempty" json:"order,omitempty"`
	// First is the number with which every document begins; nil: any.
	First *int `yaml:"first,omitempty" json:"first,omitempty"`
}

// Manifest is a second file that vouches for the first.
type Manifest struct {
	// Name of that file; {name} stands for the name of the delivery, {stem}
	// for it without what follows the last dot.
	Name string `yaml:"name" json:"name"`
	// Count, Size and SHA256 are regular expressions with one group each, that
	// find in its text the count of rows, the bytes and the digest (hex).
	// Without any of them its being there is the proof.
	Count  string `yaml:"count,omitempty" json:"count,omitempty"`
	Size   string `yaml:"size,omitempty" json:"size,omitempty"`
	SHA256 string `yaml:"sha256,omitempty" json:"sha256,omitempty"`
}

// Parts says that one document comes in several files.
type Parts struct {
	// Pattern is a regular expression on the file name with the groups part
	// (from 1) and of.
	Pattern string `yaml:"pattern" json:"pattern"`
}
