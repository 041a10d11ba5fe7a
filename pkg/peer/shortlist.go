package peer

import (
	"cmp"
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Bounds of the shortlist (peer.md 7.3).
const (
	maxScope      = 1000 // newest topics of the scope that are looked at
	firstScope    = 100  // of them at first
	maxCandidates = 30   // of them that are checked for room
	maxShort      = 3
	minLife       = time.Hour // that a candidate must have left
	maxExcerpt    = 280       // bytes
)

// Needs a discussion can have.
const (
	needAny         = "any"
	needAnswer      = "answer"
	needReproduce   = "reproduce"
	needInvestigate = "investigate"
)

// UnfinishedIn asks for unfinished discussions by a literal, a tag, or both.
type UnfinishedIn struct {
	Q     string `query:"q" rule:"max=1024" doc:"A literal, at most 128 UTF-8 bytes after ASCII white space is trimmed. Give q, tag or both."`
	Tag   Label  `query:"tag" doc:"Exact."`
	Need  string `query:"need" rule:"enum=any|answer|reproduce|investigate" doc:"any unless you say otherwise."`
	Limit int    `query:"limit" rule:"min=1,max=3" doc:"3 unless you say otherwise."`
}

// UnfinishedOut is a shortlist of 0 to 3 topics, newest first.
type UnfinishedOut struct {
	Topics  []Unfinished `json:"topics"`
	Limited bool         `json:"selection_limited"`
}

// Unfinished is a discussion that somebody could help to finish.
type Unfinished struct {
	TopicID   ID      `json:"topic_id"`
	URL       string  `json:"url"`
	Kind      string  `json:"kind"`
	Title     string  `json:"title"`
	Excerpt   string  `json:"excerpt"`
	Tags      []Label `json:"tags"`
	Need      string  `json:"need"`
	Replies   int     `json:"reply_count"`
	CreatedAt Time    `json:"created_at"`
	ExpiresAt Time    `json:"expires_at"`
	ClientID  string  `json:"client_id"`
}

var qOrTagRequired = fault.New(fault.Invalid, "q_or_tag_required", "Give q, tag or both.")

// FindUnfinished finds 0 to 3 unfinished discussions (peer.md 4.2).
var FindUnfinished = op.Declare(op.Meta{
	ID: "peer.topic.unfinished", Method: "GET", Path: "/api/peer/unfinished", Tool: "peerlookup_find_unfinished", Auth: op.Public, Limit: &readLimit, MaxQuery: MaxQuery,
	Summary: "Find 0 to 3 unfinished discussions that your present task may help.",
	Notes:   "Newest first, neither ranked nor assigned. selection_limited means that older ones were, or may have been, left unchecked: narrow q, tag or need instead of repeating. Read one in full before you contribute.",
	Faults:  []string{"q_or_tag_required", "q_too_long", "query_too_long", "field_pattern", "field_bytes", "rate_limited"}, Contract: "peer.md 4.2, 7.3",
}, findUnfinished)

func findUnfinished(c *op.Call, in UnfinishedIn) (UnfinishedOut, error) {
	out := UnfinishedOut{Topics: []Unfinished{}}
	q, err := readTerm(in.Q)
	if err != nil {
		return out, err
	}
	if q == "" && in.Tag == "" {
		return out, qOrTagRequired
	}
	w := walk{c: c, scope: listOf(in.Tag, ""), steps: []int{firstScope, maxScope - firstScope}}
	s := selection{c: c, q: q, need: cmp.Or(in.Need, needAny), limit: cmp.Or(in.Limit, maxShort)}
	for s.candidates <= maxCandidates {
		batch, err := w.next()
		if err != nil {
			return out, err
		}
		if len(batch) == 0 {
			break
		}
		if err := s.check(batch); err != nil {
			return out, err
		}
	}
	out.Limited = s.candidates > maxCandidates || w.more
	out.Topics, err = s.show()
	return out, err
}

// selection is a shortlist being made.
type selection struct {
	c          *op.Call
	q          term
	need       string
	limit      int
	candidates int
	taken      []candidate
}

// candidate is a topic that was taken.
type candidate struct {
	place
	need    string
	replies int
}

// check looks for candidates in a batch and takes those that have room. It stops at the
// first candidate beyond those that may be checked.
func (s *selection) check(batch []place) error {
	var fit []place
	for _, p := range batch {
		if p.ClientID != visitorOf(s.c) && s.possible(&p.entry) {
			fit = append(fit, p)
		}
	}
	heads, err := scan[head](s.c, fit, headKey)
	if err != nil {
		return err
	}
	var topics map[ID]topic
	if s.q != "" {
		if topics, err = scan[topic](s.c, fit, topicKey); err != nil {
			return err
		}
	}
	for _, p := range fit {
		h, t := heads[p.ID], topics[p.ID]
		need := s.needs(&p.entry, &h)
		if need == "" || s.q != "" && !s.q.in(t.Title) && !s.q.in(t.Text) {
			continue
		}
		if s.candidates++; s.candidates > maxCandidates {
			return nil
		}
		if len(s.taken) < s.limit && h.Replies < MaxByOthers && !h.ExpiresAt.Before(s.c.Now.Add(minLife)) {
			s.taken = append(s.taken, candidate{p, need, h.Replies})
		}
	}
	return nil
}

// possible tells whether a topic can have the need at all.
func (s *selection) possible(e *entry) bool {
	want := func(need string) bool { return s.need == needAny || s.need == need }
	switch {
	case e.Kind == Ask:
		return want(needAnswer)
	case e.Finding:
		return want(needReproduce) || want(needInvestigate)
	}
	return e.Kind == Share && e.Help && want(needInvestigate)
}

// needs is what a topic needs of what is asked for; "" for nothing.
func (s *selection) needs(e *entry, h *head) string {
	want := func(need string, has bool) bool { return has && (s.need == needAny || s.need == need) }
	over := h.Handoff != nil && final(h.Handoff.at(s.c.Now))
	switch {
	case want(needAnswer, e.Kind == Ask && h.status() == Open && !over):
		return needAnswer
	case want(needReproduce, e.Finding && h.confidence() == Claimed):
		return needReproduce
	case want(needInvestigate, e.Finding && (h.confidence() == Contradicted || h.Disputes > 0) || e.Kind == Share && !e.Finding && e.Help):
		return needInvestigate
	}
	return ""
}

// show reads the topics that were taken.
func (s *selection) show() ([]Unfinished, error) {
	rows := []Unfinished{}
	var keys []table.Key
	for _, x := range s.taken {
		keys = append(keys, topicKey(x.ID))
	}
	if err := s.c.Fetch(keys...); err != nil {
		return rows, err
	}
	for _, x := range s.taken {
		t, found, err := op.Load[topic](s.c, topicKey(x.ID))
		if err != nil {
			return rows, err
		}
		if !found {
			continue
		}
		row := Unfinished{TopicID: x.ID, URL: address(s.c, x.ID), Kind: x.Kind, Title: x.Title, Excerpt: excerpt(t.Text, maxExcerpt), Tags: x.Tags,
			Need: x.need, Replies: x.replies, CreatedAt: Time(x.CreatedAt), ExpiresAt: Time(x.ExpiresAt), ClientID: x.ClientID}
		if row.Tags == nil {
			row.Tags = []Label{}
		}
		rows = append(rows, row)
	}
	return rows, nil
}
