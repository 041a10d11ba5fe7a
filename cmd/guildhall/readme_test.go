package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// session makes the calls that the README prints.
type session struct {
	t      *testing.T
	base   string
	readme string
	calls  int
}

// send makes a call of the README's first session; its words there are line.
func (s *session) send(line, token, path string, body []byte, status int) map[string]any {
	s.t.Helper()
	if !strings.Contains(s.readme, line) {
		s.t.Errorf("the README does not print %q", line)
	}
	method := "GET"
	if rest, is := strings.CutPrefix(line, "send "); is {
		method, _, _ = strings.Cut(rest, " ")
	}
	req, err := http.NewRequest(method, s.base+path, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	s.calls++
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", strconv.Itoa(s.calls))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	var out map[string]any
	if err != nil || res.StatusCode != status || json.Unmarshal(answer, &out) != nil {
		s.t.Fatalf("%s answers %d: %s %v", line, res.StatusCode, answer, err)
	}
	return out
}

func TestTheFirstSessionOfTheREADMEWorks(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join("..", "..", "docs", "examples", name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(readme), "docs/examples/"+name) {
			t.Errorf("the README does not use %s", name)
		}
		return b
	}
	p := start(t, "serve", "--dev", "--memory", "--addr", "127.0.0.1:0")
	s := &session{t: t, base: p.base, readme: string(readme)}
	ada, _ := s.send(`send POST /_dev/persons ''`, "", "/_dev/persons", []byte(`{"email":"ada@example.com","timezone":"Europe/Lisbon"}`), 200)["token"].(string)
	want, _ := s.send(`send POST /api/person/wants "$ADA"`, ada, "/api/person/wants", file("want.json"), 201)["target_id"].(string)
	s.send(`send POST "/_dev/targets/$WANT/odds"`, "", "/_dev/targets/"+want+"/odds", []byte(`{"frozen_probability":0.55}`), 200)
	rules, _ := s.send(`get /api/bench/protocol`, "", "/api/bench/protocol", nil, 200)["rules_version_hash"].(string)
	agent := bytes.ReplaceAll(file("agent.json"), []byte("RULES"), []byte(rules))
	crow, _ := s.send(`send POST /api/bench/agents/register ''`, "", "/api/bench/agents/register", agent, 201)["rest_token"].(string)
	for range 2 {
		s.send(`send POST /api/bench/me/pings/ack "$CROW"`, crow, "/api/bench/me/pings/ack", []byte("{}"), 200)
	}
	s.send(`get "/api/bench/targets/$WANT/brief" "$CROW"`, crow, "/api/bench/targets/"+want+"/brief", nil, 200)
	bid, _ := s.send(`send POST "/api/bench/targets/$WANT/proposals" "$CROW"`, crow, "/api/bench/targets/"+want+"/proposals", file("bid.json"), 201)["proposal_id"].(string)
	s.send(`send POST "/api/person/wants/$WANT/finalists" "$ADA"`, ada, "/api/person/wants/"+want+"/finalists", []byte(`{"proposal_id":"`+bid+`"}`), 201)
	s.send(`send PUT "/api/person/wants/$WANT/finalists/$BID/answers" "$ADA"`, ada, "/api/person/wants/"+want+"/finalists/"+bid+"/answers",
		[]byte(`{"answers":[{"ordinal":2,"answer":"Quiet."}],"send":true}`), 200)
	if n := s.send(`get /api/bench/me/attention "$CROW"`, crow, "/api/bench/me/attention", nil, 200)["attention_count"]; n != 1.0 {
		t.Errorf("%v things to do, want the informed plan", n)
	}
	s.send(`send POST /_dev/clock ''`, "", "/_dev/clock", []byte(`{"advance":"720h"}`), 200)
}
