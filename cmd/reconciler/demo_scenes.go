package main

import (
	"time"

	"reconciler/journal"
	"reconciler/matcher"
)

// scene is one row of the decision table, told as a story: an operation in the
// journal, what the provider shows of it, and what must be concluded.
type scene struct {
	// key and reference of the operation; a scene without a status has no
	// operation at all.
	key, reference string
	action         string
	account        string
	// who is paid or written to, and what happened, in one sentence; later is
	// what the corrected statement adds.
	who, story, later string
	// minor units; nothing where the journal has no amount.
	minor    int64
	currency string
	status   journal.Status
	// at is when it was written into the journal, lease when its lease ends;
	// the zero lease of an attempted operation ends five minutes after at.
	at, lease when
	shows     []line
	// want is the reason code of the first run, then that of the run after the
	// bank has corrected itself, if it is another.
	want, then matcher.ReasonCode
}

// line is one line of a provider's statement. What is empty is the scene's.
type line struct {
	at when
	// kind, side and state are the provider's own words.
	kind, side, state string
	reference, who    string
	minor             int64
	currency          string
	// gone: the corrected statement does not have it any more. corrected is
	// its amount there, if it is another.
	gone      bool
	corrected int64
}

// when is a time of the story: a wall clock time some days ago at the bank,
// or a while before now.
type when struct {
	days         int
	hour, minute int
	ago          time.Duration
}

func day(days, hour, minute int) when { return when{days: days, hour: hour, minute: minute} }

func ago(d time.Duration) when { return when{ago: d} }

func hence(d time.Duration) when { return when{ago: -d} }

func (m when) isZero() bool { return m == when{} }

// in gives the instant, for a story that is told now, to the second.
func (m when) in(now time.Time, zone *time.Location) time.Time {
	if m.days == 0 {
		return now.Add(-m.ago).UTC().Truncate(time.Second)
	}
	y, mo, d := now.In(zone).Date()
	return time.Date(y, mo, d-m.days, m.hour, m.minute, 0, 0, zone).UTC()
}

// The bank's words.
const (
	booked     = "Booked"
	refusedBy  = "Refused"
	inProgress = "In progress"
	sideOut    = "Out"
	sideIn     = "In"
)

const (
	payAction    = "payment_order.create"
	refundAction = "refund.create"
	mailAction   = "email.send"
	ticketAction = "ticket.create"
)

// Days on which the bank's statements tell something special.
const (
	correctedDay = 8 // issued again, with other content
	missingDay   = 5 // never delivered
	cutDay       = 3 // cut short at first
	lastDay      = 2 // the newest statement that is there
)

// paid is a booked payment of the scene's amount, or of another.
func paid(at when, minor int64) line {
	return line{at: at, kind: "Payment", side: sideOut, state: booked, minor: minor}
}

// chapter is a group of scenes that end alike.
type chapter struct {
	title, note string
	scenes      []scene
}

func chapters() []chapter {
	all := []chapter{
		{"Closed by proof", "nobody has to do anything", provenScenes()},
		{"E-mails and tickets", "other providers, other rules: what may safely be sent again, is permitted", otherProviderScenes()},
		{"Too early to say", "nothing is guessed, and nothing has to be done", openScenes()},
		{"For finance: paid, but not as it was ordered", "an exception each", disputedMoney()},
		{"For finance: the journal and the bank contradict each other", "an exception each", disputedFacts()},
		{"For whoever runs it: something stands still", "an exception each", overdueScenes()},
	}
	for _, c := range all {
		for i := range c.scenes {
			c.scenes[i].fill()
		}
	}
	return all
}

// fill puts the defaults where the table says nothing.
func (s *scene) fill() {
	if s.key == "" {
		s.key = s.reference
	}
	if s.account == "" {
		s.account = "main"
	}
	if s.then == "" {
		s.then = s.want
	}
}

