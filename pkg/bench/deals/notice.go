package deals

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/mail/outbox"
	"guildhall/pkg/op"
)

// Notice is a line of a person's feed; the same words go out as a mail.
type Notice struct {
	Kind    string    `json:"kind"`
	DealID  string    `json:"deal_id,omitempty"`
	WantID  string    `json:"target_id,omitempty"`
	StepID  string    `json:"step_id,omitempty"`
	Subject string    `json:"subject"`
	Body    string    `json:"body"`
	Link    string    `json:"link,omitempty"` // path below the base address
	Day     *DayCard  `json:"day,omitempty"`
	At      time.Time `json:"at"`
}

// EffectNotice is the mail of a notice.
const EffectNotice = "bench.notice"

// letter is the payload of a notice's mail: the person's address is read when it is sent.
type letter struct {
	PersonID string `json:"person_id"`
	Key      string `json:"key"`
	Always   bool   `json:"always,omitempty"` // goes out even to who turned mail off
	Notice   Notice `json:"notice"`
}

// Effects are the side effects of this package.
var Effects = []op.EffectKind{
	{Kind: EffectNotice, Touches: op.Mail, Do: sendNotice},
	{Kind: EffectLook, Touches: op.Payments, Do: lookCheckout, Done: lookedCheckout},
	{Kind: EffectCancel, Touches: op.Payments, Do: cancelCheckout, Done: lookedCheckout},
	{Kind: EffectPayer, Touches: op.Payments, Do: lookPayer, Done: lookedPayer},
	{Kind: EffectPayout, Touches: op.Payments, Do: lookPayout, Done: lookedPayout},
}

func sendNotice(c *op.Call, t op.Fired) (any, error) {
	var l letter
	if err := op.Decode(t.Payload, &l); err != nil {
		return nil, err
	}
	p, found, err := op.Load[account.Person](c, account.PersonKey(l.PersonID))
	if err != nil || !found || !p.ClosedAt.IsZero() || p.Quiet && !l.Always {
		return nil, err
	}
	link := ""
	if l.Notice.Link != "" {
		link = c.BaseURL + l.Notice.Link
	}
	m := outbox.Letter(p.Email, l.Key, l.Notice.Subject, l.Notice.Body, "Open it", link)
	if t.Payload, err = json.Marshal(m); err != nil {
		return nil, err
	}
	return outbox.Effect.Do(c, t)
}

// Tell stages a notice to a person: a row of the feed and a mail, which has the row's id as
// its permanent key. mailed is false for what is only recorded, always is true for what
// even those get who turned mail off.
func Tell(c *op.Call, person string, n Notice, mailed, always bool) {
	tell(c, person, 0, n, mailed, always)
}

// Mail stages the mail of a notice under a permanent key, without a row of the feed.
func Mail(c *op.Call, person, key string, n Notice) {
	c.Effect(EffectNotice, "notice:"+key, letter{person, "notice:" + key, false, n})
}

func tell(c *op.Call, person string, event int, n Notice, mailed, always bool) {
	id := wants.AddToFeed(c, person, n.At, event, n)
	if mailed {
		c.Effect(EffectNotice, "notice:"+id, letter{person, "notice:" + id, always, n})
	}
}

// notify tells the person what an event means to it: what happened, the dollars and the
// date (bench.md 22.4, 22.5).
func (x *change) notify(e *path.Event) error {
	subject, body := x.words(e)
	if subject == "" {
		return nil
	}
	d := x.d
	n := Notice{Kind: string(e.Word), DealID: d.ID, WantID: d.TargetID, Subject: subject, Body: body, Link: "/deals/" + d.ID, At: e.At}
	if s := d.Step(e.Step); s != nil {
		n.StepID = s.ID
		n.Link += "/steps/" + strconv.Itoa(s.Number)
	}
	tell(x.c, d.PersonID, x.n, n, !e.Overtaken, e.Word == record.AskReminded)
	return nil
}

// words is a notice's subject and text; an event the person is not told of has none.
func (x *change) words(e *path.Event) (subject, body string) {
	d, s := x.d, x.d.Step(e.Step)
	switch e.Word {
	case record.DealSigned:
		return "Work has begun", d.Handle + " signed your deal and started on the first step. " + heldLine(d)
	case path.SignReminded:
		if e.N < int(path.SignDrop/time.Hour) {
			return "", ""
		}
		return "Your agent has not signed yet", fmt.Sprintf("%s has not countersigned in 48 hours. You can drop this pick and get %s back, or wait: on %s it is dropped by itself.",
			d.Handle, dollars(d.Money.Held), x.day(d.PickedAt.Add(path.SignEnd)))
	case record.AskOpened:
		return "Your turn: " + s.Title, x.askLine(s, e.Due)
	case record.AskReminded:
		left := "A reminder: "
		if e.N == 12 {
			left = "The last reminder: "
		}
		return left + s.Title + " waits for your answer", x.askLine(s, e.Due)
	case record.AgentCheckinOverdue:
		if e.N != path.NoticeMisses {
			return "", ""
		}
		return "An update is overdue", d.Handle + " has missed two updates in a row on the step \"" + s.Title + "\". You need not do anything: the agent's clock keeps running."
	case path.MessagePosted:
		if e.Who != path.WhoAgent {
			return "", ""
		}
		return "A message from " + d.Handle, d.Handle + " wrote to you about the step \"" + s.Title + "\"."
	case record.StepApproved:
		return x.silentWords(e, s)
	}
	if ending(e.Word) {
		return x.endWords(e)
	}
	return x.rareWords(e)
}

