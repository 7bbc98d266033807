package matcher_test

import (
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"reconciler/journal"
	"reconciler/matcher"
)

// checkLaws checks what must hold of every decision, whatever the facts.
func checkLaws(t rapid.TB, f matcher.Facts, p matcher.Policy, now time.Time) {
	t.Helper()
	d := matcher.Decide(f, p, now)
	if d.Reason == "" || d.Outcome == "" {
		t.Errorf("a decision without reason or outcome: %+v", d)
	}
	if d.Settled && (!f.Operation.Status.Terminal() || len(d.Breaks) > 0) {
		t.Errorf("settled with something open: %+v", d)
	}
	for _, b := range d.Breaks {
		if b.Kind == "" || b.Severity == "" || b.Note == "" || b.RiskMinor < 0 || (b.HasRisk && b.Currency == "") {
			t.Errorf("a break that says too little: %+v", b)
		}
	}
	if tr := d.Transition; tr != nil {
		if tr.From != f.Operation.Status || !tr.From.CanBecome(tr.To, journal.Reconciler) || tr.Reason == "" {
			t.Errorf("%s → %s (%q) is no legal move of the reconciler from %s", tr.From, tr.To, tr.Reason, f.Operation.Status)
		}
		if tr.To == journal.FailedRetryable && (!d.MayRetry || p.PermitsOff) {
			t.Errorf("a permit that permits nothing: %+v", d)
		}
		checkTwice(t, f, p, now, d)
	}
}

// checkTwice applies the transition and decides again at the same instant:
// nothing moves any more.
func checkTwice(t rapid.TB, f matcher.Facts, p matcher.Policy, now time.Time, first matcher.Decision) {
	t.Helper()
	second := matcher.Decide(applied(f, *first.Transition, now), p, now)
	if second.Transition != nil {
		t.Errorf("deciding twice moves twice: %s → %s (%s), then → %s (%s)", first.Transition.From,
			first.Transition.To, first.Reason, second.Transition.To, second.Reason)
	}
	if first.Reason == matcher.EvidenceChanged {
		return
	}
	if diff := cmp.Diff(kinds(first), kinds(second)); diff != "" {
		t.Errorf("deciding twice gives other breaks (-first +second):\n%s", diff)
	}
	if first.Outcome != second.Outcome && second.Reason != matcher.Waiting {
		t.Errorf("deciding twice gives outcome %s, then %s", first.Outcome, second.Outcome)
	}
}

func kinds(d matcher.Decision) []matcher.ReasonCode {
	var out []matcher.ReasonCode
	for _, b := range d.Breaks {
		out = append(out, b.Kind)
	}
	return out
}

// applied are the facts after the journal has taken the transition.
func applied(f matcher.Facts, tr matcher.Transition, now time.Time) matcher.Facts {
	if f.WorkerUpdatedAt.IsZero() {
		f.WorkerUpdatedAt = f.Operation.UpdatedAt
	}
	op := f.Operation
	op.Status, op.UpdatedAt = tr.To, now
	if tr.ProviderOperationID != "" {
		op.ProviderOperationID = tr.ProviderOperationID
	}
	if tr.To == journal.FailedRetryable {
		op.RetryNotBefore, op.RetryNotAfter = tr.RetryNotBefore, tr.RetryNotAfter
	}
	f.Operation = op
	f.Earlier = &matcher.Earlier{ReasonCode: tr.Reason, From: tr.From, To: tr.To, At: now}
	return f
}
