package simulation

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"guildhall/pkg/bench/wants"
	"guildhall/pkg/blob"
	"guildhall/pkg/blob/memblob"
	"guildhall/pkg/op"
	"guildhall/pkg/pay/simulated"
	queuefaulty "guildhall/pkg/queue/faulty"
	"guildhall/pkg/table/faulty"
)

// m is a JSON object.
type m = map[string]any

// sim is one exchange under way.
type sim struct {
	seed   uint64
	r      *rand.Rand
	seen   map[string]int
	trace  hash.Hash
	random io.Reader
	now    time.Time
	temper int  // 0 or 1: how far the clock moves at once
	faults bool // things go wrong

	audit     *audit
	*process           // what a restart throws away
	second    *process // another process over the same table, while the first waits for it
	nested    bool     // the second one is at work
	meanwhile int      // things that happened while a call waited
	timers    []op.TimerKind
	effects   []op.EffectKind
	bank      *simulated.Processor
	blobs     *memblob.Store
	checkouts []string // all, and those that are still open
	open      []string

	agents [agents]party
	people [people]party
	desk   [desks]party
	wants  []*want
	silent int // a person who stops answering, and in every second exchange the next one too; -1 when nobody does
	absent int // the agent that never signs
	keys   int
	struck map[faulty.Mode]int
	lost   map[queuefaulty.Mode]int
}

func newSim(seed uint64) *sim {
	s := &sim{seed: seed, r: rand.New(rand.NewPCG(seed, 11)), seen: map[string]int{}, trace: sha256.New(), random: randomOf(seed), silent: -1, absent: -1}
	s.watchClocks()
	s.blobs = memblob.New(s.clock, blob.Signer{BaseURL: "http://guildhall.test", Keys: [][]byte{[]byte("sixteen bytes or more")}})
	return s
}

func (s *sim) clock() time.Time { return s.now }

func (s *sim) saw(what string) { s.seen[what]++ }

// log adds to the trace.
func (s *sim) log(parts ...any) { fmt.Fprintln(s.trace, parts...) }

// turns is how many things are done to one exchange.
const turns = 150

// play runs a seed from its base to the end of all clocks.
func (s *sim) play() {
	b := baseOf(s.seed)
	s.now = b.now
	s.audit = b.audit.clone(s.clock)
	s.agents, s.people, s.desk = b.agents, b.people, b.desk
	for _, w := range b.wants {
		s.wants = append(s.wants, w.clone())
	}
	s.start()
	s.newBank(&s.agents)
	_, err := s.bank.Deliver(context.Background(), func(context.Context, simulated.Webhook) error { return nil }) // the base has heard of them
	must(err)
	s.faults, s.temper = true, s.r.IntN(3)
	if s.seed%8 > 0 {
		s.silent = s.r.IntN(people)
	}
	if s.seed%3 == 0 {
		s.absent = s.r.IntN(payable)
	}
	for range turns {
		s.turn()
	}
	s.finish()
}

// quiet tells whether a person does not answer.
func (s *sim) quiet(p party) bool {
	return s.silent >= 0 && (p.n == s.silent || s.seed%2 == 0 && p.n == (s.silent+1)%people)
}

// turn is one thing somebody does, and what the world does meanwhile.
func (s *sim) turn() {
	if s.r.IntN(4) == 0 {
		s.pass()
	}
	mortal := s.r.IntN(60) == 0
	if mortal {
		s.die(s.r.IntN(5))
	}
	if len(s.audit.drips) > 0 && s.r.IntN(12) == 0 {
		s.morning()
	}
	live := s.audit.live()
	switch k := s.r.IntN(100); {
	case k < 61 && len(live) > 0:
		s.work(live[s.r.IntN(len(live))])
	case k < 63 && len(s.audit.order) > 0:
		s.work(s.audit.deals[s.audit.order[s.r.IntN(len(s.audit.order))]])
	case k < 85:
		s.market(s.wants[s.r.IntN(len(s.wants))], true)
	case k < 88:
		s.look()
	case k < 92:
		s.stranger()
	case k < 97:
		s.govern()
	case k < 98:
		s.elsewhere()
	case k < 99:
		s.morning()
	default:
		s.settleUp()
	}
	if s.r.IntN(3) > 0 { // the hints of the commit arrive at once
		s.congestion()
		s.drain()
		s.drops.Clear()
	}
	if mortal || s.r.IntN(60) == 0 {
		s.restart()
	}
}

// call is a call somebody makes.
type call struct {
	op   *op.Operation
	who  party
	path map[string]string
	body m
	// stream is a body that is no JSON, and the headers it comes with.
	stream  string
	headers map[string]string
	// not: the call must not succeed: it is somebody else's.
	not bool
}

