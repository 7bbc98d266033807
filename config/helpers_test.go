package config_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"testing"
)

func newLogger(w io.Writer) *slog.Logger { return slog.New(slog.NewJSONHandler(w, nil)) }

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func writeFile(name, content string) error { return os.WriteFile(name, []byte(content), 0o600) }
