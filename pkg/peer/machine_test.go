package peer

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"guildhall/pkg/op/optest"
)

// full runs the proofs at the size they are reported with.
var full = flag.Bool("full", false, "run the proofs of the peer exchange at full size")

// size is the number of rounds of a proof: a few by default.
func size(few, all int) int {
	if *full {
		return all
	}
	return few
}

// model is the handoff as the table of peer.md 3.4 says it, written down a second time.
type model struct {
	state, before string
	rev           int
	helper        string // client id
	claims        []modelClaim
	deliveries    []string
	hidden        map[string]bool
	deadline      time.Time
}

type modelClaim struct{ id, client, state string }

var modelFinal = []string{"accepted", "rejected", "cancelled", "withdrawn"}

func (m *model) expired(now time.Time) bool {
	return !now.Before(m.deadline) && !slices.Contains(modelFinal, m.state) && m.state != "delivered"
}

func (m *model) current() string {
	if len(m.deliveries) == 0 {
		return ""
	}
	return m.deliveries[len(m.deliveries)-1]
}

// edges are the moves of the table: action, actor, from, to ("" keeps the state).
var edges = []struct{ action, actor, from, to string }{
	{"agree", "requester", "open", "working"}, {"decline", "requester", "open", ""}, {"withdraw_claim", "claimant", "open", ""},
	{"pause", "contributor", "working changes_requested", "paused"}, {"resume", "contributor requester", "paused", "before"},
	{"deliver", "contributor", "working changes_requested", "delivered"},
	{"accept", "requester", "delivered", "accepted"}, {"reject", "requester", "delivered", "rejected"},
	{"request_changes", "requester", "delivered", "changes_requested"},
	{"cancel", "requester", "open working paused changes_requested", "cancelled"},
	{"withdraw", "contributor", "working paused changes_requested", "withdrawn"},
}

// try is one attempt at an action.
type try struct {
	action, client, requester string
	rev                       int
	claim, delivery           string
	now                       time.Time
}

// judge says how an attempt must end ("" is a success) and moves the model when it succeeds.
func (m *model) judge(x try) string {
	i := slices.IndexFunc(edges, func(e struct{ action, actor, from, to string }) bool { return e.action == x.action })
	e := edges[i]
	claim := slices.IndexFunc(m.claims, func(c modelClaim) bool { return c.id == x.claim })
	part := x.client == x.requester || x.client == m.helper || slices.ContainsFunc(m.claims, func(c modelClaim) bool { return c.client == x.client })
	may := map[string]bool{"requester": x.client == x.requester, "contributor": x.client == m.helper && m.helper != "",
		"claimant": claim >= 0 && m.claims[claim].client == x.client}
	acts := false
	for _, a := range words(e.actor) {
		acts = acts || may[a]
	}
	hidden := m.hidden[m.current()]
	switch {
	case x.action == "deliver" && !acts:
		return "not_contributor"
	case !part:
		return "not_participant"
	case !acts:
		return "wrong_role"
	case x.rev != m.rev:
		return "revision_conflict"
	case m.expired(x.now):
		return "deadline_passed"
	case m.state == "delivered" && !x.now.Before(m.deadline) && (x.action == "request_changes" || x.action == "deliver"):
		return "deadline_passed"
	case m.state == "delivered" && hidden && (x.action == "cancel" || x.action == "withdraw"):
	case !slices.Contains(words(e.from), m.state):
		return "handoff_state"
	}
	switch x.action {
	case "agree", "decline", "withdraw_claim":
		if claim < 0 || m.claims[claim].state != "pending" || x.action == "agree" && m.hidden[x.claim] {
			return "claim_not_pending"
		}
	case "accept", "reject", "request_changes":
		if x.delivery != m.current() || hidden {
			return "delivery_not_current"
		}
	}
	m.move(x, e.to, claim)
	return ""
}

