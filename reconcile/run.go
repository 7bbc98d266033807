package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"reconciler/matcher"
	"reconciler/reports"
	"reconciler/sources"
)

// Verdicts of a run, worst first.
const (
	Incompl    = "incomplete"
	Exceptions = "exceptions"
	Pending    = "reconciled_with_pending"
	Reconciled = "reconciled"
)

// Source is one configured source, ready to be read.
type Source struct {
	Rule     matcher.SourceRule
	Location sources.Location
	Format   sources.Format
	Identity sources.IdentityRule
	// Fold is what the source declares about references; nil if nothing. Tokens
	// says that it knows folded or extracted references at all.
	Fold   *sources.Fold
	Tokens bool
	// ProductionDelay stands between a file's modification and its as_of.
	ProductionDelay time.Duration
	// Unjournaled is set where effects under our pattern must have an
	// operation, Grace after they happened.
	Unjournaled bool
	Grace       time.Duration
	// Calendar says when statements are due; nil if nothing is expected.
	// ExpectedSince is when that began; zero: with the first statement.
	Calendar      *sources.Calendar
	ExpectedSince time.Time
}

// Job is what one run works on.
type Job struct {
	Name        string
	ActionTypes []string
	Policies    map[string]matcher.Policy
	// Rules of all sources that the policies name.
	Rules map[string]matcher.SourceRule
	// Sources to fetch from.
	Sources []Source
	// Folds of all sources that the policies name and that know folded or
	// extracted references.
	Folds        map[string]*sources.Fold
	Version      string
	ConfigDigest string
}

// Options choose operations; they never narrow the evidence.
type Options struct {
	WorkflowID, Operation string
	From, To              time.Time
	// NoFetch leaves the sources alone and decides on what is stored.
	NoFetch bool
	DryRun  bool
}

// Progress hears how far a run is. Its methods are called from one goroutine.
type Progress interface {
	// Phase begins; total is -1 where nobody knows it.
	Phase(name string, total int64)
	// Done is how much of the phase is done.
	Done(n int64)
}

// Runner executes jobs.
type Runner struct {
	Store    Store
	Archive  Archive
	Log      *slog.Logger
	Progress Progress
	// Holder names this process in locks; Dead says of another holder that it
	// is known to have died.
	Holder string
	Dead   func(holder string) bool
	// BatchSize is how many operations are decided and applied at a time.
	BatchSize int
}

// running is the state of one run.
type running struct {
	*Runner
	job   Job
	opt   Options
	run   Run
	scope Scope
	sum   reports.Summary
	gaps  map[string]Finding
	// outages are sources that could not be read.
	outages []string
}

// Run executes the job once. A cancelled context stops it after the batch in
// hand with ErrInterrupted. The report is complete also for a run whose
// verdict is incomplete; on an error there is none.
func (r *Runner) Run(ctx context.Context, job Job, opt Options) (reports.Report, error) {
	now, err := r.Store.Now(ctx)
	if err != nil {
		return reports.Report{}, err
	}
	st := &running{Runner: r, job: job, opt: opt, gaps: map[string]Finding{}}
	if err := st.begin(now); err != nil {
		return reports.Report{}, err
	}
	ctx, release, err := st.lock(ctx)
	if err != nil {
		return reports.Report{}, err
	}
	defer release()
	if err := r.Store.Begin(ctx, st.run); err != nil {
		return reports.Report{}, err
	}
	r.Log.Info("run begins", "run_id", st.run.ID, "job", job.Name)
	report, err := st.work(ctx)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			if errors.Is(cause, ErrLockLost) {
				return reports.Report{}, ErrLockLost
			}
			return reports.Report{}, fmt.Errorf("%w (%w)", ErrInterrupted, err)
		}
		return reports.Report{}, err
	}
	r.Log.Info("run ends", "run_id", st.run.ID, "job", job.Name, "verdict", report.Summary.Verdict,
		"transitions", len(report.Summary.Transitions), "exceptions_open", report.Summary.Exceptions.StillOpen,
		"duration", report.Summary.FinishedAt.Sub(report.Summary.StartedAt).Round(time.Millisecond).String())
	return report, nil
}

