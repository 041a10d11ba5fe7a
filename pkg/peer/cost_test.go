package peer

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"testing"
	"time"

	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/table"
	"guildhall/pkg/table/mem"
)

// crowd fills the exchange with live topics, without operations: one in three of each kind,
// a second apart, the tag "all" on every topic and "some" on each tenth.
func (w *world) crowd(n int) {
	w.T.Helper()
	const batch = 8 // topics of a commit
	client := w.visitor().ID
	w.Advance(TopicLife)
	for i := 0; i < n; i += batch {
		tx := &table.Tx{ID: fmt.Sprint("crowd ", i)}
		for j := i; j < min(n, i+batch); j++ {
			at := w.Now().Add(-time.Duration(n-j) * TopicLife / time.Duration(n+1))
			w.stand(tx, j, client, at)
		}
		if err := w.Engine.Store.Commit(context.Background(), tx); err != nil {
			w.T.Fatal(err)
		}
	}
}

// stand adds the rows of one topic.
func (w *world) stand(tx *table.Tx, j int, client string, at time.Time) {
	t := topic{ID: ID(fmt.Sprintf("%08x-0000-4000-8000-%012x", uint32(j)*2654435761, j)), Kind: []string{Ask, Share, Offer}[j%3], Title: fmt.Sprint("Topic ", j),
		Text: "Some words about tapes.", Tags: []Label{"all"}, ClientID: client, CreatedAt: at.Truncate(time.Millisecond)}
	t.ExpiresAt = t.CreatedAt.Add(TopicLife)
	if j%10 == 0 {
		t.Tags = append(t.Tags, "some")
	}
	if t.Kind == Share {
		t.Finding = &Finding{Claim: "c", Repro: "r", Expect: "e", Evidence: []string{"https://example.com/"}, AsOf: "2026-01-01"}
	}
	h := t.newHead()
	h.next(t.CreatedAt)
	put := func(k table.Key, v any) {
		data, err := op.Encode(v)
		if err != nil {
			w.T.Fatal(err)
		}
		tx.Writes = append(tx.Writes, table.Write{Kind: table.Create, Key: k, Data: data, Expires: t.ExpiresAt})
	}
	put(topicKey(t.ID), t)
	put(headKey(t.ID), h)
	put(part(t.ID, changeSK(1)), change{N: 1, Serial: 1, TopicID: t.ID, Type: TopicPublished, At: t.CreatedAt})
	for _, k := range t.places() {
		put(k, t.entry())
	}
}

// reads are the reads whose cost must not depend on how much there is.
var reads = map[string]struct {
	op    *op.Operation
	query string
}{
	"shortlist by tag":              {FindUnfinished, "tag=all"},
	"shortlist by word and tag":     {FindUnfinished, "tag=all&q=tapes"},
	"shortlist of nothing":          {FindUnfinished, "q=nowhere"},
	"shortlist by need":             {FindUnfinished, "tag=all&need=reproduce"},
	"offers":                        {FindOffers, ""},
	"offers by word":                {FindOffers, "q=tapes"},
	"offers of nothing":             {FindOffers, "q=nowhere&capability=rust"},
	"search":                        {Search, ""},
	"search by word":                {Search, "q=tapes&limit=50"},
	"search for nothing":            {Search, "q=nowhere"},
	"search by confidence":          {Search, "confidence=contradicted"},
	"search by kind, compact":       {Search, "kind=ask&view=compact"},
	"search replies":                {Search, "q=nowhere&replies=true&finding=true"},
	"search by tag and kind":        {Search, "tag=some&kind=share"},
	"search for unanswered, by tag": {Search, "tag=all&kind=ask&unanswered=true&limit=50"},
}

func (w *world) costs() map[string]mem.Stats {
	out := map[string]mem.Stats{}
	for name, r := range reads {
		before := w.Store.Stats()
		w.anyone().get(r.op, nil, r.query).Want(200)
		s := w.Store.Stats().Since(before)
		out[name] = mem.Stats{Gets: s.Gets, Queries: s.Queries, Commits: s.Commits}
	}
	return out
}

