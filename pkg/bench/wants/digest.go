package wants

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// The digest of new bids (bench.md 22.5).
const (
	digestEvery = 24 * time.Hour // at most one mail a person and day
	maxDigest   = 30             // wants one mail names; their rows are part of its commit
)

// Timers of the digest: a want joins its person's next mail, and the mail goes out. Package
// bids declares them among its own.
const (
	TimerNews   = "bids.news"
	TimerDigest = "bids.digest"
)

// news is what a want remembers of the digest: how many of the round's bids the person
// was told of, and whether the next mail will speak of it.
type news struct {
	Waiting bool  `json:"waiting,omitempty"`
	Round   int   `json:"round"`
	Told    int64 `json:"told"`
}

// NewsKey is the row of a want's news; a filing names it in its prefetch.
func NewsKey(id string) table.Key { return table.Key{PK: Partition(id), SK: "NEWS"} }

// pending is a person's next digest.
type pending struct {
	Targets []string    `json:"targets,omitempty"`
	SentAt  time.Time   `json:"sent_at,omitzero"`
	Timer   clock.Timer `json:"timer,omitzero"`
}

func digestKey(person string) table.Key {
	return table.Key{PK: "bench.PERSON#" + person, SK: "DIGEST"}
}

// NewBid stages that the person will be told of a new bid, in a mail a day at most. Only
// the first bid since the last mail writes anything for it; a filing reads NewsKey with
// everything else.
func (w *Want) NewBid(c *op.Call) error {
	n, _, err := op.Load[news](c, NewsKey(w.ID))
	if err != nil || n.Waiting {
		return err
	}
	n.Waiting = true
	c.Put(NewsKey(w.ID), n)
	c.Arm(TimerNews, w.ID, c.Now)
	return nil
}

// FireNews adds a want with new bids to its person's next mail.
func FireNews(c *op.Call, t op.Fired) error {
	w, found, err := Load(c, t.Subject)
	if err != nil || !found {
		return err
	}
	p, _, err := op.Load[pending](c, digestKey(w.PersonID))
	if err != nil {
		return err
	}
	if len(p.Targets) >= maxDigest { // that mail is long enough: this want joins the one after it
		c.Arm(TimerNews, w.ID, p.Timer.Due.Add(time.Second))
		return nil
	}
	p.Targets = append(p.Targets, w.ID)
	if !p.Timer.Set() {
		due := p.SentAt.Add(digestEvery)
		if due.Before(c.Now) {
			due = c.Now
		}
		p.Timer = c.Arm(TimerDigest, w.PersonID, due)
	}
	c.Put(digestKey(w.PersonID), p)
	return nil
}

// FireDigest sends a person's digest.
func FireDigest(c *op.Call, t op.Fired) error {
	p, found, err := op.Load[pending](c, digestKey(t.Subject))
	if err != nil || !found || !p.Timer.Due.Equal(t.Due) {
		return err
	}
	var keys []table.Key
	for _, id := range p.Targets {
		keys = append(keys, Key(id), NewsKey(id), CountKey(id))
	}
	if err := c.Fetch(keys...); err != nil {
		return err
	}
	var lines []string
	total := int64(0)
	for _, id := range p.Targets {
		line, n, err := told(c, id)
		if err != nil {
			return err
		}
		if n > 0 {
			lines, total = append(lines, line), total+n
		}
	}
	c.Put(digestKey(t.Subject), pending{SentAt: t.Due})
	if total == 0 {
		return nil
	}
	subject := "You have a new bid"
	if total > 1 {
		subject = fmt.Sprintf("You have %d new bids", total)
	}
	return Tell(c, t.Subject, "digest/"+t.Subject+"/"+clock.Stamp(t.Due), Notice{Kind: "bid.new", Subject: subject,
		Body: strings.Join(lines, "\n"), Link: "/wants", At: t.Due})
}

// told words a want's new bids and notes that they were told.
func told(c *op.Call, id string) (line string, n int64, err error) {
	w, found, err := Load(c, id)
	if err != nil || !found {
		return "", 0, err
	}
	seen, _, err := op.Load[news](c, NewsKey(id))
	if err != nil {
		return "", 0, err
	}
	count, err := c.Get(CountKey(id))
	if err != nil {
		return "", 0, err
	}
	if seen.Round != w.Round {
		seen.Round, seen.Told = w.Round, 0
	}
	now := count.Counters[RoundField(w.Round)]
	n = now - seen.Told
	c.Put(NewsKey(id), news{Round: w.Round, Told: now})
	if w.Status != Open {
		return "", 0, nil
	}
	words := "1 new bid on "
	if n != 1 {
		words = strconv.FormatInt(n, 10) + " new bids on "
	}
	return words + `"` + short(w.Text) + `"`, n, nil
}

// shortText is how much of a want's text names it in a mail, in characters.
const shortText = 80

func short(s string) string {
	r := []rune(strings.Join(slices.Collect(strings.FieldsSeq(s)), " "))
	if len(r) <= shortText {
		return string(r)
	}
	return string(r[:shortText]) + "…"
}
