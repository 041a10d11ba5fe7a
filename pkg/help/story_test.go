package help

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/op/optest"
	"guildhall/pkg/table"
	"guildhall/pkg/table/faulty"
)

// Each record has exactly the members of help.md 4.3.
func TestRecordsHaveTheMembersOfTheContract(t *testing.T) {
	w := newWorld(t)
	d := w.completed()
	reuse := d.eve.do(ReportReuse, entry(d.knowledge), reuseBody()).Want(201)
	offers, _ := w.list(ListOffers, request(d.request), "offers")
	work, _ := w.list(ListSubmissions, request(d.request), "submissions")
	reviews, _ := w.list(ListReviews, submission(d.submission), "reviews")
	for want, got := range map[string]any{
		"id title problem previousAttempts acceptanceCriteria resourcePolicy status requester acceptedOfferId contributor latestSubmissionId knowledgeId cancelReason offerCount submissionCount createdAt updatedAt completedAt cancelledAt": w.read(d.request).At("request"),
		"id requestId contributor plan limitations status createdAt decidedAt":                                                                                                                      offers[0],
		"id requestId offerId contributor sequence isLatest status summary method evidence limitations reviewCount createdAt":                                                                       work[0],
		"id submissionId requestId reviewer reviewerRole decision verdict body evidence createdAt":                                                                                                  reviews[0],
		"id requestId submissionId reviewId title problem acceptanceCriteria resourcePolicy summary method evidence limitations requester contributor acceptance verification reuseCount createdAt": w.Do(ReadKnowledge, optest.Req{Path: entry(d.knowledge)}).At("entry"),
		"id knowledgeId reporter reporterRelation note evidence createdAt":                                                                                                                          reuse.At("reuse"),
		"verdict body evidence createdAt": w.Do(ReadKnowledge, optest.Req{Path: entry(d.knowledge)}).At("entry.acceptance"),
		"id handle":                       w.read(d.request).At("request.requester"),
	} {
		var have []string
		for k := range got.(map[string]any) {
			have = append(have, k)
		}
		members := strings.Fields(want)
		slices.Sort(members)
		slices.Sort(have)
		if !slices.Equal(members, have) {
			t.Errorf("members %v, want %v", have, members)
		}
	}
}

// A request goes through a revision to an accepted result; every status on the way is the
// contract's.
func TestOneExchangeFromEndToEnd(t *testing.T) {
	w := newWorld(t)
	d := &deal{ann: w.join("ann"), bob: w.join("bob"), eve: w.join("eve")}
	made := d.ann.do(CreateRequest, nil, requestBody()).Want(201)
	d.request = made.Str("request.id")
	if made.Str("request.status") != Open || made.Num("request.offerCount") != 0 || made.Num("request.submissionCount") != 0 || made.At("ok") != nil {
		t.Errorf("%s", made.Body)
	}
	w.Advance(time.Minute)
	d.offer = d.bob.offer(d.request)
	lost := d.eve.offer(d.request)
	w.Advance(time.Minute)
	accepted := d.ann.accept(d.offer)
	if accepted.Str("request.status") != Active || accepted.Str("offer.status") != Accepted || accepted.Str("request.contributor.handle") != d.bob.Handle ||
		accepted.Num("request.offerCount") != 2 || accepted.Str("offer.decidedAt") != "2026-11-30T18:22:00.000Z" {
		t.Errorf("%s", accepted.Body)
	}
	first := d.bob.do(SubmitWork, request(d.request), workBody()).Want(201)
	if first.Str("request.status") != InReview || first.Num("request.submissionCount") != 1 || first.Str("submission.status") != SubmissionInReview || first.At("submission.isLatest") != true {
		t.Errorf("%s", first.Body)
	}
	one := first.Str("submission.id")
	d.eve.review(one, Comment, "uncertain")
	if res := d.ann.review(one, Revise, "fail"); res.Str("request.status") != Active || res.Str("review.reviewerRole") != "requester" || res.At("entry") != nil {
		t.Errorf("%s", res.Body)
	}
	w.Advance(time.Minute)
	two := d.bob.submit(d.request)
	rows, _ := w.list(ListSubmissions, request(d.request), "submissions")
	if len(rows) != 2 || rows[0]["status"] != RevisionRequested || rows[0]["isLatest"] != false || rows[0]["reviewCount"] != 2.0 ||
		rows[1]["status"] != SubmissionInReview || rows[1]["isLatest"] != true || rows[1]["sequence"] != 2.0 {
		t.Errorf("%v", rows)
	}
	w.Advance(time.Minute)
	done := d.ann.review(two, Accept, Pass)
	if done.Str("request.status") != Completed || done.Str("entry.verification") != "requester-accepted" || done.Str("request.knowledgeId") != done.Str("entry.id") ||
		done.Str("entry.acceptance.verdict") != Pass || done.Str("request.completedAt") == "" {
		t.Errorf("%s", done.Body)
	}
	d.eve.review(one, Comment, "fail") // a late flaw is said beside the work
	d.eve.review(two, Comment, "fail")
	if res := w.read(d.request); res.Str("request.status") != Completed {
		t.Errorf("%s", res.Body)
	}
	offers, _ := w.list(ListOffers, request(d.request), "offers")
	if offers[1]["id"] != lost || offers[1]["status"] != NotSelected || offers[1]["decidedAt"] != "2026-11-30T18:22:00.000Z" {
		t.Errorf("%v", offers)
	}
	for by, want := range map[*actor]string{d.ann: "requester", d.bob: "contributor", d.eve: "other"} {
		if got := by.do(ReportReuse, entry(done.Str("entry.id")), reuseBody()).Want(201).Str("reuse.reporterRelation"); got != want {
			t.Errorf("%s reads as %s", want, got)
		}
	}
	w.agrees()
}

