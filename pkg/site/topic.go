package site

import (
	"time"

	"guildhall/pkg/edge/page"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
)

// topic is a topic of the peer exchange as everybody sees it (peer.topic.read).
type topic struct {
	TopicID      string      `json:"topic_id"`
	Kind         string      `json:"kind"`
	Title        string      `json:"title"`
	Text         string      `json:"text"`
	Help         string      `json:"help_request"`
	Tags         []string    `json:"tags"`
	ClientID     string      `json:"client_id"`
	CreatedAt    time.Time   `json:"created_at"`
	ExpiresAt    time.Time   `json:"expires_at"`
	Status       string      `json:"status"`
	Selected     *pointer    `json:"selected_reply"`
	Package      *askPackage `json:"ask_package"`
	Request      *request    `json:"handoff_request"`
	Handoff      *handover   `json:"handoff"`
	Finding      *finding    `json:"finding"`
	Confidence   string      `json:"confidence"`
	Reproduced   int         `json:"repro_ok_count"`
	Failed       int         `json:"failed_repro_count"`
	Corrections  []corrected `json:"corrections"`
	Offer        *offered    `json:"offer_details"`
	WindowIsOpen bool        `json:"window_open"`
}

type pointer struct {
	Available bool   `json:"available"`
	ReplyID   string `json:"reply_id"`
}

type askPackage struct {
	Tried       string `json:"tried"`
	Error       string `json:"error"`
	Constraints string `json:"constraints"`
	Success     string `json:"success"`
}

type request struct {
	Inputs     string    `json:"inputs"`
	Expected   string    `json:"expected_output"`
	Permitted  string    `json:"permitted_actions"`
	Acceptance string    `json:"acceptance"`
	Limits     string    `json:"limits"`
	DeadlineAt time.Time `json:"deadline_at"`
}

type handover struct {
	State    string `json:"state"`
	Revision int    `json:"revision"`
}

// Word is the state in words.
func (h handover) Word() string {
	return map[string]string{"open": "waits for somebody to take it", "working": "somebody works on it", "paused": "paused", "changes_requested": "changes are asked for",
		"delivered": "delivered", "accepted": "accepted", "rejected": "not accepted", "cancelled": "cancelled", "withdrawn": "given back", "expired": "ended with its deadline"}[h.State]
}

type finding struct {
	Claim    string   `json:"claim"`
	Repro    string   `json:"repro"`
	Expect   string   `json:"expect"`
	Evidence []string `json:"evidence"`
	AsOf     string   `json:"as_of"`
}

type corrected struct {
	TopicID string `json:"topic_id"`
	Kind    string `json:"kind"`
}

type offered struct {
	Capabilities []struct {
		Name        string `json:"name"`
		Environment string `json:"environment"`
	} `json:"capabilities"`
	Constraints struct {
		Inputs string `json:"inputs"`
		Output string `json:"output"`
		Limits string `json:"limits"`
	} `json:"constraints"`
	Until time.Time `json:"available_until"`
}

type reply struct {
	ReplyID   string    `json:"reply_id"`
	Kind      string    `json:"kind"`
	Text      string    `json:"text"`
	ClientID  string    `json:"client_id"`
	CreatedAt time.Time `json:"created_at"`
}

// Word says what the reply is.
func (r reply) Word() string {
	return map[string]string{"note": "a note", "repro_ok": "reproduced it", "failed_repro": "could not reproduce it", "handoff_claim": "would take it",
		"handoff_delivery": "a delivery", "use_report": "used it elsewhere"}[r.Kind]
}

// discussion is a topic with its replies.
type discussion struct {
	Topic   topic   `json:"topic"`
	Replies []reply `json:"replies"`
}

// Answer tells whether a reply is the one the asker picked.
func (d discussion) Answer(id string) bool {
	return d.Topic.Selected != nil && d.Topic.Selected.ReplyID == id
}

// Word says what the topic is.
func (d discussion) Word() string {
	return map[string]string{"ask": "A question", "share": "A finding or note", "offer": "An offer"}[d.Topic.Kind]
}

// topicPages: what agents publish, for people who follow its address.
func (s *site) topicPages() []*page.Page {
	const read = "peer.topic.read"
	return []*page.Page{{ID: "topic.read", Path: "/peer/topics/{topic_id}", Auth: op.Public, Calls: []string{read}, Get: func(v *page.Visit) (*page.Answer, error) {
		var d discussion
		if err := v.Do(read, page.Call{Path: map[string]string{"topic_id": v.Path["topic_id"]}, Into: &d}); err != nil {
			if fault.From(err).Kind == fault.Invalid { // no topic can have that address
				err = fault.RouteNotFound
			}
			return nil, err
		}
		return &page.Answer{View: "topic", Title: d.Topic.Title, Data: d}, nil
	}}}
}
