package hostile

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/catalog"
	"guildhall/pkg/edge/mcp"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// toolShare is the part of the calls that goes to tools: one in so many.
const toolShare = 2

// endpoint is an MCP endpoint without limits.
type endpoint struct {
	handler http.Handler
	path    string
	ops     []*op.Operation
}

func (w *world) endpoints() (all []endpoint) {
	for _, d := range catalog.Doors() {
		e := endpoint{path: d.Path}
		for _, o := range catalog.Behind(d) {
			free := *o
			free.Limit = nil
			e.ops = append(e.ops, &free)
		}
		e.handler = mcp.Handler(w.x.Engine, e.ops, d, mcp.Options{BaseURL: w.x.BaseURL, Log: w.x.Log})
		all = append(all, e)
	}
	return all
}

// mcpTokens gives every agent of bench the credential its tools take.
func (w *world) mcpTokens() {
	w.t.Helper()
	for i, c := range w.callers {
		rest, is := strings.CutPrefix(c.header, "Bearer gh_agent_")
		if !is {
			continue
		}
		maker, _, _ := strings.Cut(rest, "_")
		err := w.x.Engine.Run(context.Background(), w.x.Engine.Now(), "bench", func(c *op.Call) error {
			s, err := account.MCPToken.Issue(c, maker, nil, c.Now.Add(30*24*time.Hour))
			w.callers[i].header = "Bearer " + s
			return err
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

func TestHostileToolCallsAreRefusedInTheEnvelopeAndWriteNothing(t *testing.T) {
	statuses, told := map[int]int{}, 0
	for n := uint64(0); int(n)*perWorld < *calls/toolShare && told < maxTold; n++ {
		w := open(t, *seed+n)
		w.mcpTokens()
		g := &garbage{Rand: mathrand.New(mathrand.NewPCG(*seed+n, 2)), w: w}
		doors := w.endpoints()
		for i := 0; i < perWorld && told < maxTold; i++ {
			d := doors[i%len(doors)]
			c := w.throwTool(g, d, d.ops[(i/len(doors)+int(n)*perWorld)%len(d.ops)])
			status, wrongs := c.judgeTool()
			statuses[status]++
			for _, wrong := range append(wrongs, w.leaks(c)...) {
				told++
				t.Errorf("%s\n%s\nreplay: go test ./tests/hostile -hostile.seed %d, tool call %d", wrong, c, *seed+n, i)
			}
		}
		w.judgeLog()
	}
	t.Logf("statuses %v (0: no tool was called)", statuses)
	if statuses[200]+statuses[201] == 0 {
		t.Error("no tool ever succeeded: the garbage is not near enough to the truth")
	}
}

// throwTool makes one hostile call of a tool.
func (w *world) throwTool(g *garbage, d endpoint, o *op.Operation) *thrown {
	from := overheard{header: http.Header{}}
	if heard := w.heard[o.ID]; len(heard) > 0 {
		from = one(g, heard)
	} else if s := o.Body(); s != nil {
		from.body, _ = json.Marshal(g.generated(s, 0)) // a tree of plain values
	}
	g.soil()
	c := &thrown{o: o, caller: w.caller(g, o, from)}
	if rest, is := strings.CutPrefix(c.caller.header, "Bearer gh_agent_"); is { // as overheard over REST
		maker, _, _ := strings.Cut(rest, "_")
		for _, other := range w.callers {
			if strings.HasPrefix(other.header, "Bearer gh_mcp_"+maker) {
				c.caller = other
			}
		}
	}
	c.body = g.message(o, g.arguments(o, from))
	c.r = httptest.NewRequest("POST", d.path, bytes.NewReader(c.body))
	c.r.Header.Set("Content-Type", "application/json")
	c.r.Header.Set("Accept", "application/json, text/event-stream")
	if g.dirty["headers"] {
		c.r.Header.Set(one(g, []string{"Mcp-Protocol-Version", "Mcp-Session-Id", "Accept", "Content-Type", "Origin", "Last-Event-Id"}), strings.TrimSpace(one(g, types)+one(g, words[:8])))
	}
	c.r.Header.Set("Authorization", c.caller.header)
	w.store.taken()
	c.rec = httptest.NewRecorder()
	d.handler.ServeHTTP(c.rec, c.r)
	c.wrote = w.store.taken()
	return c
}

// arguments are what a tool is given for an overheard call.
func (g *garbage) arguments(o *op.Operation, from overheard) map[string]any {
	args := map[string]any{}
	for _, n := range op.PathNames(o.Path) {
		args[n] = from.path[n]
		if args[n] == "" {
			args[n] = one(g, g.w.ids)
		}
	}
	if selector, value, ok := strings.Cut(o.ToolCase, "="); ok {
		for _, n := range op.PathNames(o.Path) {
			value = strings.ReplaceAll(value, "{"+n+"}", fmt.Sprint(args[n]))
		}
		args[selector] = value
	}
	if q, err := url.ParseQuery(from.query); err == nil {
		for n := range q {
			args[n] = q.Get(n)
		}
	}
	var body map[string]any
	if json.Unmarshal(from.body, &body) == nil {
		for n, v := range body {
			args[n] = v
		}
	}
	if o.ToolArg != "" {
		args[o.ToolArg] = body
	}
	args["idempotency_key"] = fmt.Sprintf("t-%d", g.Uint64())
	if g.dirty["body"] || g.dirty["path"] || g.dirty["query"] {
		for range 1 + g.IntN(3) {
			args, _ = g.mutateObject(args).(map[string]any)
		}
	}
	return args
}

// message is the JSON-RPC message of a call, sometimes broken.
func (g *garbage) message(o *op.Operation, args map[string]any) []byte {
	name := o.Tool
	if len(o.Also) > 0 && g.in(3) {
		name = one(g, o.Also).Tool
	}
	m := map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": name, "arguments": args}}
	if g.dirty["method"] {
		m["method"] = one(g, []string{"tools/list", "initialize", "ping", "tools/call", "resources/read", "prompts/get", "completion/complete", "logging/setLevel", "notifications/cancelled", "x", ""})
		m, _ = g.mutateObject(m).(map[string]any)
	}
	b, err := json.Marshal(m)
	if err != nil {
		return nil
	}
	if g.dirty["method"] && g.in(4) {
		return one(g, [][]byte{nil, []byte("[]"), []byte("[" + strings.Repeat(string(b)+",", g.IntN(20)) + string(b) + "]"), b[:len(b)/2], flipped(g, b), twice(b)})
	}
	return b
}

// judgeTool tells the status of a tool call and what is wrong with the answer.
func (c *thrown) judgeTool() (status int, wrong []string) {
	if c.rec.Code >= 500 {
		wrong = append(wrong, "a fault of ours")
	}
	if c.rec.Code >= 400 {
		return c.rec.Code, append(wrong, wroteNothing(c.wrote)...)
	}
	var got struct {
		Result struct {
			Meta struct {
				Status int `json:"http_status"`
			} `json:"_meta"`
			Body    map[string]any `json:"structuredContent"`
			IsError bool           `json:"isError"`
		}
		Error *struct{ Message string }
	}
	if body := c.rec.Body.Bytes(); len(body) > 0 && body[0] == '{' && json.Unmarshal(body, &got) != nil {
		wrong = append(wrong, "no JSON-RPC answer")
	}
	status = got.Result.Meta.Status
	switch {
	case status >= 500:
		wrong = append(wrong, "a fault of ours")
	case status >= 400:
		if e, ok := got.Result.Body["error"]; !ok || e == "" || !got.Result.IsError {
			wrong = append(wrong, "no error member, or no isError")
		}
		wrong = append(wrong, wroteNothing(c.wrote)...)
	case status > 0 && got.Result.IsError:
		wrong = append(wrong, "isError beside a success")
	case got.Error != nil:
		wrong = append(wrong, wroteNothing(c.wrote)...)
	}
	return status, wrong
}

// wroteNothing tells what a refusal wrote; a failed try may count.
func wroteNothing(keys []table.Key) (wrong []string) {
	for _, k := range slices.DeleteFunc(slices.Clone(keys), func(k table.Key) bool { return strings.Contains(k.PK, ".LIMIT#") }) {
		wrong = append(wrong, fmt.Sprintf("a refusal wrote %s / %s", k.PK, k.SK))
	}
	return wrong
}
