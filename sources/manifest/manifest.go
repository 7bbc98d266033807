// Package manifest reads the file that a provider puts next to a document to
// vouch for it: a .done file, a control file, a checksum. It is a folder of
// its own because every format may have one, and none has its form.
package manifest

import (
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"reconciler/sources"
)

// Rule finds what a manifest says. It is safe for concurrent use.
type Rule struct {
	name                string
	count, size, sha256 *regexp.Regexp
}

// New compiles a rule; nil for none. Its error names the key.
func New(m *sources.Manifest) (*Rule, error) {
	if m == nil {
		return nil, nil //nolint:nilnil // no rule is a rule: nobody vouches for the document
	}
	if !strings.Contains(m.Name, "{name}") && !strings.Contains(m.Name, "{stem}") {
		return nil, fmt.Errorf("name: %q does not depend on the file; write {name} or {stem} in it, as {name}.done", m.Name)
	}
	if m.Name == "{name}" {
		return nil, errors.New("name: a file does not vouch for itself")
	}
	r := &Rule{name: m.Name}
	for _, part := range []struct {
		key, text string
		to        **regexp.Regexp
	}{{"count", m.Count, &r.count}, {"size", m.Size, &r.size}, {"sha256", m.SHA256, &r.sha256}} {
		if part.text == "" {
			continue
		}
		found, err := regexp.Compile(part.text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", part.key, err)
		}
		if found.NumSubexp() != 1 {
			return nil, fmt.Errorf("%s: %q must have one group (…) for the value", part.key, part.text)
		}
		*part.to = found
	}
	return r, nil
}

// Name of the manifest of a delivery, next to it.
func (r *Rule) Name(d sources.Delivery) string {
	base := path.Base(d.Name)
	stem := strings.TrimSuffix(base, path.Ext(base))
	return strings.NewReplacer("{name}", base, "{stem}", stem).Replace(r.name)
}

// Whole reports that the manifest vouches for every byte.
func (r *Rule) Whole() bool { return r.sha256 != nil || r.size != nil }

// Check compares the manifest of a delivery with its bytes, and returns the
// count of rows that it declares; nil if it declares none. The error is a
// *sources.Refusal.
func (r *Rule) Check(d sources.Delivery) (*int64, error) {
	if d.Manifest == nil {
		return nil, r.refuse(d, "it is not there")
	}
	if r.sha256 != nil {
		text, err := r.find(d, "sha256", r.sha256)
		if err != nil {
			return nil, err
		}
		if raw, err := hex.DecodeString(text); err != nil || len(raw) != 32 {
			return nil, r.refuse(d, fmt.Sprintf("%q is not a SHA-256 in hex", text))
		}
		if !strings.EqualFold(text, d.SHA256) {
			return nil, r.refuse(d, fmt.Sprintf("it declares the SHA-256 %s, the file has %s", strings.ToLower(text), d.SHA256))
		}
	}
	if r.size != nil {
		size, err := r.number(d, "size", r.size)
		if err != nil {
			return nil, err
		}
		if size != d.Size {
			return nil, r.refuse(d, fmt.Sprintf("it declares %d bytes, the file has %d", size, d.Size))
		}
	}
	if r.count == nil {
		return nil, nil //nolint:nilnil // it declares no count
	}
	count, err := r.number(d, "count", r.count)
	return &count, err
}

func (r *Rule) number(d sources.Delivery, key string, pattern *regexp.Regexp) (int64, error) {
	text, err := r.find(d, key, pattern)
	if err != nil {
		return 0, err
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || number < 0 {
		return 0, r.refuse(d, fmt.Sprintf("the %s %q is not a number", key, text))
	}
	return number, nil
}

// find returns the one value; a manifest that says it twice says nothing.
func (r *Rule) find(d sources.Delivery, key string, pattern *regexp.Regexp) (string, error) {
	text := strings.TrimPrefix(string(d.Manifest), "\ufeff")
	all := pattern.FindAllStringSubmatch(text, 2)
	switch len(all) {
	case 0:
		return "", r.refuse(d, fmt.Sprintf("nothing in it matches completeness.manifest.%s %q", key, pattern))
	case 1:
		return strings.TrimSpace(all[0][1]), nil
	}
	return "", r.refuse(d, fmt.Sprintf("completeness.manifest.%s %q matches twice", key, pattern))
}

func (r *Rule) refuse(d sources.Delivery, reason string) error {
	return &sources.Refusal{
		Reason: fmt.Sprintf("the manifest %q: %s", r.Name(d), reason),
		Remedy: "fetch both files again; if the provider changed the manifest, correct completeness.manifest",
	}
}
