package wants

import (
	"fmt"
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

// FeedPrefix begins the sort keys of a person's feed.
const FeedPrefix = "FEED#"

// FeedPartition is the partition of a person's feed.
func FeedPartition(person string) string { return "bench.PERSON#" + person }

// AddToFeed stages a notice in its person's feed and answers the id it got. Notices of one
// moment read in the order things happened: event is the number of the event of the deal it
// is about, 0 for what is no deal's; within one commit the earlier notice is the earlier one.
func AddToFeed(c *op.Call, person string, at time.Time, event int, notice any) (id string) {
	id = c.NewID()
	c.Create(table.Key{PK: FeedPartition(person), SK: fmt.Sprintf("%s%s#%06d#%03d#%s", FeedPrefix, clock.Stamp(at), event, c.Staged(), id)}, notice)
	return id
}

// Tell stages a notice to a person: a row of the feed and, unless the person turned
// optional mail off, a mail under a permanent key.
func Tell(c *op.Call, person, key string, n Notice) error {
	AddToFeed(c, person, n.At, 0, n)
	p, found, err := op.Load[account.Person](c, account.PersonKey(person))
	if err != nil || !found || p.Quiet || !p.ClosedAt.IsZero() {
		return err
	}
	outbox.Send(c, outbox.Letter(p.Email, key, n.Subject, n.Body, "Open it", c.BaseURL+n.Link))
	return nil
}
