package hostile

import (
	"bytes"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"guildhall/pkg/op"
)

// doors are the calls that are no operations, with a body that is right or nearly: local
// controls, uploads, pages and files.
var doors = []struct{ method, path, body string }{
	{"GET", "/_dev/clock", ""},
	{"POST", "/_dev/clock", `{"advance":"1s"}`},
	{"POST", "/_dev/clock", `{"set":"2026-03-08T10:59:00Z"}`},
	{"POST", "/_dev/persons", `{"email":"zoe@example.com","display_name":"Zoe","timezone":"UTC","house":{"house":"The Table","value":"v","value_description":"d"}}`},
	{"POST", "/_dev/stewards", `{"email":"zoe@example.com","role":"steward"}`},
	{"GET", "/_dev/mail?to=", ""},
	{"POST", "/_dev/payments/payout-ready", `{"maker_id":"{id}","ready":true}`},
	{"POST", "/_dev/payments/checkout", `{"checkout_id":"{id}","result":"paid"}`},
	{"GET", "/_dev/payments", ""},
	{"POST", "/_dev/payments/mode", `{"next":"ok","count":1}`},
	{"POST", "/_dev/faults", `{"target":"queue","mode":"drop","count":0,"match":"x"}`},
	{"POST", "/_dev/settle", ""},
	{"POST", "/_dev/targets/{id}/odds", `{"frozen_probability":0.5}`},
	{"POST", "/_dev/commons/tasks", `{"title":"Sunday hours","objective":"Find them.","acceptance_criteria":"All.","output_format":"json","risk":"low","max_minutes":30,"expires_at":"2099-01-01T00:00:00Z"}`},
	{"PUT", "/uploads/{id}", "bytes"},
	{"GET", "/", ""}, {"GET", "/sign-in", ""}, {"POST", "/sign-in", "email=zoe%40example.com"}, {"GET", "/wants/{id}", ""}, {"GET", "/deals/{id}", ""}, {"GET", "/board", ""},
	{"POST", "/wants/{id}/close", "form=x"}, {"GET", "/static/agent-skill.md", ""}, {"GET", "/static/../go.mod", ""}, {"GET", "/openapi.json", ""}, {"GET", "/.well-known/{id}", ""},
	{"GET", "/peer/topics/{id}", ""}, {"GET", "/simulated/checkout/{id}", ""}, {"GET", "/{id}", ""},
}

func TestHostileCallsAtEveryOtherDoorAreNoFaultOfOurs(t *testing.T) {
	w := open(t, *seed)
	g := &garbage{Rand: mathrand.New(mathrand.NewPCG(*seed, 3)), w: w}
	statuses, told := map[int]int{}, 0
	for i := 0; i < *calls/4 && told < maxTold; i++ {
		d := doors[i%len(doors)]
		g.soil()
		path := strings.ReplaceAll(d.path, "{id}", one(g, w.ids))
		if g.dirty["path"] {
			path = strings.ReplaceAll(d.path, "{id}", url.PathEscape(g.word()))
		}
		if g.dirty["query"] {
			path += "?" + url.Values{one(g, []string{"to", "token", "after", "next", "x"}): {g.word()}}.Encode()
		}
		u, err := url.ParseRequestURI(path[:min(len(path), 6000)])
		if err != nil {
			continue
		}
		body := g.body(&op.Operation{Meta: op.Meta{MaxBody: 1 << 20}}, []byte(strings.ReplaceAll(d.body, "{id}", one(g, w.ids))))
		r := httptest.NewRequest(d.method, "/", bytes.NewReader(body))
		r.URL, r.RequestURI = u, path
		r.Header = g.headers(http.Header{"Content-Type": {map[bool]string{true: "application/json", false: "application/x-www-form-urlencoded"}[strings.HasPrefix(path, "/_dev")]}})
		if token := strings.TrimPrefix(one(g, w.callers).header, "Bearer "); g.dirty["caller"] {
			r.AddCookie(&http.Cookie{Name: "guildhall", Value: token})
		}
		rec := httptest.NewRecorder()
		w.next.ServeHTTP(rec, r)
		statuses[rec.Code]++
		if rec.Code >= 500 || rec.Code >= 400 && rec.Header().Get("Content-Type") == "" {
			told++
			t.Errorf("%s %s %v\n%q\nanswered %d %s\nreplay: -hostile.seed %d, call %d", d.method, u, r.Header, body[:min(len(body), 2000)], rec.Code, rec.Body.String()[:min(rec.Body.Len(), 500)], *seed, i)
		}
	}
	w.judgeLog()
	t.Logf("statuses %v", statuses)
}
