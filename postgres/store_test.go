package postgres_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"reconciler/matcher"
	"reconciler/postgres"
	"reconciler/postgres/postgrestest"
	"reconciler/reconcile"
	"reconciler/sources"
)

// world is a store on a database of its own, with one source, "bank".
type world struct {
	t       testing.TB
	url     string
	schemas postgres.Schemas
	pool    *pgxpool.Pool
	store   *postgres.Store
	rule    matcher.SourceRule
	// day 0 of the test; statements, records and operations are dated from it.
	zero time.Time
	docs int
}

func newWorld(tb testing.TB) *world {
	tb.Helper()
	return worldAt(tb, postgrestest.New(tb), postgres.DefaultSchemas())
}

func worldAt(tb testing.TB, url string, schemas postgres.Schemas) *world {
	tb.Helper()
	pool, err := postgres.Connect(tb.Context(), url)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(pool.Close)
	w := &world{
		t: tb, url: url, schemas: schemas, pool: pool, store: postgres.NewStore(pool, schemas, slog.New(slog.DiscardHandler)),
		zero: time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -20),
		rule: matcher.SourceRule{
			Name: "bank", Provider: "acme", Accounts: []string{"main"},
			CoverageRule: sources.CoverageRule{DatedBy: sources.ByOccurrence},
		},
	}
	w.put(w.rule)
	return w
}

func (w *world) put(rule matcher.SourceRule) {
	w.t.Helper()
	if err := w.store.PutSource(w.t.Context(), rule); err != nil {
		w.t.Fatal(err)
	}
}

// day is the start of a day of the test, and hours after it.
func (w *world) day(n int, hours ...int) time.Time {
	at := w.zero.AddDate(0, 0, n)
	for _, h := range hours {
		at = at.Add(time.Duration(h) * time.Hour)
	}
	return at
}

// statement is a document with what is in it.
type statement struct {
	reconcile.Document
	rows []any // sources.Record or *sources.Reject
	end  sources.EndProof
	// declared totals of the document.
	declared sources.Controls
	// fail ends the reading after the rows, hook is called before each row.
	fail error
	hook func(n int)
}

// of makes a statement of whole days, the last of them exclusive, which speaks
// up to the start of day asOf.
func (w *world) of(from, to, asOf int, rows ...any) statement {
	w.docs++
	d := reconcile.Document{
		StatementID: reconcile.StatementID{
			Source: w.rule.Name, Accounts: w.rule.Accounts, MappingDigest: "m",
			Period: sources.Period{From: w.day(from), To: w.day(to)},
		},
		Provider: w.rule.Provider, Name: fmt.Sprintf("bank-%d.csv", w.docs), Format: "memory",
		Identity: sources.IdentityRule{Source: w.rule.Name, Provider: w.rule.Provider}, DatedBy: w.rule.DatedBy,
		RunID: "run", At: w.day(asOf), ModifiedAt: w.day(asOf),
	}
	s := statement{Document: d, rows: rows, end: sources.EndFooter}
	for i := range s.rows {
		switch r := s.rows[i].(type) {
		case sources.Record:
			r.Line = i + 2
			s.rows[i] = r
		case *sources.Reject:
			r.Line = i + 2
		}
	}
	s.SHA256 = digest(fmt.Sprint(w.docs, rows))
	return s
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// reader reads the statement.
func (s statement) reader() *memory { return &memory{statement: s} }

type memory struct {
	statement
	at  int
	sum sources.Summary
}

func (m *memory) Next(rec *sources.Record) error {
	if m.at == len(m.rows) {
		if m.fail != nil {
			return m.fail
		}
		return io.EOF
	}
	if m.hook != nil {
		m.hook(m.at)
	}
	row := m.rows[m.at]
	m.at++
	m.sum.Rows++
	switch r := row.(type) {
	case sources.Record:
		*rec = r
		m.sum.Records++
		return nil
	case *sources.Reject:
		m.sum.Rejects++
		return r
	}
	return fmt.Errorf("row %d is a %T", m.at, row)
}

func (m *memory) Summary() (sources.Summary, error) {
	m.sum.EndProof, m.sum.Declared = m.end, m.declared
	return m.sum, nil
}

func (w *world) tryLoad(ctx context.Context, s statement) (reconcile.Loaded, error) {
	return w.store.Load(ctx, s.Document, s.reader())
}

func (w *world) load(s statement) reconcile.Loaded {
	w.t.Helper()
	out, err := w.tryLoad(w.t.Context(), s)
	if err != nil {
		w.t.Fatalf("load %s: %v", s.Name, err)
	}
	return out
}

func (w *world) quarantine(s statement) reconcile.Registered {
	w.t.Helper()
	reg, err := w.store.Quarantine(w.t.Context(), s.Document, nil, &sources.Refusal{Reason: "the footer differs"})
	if err != nil {
		w.t.Fatal(err)
	}
	return reg
}

// rec is a payment of 1.00 EUR with an id of the provider.
func (w *world) rec(id string, change ...func(*sources.Record)) sources.Record {
	r := sources.Record{
		Account: "main", ProviderOperationID: id, BusinessReference: "ref-" + id, AmountMinor: 100, HasAmount: true,
		Currency: "EUR", Direction: sources.Debit, Kind: sources.KindPayment, Status: sources.Succeeded, OccurredAt: w.day(0, 11),
	}
	for _, f := range change {
		f(&r)
	}
	return r
}

func on(at time.Time) func(*sources.Record) { return func(r *sources.Record) { r.OccurredAt = at } }

func amount(minor int64) func(*sources.Record) {
	return func(r *sources.Record) { r.AmountMinor = minor }
}

func status(s sources.Status) func(*sources.Record) { return func(r *sources.Record) { r.Status = s } }

func ref(text string) func(*sources.Record) {
	return func(r *sources.Record) { r.BusinessReference = text }
}

func noID(r *sources.Record) { r.ProviderOperationID = "" }

func (w *world) exec(sql string, args ...any) int64 {
	w.t.Helper()
	tag, err := w.pool.Exec(w.t.Context(), sql, args...)
	if err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
	return tag.RowsAffected()
}

func get[T any](w *world, sql string, args ...any) T {
	w.t.Helper()
	var v T
	if err := w.pool.QueryRow(w.t.Context(), sql, args...).Scan(&v); err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// lines gives each row of a query of texts as one line.
func (w *world) lines(sql string, args ...any) []string {
	w.t.Helper()
	rows, err := w.pool.Query(w.t.Context(), sql, args...)
	if err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		values, err := row.Values()
		line := ""
		for i, v := range values {
			if i > 0 {
				line += " "
			}
			line += fmt.Sprint(v)
		}
		return line, err
	})
	if err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
	return out
}

