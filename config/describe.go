package config

// descriptions are the texts of the JSON Schema: what a key means, in which
// unit, and its default. Keys are "Type" and "Type.Field" in Go's names.
func descriptions() map[string]string {
	texts := map[string]string{}
	for _, part := range []map[string]string{describeTop(), describeSource(), describeCSV(), describeMapping(), describeCompleteness(), describePolicy(), describeJob()} {
		for name, text := range part {
			texts[name] = text
		}
	}
	return texts
}

func describeTop() map[string]string {
	return map[string]string{
		"Config":                 "The configuration of the reconciler. ${NAME} and ${file:/path} are expanded in every value; $${ stands for a plain ${.",
		"Config.Database":        "Where the journal is. Say url or private.",
		"Config.DataDir":         "Folder for kept statements and the private database, relative to this file. Default .reconciler.",
		"Config.Permits":         "The kill switch: off stops every automatic permit to retry. Default on.",
		"Config.Sources":         "Where the providers' words come from, by name.",
		"Config.Policies":        "What may be concluded and done, by action type.",
		"Config.Jobs":            "What a schedule or a person starts, by name.",
		"Database":               "Where the journal is.",
		"Database.URL":           "Address of the PostgreSQL database, from the environment or a file: ${DATABASE_URL}. A password in plain is refused.",
		"Database.Private":       "true: a private PostgreSQL under data_dir instead of url.",
		"Database.JournalSchema": "Schema of agent_operations. Default public.",
		"Database.Schema":        "Schema of the reconciler's own tables. Default reconciler.",
	}
}

func describeSource() map[string]string {
	return map[string]string{
		"Source":                 "One source: a location, a format and a mapping of fields.",
		"Source.Provider":        "Provider whose effects it shows. Sources of one provider are views of the same effects. Default: the source's name.",
		"Source.Accounts":        "Accounts that it covers. Default: one, named like the source.",
		"Source.Location":        "Pattern of files with the wildcards * ? [a-z], relative to this file: statements/acme-*.csv.",
		"Source.Format":          "Format of the documents. Default csv.",
		"Source.Profile":         "Ready profile of a provider. Not supported by this version.",
		"Source.CSV":             "How the CSV documents are written.",
		"Source.Timezone":        "IANA zone in which the provider keeps its days and writes its times. Default UTC.",
		"Source.Fields":          "Which field of a record comes from where in a row.",
		"Source.Completeness":    "Which time a document speaks of, and what proves its end.",
		"Source.DatedBy":         "occurred: a record stands in the period in which the effect happened; booked: in the one in which it was booked.",
		"Source.SettlementLag":   "Longest time that the provider may take to show an effect. Must be said. Too short leads to wrong absences, too long to late ones.",
		"Source.ClockSkew":       "How far the provider's clock may be off ours. Default 5m.",
		"Source.ProductionDelay": "How long a document may lie before it is fetched; taken off its modification time. Default 24h.",
		"Source.Retention":       "How long the provider remembers. Default: for ever.",
		"Source.Unjournaled":     "How effects of ours without an operation are recognised. Default: they are not looked for.",
		"Unjournaled":            "How effects of ours without an operation are recognised.",
		"Unjournaled.Pattern":    "Regular expression that our references match, and nobody else's do.",
		"Unjournaled.Grace":      "How long the journal may be late. Default 24h.",
		"Source.Unpack":          "How packed documents (gzip, zip, zstd) are opened.",
		"Source.Rows":            "Which rows are records, and of which kind. Default: all of them.",
		"Unpack":                 "How packed documents are opened. The first bytes say what they are packed with, never the name.",
		"Unpack.Member":          "Pattern for the one file of a zip archive that is meant. Default: it has one file.",
		"Unpack.MaxSize":         "Most that is unpacked of one document. Default 8GiB.",
		"Unpack.MaxRatio":        "Most times that a document may be larger than its packed form. Default 500.",
		"Rows":                   "Which rows are records, and of which kind.",
		"Rows.Column":            "Column with the type of the row.",
		"Rows.Map":               "The provider's types, each with a kind, record (fields.kind tells the kind) or skip. A type may end in * for all that begin so.",
		"Rows.Default":           "What all other types are. Default: a row of an unknown type is rejected.",
		"Rows.AnyCase":           "true: upper and lower case of types are the same.",
	}
}

