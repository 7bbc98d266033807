package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Limits of the tree after aliases have been written out: far above any real
// file, far below what a file of nested aliases could grow to.
const (
	maxNodes = 100_000
	maxDepth = 64
)

// parseTree parses the one document of the file and writes its aliases and
// merge keys out, so that every value has its own place. It returns nil if
// there is no tree; the ledger then has the reason.
func parseTree(data []byte, log *ledger) *yaml.Node {
	if len(data) > maxFile {
		log.problemAt(0, nil, "is larger than %d MiB; is it the right file?", maxFile>>20)
		return nil
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		log.problemAt(0, nil, "start the YAML parser: %v", err)
		return nil
	}
	var doc yaml.Node
	if err := loader.Load(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			log.problemAt(0, nil, "is empty; start with a database section")
			return nil
		}
		syntaxProblem(err, data, log)
		return nil
	}
	var second yaml.Node
	if err := loader.Load(&second); err == nil {
		log.problemAt(max(second.Line, 1), nil, "a second document starts here; keep everything in one")
		return nil
	} else if !errors.Is(err, io.EOF) {
		syntaxProblem(err, data, log)
		return nil
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 || isNull(doc.Content[0]) {
		log.problemAt(0, nil, "is empty; start with a database section")
		return nil
	}
	f := flattener{log: log, budget: maxNodes}
	root := f.flatten(doc.Content[0], 0)
	if f.stopped {
		return nil
	}
	return root
}

func syntaxProblem(err error, data []byte, log *ledger) {
	line, text := 1, err.Error()
	began := ""
	if load := (*yaml.LoadError)(nil); errors.As(err, &load) {
		line, text = load.Mark.Line, load.Message
		if load.ContextMsg != "" {
			text = load.ContextMsg + ": " + text
		}
		if from := load.ContextMark.Line; from > 0 && from != line {
			began = fmt.Sprintf(" (it began in line %d)", from)
		}
	}
	line = max(line, 1)
	remedy := "check the indentation, colons and quotes on and above this line"
	if lines := bytes.Split(data, []byte("\n")); line <= len(lines) && bytes.Contains(lines[line-1], []byte("${")) {
		remedy = `inside { } and [ ], write "${NAME}" in quotes`
	}
	log.problemAt(line, nil, "is not readable as YAML: %s%s; %s", strings.TrimSpace(text), began, remedy)
}

func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// flattener copies a tree and replaces aliases by copies of what they name.
type flattener struct {
	log     *ledger
	budget  int
	stopped bool
}

func (f *flattener) flatten(n *yaml.Node, depth int) *yaml.Node {
	f.budget--
	if f.stopped || f.budget < 0 || depth > maxDepth {
		if !f.stopped {
			f.log.problemAt(n.Line, nil, "aliases or nesting make the file too large (more than %d values or %d levels); write it out", maxNodes, maxDepth)
		}
		f.stopped = true
		return n
	}
	if n.Kind == yaml.AliasNode {
		out := f.flatten(n.Alias, depth+1)
		// A problem in the value is shown where the alias stands.
		out.Line, out.Column = n.Line, n.Column
		return out
	}
	out := *n
	out.Anchor, out.Content = "", make([]*yaml.Node, 0, len(n.Content))
	for _, child := range n.Content {
		out.Content = append(out.Content, f.flatten(child, depth+1))
	}
	if out.Kind == yaml.MappingNode {
		f.merge(&out)
	}
	return &out
}

// merge carries out `<<: *base` and `<<: [*a, *b]`: the mapping's own keys
// win, then the earlier base.
func (f *flattener) merge(n *yaml.Node) {
	var own, inherited []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.ShortTag() != "!!merge" {
			own = append(own, key, value)
			continue
		}
		bases := []*yaml.Node{value}
		if value.Kind == yaml.SequenceNode {
			bases = value.Content
		}
		for _, base := range bases {
			if base.Kind != yaml.MappingNode {
				f.log.problemAt(key.Line, nil, "<< merges mappings only; name an anchor of a mapping")
				f.stopped = true
				return
			}
			inherited = append(inherited, base.Content...)
		}
	}
	seen := map[string]bool{}
	for i := 0; i < len(own); i += 2 {
		seen[own[i].Value] = true
	}
	for i := 0; i+1 < len(inherited); i += 2 {
		if name := inherited[i].Value; !seen[name] {
			seen[name] = true
			own = append(own, inherited[i], inherited[i+1])
		}
	}
	n.Content = own
}