// What a search, a shortlist and a feed cost is the same with a thousand live topics and
// with thirty thousand.
func TestCostsDoNotDependOnHowMuchThereIs(t *testing.T) {
	small, large := newWorld(t), newWorld(t)
	small.crowd(1000)
	large.crowd(30_000)
	few, many := small.costs(), large.costs()
	if !maps.Equal(few, many) {
		for name := range reads {
			if few[name] != many[name] {
				t.Errorf("%s: %+v, with many topics %+v", name, few[name], many[name])
			}
		}
	}
	for name, s := range few {
		if s.Queries > 2*listShards+maxRepliesRead || s.Gets > 20 || s.Commits > 0 {
			t.Errorf("%s costs %+v", name, s)
		}
	}
	for _, w := range []*world{small, large} {
		if got := w.feedCosts(); got != (mem.Stats{Gets: 1, Queries: 10}) {
			t.Errorf("ten topics' updates cost %+v", got)
		}
	}
}

// feedCosts reads the updates of ten topics.
func (w *world) feedCosts() mem.Stats {
	res := w.anyone().get(Search, nil, "limit=10").Want(200)
	q := "limit=50"
	for i := range 10 {
		q += "&topic_ids=" + res.Str(fmt.Sprintf("topics.%d.topic_id", i))
	}
	before := w.Store.Stats()
	if got := w.anyone().get(ReadUpdates, nil, q).Want(200); len(got.At("changes").([]any)) != 10 {
		w.T.Errorf("%s", got.Body)
	}
	s := w.Store.Stats().Since(before)
	return mem.Stats{Gets: s.Gets, Queries: s.Queries, Commits: s.Commits}
}

// A write reads once and commits once; the author's feed of somebody else's topic is a
// second read.
func TestWhatWritesCost(t *testing.T) {
	w := newWorld(t)
	asker, helper, topic, _ := w.working(24 * time.Hour)
	cost := func(name string, gets int64, call func() optest.Res) {
		t.Helper()
		before := w.Store.Stats()
		if res := call(); res.Status >= 300 {
			t.Fatalf("%s: %s", name, res.Body)
		}
		if s := w.Store.Stats().Since(before); s.Gets != gets || s.Queries != 0 || s.Commits != 1 {
			t.Errorf("%s costs %d gets, %d queries, %d commits; want %d gets, one commit", name, s.Gets, s.Queries, s.Commits, gets)
		}
	}
	key := w.key()
	cost("publish", 1, func() optest.Res { return asker.do(Publish, nil, ask(object{"idempotency_key": key})) })
	before := w.Store.Stats()
	asker.do(Publish, nil, ask(object{"idempotency_key": key})).Want(201)
	if s := w.Store.Stats().Since(before); s.Gets != 1 || s.Commits != 0 {
		t.Errorf("a replay costs %+v", s)
	}
	cost("reply to an own topic", 1, func() optest.Res { return asker.reply(topic, object{"text": "t"}) })
	cost("reply", 2, func() optest.Res { return helper.reply(topic, object{"text": "t"}) })
	cost("deliver", 2, func() optest.Res { return helper.reply(topic, delivery(1)) })
	d := w.anyone().get(Read, topicOf(topic), "").Str("topic.handoff.current_delivery_reply_id")
	cost("accept", 1, func() optest.Res { return asker.act(topic, Accept, 2, object{"delivery_reply_id": d}) })
	cost("select", 1, func() optest.Res {
		return asker.do(SelectAnswer, topicOf(topic), object{"selected_reply_id": d})
	})
	cost("follow", 1, func() optest.Res { return helper.do(Follow, topicOf(topic), nil) })
}

// topics is how many live topics the benchmark has.
var topics = flag.Int("topics", 1_000_000, "live topics in the benchmark of the peer exchange's reads")

// BenchmarkReads measures the reads with a million live topics, and fails where one costs
// more calls than with a thousand.
func BenchmarkReads(b *testing.B) {
	w := newWorld(b)
	w.crowd(*topics)
	few := newWorld(b)
	few.crowd(1000)
	base := few.costs()
	for name, s := range w.costs() {
		if s != base[name] {
			b.Errorf("%s: %+v with many topics, %+v with a thousand", name, s, base[name])
		}
	}
	for name, r := range reads {
		b.Run(name, func(b *testing.B) {
			n := 0
			for b.Loop() {
				w.Do(r.op, optest.Req{Query: values(b, r.query), Address: fmt.Sprint(n)}).Want(200) // reads are limited by address
				n++
			}
			b.ReportMetric(float64(base[name].Gets+base[name].Queries), "calls/op")
		})
	}
}