func describeCSV() map[string]string {
	return map[string]string{
		"CSV":                "How the CSV documents are written.",
		"CSV.Delimiter":      "The ASCII character between cells. Default a comma.",
		"CSV.Encoding":       "Usual name of the encoding: utf-8, windows-1251. Default utf-8. A byte order mark of UTF-16 wins.",
		"CSV.HeaderRow":      "Line of the header, from 1; 0 says that there is none, and columns are named by number. Default 1.",
		"CSV.Header":         "How the header is found by what stands in it, instead of header_row.",
		"CSV.Quote":          "double: cells may be quoted; single: by apostrophes; none: quotes are plain characters. Default double.",
		"CSV.Comment":        "What a line begins with that is no row: \"#\". Default: there is none.",
		"CSV.Ignore":         "Regular expression on the first cell of rows that are no data: section heads, subtotals.",
		"CSV.SkipBlank":      "true: rows of which every cell is blank are no data. Empty lines never are.",
		"CSV.Ragged":         "refuse: a row of the wrong width refuses the file; reject: only the row. Default refuse.",
		"CSV.RepeatedHeader": "refuse: a second header refuses the file; skip: it is skipped, with a note. Default refuse.",
		"CSV.Unwrap":         "true: =\"00123\" is read as 00123.",
		"Header":             "How the header is found: contains or match.",
		"Header.Contains":    "Headers that all stand in the row.",
		"Header.Match":       "Regular expression that the line of the header matches.",
		"Header.Within":      "Number of lines within which it must be found. Default 100.",
	}
}

func describeCompleteness() map[string]string {
	return map[string]string{
		"Completeness":          "Which time a document speaks of, and what proves its end. What is configured must be there and agree.",
		"Completeness.Period":   "How the period is found.",
		"Completeness.AsOf":     "Where the document says up to which moment it speaks.",
		"Completeness.Footer":   "The row in which the provider declares its totals.",
		"Completeness.Count":    "Where else the document declares the number of rows.",
		"Completeness.Sum":      "Where else the document declares the sum of amounts.",
		"Completeness.Balances": "Opening balance and entries make the closing balance.",
		"Completeness.Sequence": "A column of numbers without gaps. It shows a hole, and proves no end.",
		"Completeness.Manifest": "A second file that vouches for the document.",
		"Completeness.Parts":    "One document comes in several files.",
		"Completeness.End":      "proven: what proves the end must be there and agree; assumed: the end of the file is taken for the end, and an absence is only ever reviewed.",
		"PeriodRule":            "How the period is found: pattern, cells, columns or daily.",
		"PeriodRule.Pattern":    "Regular expression on the file name with the groups from and to, or day. A date-only to is inclusive, in the source's zone.",
		"PeriodRule.Cells":      "Cells outside of the rows in which the document states it.",
		"PeriodRule.Columns":    "Columns in which every row states it.",
		"PeriodRule.Daily":      "The time field that has the same day in all rows; the period is that day.",
		"PeriodRule.Layout":     "Layout of both ends where they are not ISO dates.",
		"PeriodCells":           "Cells outside of the rows in which the document states its period.",
		"PeriodCells.From":      "Where the beginning stands.",
		"PeriodCells.To":        "Where the end stands. Default: the period is the one day of from.",
		"PeriodColumns":         "Columns in which every row states the period.",
		"PeriodColumns.From":    "Column of the beginning.",
		"PeriodColumns.To":      "Column of the end. Default: the period is the one day of from.",
		"Place":                 "A value outside of the rows: in the preamble, or in a row of its own.",
		"Place.Row":             "Line of the preamble, from 1. Default: match finds it.",
		"Place.Match":           "Regular expression on the line (in the preamble) or on the first cell. Its one group is the value, unless column is said.",
		"Place.Column":          "Column in which the value stands.",
		"Place.Layout":          "Layout of as_of where it is not written in ISO 8601.",
		"Footer":                "The row in which the provider declares its totals.",
		"Footer.Match":          "Regular expression that the first cell of the row matches.",
		"Footer.Count":          "Column in which it declares the number of rows.",
		"Footer.Sum":            "Column in which it declares the sum of amounts.",
		"Footer.Debit":          "Column in which it declares the sum of the debit column.",
		"Footer.Credit":         "Column in which it declares the sum of the credit column.",
		"Balances":              "Opening balance and entries make the closing balance.",
		"Balances.Opening":      "Where the opening balance stands. Default: the running balance tells it.",
		"Balances.Closing":      "Where the closing balance stands. Without it nothing proves the end.",
		"Balances.Running":      "Column with the balance after each row.",
		"Balances.Order":        "ascending: the oldest row first; descending: the newest. Default ascending.",
		"Balances.Of":           "What moves the balance: amount or net. Default amount.",
		"Sequence":              "A column of numbers without gaps.",
		"Sequence.Column":       "The column.",
		"Sequence.Order":        "ascending or descending. Default ascending.",
		"Sequence.First":        "Number with which every document begins. Default: any.",
		"Manifest":              "A second file that vouches for the document. It stands next to it.",
		"Manifest.Name":         "Its name; {name} is that of the document, {stem} the same without what follows the last dot: \"{name}.done\".",
		"Manifest.Count":        "Regular expression whose group is the number of rows in its text.",
		"Manifest.Size":         "Regular expression whose group is the number of bytes in its text.",
		"Manifest.SHA256":       "Regular expression whose group is the SHA-256 (hex) in its text.",
		"Parts":                 "One document comes in several files.",
		"Parts.Pattern":         "Regular expression on the file name with the groups part and of: _part(?P<part>[0-9]+)of(?P<of>[0-9]+).",
	}
}