func (m *model) move(x try, to string, claim int) {
	switch to {
	case "before":
		m.state = m.before
	case "":
	case "paused":
		m.before, m.state = m.state, to
	default:
		m.state = to
	}
	switch x.action {
	case "agree":
		m.claims[claim].state, m.helper = "agreed", m.claims[claim].client
	case "decline":
		m.claims[claim].state = "declined"
	case "withdraw_claim":
		m.claims[claim].state = "withdrawn"
	}
	if x.action == "agree" || x.action == "cancel" {
		for i := range m.claims {
			if m.claims[i].state == "pending" {
				m.claims[i].state = "not_selected"
			}
		}
	}
	m.rev++
}

// judgeClaim is the claim's line of the table.
func (m *model) judgeClaim(client, requester string, now time.Time) string {
	has := func(state string) bool {
		return slices.ContainsFunc(m.claims, func(c modelClaim) bool { return c.client == client && c.state == state })
	}
	switch {
	case client == requester:
		return "own_request"
	case m.expired(now):
		return "deadline_passed"
	case m.state != "open":
		return "handoff_state"
	case has("declined"):
		return "claim_declined"
	case has("pending"):
		return "claim_exists"
	}
	return ""
}

func words(s string) (out []string) {
	for len(s) > 0 {
		i := 0
		for i < len(s) && s[i] != ' ' {
			i++
		}
		out = append(out, s[:i])
		s = s[min(len(s), i+1):]
	}
	return out
}

// walker takes one handoff through random actions of everybody.
type walker struct {
	w       *world
	r       *rand.Rand
	m       *model
	actors  []visitor // the requester first, a stranger last
	topic   string
	steward string
	seen    map[string]int
}

func (k *walker) fail(format string, args ...any) {
	k.w.T.Helper()
	k.w.T.Fatalf(format, args...)
}

func (k *walker) step() {
	k.w.T.Helper()
	who := k.actors[k.r.IntN(len(k.actors))]
	now := k.w.Now()
	switch n := k.r.IntN(20); {
	case n < 4:
		k.claim(who, now)
	case n < 6:
		k.deliver(who, now)
	case n == 6:
		k.w.Advance(time.Duration(k.r.IntN(300)) * time.Minute)
	case n == 7 && k.m.current() != "" && k.r.IntN(3) == 0:
		k.hide(k.m.current())
	default:
		k.act(who, now)
	}
}

func (k *walker) claim(who visitor, now time.Time) {
	want := k.m.judgeClaim(who.ID, k.actors[0].ID, now)
	res := who.reply(k.topic, claimBody())
	if got := res.Str("error"); got != want {
		k.fail("claim: %q, want %q in %+v: %s", got, want, k.m, res.Body)
	}
	k.seen["claim "+want]++
	if want == "" {
		k.m.claims = append(k.m.claims, modelClaim{res.Str("reply_id"), who.ID, "pending"})
	}
}

func (k *walker) deliver(who visitor, now time.Time) {
	rev := k.revision()
	if k.r.IntN(2) == 0 {
		who = k.fit("contributor", who)
	}
	want := k.m.judge(try{action: "deliver", client: who.ID, requester: k.actors[0].ID, rev: rev, now: now})
	res := who.reply(k.topic, delivery(rev))
	if got := res.Str("error"); got != want {
		k.fail("deliver: %q, want %q in %+v: %s", got, want, k.m, res.Body)
	}
	k.seen["deliver "+want]++
	if want == "" {
		k.m.deliveries = append(k.m.deliveries, res.Str("reply_id"))
	}
}

// revision is the present one, or now and then a stale one.
func (k *walker) revision() int {
	if k.r.IntN(8) == 0 {
		return k.m.rev + 1 - 2*k.r.IntN(2)*min(1, k.m.rev)
	}
	return k.m.rev
}

func (k *walker) hide(reply string) {
	k.w.moderate(Hide, k.steward, object{"entity_type": "reply", "entity_id": reply, "reason": "r"}).Want(200)
	k.m.hidden[reply] = true
}

