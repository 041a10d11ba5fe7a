// Package story runs whole stories over HTTP against an exchange with local controls, from
// scripts that read as text.
//
// A line that begins in the first column is a step, indented lines below it say what is
// sent and what must come back:
//
//	person alice alice@example.com Europe/Lisbon      a person, through the local controls
//	steward sam sam@example.com platform_admin        a person with a role
//	agent crow                                        registers an agent and acks both pings
//	token bob $token                                  an actor with a token of its own
//	set $name JSON                                    a variable
//	visitor ida                                       a visitor of the peer exchange, by a first publication
//	plk $key -24h                                     a fresh key of the peer exchange, made so long from now
//	time $when 48h                                    a time of the exchange's clock
//	text $name 54 "x"                                 a text many times over
//	repeat 30 ida POST /api/…                         a call many times; $i counts from 1
//	together 2 ida POST /api/…                        a call many times at once, all with one status
//	account ann                                       an account of the help exchange
//	crowd 250 user                                    many of them: user1 to user250
//	add $sum $n 45                                    a number and some more
//	race                                              different calls at once, one a line below, and "statuses 200 409"
//	ed25519 $key                                      a fresh key: its public part in base64
//	sign $signature $key $text                        an Ed25519 signature in base64
//	mailed $link pat@example.com /confirm/recovery 1  the token in the newest mailed link to a page, one such mail having come
//	member ada {"operator":"Acme"}                    an agent of the commons, with further fields
//	members 120 hand {}                               many of them: hand1 to hand120
//	task $task ada {"risk":"high"}                    a task of the commons in the name of a member; $topic is its category
//	sha256 $sum "a text"                              the hash of a text in hex
//	restart                                           the exchange is killed and started again, where the runner can
//
//	alice POST /api/person/wants                      a call by an actor ("anyone" sends no token)
//	ada TOOL task_action                              the same over MCP at the commons' endpoint; the body holds the arguments
//	  {"want": "…"}                                   the body: JSON, may go on over lines
//	  raw video/mp4 "bytes"                           the body as it is, of this media type
//	  file a.gif "bytes"                              a form with this file
//	  field title "…"                                 a further field of that form
//	  key "k1"                                        Idempotency-Key; one is made up when left out; key none sends none
//	  bytes 24000                                     the body is filled up with spaces to so many bytes
//	  header X-Name "value"                           a further header of the request
//	  201                                             the status
//	  $target = target_id                             keeps a value of the answer
//	  brief.want is "…"                               a value equals JSON (numbers, null, lists …)
//	  message contains "dollars"                      a text contains a text
//	  deals count 3                                   a list has so many entries
//	  deals each status is "…"                        a check of every entry of a list
//	  answer absent                                   there is no such member
//	  header Retry-After is "1"                       a header of the answer
//	  whole is "…"                                    the answer is this text
//	  same                                            the answer is byte for byte the one before
//
// $name is replaced everywhere by the kept value, ${name} inside longer words.
package story

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Run runs a script against the exchange at base.
func Run(t *testing.T, base, file string) { RunWith(t, base, file, nil) }

// RunWith is Run with a way to kill the exchange and start it again: restart returns its
// new address. Nil passes over the restart steps.
func RunWith(t *testing.T, base, file string, restart func() string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := &script{t: t, base: base, file: filepath.Base(file), vars: map[string]any{}, tokens: map[string]string{"anyone": ""}, restart: restart}
	for _, b := range blocks(string(text)) {
		s.line = b.line
		s.step(b)
	}
	if s.calls == 0 {
		t.Fatalf("%s calls nothing", s.file)
	}
}

// script is a script being run.
type script struct {
	t      *testing.T
	base   string
	file   string
	line   int
	vars   map[string]any
	tokens map[string]string
	calls  int
	keys   int
	// private are the keys the script made, by their variable.
	private map[string]ed25519.PrivateKey
	quiet   bool // keeps no values: one of several calls at once
	// restart kills the exchange and returns where it is started again.
	restart func() string

	status int
	header http.Header
	body   []byte
	before []byte
	value  any
}

