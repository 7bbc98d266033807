package postgres

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"reconciler/matcher"
	"reconciler/sources"
)

// evidence is what a decision rested on, as it is kept with the event, the
// conclusion and the exception. It holds nothing that differs between two runs
// that saw the same.
type evidence struct {
	Reason     matcher.ReasonCode `json:"reason_code"`
	Window     *span              `json:"window,omitempty"`
	Records    []recordEvidence   `json:"records,omitempty"`
	Coverage   []coverageEvidence `json:"coverage,omitempty"`
	Statements []int64            `json:"statements,omitempty"`
	Speaks     []string           `json:"speaks_against,omitempty"`
	ProvableAt *time.Time         `json:"provable_at,omitempty"`
	NotBefore  *time.Time         `json:"retry_not_before,omitempty"`
	NotAfter   *time.Time         `json:"retry_not_after,omitempty"`
	Note       string             `json:"note,omitempty"`
	Earlier    *earlierEvidence   `json:"earlier,omitempty"`
}

type span struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

type recordEvidence struct {
	Source              string     `json:"source"`
	RecordKey           string     `json:"record_key"`
	StatementID         int64      `json:"statement_id"`
	Statement           string     `json:"statement"`
	Line                int        `json:"line"`
	ProviderOperationID string     `json:"provider_operation_id,omitempty"`
	BusinessReference   string     `json:"business_reference,omitempty"`
	AmountMinor         *int64     `json:"amount_minor,omitempty"`
	Currency            string     `json:"currency,omitempty"`
	Direction           string     `json:"direction,omitempty"`
	Kind                string     `json:"kind,omitempty"`
	Status              string     `json:"status"`
	OccurredAt          *time.Time `json:"occurred_at,omitempty"`
	Tier                string     `json:"tier"`
	Ownership           string     `json:"ownership"`
	Rivals              []string   `json:"rivals,omitempty"`
	Replaced            bool       `json:"replaced,omitempty"`
	Conflicted          bool       `json:"conflicted,omitempty"`
}

type coverageEvidence struct {
	Source  string `json:"source"`
	Account string `json:"account"`
	Proven  []span `json:"proven,omitempty"`
	Assumed []span `json:"assumed,omitempty"`
}

type earlierEvidence struct {
	Reason matcher.ReasonCode `json:"reason_code"`
	From   string             `json:"from"`
	To     string             `json:"to"`
}

// evidenceOf gathers what a decision rested on.
func evidenceOf(f matcher.Facts, d matcher.Decision) evidence {
	e := evidence{Reason: d.Reason, Speaks: d.Speaks, ProvableAt: nullTime(d.ProvableAt)}
	if !d.Window.IsZero() {
		e.Window = &span{d.Window.From.UTC(), d.Window.To.UTC()}
	}
	for _, c := range f.Candidates {
		e.Records = append(e.Records, recordEvidenceOf(c))
	}
	slices.SortFunc(e.Records, func(a, b recordEvidence) int {
		return strings.Compare(a.sortKey(), b.sortKey())
	})
	for _, c := range d.Proof {
		e.Coverage = append(e.Coverage, coverageEvidence{
			Source: c.Source, Account: c.Account, Proven: within(c.Proven, d.Window), Assumed: within(c.All, d.Window),
		})
	}
	if t := d.Transition; t != nil {
		e.NotBefore, e.NotAfter = nullTime(t.RetryNotBefore), nullTime(t.RetryNotAfter)
	}
	if d.Reason == matcher.EvidenceChanged && f.Earlier != nil {
		e.Earlier = &earlierEvidence{f.Earlier.ReasonCode, string(f.Earlier.From), string(f.Earlier.To)}
	}
	return e
}

func (r recordEvidence) sortKey() string {
	return fmt.Sprintf("%s\x00%s\x00%t\x00%012d\x00%012d", r.Source, r.RecordKey, r.Replaced, r.StatementID, r.Line)
}

func recordEvidenceOf(c matcher.Candidate) recordEvidence {
	rec := c.Record
	out := recordEvidence{
		Source: c.Source, RecordKey: c.RecordKey, StatementID: c.StatementID, Statement: c.Statement, Line: rec.Line,
		ProviderOperationID: rec.ProviderOperationID, BusinessReference: rec.BusinessReference, Currency: rec.Currency,
		Direction: string(rec.Direction), Kind: string(rec.Kind), Status: string(rec.Status), OccurredAt: nullTime(rec.OccurredAt),
		Tier: c.Tier.String(), Ownership: string(c.Ownership), Rivals: c.Rivals, Replaced: c.Replaced, Conflicted: c.Conflicted,
	}
	if out.BusinessReference == "" && len(rec.FoldedReferences) > 0 {
		out.BusinessReference = rec.FoldedReferences[0]
	}
	if rec.HasAmount {
		out.AmountMinor = &rec.AmountMinor
	}
	return out
}

// within keeps what of the ranges touches the window.
func within(ranges sources.Ranges, w sources.Period) []span {
	var out []span
	for _, r := range ranges {
		if r.From.Before(w.To) && w.From.Before(r.To) {
			out = append(out, span{r.From.UTC(), r.To.UTC()})
		}
	}
	return out
}

// encode gives the evidence as JSON.
func (e evidence) encode() (json.RawMessage, error) {
	out, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode evidence: %w", err)
	}
	return out, nil
}

// digestOf is a short fingerprint of texts.
func digestOf(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// exceptionID is the same for ever for one kind, source and subject.
func exceptionID(kind, source, subject string) string {
	h := sha256.Sum256([]byte(kind + "\x00" + source + "\x00" + subject))
	return "EX-" + base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(h[:10])
}
