package csvguess

import (
	"strings"
)

// role is what a column may be for.
type role int

const (
	roleID role = iota
	roleReference
	roleAmount
	roleDebit
	roleCredit
	roleCurrency
	roleDirection
	roleStatus
	roleType
	roleOccurred
	roleBooked
	roleTime
	roleZone
	roleFee
	roleNet
	roleBalance
	roleAccount
	roleRelated
	roleCount
)

// names are the words by which columns of a role are called, the best first.
func (r role) names() []string {
	return [roleCount][]string{
		roleID: {
			"transaction id", "transferwise id", "transactionid", "amazontransactionid", "payextransactionno", "balance_transaction_id", "charge id", "payment id",
			"payout id", "modification reference", "modification psp reference", "psp reference", "operation id", "numéro de transaction", "referenční číslo transakce",
			"交易单号", "交易订单号", "номер операции", "transaction number", "transaktions-id", "transaktionsnummer", "id transazione", "id",
		},
		roleReference: {
			"merchant reference", "sellerreferenceid", "order id", "order_id", "orderid", "orderidentity", "invoice id", "invoice number", "numéro de facture", "客户订单号", "商户单号", "商家订单号",
			"client reference", "end-to-end", "endtoend", "payment reference", "customer reference", "номер заказа", "variabilní symbol", "gestructureerde mededeling", "reference", "referenz",
			"referencia", "custom field", "назначение платежа", "verwendungszweck", "описание", "description", "omschrijving", "zpráva", "memo", "note", "libellé",
		},
		roleAmount: {
			"gross transaction amount", "transactionamount", "gross amount", "gross", "avant commission", "amount", "payout amount", "сумма операции", "сумма", "betrag", "bedrag", "montant",
			"importe", "importo", "金额", "částka", "kwota", "belopp", "umsatz", "transaction amount", "main amount", "captured (pc)",
		},
		roleDebit:     {"gross debit", "withdrawal", "withdrawals", "debit amount", "debit", "debet", "soll", "paid out", "money out", "amount outgoing", "расход", "списание", "дебет", "cargo"},
		roleCredit:    {"gross credit", "deposit", "deposits", "credit amount", "credit", "haben", "paid in", "money in", "amount incoming", "приход", "зачисление", "кредит", "abono"},
		roleCurrency:  {"gross transaction currency", "gross currency", "payment currency", "currencycode", "holding currency", "currency", "валюта операции", "валюта", "währung", "devise", "munt", "moneda", "币种", "měna", "waluta", "valuta"},
		roleDirection: {"transaction debit or credit", "debit or credit", "debit/credit", "credit/debit", "d/c", "dr/cr", "cr/dr", "收/支", "soll/haben", "af bij", "af/bij", "direction", "side", "sign", "transaction type"},
		roleStatus:    {"status", "state", "статус", "état", "当前状态", "交易状态", "zustand", "estado", "stav", "stato", "record type"},
		roleType:      {"transaction event code", "transactiontype", "record type", "transaction type", "type", "交易类型", "交易分类", "тип", "transaction details type", "reporting_category", "typ", "категория"},
		roleOccurred: {
			"transactionposteddate", "transaction completion date", "date time", "timestamp", "started date", "created", "creation date", "transaction date", "交易时间", "дата операции", "datum provedení",
			"datecreated", "date & time", "payout date", "date", "datum", "дата", "fecha", "data", "valuta", "booking date", "buchungstag", "datetime", "time",
		},
		roleBooked:  {"completed date", "booking date", "booked", "datemodified", "buchungstag", "datum zaúčtování", "дата платежа", "value date", "posted", "settled", "available on", "valuta"},
		roleTime:    {"time", "heure", "uhrzeit", "время", "hora", "čas"},
		roleZone:    {"timezone", "time zone", "zone", "fuseau horaire", "zeitzone"},
		roleFee:     {"totaltransactionfee", "total fees", "total fee", "fee amount", "fee", "fees", "commission", "комиссия", "gebühr", "手续费", "frais"},
		roleNet:     {"nettransactionamount", "net amount", "net", "netto"},
		roleBalance: {"running balance", "balance", "saldo", "solde", "остаток", "余额", "kontostand", "zůstatek"},
		roleAccount: {"source account", "account number", "rekeningnummer", "iban", "номер счета", "merchant account", "account"},
		roleRelated: {"reference txn id", "referencedtransaction", "original transaction", "paypal reference id", "psp reference", "related"},
	}[r]
}

// fits reports whether the values of a column can be of the role at all.
func (r role) fits(c *Column) bool {
	if c.Filled == 0 {
		return r == roleReference || r == roleRelated || r == roleDebit || r == roleCredit
	}
	switch r {
	case roleAmount, roleDebit, roleCredit, roleFee, roleNet, roleBalance:
		return c.Numbers != nil && len(c.longDigits()) == 0
	case roleCurrency:
		all, _ := c.currencies()
		return all
	case roleDirection:
		return c.Distinct <= 4 && c.Numbers == nil && len(c.Layouts) == 0
	case roleStatus, roleType:
		return c.Words != nil && c.Numbers == nil && len(c.Layouts) == 0
	case roleZone:
		return c.Words != nil && c.Numbers == nil
	case roleOccurred, roleBooked:
		return len(c.Layouts) > 0 && c.Layouts[0] != "15:04:05" && c.Layouts[0] != "15:04"
	case roleTime:
		return len(c.Layouts) > 0 && (c.Layouts[0] == "15:04:05" || c.Layouts[0] == "15:04")
	case roleAccount:
		return len(c.Layouts) == 0 && (c.Numbers == nil || c.Numbers.Decimals == 0 && c.Numbers.Negative == 0)
	case roleID, roleRelated, roleReference:
		return len(c.Layouts) == 0
	case roleCount:
	}
	return false
}