func TestCancellingKeepsWhatWasWritten(t *testing.T) {
	w := newWorld(t)
	open := &deal{ann: w.join("ann"), bob: w.join("bob")}
	open.request = open.ann.ask()
	open.offer = open.bob.offer(open.request)
	revised := w.inReview()
	revised.ann.review(revised.submission, Revise, "fail")
	for _, c := range []struct {
		d             *deal
		offer, work   string
		decidedBefore bool
	}{{open, NotSelected, "", false}, {w.active(), Accepted, "", true}, {w.inReview(), Accepted, SubmissionCancelled, true}, {revised, Accepted, RevisionRequested, true}} {
		w.Advance(time.Hour)
		res := c.d.ann.do(CancelRequest, request(c.d.request), obj{"reason": " Solved. "}).Want(200)
		if res.Str("request.status") != Cancelled || res.Str("request.cancelReason") != "Solved." || res.Str("request.cancelledAt") == "" {
			t.Errorf("%s", res.Body)
		}
		offers, _ := w.list(ListOffers, request(c.d.request), "offers")
		work, _ := w.list(ListSubmissions, request(c.d.request), "submissions")
		if len(offers) != 1 || offers[0]["status"] != c.offer || (offers[0]["decidedAt"] == res.Str("request.cancelledAt")) == c.decidedBefore {
			t.Errorf("offers %v", offers)
		}
		if c.work != "" && (len(work) != 1 || work[0]["status"] != c.work) || c.work == "" && len(work) != 0 {
			t.Errorf("submissions %v", work)
		}
	}
	w.agrees()
}

func TestWithdrawnAndOfferedAgain(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.join("ann"), w.join("bob")
	id := ann.ask()
	first := bob.offer(id)
	w.Advance(time.Minute)
	if res := bob.do(WithdrawOffer, offer(first), obj{}).Want(200); res.Str("offer.status") != Withdrawn || res.Str("offer.decidedAt") != "2026-11-30T18:21:00.000Z" {
		t.Errorf("%s", res.Body)
	}
	bob.offer(id)
	ann.do(AcceptOffer, offer(first), obj{}).Refused(409, "offer_not_selectable")
	if res := w.read(id); res.Num("request.offerCount") != 2 {
		t.Errorf("a withdrawn offer counts: %s", res.Body)
	}
	w.agrees()
}

// An acceptance is one commit: when it fails nothing of it is there.
func TestAnAcceptanceThatFailsLeavesNothing(t *testing.T) {
	var faults *faulty.Store
	w := newWorld(t, optest.WithStore(func(s table.Store) table.Store { faults = faulty.Wrap(s); return faults }))
	d := w.inReview()
	for _, mode := range []faulty.Mode{faulty.FailBefore, faulty.Throttle} {
		if _, err := faults.Inject(faulty.Fault{Mode: mode, Op: faulty.Commit, Times: 1}); err != nil {
			t.Fatal(err)
		}
		if res := d.ann.do(ReviewSubmission, submission(d.submission), reviewBody(Accept, Pass)); res.Status != 503 {
			t.Errorf("%d %s", res.Status, res.Body)
		}
		rows, _ := w.list(ListReviews, submission(d.submission), "reviews")
		_, entries := w.list(SearchKnowledge, nil, "knowledge")
		if w.read(d.request).Str("request.status") != InReview || len(rows) != 0 || entries != 0 {
			t.Errorf("%s, %d reviews, %d entries", w.read(d.request).Body, len(rows), entries)
		}
	}
	d.ann.review(d.submission, Accept, Pass)
	w.agrees()
}

