package config_test

import (
	"strings"
	"testing"
	"time"

	"reconciler/config"
)

func TestScheduleNext(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	from := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	for spec, want := range map[string]string{
		"15 6 * * *":   "2026-03-02T05:15:00Z",
		"0 0 29 2 *":   "2028-02-28T23:00:00Z",
		"@daily":       "2026-03-01T23:00:00Z",
		"@every 30m":   "2026-03-01T12:30:00Z",
		"*/15 * * * 1": "2026-03-01T23:00:00Z",
		"0 6 * * 0":    "2026-03-08T05:00:00Z",
		" 0 6 * * 0 ":  "2026-03-08T05:00:00Z",
	} {
		schedule, warning, err := config.ParseSchedule(spec, zone)
		if err != nil || warning != "" {
			t.Errorf("ParseSchedule(%q): warning %q, error %v", spec, warning, err)
			continue
		}
		if got := schedule.Next(from).UTC().Format(time.RFC3339); got != want {
			t.Errorf("%q: next start %s, want %s", spec, got, want)
		}
	}
}

func TestScheduleWarnsOfDayAndWeekday(t *testing.T) {
	t.Parallel()
	_, warning, err := config.ParseSchedule("0 0 1 * 1", time.UTC)
	if err != nil || !strings.Contains(warning, "each of the two") {
		t.Errorf("warning %q, error %v", warning, err)
	}
}

func TestScheduleRefuses(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"":                        "is empty",
		"  ":                      "is empty",
		"TZ=0":                    "job's timezone",
		"TZ=":                     "job's timezone",
		"CRON_TZ=UTC":             "job's timezone",
		" cron_tz=UTC 0 0 * * *":  "job's timezone",
		strings.Repeat("1", 5000): "too long",
		"0 0 31 2 *":              "never comes",
		"@every 0s":               "more often",
		"@every -5s":              "more often",
		"@every -5h":              "more often",
		"@every 59s":              "more often",
		"@every":                  "not a schedule",
		"@often":                  "not a schedule",
		"@reboot":                 "not supported",
		"0 0 * * 7":               "0 is Sunday",
		"0 0 5 * * *":             "no field for seconds",
		"60 0 * * *":              "five fields",
		"* * * *":                 "five fields",
		"*/0 * * * *":             "five fields",
	} {
		if _, _, err := config.ParseSchedule(spec, time.UTC); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseSchedule(%.20q) = %v, want an error with %q", spec, err, want)
		}
	}
}