// current lists the current records: id, amount, status, home.
func (w *world) current() []string {
	w.t.Helper()
	return w.lines(`SELECT coalesce(r.provider_operation_id, r.record_key), r.amount_minor, r.status, st.name, CASE WHEN conflicted THEN 'conflicted' ELSE '' END
		FROM reconciler.records r JOIN reconciler.statements st USING (statement_id) ORDER BY 1, 2`)
}

// checkCounts wants every statement that counts to hold what it stored.
func (w *world) checkCounts() {
	w.t.Helper()
	for _, line := range w.wrongCounts() {
		w.t.Errorf("statement, stored_count, there: %s", line)
	}
}

func (w *world) wrongCounts() []string {
	w.t.Helper()
	return w.lines(`
		SELECT st.name, st.stored_count, (SELECT count(*) FROM reconciler.records WHERE statement_id = st.statement_id)
		       + (SELECT count(*) FROM reconciler.record_versions WHERE statement_id = st.statement_id)
		  FROM reconciler.statements st
		 WHERE state = 'accepted' AND superseded_by IS NULL
		   AND stored_count <> (SELECT count(*) FROM reconciler.records WHERE statement_id = st.statement_id)
		       + (SELECT count(*) FROM reconciler.record_versions WHERE statement_id = st.statement_id)`)
}

// tables are all tables of ours, with a checksum of their rows.
func (w *world) tables(leaveOut ...string) map[string]string {
	w.t.Helper()
	out := map[string]string{}
	for _, name := range w.lines(`SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname IN ('public', 'reconciler')`) {
		if !slices.Contains(leaveOut, name) {
			out[name] = get[string](w, `SELECT count(*) || ' ' || coalesce(md5(string_agg(t::text, E'\n' ORDER BY t::text)), '') FROM `+name+` t`)
		}
	}
	return out
}

// counts are the numbers of rows of all tables of ours.
func (w *world) counts() map[string]int {
	w.t.Helper()
	out := map[string]int{}
	for name, sum := range w.tables() {
		count, _, _ := strings.Cut(sum, " ")
		n, err := strconv.Atoi(count)
		if err != nil {
			w.t.Fatal(err)
		}
		out[name] = n
	}
	return out
}

var errReader = errors.New("the wire was cut")