func (st *running) begin(now time.Time) error {
	scope := map[string]any{"action_types": st.job.ActionTypes}
	for name, value := range map[string]string{"workflow": st.opt.WorkflowID, "operation": st.opt.Operation} {
		if value != "" {
			scope[name] = value
		}
	}
	for name, value := range map[string]time.Time{"from": st.opt.From, "to": st.opt.To} {
		if !value.IsZero() {
			scope[name] = value
		}
	}
	encoded, err := json.Marshal(scope)
	if err != nil {
		return fmt.Errorf("encode the scope of the run: %w", err)
	}
	st.run = Run{
		ID: NewRunID(now), Job: st.job.Name, At: now, Scope: encoded,
		Version: st.job.Version, ConfigDigest: st.job.ConfigDigest,
	}
	st.scope = Scope{
		Job: st.job.Name, ActionTypes: st.job.ActionTypes, Policies: st.job.Policies, Sources: st.job.Rules, Now: now,
		Folds: st.job.Folds, WorkflowID: st.opt.WorkflowID, Operation: st.opt.Operation, From: st.opt.From, To: st.opt.To,
	}
	for _, src := range st.job.Sources {
		st.scope.JobSources = append(st.scope.JobSources, src.Rule.Name)
	}
	slices.Sort(st.scope.JobSources)
	st.sum = reports.Summary{
		RunID: st.run.ID, Job: st.job.Name, StartedAt: now, Version: st.job.Version, ConfigDigest: st.job.ConfigDigest,
		DryRun: st.opt.DryRun, Transitions: []reports.Transition{}, Coverage: []reports.CoverageEnd{},
		Exceptions: reports.ExceptionCounts{ByKind: map[string]int{}},
	}
	return nil
}

// lock takes the job's lock for a run that stores anything. The returned
// context ends when the lock is lost.
func (st *running) lock(ctx context.Context) (context.Context, func(), error) {
	if st.opt.DryRun {
		return ctx, func() {}, nil
	}
	lost, release, err := st.Store.Lock(ctx, st.job.Name, st.run.ID+" "+st.Holder, st.Dead)
	if err != nil {
		return ctx, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-lost:
			cancel(ErrLockLost)
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-stopped
		release()
	}, nil
}

// work is the run itself, under the lock.
func (st *running) work(ctx context.Context) (reports.Report, error) {
	for _, rule := range slices.Sorted(maps.Keys(st.job.Rules)) {
		if err := st.Store.PutSource(ctx, st.job.Rules[rule]); err != nil {
			return reports.Report{}, err
		}
	}
	if !st.opt.NoFetch {
		for _, src := range st.job.Sources {
			if err := st.fetch(ctx, src); err != nil {
				return reports.Report{}, err
			}
		}
	}
	if err := st.decide(ctx); err != nil {
		return reports.Report{}, err
	}
	// From here on the work is short: a run that has come so far is finished.
	ctx = context.WithoutCancel(ctx)
	incomplete, err := st.findings(ctx)
	if err != nil {
		return reports.Report{}, err
	}
	return st.report(ctx, incomplete)
}

// decide takes the list of work batch by batch.
func (st *running) decide(ctx context.Context) error {
	if err := st.Store.Prepare(ctx, st.scope); err != nil {
		return err
	}
	st.phase("decide", -1)
	after, size := "", max(st.BatchSize, 1)
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		b, err := st.Store.Batch(ctx, st.scope, after, size)
		if err != nil {
			return err
		}
		if len(b.Subjects) > 0 {
			moved, err := st.settle(ctx, b)
			if err != nil {
				return err
			}
			if moved {
				continue
			}
		}
		if !b.More {
			return nil
		}
		after = b.Last
	}
}

// settle decides on a batch and applies what was decided. moved says that the
// evidence changed meanwhile, and the batch is to be read again.
func (st *running) settle(ctx context.Context, b Batch) (moved bool, err error) {
	verdicts := make([]Verdict, 0, len(b.Subjects))
	for i := range b.Subjects {
		f := b.Subjects[i].Facts
		verdicts = append(verdicts, Verdict{
			Subject:  i,
			Decision: matcher.Decide(f, st.job.Policies[f.Operation.ActionType], st.run.At),
		})
	}
	// The batch in hand is finished even if the run is asked to stop.
	applied, err := st.Store.Apply(context.WithoutCancel(ctx), st.run, b, verdicts)
	if errors.Is(err, ErrEvidenceMoved) {
		st.Log.Info("evidence moved, deciding again", "run_id", st.run.ID, "after", b.Last)
		return true, nil
	}
	if err != nil {
		return false, err
	}
	st.count(b, verdicts, applied)
	return false, nil
}

