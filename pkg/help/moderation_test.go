package help

import (
	"context"
	"fmt"
	"testing"
	"time"

	trail "guildhall/pkg/audit"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/table"
)

func TestWhatIsHiddenIsGoneForReadersAndComesBack(t *testing.T) {
	w := newWorld(t)
	d := w.completed()
	comment := d.eve.review(d.submission, Comment, "fail").Str("review.id")
	reuse := d.eve.do(ReportReuse, entry(d.knowledge), reuseBody()).Want(201).Str("reuse.id")
	w.Settle()
	total := func(o *op.Operation, path map[string]string) int {
		_, n := w.list(o, path, "x")
		return n
	}
	found := func() int {
		return int(w.Do(SearchKnowledge, optest.Req{Query: map[string][]string{"q": {"LINKER"}}}).Num("total"))
	}
	cases := []struct {
		kind, id string
		count    func() int
	}{
		{"review", comment, func() int { return total(ListReviews, submission(d.submission)) - 1 }},
		{"reuse", reuse, func() int { return total(ListReuses, entry(d.knowledge)) }},
		{"knowledge", d.knowledge, func() int { return total(SearchKnowledge, nil) }},
		{"knowledge", d.knowledge, found},
		{"submission", d.submission, func() int { return total(ListSubmissions, request(d.request)) }},
		{"offer", d.offer, func() int { return total(ListOffers, request(d.request)) }},
		{"request", d.request, func() int { return total(ListRequests, nil) }},
	}
	for _, c := range cases {
		if c.count() != 1 {
			t.Errorf("%s: %d to begin with", c.kind, c.count())
		}
		if res := w.moderate(Hide, c.kind, c.id).Want(200); res.At("hidden") != true || res.Str("entity_id") != c.id {
			t.Errorf("%s", res.Body)
		}
		w.moderate(Hide, c.kind, c.id).Want(200)
		if c.count() != 0 {
			t.Errorf("%s: %d when hidden", c.kind, c.count())
		}
		d.eve.do(ReportAbuse, nil, obj{"entityType": c.kind, "entityId": c.id, "reason": "r"}).Refused(404, "not_found")
		w.agrees()
		w.moderate(Unhide, c.kind, c.id).Want(200)
		w.moderate(Unhide, c.kind, c.id).Want(200)
		if c.count() != 1 {
			t.Errorf("%s: %d when shown again", c.kind, c.count())
		}
		w.agrees()
	}
}

func TestAHiddenRowServesNothing(t *testing.T) {
	w := newWorld(t)
	d := w.completed()
	ann := w.join("ann")
	id := ann.ask()
	o := d.eve.offer(id)
	w.moderate(Hide, "request", id)
	w.moderate(Hide, "request", d.request)
	w.moderate(Hide, "knowledge", d.knowledge)
	for name, res := range map[string]optest.Res{
		"read":           w.read(id),
		"offers":         w.Do(ListOffers, optest.Req{Path: request(id)}),
		"submissions":    w.Do(ListSubmissions, optest.Req{Path: request(id)}),
		"reviews":        w.Do(ListReviews, optest.Req{Path: submission(d.submission)}),
		"offer":          d.bob.do(MakeOffer, request(id), offerBody()),
		"accept":         ann.do(AcceptOffer, offer(o), nil),
		"withdraw":       d.eve.do(WithdrawOffer, offer(o), nil),
		"cancel":         ann.do(CancelRequest, request(id), obj{"reason": "r"}),
		"comment":        d.eve.do(ReviewSubmission, submission(d.submission), reviewBody(Comment, "fail")),
		"read knowledge": w.Do(ReadKnowledge, optest.Req{Path: entry(d.knowledge)}),
		"reuses":         w.Do(ListReuses, optest.Req{Path: entry(d.knowledge)}),
		"report reuse":   d.eve.do(ReportReuse, entry(d.knowledge), reuseBody()),
	} {
		if res.Status != 404 || res.Str("error") != "not_found" {
			t.Errorf("%s: %d %s", name, res.Status, res.Body)
		}
	}
	w.moderate(Hide, "offer", o)
	w.moderate(Unhide, "request", id)
	ann.do(AcceptOffer, offer(o), nil).Refused(404, "not_found")
	d.eve.do(WithdrawOffer, offer(o), nil).Refused(404, "not_found")
}

