package sources

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
	BatchID             *Field `yaml:"batch_id,omitempty" json:"batch_id,omitempty"`
	RelatedID           *Field `yaml:"related_id,omitempty" json:"related_id,omitempty"`
}

// Field is where one field of a record comes from, and how it is read. Exactly
// one of Column and Value is set.
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
	// A word that is not in it is a reject.
	Map map[string]string `yaml:"map,omitempty" json:"map,omitempty"`
	// Decimal mark and digit grouping of amounts; the default is "." and none.
	Decimal string `yaml:"decimal,omitempty" json:"decimal,omitempty"`
	Group   string `yaml:"group,omitempty" json:"group,omitempty"`
	// Layout of times, in the form of Go's time package: "02.01.2006". The
	// default is RFC 3339. A layout without hours gives a day.
	Layout string `yaml:"layout,omitempty" json:"layout,omitempty"`
	// Fold declares when two references that differ are still the same (tier 4).
	Fold *Fold `yaml:"fold,omitempty" json:"fold,omitempty"`
	// UniquePer: "day" where the provider's ids restart every day.
	UniquePer string `yaml:"unique_per,omitempty" json:"unique_per,omitempty"`
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
type Completeness struct {
	Period *PeriodRule `yaml:"period,omitempty" json:"period,omitempty"`
	Footer *Footer     `yaml:"footer,omitempty" json:"footer,omitempty"`
	// End is "proven" (default) or "assumed".
	End string `yaml:"end,omitempty" json:"end,omitempty"`
}

// PeriodRule finds the period. Pattern is a regular expression on the file
// name with groups from and to (RFC 3339 or 2006-01-02), or one group day. A
// date-only "to" is inclusive, in the source's zone.
type PeriodRule struct {
	Pattern string `yaml:"pattern,omitempty" json:"pattern,omitempty"`
	// Layout of the groups where they are not ISO dates.
	Layout string `yaml:"layout,omitempty" json:"layout,omitempty"`
}

// Footer is a row whose first cell matches Match, and the columns in which it
// declares the count of rows and the sum of the amount column.
type Footer struct {
	Match string  `yaml:"match" json:"match"`
	Count *Column `yaml:"count,omitempty" json:"count,omitempty"`
	Sum   *Column `yaml:"sum,omitempty" json:"sum,omitempty"`
}