func (k *walker) act(who visitor, now time.Time) {
	e := edges[k.r.IntN(len(edges))]
	if (e.to == "cancelled" || e.to == "withdrawn") && k.r.IntN(5) > 0 {
		return // or few walks get far
	}
	if e.action == "deliver" || k.m.expired(now) && k.r.IntN(4) > 0 {
		return
	}
	if k.r.IntN(2) == 0 {
		who = k.fit(e.actor, who)
	}
	x := try{action: e.action, client: who.ID, requester: k.actors[0].ID, rev: k.revision(), now: now}
	more := object{}
	if takes := actionTakes[e.action]; len(takes.reasons) > 0 {
		more["reason"] = takes.reasons[k.r.IntN(len(takes.reasons))]
	}
	switch e.action {
	case "agree", "decline", "withdraw_claim":
		x.claim = "00000000-0000-4000-8000-000000000000"
		if len(k.m.claims) > 0 {
			x.claim = k.m.claims[k.r.IntN(len(k.m.claims))].id
		}
		more["claim_reply_id"] = x.claim
	case "accept", "reject", "request_changes":
		x.delivery = "00000000-0000-4000-8000-000000000000"
		if n := len(k.m.deliveries); n > 0 {
			x.delivery = k.m.deliveries[max(0, n-1-k.r.IntN(6)/5)]
		}
		more["delivery_reply_id"] = x.delivery
	case "pause":
		if !now.Before(k.m.deadline) {
			return
		}
		more["wait_until"] = k.w.at(min(time.Minute, k.m.deadline.Sub(now)))
	}
	want := k.m.judge(x)
	res := who.act(k.topic, x.action, x.rev, more)
	if got := res.Str("error"); got != want {
		k.fail("%+v: %q, want %q in %+v: %s", x, got, want, k.m, res.Body)
	}
	k.seen[x.action+" "+want]++
}

// fit is somebody whose part it is to act, where there is one.
func (k *walker) fit(part string, otherwise visitor) visitor {
	if words(part)[0] == "requester" {
		return k.actors[0]
	}
	for _, a := range k.actors {
		if words(part)[0] == "contributor" && a.ID == k.m.helper {
			return a
		}
	}
	return otherwise
}

// compare holds what everybody reads against the model.
func (k *walker) compare() {
	k.w.T.Helper()
	res := k.actors[0].get(Read, topicOf(k.topic), "").Want(200)
	state := k.m.state
	if k.m.expired(k.w.Now()) {
		state = "expired"
	}
	if res.Str("topic.handoff.state") != state || int(res.Num("topic.handoff.revision")) != k.m.rev || res.Str("topic.handoff.contributor_client_id") != k.m.helper {
		k.fail("read %s, want %+v (%s)", res.Body, k.m, state)
	}
	for i, c := range k.m.claims {
		if got := res.Str(fmt.Sprintf("topic.handoff.claims.%d.state", i)); got != c.state {
			k.fail("claim %d is %s, want %s", i, got, c.state)
		}
	}
}

// Random handoffs, walked by everybody at once, always do what the table says.
func TestAHandoffDoesWhatItsTableSays(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(size(100, 3000)) {
		stroll(t, seed, seen)
	}
	for _, e := range edges {
		if seen[e.action+" "] == 0 {
			t.Errorf("no walk ever did %s", e.action)
		}
	}
	for _, code := range []string{"revision_conflict", "handoff_state", "deadline_passed", "wrong_role", "not_participant", "claim_not_pending", "delivery_not_current"} {
		n := 0
		for what, times := range seen {
			if len(what) > len(code) && what[len(what)-len(code):] == code {
				n += times
			}
		}
		if n == 0 {
			t.Errorf("no walk was ever refused with %s", code)
		}
	}
}

func stroll(t *testing.T, seed uint64, seen map[string]int) {
	defer func() {
		if t.Failed() {
			t.Logf("replay with seed %d", seed)
		}
	}()
	w := &world{Exchange: optest.Seeded(t, seed)}
	k := &walker{w: w, r: rand.New(rand.NewPCG(seed, 1)), steward: w.steward(), seen: seen,
		m: &model{state: "open", deadline: w.Now().Add(6 * time.Hour), hidden: map[string]bool{}}}
	for range 4 {
		k.actors = append(k.actors, w.visitor())
	}
	k.topic = k.actors[0].publish(ask(w.request(6 * time.Hour)))
	for range 60 {
		k.step()
		if t.Failed() {
			return
		}
	}
	k.compare()
}
