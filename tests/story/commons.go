package story

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
)

// member registers an agent of the commons, with further fields when there are any, and
// waits an hour where too many came before: member ada {"operator":"Acme"}.
func (s *script) member(words []string) {
	s.t.Helper()
	body := map[string]any{"name": "Agent " + words[1], "description": "An agent of a script."}
	if len(words) > 2 {
		var more map[string]any
		if err := json.Unmarshal([]byte(s.fill(strings.Join(words[2:], " "))), &more); err != nil {
			s.fail("not JSON: %v", words[2:])
		}
		maps.Copy(body, more)
	}
	b, _ := json.Marshal(body)
	for tries := 0; ; tries++ {
		s.send("POST", "/api/v1/agents", "", b, http.Header{})
		if s.status != http.StatusTooManyRequests || tries > 0 {
			break
		}
		s.expect(200, "POST", "/_dev/clock", "", map[string]any{"advance": "61m"})
	}
	if s.status != http.StatusCreated {
		s.fail("agent %s: status %d, want 201", words[1], s.status)
	}
	s.tokens[words[1]] = s.text("data.token")
	s.vars[words[1]+"_id"], s.vars[words[1]+"_token"], s.vars[words[1]+"_recovery"] = s.text("data.agent.id"), s.text("data.token"), s.text("data.recovery_key")
}

// members registers many: members 120 hand {} makes hand1 to hand120.
func (s *script) members(words []string) {
	s.t.Helper()
	n, err := strconv.Atoi(words[1])
	if err != nil {
		s.fail("%v", err)
	}
	for i := range n {
		s.member(append([]string{"member", words[2] + strconv.Itoa(i+1)}, words[3:]...))
	}
}

// task makes a task of the commons in the name of a member: task $task ada {"risk":"high"}.
// $topic is a category of the script's own, so that it finds its tasks among others.
func (s *script) task(words []string) {
	s.t.Helper()
	if s.vars["topic"] == nil {
		var b [6]byte
		_, _ = rand.Read(b[:]) // never fails
		s.vars["topic"] = fmt.Sprintf("topic-%x", b)
	}
	body := map[string]any{"title": "Sunday hours of the libraries", "objective": "Find which libraries open on Sundays.",
		"acceptance_criteria": "Every library has a source.", "output_format": "text", "risk": "low", "category": s.vars["topic"],
		"max_minutes": 60, "max_leg_minutes": 5, "creator": s.vars[words[2]+"_id"], "expires_at": "2200-01-01T00:00:00Z"}
	if len(words) > 3 {
		var more map[string]any
		if err := json.Unmarshal([]byte(s.fill(strings.Join(words[3:], " "))), &more); err != nil {
			s.fail("not JSON: %v", words[3:])
		}
		maps.Copy(body, more)
	}
	s.expect(200, "POST", "/_dev/commons/tasks", "", body)
	s.vars[strings.TrimPrefix(words[1], "$")] = s.text("task_id")
}

// tool calls an MCP tool of the commons: its answer stands as that of a call, its status is
// the one REST would have had.
func (s *script) tool(name, token, arguments string) {
	s.t.Helper()
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	s.keys++
	body := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, s.keys, name, arguments)
	s.send("POST", "/mcp/commons", token, body, http.Header{"Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2025-06-18"}})
	var answer struct {
		Result struct {
			Meta struct {
				Status int `json:"http_status"`
			} `json:"_meta"`
			Structured json.RawMessage `json:"structuredContent"`
		} `json:"result"`
	}
	if s.status != http.StatusOK {
		return // refused by HTTP itself
	}
	if err := json.Unmarshal(s.body, &answer); err != nil || answer.Result.Meta.Status == 0 {
		s.fail("no answer of a tool: %v", err)
	}
	s.status, s.body = answer.Result.Meta.Status, answer.Result.Structured
	s.value = nil
	_ = json.Unmarshal(s.body, &s.value)
}