// silentWords tell of an approval by silence. FINISH behind a timed delivery is approved with
// it, and nobody was asked about it.
func (x *change) silentWords(e *path.Event, s *path.Step) (subject, body string) {
	d := x.d
	if e.Cause != path.ByStale || s.Kind == path.Finish && Packaged(d) != "" {
		return "", ""
	}
	body = "14 days passed without an answer, so this step counts as approved"
	if cents := d.AtStake(s); cents > 0 {
		body += fmt.Sprintf(" and %s was released to %s", dollars(cents), d.Handle)
	}
	if body += "."; s.Schedule != "" {
		body += " Its days land in your feed, one each morning; you can pause or stop them."
	}
	return "Taken as approved: " + s.Title, body
}

// rareWords tells what most deals never see.
func (x *change) rareWords(e *path.Event) (subject, body string) {
	d, s := x.d, x.d.Step(e.Step)
	switch {
	case e.Word == path.TimeRestored && e.Who == path.WhoPerson:
		return "You have more time: " + s.Title, "A fault of ours cost you time, so you got it back. " + x.askLine(s, s.LapseAt())
	case e.Word == record.GrantRevoked:
		return "A permission ended", "The permission you gave to " + d.Handle + " on the step \"" + s.Title + "\" is over. Nothing can be done with it any more."
	case e.Word == record.IntegrityDecided:
		return "Our stewards looked at your deal", "They finished their review of your deal with " + d.Handle + ". What you approved and what was paid stays as it is."
	}
	return "", ""
}

func (x *change) endWords(e *path.Event) (subject, body string) {
	d := x.d
	money := fmt.Sprintf("Paid in: %s. Released to %s: %s. Returned to you: %s.", dollars(d.Money.Funded), d.Handle, dollars(d.Money.Released), dollars(d.Money.Returned+d.Money.Held))
	again := ""
	if x.want != nil && x.want.ReopensAfter(e.Cause) {
		again = "\n\nYour want is open for bids again."
	}
	switch e.Word {
	case record.TargetResolved:
		return "Done: your want is finished", "The finish line is approved. " + money + " Your receipt is ready." + x.daysToCome()
	case record.TargetAgentFailed:
		return "Your agent gave up", d.Handle + " could not finish and said why: " + d.Reason + "\n\n" + money + again
	case record.DealAgentWithdrew, record.DealAgentAbandoned:
		return "Your agent withdrew", d.Handle + " left the deal and said why: " + d.Reason + "\n\n" + money + again
	case record.DealDeclined:
		return "You ended the deal", money
	case record.DealLapsed:
		return "The deal ended without your answer", "An answer of yours was missing for too long, so the deal ended. Nobody is at fault. " + money + x.daysToCome()
	case record.DealExpired:
		return "The agent ran out of time", fmt.Sprintf("%s used up its %d days of working time. ", d.Handle, d.Days) + money
	case record.DealAgentDeclined:
		return "Your agent declined", d.Handle + " declined to sign. Your other finalists are still there. " + money
	default:
		return "Your pick was dropped", d.Handle + " did not sign in time. Your other finalists are still there. " + money
	}
}

// daysToCome says of a timed delivery that was approved that the end of the deal is not its own.
func (x *change) daysToCome() string {
	for _, s := range x.d.Steps {
		if s.Schedule != "" && s.State == path.Approved {
			return " What was approved lands in your feed, one day each morning."
		}
	}
	return ""
}

func (x *change) askLine(s *path.Step, due time.Time) string {
	what := "no money moves with it"
	if cents := x.d.AtStake(s); cents > 0 {
		what = dollars(cents) + " is released with your approval"
	}
	ends := ""
	if s.Schedule != "" && s.State == path.Waiting {
		ends = " Your approval ends the deal; the days then land in your feed, one each morning."
	}
	return fmt.Sprintf("The step \"%s\" waits for you: %s.%s Without an answer by %s it counts as approved.", s.Title, what, ends, x.day(due))
}

func heldLine(d *path.Deal) string {
	if d.Free() {
		return "There is no money in this deal."
	}
	return "Held for you: " + dollars(d.Money.Held) + "."
}

// dollars prints cents as people write them.
func dollars(cents int64) string {
	if cents%100 == 0 {
		return "$" + strconv.FormatInt(cents/100, 10)
	}
	return fmt.Sprintf("$%d.%02d", cents/100, cents%100)
}

// day prints a moment in the person's zone.
func (x *change) day(t time.Time) string {
	return t.In(account.Person{Timezone: x.d.Zone}.Zone()).Format("2 January 2006, 15:04 MST")
}
