package deals

import (
	"fmt"
	"time"

	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/clock"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/text"
)

// Limits of threads.
const (
	MaxReply         = 4000 // characters of an agent's message
	MaxPersonMessage = 2000 // characters of a person's message
	MaxShown         = 50   // messages of a thread that ride other answers
	MaxMessages      = 500  // messages of one reading
)

// Message is an entry of a step's thread. Pulses and flags are entries of the platform.
type Message struct {
	ID    string    `json:"id"`
	Who   string    `json:"who"`
	Body  string    `json:"body"`
	At    time.Time `json:"at"`
	Pulse *Pulse    `json:"pulse,omitempty"`
}

// MessageView is an entry on the wire.
type MessageView struct {
	ID       string      `json:"id"`
	Who      string      `json:"who"`
	Body     string      `json:"body"`
	PostedAt record.Time `json:"posted_at"`
}

func (m *Message) view() MessageView { return MessageView{m.ID, m.Who, m.Body, record.Time(m.At)} }

// putMessage stages an entry that the deal's event has counted: its number keeps the order
// of what happens in one moment.
func putMessage(c *op.Call, d *path.Deal, s *path.Step, m Message) {
	c.Create(child(d.ID, stamped(messagePrefix(s.Number), m.At, fmt.Sprintf("%06d", s.Messages))), m)
}

// ThreadView is the step_thread block (bench.md 9).
type ThreadView struct {
	Messages  []MessageView `json:"messages"`
	Count     int           `json:"count"`
	Unread    int           `json:"unread_from_person"`
	PersonAt  *record.Time  `json:"latest_person_message_at"`
	Elsewhere []Elsewhere   `json:"unanswered_elsewhere"`
	ReadMore  *string       `json:"read_more"`
	PostReply *string       `json:"post_reply"`
}

// Elsewhere is another step on which the person waits for a reply.
type Elsewhere struct {
	StepID    string `json:"step_id"`
	Number    int    `json:"step_number"`
	State     string `json:"step_state"`
	Unread    int    `json:"unread_from_person"`
	ReadMore  string `json:"read_more"`
	PostReply string `json:"post_reply"`
}

func threadPath(d *path.Deal, s *path.Step) string {
	return "/api/bench/deals/" + d.ID + "/steps/" + s.ID + "/messages"
}

// elsewhere lists every other step that is owed a reply, closed ones included.
func elsewhere(d *path.Deal, here *path.Step) []Elsewhere {
	out := []Elsewhere{}
	for _, s := range d.Owed() {
		if s != here {
			out = append(out, Elsewhere{s.ID, s.Number, s.State, s.Unread, threadPath(d, s), "POST " + threadPath(d, s)})
		}
	}
	return out
}

// ReadIn reads a step's thread.
type ReadIn struct {
	OfStep
	After string `query:"after" doc:"ISO-8601 time: only messages after it."`
}

// ReadOut is a step's thread, oldest first.
type ReadOut struct {
	DealID   string        `json:"deal_id"`
	StepID   string        `json:"step_id"`
	Number   int           `json:"step_number"`
	State    string        `json:"step_state"`
	Messages []MessageView `json:"messages"`
	Count    int           `json:"count"`
}

// ReadMessages reads a step's thread (bench.md 9). At most MaxMessages come at once: the
// time of the last one continues the reading.
var ReadMessages = op.Declare(op.Meta{
	ID: "bench.message.list", Method: "GET", Path: "/api/bench/deals/{deal_id}/steps/{step_id}/messages", Tool: "read_step_messages",
	Auth: op.Maker, Scope: "deals:write", Summary: "Read the conversation of a step.", Contract: "bench.md 9",
}, readMessages)