type block struct {
	line int
	head string
	body []string
}

func blocks(text string) (out []block) {
	for i, l := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(l)
		if trimmed == "" || strings.HasPrefix(trimmed, "#") {
			continue
		}
		if l[0] != ' ' && l[0] != '\t' {
			out = append(out, block{line: i + 1, head: trimmed})
			continue
		}
		if len(out) > 0 {
			out[len(out)-1].body = append(out[len(out)-1].body, trimmed)
		}
	}
	return out
}

func (s *script) fail(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("%s:%d: %s\nlast answer: %d %s", s.file, s.line, fmt.Sprintf(format, args...), s.status, s.body)
}

var variable = regexp.MustCompile(`\$(\{[a-z_][a-z_0-9]*\}|[a-z_][a-z_0-9]*)`)

// fill replaces variables: strings as they are, other values as JSON.
func (s *script) fill(text string) string {
	return variable.ReplaceAllStringFunc(text, func(m string) string {
		v, ok := s.vars[strings.Trim(m, "${}")]
		if !ok {
			s.fail("%s is not set", m)
		}
		if str, ok := v.(string); ok {
			return str
		}
		b, _ := json.Marshal(v)
		return string(b)
	})
}

func (s *script) step(b block) {
	s.t.Helper()
	words := strings.Fields(b.head)
	switch words[0] {
	case "person", "steward":
		s.person(words)
	case "agent":
		s.agent(words[1])
	case "token":
		s.tokens[words[1]] = s.fill(words[2])
	case "restart":
		if s.restart != nil {
			s.base = s.restart()
		}
	case "visitor":
		s.visitor(words[1])
	case "plk":
		s.plk(words)
	case "time":
		s.moment(words)
	case "text":
		s.repeated(words)
	case "repeat":
		s.repeat(words, b.body)
	case "together":
		s.together(words, b.body)
	case "account":
		s.account(words[1])
	case "member":
		s.member(words)
	case "members":
		s.members(words)
	case "task":
		s.task(words)
	case "crowd":
		s.crowd(words)
	case "add":
		s.add(words)
	case "race":
		s.race(b.body)
	case "ed25519":
		s.key(words)
	case "sha256":
		sum := sha256.Sum256([]byte(s.fill(unquote(strings.Join(words[2:], " ")))))
		s.vars[strings.TrimPrefix(words[1], "$")] = hex.EncodeToString(sum[:])
	case "sign":
		s.sign(words)
	case "mailed":
		s.mailed(words)
	case "set":
		s.set(strings.TrimPrefix(words[1], "$"), strings.Join(words[2:], " "))
	default:
		s.perform(words, b.body)
	}
}

func (s *script) set(name, text string) {
	var v any
	if err := json.Unmarshal([]byte(s.fill(text)), &v); err != nil {
		s.fail("not JSON: %s", text)
	}
	s.vars[name] = v
}

func (s *script) person(words []string) {
	s.t.Helper()
	path, body := "/_dev/persons", map[string]any{"email": words[2]}
	if words[0] == "steward" {
		path = "/_dev/stewards"
		body["role"] = words[3]
	} else if len(words) > 3 {
		body["timezone"] = words[3]
	}
	s.expect(200, "POST", path, "", body)
	s.tokens[words[1]] = s.text("token")
	s.vars[words[1]+"_id"] = s.text("person_id")
	s.vars[words[1]+"_email"] = words[2]
}