// longDigits are digits that no amount has: identifiers.
func (c *Column) longDigits() string {
	for _, cell := range c.cells {
		if len(cell) > 14 && strings.Trim(cell, "0123456789") == "" {
			return cell
		}
	}
	return ""
}

// What a name weighs at least that is a role's as a whole, and as a part.
const (
	wholeName  = 900
	partOfName = 400
)

// points say how well a name is one of the role's: the whole name beats a part
// of it, an earlier word a later one.
func (r role) points(name string) int {
	name = strings.ToLower(strings.TrimSpace(name))
	best := 0
	for i, word := range r.names() {
		switch {
		case name == word:
			best = max(best, 1000-i)
		case len(word) > 2 && (strings.HasPrefix(name, word+" ") || strings.HasPrefix(name, word+"(") || strings.HasSuffix(name, " "+word)):
			best = max(best, 500-i)
		case len(word) > 3 && strings.Contains(name, word):
			best = max(best, 200-i)
		}
	}
	return best
}

// cast chooses a column for every role; nil where none fits.
type cast [roleCount]*Column

func (l *Look) cast() cast {
	var out cast
	for r := range roleCount {
		best := 0
		for i := range l.Columns {
			c := &l.Columns[i]
			points := r.points(c.Name)
			if points == 0 || !r.fits(c) || r == roleType && points < wholeName {
				continue
			}
			if r == roleID && c.Distinct*10 < c.Filled*9 {
				continue // not unique enough
			}
			if c.Filled == 0 {
				points = 1
			}
			if points > best {
				best, out[r] = points, c
			}
		}
	}
	if l.HeaderLine == 0 {
		l.castByValues(&out)
	}
	out.settle()
	return out
}

// castByValues chooses the columns that nothing but their values tells.
func (l *Look) castByValues(out *cast) {
	for i := range l.Columns {
		c := &l.Columns[i]
		codes, _ := c.currencies()
		switch {
		case out[roleOccurred] == nil && roleOccurred.fits(c):
			out[roleOccurred] = c
		case out[roleCurrency] == nil && codes:
			out[roleCurrency] = c
		case out[roleAmount] == nil && roleAmount.fits(c) && c.Numbers.Decimals > 0:
			out[roleAmount] = c
		}
	}
}

// settle removes what contradicts itself.
func (c *cast) settle() {
	if c[roleReference] != nil && c[roleReference] == c[roleID] {
		c[roleReference] = nil
	}
	if c[roleBooked] == c[roleOccurred] {
		c[roleBooked] = nil
	}
	if c[roleRelated] == c[roleID] || c[roleRelated] == c[roleReference] {
		c[roleRelated] = nil
	}
	if c[roleDirection] != nil && !isDirection(c[roleDirection]) {
		c[roleDirection] = nil
	}
	if c[roleDebit] == nil || c[roleCredit] == nil || c[roleDebit] == c[roleCredit] || c[roleDebit].Filled+c[roleCredit].Filled == 0 ||
		c[roleAmount] != nil && c[roleAmount].Numbers.Negative > 0 {
		c[roleDebit], c[roleCredit] = nil, nil
	}
	if c[roleDebit] != nil {
		c[roleAmount], c[roleDirection] = nil, nil
	}
	if c[roleType] == c[roleStatus] || c[roleType] == c[roleDirection] {
		c[roleType] = nil
	}
	if c[roleTime] == c[roleOccurred] {
		c[roleTime] = nil
	}
}

// isDirection reports that every word of the column says a direction.
func isDirection(c *Column) bool {
	for _, w := range c.Words {
		if directionWord(w.Text) == "" && len(w.Text) > 12 {
			return false
		}
	}
	known := 0
	for _, w := range c.Words {
		if directionWord(w.Text) != "" {
			known++
		}
	}
	return known > 0
}

// directionWord is what a word usually says; empty if nobody knows.
func directionWord(text string) string {
	switch strings.ToLower(text) {
	case "d", "dr", "dbit", "debit", "soll", "s", "out", "af", "支出", "дебет", "-":
		return "debit"
	case "c", "cr", "crdt", "credit", "haben", "h", "in", "bij", "收入", "кредит", "+":
		return "credit"
	}
	return ""
}

// statusWord is what a word usually means; empty if nobody knows.
func statusWord(text string) string {
	switch strings.ToLower(text) {
	case "paid", "completed", "complete", "succeeded", "success", "successful", "ok", "settled", "executed", "sent", "posted", "booked", "processed", "cleared",
		"terminé", "erfolgreich", "abgeschlossen", "выполнен", "исполнен", "исполнено", "проведено", "支付成功", "交易成功", "已转账", "已收钱", "朋友已收钱", "对方已收钱":
		return "succeeded"
	case "failed", "failure", "declined", "rejected", "denied", "cancelled", "canceled", "error", "expired", "refused", "отклонен", "отклонено", "abgelehnt":
		return "failed"
	case "pending", "processing", "in progress", "waiting", "unclaimed", "held", "en attente", "в обработке", "ausstehend", "等待付款":
		return "pending"
	case "refunded", "reversed", "reverted", "returned", "已全额退款":
		return "reversed"
	}
	return ""
}
