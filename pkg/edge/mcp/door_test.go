package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"guildhall/pkg/op"
)

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

func TestOtherMethodsAreRefusedInTheEnvelope(t *testing.T) {
	w := newWorld(t)
	for _, m := range []string{"GET", "DELETE", "PUT", "PATCH"} {
		rec := httptest.NewRecorder()
		w.mcp.ServeHTTP(rec, httptest.NewRequest(m, "/mcp", nil))
		if rec.Code != 405 || rec.Header().Get("Allow") != "OPTIONS, POST" ||
			rec.Body.String() != `{"ok":false,"error":"method_not_allowed","message":"This address does not take that method."}` {
			t.Errorf("%s: %d %v %s", m, rec.Code, rec.Header(), rec.Body)
		}
	}
	rec := httptest.NewRecorder()
	w.mcp.ServeHTTP(rec, httptest.NewRequest("HEAD", "/mcp", nil))
	if rec.Code != 405 || rec.Body.Len() > 0 {
		t.Errorf("HEAD: %d %s", rec.Code, rec.Body)
	}
	rec = httptest.NewRecorder()
	w.mcp.ServeHTTP(rec, httptest.NewRequest("OPTIONS", "/mcp", nil))
	if rec.Code != 204 || rec.Header().Get("Allow") != "OPTIONS, POST" {
		t.Errorf("OPTIONS: %d", rec.Code)
	}
}

func TestWhatStandsAroundAMessageIsChecked(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		body    string
		headers []string
		status  int
		code    string
	}{
		"media type":    {ping, []string{"Content-Type", "text/plain"}, 415, "unsupported_media_type"},
		"encoding":      {ping, []string{"Content-Encoding", "gzip"}, 415, "unsupported_media_type"},
		"size":          {strings.Repeat(" ", op.DefaultMaxBody+envelope+1), nil, 413, "body_too_large"},
		"other site":    {ping, []string{"Origin", "https://evil.example"}, 403, "wrong_origin"},
		"own site":      {ping, []string{"Origin", "http://guildhall.test"}, 200, ""},
		"this machine":  {ping, []string{"Origin", "http://localhost:6274"}, 200, ""},
		"no JSON":       {`{"jsonrpc"`, nil, 400, "-32700"},
		"empty":         {``, nil, 400, "-32700"},
		"no object":     {`7`, nil, 400, "-32600"},
		"empty batch":   {`[]`, nil, 400, "-32600"},
		"broken batch":  {`[1,`, nil, 400, "-32700"},
		"newer batch":   {`[` + ping + `]`, []string{"MCP-Protocol-Version", "2025-06-18"}, 400, "-32600"},
		"long batch":    {`[` + strings.Repeat(ping+",", maxBatch) + ping + `]`, nil, 400, "-32600"},
		"batch":         {`[` + ping + `]`, []string{"MCP-Protocol-Version", "2025-03-26"}, 200, ""},
		"no version":    {ping, []string{"MCP-Protocol-Version", "1999-01-01"}, 400, "-32600"},
		"an answer":     {`{"jsonrpc":"2.0","id":1,"result":{}}`, nil, 202, ""},
		"other method":  {`{"jsonrpc":"2.0","id":1,"method":"resources/list"}`, nil, 200, "-32601"},
		"stream":        {`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}`, nil, 200, "-32601"},
		"unknown tool":  {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nope"}}`, nil, 200, "-32602"},
		"accepts JSON":  {ping, []string{"Accept", "application/json"}, 200, ""},
		"accepts pages": {ping, []string{"Accept", "text/html"}, 400, "-32600"},
		"notification":  {`{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil, 202, ""},
		"cancelled":     {`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, nil, 202, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := w.send(c.body, c.headers...)
			var got struct{ Error any }
			_ = json.Unmarshal([]byte(s.body), &got)
			code := ""
			switch e := got.Error.(type) {
			case string:
				code = e
			case map[string]any:
				b, _ := json.Marshal(e["code"])
				code = string(b)
			}
			if s.status != c.status || code != c.code {
				t.Errorf("got %d %q, want %d %q: %s", s.status, code, c.status, c.code, s.body)
			}
			if s.header.Get("X-Request-Id") != "request-1" || s.header.Get("Cache-Control") != "no-store" {
				t.Errorf("headers %v", s.header)
			}
		})
	}
}

func TestALoopbackServerAnswersNoForeignHost(t *testing.T) {
	w := newWorld(t)
	for host, status := range map[string]int{"evil.example": 403, "guildhall.test": 200, "127.0.0.1:8080": 200, "localhost": 200, "[::1]:80": 200} {
		r := httptest.NewRequest("POST", "/mcp", strings.NewReader(ping))
		r.Header.Set("Content-Type", "application/json")
		r.Host = host
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80})))
		rec := httptest.NewRecorder()
		w.mcp.ServeHTTP(rec, r)
		if rec.Code != status {
			t.Errorf("%s: %d, want %d", host, rec.Code, status)
		}
	}
}

