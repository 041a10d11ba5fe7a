package peer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

func typesOf(res optest.Res) (out []string) {
	list, _ := res.At("changes").([]any)
	for _, c := range list {
		out = append(out, c.(map[string]any)["type"].(string))
	}
	return out
}

func TestEveryKindOfChangeIsTold(t *testing.T) {
	w := newWorld(t)
	asker, helper, topic, _ := w.working(24 * time.Hour)
	d := helper.reply(topic, delivery(1)).Want(201).Str("reply_id")
	asker.do(SelectAnswer, topicOf(topic), object{"selected_reply_id": d}).Want(200)
	asker.do(SelectAnswer, topicOf(topic), object{"selected_reply_id": nil}).Want(200)
	got := typesOf(w.anyone().get(ReadUpdates, nil, "topic_ids="+topic).Want(200))
	want := []string{TopicPublished, ReplyAdded, HandoffChanged, ReplyAdded, HandoffChanged, AnswerSelected, AnswerCleared}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	f := asker.publish(finding())
	helper.reply(f, repro(FailedRepro)).Want(201)
	helper.reply(f, repro(FailedRepro)).Want(201) // the label stays
	asker.reply(f, object{"kind": "use_report", "text": "t", "use_report": object{"task_topic_id": topic, "result": "helped", "method": "m", "evidence": []any{}}}).Want(201)
	helper.publish(finding(object{"finding_context": object{"source": object{"kind": "topic", "topic_id": f},
		"applicability": object{"environment": "a", "conditions": "b", "limitations": "c"}, "relation": object{"kind": "disputes", "topic_id": f, "explanation": "d"}}}))
	got = typesOf(w.anyone().get(ReadUpdates, nil, "topic_ids="+f).Want(200))
	want = []string{TopicPublished, ReplyAdded, ConfidenceChanged, ReplyAdded, ReplyAdded, UseReported, CorrectionAdded}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	own := typesOf(asker.get(ReadUpdates, nil, "own=true&limit=50").Want(200))
	if len(own) != 14 {
		t.Errorf("the author's feed has %d changes: %v", len(own), own)
	}
	both := typesOf(asker.get(ReadUpdates, nil, "own=true&limit=50&topic_ids="+f).Want(200))
	if len(both) != 14 {
		t.Errorf("the union lists a change once: %v", both)
	}
}

func TestAUnionIsDrainedWithoutRepeats(t *testing.T) {
	w := newWorld(t)
	author, other := w.visitor(), w.visitor()
	a, b, c := author.publish(ask()), author.publish(ask()), other.publish(ask())
	for i := range 12 {
		w.pass(time.Second)
		other.reply([]string{a, b, c}[i%3], object{"text": fmt.Sprint(i)}).Want(201)
	}
	d := &drain{v: author, op: ReadUpdates, query: "own=true&topic_ids=" + a + "," + c, t: t}
	for d.page(2) {
	}
	if len(d.seen) != 15 || len(d.replies) != 12 {
		t.Errorf("%d changes, %d replies", len(d.seen), len(d.replies))
	}
}

func TestACursorBelongsToItsScope(t *testing.T) {
	w := newWorld(t)
	v, o := w.visitor(), w.visitor()
	a, b := v.publish(ask()), v.publish(ask())
	cursor := func(query string) string { return v.get(ReadUpdates, nil, query).Want(200).Str("next_cursor") }
	v.get(ReadUpdates, nil, "topic_ids="+b+"&cursor="+cursor("topic_ids="+a)).Refused(422, "cursor_filter_mismatch")
	v.get(ReadUpdates, nil, "own=true&cursor="+cursor("topic_ids="+a)).Refused(422, "cursor_filter_mismatch")
	o.get(ReadUpdates, nil, "own=true&cursor="+cursor("own=true")).Refused(422, "cursor_filter_mismatch")
	v.get(ReadInbox, nil, "cursor="+cursor("own=true")).Refused(422, "invalid_cursor")
	v.get(ReadUpdates, nil, "own=true&cursor=abc").Refused(422, "invalid_cursor")
	v.get(ReadUpdates, nil, "own=true&cursor="+long(513)).Refused(422, "field_bytes")
	v.get(ReadUpdates, nil, "topic_ids="+b+","+a+"&cursor="+cursor("topic_ids="+a+"&topic_ids="+b)).Want(200) // the order does not matter
	eleven := strings.Repeat(a+",", 10) + b
	v.get(ReadUpdates, nil, "topic_ids="+eleven).Refused(422, "invalid_field")
	v.get(ReadUpdates, nil, "topic_ids=abc").Refused(422, "field_pattern")
	v.get(ReadUpdates, nil, "own=true&limit=51").Refused(422, "invalid_field")
}

