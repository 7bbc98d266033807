package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// maxSecret bounds a file named by ${file:…}, in bytes.
const maxSecret = 64 << 10

// expand replaces ${NAME} by an environment variable and ${file:/path} by the
// content of a file, less one line break at its end; $${ stands for a plain
// ${. A variable that is missing or empty is an error: an empty secret is a
// lost secret.
func (d *decoder) expand(text string) (string, error) {
	var out strings.Builder
	for {
		start := strings.Index(text, "${")
		if start < 0 {
			out.WriteString(text)
			return out.String(), nil
		}
		if start > 0 && text[start-1] == '$' {
			out.WriteString(text[:start-1] + "${")
			text = text[start+2:]
			continue
		}
		end := strings.IndexByte(text[start:], '}')
		if end < 0 {
			return "", errors.New("${ is not closed; write ${NAME}, or $${ for a plain ${")
		}
		value, err := d.lookup(text[start+2 : start+end])
		if err != nil {
			return "", err
		}
		out.WriteString(text[:start] + value)
		text = text[start+end+1:]
	}
}

func (d *decoder) lookup(name string) (string, error) {
	if file, ok := strings.CutPrefix(name, "file:"); ok {
		return d.lookupFile(file)
	}
	if !isIdentifier(name) {
		return "", fmt.Errorf("${%s} does not name an environment variable; write ${NAME} or ${file:/path}, or $${ for a plain ${", name)
	}
	value, ok := d.env(name)
	if !ok {
		return "", fmt.Errorf("environment variable %s is not set; set it, or write the value here", name)
	}
	if value == "" {
		return "", fmt.Errorf("environment variable %s is empty; give it a value", name)
	}
	return value, nil
}

func (d *decoder) lookupFile(name string) (string, error) {
	if name == "" {
		return "", errors.New("${file:} names no file; write ${file:/path}")
	}
	full := name
	if !filepath.IsAbs(full) {
		full = filepath.Join(d.dir, full)
	}
	data, err := readFile(full)
	if err != nil {
		return "", fmt.Errorf("file %s %w; check the path and who may read it", name, err)
	}
	if len(data) > maxSecret {
		return "", fmt.Errorf("file %s is larger than %d KiB; name the file that holds the value alone", name, maxSecret>>10)
	}
	value := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	if value == "" {
		return "", fmt.Errorf("file %s is empty; write the value into it", name)
	}
	return value, nil
}

// isIdentifier reports whether name is made of letters, digits and
// underscores, without a digit in front.
func isIdentifier(name string) bool {
	for i, r := range name {
		letter := r == '_' || (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z')
		digit := r >= '0' && r <= '9'
		if !letter && (!digit || i == 0) {
			return false
		}
	}
	return name != ""
}
