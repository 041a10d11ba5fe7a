package delivery

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/drip"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/op"
	"guildhall/pkg/sms"
	texts "guildhall/pkg/sms/outbox"
	"guildhall/pkg/table"
	"guildhall/pkg/text"
)

// Timers are the clock of timed deliveries, and the look at them that follows a person's
// new time zone.
var Timers = []op.TimerKind{
	{Context: "bench", Kind: drip.Timer, Fire: release, Rows: released},
	{Context: "bench", Kind: account.ZoneChanged, Fire: moved},
}

// released are the rows a release reads: a sweep reads those of many at once.
func released(subject string) []table.Key {
	schedule, person := drip.Names(subject)
	return []table.Key{drip.Key(schedule), account.PersonKey(person)}
}

// release lets the pieces land that are due (bench.md 14).
func release(c *op.Call, t op.Fired) error {
	schedule, person := drip.Names(t.Subject)
	if err := c.Fetch(released(t.Subject)...); err != nil {
		return err
	}
	s, found, err := drip.Load(c, schedule)
	if err != nil || !found || s.Timer.Kind != t.Kind || !s.Timer.Due.Equal(t.Due) {
		return err
	}
	s.Timer.Version = "" // fired: its row goes with this commit
	p, _, err := op.Load[account.Person](c, account.PersonKey(person))
	if err != nil {
		return err
	}
	if err := fallen(c, &s, &p); err != nil {
		return err
	}
	saved(c, &s)
	return nil
}

// moved looks at everything a person still receives, after its time zone changed, for the next
// piece may be due earlier now, or after the account was closed, which ends it. A page at a
// time: its subject names the person, and the timed delivery the page begins behind; what
// follows a # tells changes of one moment apart.
func moved(c *op.Call, t op.Fired) error {
	of, change, _ := strings.Cut(t.Subject, "#")
	person, after := drip.Names(of)
	ids, more, err := drip.LiveOf(c, person, after)
	if err != nil {
		return err
	}
	keys := []table.Key{account.PersonKey(person)}
	for _, schedule := range ids {
		keys = append(keys, drip.Key(schedule))
	}
	if err := c.Fetch(keys...); err != nil {
		return err
	}
	p, _, err := op.Load[account.Person](c, keys[0])
	if err != nil {
		return err
	}
	for _, schedule := range ids {
		s, found, err := drip.Load(c, schedule)
		switch {
		case err != nil:
			return err
		case found && p.ClosedAt.IsZero():
			s.Wake(c)
		case found:
			deals.Settle(&s, &p, c.Now)
			saved(c, &s)
		}
	}
	if more {
		c.Arm(account.ZoneChanged, drip.Subject(person, ids[len(ids)-1])+"#"+change, c.Now)
	}
	return nil
}

// fallen settles a timed delivery and stages what follows from each day that has fallen due:
// its card, what announces it, the public record, and the record of a fault of ours when it
// comes late. What one commit cannot hold follows with the next; only then it is announced.
// The caller saves it.
func fallen(c *op.Call, s *drip.Schedule, p *account.Person) error {
	deals.Settle(s, p, c.Now)
	days := s.Tell()
	for _, n := range days {
		if err := land(c, s, n); err != nil {
			return err
		}
	}
	if len(days) == 0 || s.Behind > 0 {
		return nil
	}
	announce(c, s, p)
	if s.Status == drip.Completed {
		return completed(c, s)
	}
	return nil
}

// saved stages a timed delivery. One that is over leaves the person's list.
func saved(c *op.Call, s *drip.Schedule) {
	if !s.Live() && s.Listed != "" {
		c.Drop(drip.LiveKey(s.PersonID, s.ID), s.Listed)
		s.Listed = ""
	}
	s.Save(c)
}

// land puts a released day into the person's feed, stamped with its due time.
func land(c *op.Call, s *drip.Schedule, n int) error {
	d, card := s.Released[n-1], deals.CardOf(s, n)
	body := fmt.Sprintf("Day %d of %d from %s.", n, len(s.Pieces), s.Handle)
	if d.Late {
		body += " It is late, and that is our fault, not the agent's."
	}
	deals.Tell(c, s.PersonID, deals.Notice{Kind: string(record.DeliveryReleased), DealID: s.DealID, WantID: s.TargetID, Subject: card.Title, Body: body,
		Link: dayPath(s, n), At: d.At, Day: &card}, false, false)
	if d.Late {
		err := record.Audit(c, "system:", "delivery.late", "deal:"+s.DealID, nil, map[string]any{"schedule_id": s.ID, "ordinal": n,
			"due_at": record.Time(d.At), "late_seconds": int64(d.ReleasedAt.Sub(d.At) / time.Second)})
		if err != nil {
			return err
		}
	}
	return public(c, s, record.DeliveryReleased, d.At, map[string]any{"ordinal": n, "of": len(s.Pieces), "late": d.Late})
}

func dayPath(s *drip.Schedule, n int) string {
	return "/deals/" + s.DealID + "/schedule/days/" + strconv.Itoa(n)
}

// announce sends the opted-in word of the newest day, once however many were missed.
func announce(c *op.Call, s *drip.Schedule, p *account.Person) {
	n, together := len(s.Released), s.Together()
	card, key := deals.CardOf(s, n), "drip:"+s.ID+":"+strconv.Itoa(n)
	subject := fmt.Sprintf("Day %d: %s", n, text.AfterDay(n, card.Title))
	if s.On(drip.Email) {
		body := fmt.Sprintf("Day %d of %d from %s is in your feed.", n, len(s.Pieces), s.Handle)
		if together > 1 {
			body += fmt.Sprintf(" So are the days before it that we had missed: %d in all.", together)
		}
		body += " You can turn these mails off on the page of the delivery."
		deals.Mail(c, p.ID, key, deals.Notice{Subject: subject, Body: body, Link: dayPath(s, n)})
	}
	if s.On(drip.Text) && c.Texts && p.Phone != "" {
		texts.Send(c, sms.Message{To: p.Phone, Key: key, Body: sms.Text(subject, c.BaseURL+dayPath(s, n))})
	}
}

// completed is the landing of the last piece: the agent is told, and the public record.
func completed(c *op.Call, s *drip.Schedule) error {
	err := record.Event(c, s.AgentID, record.E{Type: string(record.ScheduleCompleted), TargetID: s.TargetID, DealID: s.DealID, At: s.EndedAt,
		Data: map[string]any{"schedule_id": s.ID, "pieces_count": len(s.Pieces)}})
	if err != nil {
		return err
	}
	return public(c, s, record.ScheduleCompleted, s.EndedAt, map[string]any{"pieces": len(s.Pieces)})
}

// public stages a line of the public record; practice has none.
func public(c *op.Call, s *drip.Schedule, word record.Word, at time.Time, data any) error {
	if s.Practice {
		return nil
	}
	return record.Ledger(c, word, record.Refs{TargetID: s.TargetID, DealID: s.DealID, AgentNo: s.AgentNo, At: at}, data)
}

// chosen puts channels into their one order.
func chosen(channels []string) []string {
	out := []string{}
	for _, ch := range drip.Channels {
		if slices.Contains(channels, ch) {
			out = append(out, ch)
		}
	}
	return out
}
