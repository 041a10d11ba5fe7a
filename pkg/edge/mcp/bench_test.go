package mcp

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/edge/rest"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

// benchWorld is both edges with the tokens of one agent.
func benchWorld(b testing.TB) (mcp, restH http.Handler, token, restToken string) {
	x := optest.New(b)
	mcp = Handler(x.Engine, all, testDoor, Options{BaseURL: x.Engine.BaseURL})
	restH = rest.Handler(x.Engine, all, rest.Options{BaseURL: x.Engine.BaseURL})
	x.Run("bench", func(c *op.Call) (err error) {
		who := "11111111-2222-4333-8444-555555555555"
		if token, err = account.MCPToken.Issue(c, who, nil, c.Now.Add(time.Hour)); err != nil {
			return err
		}
		restToken, err = account.AgentToken.Issue(c, who, nil, time.Time{})
		return err
	})
	return mcp, restH, token, restToken
}

func run(b *testing.B, h http.Handler, path, token, body string) {
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest("POST", path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+token)
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		if rec.Code != 200 {
			b.Fatalf("%d %s", rec.Code, rec.Body)
		}
	}
}

// The same authenticated call over REST, as a tool, and as a tool through the SDK.
func BenchmarkCall(b *testing.B) {
	tool, plain, token, restToken := benchWorld(b)
	reason := strings.Repeat("all of it is old, ", 50)
	b.Run("rest", func(b *testing.B) {
		run(b, plain, "/api/t/tasks/t1/archive", restToken, `{"reason":"`+reason+`"}`)
	})
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"task_action","arguments":{"task_id":"t1","action":"archive","body":{"reason":"` + reason + `"}}`
	b.Run("tool", func(b *testing.B) { run(b, tool, "/mcp", token, call+`}}`) })
	b.Run("tool/sdk", func(b *testing.B) {
		run(b, tool, "/mcp", token, call+`,"_meta":{"io.modelcontextprotocol/protocolVersion":""}}}`)
	})
}

func BenchmarkList(b *testing.B) {
	tool, _, token, _ := benchWorld(b)
	run(b, tool, "/mcp", token, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
}

// maxOverhead is how many times the allocations of a REST call its tool call may make.
const maxOverhead = 3

func TestAToolCallCostsLittleMoreThanItsTwin(t *testing.T) {
	tool, plain, token, restToken := benchWorld(t)
	count := func(h http.Handler, path, token, body string) float64 {
		return testing.AllocsPerRun(50, func() {
			r := httptest.NewRequest("POST", path, strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer "+token)
			h.ServeHTTP(httptest.NewRecorder(), r)
		})
	}
	a := count(plain, "/api/t/tasks/t1/archive", restToken, `{"reason":"old"}`)
	b := count(tool, "/mcp", token, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"task_action","arguments":{"task_id":"t1","action":"archive","body":{"reason":"old"}}}}`)
	t.Logf("%.0f allocations over REST, %.0f as a tool", a, b)
	if b > maxOverhead*a {
		t.Errorf("%.0f allocations over REST, %.0f as a tool: at most %d times", a, b, maxOverhead)
	}
}
