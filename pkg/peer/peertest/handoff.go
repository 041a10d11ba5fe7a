package peertest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"guildhall/pkg/clock"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/peer"
	"guildhall/pkg/table"
)

// Client 0 is the requester, 1 to 4 claim, 5 only watches and meddles.
const claimants = 4

type handoffIn struct {
	client   int
	do       string // an action, deliver or read
	rev      int
	claim    int    // whose claim
	delivery string // a reply id
}

type handoffOut struct {
	code     string
	state    string
	rev      int
	helper   int    // who a read shows as contributor, 0 for none
	delivery string // made by a deliver, or shown by a read
}

// handoffState is the handoff one after another.
type handoffState struct {
	state, before string
	rev           int
	helper        int
	claims        [claimants + 1]string
	delivery      string
}

// rules of the handoff: who may act, in which states, and the next state ("" stays, "before"
// goes back).
var rules = map[string]struct {
	who  string
	from []string
	to   string
}{
	"agree": {"requester", []string{"open"}, "working"}, "decline": {"requester", []string{"open"}, ""}, "withdraw_claim": {"claimant", []string{"open"}, ""},
	"pause": {"contributor", []string{"working", "changes_requested"}, "paused"}, "resume": {"both", []string{"paused"}, "before"},
	"deliver": {"contributor", []string{"working", "changes_requested"}, "delivered"},
	"accept":  {"requester", []string{"delivered"}, "accepted"}, "reject": {"requester", []string{"delivered"}, "rejected"},
	"request_changes": {"requester", []string{"delivered"}, "changes_requested"},
	"cancel":          {"requester", []string{"open", "working", "paused", "changes_requested"}, "cancelled"},
	"withdraw":        {"contributor", []string{"working", "paused", "changes_requested"}, "withdrawn"},
}

