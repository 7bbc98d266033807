package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reconciler/config"
	"reconciler/reconcile"
	"reconciler/sources"
)

// previewOptions are the flags of `sources preview`.
type previewOptions struct {
	profile          string
	sets             []string
	records, rejects int
}

func (a *app) previewCommand() *cobra.Command {
	var o previewOptions
	cmd := &cobra.Command{
		Use:   "preview SOURCE FILE | preview --profile NAME FILE",
		Short: "Show what will be understood of a file, before anything is stored",
		Long: `Read a file as a source would, and show what is understood: encoding, columns,
the first records, rejects, control totals, the period, what proves the end, and
why the file would be refused. No database is needed and nothing is stored.

With --profile the file is read by a ready profile, without any configuration;
--set adds or overrides keys of the source, as they would be written in YAML.

The exit code is 0 if the file would be accepted and complete, else 4.`,
		Example: `  reconciler sources preview acme-bank statements/acme-2026-11-28_2026-11-28.csv
  reconciler sources preview --profile wise --set timezone=Europe/Madrid statement.csv
  reconciler sources preview --profile stripe-payments --set 'fields.business_reference={column: Description}' payments.csv`,
		Args: func(_ *cobra.Command, args []string) error {
			switch want := map[bool]int{true: 1, false: 2}[o.profile != ""]; {
			case len(args) == want:
				return nil
			case o.profile != "":
				return errors.New("with --profile, name one FILE")
			}
			return errors.New("name a SOURCE and a FILE, or --profile NAME and a FILE")
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.preview(cmd.Context(), args, o) },
	}
	cmd.Flags().StringVar(&o.profile, "profile", "", "read by this ready profile instead of a configured source")
	cmd.Flags().StringArrayVar(&o.sets, "set", nil, "with --profile: KEY=VALUE of the source (may be repeated)")
	cmd.Flags().IntVar(&o.records, "records", 10, "show so many records")
	cmd.Flags().IntVar(&o.rejects, "rejects", 20, "show at most so many rejects")
	cmd.ValidArgsFunction = a.fromConfig(1, (*config.Config).SourceNames)
	completeFlag(cmd, "profile", profileNames)
	return cmd
}

