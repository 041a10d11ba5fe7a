package registry

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/rulebook"
	"guildhall/pkg/mail"
	"guildhall/pkg/mail/outbox"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/table"
)

// letters keeps the mails that an exchange sends.
type letters struct {
	mu   sync.Mutex
	sent []mail.Mail
}

func (l *letters) effect() op.EffectKind {
	return op.EffectKind{Kind: outbox.Kind, Do: func(c *op.Call, t op.Fired) (any, error) {
		var m mail.Mail
		if err := op.Decode(t.Payload, &m); err != nil {
			return nil, err
		}
		m.From = "Guildhall <hello@guildhall.test>"
		if err := m.Valid(); err != nil {
			return nil, err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.sent = append(l.sent, m)
		return nil, nil
	}}
}

// last is the newest mail to an address, with the token of its link.
func (l *letters) last(t *testing.T, to string) (m mail.Mail, token string) {
	t.Helper()
	for _, one := range l.sent {
		if one.To == to {
			m = one
		}
	}
	if m.Text == "" {
		t.Fatalf("no mail went to %s", to)
	}
	_, token, _ = strings.Cut(m.Text, "token=")
	return m, strings.TrimSpace(token)
}

func (l *letters) count(to string) int {
	n := 0
	for _, m := range l.sent {
		if m.To == to {
			n++
		}
	}
	return n
}

type world struct {
	*optest.Exchange
	t    *testing.T
	mail *letters
}

func newWorld(t *testing.T, opts ...optest.Option) world {
	l := &letters{}
	return world{optest.New(t, append(opts, optest.WithEffects(l.effect()))...), t, l}
}

// Do makes a call; an answer outside the envelope is decoded too.
func (w world) Do(o *op.Operation, r optest.Req) optest.Res {
	w.t.Helper()
	res := w.Exchange.Do(o, r)
	if res.Raw != nil && res.Raw.Body != nil {
		body, err := io.ReadAll(res.Raw.Body)
		if err != nil || json.Unmarshal(body, &res.JSON) != nil || int64(len(body)) != res.Raw.Size {
			w.t.Errorf("raw answer %s: %v", body, err)
		}
		res.Body = body
	}
	return res
}

// Me shows the registry's part of an agent's own status; the desk serves the whole.
var Me = op.Declare(op.Meta{ID: "bench.test.me", Method: "GET", Path: "/me", Auth: op.Maker, Scope: TargetsRead, Summary: "Read the status."},
	func(c *op.Call, _ statusIn) (Status, error) { s, _, err := StatusOf(c, c.Caller.ID); return s, err })

type statusIn struct{}

func (statusIn) Rows(agentID string) []table.Key { return StatusRows(agentID) }

// pinged tells whether an agent owes an ack.
func (w world) pinged(a agent) (owed bool) {
	w.t.Helper()
	w.run(func(c *op.Call) error { b, err := Load(c, a.ID); owed = b.Ping != nil; return err })
	return owed
}

// obj is a JSON object.
type obj = map[string]any

// form is a registration with nothing wrong in it.
func form(handle string) obj {
	return obj{
		"handle": handle, "skills": "Finds venues and books them.",
		"disclosure": obj{"is_ai": true, "model": "claude-sonnet-4-6", "operator_label": "Nine Doors Labs", "operator_type": "company",
			"company_url": "https://www.ninedoors.example.com/about"},
		"system_record": obj{"autonomy": "fully_autonomous", "harness": "nine-runner", "harness_version": "1.4",
			"base_models": []any{obj{"provider": "anthropic", "model": "claude-sonnet-4-6", "version": "2026-05"}}},
		"responsible_party": obj{"legal_name": "Nine Doors LLC", "jurisdiction": "US-CA", "contact_ref": "ops@ninedoors.example.com"},
		"rules":             obj{"accepted": true, "version_hash": rulebook.Hash()},
	}
}

// with changes a form at a dotted path; nil removes.
func with(f obj, path string, v any) obj {
	parts := strings.Split(path, ".")
	m := f
	for _, p := range parts[:len(parts)-1] {
		m = m[p].(obj)
	}
	if last := parts[len(parts)-1]; v == nil {
		delete(m, last)
	} else {
		m[last] = v
	}
	return f
}

// agent is a registered agent of a test.
type agent struct {
	ID, No, Token string
	key           ed25519.PrivateKey // both recovery and client key
}

func testKey(n byte) ed25519.PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	seed[0], seed[1] = n, 7
	return ed25519.NewKeyFromSeed(seed)
}

func pub(k ed25519.PrivateKey) string {
	return "ed25519:" + base64.StdEncoding.EncodeToString(k.Public().(ed25519.PublicKey))
}

func (w world) register(handle string) agent {
	w.t.Helper()
	k := testKey(byte(len(handle)))
	f := with(with(form(handle), "recovery_public_key", pub(k)), "client_public_key", pub(k))
	r := w.Do(Register, optest.Req{Body: f}).Want(201)
	return agent{r.Str("maker_id"), r.Str("registry_no"), r.Str("rest_token"), k}
}

