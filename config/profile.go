package config

import (
	"embed"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v4"
)

//go:embed profiles/*.yaml
var profileFiles embed.FS

// Profile is a ready mapping for the documents of one provider. A source that
// names it says only what is its own.
type Profile struct {
	Name string
	// Title names the documents, as the provider calls them.
	Title string
	// About says what is read of them, and what is not.
	About string
	// Needs are the keys that a source must say itself, each with the reason
	// why no profile can know it.
	Needs map[string]string
	// Source is the mapping, as far as the profile knows it.
	Source Source

	// tree is what is merged under the keys of a source.
	tree *yaml.Node
}

// profileFile is the form of the embedded files. It is decoded as strictly as
// the configuration itself.
type profileFile struct {
	Title  string            `yaml:"title"`
	About  string            `yaml:"about"`
	Needs  map[string]string `yaml:"needs"`
	Source Source            `yaml:"source"`
}

// Profiles lists the embedded profiles by name. An error means that the
// program itself was built wrong.
func Profiles() ([]Profile, error) {
	var out []Profile
	for _, name := range profileNames() {
		p, err := loadProfile(name)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// profileNames are the names of the embedded files, sorted.
func profileNames() []string {
	entries, err := profileFiles.ReadDir("profiles")
	if err != nil {
		return nil // nothing is embedded
	}
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		names = append(names, strings.TrimSuffix(entry.Name(), path.Ext(entry.Name())))
	}
	return names
}

func loadProfile(name string) (Profile, error) {
	file := "profiles/" + name + ".yaml"
	data, err := profileFiles.ReadFile(file)
	if err != nil {
		return Profile{}, fmt.Errorf("read the profile %s: %w", name, err)
	}
	log := newLedger(file)
	root := parseTree(data, log)
	if root == nil {
		return Profile{}, log.err()
	}
	var content profileFile
	d := &decoder{ledger: log, env: func(string) (string, bool) { return "", false }}
	d.decodeInto(root, &content)
	if err := log.err(); err != nil {
		return Profile{}, err
	}
	tree := child(root, "source")
	if content.Title == "" || tree == nil {
		return Profile{}, fmt.Errorf("read the profile %s: it has no title or no source", name)
	}
	return Profile{
		Name: name, Title: content.Title, About: strings.Join(strings.Fields(content.About), " "),
		Needs: content.Needs, Source: content.Source, tree: tree,
	}, nil
}

// child is the value of a key in a mapping; nil if there is none.
func child(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// applyProfiles puts the mappings of the named profiles under the sources that
// name them: from then on such a source is like any other.
func applyProfiles(root *yaml.Node, log *ledger) {
	list := child(root, "sources")
	if list == nil || list.Kind != yaml.MappingNode {
		return // decoding says what is wrong
	}
	for i := 0; i+1 < len(list.Content); i += 2 {
		p := at("sources", list.Content[i].Value)
		named := child(list.Content[i+1], "profile")
		if named == nil || named.Kind != yaml.ScalarNode || isNull(named) {
			continue
		}
		if !slices.Contains(profileNames(), named.Value) {
			log.problemAt(named.Line, p.key("profile"), "there is no profile %q%s", named.Value, suggest(named.Value, profileNames()))
			log.broken[p.index()] = true // what it would have said is not missing
			continue
		}
		profile, err := loadProfile(named.Value)
		if err != nil {
			log.problemAt(named.Line, p.key("profile"), "%v", err)
			continue
		}
		own := list.Content[i+1]
		checkNeeds(log, p, own, profile)
		o := overlay{line: named.Line}
		list.Content[i+1] = o.merge(profile.tree, own, nil)
	}
}

// checkNeeds asks for what no profile can know.
func checkNeeds(log *ledger, p keyPath, own *yaml.Node, profile Profile) {
	for _, key := range slices.Sorted(maps.Keys(profile.Needs)) {
		keys := strings.Split(key, ".")
		if !mentions(own, keys) {
			log.problemAt(child(own, "profile").Line, p.key(keys...), "must be said with the profile %s: %s", profile.Name, profile.Needs[key])
		}
	}
}

// mentions reports that a source says a key, or that it has no use for what is
// around it.
func mentions(n *yaml.Node, keys []string) bool {
	for _, key := range keys {
		if n = child(n, key); n == nil {
			return false
		}
		if dropped(n) {
			return true
		}
	}
	return true
}

// dropped: the source says `null`, to do without what the profile has there.
// An empty value is no such word: it is a mistake, and stays one.
func dropped(n *yaml.Node) bool { return isNull(n) && n.Value == "null" }

// overlay lays the keys of a source over those of its profile.
type overlay struct {
	// line of the word profile, where problems of its values are shown.
	line int
}

// merge returns the profile's mapping with the source's own keys in it. Maps
// are merged, all else is replaced; a key that excludes another one drops it.
func (o overlay) merge(base, own *yaml.Node, p keyPath) *yaml.Node {
	if own.Kind != yaml.MappingNode || base.Kind != yaml.MappingNode || !merges(p) || isField(p) && child(own, "value") != nil {
		return own
	}
	out := *own
	out.Content = make([]*yaml.Node, 0, len(own.Content)+len(base.Content))
	said := map[string]bool{}
	for i := 0; i+1 < len(own.Content); i += 2 {
		key, value := own.Content[i], own.Content[i+1]
		under := child(base, key.Value)
		switch {
		case under == nil || said[key.Value]:
		case dropped(value):
			said[key.Value] = true
			continue
		default:
			value = o.merge(under, value, p.key(key.Value))
		}
		said[key.Value] = true
		for _, other := range excludes(p, key.Value) {
			said[other] = true
		}
		out.Content = append(out.Content, key, value)
	}
	for i := 0; i+1 < len(base.Content); i += 2 {
		if !said[base.Content[i].Value] {
			out.Content = append(out.Content, o.copied(base.Content[i]), o.copied(base.Content[i+1]))
		}
	}
	return &out
}

// copied moves a value of the profile to where the profile is named.
func (o overlay) copied(n *yaml.Node) *yaml.Node {
	out := *n
	out.Line, out.Content = o.line, make([]*yaml.Node, len(n.Content))
	for i, below := range n.Content {
		out.Content[i] = o.copied(below)
	}
	return &out
}

func isField(p keyPath) bool { return len(p) == 2 && p[0] == "fields" }

// merges reports whether a mapping is one of independent keys, not one value.
func merges(p keyPath) bool {
	switch len(p) {
	case 0:
		return true
	case 1:
		return p[0] != "unjournaled"
	case 2:
		return p[0] == "fields" || p[0] == "rows" && p[1] == "map"
	case 3:
		return p[0] == "fields" && p[2] != "debit" && p[2] != "credit" && p[2] != "fold"
	}
	return false
}

// excludes lists the keys that can't stand beside one.
func excludes(p keyPath, key string) []string {
	switch {
	case len(p) == 1 && p[0] == "csv":
		return map[string][]string{"header": {"header_row"}, "header_row": {"header"}}[key]
	case isField(p):
		return map[string][]string{
			"column": {"value", "debit", "credit", "columns"}, "debit": {"column", "columns"}, "credit": {"column", "columns"}, "columns": {"column", "debit", "credit"},
			"layout": {"layouts"}, "layouts": {"layout"}, "timezone": {"zone_column", "zones"}, "zone_column": {"timezone"},
		}[key]
	}
	return nil
}

// allowParts lets a source with a profile say less in the JSON Schema: single
// keys, and null for what it does without.
func allowParts(schema *jsonschema.Schema) {
	const definitions = "#/$defs/"
	source, ok := schema.Definitions["Source"]
	if !ok {
		return
	}
	part := func(name string) *jsonschema.Schema {
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Ref: definitions + "Part" + name}, {Type: "null"}}}
	}
	with, without := jsonschema.NewProperties(), jsonschema.NewProperties()
	for _, key := range []string{"csv", "unpack", "rows", "fields", "completeness"} {
		value, ok := source.Properties.Get(key)
		if !ok {
			continue
		}
		name := strings.TrimPrefix(value.Ref, definitions)
		schema.Definitions["Part"+name] = partOf(schema.Definitions[name])
		with.Set(key, part(name))
		without.Set(key, &jsonschema.Schema{Ref: value.Ref})
		source.Properties.Set(key, &jsonschema.Schema{Description: value.Description})
	}
	schema.Definitions["PartField"] = partOf(schema.Definitions["Field"])
	for pair := schema.Definitions["PartMapping"].Properties.Oldest(); pair != nil; pair = pair.Next() {
		field := part("Field")
		field.Description = pair.Value.Description
		pair.Value = field
	}
	source.If = &jsonschema.Schema{Required: []string{"profile"}}
	source.Then, source.Else = &jsonschema.Schema{Properties: with}, &jsonschema.Schema{Properties: without}
}

