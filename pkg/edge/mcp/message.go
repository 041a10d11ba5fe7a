package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"guildhall/pkg/fault"
)

// Protocol versions that matter here; the SDK knows the others.
const (
	firstVersion   = "2025-03-26" // meant by a request that names none
	batchesEnd     = "2025-06-18" // from here on there are no batches
	messageVersion = "2026-07-28" // from here on every message names its version itself
)

// Codes of JSON-RPC.
const (
	codeParse   = -32700
	codeRequest = -32600
	codeMethod  = -32601
)

// Headers of the protocol.
const (
	versionHeader = "Mcp-Protocol-Version"
	methodHeader  = "Mcp-Method"
	nameHeader    = "Mcp-Name"
)

// Members of a message's _meta.
const (
	metaVersion = "io.modelcontextprotocol/protocolVersion"
	metaClient  = "io.modelcontextprotocol/clientInfo"
	metaCan     = "io.modelcontextprotocol/clientCapabilities"
	metaServer  = "io.modelcontextprotocol/serverInfo"
)

// message is a JSON-RPC message.
type message struct {
	members map[string]json.RawMessage
	method  string
	id      json.RawMessage // nil for a notification
	params  map[string]json.RawMessage
	meta    map[string]json.RawMessage
	raw     []byte
	version string // of the protocol, as the header names it
}

// read takes a body as a message; ok is false when it is not an object.
func (x *exchange) read(body []byte) (*message, bool) {
	m := &message{raw: body, version: x.r.Header.Get(versionHeader)}
	if json.Unmarshal(body, &m.members) != nil || m.members == nil {
		return nil, false
	}
	m.method = word(m.members["method"])
	if id, sent := m.members["id"]; sent && !bytes.Equal(id, []byte("null")) {
		m.id = id
	}
	if json.Unmarshal(m.members["params"], &m.params) == nil {
		_ = json.Unmarshal(m.params["_meta"], &m.meta)
	}
	return m, true
}

// word is a JSON string's value, "" for anything else.
func word(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// message answers one message with the status it goes out with. An empty body is the answer
// to a notification.
func (x *exchange) message(body []byte) (int, []byte) {
	m, ok := x.read(body)
	switch {
	case !ok && !json.Valid(body):
		return http.StatusBadRequest, failure(nil, codeParse, "The body is not one valid JSON value.")
	case !ok:
		return http.StatusBadRequest, failure(nil, codeRequest, "A message is a JSON object.")
	case !x.known(m.method) && m.id != nil && m.method != "":
		return x.unknown(m)
	}
	if t := x.direct(m); t != nil {
		return x.answer(m, x.call(x.r.Context(), t, m.params["arguments"]))
	}
	if m.method == "tools/list" && x.inOrder(m) && len(m.params["cursor"]) == 0 {
		if list, ok := x.h.lists.Load(m.version); ok {
			return http.StatusOK, success(m.id, list.([]byte))
		}
	}
	return x.forward(m)
}

// known tells whether a method is one of a server of tools. Others are refused here: the SDK
// would hold a stream open for some of them.
func (x *exchange) known(method string) bool {
	return x.h.opt.Extend != nil || strings.HasPrefix(method, "notifications/") ||
		slices.Contains([]string{"initialize", "ping", "server/discover", "tools/list", "tools/call"}, method)
}

func (x *exchange) unknown(m *message) (int, []byte) {
	status := http.StatusOK
	if m.version >= messageVersion {
		status = http.StatusNotFound
	}
	return status, failure(m.id, codeMethod, "This server has no such method. It has tools/list and tools/call.")
}

// direct returns the tool of a call that is in order in every respect, else nil.
func (x *exchange) direct(m *message) *tool {
	if m.method != "tools/call" || !x.inOrder(m) {
		return nil
	}
	name := word(m.params["name"])
	if m.version >= messageVersion && x.r.Header.Get(nameHeader) != name {
		return nil
	}
	return x.h.byName[name]
}

// inOrder tells whether a request can be answered without asking the SDK about it: its
// version is known and everything that version asks for is there.
func (x *exchange) inOrder(m *message) bool {
	switch {
	case word(m.members["jsonrpc"]) != "2.0", !goodID(m.id), x.r.Header.Get("Last-Event-Id") != "":
		return false
	case len(m.members["params"]) > 0 && m.params == nil, len(m.params["_meta"]) > 0 && m.meta == nil:
		return false
	case m.version != "" && !slices.Contains(versions, m.version):
		return false
	case m.version < messageVersion:
		return m.meta[metaVersion] == nil
	}
	var can, client map[string]json.RawMessage
	return x.r.Header.Get(methodHeader) == m.method && word(m.meta[metaVersion]) == m.version &&
		json.Unmarshal(m.meta[metaCan], &can) == nil && can != nil &&
		json.Unmarshal(m.meta[metaClient], &client) == nil && word(client["name"]) != ""
}

// versions are those of the protocol.
var versions = sdk.SupportedProtocolVersions()

// goodID tells whether an id is a string or a whole number.
func goodID(id json.RawMessage) bool {
	if len(id) == 0 {
		return false
	}
	var n int64
	return id[0] == '"' || json.Unmarshal(id, &n) == nil
}

// answer turns a tool's answer into the message. A credential that is missing or no good is
// said by HTTP itself, so that clients fetch a new one.
func (x *exchange) answer(m *message, a *answer) (int, []byte) {
	if a.status == http.StatusUnauthorized && !x.batched {
		x.challenge(a.res.Fault)
		return a.status, a.body
	}
	meta, more := "", ""
	if m.version >= messageVersion {
		meta, more = `,"`+metaServer+`":`+x.h.identity(), `,"resultType":"complete"`
	}
	return http.StatusOK, success(m.id, a.result(meta, more))
}

func success(id json.RawMessage, result []byte) []byte {
	b := make([]byte, 0, len(result)+len(id)+40)
	b = append(append(b, `{"jsonrpc":"2.0","id":`...), id...)
	b = append(append(b, `,"result":`...), result...)
	return append(b, '}')
}

func failure(id json.RawMessage, code int, text string) []byte {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	b, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": text}})
	return b
}

// batch answers several messages, one after the other, in order.
func (x *exchange) batch(body []byte) {
	version := x.r.Header.Get(versionHeader)
	if version == "" {
		version = firstVersion
	}
	var all []json.RawMessage
	switch err := json.Unmarshal(body, &all); {
	case err != nil:
		x.write(http.StatusBadRequest, failure(nil, codeParse, "The body is not one valid JSON value."))
		return
	case version >= batchesEnd:
		x.write(http.StatusBadRequest, failure(nil, codeRequest, "This protocol version has no batches: send one message."))
		return
	case len(all) == 0 || len(all) > maxBatch:
		x.write(http.StatusBadRequest, failure(nil, codeRequest, "A batch holds 1 to 16 messages."))
		return
	}
	x.batched = true
	ctx, cancel := context.WithTimeout(x.r.Context(), batchLimit)
	defer cancel()
	x.r = x.r.WithContext(ctx)
	var answers []json.RawMessage
	for _, one := range all {
		if status, a := x.message(one); len(a) > 0 {
			answers = append(answers, a)
		} else if status >= http.StatusBadRequest {
			answers = append(answers, failure(nil, codeRequest, errForm.Message))
		}
	}
	if len(answers) == 0 {
		x.write(http.StatusAccepted, nil)
		return
	}
	b, err := json.Marshal(answers)
	if err != nil {
		x.refuse(fault.Wrap(err))
		return
	}
	x.write(http.StatusOK, b)
}
