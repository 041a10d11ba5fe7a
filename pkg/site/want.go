package site

import (
	"net/url"
	"strings"
	"time"

	"guildhall/pkg/edge/page"
	"guildhall/pkg/op"
)

// want is a want as its person sees it (person.want.read).
type want struct {
	TargetID      string       `json:"target_id"`
	Want          string       `json:"want"`
	Notes         []note       `json:"notes"`
	FinishLine    finishLine   `json:"finish_line"`
	Lane          lane         `json:"lane"`
	TimelineDays  *int         `json:"timeline_days"`
	TipInvited    bool         `json:"tip_invited"`
	Baseline      []questioned `json:"baseline"`
	Location      string       `json:"location"`
	Publish       bool         `json:"publish_answers"`
	AutoRepost    bool         `json:"auto_repost"`
	Frozen        *float64     `json:"frozen_probability"`
	State         string       `json:"state"`
	Round         int          `json:"round"`
	PostedAt      time.Time    `json:"posted_at"`
	RepostedAt    *time.Time   `json:"reposted_at"`
	BidCount      int64        `json:"bid_count"`
	FinalistCount int          `json:"finalist_count"`
	DealID        *string      `json:"deal_id"`
	DealIDs       []string     `json:"deal_ids"`
	Editable      bool         `json:"editable"`
	Attachments   []attachment `json:"attachments"`
}

type note struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

type finishLine struct {
	Tile     string `json:"tile"`
	Sentence string `json:"sentence"`
}

type lane struct {
	Kind         string `json:"kind"`
	CeilingCents *int64 `json:"ceiling_cents"`
}

type questioned struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
}

// LastDeal is its running deal or the one that ended last, "" before there was one.
func (w want) LastDeal() string {
	switch n := len(w.DealIDs); {
	case w.DealID != nil:
		return *w.DealID
	case n > 0:
		return w.DealIDs[n-1]
	}
	return ""
}

// Path is the want's page.
func (w want) Path() string { return "/wants/" + w.TargetID }

// Live tells whether the want is still open for something.
func (w want) Live() bool {
	return w.State == "open" || w.State == "finalists" || w.State == "choosing" || w.State == "active"
}

// Closable tells whether the want can be taken down.
func (w want) Closable() bool { return w.Live() && w.DealID == nil }

// Reopens tells whether another round can begin.
func (w want) Reopens() bool { return w.State == "ended" || w.State == "closed" }

// Short is the beginning of the want, for lists and titles.
func (w want) Short() string {
	const most = 90 // characters
	r := []rune(strings.Join(strings.Fields(w.Want), " "))
	if len(r) <= most {
		return string(r)
	}
	return strings.TrimSpace(string(r[:most])) + "…"
}

// Word is the state in a word or two.
func (w want) Word() string { return stateWords[w.State].word }

// Means says what the state means for the person.
func (w want) Means() string { return stateWords[w.State].means }

var stateWords = map[string]struct{ word, means string }{
	"open":      {"Open for bids", "Agents can bid. Pick up to three bids for a closer look."},
	"finalists": {"Choosing", "You have picked bids for a closer look. Others can still bid."},
	"choosing":  {"Choosing", "You have three finalists, so no more bids are taken."},
	"active":    {"Agent at work", "You have accepted a bid."},
	"done":      {"Done", "The finish line is approved."},
	"ended":     {"Ended", "The attempt is over. You can open your want for bids again."},
	"closed":    {"Taken down", "You took this want down. You can open it again."},
}

// Money says how the person capped the price.
func (w want) Money() string {
	switch {
	case w.Lane.Kind == "free":
		return "Free: no money in it"
	case w.Lane.CeilingCents != nil:
		return "At most " + dollars(*w.Lane.CeilingCents)
	}
	return "No ceiling: bids name their price"
}

// Days says how long the work may take.
func (w want) Days() string {
	if w.TimelineDays == nil {
		return "As soon as possible"
	}
	return "Within " + count(*w.TimelineDays, "day")
}

// Finish is the finish line in words.
func (w want) Finish() string {
	tile := ""
	for _, t := range tiles {
		if t.Slug == w.FinishLine.Tile && t.Slug != "something_else" {
			tile = t.Words
		}
	}
	switch {
	case tile == "":
		return w.FinishLine.Sentence
	case w.FinishLine.Sentence == "":
		return tile
	}
	return tile + ": " + w.FinishLine.Sentence
}

// wantPages: posting a want, seeing the bids, choosing.
func (s *site) wantPages() []*page.Page {
	return []*page.Page{
		{ID: "want.post", Path: "/start", Auth: op.Person, Calls: []string{"person.want.post"}, Get: startPage, Forms: forms{"post": postWant}},
		{ID: "want.list", Path: "/wants", Auth: op.Person, Calls: []string{"person.want.list"}, Get: wantsPage},
		{ID: "want.read", Path: "/wants/{id}", Auth: op.Person,
			Calls: []string{"person.want.read", "person.want.bids", "person.finalist.name", "person.bid.reject", "person.want.note",
				"person.want.close", "person.want.repost", "person.want.edit", "person.want.attach", "person.file.delete", "person.deal.read"}, MaxFile: maxAttachment,
			Get: s.wantPage, Forms: forms{"attach": attachFile, "remove": deleteFile, "pick": pickBid, "reject": rejectBid, "note": addNote, "close": closeWant, "repost": repostWant, "switches": setSwitches, "edit": editWant}},
		{ID: "finalist.read", Path: "/wants/{id}/finalists/{bid}", Auth: op.Person,
			Calls: []string{"person.want.read", "person.want.bids", "person.finalist.answers-read", "person.finalist.answers-save", "person.finalist.ask",
				"person.finalist.unname", "person.bid.reject", "person.bid.accept"},
			Get: finalistPage, Forms: forms{"answers": saveAnswers, "ask": askFinalist, "unname": unnameFinalist, "reject": rejectBid, "accept": s.acceptBid}},
		{ID: "finalist.back", Path: "/wants/{id}/accept/{bid}", Auth: op.Person, Get: func(v *page.Visit) (*page.Answer, error) {
			return &page.Answer{To: "/wants/" + url.PathEscape(v.Path["id"]) + "/finalists/" + url.PathEscape(v.Path["bid"]) + "?said=unpaid"}, nil
		}},
	}
}

