package postgres_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"reconciler/journal"
	"reconciler/matcher"
	"reconciler/reconcile"
	"reconciler/sources"
)

// act is the action type of the operations of the tests.
const act = "payment_order.create"

// operation as a test inserts it; zero fields are NULL.
type operation struct {
	key, status, reference, provider, account, providerID, workflow, action string
	amount                                                                  int64 // 0 = NULL
	created                                                                 time.Time
	attempts                                                                int
}

// op is an operation for 1.00 EUR under a reference, unknown since day 0.
func (w *world) op(key string, change ...func(*operation)) operation {
	o := operation{
		key: key, status: "unknown", reference: "ref-" + key, amount: 100, created: w.day(0, 11), attempts: 1, action: act, workflow: "w-" + key,
	}
	for _, f := range change {
		f(&o)
	}
	return o
}

func (w *world) insert(ops ...operation) {
	w.t.Helper()
	for _, o := range ops {
		w.exec(`INSERT INTO agent_operations (idempotency_key, action_type, workflow_id, payload_hash, status, attempt_count, business_reference,
			provider, account, provider_operation_id, amount_minor, currency, created_at, updated_at, lease_until, first_attempt_at, last_attempt_at)
			VALUES ($1, $2, $3, 'h', $4, $5, nullif($6, ''), nullif($7, ''), nullif($8, ''), nullif($9, ''), nullif($10::bigint, 0), 'EUR',
			$11, $11, CASE WHEN $4 = 'executing' THEN $11::timestamptz + interval '1 minute' END, $11, $11)`,
			o.key, o.action, o.workflow, o.status, o.attempts, o.reference, o.provider, o.account, o.providerID, o.amount, o.created)
	}
}

func in(status journal.Status) func(*operation) {
	return func(o *operation) { o.status = string(status) }
}

// scope of the whole job, at the end of day 15.
func (w *world) scope(change ...func(*matcher.Policy)) reconcile.Scope {
	p := matcher.Policy{
		ActionType: act, Class: matcher.Financial, Sources: []string{"bank"}, EffectKind: sources.KindPayment, EffectDirection: sources.Debit,
		OnAbsent: matcher.Review, RetryNeeds: matcher.NeedsAbsence, SenderDeadlineEnforced: true,
		LeaseGrace: 5 * time.Minute, MaxCall: 15 * time.Minute, MaxLease: time.Hour,
	}
	for _, f := range change {
		f(&p)
	}
	return reconcile.Scope{
		Job: "payments", ActionTypes: []string{act}, Policies: map[string]matcher.Policy{act: p},
		Sources: map[string]matcher.SourceRule{"bank": w.rule}, JobSources: []string{"bank"}, Now: w.day(15),
	}
}

func onAbsent(what matcher.OnAbsent) func(*matcher.Policy) {
	return func(p *matcher.Policy) { p.OnAbsent = what }
}

func (w *world) run(n int) reconcile.Run {
	return reconcile.Run{ID: fmt.Sprint("run-", n), Job: "payments", At: w.day(15), Scope: []byte(`{}`)}
}

func (w *world) batch(scope reconcile.Scope) (reconcile.Batch, []reconcile.Verdict) {
	w.t.Helper()
	b, err := w.store.Batch(w.t.Context(), scope, "", 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	var verdicts []reconcile.Verdict
	for i := range b.Subjects {
		f := b.Subjects[i].Facts
		verdicts = append(verdicts, reconcile.Verdict{Subject: i, Decision: matcher.Decide(f, scope.Policies[f.Operation.ActionType], scope.Now)})
	}
	return b, verdicts
}

// decide reads, decides and applies once.
func (w *world) decide(scope reconcile.Scope) reconcile.Applied {
	w.t.Helper()
	if err := w.store.Prepare(w.t.Context(), scope); err != nil {
		w.t.Fatal(err)
	}
	b, verdicts := w.batch(scope)
	out, err := w.store.Apply(w.t.Context(), w.run(1), b, verdicts)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// facts of one operation of a batch.
func (w *world) facts(scope reconcile.Scope, key string) matcher.Facts {
	w.t.Helper()
	b, _ := w.batch(scope)
	i := slices.IndexFunc(b.Subjects, func(s reconcile.Subject) bool { return s.Facts.Operation.IdempotencyKey == key })
	if i < 0 {
		w.t.Fatalf("operation %s is not on the list of work", key)
	}
	return b.Subjects[i].Facts
}

// candidates of an operation, one line each: record, tier, ownership.
func (w *world) candidates(scope reconcile.Scope, key string) []string {
	w.t.Helper()
	var out []string
	for _, c := range w.facts(scope, key).Candidates {
		line := fmt.Sprint(c.Record.ProviderOperationID, " ", c.Tier, " ", c.Ownership)
		if c.Replaced {
			line += " replaced"
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}

func (w *world) status(key string) string {
	w.t.Helper()
	return get[string](w, `SELECT status FROM agent_operations WHERE idempotency_key = $1`, key)
}

func (w *world) reason(key string) string {
	w.t.Helper()
	return get[string](w, `SELECT coalesce((SELECT reason_code FROM reconciler.operation_decisions WHERE idempotency_key = $1), '')`, key)
}

// cases are the exceptions: kind, subject, state.
func (w *world) cases() []string {
	w.t.Helper()
	return w.lines(`SELECT kind, subject, state FROM reconciler.exceptions ORDER BY 1, 2`)
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}