func TestReplaysAnswerAsBeforeAndCostNothing(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.join("ann"), w.join("bob")
	id := ann.ask()
	first := w.Do(MakeOffer, optest.Req{Token: bob.Key, Key: "k", Path: request(id), Body: offerBody()}).Want(201)
	ann.do(CancelRequest, request(id), obj{"reason": "r"}).Want(200)
	for range offerLimit.N + 1 {
		again := w.Do(MakeOffer, optest.Req{Token: bob.Key, Key: "k", Path: request(id), Body: `{"limitations":"No root access.", "plan":"I would bisect it."}`}).Want(201)
		if string(again.Body) != string(first.Body) || again.Header["Idempotent-Replayed"] != "true" {
			t.Fatalf("%s %v", again.Body, again.Header)
		}
	}
	other := ann.ask()
	w.Do(MakeOffer, optest.Req{Token: bob.Key, Key: "k", Path: request(other), Body: offerBody()}).Refused(409, "idempotency_conflict")
	w.Do(MakeOffer, optest.Req{Token: bob.Key, Key: "new", Path: request(id), Body: offerBody()}).Refused(409, "request_not_open")
	w.Do(MakeOffer, optest.Req{Token: bob.Key, Key: "new", Path: request(other), Body: offerBody()}).Want(201) // a refusal leaves the key free
	w.Do(CreateRequest, optest.Req{Token: ann.Key, Key: strings.Repeat("k", 200), Body: requestBody()}).Want(201)
	w.Do(CreateRequest, optest.Req{Token: ann.Key, Key: strings.Repeat("k", 201), Body: requestBody()}).Refused(400, "idempotency_key_required")
}

func TestFortyFiveRequestsInThreePages(t *testing.T) {
	w := newWorld(t)
	for range 5 {
		ann := w.join("ann")
		for range 9 {
			ann.ask()
		}
	}
	offset := "0"
	for _, want := range []struct {
		rows int
		next any
	}{{20, 20.0}, {20, 40.0}, {5, nil}} {
		res := w.Do(ListRequests, optest.Req{Query: map[string][]string{"limit": {"20"}, "offset": {offset}}}).Want(200)
		if n := len(res.At("requests").([]any)); n != want.rows || res.At("nextOffset") != want.next || res.Num("total") != 45 {
			t.Errorf("offset %s: %d rows, next %v, total %v", offset, n, res.At("nextOffset"), res.At("total"))
		}
		offset = fmt.Sprint(res.At("nextOffset"))
	}
	res := w.Do(ListRequests, optest.Req{Query: map[string][]string{"offset": {"45"}}}).Want(200)
	if n := len(res.At("requests").([]any)); n != 0 || res.At("nextOffset") != nil || res.Num("total") != 45 {
		t.Errorf("%s", res.Body)
	}
	if n := len(w.Do(ListRequests, optest.Req{}).At("requests").([]any)); n != defaultLimit {
		t.Errorf("%d rows by default", n)
	}
}

// A page ends once its rows pass two megabytes, and the next one goes on there.
func TestAPageEndsByItsBytesToo(t *testing.T) {
	w := newWorld(t)
	wide := func(n int) string { return strings.Repeat("€", n) }
	var entries []string
	for range 4 {
		d := &deal{ann: w.join("ann"), bob: w.join("bob")}
		for range requestLimit.N {
			d.request = d.ann.do(CreateRequest, nil, with(requestBody(), "problem", wide(5900), "acceptanceCriteria", wide(1900))).Want(201).Str("request.id")
			d.ann.accept(d.bob.offer(d.request))
			res := d.bob.do(SubmitWork, request(d.request), with(workBody(), "method", wide(5900), "limitations", wide(1900))).Want(201)
			body := with(reviewBody(Accept, Pass), "body", wide(3000), "evidence", wide(3000))
			res = d.ann.do(ReviewSubmission, submission(res.Str("submission.id")), body).Want(201)
			entries = append(entries, res.Str("entry.id"))
			w.Advance(time.Second)
		}
	}
	slices.Reverse(entries)
	for _, q := range []string{"", "€€€"} {
		var got []string
		pages, offset := 0, 0
		for pages = 1; ; pages++ {
			res := w.Do(SearchKnowledge, optest.Req{Query: map[string][]string{"limit": {"50"}, "offset": {fmt.Sprint(offset)}, "q": {q}}}).Want(200)
			if len(res.Body) > maxPage+80_000 || res.Num("total") != 40 {
				t.Errorf("a page of %d bytes, total %v", len(res.Body), res.At("total"))
			}
			for _, e := range res.At("knowledge").([]any) {
				got = append(got, e.(map[string]any)["id"].(string))
			}
			if res.At("nextOffset") == nil {
				break
			}
			offset = int(res.Num("nextOffset"))
		}
		if pages != 2 || !slices.Equal(got, entries) {
			t.Errorf("q=%q: %d entries on %d pages", q, len(got), pages)
		}
	}
}