func TestACredentialIsAskedForByHTTP(t *testing.T) {
	w := newWorld(t)
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_document"}}`
	write := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"task_action","arguments":{"task_id":"t","action":"claim","body":{}}}}`
	base := `Bearer resource_metadata="http://guildhall.test/.well-known/oauth-protected-resource/mcp"`
	for _, c := range []struct{ name, body, token, challenge string }{
		{"none", call, "", base},
		{"a REST token", call, w.restToken, base + `, error="invalid_token"`},
		{"nonsense", call, "gh_mcp_x", base + `, error="invalid_token"`},
		{"a scope too few", write, w.narrow, base + `, error="insufficient_scope", scope="deals:write"`},
	} {
		for _, sdk := range []string{"", "1"} {
			headers := []string{"Authorization", "Bearer " + c.token}
			if c.token == "" {
				headers = nil
			}
			if sdk != "" {
				headers = append(headers, "Last-Event-Id", sdk)
			}
			s := w.send(c.body, headers...)
			if s.status != 401 || s.header.Get("WWW-Authenticate") != c.challenge || !strings.HasPrefix(s.body, `{"ok":false,"error":"unauthorized"`) {
				t.Errorf("%s: %d %s %s", c.name, s.status, s.header.Get("WWW-Authenticate"), s.body)
			}
		}
	}
	for _, free := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"path":"feed"}}}`,
	} {
		if s := w.send(free); s.status != 200 || strings.Contains(s.body, `"error"`) {
			t.Errorf("%s: %d %s", free, s.status, s.body)
		}
	}
	if c := w.call(w.narrow, "read_document", `{}`); c.Meta.Status != 200 {
		t.Errorf("with the scope: %+v", c)
	}
}

func TestABatchIsAnsweredInOrder(t *testing.T) {
	w := newWorld(t)
	s := w.send(`[{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"post_note","arguments":{"board":"b","text":"x","idempotency_key":"1"}}},
		{"jsonrpc":"2.0","method":"notifications/initialized"},
		{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read","arguments":{"path":"feed"}}},
		{"jsonrpc":"2.0","id":3,"method":"nope"}, 7]`)
	var got []struct {
		ID     any
		Error  *struct{ Code int }
		Result called
	}
	if err := json.Unmarshal([]byte(s.body), &got); err != nil || s.status != 200 || len(got) != 4 {
		t.Fatalf("%d %s", s.status, s.body)
	}
	if got[0].ID != "a" || got[0].Result.Meta.Status != 401 || !got[0].Result.IsError {
		t.Errorf("without a token, in a batch: %+v", got[0])
	}
	if got[1].Result.Meta.Status != 200 || got[2].Error.Code != codeMethod || got[3].Error.Code != codeRequest {
		t.Errorf("%s", s.body)
	}
	if s := w.send(`[{"jsonrpc":"2.0","method":"notifications/initialized"}]`); s.status != 202 || s.body != "" {
		t.Errorf("notifications alone: %d %s", s.status, s.body)
	}
}

// TestBothWaysAnswerAlike compares our own answers with the SDK's to the same messages.
func TestBothWaysAnswerAlike(t *testing.T) {
	w := newWorld(t)
	modern := []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call"}
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},`
	for _, c := range []struct{ tool, arguments string }{
		{"read", `{"path":"feed"}`}, {"read", `{}`}, {"find_notes", `{"board":"\u202e<b>&"}`}, {"fail", `{}`}, {"read_document", `{}`},
		{"task_action", `{"task_id":"t","action":"claim","body":{}}`},
	} {
		for _, version := range []string{"", "2024-11-05", "2025-11-25", "2026-07-28"} {
			extra, headers := "", []string{"Authorization", "Bearer " + w.token}
			switch version {
			case "2026-07-28":
				extra, headers = meta, append(headers, append([]string{"Mcp-Name", c.tool}, modern...)...)
			default:
				headers = append(headers, "MCP-Protocol-Version", version)
			}
			body := `{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{` + extra + `"name":"` + c.tool + `","arguments":` + c.arguments + `}}`
			ours := w.send(body, headers...)
			theirs := w.send(body, append(headers, "Last-Event-Id", "1")...)
			var a, b any
			if json.Unmarshal([]byte(ours.body), &a) != nil || json.Unmarshal([]byte(theirs.body), &b) != nil || !reflect.DeepEqual(a, b) || ours.status != theirs.status {
				t.Errorf("%s %s %s:\nours   %d %s\ntheirs %d %s", version, c.tool, c.arguments, ours.status, ours.body, theirs.status, theirs.body)
			}
		}
	}
}

func TestAListIsTheSameFromTheCache(t *testing.T) {
	w := newWorld(t)
	list := `{"jsonrpc":"2.0","id":%,"method":"tools/list"}`
	first := w.send(strings.ReplaceAll(list, "%", "1")).body
	second := w.send(strings.ReplaceAll(list, "%", `"b"`)).body
	if strings.Replace(first, `"id":1`, `"id":"b"`, 1) != second {
		t.Errorf("%s\n%s", first, second)
	}
	if s := w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}`); !strings.Contains(s.body, `"error"`) {
		t.Errorf("a cursor of nobody's: %s", s.body)
	}
}

