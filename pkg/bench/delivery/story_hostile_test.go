package delivery_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/bench/delivery"
	"guildhall/pkg/op/optest"
)

// TestTwoStewardsDecideOnce: whoever comes second is told so, whatever they say.
func TestTwoStewardsDecideOnce(t *testing.T) {
	w := newShelf(t)
	d, one := w.deal(reviewed()...), w.desk()
	_, two := w.Person("second@example.test", "steward")
	d.pulses()
	link := d.outcome(fields{"note": "a", "url": tunnel}).Refused(422, "link_held").Str("link_id")
	var wg sync.WaitGroup
	got := make([]optest.Res, 4)
	for i := range got {
		wg.Go(func() { got[i] = w.decide([]string{one, two}[i%2], link, []string{"release", "reject"}[i%2]) })
	}
	wg.Wait()
	won := map[int]int{}
	for _, r := range got {
		won[r.Status]++
	}
	if won[200] != 1 || won[409] != 3 || len(d.told()) != 1 {
		t.Errorf("%v, events %v", won, d.told())
	}
	for _, token := range []string{d.agent, d.person} {
		if r := w.decide(token, link, "release"); r.Status != 404 && r.Status != 401 {
			t.Errorf("%d %s", r.Status, r.Body)
		}
	}
	w.decide(one, strings.Replace(link, d.id, "00000000-0000-4000-8000-000000000000", 1), "release").Refused(404, "not found")
	w.decide(one, "x.y", "release").Refused(404, "not found")
}

// TestItemsGoWithTheRoundTheyWereFiledIn, and a hand-over answers only for its own.
func TestItemsGoWithTheRoundTheyWereFiledIn(t *testing.T) {
	d := newShelf(t).deal(reviewed()...)
	for i := range delivery.MaxItems {
		d.outcome(fields{"hold": true, "url": fmt.Sprint("https://example.com/", i)}).Want(201)
	}
	d.outcome(fields{"hold": true, "url": "https://example.com/one-more"}).Refused(422, "too_many_items")
	d.stream(strings.NewReader("x"), "X-Hold", "1").Refused(422, "too_many_items")
	d.attach("a.png", png(9)).Refused(422, "too_many_items")
	d.pulses()
	d.outcome(fields{"note": "All of it."}).Want(201)
	d.outcome(fields{"hold": true, "url": "https://example.com/late"}).Refused(422, "out_of_turn_filing")
	d.attach("a.png", png(9)).Refused(422, "out_of_turn_filing")
	first := d.step("2").Str("cards.0.outcome.receipt_id")
	d.answer("2", "approve", "cards", []fields{{"card": "item:" + first, "verdict": "request_changes", "comment": "Not this."}}).Refused(422, "verdict_mismatch")
	d.answer("2", "request_changes", "reason", "Not this.", "cards", []fields{{"card": "item:" + first, "verdict": "request_changes", "comment": "Not this."},
		{"card": "item:00000000-0000-4000-8000-000000000000", "verdict": "approve"}}).Refused(422, "card_unknown")
	d.answer("2", "request_changes", "reason", "Not this.", "cards", []fields{{"card": "item:" + first, "verdict": "request_changes", "comment": "Not this."}}).Want(200)
	d.outcome(fields{"hold": true, "url": "https://example.com/new"}).Want(201) // the items of the first round do not fill the second
	d.pulses()
	d.outcome(fields{"note": "One is new."}).Want(201)
	d.answer("2", "approve", "cards", []fields{{"card": "item:" + first, "verdict": "approve"}}).Want(200) // what was not refiled stands
}