// provenScenes: the bank proves what happened.
func provenScenes() []scene {
	return []scene{
		{
			reference: "TW-1001", action: payAction, who: "Müller Wachs KG", minor: 125000, currency: "EUR", status: journal.Unknown,
			story: "The connection broke right after the order was sent. Nobody knew whether it arrived.",
			at:    day(7, 9, 12), shows: []line{paid(day(7, 9, 13), 0)}, want: matcher.Confirmed,
		},
		{
			reference: "TW-1002", action: payAction, who: "Beeline Honey", minor: 31840, currency: "EUR", status: journal.Executing,
			story: "The worker's machine was switched off in the middle of the call.",
			at:    day(7, 10, 40), shows: []line{paid(day(7, 10, 41), 0)}, want: matcher.Confirmed,
		},
		{
			reference: "TW-1003", action: payAction, who: "Jar & Lid Glassworks", minor: 89900, currency: "EUR", status: journal.FailedRetryable,
			story: "The worker got a timeout, took it for a failure, and put it back to be paid again.",
			at:    day(6, 8, 55), shows: []line{paid(day(6, 8, 56), 0)}, want: matcher.ConfirmedBeforeRetry,
		},
		{
			reference: "TW-1004", action: payAction, who: "Linden Print", minor: 22050, currency: "EUR", status: journal.Succeeded,
			story: "An ordinary payment: done, and on the statement.",
			at:    day(7, 14, 20), shows: []line{paid(day(7, 14, 20), 0)}, want: matcher.Settled,
		},
		{
			reference: "TW-1005", action: payAction, who: "Old Mill Cotton", minor: 41000, currency: "EUR", status: journal.Unknown,
			story: "The answer was lost. The bank had refused it: the account was closed.",
			at:    day(6, 11, 5), shows: []line{{at: day(6, 11, 6), kind: "Payment", side: sideOut, state: refusedBy}}, want: matcher.Refused,
		},
		{
			reference: "TW-1026", action: payAction, who: "Cordoba Essences", minor: 52300, currency: "EUR", status: journal.Unknown,
			story: "The answer was lost. The statement shows it, once.",
			later: "The corrected statement does not have it any more.",
			at:    day(correctedDay, 10, 15), shows: []line{{at: day(correctedDay, 10, 16), kind: "Payment", side: sideOut, state: booked, gone: true}},
			want: matcher.Confirmed, then: matcher.EvidenceChanged,
		},
		{
			reference: "TW-1027", action: payAction, who: "Linden Print", minor: 9640, currency: "EUR", status: journal.Unknown,
			story: "The answer was lost. The statement shows it, 96.40 as ordered.",
			later: "The corrected statement shows 69.40 instead of 96.40.",
			at:    day(correctedDay, 11, 20), shows: []line{{at: day(correctedDay, 11, 21), kind: "Payment", side: sideOut, state: booked, corrected: 6940}},
			want: matcher.Confirmed, then: matcher.EvidenceChanged,
		},
		{
			reference: "TW-2001", action: refundAction, who: "a customer in Graz", minor: 3490, currency: "EUR", status: journal.Unknown,
			story: "A refund whose answer was lost. The bank's complete statement does not have it.",
			at:    day(7, 16, 30), want: matcher.Absent,
		},
	}
}

// otherProviderScenes: e-mails and tickets.
func otherProviderScenes() []scene {
	return []scene{
		{
			key: "mail-TW-3001", reference: "TW-3001", action: mailAction, account: "pigeonry", who: "an invoice by e-mail", status: journal.Unknown,
			story: "The mail service did not answer. Its log, complete to its last line, has no such e-mail.",
			at:    day(2, 13, 15), want: matcher.Absent,
		},
		{
			key: "mail-TW-3002", reference: "TW-3002", action: mailAction, account: "pigeonry", who: "a reminder by e-mail", status: journal.Unknown,
			story: "It bounced two hours ago. A second copy could still be on its way for some hours.",
			at:    ago(2 * time.Hour), shows: []line{{at: ago(2*time.Hour - time.Minute), state: "bounced"}}, want: matcher.RefusedNotFinal,
		},
		{
			key: "mail-TW-3003", reference: "TW-3003", action: mailAction, account: "pigeonry", who: "an invoice by e-mail", status: journal.Executing,
			story: "The worker crashed while sending. The log shows it as delivered, once.",
			at:    day(2, 13, 30), shows: []line{{at: day(2, 13, 31), state: "delivered"}}, want: matcher.Confirmed,
		},
		{
			key: "ticket-TW-4001", reference: "TW-4001", action: ticketAction, account: "deskling", who: "a ticket: broken jars", status: journal.Unknown,
			story: "No answer an hour ago. The helpdesk knows our key for a day: the same again makes no second ticket.",
			at:    ago(time.Hour), want: matcher.PermittedByKey,
		},
	}
}

