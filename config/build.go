package config

import (
	"strings"

	"reconciler/sources/compressed"
	"reconciler/sources/csvformat"
)

// CSVConfig is a source as the CSV format reads it; the zero value for an
// unknown name.
func (c *Config) CSVConfig(name string) csvformat.Config {
	s, ok := c.Sources[name]
	if !ok {
		return csvformat.Config{}
	}
	out := csvformat.Config{
		Options: s.CSV, Mapping: s.Fields, Rows: s.Rows, Completeness: s.Completeness,
		Zone: c.Zone(name), Accounts: s.Accounts,
	}
	if s.Fields.Account == nil {
		out.Account = s.Accounts[0]
	}
	if s.Unjournaled != nil {
		out.Unjournaled = s.Unjournaled.Pattern
	}
	return out
}

// UnpackRule says how the packed documents of a source are opened.
func (c *Config) UnpackRule(name string) compressed.Rule {
	u := c.Sources[name].Unpack
	return compressed.Rule{Member: u.Member, MaxSize: int64(u.MaxSize), MaxRatio: int64(u.MaxRatio)}
}

// checkBuild asks the format itself: it has the last word on a mapping. Each
// of its problems begins with the key.
func (c *Config) checkBuild(log *ledger, name string) {
	p := at("sources", name)
	_, err := csvformat.New(c.CSVConfig(name))
	for _, problem := range leaves(err) {
		key, text, ok := strings.Cut(problem.Error(), ": ")
		if !ok || strings.ContainsAny(key, " \"") {
			key, text = "format", problem.Error()
		}
		where := p.key(strings.Split(key, ".")...)
		log.problem(where, "is not right: %s", log.withheld(where, text))
	}
	if err := c.UnpackRule(name).Check(); err != nil {
		key, text, _ := strings.Cut(err.Error(), ": ")
		log.problem(p.key("unpack", key), "is not right: %s", log.withheld(p.key("unpack", key), text))
	}
}

// leaves takes joined errors apart.
func leaves(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var out []error
	for _, one := range joined.Unwrap() {
		out = append(out, leaves(one)...)
	}
	return out
}
