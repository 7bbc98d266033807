package reconcile

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"reconciler/matcher"
	"reconciler/reports"
	"reconciler/sources"
)

// Statements stores what sources deliver. Every method is one transaction.
type Statements interface {
	// PutSource makes the source known and brings its rules up to date.
	PutSource(ctx context.Context, src matcher.SourceRule) error
	// Known finds a statement that was registered from the same bytes under
	// the same mapping for the same period; nil if there is none.
	Known(ctx context.Context, id StatementID) (*Registered, error)
	// Redelivered says that a known statement has come again under a name: a
	// document under that name that is in quarantine, or was released from
	// there, is replaced by it.
	Redelivered(ctx context.Context, d Document, known Registered) error
	// Load reads the document to its end, and registers it with all that it
	// says, or not at all. A *sources.Refusal comes back as an error; the
	// statement is then to be registered by Quarantine.
	Load(ctx context.Context, d Document, r sources.Reader) (Loaded, error)
	// Quarantine registers a document that can't be trusted.
	Quarantine(ctx context.Context, d Document, rejects []sources.Reject, refusal *sources.Refusal) (Registered, error)
}

// Journal reads operations with all that speaks about them, and applies what
// was decided.
type Journal interface {
	// Prepare brings everything into reach that Batch needs for this scope.
	Prepare(ctx context.Context, scope Scope) error
	// Batch reads the next operations that need a decision, in order of their
	// keys, all as of one instant of the database.
	Batch(ctx context.Context, scope Scope, after string, limit int) (Batch, error)
	// Apply carries out verdicts by compare-and-set, with their events,
	// exceptions and conclusions, in one transaction. ErrEvidenceMoved means
	// that nothing was applied and the batch must be decided again.
	Apply(ctx context.Context, run Run, b Batch, verdicts []Verdict) (Applied, error)
	// Unjournaled finds effects that bear our reference pattern and have no
	// operation; the grace is per source.
	Unjournaled(ctx context.Context, scope Scope, grace map[string]time.Duration, now time.Time) ([]Finding, error)
	// Conflicts finds records whose key two statements use for different things.
	Conflicts(ctx context.Context, scope Scope) ([]Finding, error)
	// Delivered reads, by account, the time of which a source's current
	// statements speak.
	Delivered(ctx context.Context, source string) (map[string]sources.Ranges, error)
	// Rejected finds the statements in quarantine, and those with rejects.
	Rejected(ctx context.Context, scope Scope) (Incomplete, error)
	// SyncFindings opens, updates and closes the exceptions that concern
	// sources and records rather than operations: what is not in findings and
	// of one of the kinds is closed.
	SyncFindings(ctx context.Context, run Run, scope Scope, kinds []string, findings []Finding) (Opened, error)
}

// Runs keeps the log of runs, and the lock that lets one run of a job work at
// a time.
type Runs interface {
	Begin(ctx context.Context, run Run) error
	Finish(ctx context.Context, run Run, summary reports.Summary) error
	// Lock takes the job's lock or returns *LockedError. dead says of another
	// holder that it is known to have died. lost is closed when the lock could
	// not be renewed in time; release frees it.
	Lock(ctx context.Context, job, holder string, dead func(holder string) bool) (lost <-chan struct{}, release func(), err error)
	// Report reads what the report of a run shows.
	Report(ctx context.Context, run Run, scope Scope) (reports.Report, error)
}

// Store is the database as a run needs it.
type Store interface {
	Statements
	Journal
	Runs
	// Now is the database's clock, by which leases and windows are judged.
	Now(ctx context.Context) (time.Time, error)
}

// Archive keeps the bytes of statements by their digest.
type Archive interface {
	// Put copies r to its end, and returns its digest (hex SHA-256) and size.
	// What is kept under the digest can be opened again by Open.
	Put(ctx context.Context, r io.Reader) (sha256 string, size int64, err error)
	Open(ctx context.Context, sha256 string) (io.ReadCloser, error)
}

// Run identifies one execution of a job.
type Run struct {
	ID  string
	Job string
	// At is the one instant of the run, by the database's clock.
	At           time.Time
	Scope        json.RawMessage
	Version      string
	ConfigDigest string
}