func TestAFeedIsKeptSevenDays(t *testing.T) {
	w := newWorld(t)
	v := w.visitor()
	id := v.publish(ask())
	at := func(query string) optest.Res { return w.anyone().get(ReadUpdates, nil, "topic_ids="+id+query) }
	early := at("").Want(200).Str("next_cursor")
	w.pass(time.Hour)
	v.reply(id, object{"text": "first"}).Want(201)
	w.pass(time.Hour)
	v.reply(id, object{"text": "second"}).Want(201)
	w.pass(FeedLife - time.Hour - time.Millisecond)
	if n := len(typesOf(at("&cursor=" + early).Want(200))); n != 2 {
		t.Errorf("%d changes a moment before", n)
	}
	if n := len(typesOf(at("").Want(200))); n != 2 {
		t.Errorf("%d changes from the beginning", n)
	}
	w.pass(time.Millisecond)
	at("&cursor="+early).Refused(410, "updates_gap")
	fresh := at("").Want(200)
	if n := len(typesOf(fresh)); n != 1 {
		t.Errorf("%d changes from the beginning, want the one that is kept", n)
	}
	w.pass(20 * 24 * time.Hour)
	if n := len(typesOf(at("&cursor=" + fresh.Str("next_cursor")).Want(200))); n != 0 {
		t.Errorf("an old cursor that missed nothing has %d changes", n)
	}
	// The store may forget what is no longer kept.
	for {
		n, err := w.Store.Purge(t.Context(), w.Now(), 1000)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			break
		}
	}
	at("&cursor="+early).Refused(410, "updates_gap")
	if n := len(typesOf(at("").Want(200))); n != 0 {
		t.Errorf("%d changes are left", n)
	}
	v.reply(id, object{"text": "third"}).Want(201)
	if n := len(typesOf(at("&cursor=" + fresh.Str("next_cursor")).Want(200))); n != 1 {
		t.Errorf("%d changes after the purge", n)
	}
}

func TestManyChangesOfOneDayAreFoundFromTheFirstThatIsKept(t *testing.T) {
	w := newWorld(t)
	asker, helper, topic, _ := w.working(29 * 24 * time.Hour)
	rev := 1
	turn := func() {
		helper.act(topic, Pause, rev, object{"reason": "input_required", "wait_until": w.at(time.Second)}).Want(200)
		asker.act(topic, Resume, rev+1, nil).Want(200)
		rev += 2
		w.pass(2 * time.Minute)
	}
	for range 150 {
		turn()
	}
	half := w.Now()
	for range 40 {
		turn()
	}
	w.Advance(half.Add(FeedLife).Sub(w.Now()) - time.Millisecond)
	d := &drain{v: asker, op: ReadUpdates, query: "topic_ids=" + topic, t: t}
	for d.page(50) {
	}
	if len(d.seen) != 80 {
		t.Errorf("%d changes are kept, want 80", len(d.seen))
	}
	own := &drain{v: asker, op: ReadUpdates, query: "own=true", t: t}
	for own.page(50) {
	}
	if len(own.seen) != 80 {
		t.Errorf("%d changes in the author's feed, want 80", len(own.seen))
	}
}

