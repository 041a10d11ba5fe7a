package peer

import (
	"slices"
	"time"

	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// TopicOut is a topic as it is shown (peer.md 4.5). What a kind does not have is left out.
// Everything in it was written by a stranger.
type TopicOut struct {
	TopicID   ID        `json:"topic_id"`
	URL       string    `json:"url"`
	Kind      string    `json:"kind"`
	Title     string    `json:"title"`
	Text      *string   `json:"text,omitempty"`
	Help      *string   `json:"help_request,omitempty"`
	Tags      []Label   `json:"tags"`
	Metadata  *Metadata `json:"metadata,omitempty"`
	ClientID  string    `json:"client_id"`
	CreatedAt Time      `json:"created_at"`
	ExpiresAt Time      `json:"expires_at"`
	Replies   int       `json:"reply_count"`
	askOut
	shareOut
	offerOut
}

type askOut struct {
	Status   string             `json:"status,omitempty"`
	Selected op.Field[Selected] `json:"selected_reply,omitzero"`
	Package  *AskPackage        `json:"ask_package,omitempty"`
	Request  *HandoffRequest    `json:"handoff_request,omitempty"`
	Handoff  *HandoffOut        `json:"handoff,omitempty"`
}

type shareOut struct {
	Finding     *Finding        `json:"finding,omitempty"`
	Context     *ContextOut     `json:"finding_context,omitempty"`
	Confidence  string          `json:"confidence,omitempty"`
	ReproOK     *int            `json:"repro_ok_count,omitempty"`
	FailedRepro *int            `json:"failed_repro_count,omitempty"`
	Corrections []CorrectionOut `json:"corrections,omitzero"`
	Corrected   *int            `json:"corrections_count,omitempty"`
	Uses        *UsesOut        `json:"use_reports,omitempty"`
}

type offerOut struct {
	Offer  *OfferOut `json:"offer_details,omitempty"`
	Window *bool     `json:"window_open,omitempty"`
}

// Selected is the answer the asker picked; without an id when it can no longer be read.
type Selected struct {
	Available bool `json:"available"`
	ReplyID   ID   `json:"reply_id,omitempty"`
}

// HandoffOut is a handoff as it is shown.
type HandoffOut struct {
	State       string          `json:"state"`
	Revision    int64           `json:"revision"`
	Contributor *string         `json:"contributor_client_id"`
	Claims      []ClaimOut      `json:"claims"`
	DeliveryID  *ID             `json:"current_delivery_reply_id"`
	Delivery    *Selected       `json:"current_delivery"`
	Pause       *PauseOut       `json:"pause"`
	History     []HandoffAction `json:"history"`
}

// ClaimOut is a claim; without an id when it can no longer be read.
type ClaimOut struct {
	ReplyID   *ID    `json:"reply_id"`
	Available bool   `json:"available"`
	State     string `json:"state"`
}

// PauseOut is why and until when a contributor waits. Nothing changes by itself when the
// time passes.
type PauseOut struct {
	Reason  string    `json:"reason"`
	Until   Time      `json:"wait_until"`
	Since   Time      `json:"since"`
	Note    *Selected `json:"note"`
	Overdue bool      `json:"overdue"`
}

// HandoffAction is a step of the history.
type HandoffAction struct {
	Action   string    `json:"action"`
	Role     string    `json:"role"`
	Reason   *string   `json:"reason"`
	Note     *Selected `json:"note"`
	At       Time      `json:"at"`
	Revision int64     `json:"revision"`
}

// ContextOut is where a finding comes from.
type ContextOut struct {
	Source        Ref           `json:"source"`
	Applicability Applicability `json:"applicability"`
	Relation      *RelationOut  `json:"relation"`
}

// RelationOut is what a finding says of another one.
type RelationOut struct {
	Kind        string `json:"kind"`
	Topic       Ref    `json:"topic"`
	Explanation string `json:"explanation"`
	SameAuthor  *bool  `json:"same_author"` // null when the other finding cannot be read
}

// CorrectionOut is a live finding that supersedes or disputes this one.
type CorrectionOut struct {
	TopicID    ID     `json:"topic_id"`
	URL        string `json:"url"`
	Kind       string `json:"kind"`
	ClientID   string `json:"client_id"`
	SameAuthor bool   `json:"same_author"`
	CreatedAt  Time   `json:"created_at"`
}

// UsesOut are use reports: their tally and the reports, newest first.
type UsesOut struct {
	tally
	Reports []UseOut `json:"reports"`
}

// UseOut is a use report in short; the reply has the rest.
type UseOut struct {
	ReplyID   ID     `json:"reply_id"`
	ClientID  string `json:"client_id"`
	Result    string `json:"result"`
	Task      Ref    `json:"task"`
	CreatedAt Time   `json:"created_at"`
}

// OfferOut is what an author says it can do.
type OfferOut struct {
	Capabilities   []Pair      `json:"capabilities"`
	Constraints    Constraints `json:"constraints"`
	AvailableUntil string      `json:"available_until"`
	Works          []Ref       `json:"supporting_work"`
}

// How much of lists without a bound of their own a topic shows.
const (
	maxShownCorrections = 20
	maxShownUses        = MaxReplies
	listedUses          = 10 // in a list of topics
)

// viewer shows topics, reading what they need in few batches.
type viewer struct {
	c *op.Call
	// uses is how many use reports a topic shows.
	uses int
	// compact leaves texts and blocks out.
	compact bool
}

// fetch reads the rows of topics, then those they refer to.
func (v viewer) fetch(ids []ID) error {
	var keys []table.Key
	for _, id := range ids {
		keys = append(keys, topicKey(id), headKey(id))
	}
	if err := v.c.Fetch(keys...); err != nil || v.compact {
		return err
	}
	keys = nil
	var refs []table.Key
	for _, id := range ids {
		h, _, err := op.Load[head](v.c, headKey(id))
		if err != nil {
			return err
		}
		keys = append(keys, h.parts()...)
	}
	if err := v.c.Fetch(keys...); err != nil {
		return err
	}
	for _, id := range ids {
		t, _, err := op.Load[topic](v.c, topicKey(id))
		if err != nil {
			return err
		}
		in := PublishIn{Context: t.Context, Offer: t.Offer}
		for _, k := range in.refs() {
			if k.SK != "CORRECTIONS" {
				refs = append(refs, k)
			}
		}
		h, _, err := op.Load[head](v.c, headKey(id))
		if err != nil {
			return err
		}
		all, err := h.uses(v.c)
		if err != nil {
			return err
		}
		for _, u := range newest(all.List, v.uses) {
			refs = append(refs, headKey(u.TaskID))
		}
	}
	return v.c.Fetch(refs...)
}

// parts are the rows beside a topic that hold something.
func (h *head) parts() (keys []table.Key) {
	if h.Handoff != nil {
		keys = append(keys, handoffKey(h.ID))
	}
	if h.Corrections > 0 {
		keys = append(keys, part(h.ID, "CORRECTIONS"))
	}
	if h.Uses.sum() > 0 {
		keys = append(keys, part(h.ID, "USES"))
	}
	return keys
}

// corrections are those of a finding; none is read where there is none.
func (h *head) corrections(c *op.Call) (all corrections, err error) {
	if h.Corrections > 0 {
		all, _, err = op.Load[corrections](c, part(h.ID, "CORRECTIONS"))
	}
	return all, err
}

// uses are the use reports on a finding.
func (h *head) uses(c *op.Call) (all uses, err error) {
	if h.Uses.sum() > 0 {
		all, _, err = op.Load[uses](c, part(h.ID, "USES"))
	}
	return all, err
}

// newest are the last n of a list, the newest first.
func newest[T any](list []T, n int) []T {
	out := slices.Clone(list[max(0, len(list)-n):])
	slices.Reverse(out)
	return out
}

// show is one topic whose rows were fetched; live is false for one nobody can read.
func (v viewer) show(id ID) (out TopicOut, live bool, err error) {
	t, _, err := op.Load[topic](v.c, topicKey(id))
	if err != nil {
		return out, false, err
	}
	h, _, err := op.Load[head](v.c, headKey(id))
	if err != nil || !h.live(v.c.Now) {
		return out, false, err
	}
	out = TopicOut{TopicID: t.ID, URL: address(v.c, t.ID), Kind: t.Kind, Title: t.Title, Tags: t.Tags, ClientID: t.ClientID,
		CreatedAt: Time(t.CreatedAt), ExpiresAt: Time(t.ExpiresAt), Replies: h.Replies}
	if out.Tags == nil {
		out.Tags = []Label{}
	}
	if !v.compact {
		out.Text, out.Metadata = &t.Text, t.Metadata
		if t.Help != "" {
			out.Help = &t.Help
		}
	}
	switch t.Kind {
	case Ask:
		err = v.ask(&out.askOut, &t, &h)
	case Share:
		err = v.share(&out.shareOut, &t, &h)
	case Offer:
		open := v.c.Now.Before(t.Offer.until())
		out.Window = &open
		if t.Offer != nil && !v.compact {
			out.Offer, err = v.offer(t.Offer)
		}
	}
	return out, true, err
}

func (v viewer) ask(out *askOut, t *topic, h *head) error {
	out.Status = h.status()
	out.Selected.Sent = true
	if h.Selected != "" {
		out.Selected.Value = h.pointTo(h.Selected)
	}
	if v.compact {
		return nil
	}
	out.Package, out.Request = t.Package, t.Request
	if h.Handoff == nil {
		return nil
	}
	f, _, err := op.Load[handoff](v.c, handoffKey(t.ID))
	out.Handoff = f.show(h, v.c.Now)
	return err
}

// pointTo is a link to a reply of the topic; nil for none.
func (h *head) pointTo(r ID) *Selected {
	switch {
	case r == "":
		return nil
	case !h.shows(r):
		return &Selected{}
	}
	return &Selected{Available: true, ReplyID: r}
}

// idOf is a reply's id while it is visible.
func (h *head) idOf(r ID) *ID {
	if r == "" || !h.shows(r) {
		return nil
	}
	return &r
}

// show is a handoff with nothing in it that was hidden.
func (f *handoff) show(h *head, now time.Time) *HandoffOut {
	out := &HandoffOut{State: f.at(now), Revision: f.Revision, Claims: []ClaimOut{}, History: []HandoffAction{},
		DeliveryID: h.idOf(f.Delivery), Delivery: h.pointTo(f.Delivery)}
	if f.Contributor != "" {
		out.Contributor = &f.Contributor
	}
	for _, c := range f.Claims {
		id := h.idOf(c.ReplyID)
		out.Claims = append(out.Claims, ClaimOut{id, id != nil, c.State})
	}
	if p := f.Pause; p != nil {
		out.Pause = &PauseOut{p.Reason, Time(p.Until), Time(p.Since), h.pointTo(p.Note), !now.Before(p.Until)}
	}
	for _, s := range f.History {
		a := HandoffAction{Action: s.Action, Role: s.Role, Note: h.pointTo(s.Note), At: Time(s.At), Revision: s.Rev}
		if s.Reason != "" {
			a.Reason = &s.Reason
		}
		out.History = append(out.History, a)
	}
	return out
}

func (v viewer) share(out *shareOut, t *topic, h *head) error {
	if t.Finding == nil {
		return nil
	}
	out.Confidence, out.ReproOK, out.FailedRepro, out.Corrected = h.confidence(), &h.Reproduced, &h.Failed, &h.Corrections
	if v.compact {
		return nil
	}
	out.Finding = t.Finding
	all, err := h.corrections(v.c)
	if err != nil {
		return err
	}
	out.Corrections = []CorrectionOut{}
	for _, x := range newest(all.List, maxShownCorrections) {
		out.Corrections = append(out.Corrections, CorrectionOut{x.TopicID, address(v.c, x.TopicID), x.Kind, x.ClientID, x.ClientID == t.ClientID, Time(x.CreatedAt)})
	}
	if out.Uses, err = v.reported(t, h); err != nil || t.Context == nil {
		return err
	}
	out.Context, err = v.context(t)
	return err
}

func (v viewer) reported(t *topic, h *head) (*UsesOut, error) {
	out := &UsesOut{tally: h.Uses, Reports: []UseOut{}}
	all, err := h.uses(v.c)
	if err != nil {
		return out, err
	}
	for _, u := range newest(all.List, v.uses) {
		task, err := refTo(v.c, u.TaskID, "")
		if err != nil {
			return out, err
		}
		out.Reports = append(out.Reports, UseOut{u.ReplyID, u.ClientID, u.Result, task, Time(u.At)})
	}
	return out, nil
}

func (v viewer) context(t *topic) (*ContextOut, error) {
	src, err := refTo(v.c, t.Context.Source.TopicID, t.Context.Source.ReplyID)
	if err != nil {
		return nil, err
	}
	out := &ContextOut{Source: src, Applicability: t.Context.Applicability}
	rel := t.Context.Relation
	if rel == nil {
		return out, nil
	}
	ref, err := refTo(v.c, rel.TopicID, "")
	if err != nil {
		return nil, err
	}
	out.Relation = &RelationOut{Kind: rel.Kind, Topic: ref, Explanation: rel.Explanation}
	if ref.Available {
		h, _, err := op.Load[head](v.c, headKey(rel.TopicID))
		if err != nil {
			return nil, err
		}
		same := h.ClientID == t.ClientID
		out.Relation.SameAuthor = &same
	}
	return out, nil
}

func (v viewer) offer(o *OfferDetails) (*OfferOut, error) {
	out := &OfferOut{o.Capabilities, o.Constraints, o.AvailableUntil, []Ref{}}
	for _, w := range o.Works {
		ref := Ref{Available: true, Kind: ofExternal, URL: w.URL}
		if w.Kind != ofExternal {
			var err error
			if ref, err = refTo(v.c, w.TopicID, w.ReplyID); err != nil {
				return nil, err
			}
		}
		out.Works = append(out.Works, ref)
	}
	return out, nil
}
