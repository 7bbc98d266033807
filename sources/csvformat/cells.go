package csvformat

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"reconciler/sources"
)

// read fills a record from the cells of a row. The amount comes first: the
// control sum wants it from every row, skipped and rejected ones too.
func (r *reader) read(cells [][]byte, rec *sources.Record) (skip bool, err error) {
	known := true
	if r.format.plan.rows != nil {
		var t rowType
		t, known = r.rowType(cells)
		rec.Kind = t.kind
		if t.skip {
			r.skipRow(cells, rec)
			return true, nil
		}
	}
	amountErr := r.readMoney(cells, rec)
	if skip, err = r.readAccount(cells, rec); skip || err != nil {
		return skip, err
	}
	if !known {
		cell := trim(cells[r.rowColumn])
		return false, &sources.Reject{Line: rec.Line, Field: "rows", Reason: notInMap(cell)}
	}
	if amountErr != nil {
		return false, amountErr
	}
	if err = r.readTimes(cells, rec); err != nil {
		return false, err
	}
	if err = r.readWords(cells, rec); err != nil {
		return false, err
	}
	if err = r.readTexts(cells, rec); err != nil {
		return false, err
	}
	return false, r.readReference(cells, rec)
}

// skipRow adds a row that is no record to the totals. One without an amount
// adds nothing.
func (r *reader) skipRow(cells [][]byte, rec *sources.Record) {
	if r.format.plan.fields[fieldAmount].spec != nil && r.filled(cells, fieldAmount) {
		_ = r.readMoney(cells, rec) //nolint:errcheck // it is counted as unreadable, and no record
	}
}

// cell returns the cell of a field without outer blanks.
func (r *reader) cell(cells [][]byte, id fieldID) []byte {
	return trim(cells[r.columns[id]])
}

// trim drops outer blanks; nearly always there are none.
func trim(text []byte) []byte {
	if len(text) == 0 || text[0] > ' ' && text[0] < 0x80 && text[len(text)-1] > ' ' && text[len(text)-1] < 0x80 {
		return text
	}
	return bytes.TrimSpace(text)
}

func (r *reader) reject(rec *sources.Record, id fieldID, reason string) error {
	return &sources.Reject{Line: rec.Line, Field: r.format.plan.fields[id].name, Reason: reason}
}

func (r *reader) readAccount(cells [][]byte, rec *sources.Record) (skip bool, err error) {
	p := &r.format.plan
	f := &p.fields[fieldAccount]
	switch {
	case f.spec == nil:
		rec.Account = p.account
	case f.spec.Value != nil:
		rec.Account = f.constant.value
	default:
		if rec.Account, err = r.identifier(cells, rec, fieldAccount); err != nil {
			return false, err
		}
		if rec.Account == "" {
			return false, r.reject(rec, fieldAccount, "it is empty")
		}
	}
	if p.accounts == nil {
		return false, nil
	}
	covered, ok := p.accounts[rec.Account]
	rec.Account = covered
	if !ok {
		r.foreign++
	}
	return !ok, nil
}

// find translates a word by the map, or by the default.
func (f *field) find(cell []byte) (word, bool) {
	var w word
	var ok bool
	if f.anyCase {
		w, ok = f.words[strings.ToLower(string(cell))]
	} else {
		w, ok = f.words[string(cell)]
	}
	if !ok && f.fallback != nil {
		return word{raw: string(cell), value: f.fallback.value}, true
	}
	return w, ok
}

func notInMap(cell []byte) string {
	if len(cell) == 0 {
		return "it is empty, and map has no entry for that"
	}
	return quote(string(cell)) + " is not in map"
}

// unknownWord rejects a word that is not in the map, the empty one included.
func (r *reader) unknownWord(rec *sources.Record, id fieldID, cell []byte) error {
	return r.reject(rec, id, notInMap(cell))
}

func (r *reader) readWords(cells [][]byte, rec *sources.Record) error {
	status, err := r.word(cells, rec, fieldStatus)
	if err != nil {
		return err
	}
	rec.Status, rec.ProviderStatus = sources.Status(status.value), status.raw
	kind, err := r.word(cells, rec, fieldKind)
	if err != nil {
		return err
	}
	if kind.value != "" {
		rec.Kind = sources.Kind(kind.value)
	}
	if r.format.plan.signed || r.format.plan.directed {
		return nil
	}
	direction, err := r.word(cells, rec, fieldDirection)
	rec.Direction = sources.Direction(direction.value)
	return err
}

// word translates the provider's word; it is empty for a field that is not mapped.
func (r *reader) word(cells [][]byte, rec *sources.Record, id fieldID) (word, error) {
	f := &r.format.plan.fields[id]
	if !f.mapped() {
		return f.constant, nil
	}
	cell := r.cell(cells, id)
	w, ok := f.words[string(cell)]
	if !ok || f.anyCase {
		if w, ok = f.find(cell); !ok {
			return word{}, r.unknownWord(rec, id, cell)
		}
	}
	return w, nil
}

func (r *reader) readTimes(cells [][]byte, rec *sources.Record) error {
	var err error
	if rec.OccurredAt, rec.OccurredTo, err = r.time(cells, rec, fieldOccurred); err != nil {
		return err
	}
	if rec.BookedAt, _, err = r.time(cells, rec, fieldBooked); err != nil {
		return err
	}
	rec.SettledAt, _, err = r.time(cells, rec, fieldSettled)
	return err
}

// shortestDay tells a time that the clock showed twice from a day.
const shortestDay = 12 * time.Hour