func (c call) request(body []byte, key string) *op.Request {
	r := &op.Request{Path: c.path, Body: body, Token: c.who.token, Key: key}
	if c.stream != "" {
		r.Body, r.Stream = nil, strings.NewReader(c.stream)
		r.ContentType, r.Header = c.headers["Content-Type"], func(n string) string { return c.headers[n] }
	}
	return r
}

// send makes one try of a call.
func (s *sim) send(o *op.Operation, r *op.Request) *op.Response {
	r.ID, r.Transport = "simulated", "rest"
	if r.ContentType == "" {
		r.ContentType = "application/json"
	}
	if r.Header == nil {
		r.Header = func(string) string { return "" }
	}
	if r.Address == "" {
		r.Address = "192.0.2.200"
	}
	return s.engine.Do(context.Background(), o, r)
}

// busy: the exchange or the processor gave no answer; whoever called repeats the call.
func busy(res *op.Response) bool { return res.Status == 503 || res.Status == 502 }

// maxTries is how often somebody repeats a call to which the exchange says that it is busy.
const maxTries = 8

// do makes a call, with the same key until the exchange knows an answer, and holds the answer
// against what happened.
func (s *sim) do(c call) *op.Response {
	if c.op == nil {
		return nil
	}
	body := []byte(text(c.body))
	key := ""
	if c.op.Idempotent != op.KeyIgnored {
		s.keys++
		key = "key-" + strconv.FormatUint(s.seed, 10) + "-" + strconv.Itoa(s.keys)
	}
	before := s.happened()
	var res *op.Response
	for range maxTries {
		if s.store.Pending() == 0 {
			s.trouble()
		}
		res = s.send(c.op, c.request(body, key))
		s.calm()
		s.note(c, res)
		if !busy(res) {
			break
		}
		if key == "" {
			before = s.happened() // without a key nobody can tell a call from its repetition
		}
	}
	s.honest(c, res, s.happened()-before)
	if res.Status < 300 && key != "" && s.r.IntN(10) == 0 {
		s.again(c, body, key, res)
	}
	return res
}

// note counts an answer and adds it to the trace.
func (s *sim) note(c call, res *op.Response) {
	s.log(c.op.ID, res.Status, string(res.Body))
	s.saw("status " + strconv.Itoa(res.Status))
	if res.Attempts > 1 {
		s.saw("race lost")
	}
	switch {
	case res.Status < 300:
		s.saw("did " + c.op.ID)
	case res.Fault != nil:
		s.saw("refused " + res.Fault.Code)
	}
	if res.Status >= 500 && !busy(res) {
		fail("%s answers %d %s: %v", c.op.ID, res.Status, res.Body, res.Fault.Unwrap())
	}
}

// honest: an answer says what is stored. A refusal has changed nothing, and nobody does
// anything with what is another's.
func (s *sim) honest(c call, res *op.Response, happened int) {
	if res.Status >= 400 && !busy(res) && happened != 0 {
		fail("%s answers %d %s and %d things happened", c.op.ID, res.Status, res.Body, happened)
	}
	if c.not && (res.Status != 404 || happened != 0) && !busy(res) && !c.who.out {
		fail("%s of a stranger answers %d %s, %d things happened", c.op.ID, res.Status, res.Body, happened)
	}
}

// again sends a call that succeeded once more: it is answered alike and changes nothing.
func (s *sim) again(c call, body []byte, key string, first *op.Response) {
	before := s.happened()
	if s.r.IntN(4) == 0 {
		s.restart()
	}
	res := s.send(c.op, c.request(body, key))
	s.log("again", res.Status)
	s.saw("repeated")
	same := res.Status == first.Status && (bytes.Equal(res.Body, first.Body) || !res.Replayed)
	if gone := res.Status == 401; s.happened() != before || !same && !gone {
		fail("%s answers %d %s, and when it is repeated %d %s; %d things happened", c.op.ID, first.Status, first.Body, res.Status, res.Body, s.happened()-before)
	}
}

// happened counts what happened, but for what another process did while a call of this one
// waited.
func (s *sim) happened() int { return s.audit.happened - s.meanwhile }

// ok is a call that has to succeed.
func (s *sim) ok(o *op.Operation, who party, path map[string]string, body m) *op.Response {
	res := s.do(call{op: o, who: who, path: path, body: body})
	if res.Status >= 300 {
		fail("%s answers %d %s", o.ID, res.Status, res.Body)
	}
	return res
}

// read decodes an answer.
func read(res *op.Response, into any) { must(json.Unmarshal(res.Body, into)) }

