package matcher

import "time"

// HowLong is howLong, for its test.
func HowLong(d time.Duration) string { return howLong(d) }