func TestARegistrationAnswersEverythingAnAgentNeeds(t *testing.T) {
	w := newWorld(t)
	r := w.Do(Register, optest.Req{Body: form(" Nine-Doors ")}).Want(201)
	for path, want := range map[string]any{"ok": true, "registry_no": "A-0001", "passport_initials": "ND", "verification_state": "unconfirmed",
		"recovery_key_set": false, "contact_confirmation.confirmed": false, "contact_confirmation.sent_to_responsible_party": true,
		"rule_receipt.version_hash": rulebook.Hash(), "reachability_test.ping.number": 1.0, "reachability_test.acks_needed": 2.0,
		"reachability_test.ack_call": AckCall, "rule_receipt.accepted_at": "2026-11-30T18:20:00Z"} {
		if got := r.At(path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	if r.At("rule_receipt.artifact_hashes.the-rules\x2ehtml") == nil && r.JSON["rule_receipt"].(obj)["artifact_hashes"].(obj)["the-rules.html"] == nil {
		t.Error("the receipt names no artifact hashes")
	}
	me := w.Do(Me, optest.Req{Token: r.Str("rest_token")}).Want(200)
	if me.Str("handle") != "Nine-Doors" || me.Str("attribution.model_name") != "Claude Sonnet 4.6" {
		t.Errorf("me: %s", me.Body)
	}
	w.Settle()
	if m, token := w.mail.last(t, "ops@ninedoors.example.com"); !strings.Contains(m.HTML, token) || w.mail.count("ops@ninedoors.example.com") != 1 {
		t.Errorf("the confirmation mail: %+v", m)
	}
	var feed []record.Entry
	w.Run("bench", func(c *op.Call) (err error) { feed, _, err = record.Feed(c, r.Str("maker_id"), 0, 10); return err })
	if len(feed) != 2 || feed[0].Type != EventRegistered || feed[1].Type != EventPing || feed[1].Seq != 2 {
		t.Errorf("the feed: %+v", feed)
	}
}

func TestThePartyIsStoredEncrypted(t *testing.T) {
	w := newWorld(t)
	a := w.register("Sealed")
	w.Settle() // the outbox row of the mail names the address until it is sent
	rows, _, err := w.Store.List(t.Context(), "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if strings.Contains(string(r.Data), "ops@ninedoors") || strings.Contains(string(r.Data), "Nine Doors LLC") || strings.Contains(string(r.Data), a.Token) {
			t.Errorf("%v holds private data in clear", r.Key)
		}
	}
	w.Run("bench", func(c *op.Call) error {
		p, err := LoadParty(c, a.ID)
		if err == nil && p.Email != "ops@ninedoors.example.com" {
			t.Errorf("party: %+v", p)
		}
		return err
	})
}

func TestAReplayedRegistrationLeavesTheTokenOut(t *testing.T) {
	w := newWorld(t)
	first := w.Do(Register, optest.Req{Body: form("Twice"), Key: "k"}).Want(201)
	again := w.Do(Register, optest.Req{Body: form("Twice"), Key: "k"}).Want(201)
	if !again.Replayed || again.Str("rest_token") != "" || again.Str("token_notice") == "" || again.Str("maker_id") != first.Str("maker_id") {
		t.Errorf("replay: %s", again.Body)
	}
	w.Do(Register, optest.Req{Body: form("Other"), Key: "k"}).Refused(409, "idempotency_conflict")
	w.Do(Register, optest.Req{Body: form("Other"), Key: "-"}).Refused(400, "idempotency_key_required")
	w.Do(Register, optest.Req{Body: form("Other"), Key: strings.Repeat("k", 201)}).Refused(400, "idempotency_key_required")
}

func TestNamesAreTakenForEver(t *testing.T) {
	w := newWorld(t)
	a := w.register("Nine_Doors")
	w.Run("bench", func(c *op.Call) error { _, err := Delist(c, a.ID, "left"); return err })
	for _, handle := range []string{"Nine_Doors", "nine_doors", "NINE_DOORS", "  nine_Doors\n"} {
		w.Do(Register, optest.Req{Body: form(handle)}).Refused(409, "name_taken")
	}
	for _, handle := range []string{"Nine Doors", "Nine  Doors", "Niné-doors", "Nine\u0301-doors", "1abc", "ab", "a" + strings.Repeat("b", 64), "", "nine\u200bdoors"} {
		r := w.Do(Register, optest.Req{Body: form(handle)}).Refused(422, "invalid_registration")
		if r.Str("code") != "handle_invalid" || r.Str("field") != "handle" {
			t.Errorf("%q: %s", handle, r.Body)
		}
	}
	w.register("a" + strings.Repeat("b", 63))
	w.register("abc")
}

func TestParallelClaimsOfOneNameHaveOneWinner(t *testing.T) {
	w := newWorld(t)
	var won, taken atomic.Int32
	parallel(40, func(i int) {
		handle := "Racer"
		if i%2 == 1 {
			handle = "rACER"
		}
		r := w.Do(Register, optest.Req{Body: form(handle), Key: fmt.Sprint("k", i), Address: fmt.Sprint("192.0.2.", i)})
		switch {
		case r.Status == 201:
			won.Add(1)
		case r.Status == 409 && r.Str("error") == "name_taken":
			taken.Add(1)
		default:
			t.Errorf("%d: %s", r.Status, r.Body)
		}
	})
	if won.Load() != 1 || taken.Load() != 39 {
		t.Errorf("%d won, %d were told it is taken", won.Load(), taken.Load())
	}
}

func parallel(n int, fn func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() { <-start; fn(i) })
	}
	close(start)
	wg.Wait()
}

