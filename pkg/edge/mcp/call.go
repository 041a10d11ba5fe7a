package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
)

// maxAnswer bounds an answer that an operation gives as a stream, in bytes.
const maxAnswer = 4 << 20

// answer is what a tool call came to.
type answer struct {
	op     *op.Operation
	res    *op.Response
	status int
	body   []byte // exactly REST's, without Commons' envelope
	failed bool
}

// call runs a tool with its arguments as they were sent.
func (x *exchange) call(ctx context.Context, t *tool, arguments json.RawMessage) *answer {
	args, err := readArguments(arguments)
	if err != nil {
		return x.refused(t.cases[0].op, err)
	}
	c, path := t.choose(args)
	var wrong error
	if c == nil {
		c, wrong, args = t.cases[0], t.unselected(), map[string]json.RawMessage{keyArgument: args[keyArgument]}
	}
	r, err := c.request(args, path)
	if err != nil {
		return x.refused(c.op, err)
	}
	if wrong != nil {
		r.Wrong, r.Path = wrong, nil
	}
	r.ID, r.Token, r.Address, r.Header = x.id, x.token, x.address, x.header
	ctx, cancel := context.WithTimeout(ctx, c.op.Timeout)
	defer cancel()
	if x.h.opt.Tally != nil {
		ctx, x.tally = x.h.opt.Tally(ctx)
	}
	return x.done(c.op, x.h.engine.Do(ctx, c.op, r))
}

// header is a request header that the door hands on. Any other has no value: what REST
// sends there, a tool has no argument for.
func (x *exchange) header(name string) string {
	if !slices.Contains(x.h.door.Headers, name) {
		return ""
	}
	return strings.ToValidUTF8(strings.Join(x.r.Header.Values(name), ","), "\ufffd")
}

// readArguments reads the members of the arguments strictly; absent ones are none.
func readArguments(raw json.RawMessage) (map[string]json.RawMessage, error) {
	args := map[string]json.RawMessage{}
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return args, nil
	}
	if _, err := op.ParseStrict(raw); err != nil || raw[0] != '{' {
		return nil, fault.BadJSON
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, fault.BadJSON
	}
	return args, nil
}

// refused is the answer to a call that never reached its operation.
func (x *exchange) refused(o *op.Operation, err error) *answer {
	var f *fault.Fault
	if !errors.As(err, &f) {
		f = fault.Wrap(err)
	}
	return x.done(o, &op.Response{Status: f.Kind.Status(), Fault: f, Body: op.FaultBody(f)})
}

// done takes an operation's response as a tool's answer.
func (x *exchange) done(o *op.Operation, res *op.Response) *answer {
	x.name, x.res = o.ID, res
	if res.Raw != nil {
		res = x.unwrapped(o, res)
	}
	body := res.Body
	if res.Fault != nil && res.Fault.Kind == fault.Internal {
		body = op.FaultBody(res.Fault.With("request_id", x.id))
	}
	if len(body) == 0 {
		body = []byte("{}")
	}
	failed := res.Fault != nil || bytes.HasPrefix(body, []byte(`{"ok":false`))
	return &answer{op: o, res: res, status: res.Status, body: body, failed: failed}
}

// unwrapped takes a JSON document that an operation answers as it stands. Bytes of any other
// kind never travel over MCP.
func (x *exchange) unwrapped(o *op.Operation, res *op.Response) *op.Response {
	raw := res.Raw
	if c, ok := raw.Body.(io.Closer); ok {
		defer c.Close()
	}
	out := *res
	out.Raw = nil
	if raw.Body != nil && strings.HasPrefix(raw.ContentType, "application/json") || raw.Body != nil && strings.HasSuffix(raw.ContentType, "+json") {
		b, err := io.ReadAll(io.LimitReader(raw.Body, maxAnswer+1))
		if err == nil && len(b) <= maxAnswer && json.Valid(b) && bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) {
			out.Body = b
			return &out
		}
	}
	out.Fault = fault.Wrap(errors.New("mcp: " + o.ID + " answers bytes that are no JSON object"))
	out.Status, out.Body = out.Fault.Kind.Status(), op.FaultBody(out.Fault)
	return &out
}

// result writes the tool result. More are further members of _meta and of the result that a
// protocol version asks for; each begins with a comma.
func (a *answer) result(moreMeta, more string) []byte {
	b := make([]byte, 0, 2*len(a.body)+len(moreMeta)+len(more)+120)
	b = append(b, `{"_meta":{"http_status":`...)
	b = strconv.AppendInt(b, int64(a.status), 10)
	b = append(b, moreMeta...)
	b = append(b, `},"content":[{"type":"text","text":`...)
	b = appendQuoted(b, shown(a.body))
	b = append(b, `}],"structuredContent":`...)
	b = append(b, bytes.TrimSpace(a.body)...)
	if a.failed {
		b = append(b, `,"isError":true`...)
	}
	b = append(b, more...)
	return append(b, '}')
}

// appendQuoted writes a JSON string.
func appendQuoted(b []byte, s string) []byte {
	q, err := json.Marshal(s)
	if err != nil {
		return append(b, `""`...)
	}
	return append(b, q...)
}

// shown is a JSON body as a model reads it: what could hide or reorder text on a screen
// (control characters, with them ANSI sequences, bidirectional overrides, invisible format
// characters) is written as an escape. It stays the same JSON.
func shown(body []byte) string {
	clean := true
	for _, c := range body {
		if c >= utf8.RuneSelf || c == 0x7f {
			clean = false
			break
		}
	}
	if clean {
		return string(body)
	}
	var b strings.Builder
	b.Grow(len(body) + 64)
	for _, r := range string(body) {
		if !hidden(r) {
			b.WriteRune(r)
			continue
		}
		units := []rune{r}
		if r > 0xffff {
			hi, lo := utf16.EncodeRune(r)
			units = []rune{hi, lo}
		}
		for _, u := range units {
			b.WriteString(`\u`)
			h := strconv.FormatInt(int64(u), 16)
			b.WriteString("0000"[len(h):] + h)
		}
	}
	return b.String()
}

// hidden tells whether a rune does something else than to show a sign: control and format
// characters, line and paragraph separators, variation selectors beyond the sixteen that
// emoji use, private use. White space between JSON tokens is no content.
func hidden(r rune) bool {
	switch {
	case r == '\n', r == '\r', r == '\t':
		return false
	case r >= 0xe0100 && r <= 0xe01ef:
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co)
}