func wantsPage(v *page.Visit) (*page.Answer, error) {
	var out struct {
		Wants []want  `json:"wants"`
		Next  *string `json:"next_cursor"`
	}
	q := url.Values{}
	if after := v.Query.Get("after"); after != "" {
		q.Set("after", after)
	}
	if err := v.Do("person.want.list", page.Call{Query: q, Into: &out}); err != nil {
		return nil, err
	}
	return &page.Answer{View: "wants", Title: "Your wants", Data: out}, nil
}

// wantView is the page of a want.
type wantView struct {
	Want want
	Bids []bid
	Lane string // "paid", where a repost is not free
	Deal *deal  // of a want that is done: its days may still be coming
}

// Finalists are the bids picked for a closer look.
func (w wantView) Finalists() []bid { return w.those(bid.IsFinalist) }

// Others are the open bids that were not picked.
func (w wantView) Others() []bid {
	return w.those(func(b bid) bool { return b.Status == "filed" && !b.IsFinalist() && b.Superseded == nil })
}

// Past are the bids nothing can be done with any more.
func (w wantView) Past() []bid {
	return w.those(func(b bid) bool { return b.Status != "filed" || b.Superseded != nil })
}

func (w wantView) those(is func(bid) bool) (out []bid) {
	for _, b := range w.Bids {
		if is(b) {
			out = append(out, b)
		}
	}
	return out
}

func (s *site) wantPage(v *page.Visit) (*page.Answer, error) {
	w, bids, err := readWant(v)
	if err != nil {
		return nil, err
	}
	view := wantView{Want: w, Bids: bids, Lane: w.Lane.Kind}
	if of := w.LastDeal(); w.State == "done" && of != "" {
		view.Deal = &deal{}
		if err := v.Do("person.deal.read", page.Call{Path: map[string]string{"deal_id": of}, Into: view.Deal}); err != nil {
			return nil, err
		}
	}
	return &page.Answer{View: "want", Title: w.Short(), Data: view}, nil
}

// readWant reads a want with its bids.
func readWant(v *page.Visit) (want, []bid, error) {
	id := map[string]string{"target_id": v.Path["id"]}
	var w want
	if err := v.Do("person.want.read", page.Call{Path: id, Into: &w}); err != nil {
		return w, nil, err
	}
	var out struct {
		Bids []bid `json:"bids"`
	}
	err := v.Do("person.want.bids", page.Call{Path: id, Into: &out})
	for i := range out.Bids {
		out.Bids[i].WantPath = w.Path()
	}
	return w, out.Bids, err
}

// onWant runs an operation on the page's want and comes back with a sentence.
func onWant(v *page.Visit, operation string, body any, said string) (*page.Answer, error) {
	err := v.Do(operation, page.Call{Path: map[string]string{"target_id": v.Path["id"]}, Body: body})
	if err != nil {
		return nil, err
	}
	return &page.Answer{To: v.At + "?said=" + said}, nil
}

func pickBid(v *page.Visit) (*page.Answer, error) {
	id := v.Form.Get("bid")
	a, err := onWant(v, "person.finalist.name", map[string]string{"proposal_id": id}, "picked")
	if err == nil {
		a.To = v.At + "/finalists/" + url.PathEscape(id) + "?said=picked"
	}
	return a, err
}

func rejectBid(v *page.Visit) (*page.Answer, error) {
	id := v.Form.Get("bid")
	err := v.Do("person.bid.reject", page.Call{Path: map[string]string{"target_id": v.Path["id"], "proposal_id": id},
		Body: map[string]string{"reason": strings.TrimSpace(v.Form.Get("reason"))}})
	if err != nil {
		return nil, err
	}
	return &page.Answer{To: "/wants/" + url.PathEscape(v.Path["id"]) + "?said=rejected"}, nil
}

func addNote(v *page.Visit) (*page.Answer, error) {
	return onWant(v, "person.want.note", map[string]string{"note": strings.TrimSpace(v.Form.Get("note"))}, "noted")
}

func closeWant(v *page.Visit) (*page.Answer, error) {
	return onWant(v, "person.want.close", struct{}{}, "closed")
}

func repostWant(v *page.Visit) (*page.Answer, error) {
	body := map[string]any{}
	if text := strings.TrimSpace(v.Form.Get("want")); text != "" {
		body["want"] = text
	}
	return onWant(v, "person.want.repost", body, "reposted")
}

// editWant changes the words, while no bid was filed against them.
func editWant(v *page.Visit) (*page.Answer, error) {
	get := func(name string) string { return strings.TrimSpace(v.Form.Get(name)) }
	return onWant(v, "person.want.edit", map[string]any{"want": get("want"),
		"finish_line": finishLine{get("finish_line.tile"), get("finish_line.sentence")}}, "saved")
}

func setSwitches(v *page.Visit) (*page.Answer, error) {
	return onWant(v, "person.want.edit", map[string]bool{"publish_answers": v.Form.Get("publish_answers") != "",
		"auto_repost": v.Form.Get("auto_repost") != ""}, "saved")
}
