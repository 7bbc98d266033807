package main

import (
	"os"
	"testing"

	"reconciler/postgres/postgrestest"
)

// asProgram makes the test binary the program itself, for tests that need it
// in a process of its own.
const asProgram = "RECONCILER_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(mainExit())
	}
	os.Exit(postgrestest.Run(m))
}
