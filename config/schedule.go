package config

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// minInterval is the shortest @every that makes sense for a batch.
const minInterval = time.Minute

// ParseSchedule reads a schedule in cron's five fields, or @daily, @hourly,
// "@every 30m" and the like, in the given zone. The warning, if not empty, says
// what is allowed and easily misunderstood. The cron library panics on a zone
// without an expression, and accepts intervals of zero and dates that never
// come; here each of them is an error.
func ParseSchedule(spec string, zone *time.Location) (schedule cron.Schedule, warning string, err error) {
	defer func() {
		if r := recover(); r != nil {
			schedule, warning, err = nil, "", errors.New("is not a schedule; write five fields: minute hour day month weekday")
		}
	}()
	if err := checkSpec(spec); err != nil {
		return nil, "", err
	}
	parser := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)
	schedule, err = parser.Parse(strings.TrimSpace(spec))
	if err != nil {
		return nil, "", fmt.Errorf("is not a schedule: %w%s", err, weekdayHint(spec))
	}
	switch s := schedule.(type) {
	case *cron.SpecSchedule:
		s.Location = zone
	case cron.ConstantDelaySchedule:
		if s.Delay < minInterval || strings.Contains(spec, "-") {
			return nil, "", fmt.Errorf("starts more often than every %s; choose a longer interval", minInterval)
		}
	}
	// Any eight years hold a 29th of February; a schedule that finds no time
	// from here on never finds one.
	next := schedule.Next(time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC))
	if next.IsZero() {
		return nil, "", errors.New("names a date that never comes; correct the day or the month")
	}
	if f := strings.Fields(spec); len(f) == 5 && restricted(f[2]) && restricted(f[4]) {
		warning = "names a day of the month and a weekday: it starts on each of the two, not only where both agree"
	}
	return schedule, warning, nil
}

// checkSpec refuses what must not reach the library.
func checkSpec(spec string) error {
	text := strings.ToUpper(strings.TrimSpace(spec))
	switch {
	case text == "":
		return errors.New("is empty; write five fields: minute hour day month weekday, or remove the key")
	case len(text) > 200:
		return errors.New("is too long for a schedule; write five fields: minute hour day month weekday")
	case strings.Contains(text, "TZ="):
		return errors.New("has a time zone inside; write it as the job's timezone")
	case text == "@REBOOT":
		return errors.New("is not supported; a run starts at a time, not with the machine")
	}
	return nil
}

func restricted(field string) bool {
	return !strings.HasPrefix(field, "*") && !strings.HasPrefix(field, "?")
}

func weekdayHint(spec string) string {
	fields := strings.Fields(spec)
	switch {
	case len(fields) == 5 && strings.Contains(fields[4], "7"):
		return "; weekdays are 0 to 6, and 0 is Sunday"
	case len(fields) == 6 || len(fields) == 7:
		return "; there is no field for seconds or years"
	}
	return "; write five fields: minute hour day month weekday"
}
