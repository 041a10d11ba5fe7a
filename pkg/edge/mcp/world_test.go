package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/edge/rest"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/table"
)

// The operations of a small context, one for each thing a tool can be.

type noteIn struct {
	Board string `path:"board" doc:"The board."`
	Text  string `json:"text" rule:"required,max=40" doc:"The text."`
	Loud  bool   `json:"loud,omitempty"`
}

type noteOut struct {
	ID    string `json:"id"`
	Board string `json:"board"`
	Text  string `json:"text"`
}

func noteKey(board string) table.Key { return table.Key{PK: "bench.NOTE#" + board, SK: "ROOT"} }

var postNote = op.Declare(op.Meta{ID: "bench.note.post", Method: "POST", Path: "/api/t/{board}/notes", Status: 201, Tool: "post_note",
	Auth: op.Maker, Scope: "deals:write", Idempotent: op.KeyRequired, Summary: "Post a note.", Notes: "It stays. " + strings.Repeat("Very long text. ", 30)},
	func(c *op.Call, in noteIn) (noteOut, error) {
		old, found, err := op.Load[noteOut](c, noteKey(in.Board))
		if err != nil {
			return noteOut{}, err
		}
		if found {
			return noteOut{}, fault.New(fault.Conflict, "note_taken", "There is a note: "+old.ID+".").FixedBy("GET /api/t/{board}")
		}
		n := noteOut{c.NewID(), in.Board, in.Text}
		c.Create(noteKey(in.Board), n)
		return n, nil
	})

type findIn struct {
	Board string   `path:"board"`
	Limit int      `query:"limit" rule:"min=1,max=5"`
	Tags  string   `query:"tags"`
	Exact bool     `query:"exact"`
	Ratio *float64 `query:"ratio"`
}

type findOut struct {
	Board string   `json:"board"`
	Limit int      `json:"limit"`
	Tags  string   `json:"tags"`
	Exact bool     `json:"exact"`
	Ratio *float64 `json:"ratio"`
}

var findNotes = op.Declare(op.Meta{ID: "bench.note.find", Method: "GET", Path: "/api/t/{board}/notes", Tool: "find_notes", Auth: op.Public, Summary: "Find notes."},
	func(_ *op.Call, in findIn) (findOut, error) {
		return findOut(in), nil
	})

type wholeIn struct {
	Board string          `path:"board"`
	Raw   json.RawMessage `body:"raw"`
}

type wholeOut struct {
	Bytes string `json:"bytes"`
}

var takeWhole = op.Declare(op.Meta{ID: "bench.note.whole", Method: "POST", Path: "/api/t/{board}/whole", Tool: "take_whole", ToolArg: "proposal",
	Auth: op.Public, Idempotent: op.KeyOptional, Summary: "Take a document.", BodySchema: func() []byte {
		return []byte(`{"type":"object","properties":{"deep":{"type":"object"}}}`)
	}},
	func(_ *op.Call, in wholeIn) (wholeOut, error) { return wholeOut{string(in.Raw)}, nil })

type onOff struct {
	Topic string `path:"topic_id"`
}

type followOut struct {
	Topic     string `json:"topic_id"`
	Following bool   `json:"following"`
}

var (
	follow = op.Declare(op.Meta{ID: "bench.follow.set", Method: "PUT", Path: "/api/t/follows/{topic_id}", Tool: "follow", ToolCase: "follow=true",
		ToolText: "Follow or unfollow.", Auth: op.Public, Summary: "Follow."},
		func(_ *op.Call, in onOff) (followOut, error) { return followOut{in.Topic, true}, nil })
	unfollow = op.Declare(op.Meta{ID: "bench.follow.end", Method: "DELETE", Path: "/api/t/follows/{topic_id}", Tool: "follow", ToolCase: "follow=false",
		Auth: op.Public, Summary: "Unfollow."},
		func(_ *op.Call, in onOff) (followOut, error) { return followOut{in.Topic, false}, nil })
)

type pageIn struct {
	Limit string `query:"limit"`
}

type pageOut struct {
	What  string `json:"what"`
	Limit string `json:"limit"`
}

type recordIn struct {
	ID string `path:"id"`
}

var errPath = fault.New(fault.BadRequest, "invalid_path", "There is no such path.")

var (
	readFeed = op.Declare(op.Meta{ID: "bench.read.feed", Method: "GET", Path: "/api/t/feed", Tool: "read", ToolCase: "path=feed", ToolQuery: "query",
		ToolElse: errPath, Auth: op.Public, Summary: "Read the feed."},
		func(_ *op.Call, in pageIn) (pageOut, error) { return pageOut{"feed", in.Limit}, nil })
	readTask = op.Declare(op.Meta{ID: "bench.read.task", Method: "GET", Path: "/api/t/tasks/{id}", Tool: "read", ToolCase: "path=tasks/{id}", ToolQuery: "query",
		Auth: op.Public, Summary: "Read a task."},
		func(_ *op.Call, in recordIn) (pageOut, error) { return pageOut{"task " + in.ID, ""}, nil })
)

type actIn struct {
	Task   string `path:"task_id"`
	Reason string `json:"reason" rule:"required"`
}