// A hidden latest submission must not trap its request.
func TestAHiddenSubmissionCanBeSentBackAndNotAccepted(t *testing.T) {
	w := newWorld(t)
	d := w.inReview()
	w.moderate(Hide, "submission", d.submission).Want(200)
	if res := w.read(d.request).Want(200); res.Str("request.status") != InReview || res.Str("request.latestSubmissionId") != d.submission || res.Num("request.submissionCount") != 0 {
		t.Errorf("%s", res.Body)
	}
	d.ann.do(ReviewSubmission, submission(d.submission), reviewBody(Accept, Pass)).Refused(404, "not_found")
	d.ann.do(ReviewSubmission, submission(d.submission), reviewBody(Comment, "fail")).Refused(404, "not_found")
	d.eve.do(ReviewSubmission, submission(d.submission), reviewBody(Revise, "fail")).Refused(404, "not_found")
	d.bob.do(ReviewSubmission, submission(d.submission), reviewBody(Revise, "fail")).Refused(404, "not_found")
	if res := d.ann.review(d.submission, Revise, "fail"); res.Str("request.status") != Active {
		t.Errorf("%s", res.Body)
	}
	second := d.bob.submit(d.request)
	d.ann.do(ReviewSubmission, submission(d.submission), reviewBody(Revise, "fail")).Refused(404, "not_found")
	if rows, _ := w.list(ListSubmissions, request(d.request), "submissions"); len(rows) != 1 || rows[0]["sequence"] != 2.0 {
		t.Errorf("%v", rows)
	}
	w.moderate(Hide, "submission", second)
	d.ann.do(CancelRequest, request(d.request), obj{"reason": "r"}).Want(200)
	w.agrees()
}

func TestAHiddenOfferLeavesItsAuthorFree(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.join("ann"), w.join("bob")
	id := ann.ask()
	first := bob.offer(id)
	w.moderate(Hide, "offer", first).Want(200)
	second := bob.offer(id)
	if res := w.moderate(Unhide, "offer", first).Refused(409, "offer_exists"); res.Str("offer_id") != second {
		t.Errorf("%s", res.Body)
	}
	bob.do(WithdrawOffer, offer(second), nil).Want(200)
	w.moderate(Unhide, "offer", first).Want(200)
	bob.do(MakeOffer, request(id), offerBody()).Refused(409, "offer_exists")
	ann.accept(first)
	w.agrees()
}

func TestStewardsSeeReportsAndLeaveATrail(t *testing.T) {
	w := newWorld(t)
	d := w.inReview()
	users := []*actor{d.ann, d.bob, d.eve, w.join("dan")}
	for i := range reportsPage + 13 {
		users[i%4].do(ReportAbuse, nil, obj{"entityType": "submission", "entityId": d.submission, "reason": fmt.Sprint("reason ", i)}).Want(201)
		w.Advance(time.Second)
	}
	reports := func(query map[string][]string) optest.Res {
		return w.Do(Reports, optest.Req{Token: w.steward, Query: query})
	}
	page := reports(nil).Want(200)
	list := page.At("reports").([]any)
	if len(list) != reportsPage || page.Str("reports.0.reason") != "reason 62" || page.Str("reports.0.reporter_handle") != d.eve.Handle {
		t.Errorf("%d reports, first %v", len(list), list[0])
	}
	rest := reports(map[string][]string{"after": {page.Str("next_cursor")}}).Want(200)
	if list := rest.At("reports").([]any); len(list) != 13 || rest.At("next_cursor") != nil || rest.Str("reports.12.reason") != "reason 0" {
		t.Errorf("%s", rest.Body)
	}
	reports(map[string][]string{"after": {"x"}}).Refused(422, "cursor_invalid")
	_, person := w.Person("pat@example.com")
	w.Do(Reports, optest.Req{Token: person}).Refused(404, "not found")
	w.Do(Hide, optest.Req{Token: d.ann.Key, Body: obj{}}).Refused(401, "unauthorized")
	w.Do(Hide, optest.Req{Token: w.steward, Key: "-", Body: obj{}}).Refused(400, "idempotency_key_required")
	for _, kind := range []string{"request", "offer", "submission", "review", "knowledge", "reuse"} {
		w.moderate(Hide, kind, "00000000-0000-4000-8000-000000000000").Refused(404, "not found")
		w.moderate(Unhide, kind, "x").Refused(404, "not found")
	}
	w.moderate(Hide, "submission", d.submission).Want(200)
	w.moderate(Restrict, "account", d.bob.ID).Want(200)
	w.moderate(Restrict, "account", d.bob.ID).Want(200)
	done := map[string]string{}
	for s := range shards {
		p, err := w.Store.Query(context.Background(), table.Query{PK: fmt.Sprint("help.AUDIT#", s)})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range p.Rows {
			var a trail.Row
			if err := op.Decode(r.Data, &a); err != nil {
				t.Fatal(err)
			}
			done[a.Subject] += a.Action + " " + string(a.After) + " " + a.Actor[:7]
		}
	}
	if len(done) != 2 || done["submission:"+d.submission] != `help.hide {"hidden":true,"reason":"because"} person:` ||
		done["account:"+d.bob.ID] != `help.restrict {"reason":"because","restricted":true} person:` {
		t.Errorf("%v", done)
	}
}