func profileNames(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	profiles, err := config.Profiles()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, p := range profiles {
		names = append(names, p.Name+"\t"+p.Title)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// previewConfig finds the source by which a file is read.
func (a *app) previewConfig(args []string, o previewOptions) (cfg *config.Config, name, file string, err error) {
	if o.profile == "" {
		if len(o.sets) > 0 {
			return nil, "", "", usage("--set is for --profile; a configured source says its keys in %s", a.configFile())
		}
		if cfg, err = a.loadConfig(); err != nil {
			return nil, "", "", err
		}
		if _, ok := cfg.Sources[args[0]]; !ok {
			return nil, "", "", noSource(cfg, args[0])
		}
		return cfg, args[0], args[1], nil
	}
	var sets [][2]string
	for _, set := range o.sets {
		key, value, ok := strings.Cut(set, "=")
		if !ok || key == "" {
			return nil, "", "", usage("--set %q is not KEY=VALUE", set)
		}
		sets = append(sets, [2]string{key, value})
	}
	cfg, err = config.FromProfile(o.profile, sets)
	if err != nil {
		return nil, "", "", usage("%w\n(--set KEY=VALUE says a key)", err)
	}
	return cfg, o.profile, args[0], nil
}

func (a *app) preview(ctx context.Context, args []string, o previewOptions) error {
	if o.records < 0 || o.rejects < 0 {
		return usage("--records and --rejects can't be negative")
	}
	cfg, name, file, err := a.previewConfig(args, o)
	if err != nil {
		return err
	}
	src, err := buildSource(cfg, name, []string{a.path(file)})
	if err != nil {
		return err
	}
	declared := cfg.Sources[name].CSV
	look, err := a.inspect(ctx, file, cfg.UnpackRule(name), &declared)
	var bad *exitError
	if err != nil && !errors.As(err, &bad) {
		return err
	}
	for d, err := range src.Location.List(ctx) {
		if err != nil {
			return usage("read %s: %w", file, err)
		}
		out := previewAnswer{Source: name, Profile: cfg.Sources[name].Profile, File: file, Zone: cfg.Zone(name).String(), local: cfg.Zone(name)}
		out.see(look, cfg.Sources[name])
		if err := out.read(ctx, src, d, o); err != nil {
			return err
		}
		out.judge(src, d, time.Now())
		if err := a.printPreview(&out); err != nil {
			return err
		}
		if !out.Complete {
			return &exitError{code: codeIncomplete}
		}
		return nil
	}
	return usage("there is no file %s", file)
}

// read reads the whole document, and keeps its beginning.
func (p *previewAnswer) read(ctx context.Context, src reconcile.Source, d sources.Delivery, o previewOptions) error {
	refused := func(err error) error {
		refusal := (*sources.Refusal)(nil)
		if !errors.As(err, &refusal) {
			return err
		}
		p.Refusal = &previewRefusal{refusal.Line, refusal.Column, refusal.Reason, refusal.Remedy}
		return nil
	}
	var err error
	if p.stated, err = src.Format.Period(d); err != nil {
		return refused(err)
	}
	if d, err = p.vouch(ctx, src, d); err != nil || p.Refusal != nil {
		return err
	}
	body, err := src.Location.Open(ctx, d)
	if err != nil {
		return fmt.Errorf("open %s: %w", d.Name, err)
	}
	defer body.Close() //nolint:errcheck // only read from
	reader, err := src.Format.Open(body, d)
	if err != nil {
		return refused(err)
	}
	if early, ok := reader.(sources.PeriodReader); ok && p.stated.IsZero() {
		p.stated = early.Period()
	}
	var rec sources.Record
	for ctx.Err() == nil {
		err := reader.Next(&rec)
		var reject *sources.Reject
		switch {
		case err == nil:
			p.take(&rec, src, o.records)
		case errors.As(err, &reject):
			p.Rejects++
			if len(p.Rejected) < o.rejects {
				p.Rejected = append(p.Rejected, rejectLine{reject.Line, reject.Field, reject.Reason})
			}
		case errors.Is(err, io.EOF):
			p.Read = true
			p.summary, err = reader.Summary()
			return refused(err)
		default:
			return refused(err)
		}
	}
	return context.Cause(ctx)
}

// vouch reads the manifest, where one must vouch for the document.
func (p *previewAnswer) vouch(ctx context.Context, src reconcile.Source, d sources.Delivery) (sources.Delivery, error) {
	vouched, ok := src.Format.(sources.Vouched)
	if !ok || vouched.ManifestName(d) == "" {
		return d, nil
	}
	name := vouched.ManifestName(d)
	missing := &previewRefusal{
		Reason: fmt.Sprintf("the file %s, which must vouch for this one, can't be read", name),
		Remedy: "until it is there the delivery is not finished; else correct completeness.manifest",
	}
	siblings, ok := src.Location.(sources.Siblings)
	if !ok {
		p.Refusal = missing
		return d, nil
	}
	body, err := siblings.Sibling(ctx, d, name)
	if err != nil {
		p.Refusal = missing
		return d, nil
	}
	defer body.Close() //nolint:errcheck // only read from
	text, err := io.ReadAll(io.LimitReader(body, sources.MaxManifest))
	d.Manifest = append([]byte{}, text...)
	if err != nil {
		return d, fmt.Errorf("read the manifest %s: %w", name, err)
	}
	return d, nil
}

// take counts a record, and keeps the first ones.
func (p *previewAnswer) take(rec *sources.Record, src reconcile.Source, most int) {
	p.Records++
	at := rec.OccurredAt
	if src.Rule.DatedBy == sources.ByBooking {
		at = rec.BookedAt
	}
	if !at.IsZero() {
		if p.earliest.IsZero() || at.Before(p.earliest) {
			p.earliest = at
		}
		if at.After(p.latest) {
			p.latest = at
		}
	}
	p.add(rec)
	if len(p.First) < most {
		p.First = append(p.First, previewRecordOf(rec))
	}
}

// add counts a record to the sum of its currency and direction.
func (p *previewAnswer) add(rec *sources.Record) {
	if !rec.HasAmount {
		return
	}
	at := slices.IndexFunc(p.Sums, func(s previewSum) bool {
		return s.Currency == rec.Currency && s.Direction == string(rec.Direction) && s.Status == string(rec.Status)
	})
	if at < 0 {
		at = len(p.Sums)
		p.Sums = append(p.Sums, previewSum{Currency: rec.Currency, Direction: string(rec.Direction), Status: string(rec.Status)})
	}
	sum := &p.Sums[at]
	sum.Records++
	if sum.AmountMinor > math.MaxInt64-rec.AmountMinor {
		sum.Overflow = true
	} else {
		sum.AmountMinor += rec.AmountMinor
	}
}

// judge says what would become of the document, by the rules of a load.
func (p *previewAnswer) judge(src reconcile.Source, d sources.Delivery, now time.Time) {
	s := &p.summary
	p.Skipped, p.Notes = s.Skipped, s.Notes
	p.Declared, p.Computed, p.EndProof = s.Declared, s.Computed, s.EndProof
	known := p.stated
	if known.IsZero() {
		known = s.Period
	}
	p.Period = periodOf(known.From, known.To)
	p.asOf(src, d, s.AsOf, now)
	if p.Refusal != nil {
		return
	}
	if s.EndProof == sources.EndUnproven {
		p.Because = append(p.Because, "nothing proves that it was read to its end")
	}
	if p.Rejects > 0 {
		p.Because = append(p.Because, fmt.Sprintf("%s could not be understood", count(p.Rejects, "row")))
	}
	if known.IsZero() {
		p.Because = append(p.Because, "its period is not known (completeness.period)")
	} else if !p.earliest.IsZero() && (p.earliest.Before(known.From) || !p.latest.Before(known.To)) {
		p.Because = append(p.Because, fmt.Sprintf("its records are dated from %s to %s, outside of its period", utc(p.earliest), utc(p.latest)))
	}
	p.Complete = len(p.Because) == 0
}

// asOf says up to which moment the provider speaks, and by which rule.
func (p *previewAnswer) asOf(src reconcile.Source, d sources.Delivery, stated, now time.Time) {
	switch {
	case !stated.IsZero():
		p.AsOf, p.AsOfRule = optional(stated), "stated in the document"
	case d.ModifiedAt.IsZero() || d.ModifiedAt.After(now):
		p.AsOf, p.AsOfRule = optional(now.Add(-src.ProductionDelay)), fmt.Sprintf("first seen, less production_delay %s", src.ProductionDelay)
	default:
		p.AsOf, p.AsOfRule = optional(d.ModifiedAt.Add(-src.ProductionDelay)), fmt.Sprintf("the file's modification time, less production_delay %s", src.ProductionDelay)
	}
}
