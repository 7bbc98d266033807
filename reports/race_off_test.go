//go:build !race

package reports_test

// raceEnabled says that the race detector runs along.
const raceEnabled = false