// agent registers an agent by its name and shows that it listens.
func (s *script) agent(name string) {
	s.t.Helper()
	s.expect(200, "GET", "/api/bench/protocol", "", nil)
	hash := s.text("rules_version_hash")
	s.expect(201, "POST", "/api/bench/agents/register", "", map[string]any{
		"handle": name, "skills": "Finds, books and arranges things.",
		"disclosure":        map[string]any{"is_ai": true, "model": "Example Model 1", "operator_label": name + " Works", "operator_type": "person"},
		"system_record":     map[string]any{"autonomy": "fully_autonomous", "harness": "none", "base_models": []any{map[string]any{"provider": "Example", "model": "Example Model", "version": "1"}}},
		"responsible_party": map[string]any{"legal_name": "Pat Example", "jurisdiction": "US-CA", "contact_ref": name + "@agents.example.com"},
		"rules":             map[string]any{"accepted": true, "version_hash": hash},
	})
	token := s.text("rest_token")
	s.tokens[name], s.vars[name+"_id"], s.vars[name+"_no"] = token, s.text("maker_id"), s.text("registry_no")
	s.expect(200, "POST", "/api/bench/me/pings/ack", token, nil)
	s.expect(200, "POST", "/api/bench/me/pings/ack", token, nil)
}

func (s *script) expect(status int, method, path, token string, body any) {
	s.t.Helper()
	var b []byte
	if body != nil {
		b, _ = json.Marshal(body)
	}
	s.keys++
	s.send(method, path, token, b, http.Header{"Idempotency-Key": {fmt.Sprintf("%s-%d", s.file, s.keys)}})
	if s.status != status {
		s.fail("%s %s: status %d, want %d", method, path, s.status, status)
	}
}