// Scope says which operations a run looks at. It never narrows the evidence.
type Scope struct {
	Job         string
	ActionTypes []string
	// Policies and sources by name, as far as the job needs them.
	Policies map[string]matcher.Policy
	Sources  map[string]matcher.SourceRule
	// JobSources are the sources that this job fetches; their statements and
	// exceptions are the job's.
	JobSources []string
	// Now is the instant of the run, by the database's clock.
	Now time.Time
	// Folds are the foldings that sources declare, by source.
	Folds map[string]*sources.Fold
	// WorkflowID, Operation, From and To choose operations; empty = all.
	WorkflowID string
	Operation  string
	From, To   time.Time
}

// Whole reports that the scope is the whole job.
func (s Scope) Whole() bool {
	return s.WorkflowID == "" && s.Operation == "" && s.From.IsZero() && s.To.IsZero()
}

// StatementID is what makes two deliveries the same statement.
type StatementID struct {
	Source        string
	Accounts      []string
	Period        sources.Period
	SHA256        string
	MappingDigest string
	// AnyPeriod: the document states its period itself, so that equal bytes
	// are of one period, whichever it is.
	AnyPeriod bool
}

// Document is a delivery that is about to be read.
type Document struct {
	StatementID
	Provider string
	Name     string
	Version  string
	Size     int64
	Format   string
	// ModifiedAt and ProductionDelay give the as_of where the document does
	// not state one: the earlier of modification and first sight, less the delay.
	ModifiedAt      time.Time
	ProductionDelay time.Duration
	// StatedAsOf is the document's own word; zero if it has none.
	StatedAsOf time.Time
	// ManifestSHA256 is the digest of the file that vouches for it, as it is
	// kept in the archive; empty if none does.
	ManifestSHA256 string
	Identity       sources.IdentityRule
	// DatedBy says which of the record's times must lie in the period.
	DatedBy sources.Dating
	// Folds of the source, nil if it declares none.
	Fold  *sources.Fold
	RunID string
	At    time.Time
	// Progress is told the rows read so far, now and then; may be nil.
	Progress func(rows int64)
}

// Registered is a statement as the database knows it.
type Registered struct {
	ID       int64
	State    string
	Complete bool
	Reason   string
	Rejects  int64
}

// Loaded says what a statement brought.
type Loaded struct {
	Registered
	// Known: somebody had registered it meanwhile; nothing was stored.
	Known   bool
	Summary sources.Summary
	// New records, records with a changed version, and records that were known.
	New, Changed, Repeated int64
	// Gone records stood in the superseded version only.
	Gone int64
}

// Batch is a set of operations with everything that speaks about them.
type Batch struct {
	Subjects []Subject
	// Generations of the sources that the facts rest on.
	Generations map[string]int64
	// Last is the greatest key examined; the next batch begins after it.
	Last string
	// More says that there may be another batch.
	More bool
}

// Subject is one operation under examination.
type Subject struct {
	Facts matcher.Facts
	// State is the store's own note of what it read, for the compare-and-set.
	State any
}

// Verdict is a decision on one subject of a batch, by its index.
type Verdict struct {
	Subject  int
	Decision matcher.Decision
}

// Applied counts what Apply did.
type Applied struct {
	Transitions []reports.Transition
	// Lost are the operations that somebody else had moved meanwhile.
	Lost   []string
	Opened Opened
}

// Opened counts what happened to exceptions.
type Opened struct{ Opened, AutoResolved int }

// Add adds other's counts to o.
func (o *Opened) Add(other Opened) {
	o.Opened += other.Opened
	o.AutoResolved += other.AutoResolved
}

// Finding is an exception about a source, a statement or a record.
type Finding struct {
	Kind     string
	Severity matcher.Severity
	Source   string
	// Subject tells findings of one kind and source apart, for ever the same.
	Subject        string
	RecordKey      string
	IdempotencyKey string
	RiskMinor      int64
	HasRisk        bool
	Currency       string
	Note           string
	Evidence       any
}

// Incomplete says why a run of the scope can't be complete.
type Incomplete struct {
	Reasons  []string
	Findings []Finding
}