func describeMapping() map[string]string {
	return map[string]string{
		"Mapping":                     "Which field of a record comes from where in a row.",
		"Mapping.Account":             "Account of the record, where a document has several.",
		"Mapping.ProviderOperationID": "The provider's own identifier.",
		"Mapping.IdempotencyKey":      "Our key, where the provider echoes it.",
		"Mapping.BusinessReference":   "Our reference, as the provider gives it back.",
		"Mapping.Amount":              "Amount in major units.",
		"Mapping.Currency":            "ISO 4217 code.",
		"Mapping.Direction":           "debit takes money from our account, credit brings it.",
		"Mapping.Kind":                "What sort of effect it is.",
		"Mapping.Status":              "The provider's word on it, reduced to succeeded, pending, failed, reversed. Must be said.",
		"Mapping.OccurredAt":          "When the effect happened.",
		"Mapping.BookedAt":            "When it was booked.",
		"Mapping.SettledAt":           "When it was settled.",
		"Mapping.Fee":                 "Fee in major units of the same currency.",
		"Mapping.Net":                 "Amount less the fee; compared in each row.",
		"Mapping.BatchID":             "Identifier of the batch or payout that contains it.",
		"Mapping.RelatedID":           "Identifier of the record that it reverses or belongs to.",
		"Field":                       "Where one field comes from, and how it is read: column or value; an amount also by debit and credit, a fee by columns.",
		"Field.Default":               "What every word outside of map means, the empty one included. Default: it rejects its row.",
		"Field.AnyCase":               "true: upper and lower case of words are the same.",
		"Field.Debit":                 "Column of amounts that leave our account, together with credit.",
		"Field.Credit":                "Column of amounts that come to our account, together with debit.",
		"Field.Columns":               "Columns of a fee that is given in parts, which are added up.",
		"Field.Unit":                  "minor: the number counts the currency's smallest unit. Default major.",
		"Field.TrailingZeros":         "true: more decimals than the currency has are allowed, if they are zeros.",
		"Field.Marks":                 "Words in the cell of an amount that say its direction: {CR: credit, DR: debit}. An empty word stands for a cell without one.",
		"Field.Symbols":               "Currency signs or codes in the cell of an amount, each with its currency. An empty one stands for a cell without one.",
		"Field.Equals":                "What a net amount is in each row: \"amount + fee\" or \"amount - fee\". Default \"amount + fee\".",
		"Field.Exponents":             "Decimals that this provider gives a currency, where they are not those of ISO 4217.",
		"Field.Layouts":               "Several layouts, no two of which read one text as different times.",
		"Field.TimeColumn":            "Column with the time of day, where column has the day. The layout is that of both, with a blank between them.",
		"Field.Timezone":              "Zone of this field, where it is not the source's.",
		"Field.ZoneColumn":            "Column that names the zone of each row: an IANA name, an offset, or a word of zones.",
		"Field.Zones":                 "Abbreviations of zones, each with an IANA name or an offset: {PST: \"-08:00\"}.",
		"Side":                        "One of the two columns of an amount.",
		"Side.Column":                 "A header, or the number of a column from 1.",
		"Side.Sign":                   "none: its numbers have no minus; minus: all have one; any: it means nothing. Default none.",
		"Field.Column":                "A header, or the number of a column from 1. A quoted number is a header.",
		"Field.Value":                 "A constant for every row.",
		"Field.Extract":               "Regular expression that finds the value inside a longer text: its first group, else the whole match.",
		"Field.Map":                   "The provider's words, each with ours. A word that is not listed rejects its row, unless default is said.",
		"Field.Decimal":               "Decimal mark of amounts. Default a point.",
		"Field.Group":                 "The character between groups of digits. Default none.",
		"Field.Layout":                "Layout of times, as Go writes the moment Mon Jan 2 15:04:05 2006: \"02.01.2006\"; or unix, unix_ms. Default RFC 3339.",
		"Field.Fold":                  "When two references that differ are still the same.",
		"Field.UniquePer":             "day: the provider's ids restart every day.",
		"Fold":                        "When two references that differ are still the same.",
		"Fold.Case":                   "true: upper and lower case are the same.",
		"Fold.Blanks":                 "true: blanks are dropped.",
		"Fold.Punctuation":            "true: everything but letters and digits is dropped.",
		"Fold.Prefix":                 "Text that the provider puts before our reference.",
		"Fold.Suffix":                 "Text that the provider puts after our reference.",
		"Fold.Length":                 "Number of characters at which the provider cuts references. Default: it does not.",
	}
}

