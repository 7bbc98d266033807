package main

import (
	"os"
	"testing"

	"reconciler/postgres/postgrestest"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Run(m)) }
