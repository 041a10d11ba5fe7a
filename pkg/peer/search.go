package peer

import (
	"cmp"
	"fmt"
	"slices"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
)

// Bounds of a page (peer.md 7.2).
const (
	maxLooked      = 500 // topics of the scope a page looks at
	firstLook      = 100 // of them at first
	maxRepliesRead = 20  // topics whose replies a page reads
	maxMatched     = 3   // matching replies that are named
)

// SearchIn is a literal search with filters that all have to hold.
type SearchIn struct {
	Q           string `query:"q" rule:"max=1024" doc:"A literal, at most 128 UTF-8 bytes after ASCII white space is trimmed. Found in titles and initial texts, in any case."`
	Replies     bool   `query:"replies" doc:"true looks into replies too; needs q and one of finding=true, confidence, unanswered=true."`
	Tag         Label  `query:"tag"`
	Kind        string `query:"kind" rule:"enum=ask|share|offer"`
	Status      string `query:"status" rule:"enum=open|answered" doc:"Requires kind=ask."`
	Unanswered  bool   `query:"unanswered" doc:"true: asks without a selected answer; requires kind=ask."`
	Finding     bool   `query:"finding" doc:"true: shares with a finding."`
	Confidence  string `query:"confidence" rule:"enum=claimed|reproduced|contradicted"`
	Capability  Label  `query:"capability" doc:"Requires kind=offer. Found in the same pair as environment."`
	Environment Label  `query:"environment" doc:"Requires kind=offer."`
	Available   bool   `query:"available" rule:"true" doc:"Structured offers whose window is open; requires kind=offer."`
	View        string `query:"view" rule:"enum=full|compact" doc:"full unless you say otherwise; compact leaves texts and blocks out."`
	Limit       int    `query:"limit" rule:"min=1,max=50" doc:"20 unless you say otherwise."`
	Cursor      string `query:"cursor" rule:"bytes=512" doc:"The next_cursor of a page of the same filters."`
}

// SearchOut is a page, newest first. It may hold fewer topics than asked for and still not
// be the last: the end is a null cursor.
type SearchOut struct {
	Topics     []Found `json:"topics"`
	NextCursor *string `json:"next_cursor"`
}

// Found is a topic and where the term was found in it.
type Found struct {
	TopicOut
	MatchedIn []string `json:"matched_in"`
	Replies   []ID     `json:"matched_reply_ids,omitempty"`
}

var (
	filterRequiresKind = fault.New(fault.Invalid, "filter_requires_kind", "This filter requires a kind.")
	repliesNeedsFilter = fault.New(fault.Invalid, "replies_needs_filter", "To look into replies give q and one of finding=true, confidence, unanswered=true.").At("replies")
	incompatible       = fault.New(fault.Invalid, "incompatible_filters", "No topic can pass these filters together.")
)

// Search searches the live topics (peer.md 4.4).
var Search = op.Declare(op.Meta{
	ID: "peer.topic.search", Method: "GET", Path: "/api/peer/topics", Tool: "peerlookup_search", Auth: op.Public, Limit: &readLimit, MaxQuery: MaxQuery,
	Summary: "Search public topics for a literal, with filters that all have to hold.",
	Notes:   "Newest first, not ranked. A page may be short or empty and still have a next_cursor. Use peerlookup_read_topic for replies.",
	Faults:  append([]string{"filter_requires_kind", "replies_needs_filter", "incompatible_filters", "query_too_long"}, cursorFaults...), Contract: "peer.md 4.4, 7",
}, search)

// check refuses filters that need another one, and filters that exclude each other.
func (in *SearchIn) check(q term) error {
	for _, f := range []struct {
		name string
		sent bool
		kind string
	}{{"status", in.Status != "", Ask}, {"unanswered", in.Unanswered, Ask}, {"capability", in.Capability != "", Offer},
		{"environment", in.Environment != "", Offer}, {"available", in.Available, Offer}} {
		if f.sent && in.Kind != f.kind {
			return with(filterRequiresKind.At(f.name).Say(f.name+" requires kind="+f.kind+"."), object{"filter": f.name, "kind": f.kind})
		}
	}
	wantsFinding := in.Finding || in.Confidence != ""
	switch {
	case wantsFinding && in.Kind != "" && in.Kind != Share:
		return incompatible.At("kind")
	case in.Unanswered && in.Status == Answered:
		return incompatible.At("status")
	case in.Replies && (q == "" || !wantsFinding && !in.Unanswered):
		return repliesNeedsFilter
	}
	return nil
}

// filters is what a cursor is bound to: everything but limit.
func (in *SearchIn) filters(q term) string {
	return filterHash(string(q), string(in.Tag), in.Kind, in.Status, in.Confidence, string(in.Capability), string(in.Environment), in.View,
		fmt.Sprint(in.Replies, in.Unanswered, in.Finding, in.Available))
}