// want is what its person knows of it.
type want struct {
	id     string
	person party
	tile   string
	free   bool
	bids   []*offer
}

func (w *want) clone() *want {
	c := *w
	c.bids = nil
	for _, b := range w.bids {
		n := *b
		n.want = &c
		c.bids = append(c.bids, &n)
	}
	return &c
}

// offer is a bid as its agent knows it.
type offer struct {
	id       string
	want     *want
	agent    party
	body     m
	question string // the latest one the person asked
}

func (b *offer) at() map[string]string {
	return map[string]string{"target_id": b.want.id, "proposal_id": b.id}
}

// mark is the secret of an agent and a person: it stands in everything that is only theirs.
func mark(agent, person int) string { return fmt.Sprintf("heron-a%d-p%d", agent, person) }

func (b *offer) mark() string { return mark(b.agent.n, b.want.person.n) }

// tiles of wants: those of the first kind take bids of two steps, of the second of three.
var tiles = []string{"booking_on_calendar", "booking_on_calendar", "booking_on_calendar", "something_else"}

func (s *sim) postBy(p party) *want {
	w := &want{person: p, tile: tiles[s.r.IntN(len(tiles))], free: s.r.IntN(4) == 0}
	lane := m{"kind": "open"}
	if w.free {
		lane = m{"kind": "free"}
	}
	res := s.do(call{op: wants.Post, who: p, body: m{"want": "A dinner table for nine on Friday.", "lane": lane,
		"finish_line": m{"tile": w.tile, "sentence": "Nine chairs."}, "auto_repost": s.r.IntN(3) > 0}})
	if res.Status >= 300 {
		return nil
	}
	var out struct {
		ID string `json:"target_id"`
	}
	read(res, &out)
	w.id = out.ID
	s.wants = append(s.wants, w)
	return w
}

// step is a plan step of an ask with a control that fits it.
func step(title, ask string, cents int, mark string) m {
	block := m{"id": "b", "title": "Your part", "required": false}
	switch ask {
	case "APPROVE":
		block["format"] = "review_approve"
	case "CHOOSE":
		block["format"], block["config"] = "single_choice", m{"options": []m{{"id": "a", "label": "North Hall"}, {"id": "b", "label": "River Room"}}}
	case "PROVIDE":
		block["format"] = "written_response"
	case "GRANT":
		block["format"] = "grant_access"
	}
	out := m{"title": title, "ask": ask, "rounds": 1, "outcome_promise": "I will do it, " + mark + ".", "agent_court_estimate": 2, "person_minutes": 5,
		"line_item_amount": cents, "declared_odds": 0.6, "har_blocks": []m{block}}
	if ask == "GRANT" {
		out["grant_request"] = m{"what": "Send mail in your name", "why": "To ask " + mark, "scope": "One mailbox", "until": "the deal ends", "capability": "email.send_as"}
	}
	return out
}

// plan is a random bid.
func (s *sim) plan(w *want, mark string) m {
	asks := []string{"APPROVE", "APPROVE", "CHOOSE", "PROVIDE", "GRANT"}
	n, cents, total := 2, 500, 0
	if w.tile == "something_else" {
		n = 3
	}
	if w.free {
		cents = 0
	}
	var steps []m
	for i := range n {
		each := cents * (1 + s.r.IntN(3))
		steps = append(steps, step("Part "+strconv.Itoa(i), asks[s.r.IntN(len(asks))], each, mark))
		total += each
	}
	finish := cents * s.r.IntN(2)
	total += finish
	b := m{"model_declared": "Example Model 1", "total_ask_cents": total, "allocation": m{"ad_spend": 0, "tools": 0, "agent_work": total},
		"timeline_days": 1 + s.r.IntN(1+7*s.r.IntN(2)), "finish_line": "A booking on the calendar", "finish_line_cents": finish,
		"pitch_title": "A table your whole family can agree on", "pitch_body": "I shortlist places that fit nine people, you tap one. " + mark,
		"smart_goals": []string{"Hold one dinner table for nine people within seven days."},
		"finalist_questions": [][]string{{"Which meal do people still talk about?", "Quiet room or lively room?", "Who must have the best seat?",
			"What would spoil the evening, " + mark + "?"}},
		"person_cost_estimate": m{"low_cents": 20000, "high_cents": 40000, "note": "Dinner for nine is yours to pay at the restaurant."}, "steps": steps}
	if s.r.IntN(3) == 0 {
		b["operator_relationship_disclosure"] = "My operator is a cousin of yours."
	}
	return b
}

// pick is one of a map's values, by the seed.
func pick[T any](s *sim, list []T) T { return list[s.r.IntN(len(list))] }
