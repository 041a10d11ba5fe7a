package wants

import (
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/clock"
	"guildhall/pkg/mail/outbox"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Notice is a line of a person's feed; the same words go out as a mail.
type Notice struct {
	Kind     string    `json:"kind"`
	TargetID string    `json:"target_id,omitempty"`
	Subject  string    `json:"subject"`
	Body     string    `json:"body"`
	Link     string    `json:"link,omitempty"` // path below the base address
	At       time.Time `json:"at"`
}

// FeedKey is a notice's row in its person's feed.
func FeedKey(person string, at time.Time, id string) table.Key {
	return table.Key{PK: "bench.PERSON#" + person, SK: "FEED#" + clock.Stamp(at) + "#" + id}
}

// Tell stages a notice to a person: a row of the feed and, unless the person turned
// optional mail off, a mail under a permanent key.
func Tell(c *op.Call, person, key string, n Notice) error {
	c.Create(FeedKey(person, n.At, c.NewID()), n)
	p, found, err := op.Load[account.Person](c, account.PersonKey(person))
	if err != nil || !found || p.Quiet || !p.ClosedAt.IsZero() {
		return err
	}
	outbox.Send(c, outbox.Letter(p.Email, key, n.Subject, n.Body, "Open it", c.BaseURL+n.Link))
	return nil
}
