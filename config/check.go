package config

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
)

// check looks for everything that would fail later, or succeed wrongly.
func (c *Config) check(log *ledger) {
	c.checkDatabase(log)
	if strings.TrimSpace(c.DataDir) == "" {
		log.problem(at("data_dir"), "is empty; name a folder, or remove the key for .reconciler")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Sources)) {
		c.checkSource(log, name)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Policies)) {
		c.checkPolicy(log, name)
	}
	owners := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(c.Jobs)) {
		c.checkJob(log, name, owners)
	}
	c.checkUnused(log, owners)
}

func (c *Config) checkUnused(log *ledger, owners map[string]string) {
	if len(c.Jobs) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(c.Policies)) {
		if _, ok := owners[name]; !ok {
			log.warn(at("policies", name), "is used by no job, so its operations are never decided; add it to the action_types of one")
		}
	}
	used := map[string]bool{}
	for _, job := range c.Jobs {
		for _, source := range job.Sources {
			used[source] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Sources)) {
		if !used[name] {
			log.warn(at("sources", name), "is used by no job, so nothing fetches it; add it to the sources of one")
		}
	}
}

func (c *Config) checkDatabase(log *ledger) {
	p := at("database")
	db := c.Database
	hasURL := log.said(p.key("url"))
	switch {
	case log.isBroken(p.key("url")) || log.isBroken(p.key("private")):
		// Which of the two was meant can't be told.
	case !hasURL && !db.Private:
		log.problem(p, "must say where the journal is; write url: ${DATABASE_URL}, or private: true for a private PostgreSQL under data_dir")
	case hasURL && db.Private:
		log.problem(p.key("private"), "is said together with url; keep one of the two")
	case hasURL:
		checkURL(log, p.key("url"), db.URL)
	}
	checkSchema(log, p.key("journal_schema"), db.JournalSchema)
	checkSchema(log, p.key("schema"), db.Schema)
}

// checkURL never shows any part of the URL: it may be all secret.
func checkURL(log *ledger, p keyPath, url Secret) {
	text := url.Reveal()
	raw, ok := log.raws[p.index()]
	if !ok {
		raw = text
	}
	if hasPlainPassword(raw) {
		log.problem(p, "contains a password in plain; write ${DATABASE_URL}, or ${NAME} or ${file:/path} in place of the password")
		return
	}
	form := strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://") ||
		(strings.Contains(text, "=") && !strings.Contains(text, "://"))
	if !form {
		log.problem(p, "is no address of a PostgreSQL database; write postgres://user@host/database, or key=value words as libpq reads them")
	}
}

// hasPlainPassword looks for a password in a database address whose ${…} are
// not yet expanded. A password that comes from there is no plain one.
func hasPlainPassword(raw string) bool {
	const reference = "\x00"
	masked := regexp.MustCompile(`\$\{[^}]*\}`).ReplaceAllString(raw, reference)
	forms := []*regexp.Regexp{
		regexp.MustCompile(`^[a-zA-Z]+://[^:@/?]*:(.*)@`),
		regexp.MustCompile(`(?i)[?&](?:ssl)?password=([^&]*)`),
		regexp.MustCompile(`(?i)(?:^|\s)(?:ssl)?password\s*=\s*('(?:[^'\\]|\\.)*'|\S*)`),
	}
	for _, form := range forms {
		for _, found := range form.FindAllStringSubmatch(masked, -1) {
			if password := strings.Trim(found[1], "'"); password != "" && !strings.Contains(password, reference) {
				return true
			}
		}
	}
	return false
}

func checkSchema(log *ledger, p keyPath, name string) {
	switch {
	case !isIdentifier(name) || len(name) > 63:
		log.problem(p, "%s is no name of a schema; use letters, digits and underscores, at most 63", log.show(p, name))
	case strings.HasPrefix(name, "pg_") || name == "information_schema":
		log.problem(p, "%s belongs to PostgreSQL itself; choose another name", log.show(p, name))
	}
}

// checkName refuses names that would be unsafe as a file name or a label.
func checkName(log *ledger, p keyPath, name string) {
	for i, r := range name {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || (i > 0 && strings.ContainsRune("-_.", r)) {
			continue
		}
		log.problem(p, "is no usable name; use letters, digits, - _ and . and begin with a letter or digit")
		return
	}
	if name == "" || len(name) > 100 {
		log.problem(p, "has a name that is empty or longer than 100 bytes; shorten it")
	}
}

// checkWord refuses a value outside a closed set.
func checkWord[T ~string](log *ledger, p keyPath, word T, known []T) bool {
	if slices.Contains(known, word) {
		return true
	}
	words := asWords(known)
	if len(words) == 1 {
		log.problem(p, "%s must be %s, or be left out", log.show(p, string(word)), words[0])
		return false
	}
	log.problem(p, "%s is not one of %s%s", log.show(p, string(word)), strings.Join(words, ", "), didYouMean(string(word), words))
	return false
}

// checkText refuses a text that was said to be nothing.
func checkText(log *ledger, p keyPath, text, remedy string) {
	if strings.TrimSpace(text) == "" {
		log.problem(p, "is empty; %s", remedy)
	}
}

// checkList refuses empty and repeated items.
func checkList(log *ledger, p keyPath, items []string) {
	for i, item := range items {
		if strings.TrimSpace(item) == "" {
			log.problem(p.item(i), "is empty; write a value, or remove the item")
		} else if slices.Index(items, item) < i {
			log.problem(p.item(i), "%s is listed twice; remove one", log.show(p.item(i), item))
		}
	}
}

// loadZone resolves a time zone. It never falls back to another one.
func (c *Config) loadZone(log *ledger, p keyPath, name string) *time.Location {
	if name == "" || name == "Local" {
		log.problem(p, "%s depends on the machine; name a zone of the IANA database: UTC, Europe/Berlin", log.show(p, name))
		return nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		log.problem(p, "%s is not a known time zone; write a name of the IANA database: UTC, Europe/Berlin", log.show(p, name))
		return nil
	}
	c.zones[name] = zone
	return zone
}

// checkFilled checks a regular expression that must not match an empty text.
func checkFilled(log *ledger, p keyPath, text string) {
	if re := pattern(log, p, text); re != nil && re.MatchString("") {
		log.problem(p, "%s matches an empty text too; require at least one character", log.show(p, text))
	}
}

// pattern compiles a regular expression of the configuration.
func pattern(log *ledger, p keyPath, text string) *regexp.Regexp {
	if text == "" {
		log.problem(p, "must be said; write a regular expression")
		return nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		log.problem(p, "is not a regular expression: %s; write RE2 syntax in single quotes, where \\ needs no doubling", regexpFault(err, log.show(p, text)))
		return nil
	}
	return re
}