// TestTheLargestDocument: every limit at once, in letters of four bytes; and one more of each.
func TestTheLargestDocument(t *testing.T) {
	d := newShelf(t).deal(reviewed()...)
	d.pulses()
	sign := "🂡"
	bullets := fields{"type": "bullets", "items": repeated(strings.Repeat(sign, delivery.MaxBullet), delivery.MaxBullets)}
	blocks := []fields{}
	for range delivery.MaxDocumentBlocks {
		blocks = append(blocks, bullets)
	}
	ok := fields{"title": strings.Repeat(sign, delivery.MaxDocumentTitle), "blocks": blocks}
	d.outcome(fields{"note": "a", "document": fields{"blocks": append(blocks[:len(blocks):len(blocks)], para("x"))}}).Refused(422, "document_invalid")
	d.outcome(fields{"note": "a", "document": fields{"title": strings.Repeat(sign, delivery.MaxDocumentTitle+1), "blocks": blocks}}).Refused(422, "document_invalid")
	other := d.deal(reviewed()...)
	foreign := other.image("a.png", png(9)).Want(201).Str("file_id")
	own := d.image("a.png", png(9)).Want(201).Str("file_id")
	show := func(id string, n int) []fields {
		out := []fields{}
		for range n {
			out = append(out, fields{"type": "image", "file_id": id})
		}
		return out
	}
	d.outcome(fields{"note": "a", "document": doc(show(foreign, 1)...)}).Refused(422, "document_invalid")
	d.outcome(fields{"note": "a", "document": doc(show(own, delivery.MaxImages+1)...)}).Refused(422, "document_invalid")
	d.outcome(fields{"note": "a", "document": doc(show("../"+own, 1)...)}).Refused(422, "document_invalid")
	r := d.outcome(fields{"note": "a", "document": ok}).Want(201)
	if s := d.step("2"); s.Str("cards.0.outcome.receipt_id") != r.Str("receipt_id") || len(s.Body) < delivery.MaxDocumentBlocks*delivery.MaxBullets*delivery.MaxBullet*len(sign) {
		t.Errorf("%d bytes", len(s.Body))
	}
}

func repeated(s string, n int) []string { return strings.Split(strings.Repeat(s+"\n", n-1)+s, "\n") }

// TestMaterialsEndWithTheirFourteenDays, to the second.
func TestMaterialsEndWithTheirFourteenDays(t *testing.T) {
	w := newShelf(t)
	d := w.waiting()
	file := d.upload("2", "a.png", png(20)).Want(201).Str("file_id")
	gone := d.upload("2", "b.png", png(20)).Want(201).Str("file_id")
	d.answer("2", "approve").Want(200)
	d.fetch(d.agent, file).Want(200)
	_, stranger := w.maker()
	for _, token := range []string{stranger} {
		d.fetch(token, file).Refused(404, "not found")
	}
	d.remove(d.person, gone).Want(200)
	d.fetch(d.agent, gone).Refused(404, "not found")
	if n := d.current().Num("released_materials_count"); n != 1 {
		t.Errorf("%v materials", n)
	}
	d.hand()
	d.answer("3", "decline", "reason", "Enough.").Want(200)
	w.Advance(14*24*time.Hour - time.Second)
	if r := d.fetch(d.agent, file).Want(200); !bytes.Equal([]byte(r.Body), png(20)) && len(r.Body) != 0 {
		t.Errorf("%q", r.Body)
	}
	w.Advance(time.Second)
	d.fetch(d.agent, file).Refused(404, "not found")
	if n := d.current().Num("released_materials_count"); n != 0 {
		t.Errorf("%v materials", n)
	}
}

// TestABudgetIsOfBothSides, to the byte, whatever was refused, deleted or asked for at once.
func TestABudgetIsOfBothSides(t *testing.T) {
	w := newShelf(t)
	d := w.waiting()
	const mb = 1 << 20
	first := d.upload("2", "a.png", png(50*mb)).Want(201).Str("file_id")
	d.upload("2", "a.sh", png(10)).Refused(422, "type_not_allowed")
	var wg sync.WaitGroup
	got := make([]optest.Res, 2)
	for i := range got {
		wg.Go(func() { got[i] = d.upload("2", "b.png", png(30*mb)) })
	}
	wg.Wait()
	if a, b := got[0].Status, got[1].Status; a+b != 201+413 || d.used() != 80*mb {
		t.Errorf("%d and %d: %d bytes", a, b, d.used())
	}
	d.remove(d.person, first).Want(200)
	d.remove(d.person, first).Want(200) // gives its room back once
	if d.used() != 30*mb {
		t.Errorf("%d bytes", d.used())
	}
	d.answer("2", "approve").Want(200)
	d.attach("c.png", png(50*mb)).Want(201)
	d.image("d.png", png(10*mb)).Want(201)
	d.image("d.png", png(10*mb+1)).Refused(413, "file_too_large")
	d.attach("e.png", png(10*mb+1)).Refused(413, "target_budget_exceeded")
	d.attach("e.png", png(10*mb)).Want(201)
	d.attach("f.png", png(8)).Refused(413, "target_budget_exceeded")
	if d.used() != 100*mb || d.current().Num("target_usage_bytes") != 100*mb {
		t.Errorf("%d bytes", d.used())
	}
}