var handoffModel = porcupine.Model{
	Init: func() any {
		s := handoffState{state: "open"}
		for i := 1; i <= claimants; i++ {
			s.claims[i] = "pending"
		}
		return s
	},
	Step: func(state, input, output any) (bool, any) {
		s, in, out := state.(handoffState), input.(handoffIn), output.(handoffOut)
		if in.do == "read" {
			return out == handoffOut{"", s.state, s.rev, s.helper, s.delivery}, s
		}
		if code := s.refusal(in); code != "" {
			return out.code == code, s
		}
		s = s.after(in, out)
		return out.code == "" && out.state == s.state && out.rev == s.rev, s
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v -> %+v", in, out) },
}

// refusal is how an attempt is refused, "" when it is not.
func (s handoffState) refusal(in handoffIn) string {
	rule := rules[in.do]
	helper := in.client == s.helper && s.helper > 0
	may := map[string]bool{"requester": in.client == 0, "contributor": helper, "both": in.client == 0 || helper, "claimant": in.client > 0 && in.client == in.claim}[rule.who]
	switch {
	case in.do == "deliver" && !may:
		return "not_contributor"
	case in.client > claimants:
		return "not_participant"
	case !may:
		return "wrong_role"
	case in.rev != s.rev:
		return "revision_conflict"
	}
	possible := false
	for _, f := range rule.from {
		possible = possible || f == s.state
	}
	switch {
	case !possible:
		return "handoff_state"
	case rule.who != "contributor" && s.state == "open" && in.claim > 0 && s.claims[in.claim] != "pending":
		return "claim_not_pending"
	case s.state == "delivered" && in.delivery != s.delivery:
		return "delivery_not_current"
	}
	return ""
}

func (s handoffState) after(in handoffIn, out handoffOut) handoffState {
	s.rev++
	switch in.do {
	case "agree":
		s.helper, s.claims[in.claim] = in.claim, "agreed"
	case "decline", "withdraw_claim":
		s.claims[in.claim] = in.do
	case "pause":
		s.before = s.state
	case "deliver":
		s.delivery = out.delivery
	}
	switch to := rules[in.do].to; to {
	case "":
	case "before":
		s.state, s.before = s.before, ""
	default:
		s.state = to
	}
	return s
}

// Handoffs runs histories of one handoff that everybody acts on at once.
func Handoffs(t *testing.T, store func() table.Store, histories int) {
	t.Helper()
	all(t, HandoffsHold, store, histories)
}

// floor is one handoff with those who act on it, and what they last heard of it.
type floor struct {
	*bench
	topic  string
	tokens [clients]string
	ids    [clients]string
	claims [claimants + 1]string
	mu     sync.Mutex
	rev    int
	latest string // delivery
}

// HandoffsHold runs one history and tells whether some order explains it.
func HandoffsHold(t testing.TB, s table.Store, seed uint64, say bool) bool {
	t.Helper()
	f := &floor{bench: newBench(t, s, 2*seed)}
	r := rand.New(rand.NewPCG(seed, 3))
	for i := range f.tokens {
		f.ids[i], f.tokens[i] = f.visitor()
	}
	f.topic = f.publish(f.tokens[0], map[string]any{"kind": "ask", "title": "Ask", "text": "t", "handoff_request": map[string]any{
		"inputs": "a", "expected_output": "b", "permitted_actions": "c", "acceptance": "d", "limits": "e", "deadline_at": clock.Stamp(f.Now().Add(24 * time.Hour))}})
	for i := 1; i <= claimants; i++ {
		f.claims[i] = f.reply(i, map[string]any{"kind": "handoff_claim", "text": "t", "handoff_claim": map[string]any{"accepts_request": true}}).Want(201).Str("reply_id")
	}
	history := run(r, func(client int, r *rand.Rand) (any, any) {
		in := f.choose(client, r)
		out := f.call(in)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.rev = max(f.rev, out.rev)
		if in.do == "deliver" && out.code == "" {
			f.latest = out.delivery
		}
		return in, out
	})
	return holds(t, handoffModel, history, seed, say)
}

func (f *floor) reply(client int, body map[string]any) optest.Res {
	return f.do(peer.ReplyTo, optest.Req{Token: f.tokens[client], Path: map[string]string{"topic_id": f.topic}, Body: body})
}

// choose picks what a client tries next, mostly at the newest revision anybody has heard of.
func (f *floor) choose(client int, r *rand.Rand) handoffIn {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := []string{"read", "read", "pause", "resume", "deliver", "deliver", "request_changes", "request_changes", "accept", "cancel", "withdraw", "decline", "withdraw_claim", "agree"}
	if client == 0 {
		all = []string{"agree", "agree", "resume", "request_changes", "request_changes", "accept", "reject", "cancel", "decline", "read"}
	}
	in := handoffIn{client: client, do: all[r.IntN(len(all))], rev: f.rev, delivery: f.latest}
	if r.IntN(6) == 0 {
		in.rev = max(0, in.rev-1)
	}
	switch in.do {
	case "agree", "decline":
		in.claim = 1 + r.IntN(claimants)
	case "withdraw_claim":
		in.claim = max(1, min(client, claimants))
	case "cancel":
		if f.rev < 8 { // or few histories get far
			in.do = "read"
		}
	}
	return in
}

// nowhere is the id of a reply that does not exist.
const nowhere = "00000000-0000-4000-8000-000000000000"

// call makes an attempt.
func (f *floor) call(in handoffIn) (out handoffOut) {
	if in.do == "read" {
		res := f.do(peer.Read, optest.Req{Path: map[string]string{"topic_id": f.topic}, Address: fmt.Sprint("reader", in.client)})
		out = handoffOut{res.Str("error"), res.Str("topic.handoff.state"), int(res.Num("topic.handoff.revision")), 0, res.Str("topic.handoff.current_delivery_reply_id")}
		for i, id := range f.ids {
			if id == res.Str("topic.handoff.contributor_client_id") {
				out.helper = i
			}
		}
		return out
	}
	if in.do == "deliver" {
		res := f.reply(in.client, map[string]any{"kind": "handoff_delivery", "text": "t", "handoff_delivery": map[string]any{"expected_revision": in.rev,
			"result": "positive", "verification": "v", "limitations": "l", "evidence": []any{}}})
		return handoffOut{code: res.Str("error"), state: res.Str("handoff.state"), rev: int(res.Num("handoff.revision")), delivery: res.Str("reply_id")}
	}
	body := map[string]any{"action": in.do, "expected_revision": in.rev, "idempotency_key": f.key()}
	switch in.do {
	case "agree", "decline", "withdraw_claim":
		body["claim_reply_id"] = f.claims[in.claim]
	case "accept", "reject", "request_changes":
		body["delivery_reply_id"] = in.delivery
		if in.delivery == "" {
			body["delivery_reply_id"] = nowhere
		}
	case "pause":
		body["wait_until"] = clock.Stamp(f.Now().Add(time.Hour))
	}
	switch in.do {
	case "pause":
		body["reason"] = "input_required"
	case "reject", "request_changes", "cancel", "withdraw":
		body["reason"] = "other"
	}
	res := f.do(peer.Act, optest.Req{Token: f.tokens[in.client], Path: map[string]string{"topic_id": f.topic}, Body: body})
	return handoffOut{code: res.Str("error"), state: res.Str("state"), rev: int(res.Num("revision"))}
}