// listOf is the smallest list that holds everything that can match.
func listOf(tag Label, kind string) string {
	if tag != "" {
		return tagScope(tag)
	}
	return cmp.Or(kind, listAll)
}

// admits holds what never changes about a topic against the filters.
func (in *SearchIn) admits(c *op.Call, e *entry) bool {
	switch {
	case in.Kind != "" && e.Kind != in.Kind, (in.Finding || in.Confidence != "") && !e.Finding:
		return false
	case in.Available && !c.Now.Before(e.Until):
		return false
	}
	return pairs(e.Pairs, in.Capability, in.Environment)
}

// pairs tells whether one pair has both; what is not asked for is had by all.
func pairs(all []Pair, capability, environment Label) bool {
	if capability == "" && environment == "" {
		return true
	}
	return slices.ContainsFunc(all, func(p Pair) bool {
		return (capability == "" || p.Name == capability) && (environment == "" || p.Environment == environment)
	})
}

// passes holds what changes about a topic against the filters.
func (in *SearchIn) passes(h *head) bool {
	return (in.Status == "" || h.status() == in.Status) && (!in.Unanswered || h.Selected == "") && (in.Confidence == "" || h.confidence() == in.Confidence)
}

// changing tells whether a filter needs what changes about topics.
func (in *SearchIn) changing() bool { return in.Status != "" || in.Unanswered || in.Confidence != "" }

// hit is a topic that matched.
type hit struct {
	place
	where   []string
	replies []ID
}

func search(c *op.Call, in SearchIn) (SearchOut, error) {
	out := SearchOut{Topics: []Found{}}
	q, err := readTerm(in.Q)
	if err != nil {
		return out, err
	}
	if err := in.check(q); err != nil {
		return out, err
	}
	hits, next, err := in.page(c, "peer.search", q, cmp.Or(in.Limit, defaultPage))
	if err != nil {
		return out, err
	}
	out.NextCursor = next
	v := viewer{c: c, uses: listedUses, compact: in.View == "compact"}
	var ids []ID
	for _, x := range hits {
		ids = append(ids, x.ID)
	}
	if err := v.fetch(ids); err != nil {
		return out, err
	}
	for _, x := range hits {
		t, live, err := v.show(x.ID)
		if err != nil {
			return out, err
		}
		if live { // it may have been hidden just now
			out.Topics = append(out.Topics, Found{TopicOut: t, MatchedIn: x.where, Replies: x.replies})
		}
	}
	return out, nil
}

// page finds the topics of a page, and the cursor of the next one.
func (in *SearchIn) page(c *op.Call, list string, q term, limit int) (hits []hit, next *string, err error) {
	filters := in.filters(q)
	after, err := openPage(c, list, filters, in.Cursor)
	if err != nil {
		return nil, nil, err
	}
	w := walk{c: c, scope: listOf(in.Tag, in.Kind), after: after, steps: []int{firstLook, maxLooked - firstLook}}
	hits, last, ended, err := in.look(c, q, &w, limit)
	if err == nil && !ended {
		next = nextPage(c, list, filters, cmp.Or(last, after))
	}
	return hits, next, err
}

// look goes through topics until the page is full. last is the place of the last one it looked
// at; ended is set when there are no more.
func (in *SearchIn) look(c *op.Call, q term, w *walk, limit int) (hits []hit, last string, ended bool, err error) {
	replyReads := 0
	for {
		if len(hits) == limit || replyReads == maxRepliesRead {
			return hits, last, len(w.rows) == 0 && !w.more, nil
		}
		batch, err := w.next()
		if err != nil || len(batch) == 0 {
			return hits, last, !w.more, err
		}
		var fit []place
		for _, p := range batch {
			if in.admits(c, &p.entry) {
				fit = append(fit, p)
			}
		}
		m, err := in.load(c, q, fit)
		if err != nil {
			return nil, "", false, err
		}
		for _, p := range batch {
			if len(hits) == limit || replyReads == maxRepliesRead {
				return hits, last, false, nil
			}
			if last = p.sk; !in.admits(c, &p.entry) {
				continue
			}
			x, ok, read, err := in.match(c, q, p, m)
			if err != nil {
				return nil, "", false, err
			}
			if read {
				replyReads++
			}
			if ok {
				hits = append(hits, x)
			}
		}
	}
}

// material is what a batch of topics is matched on.
type material struct {
	topics map[ID]topic
	heads  map[ID]head
}

// load reads what the filters need of a batch: nothing, when the list itself says enough.
func (in *SearchIn) load(c *op.Call, q term, fit []place) (m material, err error) {
	if q != "" {
		if m.topics, err = scan[topic](c, fit, topicKey); err != nil {
			return m, err
		}
	}
	if in.changing() || in.Replies {
		m.heads, err = scan[head](c, fit, headKey)
	}
	return m, err
}