func TestFiftyParallelRegistrationsAllSucceedWithTheirOwnNumbers(t *testing.T) {
	w := newWorld(t)
	base, tick := optest.Start, atomic.Int64{}
	w.Engine.Now = func() time.Time { return base.Add(time.Duration(tick.Add(1)) * time.Millisecond) }
	var mu sync.Mutex
	numbers := map[string]int{}
	most := 0
	parallel(50, func(i int) {
		r := w.Do(Register, optest.Req{Body: form(fmt.Sprint("Parallel", i)), Key: fmt.Sprint("k", i), Address: fmt.Sprint("198.51.100.", i)})
		mu.Lock()
		defer mu.Unlock()
		most = max(most, r.Attempts)
		if r.Status != 201 {
			t.Errorf("registration %d: %d %s", i, r.Status, r.Body)
			return
		}
		numbers[r.Str("registry_no")]++
	})
	if len(numbers) != 50 {
		t.Errorf("%d different numbers", len(numbers))
	}
	t.Logf("at most %d attempts", most)
	tick.Add(5000)
	next := w.Do(Register, optest.Req{Body: form("Afterwards")}).Want(201)
	if n, ok := parseNumber(next.Str("registry_no")); !ok || n > 51 {
		t.Errorf("the next number is %s: gaps are to be filled first", next.Str("registry_no"))
	}
}

func TestThirtyAnHourFromOneAddress(t *testing.T) {
	w := newWorld(t)
	parallel(30, func(i int) {
		r := w.Do(Register, optest.Req{Body: form(fmt.Sprint("Batch", i)), Key: fmt.Sprint("k", i), Header: map[string]string{"X-Forwarded-For": fmt.Sprint(i)}})
		if r.Status != 201 {
			t.Errorf("registration %d: %d %s", i, r.Status, r.Body)
		}
	})
	r := w.Do(Register, optest.Req{Body: form("OneMore")}).Refused(429, "rate_limited")
	if r.Num("retry_after_seconds") < 1 || r.Header["Retry-After"] == "" {
		t.Errorf("%s", r.Body)
	}
	w.Do(Register, optest.Req{Body: form("OneMore"), Address: "203.0.113.9"}).Want(201)
	w.Advance(time.Hour)
	w.Do(Register, optest.Req{Body: form("Later")}).Want(201)
}

func TestABearerNeedsTheIntent(t *testing.T) {
	w := newWorld(t)
	a := w.register("First")
	w.Do(Register, optest.Req{Token: a.Token, Body: form("Second")}).Refused(409, "already_registered")
	// the guard stands before the payload
	w.Do(Register, optest.Req{Token: a.Token, Body: with(form("Second"), "skills", nil)}).Refused(409, "already_registered")
	w.Do(Register, optest.Req{Token: a.Token, Body: with(form("Second"), "intent", "additional_identity")}).Want(201)
	w.Do(Register, optest.Req{Body: with(form("Third"), "intent", "additional_identity")}).Want(201)
	w.Do(Rotate, optest.Req{Token: a.Token}).Want(200)
	w.Do(Register, optest.Req{Token: a.Token, Body: form("Fourth")}).Want(201) // a revoked bearer is nobody's
}

func TestPingsMakeAnAgentReachable(t *testing.T) {
	w := newWorld(t)
	a := w.register("Listener")
	one := w.Do(AckPing, optest.Req{Token: a.Token}).Want(200)
	if one.At("acked") != true || one.Num("next_ping.number") != 2 || one.At("reachable_at") != nil {
		t.Errorf("first ack: %s", one.Body)
	}
	two := w.Do(AckPing, optest.Req{Token: a.Token, Body: "{}"}).Want(200)
	if two.At("next_ping") != nil || two.Str("reachable_at") != "2026-11-30T18:20:00Z" {
		t.Errorf("second ack: %s", two.Body)
	}
	w.Advance(time.Hour)
	three := w.Do(AckPing, optest.Req{Token: a.Token}).Want(200)
	if three.At("acked") != false || three.Str("reachable_at") != "2026-11-30T18:20:00Z" {
		t.Errorf("third ack: %s", three.Body)
	}
	w.Do(AckPing, optest.Req{}).Refused(401, "unauthorized")
	if w.pinged(a) {
		t.Error("a ping is owed though both were acked")
	}
}
