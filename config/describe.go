package config

// descriptions are the texts of the JSON Schema: what a key means, in which
// unit, and its default. Keys are "Type" and "Type.Field" in Go's names.
func descriptions() map[string]string {
	texts := map[string]string{}
	for _, part := range []map[string]string{describeTop(), describeSource(), describeMapping(), describePolicy(), describeJob()} {
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
		"CSV":                    "How the CSV documents are written.",
		"CSV.Delimiter":          "The ASCII character between cells. Default a comma.",
		"CSV.Encoding":           "Usual name of the encoding: utf-8, windows-1251. Default utf-8.",
		"CSV.HeaderRow":          "Line of the header, from 1; 0 says that there is none, and columns are named by number. Default 1.",
		"CSV.Quote":              "double: cells may be quoted; none: quotes are plain characters. Default double.",
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
		"Mapping.BatchID":             "Identifier of the batch or payout that contains it.",
		"Mapping.RelatedID":           "Identifier of the record that it reverses or belongs to.",
		"Field":                       "Where one field comes from, and how it is read: column or value.",
		"Field.Column":                "A header, or the number of a column from 1. A quoted number is a header.",
		"Field.Value":                 "A constant for every row.",
		"Field.Extract":               "Regular expression that finds the value inside a longer text: its first group, else the whole match.",
		"Field.Map":                   "The provider's words, each with ours. A word that is not listed rejects its row.",
		"Field.Decimal":               "Decimal mark of amounts. Default a point.",
		"Field.Group":                 "The character between groups of digits. Default none.",
		"Field.Layout":                "Layout of times, as Go writes the moment Mon Jan 2 15:04:05 2006: \"02.01.2006\". Default RFC 3339.",
		"Field.Fold":                  "When two references that differ are still the same.",
		"Field.UniquePer":             "day: the provider's ids restart every day.",
		"Fold":                        "When two references that differ are still the same.",
		"Fold.Case":                   "true: upper and lower case are the same.",
		"Fold.Blanks":                 "true: blanks are dropped.",
		"Fold.Punctuation":            "true: everything but letters and digits is dropped.",
		"Fold.Prefix":                 "Text that the provider puts before our reference.",
		"Fold.Suffix":                 "Text that the provider puts after our reference.",
		"Fold.Length":                 "Number of characters at which the provider cuts references. Default: it does not.",
		"Completeness":                "Which time a document speaks of, and what proves its end.",
		"Completeness.Period":         "How the period is found.",
		"Completeness.Footer":         "The row in which the provider declares its totals.",
		"Completeness.End":            "proven: the totals must be there and agree; assumed: the end of the file is taken for the end, and an absence is only ever reviewed.",
		"PeriodRule":                  "How the period is found.",
		"PeriodRule.Pattern":          "Regular expression on the file name with the groups from and to, or day. A date-only to is inclusive, in the source's zone.",
		"PeriodRule.Layout":           "Layout of the groups where they are not ISO dates.",
		"Footer":                      "The row in which the provider declares its totals.",
		"Footer.Match":                "Regular expression that the first cell of the row matches.",
		"Footer.Count":                "Column in which it declares the number of rows.",
		"Footer.Sum":                  "Column in which it declares the sum of amounts.",
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