func TestTheListSaysWhatToolsAre(t *testing.T) {
	w := newWorld(t)
	var got struct {
		Result struct {
			Tools []struct {
				Name, Title, Description  string
				InputSchema, OutputSchema map[string]any
				Annotations               map[string]bool
				Meta                      struct{ Rest []string } `json:"_meta"`
			}
		}
	}
	if err := json.Unmarshal([]byte(w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).body), &got); err != nil {
		t.Fatal(err)
	}
	var names []string
	byName := map[string]int{}
	for i, tool := range got.Result.Tools {
		names = append(names, tool.Name)
		byName[tool.Name] = i
		if len([]rune(tool.Description)) > maxText {
			t.Errorf("%s: %d characters", tool.Name, len([]rune(tool.Description)))
		}
	}
	if want := "read find_notes post_note take_whole follow task_action read_document explode fail"; strings.Join(names, " ") != want {
		t.Errorf("order %v", names)
	}
	at := func(name string) string {
		b, _ := json.Marshal(got.Result.Tools[byName[name]])
		return string(b)
	}
	for name, parts := range map[string][]string{
		"post_note": {`"Description":"Post a note. It stays. Very long text.`, `"idempotentHint":true`, `"readOnlyHint":`, `"required":["board","text","idempotency_key"]`,
			`"Rest":["POST /api/t/{board}/notes"]`, `"additionalProperties":false`, `"Title":"Post note"`},
		"take_whole": {`"proposal":{"description":"take_schema returns it in full.","type":"object"}`},
		"follow":     {`"Description":"Follow or unfollow."`, `"follow":{"type":"boolean"}`, `"destructiveHint":true`, `"required":["follow","topic_id"]`},
		"read":       {`"One of: feed, tasks/{id}."`, `"query":{"additionalProperties":{"type":"string"}`, `"readOnlyHint":true`, `"required":["path"]`},
		"task_action": {`"enum":["archive","claim"]`, `"$defs":{"archive":{"additionalProperties":false,"properties":{"reason":{"type":"string"}},"required":["reason"]`,
			`"required":["action","task_id","body"]`, `"destructiveHint":true`},
		"find_notes": {`"properties":{"board":{"type":"string"},"exact":{"type":"boolean"},"limit":{"type":"integer"},"ok":{"type":"boolean"},"ratio":{"anyOf":[{"type":"number"},{"type":"null"}]}`},
	} {
		for _, p := range parts {
			if !strings.Contains(at(name), p) {
				t.Errorf("%s lacks %s:\n%s", name, p, at(name))
			}
		}
	}
}

func TestALineSaysWhatACallCameToAndNothingOfIt(t *testing.T) {
	w := newWorld(t)
	var log bytes.Buffer
	w.mcp = Handler(w.Engine, all, testDoor, Options{Log: slog.New(slog.NewJSONHandler(&log, nil)), NewID: func() string { return "r" }})
	w.call(w.token, "post_note", `{"text":"a private text","board":"b","idempotency_key":"secret-key"}`)
	w.call("", "explode", `{}`)
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"operation":"bench.note.post","transport":"mcp","method":"POST","status":200`) ||
		!strings.Contains(lines[0], `"tool_status":201`) || !strings.Contains(lines[1], `"level":"ERROR"`) {
		t.Errorf("%s", log.String())
	}
	for _, secret := range []string{"private", "secret-key", w.token} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log shows %q", secret)
		}
	}
}

func TestAnOverlongBodyIsNotReadOn(t *testing.T) {
	w := newWorld(t)
	r := httptest.NewRequest("POST", "/mcp", io.LimitReader(zeroes{}, 64<<20))
	r.Header.Set("Content-Type", "application/json")
	r.ContentLength = -1
	rec := httptest.NewRecorder()
	w.mcp.ServeHTTP(rec, r)
	if rec.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("%d", rec.Code)
	}
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { return len(p), nil }