// partOf copies an object of which no key is needed and every key may be null.
func partOf(whole *jsonschema.Schema) *jsonschema.Schema {
	out := *whole
	out.Required, out.OneOf, out.Properties = nil, nil, jsonschema.NewProperties()
	for pair := whole.Properties.Oldest(); pair != nil; pair = pair.Next() {
		inner := *pair.Value
		inner.Description, inner.Default, inner.Examples = "", nil, nil
		out.Properties.Set(pair.Key, &jsonschema.Schema{
			Description: pair.Value.Description, Examples: pair.Value.Examples,
			AnyOf: []*jsonschema.Schema{&inner, {Type: "null"}},
		})
	}
	return &out
}

// FromProfile makes a configuration of one source, named like its profile,
// that reads any file: to try it before it is written down. Sets are keys of
// the source with their values in YAML ("csv.delimiter", `";"`); what the
// profile needs must be among them.
func FromProfile(name string, sets [][2]string) (*Config, error) {
	if !slices.Contains(profileNames(), name) {
		return nil, &Error{Problems: []Problem{{File: "--profile", Text: fmt.Sprintf("there is no profile %q%s", name, suggest(name, profileNames()))}}}
	}
	log := newLedger("--profile " + name)
	source := mapping("profile", scalar(name), "location", scalar("*"), "settlement_lag", scalar("0s"))
	for _, set := range sets {
		if err := setKey(source, strings.Split(set[0], "."), set[1]); err != nil {
			return nil, fmt.Errorf("set %s: %w", set[0], err)
		}
	}
	root := mapping("database", mapping("private", scalar("true")), "sources", mapping(name, source))
	return build(root, log, func(string) (string, bool) { return "", false })
}

func scalar(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Value: text}
}

func mapping(pairs ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i+1 < len(pairs); i += 2 {
		key, _ := pairs[i].(string)         //nolint:errcheck // keys are texts
		value, _ := pairs[i+1].(*yaml.Node) //nolint:errcheck // values are nodes
		n.Content = append(n.Content, scalar(key), value)
	}
	return n
}

// setKey writes a value at a path of keys, making the mappings on the way.
func setKey(n *yaml.Node, keys []string, text string) error {
	for _, key := range keys[:len(keys)-1] {
		below := child(n, key)
		if below == nil {
			below = mapping()
			n.Content = append(n.Content, scalar(key), below)
		}
		if n = below; n.Kind != yaml.MappingNode {
			return errors.New("something that has no keys stands on its way")
		}
	}
	log := newLedger("value")
	tree := parseTree([]byte("value: "+text), log)
	if tree == nil {
		return log.err()
	}
	value := child(tree, "value")
	if value == nil || len(tree.Content) != 2 {
		return errors.New("its value is not one value in YAML")
	}
	last := keys[len(keys)-1]
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == last {
			n.Content[i+1] = value
			return nil
		}
	}
	n.Content = append(n.Content, scalar(last), value)
	return nil
}
