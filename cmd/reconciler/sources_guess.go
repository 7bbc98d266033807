package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"reconciler/config"
	"reconciler/sources"
	"reconciler/sources/compressed"
	"reconciler/sources/csvguess"
	"reconciler/sources/filesource"
)

func (a *app) guessCommand() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "guess FILE",
		Short: "Propose a first mapping for a file that nobody has described yet",
		Long: `Look at a delimited file and print the first draft of a source in YAML. What the
file does not prove stands there as a comment (NOT KNOWN, ASSUMED, BY NAME): the
time zone, the settlement lag, what proves the end, what the words of a state
mean, whether a day or a month comes first. Put the draft into the configuration,
decide those lines, and look at the file with 'reconciler sources preview'.

The draft is the same for the same file. Nothing is stored.`,
		Example: "  reconciler sources guess new-bank.csv\n  reconciler sources guess --name new-bank new-bank.csv > draft.yaml",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.guess(cmd.Context(), args[0], name) },
	}
	cmd.Flags().StringVar(&name, "name", "", "name of the source in the draft (default: from the file's name)")
	return cmd
}

// guessAnswer is what `sources guess` answers.
type guessAnswer struct {
	File string `json:"file"`
	// Profiles whose columns all stand in the file.
	Profiles []string `json:"profiles"`
	Draft    string   `json:"draft"`
}

func (a *app) guess(ctx context.Context, file, name string) error {
	look, err := a.inspect(ctx, file, compressed.Rule{}, nil)
	if err != nil {
		return err
	}
	if name == "" {
		name = sourceName(file)
	}
	out := guessAnswer{File: file, Profiles: []string{}}
	profiles, err := config.Profiles()
	if err != nil {
		return err
	}
	var beside []string
	for _, p := range profiles {
		if fitsProfile(look, &p.Source) {
			out.Profiles = append(out.Profiles, p.Name)
			beside = append(beside, "", fmt.Sprintf("All columns of the profile %s are there (%s):", p.Name, p.Title),
				fmt.Sprintf("  reconciler sources preview --profile %s %s", p.Name, filepath.Base(file)))
		}
	}
	out.Draft = look.Draft(name, beside...)
	if a.output == "json" {
		return a.printJSON(out)
	}
	_, err = io.WriteString(a.stdout, out.Draft)
	return err
}

// sourceName makes a name of a file's name: its letters, without dates.
func sourceName(file string) string {
	base := strings.ToLower(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)))
	name := strings.Trim(regexp.MustCompile(`[^a-z]+`).ReplaceAllString(base, "-"), "-")
	if name == "" {
		return "new-source"
	}
	return name
}

// fitsProfile reports that a file has every column that a profile names.
func fitsProfile(look *csvguess.Look, src *config.Source) bool {
	for _, c := range sources.NamedColumns(&src.Fields, src.Rows, &src.Completeness) {
		if c.Header != "" && !slices.ContainsFunc(look.Header, func(name string) bool { return strings.EqualFold(strings.TrimSpace(name), c.Header) }) {
			return false
		}
	}
	return true
}

// inspect looks at a file, unpacked if need be.
func (a *app) inspect(ctx context.Context, file string, rule compressed.Rule, declared *sources.CSV) (*csvguess.Look, error) {
	location, err := filesource.Files(a.path(file))
	if err != nil {
		return nil, err
	}
	for d, err := range location.List(ctx) {
		if err != nil {
			return nil, usage("look at %s: %w", file, err)
		}
		body, err := location.Open(ctx, d)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", file, err)
		}
		look, err := inspectBody(body, d, rule, declared)
		if closing := body.Close(); err == nil && closing != nil {
			err = fmt.Errorf("read %s: %w", file, closing)
		}
		if refusal := (*sources.Refusal)(nil); errors.As(err, &refusal) {
			return nil, usage("%s: %w", file, refusal)
		}
		return look, err
	}
	return nil, usage("there is no file %s", file)
}

func inspectBody(body io.Reader, d sources.Delivery, rule compressed.Rule, declared *sources.CSV) (*csvguess.Look, error) {
	inner := &inspector{declared: declared}
	format, err := compressed.Wrap(inner, rule)
	if err != nil {
		return nil, err
	}
	_, err = format.Open(body, d)
	return inner.look, err
}

// inspector is a format that only looks: so a packed file is opened as any
// statement is.
type inspector struct {
	sources.Format
	declared *sources.CSV
	look     *csvguess.Look
}

// Open looks at the document, and gives no reader.
func (i *inspector) Open(r io.Reader, d sources.Delivery) (sources.Reader, error) {
	look, err := csvguess.Inspect(r, d.Name, i.declared)
	if err != nil {
		return nil, usage("look at %s: %w", d.Name, err)
	}
	i.look = look
	return nil, nil //nolint:nilnil // nothing is read
}