// openScenes: nothing to conclude yet, and nobody has to do anything.
func openScenes() []scene {
	return []scene{
		{
			reference: "TW-1024", action: payAction, who: "Beeline Honey", minor: 27500, currency: "EUR", status: journal.Executing,
			story: "A worker is sending it at this moment.",
			at:    ago(2 * time.Minute), lease: hence(8 * time.Minute), want: matcher.InProgress,
		},
		{
			reference: "TW-1025", action: payAction, who: "Linden Print", minor: 11000, currency: "EUR", status: journal.Planned,
			story: "Planned twenty minutes ago; the next free worker takes it.",
			at:    ago(20 * time.Minute), want: matcher.Waiting,
		},
		{
			reference: "TW-1014", action: payAction, who: "Harbour Freight", minor: 64000, currency: "EUR", status: journal.Unknown,
			story: "The answer was lost. The bank has the order and is still working on it.",
			at:    day(2, 10, 0), shows: []line{{at: day(2, 10, 1), kind: "Payment", side: sideOut, state: inProgress}}, want: matcher.PendingAtProvider,
		},
		{
			reference: "TW-1028", action: payAction, who: "Müller Wachs KG", minor: 98000, currency: "EUR", status: journal.Executing,
			story: "Its worker died an hour and a half ago. The statement of that day is not there yet.",
			at:    ago(90 * time.Minute), want: matcher.NotYetProvable,
		},
	}
}

// disputedMoney: the bank shows it, but not as it was ordered.
func disputedMoney() []scene {
	return []scene{
		{
			reference: "TW-1010", action: payAction, who: "Harbour Freight", minor: 230000, currency: "EUR", status: journal.Unknown,
			story: "After a timeout the agent paid again under a new order. Both went through.",
			at:    day(6, 9, 30), shows: []line{paid(day(6, 9, 31), 0), paid(day(6, 9, 52), 0)}, want: matcher.DuplicateEffect,
		},
		{
			reference: "TW-1006", action: payAction, who: "Jar & Lid Glassworks", minor: 48000, currency: "EUR", status: journal.Unknown,
			story: "480 was ordered, 840 was paid: somebody typed it in by hand.",
			at:    day(7, 11, 0), shows: []line{paid(day(7, 11, 9), 84000)}, want: matcher.AmountMismatch,
		},
		{
			reference: "TW-1007", action: payAction, who: "Cordoba Essences", minor: 30000, currency: "EUR", status: journal.Unknown,
			story: "300 euros were ordered, 300 dollars were paid.",
			at:    day(7, 12, 10), shows: []line{{at: day(7, 12, 11), kind: "Payment", side: sideOut, state: booked, currency: "USD"}},
			want: matcher.CurrencyMismatch,
		},
		{
			reference: "TW-1008", action: payAction, who: "Old Mill Cotton", status: journal.Unknown,
			story: "An older agent wrote no amount into the journal. The bank shows a payment of 77.",
			at:    day(6, 13, 40), shows: []line{{at: day(6, 13, 41), kind: "Payment", side: sideOut, state: booked, minor: 7700, currency: "EUR"}},
			want: matcher.AmountUnknown,
		},
		{
			reference: "TW-1009", action: payAction, who: "Müller Wachs KG", minor: 100000, currency: "EUR", status: journal.Unknown,
			story: "1,000 was ordered. The bank shows two parts, 600 and 250.",
			at:    day(6, 15, 0), shows: []line{paid(day(6, 15, 1), 60000), paid(day(6, 15, 2), 25000)}, want: matcher.PartialEffect,
		},
		{
			reference: "TW-1011", action: payAction, who: "Beeline Honey", minor: 15600, currency: "EUR", status: journal.Unknown,
			story: "It was paid, and came back the next day: the receiving account does not exist.",
			at:    day(7, 15, 10), shows: []line{
				paid(day(7, 15, 11), 0), {at: day(6, 9, 0), kind: "Return", side: sideIn, state: booked},
			}, want: matcher.ReversedAtProvider,
		},
	}
}

