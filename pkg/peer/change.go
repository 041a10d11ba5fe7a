package peer

import (
	"fmt"
	"time"

	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Types of changes (peer.md 7.4).
const (
	TopicPublished    = "topic_published"
	ReplyAdded        = "reply_added"
	AnswerSelected    = "answer_selected"
	AnswerCleared     = "answer_cleared"
	HandoffChanged    = "handoff_changed"
	ConfidenceChanged = "confidence_changed"
	CorrectionAdded   = "correction_added"
	UseReported       = "use_reported"
	TopicGone         = "topic_unavailable"
)

// change is a stored change, the same in the feed of its topic and in its author's.
type change struct {
	// N is its number in the feed it stands in.
	N       int64     `json:"n"`
	Serial  int64     `json:"s"` // its number in the topic's feed
	TopicID ID        `json:"topic"`
	Type    string    `json:"type"`
	ReplyID ID        `json:"reply,omitempty"`
	Rev     *int64    `json:"rev,omitempty"`
	At      time.Time `json:"at"`
}

// id recognises a change wherever it is listed.
func (x *change) id() string { return fmt.Sprintf("%s.%d", x.TopicID, x.Serial) }

// numbers is where a feed stands: the number of its newest change, and the first number of
// each of the last days, so that a reader finds the oldest change that is kept.
type numbers struct {
	Seq  int64  `json:"seq"`
	Days []mark `json:"days,omitempty"`
}

type mark struct {
	Day   int64 `json:"d"` // since 1970
	First int64 `json:"n"`
}

// maxMarks is how many days a feed remembers: those it keeps, the day both ends fall into
// included.
const maxMarks = int(FeedLife/(24*time.Hour)) + 2

func dayOf(t time.Time) int64 { return t.Unix() / 86400 }

// next takes the next number.
func (n *numbers) next(now time.Time) int64 {
	n.Seq++
	day := dayOf(now)
	if len(n.Days) == 0 || n.Days[len(n.Days)-1].Day < day {
		n.Days = append(n.Days, mark{day, n.Seq})
		n.Days = n.Days[max(0, len(n.Days)-maxMarks):]
	}
	return n.Seq
}

// oldest says where the oldest change that is kept stands: behind number lo, and not behind
// hi when there is one. They lie together unless the day they fall into is only half kept.
func (n *numbers) oldest(now time.Time) (lo, hi int64) {
	from := dayOf(now.Add(-FeedLife))
	lo, hi = n.Seq, n.Seq+1
	for i := len(n.Days) - 1; i >= 0 && n.Days[i].Day >= from; i-- {
		lo, hi = n.Days[i].First-1, n.Days[i].First
		if n.Days[i].Day > from {
			continue
		}
		hi = n.Seq + 1
		if i+1 < len(n.Days) {
			hi = n.Days[i+1].First
		}
	}
	return lo, hi
}

func changeSK(n int64) string { return fmt.Sprintf("CHANGE#%012d", n) }

func ownKey(client, sk string) table.Key { return table.Key{PK: "peer.OWN#" + client, SK: sk} }

func ownHeadKey(client string) table.Key { return ownKey(client, "HEAD") }

// ownHead is where an author's feed stands, and how many topics the author has published.
type ownHead struct {
	numbers
	Topics int64 `json:"topics"`
}

// record stages changes of a topic in its feed and in its author's, numbered in this very
// commit. The caller stages the head.
func record(c *op.Call, h *head, changes ...change) error {
	own, _, err := op.Load[ownHead](c, ownHeadKey(h.ClientID))
	if err != nil {
		return err
	}
	for _, x := range changes {
		x.TopicID, x.At = h.ID, c.Now
		x.Serial = h.next(c.Now)
		x.N = x.Serial
		c.CreateUntil(part(h.ID, changeSK(x.N)), x, c.Now.Add(FeedLife))
		x.N = own.next(c.Now)
		c.CreateUntil(ownKey(h.ClientID, changeSK(x.N)), x, c.Now.Add(FeedLife))
	}
	c.Put(ownHeadKey(h.ClientID), own)
	return nil
}

// ownTopic names a topic in its author's list, so that its end shows in the author's feed.
type ownTopic struct {
	N         int64     `json:"n"`
	TopicID   ID        `json:"topic"`
	ExpiresAt time.Time `json:"expires_at"`
}

func ownTopicSK(n int64) string { return fmt.Sprintf("TOPIC#%012d", n) }

// enlist stages a new topic in its author's list.
func enlist(c *op.Call, h *head) error {
	own, _, err := op.Load[ownHead](c, ownHeadKey(h.ClientID))
	if err != nil {
		return err
	}
	own.Topics++
	c.CreateUntil(ownKey(h.ClientID, ownTopicSK(own.Topics)), ownTopic{own.Topics, h.ID, h.ExpiresAt}, h.ExpiresAt.Add(FeedLife))
	c.Put(ownHeadKey(h.ClientID), own)
	return nil
}