func readMessages(c *op.Call, in ReadIn) (ReadOut, error) {
	d, err := Mine(c, in.DealID)
	if err != nil {
		return ReadOut{}, err
	}
	s, err := stepOf(d, in.StepID, true)
	if err != nil {
		return ReadOut{}, err
	}
	q := table.Query{PK: Key(d.ID).PK, Limit: MaxMessages}.Prefix(messagePrefix(s.Number))
	if in.After != "" {
		at, err := clock.Parse(in.After)
		if err != nil {
			return ReadOut{}, fault.InvalidField.At("after").Say("after must be a time such as 2026-11-30T18:20:00Z.")
		}
		// Times are shown in whole seconds: one sent back may repeat a message of its second,
		// and never loses one.
		q.From = messagePrefix(s.Number) + clock.Stamp(at.Add(time.Millisecond))
	}
	p, err := c.Query(q)
	if err != nil {
		return ReadOut{}, err
	}
	out := ReadOut{DealID: d.ID, StepID: s.ID, Number: s.Number, State: s.State, Messages: []MessageView{}}
	for _, r := range p.Rows {
		var m Message
		if err := op.Decode(r.Data, &m); err != nil {
			return ReadOut{}, err
		}
		out.Messages = append(out.Messages, m.view())
	}
	out.Count = len(out.Messages)
	return out, nil
}

// ReplyIn is a message of the agent.
type ReplyIn struct {
	OfStep
	Reply string `json:"reply" rule:"required,min=1,max=4000" doc:"Your answer to the person."`
}

// Validate implements op.Validator.
func (in ReplyIn) Validate() error { return screen("reply", "messages", in.Reply) }

// ReplyOut answers a message.
type ReplyOut struct {
	DealID  string      `json:"deal_id"`
	StepID  string      `json:"step_id"`
	Number  int         `json:"step_number"`
	State   string      `json:"step_state"`
	Message MessageView `json:"message"`
	Late    bool        `json:"late_answer,omitempty"`
}

// Reply posts an agent's message (bench.md 9). It is chat: nothing else moves.
var Reply = op.Declare(op.Meta{
	ID: "bench.message.post", Method: "POST", Path: "/api/bench/deals/{deal_id}/steps/{step_id}/messages", Tool: "post_step_message",
	Auth: op.Maker, Scope: "deals:write", Idempotent: op.KeyRequired, Limit: &registry.Writes, Summary: "Answer the person in the thread of a step.",
	Faults: []string{"this step is closed and owes no reply", "messages must not contain secrets", "link_not_allowed"}, Contract: "bench.md 9",
}, reply)

func reply(c *op.Call, in ReplyIn) (ReplyOut, error) {
	d, err := Mine(c, in.DealID)
	if err != nil {
		return ReplyOut{}, err
	}
	s, err := stepOf(d, in.StepID, true)
	if err != nil {
		return ReplyOut{}, err
	}
	late, err := d.Reply(c.Now, s)
	if err != nil {
		return ReplyOut{}, err
	}
	m := Message{ID: c.NewID(), Who: path.WhoAgent, Body: text.Normalize(in.Reply), At: c.Now}
	putMessage(c, d, s, m)
	return ReplyOut{d.ID, s.ID, s.Number, s.State, m.view(), late}, Commit(c, d, nil)
}

// WriteIn is a message of the person.
type WriteIn struct {
	OfStep
	Body string `json:"body" rule:"required,min=1,max=2000"`
}

// WriteOut answers a person's message.
type WriteOut struct {
	Message MessageView `json:"message"`
}

// Write posts a person's message on any step of a live deal, and for 14 days after its
// end (surface.md 3, bench.md 9).
var Write = op.Declare(op.Meta{
	ID: "person.message.post", Method: "POST", Path: "/api/person/deals/{deal_id}/steps/{step_id}/messages", Status: 201,
	Auth: op.Person, Idempotent: op.KeyRequired, Limit: &wants.PersonWrites, Summary: "Write to the agent about a step.",
	Faults: []string{"deal is not active", "this deal ended too long ago"}, Contract: "surface.md 3, bench.md 9",
}, write)

func write(c *op.Call, in WriteIn) (WriteOut, error) {
	d, err := Own(c, in.DealID)
	if err != nil {
		return WriteOut{}, err
	}
	s, err := stepOf(d, in.StepID, true)
	if err != nil {
		return WriteOut{}, err
	}
	if err := d.Write(c.Now, s); err != nil {
		return WriteOut{}, err
	}
	m := Message{ID: c.NewID(), Who: path.WhoPerson, Body: text.Normalize(in.Body), At: c.Now}
	putMessage(c, d, s, m)
	return WriteOut{m.view()}, Commit(c, d, map[record.Word]map[string]any{path.MessagePosted: {"message_id": m.ID, "body": m.Body}})
}