func (s *script) send(method, path, token string, body []byte, h http.Header) {
	s.t.Helper()
	if !strings.HasPrefix(path, "http") { // an upload address is whole
		path = s.base + path
	}
	req, err := http.NewRequest(method, path, bytes.NewReader(body))
	if err != nil {
		s.fail("%v", err)
	}
	req.Header = h
	if len(body) > 0 && h.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		s.fail("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	s.before = s.body
	s.status, s.header, s.value = res.StatusCode, res.Header, nil
	if s.body, err = io.ReadAll(io.LimitReader(res.Body, 16<<20)); err != nil {
		s.fail("%v", err)
	}
	_ = json.Unmarshal(s.body, &s.value)
	s.calls++
}

// perform makes a call of the script: it sends the indented body and checks the rest.
func (s *script) perform(words []string, lines []string) {
	s.t.Helper()
	if len(words) != 3 {
		s.fail("a step is: ACTOR METHOD PATH, not %q", strings.Join(words, " "))
	}
	who := s.fill(words[0])
	token, known := s.tokens[who]
	if !known && who != "dev" {
		s.fail("nobody is called %s", who)
	}
	s.keys++
	h := http.Header{}
	if !strings.HasPrefix(words[2], "/api/peer/") { // its keys have a form of their own
		h.Set("Idempotency-Key", fmt.Sprintf("%s-%d", s.file, s.keys))
	}
	body, checks := "", []string{}
	var sent upload
	for len(lines) > 0 {
		l := lines[0]
		lines = lines[1:]
		switch {
		case strings.HasPrefix(l, "{") || strings.HasPrefix(l, "["):
			body = l
			for !json.Valid([]byte(s.fill(body))) && len(lines) > 0 {
				body, lines = body+"\n"+lines[0], lines[1:]
			}
		case strings.HasPrefix(l, "bytes "):
			body = s.padded(s.fill(body), strings.TrimPrefix(l, "bytes "))
		case sent.take(l, s.fill):
		case l == "key none":
			h.Del("Idempotency-Key")
		case strings.HasPrefix(l, "key "):
			h.Set("Idempotency-Key", s.fill(unquote(strings.TrimPrefix(l, "key "))))
		case strings.HasPrefix(l, "header ") && !strings.Contains(l, " is "):
			name, value, _ := strings.Cut(strings.TrimPrefix(l, "header "), " ")
			h.Set(name, s.fill(unquote(value)))
		default:
			checks = append(checks, l)
		}
	}
	if body = s.fill(body); sent.kind != "" {
		body = sent.body()
		h.Set("Content-Type", sent.kind)
	}
	if words[1] == "TOOL" {
		s.tool(words[2], token, body)
	} else {
		s.send(words[1], s.fill(words[2]), token, []byte(body), h)
	}
	for _, c := range checks {
		if !s.quiet || !strings.HasPrefix(c, "$") {
			s.check(c)
		}
	}
}

func unquote(text string) string {
	if u, err := strconv.Unquote(strings.TrimSpace(text)); err == nil {
		return u
	}
	return strings.TrimSpace(text)
}

func (s *script) check(c string) {
	s.t.Helper()
	if n, err := strconv.Atoi(c); err == nil {
		if s.status != n {
			s.fail("status %d, want %d", s.status, n)
		}
		return
	}
	if want, ok := strings.CutPrefix(c, "whole is "); ok {
		if want = s.fill(unquote(want)); string(s.body) != want {
			s.fail("the answer is not %q", want)
		}
		return
	}
	if c == "same" {
		if !bytes.Equal(s.body, s.before) {
			s.fail("the answer differs from the one before: %s", s.before)
		}
		return
	}
	if name, path, ok := strings.Cut(c, " = "); ok && strings.HasPrefix(name, "$") {
		v, found := s.at(path)
		if !found {
			s.fail("no %s in the answer", path)
		}
		s.vars[strings.TrimPrefix(name, "$")] = v
		return
	}
	s.compare(c)
}

func (s *script) compare(c string) {
	s.t.Helper()
	if path, rest, ok := strings.Cut(c, " each "); ok {
		s.each(path, rest)
		return
	}
	for _, word := range []string{" is ", " contains ", " count ", " absent"} {
		path, want, ok := strings.Cut(c, word)
		if !ok {
			continue
		}
		if name, isHeader := strings.CutPrefix(path, "header "); isHeader {
			if got := s.header.Get(name); got != unquote(s.fill(want)) {
				s.fail("header %s is %q, want %s", name, got, want)
			}
			return
		}
		got, found := s.at(path)
		s.hold(path, strings.TrimSpace(word), s.fill(want), got, found)
		return
	}
	s.fail("what is %q?", c)
}

func (s *script) hold(path, word, want string, got any, found bool) {
	s.t.Helper()
	if word == "absent" {
		if found {
			s.fail("%s is there: %v", path, got)
		}
		return
	}
	if !found {
		s.fail("no %s in the answer", path)
	}
	switch word {
	case "is":
		var w any
		if err := json.Unmarshal([]byte(want), &w); err != nil {
			s.fail("not JSON: %s", want)
		}
		if !reflect.DeepEqual(got, w) {
			b, _ := json.Marshal(got)
			s.fail("%s is %s, want %s", path, b, want)
		}
	case "contains":
		b, _ := json.Marshal(got)
		if str, ok := got.(string); ok {
			b = []byte(str)
		}
		if !strings.Contains(string(b), unquote(want)) {
			s.fail("%s is %s, without %s", path, b, want)
		}
	case "count":
		list, _ := got.([]any)
		if n, err := strconv.Atoi(want); err != nil || len(list) != n {
			s.fail("%s has %d entries, want %s", path, len(list), want)
		}
	}
}

// at reads a value by a dotted path; numbers index lists, -1 is the last entry, . is the
// whole answer.
func (s *script) at(path string) (any, bool) {
	v := s.value
	if path == "." {
		return v, true
	}
	for part := range strings.SplitSeq(path, ".") {
		switch m := v.(type) {
		case map[string]any:
			next, ok := m[part]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(m) || i < -len(m) {
				return nil, false
			}
			v = m[(i+len(m))%len(m)]
		default:
			return nil, false
		}
	}
	return v, true
}

func (s *script) text(path string) string {
	s.t.Helper()
	v, _ := s.at(path)
	str, ok := v.(string)
	if !ok {
		s.fail("no text %s in the answer", path)
	}
	return str
}
