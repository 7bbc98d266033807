package config

import (
	"time"

	"reconciler/sources"
)

// Calendar says when a source's statements are due, so that one that does not
// come is missed.
type Calendar struct {
	// Every is daily, business_days or monthly.
	Every string `yaml:"every" jsonschema:"required"`
	// At is a time of day: 06:00.
	At    string        `yaml:"at"`
	After int           `yaml:"after"`
	Grace time.Duration `yaml:"grace"`
	// Timezone of At and of the days; the source's where it is not said.
	Timezone string   `yaml:"timezone"`
	Holidays []string `yaml:"holidays"`
	// Since is a day from which on statements are expected.
	Since string `yaml:"since"`
}

// timeOfDay is the layout of Calendar.At.
const timeOfDay = "15:04"

func (k *Calendar) fill(log *ledger, p keyPath, zone string) {
	setDefault(log, p.key("at"), &k.At, "00:00")
	setDefault(log, p.key("grace"), &k.Grace, 4*time.Hour)
	setDefault(log, p.key("timezone"), &k.Timezone, zone)
}

func (k *Calendar) check(c *Config, log *ledger, p keyPath) {
	checkWord(log, p.key("every"), sources.Rhythm(k.Every), []sources.Rhythm{sources.Daily, sources.BusinessDays, sources.Monthly})
	if _, err := time.Parse(timeOfDay, k.At); err != nil {
		log.problem(p.key("at"), "is no time of day; write it as \"06:00\"")
	}
	if k.After < 0 {
		log.problem(p.key("after"), "is negative; write how many working days after its period a statement is due")
	}
	c.loadZone(log, p.key("timezone"), k.Timezone)
	for i, day := range k.Holidays {
		if _, err := time.Parse(time.DateOnly, day); err != nil {
			log.problem(p.key("holidays").item(i), "is no day; write 2026-12-25")
		}
	}
	if _, err := time.Parse(time.DateOnly, k.Since); k.Since != "" && err != nil {
		log.problem(p.key("since"), "is no day; write 2026-11-01")
	}
}

// Calendar is when the source's statements are due, and since when they are
// expected (zero: since the first one); nil if it has none.
func (c *Config) Calendar(name string) (calendar *sources.Calendar, since time.Time) {
	s, ok := c.Sources[name]
	if !ok || s.Calendar == nil {
		return nil, time.Time{}
	}
	k := s.Calendar
	out := &sources.Calendar{
		Every: sources.Rhythm(k.Every), After: k.After, Grace: k.Grace, Zone: c.zones[k.Timezone], Holidays: map[string]bool{},
	}
	if at, err := time.Parse(timeOfDay, k.At); err == nil {
		out.At = time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute
	}
	for _, day := range k.Holidays {
		out.Holidays[day] = true
	}
	if day, err := time.ParseInLocation(time.DateOnly, k.Since, out.Zone); err == nil {
		since = day
	}
	return out, since
}
