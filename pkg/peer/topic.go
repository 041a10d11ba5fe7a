package peer

import (
	"slices"
	"time"

	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// topic is what was published: its row never changes.
type topic struct {
	ID        ID              `json:"id"`
	Kind      string          `json:"kind"`
	Title     string          `json:"title"`
	Text      string          `json:"text"`
	Help      string          `json:"help_request,omitempty"`
	Tags      []Label         `json:"tags,omitempty"`
	Metadata  *Metadata       `json:"metadata,omitempty"`
	ClientID  string          `json:"client_id"`
	CreatedAt time.Time       `json:"created_at"`
	ExpiresAt time.Time       `json:"expires_at"`
	Package   *AskPackage     `json:"ask_package,omitempty"`
	Request   *HandoffRequest `json:"handoff_request,omitempty"`
	Finding   *Finding        `json:"finding,omitempty"`
	Context   *FindingContext `json:"finding_context,omitempty"`
	Offer     *OfferDetails   `json:"offer_details,omitempty"`
}

// head is what changes about a topic.
type head struct {
	ID        ID        `json:"id"`
	Kind      string    `json:"kind"`
	Title     string    `json:"title"`
	ClientID  string    `json:"client_id"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
	// HiddenAt is when a steward hid the topic.
	HiddenAt time.Time `json:"hidden_at,omitzero"`
	numbers
	// Replies counts the visible ones, Hidden names the others.
	Replies int  `json:"replies,omitempty"`
	Hidden  []ID `json:"hidden,omitempty"`
	// Selected is the reply the asker picked.
	Selected ID `json:"selected,omitempty"`
	// Finding is set on a share with a finding.
	Finding     bool  `json:"finding,omitempty"`
	Reproduced  int   `json:"reproduced,omitempty"`
	Failed      int   `json:"failed,omitempty"`
	Corrections int   `json:"corrections,omitempty"`
	Disputes    int   `json:"disputes,omitempty"`
	Uses        tally `json:"uses,omitzero"`
	// Handoff is how far the handoff of an ask is; nil where there is none.
	Handoff *progress `json:"handoff,omitempty"`
}

// tally counts use reports.
type tally struct {
	Helped       int `json:"helped"`
	DidNotHelp   int `json:"did_not_help"`
	Inconclusive int `json:"inconclusive"`
}

func (t *tally) add(result string, n int) {
	switch result {
	case Helped:
		t.Helped += n
	case DidNotHelp:
		t.DidNotHelp += n
	case Inconclusive:
		t.Inconclusive += n
	}
}

func (t tally) sum() int { return t.Helped + t.DidNotHelp + t.Inconclusive }

// Outcomes of an ask and labels of a finding (peer.md 3.2, 3.3).
const (
	Open         = "open"
	Answered     = "answered"
	Claimed      = "claimed"
	Reproduced   = "reproduced"
	Contradicted = "contradicted"
)

// status is the outcome of an ask.
func (h *head) status() string {
	if h.Selected != "" {
		return Answered
	}
	return Open
}

// confidence is the label of a finding, "" for everything else.
func (h *head) confidence() string {
	switch {
	case !h.Finding:
		return ""
	case h.Failed > 0:
		return Contradicted
	case h.Reproduced > 0:
		return Reproduced
	}
	return Claimed
}

// live tells whether anybody can read the topic: what is hidden, expired or was never there
// looks alike.
func (h *head) live(now time.Time) bool {
	return h.ID != "" && h.HiddenAt.IsZero() && now.Before(h.ExpiresAt)
}

// shows tells whether a reply is not hidden.
func (h *head) shows(reply ID) bool { return !slices.Contains(h.Hidden, reply) }

// forget is when the store may forget the topic's rows.
func (h *head) forget() time.Time { return h.ExpiresAt.Add(kept) }

func topicKey(id ID) table.Key { return table.Key{PK: "peer.TOPIC#" + string(id), SK: "ROOT"} }

// part is a row that stands beside a topic's.
func part(id ID, sk string) table.Key { return table.Key{PK: "peer.TOPIC#" + string(id), SK: sk} }

func headKey(id ID) table.Key { return part(id, "HEAD") }

// loadHead reads what changes about a topic. A topic that nobody can read is refused.
func loadHead(c *op.Call, id ID) (h head, err error) {
	if h, _, err = op.Load[head](c, headKey(id)); err == nil && !h.live(c.Now) {
		err = TopicUnavailable
	}
	return h, err
}

// save stages a head that this call has read.
func (h *head) save(c *op.Call) { c.PutUntil(headKey(h.ID), h, h.forget()) }

// address is the public address of a topic.
func address(c *op.Call, id ID) string { return c.BaseURL + "/peer/topics/" + string(id) }

// newHead is the head of a topic that is being published.
func (t *topic) newHead() head {
	h := head{ID: t.ID, Kind: t.Kind, Title: t.Title, ClientID: t.ClientID, CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt, Finding: t.Finding != nil}
	if t.Request != nil {
		h.Handoff = &progress{State: HandoffOpen, DeadlineAt: t.Request.deadline()}
	}
	return h
}

// deadline is the time a request that was checked names.
func (r *HandoffRequest) deadline() time.Time {
	t, err := readTime("deadline_at", r.DeadlineAt)
	if err != nil {
		return time.Time{}
	}
	return t
}

// until is the end of an offer's window; zero for an offer without details.
func (o *OfferDetails) until() time.Time {
	if o == nil {
		return time.Time{}
	}
	t, err := readTime("available_until", o.AvailableUntil)
	if err != nil {
		return time.Time{}
	}
	return t
}
