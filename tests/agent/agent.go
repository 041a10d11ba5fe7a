// Package agent is an agent that was told one thing, the address of an exchange. What it
// calls it learns from what the exchange publishes: the manifest at the well-known address,
// the documents it names, the lists of tools, and the next calls in answers. What it says it
// takes from a table keyed by the descriptions in schemas, as a model would make it up from
// them. It stands for any agent that arrives without code written for us.
package agent

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// wellKnown is all the agent knows beforehand.
const wellKnown = "/.well-known/bookofhouses-agent.json"

// object is a JSON object.
type object = map[string]any

// Agent is an agent at work.
type Agent struct {
	// Calls counts what it sent, Answers names each call and its status.
	Calls   int
	Answers []string
	// Rather begins the description of a tool that the agent tries first where it may stand in
	// for the one a call names; "" is none.
	Rather string

	base  string
	table map[string]any // what to say, by the description of a field
	seen  map[string]any // the latest value of every name that came in an answer
	key   ed25519.PrivateKey
	now   func() time.Time

	document object // the API's description
	door     string
	token    string
	begin    string // the tool to begin with
	tools    []tool
	schemas  map[string]object // schemas that tools returned, by tool
}

type tool struct {
	Name, Description string
	InputSchema       object
	Meta              struct{ Rest []string } `json:"_meta"`
}

// New makes an agent with something to say. The clock is the exchange's.
func New(base string, table map[string]any, now func() time.Time) (*Agent, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	return &Agent{base: base, table: table, seen: map[string]any{}, key: key, now: now, schemas: map[string]object{}}, err
}

// send makes an HTTP call and keeps what the answer names.
func (a *Agent) send(method, url, token string, body any) (int, object, error) {
	var sent []byte
	if body != nil {
		sent, _ = json.Marshal(body)
	}
	req, err := http.NewRequest(method, url, bytes.NewReader(sent))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Idempotency-Key", a.fresh())
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, 16<<20))
	var out object
	_ = json.Unmarshal(b, &out)
	a.Calls++
	return res.StatusCode, out, err
}

// learn keeps every named value of an answer; of a list, those of its first entry. What a
// thing says of itself counts more than what is said under the same name further down, its
// history for one.
func (a *Agent) learn(v any) {
	switch v := v.(type) {
	case object:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			a.learn(v[name])
		}
		for name, e := range v {
			if e != nil {
				a.seen[name] = e
			}
		}
	case []any:
		if len(v) > 0 {
			a.learn(v[0])
		}
	}
}

// Discover reads the manifest and the description of the API.
func (a *Agent) Discover() error {
	_, manifest, err := a.send("GET", a.base+wellKnown, "", nil)
	if err != nil {
		return err
	}
	a.learn(manifest)
	for _, v := range a.seen {
		address, _ := v.(string)
		if strings.HasPrefix(address, "http") && strings.Contains(address, "openapi") {
			if _, a.document, err = a.send("GET", address, "", nil); err != nil {
				return err
			}
		}
	}
	a.door, _ = a.seen["mcp"].(string)
	if a.document["paths"] == nil || a.door == "" {
		return fmt.Errorf("the manifest names no description of the API or no endpoint: %v", manifest)
	}
	return nil
}

// Do makes the REST call whose summary begins with these words.
func (a *Agent) Do(words string) error {
	paths, _ := a.document["paths"].(object)
	for path, item := range paths {
		for method, v := range item.(object) {
			o, _ := v.(object)
			summary, _ := o["summary"].(string)
			if !strings.HasPrefix(summary, words) {
				continue
			}
			a.learn(object{"description": o["description"]})
			g := generator{agent: a, root: a.document}
			body := g.value(at(o, "requestBody", "content", "application/json", "schema"), "")
			status, answer, err := a.send(strings.ToUpper(method), a.base+path, "", body)
			a.Answers = append(a.Answers, fmt.Sprint(summary, " ", status))
			if err == nil && status >= 300 {
				err = fmt.Errorf("%s: %d %v", summary, status, answer)
			}
			a.learn(answer)
			return err
		}
	}
	return fmt.Errorf("no call's summary begins with %q", words)
}

// at goes down a document.
func at(v any, names ...string) object {
	for _, n := range names {
		m, _ := v.(object)
		v = m[n]
	}
	m, _ := v.(object)
	return m
}

// Register registers the agent and takes a token for its tools.
func (a *Agent) Register() error {
	if err := a.Do("Register an agent"); err != nil {
		return err
	}
	return a.renew()
}

func (a *Agent) renew() error {
	err := a.Do("Exchange a signed client assertion")
	a.token, _ = a.seen["access_token"].(string)
	return err
}

// audience finds whom an assertion is for in the words about it.
var audience = regexp.MustCompile(`aud is (\S+?)[,;.]`)

// assertion is a signed JWT about this client, as the words about the call ask for it.
func (a *Agent) assertion() string {
	client, words := a.seen["mcp_client_id"], fmt.Sprint(a.seen["description"])
	aud := audience.FindStringSubmatch(words)
	if aud == nil {
		return ""
	}
	now := a.now().Unix()
	part := func(v object) string { b, _ := json.Marshal(v); return base64.RawURLEncoding.EncodeToString(b) }
	text := part(object{"alg": "EdDSA", "typ": "JWT"}) + "." +
		part(object{"iss": client, "sub": client, "aud": aud[1], "iat": now, "exp": now + 300, "jti": a.fresh()})
	return text + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(a.key, []byte(text)))
}

// fresh is a word nobody used.
func (a *Agent) fresh() string { return rand.Text() }

// firstTool finds the tool to begin with in the endpoint's instructions.
var firstTool = regexp.MustCompile(`Begin with (\w+)`)

// Connect reads the endpoint's instructions and its list of tools.
func (a *Agent) Connect() error {
	hello, err := a.ask("initialize", object{"protocolVersion": "2025-06-18", "capabilities": object{}, "clientInfo": object{"name": "stranger", "version": "1"}})
	if err != nil {
		return err
	}
	words, _ := hello["instructions"].(string)
	first := firstTool.FindStringSubmatch(words)
	list, err := a.ask("tools/list", nil)
	if err != nil || first == nil {
		return fmt.Errorf("the instructions name no tool to begin with: %q (%v)", words, err)
	}
	a.begin = first[1]
	b, _ := json.Marshal(list["tools"])
	return json.Unmarshal(b, &a.tools)
}

// ask makes a request of the protocol.
func (a *Agent) ask(method string, params object) (object, error) {
	message := object{"jsonrpc": "2.0", "id": a.Calls, "method": method}
	if params != nil {
		message["params"] = params
	}
	status, answer, err := a.send("POST", a.door, a.token, message)
	if err == nil && status == http.StatusUnauthorized && a.token != "" {
		if err = a.renew(); err == nil {
			status, answer, err = a.send("POST", a.door, a.token, message)
		}
	}
	result, _ := answer["result"].(object)
	if err == nil && result == nil {
		err = fmt.Errorf("%s: %d %v", method, status, answer)
	}
	return result, err
}