func describePolicy() map[string]string {
	return map[string]string{
		"Policy":                "What may be concluded and done for one action type.",
		"Policy.Class":          "Gives the defaults: financial (review, both), irreversible (retry, absence), idempotent (retry, key). Default financial.",
		"Policy.Sources":        "Sources that must all cover an operation before it can be called absent.",
		"Policy.Effect":         "Which records are the effect. Default: any kind but fee, payout, refund, reversal, chargeback; any direction.",
		"Policy.OnAbsent":       "What follows from proven absence: retry, fail or review.",
		"Policy.RetryNeeds":     "What a permit rests on: absence, key or both.",
		"Policy.KeyTTL":         "How long the provider remembers an idempotency key. Must be said where a permit rests on it. Too long leads to a second effect.",
		"Policy.KeyMargin":      "What is kept free at the end of key_ttl. Default 10m.",
		"Policy.MaxAttempts":    "From this many attempts on there is no automatic permit. Default 5.",
		"Policy.Tolerance":      "How far an amount may be off and still agree: the larger of the two. Default nothing.",
		"Policy.PendingLimit":   "After this, a pending record is an exception. Default 72h.",
		"Policy.OverdueAfter":   "After this and the settlement lag, an open operation is an exception. Default 240h.",
		"Policy.LeaseGrace":     "How long after its lease an executing operation becomes unknown. Default 5m.",
		"Policy.MaxCall":        "Longest time that a call begun at the end of a lease may take. Default 15m.",
		"Policy.MaxLease":       "A live lease that ends later than this from now is an exception. Default 1h.",
		"Policy.MaxRetryAge":    "Older operations get no automatic permit. Default 720h.",
		"Policy.PlanLimit":      "Planned for longer than this is an exception. Default 24h.",
		"Policy.SenderDeadline": "enforced: writers stop sending at their lease. Without it a retry that no key protects becomes a review.",
		"Policy.SafeRefusals":   "Status texts of the provider after which a retry is safe.",
		"Effect":                "Which records are the effect of an action type.",
		"Effect.Kind":           "Kind of the records.",
		"Effect.Direction":      "Direction of the records.",
		"Tolerance":             "How far an amount may be off: the larger of the two.",
		"Tolerance.Absolute":    "In major units of the operation's currency.",
		"Tolerance.Percent":     "In percent of the expected amount.",
	}
}

func describeJob() map[string]string {
	return map[string]string{
		"Job":             "What a schedule or a person starts.",
		"Job.ActionTypes": "Action types that it reconciles. An action type belongs to one job.",
		"Job.Sources":     "Sources that it fetches. Default: those of the policies.",
		"Job.Schedule":    "Cron's five fields, or @daily, @every 30m. Default: only people start it.",
		"Job.Timezone":    "IANA zone of the schedule and the report. Default UTC.",
		"Job.Report":      "Where the report goes.",
		"Report":          "Where the report of a job goes.",
		"Report.Dir":      "Folder, relative to this file. Default out/.",
		"Report.Formats":  "Forms of the report. Default all of csv, xlsx, html, json.",
	}
}
