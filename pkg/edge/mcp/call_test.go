package mcp

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestArgumentsGoWhereRESTSendsThem(t *testing.T) {
	w := newWorld(t)
	unknown := func(field string) string {
		return `{"ok":false,"error":"unknown_field","field":"` + field + `","message":"This call does not take that field."}`
	}
	for _, c := range []struct {
		tool, arguments string
		status          int
		body            string
	}{
		{"find_notes", `{"board":"b","limit":3,"tags":"x"}`, 200, `{"ok":true,"board":"b","limit":3,"tags":"x","exact":false,"ratio":null}`},
		{"find_notes", `{"board":"b","limit":"3","tags":["x","y"],"exact":true,"ratio":0.5}`, 200, `{"ok":true,"board":"b","limit":3,"tags":"x,y","exact":true,"ratio":0.5}`},
		{"find_notes", `{"board":7,"limit":null}`, 200, `{"ok":true,"board":"7","limit":0,"tags":"","exact":false,"ratio":null}`},
		{"find_notes", `{"board":"b","limit":6}`, 422, `{"ok":false,"error":"invalid_field","field":"limit","message":"limit must be at most 5."}`},
		{"find_notes", `{"board":"b","limit":{"a":1}}`, 422, `{"ok":false,"error":"invalid_field","field":"limit","message":"limit must be of type integer."}`},
		{"find_notes", `{}`, 422, `{"ok":false,"error":"missing_field","field":"board","message":"board is required."}`},
		{"find_notes", `{"board":null}`, 422, `{"ok":false,"error":"missing_field","field":"board","message":"board is required."}`},
		{"find_notes", `{"board":""}`, 404, `{"ok":false,"error":"not found"}`},
		{"find_notes", `{"board":".."}`, 404, `{"ok":false,"error":"not found"}`},
		{"find_notes", `{"board":"` + strings.Repeat("a", maxPathValue+1) + `"}`, 404, `{"ok":false,"error":"not found"}`},
		{"find_notes", `{"board":"b","tags":"a\u0000b"}`, 400, `{"ok":false,"error":"invalid_query","message":"The query string is not well formed."}`},
		{"find_notes", `{"board":"b","bord":"x"}`, 422, unknown("bord")},
		{"find_notes", `{"board":"b","idempotency_key":"k"}`, 200, `{"ok":true,"board":"b","limit":0,"tags":"","exact":false,"ratio":null}`},
		{"find_notes", `{"board":"b","board":"c"}`, 400, `{"ok":false,"error":"invalid_json","message":"The body is not one valid JSON object."}`},
		{"find_notes", `[]`, 400, `{"ok":false,"error":"invalid_json","message":"The body is not one valid JSON object."}`},
		{"take_whole", `{"board":"b","proposal":{"b": 1.0,"a":[1, 2]}}`, 200, `{"ok":true,"bytes":"{\"b\": 1.0,\"a\":[1, 2]}"}`},
		{"take_whole", `{"board":"b","proposal":{},"deep":{}}`, 422, unknown("deep")},
		{"take_whole", `{"board":"b","proposal":{},"idempotency_key":7}`, 400, `{"ok":false,"error":"idempotency_key_required","message":"Send an Idempotency-Key of 1 to 200 characters, the same one when you retry."}`},
		{"follow", `{"topic_id":"t","follow":true}`, 200, `{"ok":true,"topic_id":"t","following":true}`},
		{"follow", `{"topic_id":"t","follow":false}`, 200, `{"ok":true,"topic_id":"t","following":false}`},
		{"follow", `{"topic_id":"t"}`, 422, `{"ok":false,"error":"invalid_field","field":"follow","message":"follow must be one of: [\"true\",\"false\"]."}`},
		{"read", `{"path":"feed","query":{"limit":"10"}}`, 200, `{"ok":true,"what":"feed","limit":"10"}`},
		{"read", `{"path":"feed","query":{"limit":10}}`, 400, `{"ok":false,"error":"invalid_query","message":"The query string is not well formed."}`},
		{"read", `{"path":"feed","query":"limit=10"}`, 400, `{"ok":false,"error":"invalid_query","message":"The query string is not well formed."}`},
		{"read", `{"path":"feed","limit":"10"}`, 422, unknown("limit")},
		{"read", `{"path":"tasks/abc"}`, 200, `{"ok":true,"what":"task abc","limit":""}`},
		{"read", `{"path":"tasks/"}`, 400, `{"ok":false,"error":"invalid_path","message":"There is no such path."}`},
		{"read", `{"path":"/feed"}`, 400, `{"ok":false,"error":"invalid_path","message":"There is no such path."}`},
		{"read", `{"path":"tasks/a/results"}`, 400, `{"ok":false,"error":"invalid_path","message":"There is no such path."}`},
		{"read", `{"path":"tasks/a?x=1"}`, 400, `{"ok":false,"error":"invalid_path","message":"There is no such path."}`},
		{"read", `{"path":["feed"]}`, 400, `{"ok":false,"error":"invalid_path","message":"There is no such path."}`},
		{"read", `{}`, 400, `{"ok":false,"error":"invalid_path","message":"There is no such path."}`},
		{"task_action", `{"task_id":"t","action":"archive","body":{"reason":"old"}}`, 200, `{"ok":true,"what":"t","limit":"old"}`},
		{"task_action", `{"task_id":"t","action":"archive","body":{}}`, 422, `{"ok":false,"error":"missing_field","field":"reason","message":"reason is required."}`},
		{"task_action", `{"task_id":"t","action":"archive","body":"x"}`, 400, `{"ok":false,"error":"invalid_json","message":"The body is not one valid JSON object."}`},
		{"task_action", `{"task_id":"t","action":"claim","body":{},"reason":"old"}`, 422, unknown("reason")},
		{"task_action", `{"task_id":"t","action":"eat","body":{}}`, 422, `{"ok":false,"error":"invalid_field","field":"action","message":"action must be one of: [\"archive\",\"claim\"]."}`},
		{"read_document", `{}`, 200, `{"type": "object"}`},
		{"fail", `{}`, 500, `{"ok":false,"error":"internal_error","message":"Something went wrong on our side. Nothing was changed. Please try again.","request_id":"request-1"}`},
	} {
		t.Run(c.tool+" "+c.arguments[:min(len(c.arguments), 40)], func(t *testing.T) {
			w.t = t
			w.call(w.token, c.tool, c.arguments).want(t, c.status, c.body)
		})
	}
}

