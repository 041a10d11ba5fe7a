package peer

import (
	"fmt"
	"maps"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/clock"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

// world is an exchange with visitors.
type world struct {
	*optest.Exchange
	serial atomic.Int64
}

func newWorld(t testing.TB, opts ...optest.Option) *world {
	return &world{Exchange: optest.New(t, opts...)}
}

type visitor struct {
	w     *world
	ID    string
	Token string
}

// visitor makes a visitor without a first publication: the shortest way to a credential.
func (w *world) visitor() visitor {
	w.T.Helper()
	v := visitor{w: w}
	w.Run("peer", func(c *op.Call) error {
		v.ID = c.NewID()
		c.Create(clientKey(v.ID), client{ID: v.ID, CreatedAt: c.Now})
		if err := c.Fetch(account.PeerToken.Row(v.ID, "")); err != nil {
			return err
		}
		var err error
		v.Token, err = account.PeerToken.Issue(c, v.ID, nil, c.Now.Add(CredentialLife))
		return err
	})
	return v
}

// key is a fresh idempotency key of this moment.
func (w *world) key() string { return w.keyAt(w.Now()) }

func (w *world) keyAt(t time.Time) string {
	return fmt.Sprintf("plk1.%010d.00000000-0000-4000-8000-%012x", t.Unix(), w.serial.Add(1))
}

func proofOf(n int) string { return fmt.Sprintf("pbs1.%043d", n) }

// at is a time from now as the contract writes it.
func (w *world) at(d time.Duration) string { return clock.Stamp(w.Now().Add(d)) }

func (v visitor) do(o *op.Operation, path map[string]string, body any) optest.Res {
	v.w.T.Helper()
	return v.w.Do(o, optest.Req{Token: v.Token, Path: path, Body: body})
}

func (v visitor) get(o *op.Operation, path map[string]string, query string) optest.Res {
	v.w.T.Helper()
	q, err := url.ParseQuery(query)
	if err != nil {
		v.w.T.Fatal(err)
	}
	return v.w.Do(o, optest.Req{Token: v.Token, Path: path, Query: q})
}

func (w *world) anyone() visitor { return visitor{w: w} }

func topicOf(id string) map[string]string { return map[string]string{"topic_id": id} }

// publish publishes and returns the topic's id. Hourly limits are outlived by a new hour
// where a test publishes much.
func (v visitor) publish(body object) string {
	v.w.T.Helper()
	return v.do(Publish, nil, body).Want(201).Str("topic_id")
}

func (v visitor) reply(topic string, body object) optest.Res {
	v.w.T.Helper()
	return v.do(ReplyTo, topicOf(topic), body)
}

func (v visitor) act(topic, action string, revision int, more object) optest.Res {
	v.w.T.Helper()
	body := object{"action": action, "expected_revision": revision, "idempotency_key": v.w.key()}
	maps.Copy(body, more)
	return v.do(Act, topicOf(topic), body)
}

func ask(more ...object) object {
	return with2(object{"kind": "ask", "title": "How do I read a tape?", "text": "The drive is old."}, more)
}

func with2(base object, more []object) object {
	for _, m := range more {
		maps.Copy(base, m)
	}
	return base
}

func share(more ...object) object {
	return with2(object{"kind": "share", "title": "Tapes read twice", "text": "Read a tape twice and compare."}, more)
}

func finding(more ...object) object {
	return share(append([]object{{"finding": object{"claim": "Reading twice finds errors.", "repro": "Read it twice.", "expect": "Equal bytes.",
		"evidence": []any{"https://example.com/tape"}, "as_of": "2026-11-30"}}}, more...)...)
}

func offer(more ...object) object {
	return with2(object{"kind": "offer", "title": "I read tapes", "text": "Any format."}, more)
}

func (w *world) details(until time.Duration, pairs ...string) object {
	var list []any
	for _, p := range pairs {
		n, e, _ := strings.Cut(p, "/")
		list = append(list, object{"name": n, "environment": e})
	}
	return object{"offer_details": object{"capabilities": list, "constraints": object{"inputs": "A file.", "output": "A file.", "limits": "One."},
		"available_until": w.at(until), "supporting_work": []any{}}}
}

func (w *world) request(deadline time.Duration) object {
	return object{"handoff_request": object{"inputs": "A tape image.", "expected_output": "The files.", "permitted_actions": "Read the image.",
		"acceptance": "All files open.", "limits": "No network.", "deadline_at": w.at(deadline)}}
}

func claimBody() object {
	return object{"kind": "handoff_claim", "text": "I take it.", "handoff_claim": object{"accepts_request": true}}
}

func delivery(revision int) object {
	return object{"kind": "handoff_delivery", "text": "Here it is.", "handoff_delivery": object{"expected_revision": revision, "result": "positive",
		"verification": "Opened all.", "limitations": "None known.", "evidence": []any{"https://example.com/out"}}}
}

func repro(kind string) object {
	return object{"kind": kind, "text": "Tried it.", "repro_result": object{"log": "ran", "evidence": []any{}}}
}

// handoff makes an ask with a handoff that a contributor has agreed on: revision 1.
func (w *world) working(deadline time.Duration) (asker, helper visitor, topic, claim string) {
	w.T.Helper()
	asker, helper = w.visitor(), w.visitor()
	topic = asker.publish(ask(w.request(deadline)))
	claim = helper.reply(topic, claimBody()).Want(201).Str("reply_id")
	asker.act(topic, Agree, 0, object{"claim_reply_id": claim}).Want(200)
	return asker, helper, topic, claim
}

// steward returns a session with the role.
func (w *world) steward() string {
	_, token := w.Person("steward@example.com", account.RoleSteward)
	return token
}

func (w *world) moderate(o *op.Operation, token string, body object) optest.Res {
	w.T.Helper()
	return w.Do(o, optest.Req{Token: token, Body: body})
}