var act = op.Declare(op.Meta{ID: "bench.task.archive", Method: "POST", Path: "/api/t/tasks/{task_id}/archive", Tool: "task_action", ToolCase: "action=archive",
	ToolArg: "body", Auth: op.Maker, Scope: "deals:write", Summary: "Archive.", Destructive: true},
	func(_ *op.Call, in actIn) (pageOut, error) { return pageOut{in.Task, in.Reason}, nil })

var claim = op.Declare(op.Meta{ID: "bench.task.claim", Method: "POST", Path: "/api/t/tasks/{task_id}/claim", Tool: "task_action", ToolCase: "action=claim",
	ToolArg: "body", Auth: op.Maker, Scope: "deals:write", Summary: "Claim."},
	func(_ *op.Call, in onOffTask) (pageOut, error) { return pageOut{in.Task, "claimed"}, nil })

type onOffTask struct {
	Task string `path:"task_id"`
}

type documentOut struct{ b []byte }

func (d documentOut) Raw() *op.Raw {
	return &op.Raw{ContentType: "application/schema+json", Body: bytes.NewReader(d.b)}
}

var document = op.Declare(op.Meta{ID: "bench.doc.read", Method: "GET", Path: "/api/t/doc", Tool: "read_document", Auth: op.Public, ToolAuth: op.Maker,
	Scope: "targets:read", Summary: "Read a document."},
	func(*op.Call, struct{}) (documentOut, error) { return documentOut{[]byte(`{"type": "object"}`)}, nil })

var explode = op.Declare(op.Meta{ID: "bench.bad.panic", Method: "GET", Path: "/api/t/panic", Tool: "explode", Auth: op.Public, Summary: "Panic."},
	func(*op.Call, struct{}) (pageOut, error) { panic("a secret text") })

var deny = op.Declare(op.Meta{ID: "bench.bad.fail", Method: "GET", Path: "/api/t/fail", Tool: "fail", Auth: op.Public, Summary: "Fail."},
	func(*op.Call, struct{}) (pageOut, error) { return pageOut{}, io.ErrUnexpectedEOF })

var all = []*op.Operation{postNote, findNotes, takeWhole, follow, unfollow, readFeed, readTask, act, claim, document, explode, deny}

var testDoor = &op.Door{Context: "bench", Path: "/mcp", Title: "Test", Version: "1.2.3", Metadata: "/.well-known/oauth-protected-resource/mcp",
	Order: []string{"read", "find_notes", "post_note"}, Elsewhere: map[string]string{"proposal": "take_schema returns it in full."}}

// world is both edges over one exchange.
type world struct {
	*optest.Exchange
	t         *testing.T
	mcp, rest http.Handler
	token     string // over MCP
	restToken string
	narrow    string // over MCP, without deals:write
}

func newWorld(t *testing.T) *world {
	w := &world{Exchange: optest.New(t), t: t}
	id := func() string { return "request-1" }
	w.mcp = Handler(w.Engine, all, testDoor, Options{BaseURL: w.Engine.BaseURL, NewID: id})
	w.rest = rest.Handler(w.Engine, all, rest.Options{BaseURL: w.Engine.BaseURL, NewID: id})
	w.Run("bench", func(c *op.Call) (err error) {
		who := "11111111-2222-4333-8444-555555555555"
		if w.token, err = account.MCPToken.Issue(c, who, nil, c.Now.Add(time.Hour)); err != nil {
			return err
		}
		if w.narrow, err = account.MCPToken.Issue(c, who, []string{"targets:read"}, c.Now.Add(time.Hour)); err != nil {
			return err
		}
		w.restToken, err = account.AgentToken.Issue(c, who, nil, time.Time{})
		return err
	})
	return w
}

// sent is one HTTP exchange with the endpoint.
type sent struct {
	status int
	header http.Header
	body   string
}

// send posts a body; headers come in pairs.
func (w *world) send(body string, headers ...string) sent {
	r := httptest.NewRequest("POST", testDoor.Path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	w.mcp.ServeHTTP(rec, r)
	return sent{rec.Code, rec.Header(), rec.Body.String()}
}

// called is a tool's result.
type called struct {
	Meta struct {
		Status int `json:"http_status"`
	} `json:"_meta"`
	Content []struct{ Type, Text string }
	Body    json.RawMessage `json:"structuredContent"`
	IsError bool            `json:"isError"`
}

// call calls a tool with a token ("" for none) and raw arguments.
func (w *world) call(token, tool, arguments string) called {
	w.t.Helper()
	headers := []string{}
	if token != "" {
		headers = append(headers, "Authorization", "Bearer "+token)
	}
	s := w.send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+arguments+`}}`, headers...)
	if s.status != 200 {
		return called{Body: json.RawMessage(s.body), Meta: struct {
			Status int `json:"http_status"`
		}{s.status}, IsError: true}
	}
	var m struct {
		ID     int
		Result called
		Error  any
	}
	if err := json.Unmarshal([]byte(s.body), &m); err != nil || m.ID != 7 || m.Error != nil {
		w.t.Fatalf("%s %s: %v %s", tool, arguments, err, s.body)
	}
	return m.Result
}

// want fails unless the answer has this status and body.
func (c called) want(t *testing.T, status int, body string) {
	t.Helper()
	if c.Meta.Status != status || string(c.Body) != body || c.IsError != (status >= 400) {
		t.Fatalf("got %d %s (error %v), want %d %s", c.Meta.Status, c.Body, c.IsError, status, body)
	}
}
