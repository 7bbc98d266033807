package csvformat

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"reconciler/money"
	"reconciler/sources"
)

// read fills a record from the cells of a row. The amount comes first: the
// control sum wants it from every row, skipped and rejected ones too.
func (r *reader) read(cells [][]byte, rec *sources.Record) (skip bool, err error) {
	amountErr := r.readMoney(cells, rec)
	if skip, err = r.readAccount(cells, rec); skip || err != nil {
		return skip, err
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
	return !ok, nil
}

func (r *reader) readMoney(cells [][]byte, rec *sources.Record) error {
	f := &r.format.plan.fields[fieldAmount]
	if r.format.plan.fields[fieldCurrency].spec == nil {
		return nil
	}
	currency, err := r.readCurrency(cells, rec)
	if err != nil {
		r.totals.unreadable++
		return err
	}
	rec.Currency = currency.value
	if f.spec == nil {
		return nil
	}
	minor, err := f.number.ParseMinorBytes(r.cell(cells, fieldAmount), currency.exponent)
	if err != nil {
		r.totals.unreadable++
		return r.reject(rec, fieldAmount, amountReason(err, currency.value))
	}
	r.totals.add(minor, currency)
	rec.HasAmount = true
	rec.AmountMinor = max(minor, -minor)
	if err := r.readSign(rec, minor); err != nil {
		return err
	}
	return r.readFee(cells, rec, currency)
}

func amountReason(err error, currency string) string {
	if errors.Is(err, money.ErrTooManyDecimals) {
		return fmt.Sprintf("%v for %s", err, currency)
	}
	return err.Error()
}

// readSign judges the sign of the amount. It is the direction only where the
// mapping says so; nobody knows what else a negative amount means.
func (r *reader) readSign(rec *sources.Record, minor int64) error {
	p := &r.format.plan
	if p.signed {
		sign := "+"
		if minor < 0 {
			sign = "-"
		}
		direction, ok := p.fields[fieldDirection].words[sign]
		if !ok {
			return r.reject(rec, fieldDirection, fmt.Sprintf("an amount with the sign %s is not in map", sign))
		}
		rec.Direction = sources.Direction(direction.value)
		return nil
	}
	switch {
	case minor >= 0:
		return nil
	case p.fields[fieldDirection].spec == nil:
		return r.reject(rec, fieldAmount, `it is negative, and no direction is mapped; declare direction: {column: <the amount's>, map: {"-": debit, "+": credit}}`)
	}
	return r.reject(rec, fieldAmount, "it is negative, although the direction says already which way the money went")
}

func (r *reader) readFee(cells [][]byte, rec *sources.Record, currency word) error {
	if r.columns[fieldFee] == noColumn {
		return nil
	}
	cell := r.cell(cells, fieldFee)
	if len(cell) == 0 {
		return nil
	}
	minor, err := r.format.plan.fields[fieldFee].number.ParseMinorBytes(cell, currency.exponent)
	if err != nil {
		return r.reject(rec, fieldFee, amountReason(err, currency.value))
	}
	rec.HasFee, rec.FeeMinor = true, max(minor, -minor)
	return nil
}

func (r *reader) readCurrency(cells [][]byte, rec *sources.Record) (word, error) {
	f := &r.format.plan.fields[fieldCurrency]
	if !f.mapped() {
		return f.constant, nil
	}
	cell := r.cell(cells, fieldCurrency)
	if f.words != nil {
		w, ok := f.words[string(cell)]
		if !ok {
			return word{}, r.unknownWord(rec, fieldCurrency, cell)
		}
		return w, nil
	}
	if r.currency.value != "" && string(cell) == r.currency.value {
		return r.currency, nil
	}
	code := string(cell)
	exponent, ok := money.Exponent(code)
	switch {
	case code == "":
		return word{}, r.reject(rec, fieldCurrency, "it is empty")
	case !ok:
		return word{}, r.reject(rec, fieldCurrency, quote(code)+" is not an ISO 4217 currency; if it is the provider's word for one, declare a map")
	}
	r.currency = word{raw: code, value: code, exponent: exponent}
	return r.currency, nil
}

// unknownWord rejects a word that is not in the map, the empty one included.
func (r *reader) unknownWord(rec *sources.Record, id fieldID, cell []byte) error {
	if len(cell) == 0 {
		return r.reject(rec, id, "it is empty, and map has no entry for that")
	}
	return r.reject(rec, id, quote(string(cell))+" is not in map")
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
	rec.Kind = sources.Kind(kind.value)
	if r.format.plan.signed {
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
	if !ok {
		return word{}, r.unknownWord(rec, id, cell)
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
	at, end, err = r.times.parse(f.layout, cell)
	switch {
	case err == nil:
		return at, end, nil
	case errors.Is(err, errMonth):
		return at, end, &sources.Refusal{
			Line: rec.Line, Column: f.spec.Column.Header,
			Reason: fmt.Sprintf("%s: the month is out of range under the layout %q", quote(string(cell)), f.layout.text),
			Remedy: fmt.Sprintf("day and month stand in another order; correct fields.%s.layout", f.name),
		}
	}
	reason := fmt.Sprintf("%s %v", quote(string(cell)), err)
	if errors.Is(err, errNoTime) {
		reason += fmt.Sprintf(" (%s)", f.layout.text)
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
