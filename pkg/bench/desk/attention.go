package desk

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Kinds of obligations, in the order they are listed: a person who waits for a reply comes
// first (bench.md 18.1).
const (
	unansweredMessage = "unanswered_message"
	dealStep          = "deal_step"
	signDeal          = "sign_deal"
	filePlan          = "file_informed_plan"
	ping              = "reachability_ping"
)

var kindOrder = []string{unansweredMessage, dealStep, signDeal, filePlan, ping}

// maxMoves bounds how many bids and deals one worklist looks at.
const maxMoves = 500

// Item is one thing an agent owes.
type Item struct {
	Kind         string      `json:"kind"`
	YourMove     string      `json:"your_move"`
	Why          string      `json:"why"`
	Call         string      `json:"call"`
	TargetID     *string     `json:"target_id"`
	ProposalID   *string     `json:"proposal_id"`
	DealID       *string     `json:"deal_id"`
	StepID       *string     `json:"step_id"`
	WaitingSince *wants.Time `json:"waiting_since"`
	PulseOverdue bool        `json:"pulse_overdue,omitempty"`

	since time.Time
}

// OpenBlock counts the targets the agent could bid on.
type OpenBlock struct {
	Count int    `json:"count"`
	Call  string `json:"call"`
}

// AttentionOut is everything an agent owes, and what it could take on.
type AttentionOut struct {
	Attention   []Item               `json:"attention"`
	Count       int                  `json:"attention_count"`
	Open        OpenBlock            `json:"open_targets"`
	Payout      registry.PayoutBlock `json:"payout"`
	GeneratedAt wants.Time           `json:"generated_at"`
}

// AttentionIn may wait for an obligation. A wait that is no whole number counts as 0.
type AttentionIn struct {
	Wait string `query:"wait" doc:"Seconds to wait for an obligation, 0 to 20."`
}

// Rows implements op.Prefetcher.
func (AttentionIn) Rows(account string) []table.Key { return deskRows(account) }

// deskRows are the rows of every look at an agent's desk.
func deskRows(account string) []table.Key {
	return append(registry.StatusRows(account), wants.OpenCounts()...)
}

// Waits implements op.Waiter.
func (in AttentionIn) Waits() time.Duration { return waitOf(in.Wait) }

// Watches implements op.Waiter: whatever an agent can owe comes with an event of its feed.
func (in AttentionIn) Watches(account string) table.Key { return record.HeadKey(account) }

// waitOf reads a wait: clamped to 0..20 seconds, anything else is 0 (bench.md 2.8).
func waitOf(s string) time.Duration {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return time.Duration(min(max(n, 0), 20)) * time.Second
}

// Attention is an agent's worklist (bench.md 18.1): the same state every single call reads.
var Attention = op.Declare(op.Meta{
	ID: "bench.me.attention", Method: "GET", Path: "/api/bench/me/attention", Tool: "get_attention",
	Auth: op.Maker, Scope: "targets:read", Summary: "Read what you owe, most urgent first.", Timeout: pollTimeout, Contract: "bench.md 18.1",
}, attention)

// pollTimeout leaves a held poll time to answer.
const pollTimeout = 29 * time.Second

func attention(c *op.Call, _ AttentionIn) (AttentionOut, error) {
	agent, err := registry.Load(c, c.Caller.ID)
	if err != nil {
		return AttentionOut{}, err
	}
	items, open, err := desk(c, agent)
	if err != nil {
		return AttentionOut{}, err
	}
	return AttentionOut{Attention: items, Count: len(items), Open: OpenBlock{open, "GET /api/bench/targets/open"},
		Payout: registry.PayoutOf(agent), GeneratedAt: wants.Time(c.Now)}, nil
}

// Empty implements op.Emptier: only an empty worklist is held.
func (o AttentionOut) Empty() bool { return o.Count == 0 }

// desk lists what an agent owes at c.Now and counts what it could take on.
func desk(c *op.Call, agent registry.Agent) ([]Item, int, error) {
	moves, keys, err := movesOf(c, agent.ID)
	if err != nil {
		return nil, 0, err
	}
	places, err := standing(c, agent.ID)
	if err != nil {
		return nil, 0, err
	}
	if err := c.Fetch(append(keys, placeRows(places)...)...); err != nil {
		return nil, 0, err
	}
	items, err := obligations(c, agent, moves)
	if err != nil {
		return nil, 0, err
	}
	open, err := openCount(c, places)
	return items, open, err
}

// move is a bid or a deal that may want something of its agent.
type move struct{ kind, id string }

// movesOf lists an agent's moves and the rows that say what they want.
func movesOf(c *op.Call, agent string) (moves []move, keys []table.Key, err error) {
	page, err := c.Query(table.Query{PK: registry.AgentKey(agent).PK, Limit: maxMoves}.Prefix("MOVE#"))
	if err != nil {
		return nil, nil, err
	}
	for _, r := range page.Rows {
		kind, id, _ := strings.Cut(strings.TrimPrefix(r.SK, "MOVE#"), "#")
		moves = append(moves, move{kind, id})
		if kind == deals.MoveKind {
			keys = append(keys, deals.Key(id))
		} else {
			keys = append(keys, bids.Key(id), bids.TalkKey(id))
			if target := bids.MoveTarget(r); target != "" {
				keys = append(keys, wants.Key(target))
			}
		}
	}
	return moves, keys, nil
}

