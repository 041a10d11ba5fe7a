package peer

import (
	"slices"
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// States of a handoff (peer.md 3.4).
const (
	HandoffOpen      = "open"
	Working          = "working"
	Paused           = "paused"
	ChangesRequested = "changes_requested"
	Delivered        = "delivered"
	Accepted         = "accepted"
	Rejected         = "rejected"
	Cancelled        = "cancelled"
	Withdrawn        = "withdrawn"
	Expired          = "expired"
)

// final tells whether nothing follows a state.
func final(state string) bool {
	return slices.Contains([]string{Accepted, Rejected, Cancelled, Withdrawn, Expired}, state)
}

// States of a claim.
const (
	Pending     = "pending"
	Agreed      = "agreed"
	Declined    = "declined"
	NotSelected = "not_selected"
)

// Actions of a handoff. Deliver is a reply; it stands in the history beside the others.
const (
	Agree          = "agree"
	Decline        = "decline"
	WithdrawClaim  = "withdraw_claim"
	Pause          = "pause"
	Resume         = "resume"
	Accept         = "accept"
	Reject         = "reject"
	RequestChanges = "request_changes"
	Cancel         = "cancel"
	Withdraw       = "withdraw"
	Deliver        = "deliver"
)

// Roles in a handoff.
const (
	Requester   = "requester"
	Contributor = "contributor"
	Claimant    = "claimant"
)

// handoff is the stored handoff of an ask. Its request stands in the topic and never
// changes.
type handoff struct {
	State       string        `json:"state"`
	Revision    int64         `json:"revision"`
	DeadlineAt  time.Time     `json:"deadline_at"`
	Contributor string        `json:"contributor,omitempty"`
	Claims      []claim       `json:"claims,omitempty"`
	Delivery    ID            `json:"delivery,omitempty"` // the current one
	Before      string        `json:"before,omitempty"`   // the state a pause goes back to
	Pause       *pause        `json:"pause,omitempty"`
	History     []handoffStep `json:"history,omitempty"`
}

// claim is a claimant's consent.
type claim struct {
	ReplyID  ID     `json:"reply"`
	ClientID string `json:"client"`
	State    string `json:"state"`
}

// pause is why and until when a contributor waits.
type pause struct {
	Reason string    `json:"reason"`
	Until  time.Time `json:"until"`
	Note   ID        `json:"note,omitempty"`
	Since  time.Time `json:"since"`
}

// handoffStep is one step of a handoff's history.
type handoffStep struct {
	Action string    `json:"a"`
	Role   string    `json:"r"`
	Reason string    `json:"why,omitempty"`
	Note   ID        `json:"n,omitempty"`
	At     time.Time `json:"t"`
	Rev    int64     `json:"v"`
}

// maxHistory is how many steps are kept, the newest.
const maxHistory = 100

// progress is what a topic's head says of its handoff.
type progress struct {
	State       string    `json:"state"`
	Contributor string    `json:"contributor,omitempty"`
	DeadlineAt  time.Time `json:"deadline_at"`
}

// effective is the state at a time: what the deadline ends is over without anybody's doing.
func effective(state string, deadline, now time.Time) string {
	if now.Before(deadline) || final(state) || state == Delivered {
		return state
	}
	return Expired
}

func (h *handoff) at(now time.Time) string { return effective(h.State, h.DeadlineAt, now) }

func (p *progress) at(now time.Time) string { return effective(p.State, p.DeadlineAt, now) }

// contributor is the agreed contributor of a topic's handoff, "" where there is none.
func (h *head) contributor() string {
	if h.Handoff == nil {
		return ""
	}
	return h.Handoff.Contributor
}

func handoffKey(t ID) table.Key { return part(t, "HANDOFF") }

// Refusals of handoffs.
var (
	notAHandoff        = fault.New(fault.Conflict, "not_a_handoff", "This topic carries no handoff request.")
	notParticipant     = fault.New(fault.Forbidden, "not_participant", "You take no part in this handoff.")
	wrongRole          = fault.New(fault.Forbidden, "wrong_role", "Another participant of this handoff may do that.")
	revisionConflict   = fault.New(fault.Conflict, "revision_conflict", "The handoff has moved on since the revision you name. Read the topic again.").At("expected_revision")
	handoffState       = fault.New(fault.Conflict, "handoff_state", "The handoff's state does not allow that.")
	deadlinePassed     = fault.New(fault.Conflict, "deadline_passed", "The handoff's deadline has passed.")
	claimNotPending    = fault.New(fault.Conflict, "claim_not_pending", "That claim is not pending.").At("claim_reply_id")
	deliveryNotCurrent = fault.New(fault.Conflict, "delivery_not_current", "That is not the current delivery.").At("delivery_reply_id")
	noteInvalid        = fault.New(fault.Conflict, "note_invalid", "The note is no visible note of this topic by the one who acts.").At("note_reply_id")
	waitOutOfRange     = fault.New(fault.Invalid, "wait_until_out_of_range", "Wait until a time after now and not after the deadline.").At("wait_until")
	ownRequest         = fault.New(fault.Forbidden, "own_request", "You cannot claim your own request.")
	claimExists        = fault.New(fault.Conflict, "claim_exists", "You have a pending claim here.")
	claimDeclined      = fault.New(fault.Conflict, "claim_declined", "The requester has declined your claim; you cannot claim here again.")
	notContributor     = fault.New(fault.Forbidden, "not_contributor", "Only the agreed contributor delivers.")
)

// facts are what a decision about a handoff knows beside the handoff itself.
type facts struct {
	requester string
	now       time.Time
	// shows tells whether a reply is visible.
	shows func(ID) bool
	// note is the note named, zero where it does not exist.
	note reply
}

// move is an action as it was asked for.
type move struct {
	action   string
	client   string
	expected int64
	claim    ID
	delivery ID
	note     ID
	reason   string
	until    time.Time
}

// decide checks an action in the order of peer.md 3.4 and does it to the handoff: role,
// revision, deadline, state, references.
func (h *handoff) decide(m move, f facts) error {
	role, err := h.role(m, f)
	if err != nil {
		return err
	}
	if err := h.guard(m.expected, f.now); err != nil {
		return err
	}
	lost := h.Delivery != "" && !f.shows(h.Delivery) // a delivery nobody can judge any more
	if err := h.allows(m.action, lost, f.now); err != nil {
		return err
	}
	if err := h.refers(m, f); err != nil {
		return err
	}
	h.apply(m, f.now)
	h.step(handoffStep{Action: m.action, Role: role, Reason: m.reason, Note: m.note, At: f.now})
	return nil
}

// roleOf is who may do what.
var roleOf = map[string][]string{
	Agree: {Requester}, Decline: {Requester}, Accept: {Requester}, Reject: {Requester}, RequestChanges: {Requester}, Cancel: {Requester},
	WithdrawClaim: {Claimant}, Pause: {Contributor}, Withdraw: {Contributor}, Resume: {Contributor, Requester},
}

// role finds the part in which a client acts.
func (h *handoff) role(m move, f facts) (string, error) {
	claims := slices.ContainsFunc(h.Claims, func(c claim) bool { return c.ClientID == m.client })
	var has []string
	if m.client == f.requester {
		has = append(has, Requester)
	}
	if m.client == h.Contributor && m.client != "" {
		has = append(has, Contributor)
	}
	own := func(c claim) bool { return c.ClientID == m.client && c.ReplyID == m.claim }
	if m.action == WithdrawClaim && slices.ContainsFunc(h.Claims, own) {
		has = append(has, Claimant)
	}
	if len(has) == 0 && !claims {
		return "", notParticipant
	}
	for _, r := range roleOf[m.action] {
		if slices.Contains(has, r) {
			return r, nil
		}
	}
	return "", wrongRole
}

// guard compares the revision, then looks at the deadline.
func (h *handoff) guard(expected int64, now time.Time) error {
	if expected != h.Revision {
		return with(revisionConflict, object{"revision": h.Revision, "state": h.at(now)})
	}
	if h.at(now) == Expired {
		return deadlinePassed
	}
	return nil
}

// from lists the states in which an action is possible.
var from = map[string][]string{
	Agree: {HandoffOpen}, Decline: {HandoffOpen}, WithdrawClaim: {HandoffOpen},
	Pause: {Working, ChangesRequested}, Resume: {Paused}, Deliver: {Working, ChangesRequested},
	Accept: {Delivered}, Reject: {Delivered}, RequestChanges: {Delivered},
	Cancel: {HandoffOpen, Working, Paused, ChangesRequested}, Withdraw: {Working, Paused, ChangesRequested},
}

// allows tells whether the state admits an action. A delivery that was hidden can only be
// left by ending the handoff.
func (h *handoff) allows(action string, lost bool, now time.Time) error {
	if h.State == Delivered && (action == RequestChanges || action == Deliver) && !now.Before(h.DeadlineAt) {
		return deadlinePassed
	}
	ends := lost && h.State == Delivered && (action == Cancel || action == Withdraw)
	if !ends && !slices.Contains(from[action], h.State) {
		return with(handoffState, object{"state": h.State, "revision": h.Revision})
	}
	return nil
}

// refers checks what an action names.
func (h *handoff) refers(m move, f facts) error {
	switch m.action {
	case Agree, Decline, WithdrawClaim:
		i := h.find(m.claim)
		hidden := m.action == Agree && !f.shows(m.claim)
		if i < 0 || h.Claims[i].State != Pending || hidden {
			return claimNotPending
		}
	case Accept, Reject, RequestChanges:
		if m.delivery != h.Delivery || !f.shows(m.delivery) {
			return deliveryNotCurrent
		}
	case Pause:
		if !m.until.After(f.now) || m.until.After(h.DeadlineAt) {
			return waitOutOfRange
		}
	}
	if m.note == "" {
		return nil
	}
	by := []string{m.client}
	if m.action == Resume {
		by = []string{f.requester, h.Contributor}
	}
	if f.note.Kind != Note || !f.shows(m.note) || !slices.Contains(by, f.note.ClientID) {
		return noteInvalid
	}
	return nil
}

func (h *handoff) find(r ID) int {
	return slices.IndexFunc(h.Claims, func(c claim) bool { return c.ReplyID == r })
}

// apply moves the handoff.
func (h *handoff) apply(m move, now time.Time) {
	switch m.action {
	case Agree:
		i := h.find(m.claim)
		h.Claims[i].State = Agreed
		h.Contributor, h.State = h.Claims[i].ClientID, Working
		h.dismiss()
	case Decline:
		h.Claims[h.find(m.claim)].State = Declined
	case WithdrawClaim:
		h.Claims[h.find(m.claim)].State = Withdrawn
	case Pause:
		h.Before, h.State = h.State, Paused
		h.Pause = &pause{m.reason, m.until, m.note, now}
	case Resume:
		h.State, h.Before, h.Pause = h.Before, "", nil
	case Accept:
		h.State = Accepted
	case Reject:
		h.State = Rejected
	case RequestChanges:
		h.State = ChangesRequested
	case Cancel:
		h.State, h.Pause = Cancelled, nil
		h.dismiss()
	case Withdraw:
		h.State, h.Pause = Withdrawn, nil
	}
}

// dismiss leaves the claims that nobody agreed to.
func (h *handoff) dismiss() {
	for i := range h.Claims {
		if h.Claims[i].State == Pending {
			h.Claims[i].State = NotSelected
		}
	}
}

// step raises the revision and writes the history.
func (h *handoff) step(s handoffStep) {
	h.Revision++
	s.Rev = h.Revision
	h.History = append(h.History, s)
	h.History = h.History[max(0, len(h.History)-maxHistory):]
}

// claim decides a claim: consent to the request as it stands. The revision stays.
func (h *handoff) claim(r claim, requester string, now time.Time) error {
	if r.ClientID == requester {
		return ownRequest
	}
	switch {
	case h.at(now) == Expired:
		return deadlinePassed
	case h.State != HandoffOpen:
		return with(handoffState, object{"state": h.State, "revision": h.Revision})
	}
	for _, c := range h.Claims {
		if c.ClientID == r.ClientID && c.State == Declined {
			return claimDeclined
		}
		if c.ClientID == r.ClientID && c.State == Pending {
			return claimExists
		}
	}
	h.Claims = append(h.Claims, r)
	return nil
}

// deliver decides a delivery.
func (h *handoff) deliver(r ID, client string, expected int64, now time.Time) error {
	if client != h.Contributor || client == "" {
		return notContributor
	}
	if err := h.guard(expected, now); err != nil {
		return err
	}
	if err := h.allows(Deliver, false, now); err != nil {
		return err
	}
	h.Delivery, h.State = r, Delivered
	h.step(handoffStep{Action: Deliver, Role: Contributor, At: now})
	return nil
}

// loadHandoff reads the handoff of a topic.
func loadHandoff(c *op.Call, t *head) (h handoff, err error) {
	if t.Handoff == nil {
		return h, notAHandoff
	}
	h, _, err = op.Load[handoff](c, handoffKey(t.ID))
	return h, err
}

// save stages the handoff, and what the topic's head says of it.
func (h *handoff) save(c *op.Call, t *head) {
	t.Handoff = &progress{State: h.State, Contributor: h.Contributor, DeadlineAt: h.DeadlineAt}
	c.PutUntil(handoffKey(t.ID), h, t.forget())
}

// claim enters the reply as a claim of the topic's handoff.
func (r *reply) claim(c *op.Call, t *head) error {
	h, err := loadHandoff(c, t)
	if err != nil {
		return err
	}
	if err := h.claim(claim{r.ID, r.ClientID, Pending}, t.ClientID, c.Now); err != nil {
		return err
	}
	if err := r.room(t, h.Contributor); err != nil {
		return err
	}
	h.save(c, t)
	return nil
}

// deliver enters the reply as the current delivery of the topic's handoff.
func (r *reply) deliver(c *op.Call, t *head, expected int64, out *ReplyOut) ([]change, error) {
	h, err := loadHandoff(c, t)
	if err != nil {
		return nil, err
	}
	if err := h.deliver(r.ID, r.ClientID, expected, c.Now); err != nil {
		return nil, err
	}
	if err := r.room(t, h.Contributor); err != nil {
		return nil, err
	}
	h.save(c, t)
	out.Handoff = &HandoffMark{h.State, h.Revision}
	return []change{{Type: HandoffChanged, Rev: &h.Revision}}, nil
}
