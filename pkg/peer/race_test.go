package peer

import (
	"bytes"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/op/optest"
	"guildhall/pkg/table"
)

// Both participants resume a paused handoff at one revision: one wins, the other is told of
// the new revision, every time.
func TestTwoActionsOnOneRevisionNeverBothCount(t *testing.T) {
	w := newWorld(t)
	asker, helper, topic, _ := w.working(29 * 24 * time.Hour)
	rev := 1
	wins := map[string]int{}
	for range size(150, 10_000) {
		helper.act(topic, Pause, rev, object{"reason": "input_required", "wait_until": w.at(time.Minute)}).Want(200)
		rev++
		var wg sync.WaitGroup
		var got [2]optest.Res
		for i, v := range []visitor{asker, helper} {
			wg.Go(func() { got[i] = v.act(topic, Resume, rev, nil) })
		}
		wg.Wait()
		won := 0
		for i, res := range got {
			if res.Status == 200 {
				wins[fmt.Sprint(i)]++
				won++
			} else if res.Str("error") != "revision_conflict" || int(res.Num("detail.revision")) != rev+1 || res.Str("detail.state") != Working {
				t.Fatalf("the other got %d %s", res.Status, res.Body)
			}
		}
		if won != 1 {
			t.Fatalf("%d won: %s %s", won, got[0].Body, got[1].Body)
		}
		rev++
		w.pass(2 * time.Minute)
	}
	if len(wins) != 2 {
		t.Logf("only one side ever won: %v", wins) // no promise, the scheduler's business
	}
}

// pass lets time go by where nothing can fall due: the peer exchange has no timers.
func (w *world) pass(d time.Duration) {
	if w.Advance(d) > 0 {
		w.T.Error("something fell due")
	}
}

// The same key and body a thousand times over a day: one topic, and the same receipt.
func TestAThousandReplaysMakeOneTopic(t *testing.T) {
	w := newWorld(t)
	v := w.visitor()
	key := w.key()
	body := ask(object{"idempotency_key": key})
	first := v.do(Publish, nil, body).Want(201)
	again := bytes.Replace(first.Body, []byte(`"replayed":false`), []byte(`"replayed":true`), 1)
	n := 1000
	for i := range n {
		w.pass(KeyLife / time.Duration(n))
		res := v.do(Publish, nil, body).Want(201)
		if !bytes.Equal(res.Body, again) || !res.Replayed {
			t.Fatalf("replay %d: %s, first %s", i, res.Body, first.Body)
		}
	}
	if got := v.get(Search, nil, "q=tape").Want(200); len(got.At("topics").([]any)) != 1 {
		t.Errorf("%s", got.Body)
	}
	for field, other := range map[string]any{"title": "How do I read a tapE?", "text": "The drive is old. ", "kind": "share", "tags": []any{"a"}} {
		changed := maps.Clone(body)
		changed[field] = other
		v.do(Publish, nil, changed).Refused(409, "idempotency_conflict")
	}
	w.pass(time.Second)
	v.do(Publish, nil, body).Refused(410, "key_expired")
	v.do(Publish, nil, ask(object{"idempotency_key": w.keyAt(w.Now().Add(301 * time.Second))})).Refused(422, "key_in_future")
	v.do(Publish, nil, ask(object{"idempotency_key": w.keyAt(w.Now().Add(300 * time.Second))})).Want(201)
}

// A replay is neither charged nor refused by a limit.
func TestAReplayIsNotCounted(t *testing.T) {
	w := newWorld(t)
	v := w.visitor()
	body := ask(object{"idempotency_key": w.key()})
	for range 10 {
		v.do(Publish, nil, body).Want(201)
	}
	for range 5 {
		v.publish(ask())
	}
	v.do(Publish, nil, ask()).Refused(429, "rate_limited")
	v.do(Publish, nil, body).Want(201)
}

func TestTwinsOfOneKeyMakeOneTopic(t *testing.T) {
	w := newWorld(t)
	for i := range size(20, 1000) {
		v := w.visitor()
		body := share(object{"title": fmt.Sprint("Twin ", i), "idempotency_key": w.key()})
		var wg sync.WaitGroup
		ids := make([]string, 4)
		for n := range ids {
			wg.Go(func() { ids[n] = v.do(Publish, nil, body).Want(201).Str("topic_id") })
		}
		wg.Wait()
		for _, id := range ids {
			if id != ids[0] {
				t.Fatalf("%v", ids)
			}
		}
	}
}

// Twenty write, one reads on and on: nothing is skipped, nothing comes twice, each feed in
// its own order.
func TestAFeedNeverSkipsAndNeverRepeats(t *testing.T) {
	w := newWorld(t)
	reader, author := w.visitor(), w.visitor()
	var topics []string
	for i := range 4 {
		topics = append(topics, author.publish(share(object{"title": fmt.Sprint("Topic ", i)})))
		reader.do(Follow, topicOf(topics[i]), nil).Want(200)
	}
	const writers, each = 20, 12
	var wg sync.WaitGroup
	var mu sync.Mutex
	written := map[string]bool{}
	for i := range writers {
		v := w.visitor()
		wg.Go(func() {
			for n := range each {
				topic := topics[(i+n)%len(topics)]
				for { // a busy exchange says so
					res := v.reply(topic, object{"text": fmt.Sprint(i, n)})
					if res.Status == 503 {
						continue
					}
					mu.Lock()
					written[res.Want(201).Str("reply_id")] = true
					mu.Unlock()
					break
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	inbox, own := &drain{v: reader, op: ReadInbox, t: t}, &drain{v: author, op: ReadUpdates, query: "own=true", t: t}
	for over := false; !over; {
		select {
		case <-done:
			over = true
		default:
		}
		inbox.page(7)
		own.page(7)
		w.pass(3 * time.Second)
	}
	for _, d := range []*drain{inbox, own} {
		for d.page(50) {
		}
		for id := range written {
			if !d.replies[id] {
				t.Errorf("%s skips reply %s", d.op.ID, id)
			}
		}
		if len(d.replies) != writers*each {
			t.Errorf("%s: %d replies, want %d", d.op.ID, len(d.replies), writers*each)
		}
	}
}

// The commit that was decided first arrives last: a reader between them misses nothing.
func TestALateCommitIsNotSkipped(t *testing.T) {
	hold := &holding{}
	w := newWorld(t, optest.WithStore(func(s table.Store) table.Store { hold.Store = s; return hold }))
	author, slow, quick, reader := w.visitor(), w.visitor(), w.visitor(), w.visitor()
	a, b := author.publish(ask()), author.publish(ask())
	reader.do(Follow, topicOf(a), nil).Want(200)
	reader.do(Follow, topicOf(b), nil).Want(200)
	d := &drain{v: reader, op: ReadInbox, t: t}
	for d.page(50) {
	}
	started, release := hold.next()
	late := make(chan string)
	go func() { late <- slow.reply(a, object{"text": "decided first"}).Want(201).Str("reply_id") }()
	<-started
	w.pass(time.Second)
	first := quick.reply(b, object{"text": "committed first"}).Want(201).Str("reply_id")
	d.page(50)
	if !d.replies[first] || len(d.replies) != 1 {
		t.Fatalf("%v", d.replies)
	}
	close(release)
	last := <-late
	d.page(50)
	if !d.replies[last] || len(d.replies) != 2 {
		t.Errorf("%v", d.replies)
	}
}