// disputedFacts: journal and bank contradict each other.
func disputedFacts() []scene {
	return []scene{
		{
			reference: "TW-1012", action: payAction, who: "Old Mill Cotton", minor: 18700, currency: "EUR", status: journal.FailedFinal,
			story: "The journal says that it failed. The bank shows it as paid.",
			at:    day(4, 9, 0), shows: []line{paid(day(4, 9, 1), 0)}, want: matcher.EffectAfterFailure,
		},
		{
			reference: "TW-1013", action: payAction, who: "Harbour Freight", minor: 73000, currency: "EUR", status: journal.Succeeded,
			story: "The journal says that it was paid. The bank shows that it refused it.",
			at:    day(4, 10, 30), shows: []line{{at: day(4, 10, 31), kind: "Payment", side: sideOut, state: refusedBy}},
			want: matcher.RefusedAfterSuccess,
		},
		{
			reference: "TW-1019", action: payAction, who: "Jar & Lid Glassworks", minor: 56500, currency: "EUR", status: journal.Succeeded,
			story: "The journal says that it was paid. The bank's complete statement does not have it.",
			at:    day(cutDay, 14, 0), want: matcher.MissingAtProvider,
		},
		{
			key: "TW-1022/first", reference: "TW-1022", action: payAction, who: "Müller Wachs KG", minor: 20000, currency: "EUR", status: journal.Unknown,
			story: "Two instalments bear the same reference. The bank shows one payment.",
			at:    day(cutDay, 9, 0), shows: []line{paid(day(cutDay, 9, 1), 0)}, want: matcher.AmbiguousReference,
		},
		{
			key: "TW-1022/second", reference: "TW-1022", action: payAction, who: "Müller Wachs KG", minor: 20000, currency: "EUR", status: journal.Unknown,
			story: "The second of the two. Whose payment is it?",
			at:    day(cutDay, 9, 0), want: matcher.AmbiguousReference,
		},
		{
			reference: "TW-1999", who: "Cordoba Essences", minor: 44000, currency: "EUR",
			story: "A payment under our reference that no worker wrote down. Somebody paid past the journal.",
			at:    day(6, 17, 0), shows: []line{paid(day(6, 17, 0), 0)}, want: matcher.UnjournaledEffect,
		},
		{
			reference: "TW-1016", action: payAction, who: "Beeline Honey", minor: 38200, currency: "EUR", status: journal.Unknown,
			story: "The answer was lost. The complete statement of that day does not have it: it was never paid.",
			at:    day(4, 15, 45), want: matcher.Absent,
		},
	}
}

// overdueScenes: something has stood still for too long.
func overdueScenes() []scene {
	return []scene{
		{
			reference: "TW-1015", action: payAction, who: "Linden Print", minor: 29900, currency: "EUR", status: journal.Unknown,
			story: "The bank took the order eight days ago and has been working on it ever since.",
			at:    day(8, 9, 40), shows: []line{{at: day(8, 9, 41), kind: "Payment", side: sideOut, state: inProgress}}, want: matcher.PendingTooLong,
		},
		{
			reference: "TW-1017", action: payAction, who: "Cordoba Essences", minor: 61200, currency: "EUR", status: journal.Unknown,
			story: "The answer was lost, and the statement of just that day was never delivered.",
			at:    day(missingDay, 11, 30), want: matcher.CoverageGap,
		},
		{
			reference: "TW-1018", action: payAction, account: "savings", who: "Harbour Freight", minor: 150000, currency: "EUR", status: journal.Unknown,
			story: "Two weeks old. It was ordered from the savings account, of which no statements come.",
			at:    day(14, 10, 0), want: matcher.UnresolvedOverdue,
		},
		{
			reference: "TW-1020", action: payAction, who: "Old Mill Cotton", minor: 8800, currency: "EUR", status: journal.Executing,
			story: "A worker has held it for three hours, and says that it still does.",
			at:    ago(3 * time.Hour), lease: hence(2 * time.Hour), want: matcher.LeaseOverheld,
		},
		{
			reference: "TW-1021", action: payAction, who: "Jar & Lid Glassworks", minor: 34000, currency: "EUR", status: journal.Planned,
			story: "Planned three days ago. No worker has ever taken it.",
			at:    day(3, 8, 0), want: matcher.NeverClaimed,
		},
	}
}
