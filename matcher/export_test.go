package matcher

import "time"

// DurationWords is howLong, for its test.
func DurationWords(d time.Duration) string { return howLong(d) }