func (st *running) count(b Batch, verdicts []Verdict, applied Applied) {
	ops := &st.sum.Operations
	ops.Examined += len(b.Subjects)
	for _, v := range verdicts {
		if stays(v.Decision) {
			ops.Pending++
		}
		for _, br := range v.Decision.Breaks {
			if br.Kind == matcher.CoverageGap {
				f := gapFinding(br)
				st.gaps[f.Source+"\x00"+f.Subject] = f
			}
		}
	}
	for _, t := range applied.Transitions {
		switch t.To {
		case "succeeded":
			ops.Succeeded++
		case "failed_final":
			ops.FailedFinal++
		case "failed_retryable":
			ops.FailedRetryable++
		case "unknown":
			ops.Unknown++
		}
	}
	st.sum.Transitions = append(st.sum.Transitions, applied.Transitions...)
	st.sum.LostRaces += len(applied.Lost)
	st.sum.Exceptions.Opened += applied.Opened.Opened
	st.sum.Exceptions.AutoResolved += applied.Opened.AutoResolved
	st.done(int64(ops.Examined))
}

// stays reports that an operation waits for proof: it becomes certain by
// itself, or by a statement that is still to come. The report lists the same.
func stays(d matcher.Decision) bool {
	return slices.Contains([]matcher.ReasonCode{
		matcher.NotYetProvable, matcher.CoverageGap, matcher.RefusedNotFinal, matcher.PendingAtProvider,
	}, d.Reason)
}

func gapFinding(br matcher.Break) Finding {
	return Finding{
		Kind: string(matcher.CoverageGap), Severity: br.Severity, Source: br.Source,
		Subject: br.Account + " " + br.Gap.String(), Note: br.Note,
		Evidence: map[string]any{"account": br.Account, "from": br.Gap.From, "to": br.Gap.To},
	}
}

// findings brings the cases of sources and records up to date.
func (st *running) findings(ctx context.Context) (Incomplete, error) {
	incomplete, err := st.Store.Rejected(ctx, st.scope)
	if err != nil {
		return incomplete, err
	}
	conflicts, err := st.Store.Conflicts(ctx, st.scope)
	if err != nil {
		return incomplete, err
	}
	grace := map[string]time.Duration{}
	for _, src := range st.job.Sources {
		if src.Unjournaled {
			grace[src.Rule.Name] = src.Grace
		}
	}
	unjournaled, err := st.Store.Unjournaled(ctx, st.scope, grace, st.run.At)
	if err != nil {
		return incomplete, err
	}
	late, overdue, err := st.overdue(ctx)
	if err != nil {
		return incomplete, err
	}
	incomplete.Reasons = append(incomplete.Reasons, late...)
	all := slices.Concat(incomplete.Findings, conflicts, unjournaled, overdue)
	kinds := []string{"statement_rejected", "record_key_conflict", string(matcher.UnjournaledEffect), kindOverdue}
	// Gaps are seen from the operations that they keep open: only a run that
	// looked at all of them can say that one has closed.
	if st.scope.Whole() {
		kinds = append(kinds, string(matcher.CoverageGap))
	}
	for _, key := range slices.Sorted(maps.Keys(st.gaps)) {
		all = append(all, st.gaps[key])
	}
	opened, err := st.Store.SyncFindings(ctx, st.run, st.scope, kinds, all)
	if err != nil {
		return incomplete, err
	}
	st.sum.Exceptions.Opened += opened.Opened
	st.sum.Exceptions.AutoResolved += opened.AutoResolved
	incomplete.Reasons = append(st.outages, incomplete.Reasons...)
	return incomplete, nil
}

// report reads what the report shows, and gives the verdict.
func (st *running) report(ctx context.Context, incomplete Incomplete) (reports.Report, error) {
	report, err := st.Store.Report(ctx, st.run, st.scope)
	if err != nil {
		return report, err
	}
	for _, c := range report.Coverage {
		st.sum.Coverage = append(st.sum.Coverage, c.End())
	}
	for _, x := range report.Exceptions {
		st.sum.Exceptions.StillOpen++
		st.sum.Exceptions.ByKind[x.Kind]++
	}
	st.sum.Incomplete = incomplete.Reasons
	st.sum.Verdict = verdict(st.sum)
	if st.sum.FinishedAt, err = st.Store.Now(ctx); err != nil {
		return report, err
	}
	report.Summary = st.sum
	if err := st.Store.Finish(ctx, st.run, st.sum); err != nil {
		return report, err
	}
	return report, nil
}

// verdict is the first of the four that applies.
func verdict(sum reports.Summary) string {
	switch {
	case len(sum.Incomplete) > 0:
		return Incompl
	case sum.Exceptions.StillOpen > 0:
		return Exceptions
	case sum.Operations.Pending > 0:
		return Pending
	}
	return Reconciled
}

func (st *running) phase(name string, total int64) {
	if st.Progress != nil {
		st.Progress.Phase(name, total)
	}
}

func (st *running) done(n int64) {
	if st.Progress != nil {
		st.Progress.Done(n)
	}
}