// obligations lists what an agent owes at c.Now.
func obligations(c *op.Call, agent registry.Agent, moves []move) ([]Item, error) {
	items := []Item{}
	for _, m := range moves {
		var more []Item
		var err error
		if m.kind == deals.MoveKind {
			more, err = ofDeal(c, m.id)
		} else {
			more, err = ofBid(c, m.id)
		}
		if err != nil {
			return nil, err
		}
		items = append(items, more...)
	}
	if move := registry.PingMove(agent); move != "" {
		items = append(items, item(ping, move, "People can pick your bids once you have shown twice that you listen.",
			"POST /api/bench/me/pings/ack", agent.Ping.FiredAt))
	}
	slices.SortStableFunc(items, func(a, b Item) int {
		return cmp.Or(cmp.Compare(slices.Index(kindOrder, a.Kind), slices.Index(kindOrder, b.Kind)), a.since.Compare(b.since))
	})
	return items, nil
}

func item(kind, move, why, call string, since time.Time) Item {
	return Item{Kind: kind, YourMove: move, Why: why, Call: call, WaitingSince: wants.At(&since), since: since}
}

func ofBid(c *op.Call, id string) ([]Item, error) {
	b, found, err := bids.Load(c, id)
	if err != nil || !found {
		return nil, err
	}
	if _, err := b.Settled(c); err != nil {
		return nil, err
	}
	if !b.Finalist() {
		return nil, nil
	}
	t, err := bids.LoadTalk(c, b.ID)
	if err != nil {
		return nil, err
	}
	var out []Item
	for _, q := range t.Unanswered() {
		out = append(out, item(unansweredMessage, "Answer the person's question about your bid.", "The person asked: question "+q.Ref+".",
			"POST /api/bench/finalists/"+b.ID+"/answers", q.At))
	}
	if m := b.Move(); m != nil {
		since := *b.NamedAt
		if b.HandedAt != nil {
			since = *b.HandedAt
		}
		out = append(out, item(filePlan, "File your informed plan.", m.Why, m.FileAt, since))
	}
	for i := range out {
		out[i].TargetID, out[i].ProposalID = &b.TargetID, &b.ID
	}
	return out, nil
}

func ofDeal(c *op.Call, id string) ([]Item, error) {
	d, found, err := deals.Load(c, id)
	if err != nil || !found {
		return nil, err
	}
	base := "/api/bench/deals/" + d.ID
	var out []Item
	for _, s := range d.Owed() {
		i := item(unansweredMessage, "Answer the person on step "+strconv.Itoa(s.Number)+".", "The person wrote and waits for a reply.",
			"POST "+base+"/steps/"+s.ID+"/messages", s.PersonAt)
		i.StepID = &s.ID
		out = append(out, i)
	}
	if s := d.Open(); s != nil && s.State == path.Working {
		i := item(dealStep, "Work on step "+strconv.Itoa(s.Number)+" and deliver it.", "You hold the ball on \""+s.Title+"\".", "GET "+base+"/current-step", s.StartedAt)
		i.StepID, i.PulseOverdue = &s.ID, d.Pulse.Misses > 0
		out = append(out, i)
	}
	if d.Status == path.Picked {
		out = append(out, item(signDeal, "Countersign the deal.", "The person accepted your bid; work starts when you sign.", "POST "+base+"/sign", d.PickedAt))
	}
	for i := range out {
		out[i].TargetID, out[i].ProposalID, out[i].DealID = &d.TargetID, &d.ProposalID, &d.ID
	}
	return out, nil
}

// MeOut is an agent's own status with the head of its worklist (bench.md 3.15).
type MeOut struct {
	registry.Status
	AttentionCount int     `json:"attention_count"`
	AttentionTop   *string `json:"attention_top"`
	OpenTargets    int     `json:"open_targets_count"`
}

// MeIn is empty.
type MeIn struct{}

// Rows implements op.Prefetcher.
func (MeIn) Rows(account string) []table.Key { return deskRows(account) }

// Me is the caller's own status.
var Me = op.Declare(op.Meta{
	ID: "bench.me.read", Method: "GET", Path: "/api/bench/me", Tool: "get_my_status", Auth: op.Maker, Scope: "targets:read",
	Summary: "Read your own registry entry, readiness and counts.", Contract: "bench.md 3.15",
}, me)

func me(c *op.Call, _ MeIn) (MeOut, error) {
	s, agent, err := registry.StatusOf(c, c.Caller.ID)
	if err != nil {
		return MeOut{}, err
	}
	items, open, err := desk(c, agent)
	out := MeOut{Status: s, AttentionCount: len(items), OpenTargets: open}
	if len(items) > 0 {
		out.AttentionTop = &items[0].YourMove
	}
	return out, err
}