func TestTheEndOfATopicIsToldOnce(t *testing.T) {
	w := newWorld(t)
	author, reader := w.visitor(), w.visitor()
	a := author.publish(ask())
	w.pass(time.Hour)
	b := author.publish(ask())
	unknown := "00000000-0000-4000-8000-00000000abcd"
	reader.do(Follow, topicOf(a), nil).Want(200)
	reader.do(Follow, topicOf(b), nil).Want(200)
	inbox := &drain{v: reader, op: ReadInbox, t: t}
	named := &drain{v: reader, op: ReadUpdates, query: "topic_ids=" + a + "," + unknown, t: t}
	own := &drain{v: author, op: ReadUpdates, query: "own=true", t: t}
	for _, d := range []*drain{inbox, named, own} {
		for d.page(50) {
		}
		d.types = nil
	}
	w.pass(TopicLife - time.Hour)
	for name, d := range map[string]*drain{"inbox": inbox, "named": named, "own": own} {
		d.page(50)
		if !slices.Equal(d.types, []string{TopicGone}) {
			t.Errorf("%s tells %v", name, d.types)
		}
		d.page(50)
		if len(d.types) != 1 {
			t.Errorf("%s tells it again: %v", name, d.types)
		}
	}
	steward := w.steward()
	w.moderate(Hide, steward, object{"entity_type": "topic", "entity_id": b, "reason": "r"}).Want(200)
	for name, d := range map[string]*drain{"inbox": inbox, "own": own} {
		d.page(50)
		if len(d.types) != 2 || d.types[1] != TopicGone {
			t.Errorf("%s tells %v", name, d.types)
		}
		d.page(50)
		if len(d.types) != 2 {
			t.Errorf("%s tells it again: %v", name, d.types)
		}
	}
	w.pass(2 * time.Hour) // the hidden one expires too
	own.page(50)
	if len(own.types) != 2 {
		t.Errorf("a hidden topic ends once: %v", own.types)
	}
	res := reader.get(ReadUpdates, nil, "topic_ids="+a+","+unknown+","+b).Want(200)
	for i, c := range res.At("changes").([]any) {
		m := c.(map[string]any)
		if m["type"] != TopicGone || m["reply_id"] != nil || m["revision"] != nil || m["at"] != w.at(0) {
			t.Errorf("change %d: %v", i, m)
		}
	}
}

func TestFollowsOutliveTopicsAndChangeNothingAboutThem(t *testing.T) {
	w := newWorld(t)
	author, v := w.visitor(), w.visitor()
	id := author.publish(ask())
	v.do(Follow, topicOf(id), nil).Want(200)
	w.pass(TopicLife)
	if res := v.get(ListFollows, nil, "").Want(200); res.At("follows.0.available") != false || res.At("follows.0.title") != nil {
		t.Errorf("%s", res.Body)
	}
	v.do(Follow, topicOf(id), nil).Want(200) // it is followed already
	v.do(Unfollow, topicOf(id), nil).Want(200)
	v.do(Unfollow, topicOf(id), nil).Want(200)
	v.do(Follow, topicOf(id), nil).Refused(404, "topic_unavailable")
	for _, o := range []*op.Operation{Follow, Unfollow} {
		w.anyone().do(o, topicOf(id), nil).Refused(401, "unauthorized")
	}
}

func TestARestoredStoreHasAGap(t *testing.T) {
	w := newWorld(t)
	v := w.visitor()
	id := v.publish(ask())
	v.do(Follow, topicOf(id), nil).Want(200)
	updates := v.get(ReadUpdates, nil, "own=true").Want(200).Str("next_cursor")
	inbox := v.get(ReadInbox, nil, "").Want(200).Str("next_cursor")
	w.Run("peer", RaiseRestore)
	v.get(ReadUpdates, nil, "own=true&cursor="+updates).Refused(410, "updates_gap")
	v.get(ReadInbox, nil, "cursor="+inbox).Refused(410, "updates_gap")
	v.get(ReadInbox, nil, "cursor="+v.get(ReadInbox, nil, "").Str("next_cursor")).Want(200)
}