// time reads an instant or a day. Only the time by which the source files its
// records must be there: a record may not be settled yet.
func (r *reader) time(cells [][]byte, rec *sources.Record, id fieldID) (at, end time.Time, err error) {
	f := &r.format.plan.fields[id]
	if !f.mapped() {
		return at, end, nil
	}
	cell := r.cell(cells, id)
	if len(cell) == 0 {
		required := id == fieldOccurred || id == fieldBooked && r.columns[fieldOccurred] == noColumn
		if required {
			err = r.reject(rec, id, "it is empty")
		}
		return at, end, err
	}
	t := &f.time
	switch {
	case !t.simple:
		if at, end, err = r.composed(t, cells, id); t.timeColumn != nil {
			cell = r.joined
		}
	case t.zone != nil:
		at, end, err = r.clock(t.zone).parse(t.layouts[0], cell)
	default:
		at, end, err = r.times.parse(t.layouts[0], cell)
	}
	if err == nil {
		if !end.IsZero() && end.Sub(at) < shortestDay {
			r.notes.add("the clock showed the "+f.name+" twice, when it was set back; both are taken for possible", rec.Line)
		}
		return at, end, nil
	}
	if errors.Is(err, errMonth) {
		return at, end, &sources.Refusal{
			Line: rec.Line, Column: f.spec.Column.Header,
			Reason: fmt.Sprintf("%s: the month is out of range under the layout %q", quote(string(cell)), t.text()),
			Remedy: fmt.Sprintf("day and month stand in another order; correct fields.%s.layout", f.name),
		}
	}
	reason := fmt.Sprintf("%s: %v", quote(string(cell)), err)
	if errors.Is(err, errNoTime) || errors.Is(err, errNoDay) || errors.Is(err, errGap) || errors.Is(err, errFarAway) || errors.Is(err, errNoZone) {
		reason = fmt.Sprintf("%s %v", quote(string(cell)), err)
	}
	if errors.Is(err, errNoTime) {
		reason += fmt.Sprintf(" (%s)", t.text())
	}
	return at, end, r.reject(rec, id, reason)
}

func (r *reader) readTexts(cells [][]byte, rec *sources.Record) error {
	var err error
	if rec.ProviderOperationID, err = r.identifier(cells, rec, fieldProviderID); err != nil {
		return err
	}
	if rec.IdempotencyKey, err = r.identifier(cells, rec, fieldKey); err != nil {
		return err
	}
	if rec.RelatedID, err = r.identifier(cells, rec, fieldRelated); err != nil {
		return err
	}
	if rec.BatchID, err = r.identifier(cells, rec, fieldBatch); err != nil {
		return err
	}
	if rec.BatchID == "" {
		rec.BatchID = r.format.plan.fields[fieldBatch].constant.value
	}
	return nil
}

// identifier reads a text that identifies something: outer blanks are the
// padding of a column, never part of it.
func (r *reader) identifier(cells [][]byte, rec *sources.Record, id fieldID) (string, error) {
	if r.columns[id] == noColumn {
		return "", nil
	}
	cell := r.cell(cells, id)
	if err := r.checkText(rec, id, cell); err != nil {
		return "", err
	}
	f := &r.format.plan.fields[id]
	if f.extract == nil {
		return r.text(cell), nil
	}
	tokens := f.extract.Extract(nil, r.text(cell))
	switch len(tokens) {
	case 0:
		return "", nil
	case 1:
		return tokens[0], nil
	}
	return "", r.reject(rec, id, fmt.Sprintf("extract finds %d different values, %s and %s among them", len(tokens), quote(tokens[0]), quote(tokens[1])))
}

// checkText rejects control characters: no provider writes them on purpose,
// and the database cannot store a zero byte.
func (r *reader) checkText(rec *sources.Record, id fieldID, cell []byte) error {
	for i, c := range cell {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7F {
			return r.reject(rec, id, fmt.Sprintf("the control character 0x%02X stands at byte %d of the cell", c, i+1))
		}
	}
	if len(cell) == 0 || cell[0] != '=' {
		return nil
	}
	if _, ok := wrapped(cell); ok {
		return r.reject(rec, id, fmt.Sprintf("%s is written as a formula; if the provider protects digits so, declare csv.unwrap: true", quote(string(cell))))
	}
	return nil
}

func (r *reader) readReference(cells [][]byte, rec *sources.Record) error {
	at := r.columns[fieldReference]
	if at == noColumn {
		return nil
	}
	cell := cells[at]
	if err := r.checkText(rec, fieldReference, cell); err != nil {
		return err
	}
	p := &r.format.plan
	raw := r.text(cell)
	if extract := p.fields[fieldReference].extract; extract != nil {
		for _, token := range extract.Extract(nil, raw) {
			rec.FoldedReferences = p.folder.Theirs(rec.FoldedReferences, token)
			rec.Ours = rec.Ours || r.isOurs(token)
		}
		rec.Ours = rec.Ours || r.isOurs(raw)
		return nil
	}
	if usable, _ := sources.UsableReference(raw); !usable {
		return nil
	}
	rec.BusinessReference = raw
	rec.Ours = r.isOurs(raw)
	if p.folded {
		rec.FoldedReferences = p.folder.Theirs(nil, raw)
	} else if padded := trim(cell); len(padded) != len(cell) {
		// The padding of a fixed-width column must not hide an effect.
		rec.FoldedReferences = []string{r.text(padded)}
	}
	return nil
}

func (r *reader) isOurs(reference string) bool {
	return r.format.ours != nil && r.format.ours.MatchString(reference)
}