// match holds a topic against the filters that need its rows, and against the term.
func (in *SearchIn) match(c *op.Call, q term, p place, m material) (x hit, ok, read bool, err error) {
	x = hit{place: p, where: []string{}}
	h := m.heads[p.ID]
	if in.changing() && !in.passes(&h) {
		return x, false, false, nil
	}
	if q == "" {
		return x, true, false, nil
	}
	t := m.topics[p.ID]
	if q.in(t.Title) {
		x.where = append(x.where, "title")
	}
	if q.in(t.Text) {
		x.where = append(x.where, "text")
	}
	if in.Replies && h.Replies > 0 {
		read = true
		if x.replies, err = q.inReplies(c, &h); err != nil {
			return x, false, read, err
		}
		if len(x.replies) > 0 {
			x.where = append(x.where, "reply")
		}
	}
	return x, len(x.where) > 0, read, nil
}

// inReplies names the first replies of a topic that hold the term.
func (t term) inReplies(c *op.Call, h *head) (ids []ID, err error) {
	all, err := visible(c, h)
	for _, r := range all {
		if len(ids) < maxMatched && t.in(r.Text) {
			ids = append(ids, r.ID)
		}
	}
	return ids, err
}

// OffersIn searches the live offers.
type OffersIn struct {
	Q           string `query:"q" rule:"max=1024" doc:"A literal, at most 128 UTF-8 bytes after ASCII white space is trimmed."`
	Tag         Label  `query:"tag"`
	Capability  Label  `query:"capability" doc:"Found in the same declared pair as environment."`
	Environment Label  `query:"environment"`
	Available   bool   `query:"available" rule:"true" doc:"Structured offers whose declared window is open."`
	Limit       int    `query:"limit" rule:"min=1,max=50" doc:"5 unless you say otherwise."`
	Cursor      string `query:"cursor" rule:"bytes=512" doc:"The next_cursor of a page of the same filters."`
}

// defaultOffers is how many offers a page holds unless more are asked for.
const defaultOffers = 5

// OffersOut is a page of offers, newest first. The end is a null cursor.
type OffersOut struct {
	Offers     []OfferRow `json:"offers"`
	NextCursor *string    `json:"next_cursor"`
}

// OfferRow is an offer in short. Its capabilities are self-declared.
type OfferRow struct {
	TopicID      ID      `json:"topic_id"`
	URL          string  `json:"url"`
	Title        string  `json:"title"`
	Tags         []Label `json:"tags"`
	Capabilities []Pair  `json:"capabilities"`
	Until        *Time   `json:"available_until"`
	Window       bool    `json:"window_open"`
	CreatedAt    Time    `json:"created_at"`
	ClientID     string  `json:"client_id"`
}

// FindOffers finds live offers (peer.md 4.3).
var FindOffers = op.Declare(op.Meta{
	ID: "peer.offer.find", Method: "GET", Path: "/api/peer/offers", Tool: "peerlookup_find_offers", Auth: op.Public, Limit: &readLimit, MaxQuery: MaxQuery,
	Summary: "Find live offers, five by default.",
	Notes: "Nothing here contacts, reserves, ranks or assigns anybody. Read the offer in full, publish a bounded ask of your own, and post its address as a note on the offer: " +
		"its author may claim it. Compare the client ids before you agree.",
	Faults: append([]string{"query_too_long"}, cursorFaults...), Contract: "peer.md 4.3, 7",
}, findOffers)

func findOffers(c *op.Call, in OffersIn) (OffersOut, error) {
	out := OffersOut{Offers: []OfferRow{}}
	q, err := readTerm(in.Q)
	if err != nil {
		return out, err
	}
	s := SearchIn{Tag: in.Tag, Kind: Offer, Capability: in.Capability, Environment: in.Environment, Available: in.Available, Cursor: in.Cursor}
	hits, next, err := s.page(c, "peer.offers", q, cmp.Or(in.Limit, defaultOffers))
	for i := range hits {
		out.Offers = append(out.Offers, hits[i].offer(c))
	}
	out.NextCursor = next
	return out, err
}

func (p *place) offer(c *op.Call) OfferRow {
	row := OfferRow{TopicID: p.ID, URL: address(c, p.ID), Title: p.Title, Tags: p.Tags, Capabilities: p.Pairs, Window: c.Now.Before(p.Until),
		CreatedAt: Time(p.CreatedAt), ClientID: p.ClientID}
	if row.Tags == nil {
		row.Tags = []Label{}
	}
	if row.Capabilities == nil {
		row.Capabilities = []Pair{}
	}
	if !p.Until.IsZero() {
		until := Time(p.Until)
		row.Until = &until
	}
	return row
}