func TestAMissingArgumentObjectIsAnEmptyOne(t *testing.T) {
	w := newWorld(t)
	for _, params := range []string{`{"name":"read"}`, `{"name":"read","arguments":null}`} {
		s := w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`)
		if s.status != 200 || !strings.Contains(s.body, "invalid_path") {
			t.Errorf("%s: %d %s", params, s.status, s.body)
		}
	}
}

func TestOneKeySpaceForBothTransports(t *testing.T) {
	w := newWorld(t)
	r := httptest.NewRequest("POST", "/api/t/b/notes", strings.NewReader(`{ "text":"hello","loud":false }`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+w.restToken)
	r.Header.Set("Idempotency-Key", "k1")
	rec := httptest.NewRecorder()
	w.rest.ServeHTTP(rec, r)
	if rec.Code != 201 {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	first := rec.Body.String()
	w.call(w.token, "post_note", `{"loud":false,"text":"hello","board":"b","idempotency_key":"k1"}`).want(t, 201, first)
	w.call(w.token, "post_note", `{"text":"other","board":"b","idempotency_key":"k1"}`).want(t, 409,
		`{"ok":false,"error":"idempotency_conflict","message":"This Idempotency-Key was already used with another request. Use a new key for a new request."}`)
	w.call(w.token, "post_note", `{"text":"hello","board":"b"}`).want(t, 400,
		`{"ok":false,"error":"idempotency_key_required","message":"Send an Idempotency-Key of 1 to 200 characters, the same one when you retry."}`)
}

func TestARefusalNamesTheCallThatRepairsIt(t *testing.T) {
	w := newWorld(t)
	w.call(w.token, "post_note", `{"text":"a","board":"b","idempotency_key":"1"}`)
	c := w.call(w.token, "post_note", `{"text":"a","board":"b","idempotency_key":"2"}`)
	if c.Meta.Status != 409 || !strings.Contains(string(c.Body), `"fix":"GET /api/t/{board}"`) || !c.IsError {
		t.Fatalf("%+v %s", c, c.Body)
	}
}

func TestWhatHidesTextIsShownEscapedAndStaysTheSame(t *testing.T) {
	w := newWorld(t)
	evil := "a\u202eb\u001b[31mc\u009bd\u200be\U000e0041f\u2028g\ufeffh"
	quoted, _ := json.Marshal(evil)
	c := w.call(w.token, "post_note", `{"text":`+string(quoted)+`,"board":"b","idempotency_key":"1"}`)
	if c.Meta.Status != 201 {
		t.Fatalf("%s", c.Body)
	}
	var body, shown struct{ Text string }
	if err := json.Unmarshal(c.Body, &body); err != nil || body.Text != evil {
		t.Errorf("structured content %q", body.Text)
	}
	text := c.Content[0].Text
	if err := json.Unmarshal([]byte(text), &shown); err != nil || shown.Text != evil {
		t.Errorf("text content %q", shown.Text)
	}
	for _, r := range text {
		if hidden(r) || r < ' ' {
			t.Errorf("text content shows %U", r)
		}
	}
	if want := `a\u202eb\u001b[31mc\u009bd\u200be\udb40\udc41f\u2028g\ufeffh`; !strings.Contains(text, want) {
		t.Errorf("text content %s", text)
	}
}

func TestAPanicIsAnInternalErrorOnBothWays(t *testing.T) {
	w := newWorld(t)
	const want = `{"ok":false,"error":"internal_error","message":"Something went wrong on our side. Nothing was changed. Please try again.","request_id":"request-1"}`
	one := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"explode"}}`
	if s := w.send(one); s.status != 500 || s.body != want {
		t.Errorf("%d %s", s.status, s.body)
	}
	s := w.send(one, "Last-Event-Id", "1") // takes the SDK's way
	if s.status != 200 || !strings.Contains(s.body, `internal_error`) || strings.Contains(s.body, "secret") {
		t.Errorf("%d %s", s.status, s.body)
	}
}
