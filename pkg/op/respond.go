package op

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"guildhall/pkg/fault"
)

// respond turns an operation's output into the answer.
func (o *Operation) respond(out any, headers map[string]string) (*Response, error) {
	res := &Response{Status: o.Success(), Header: maps.Clone(headers)}
	if s, ok := out.(Statuser); ok {
		res.Status = s.StatusCode()
	}
	if h, ok := out.(Headerer); ok {
		for n, v := range h.Headers() {
			res.Header[n] = v
		}
	}
	if b, ok := out.(Besider); ok {
		res.Beside = b.Beside()
	}
	if r, ok := out.(Rawer); ok {
		if raw := r.Raw(); raw != nil {
			res.Raw = raw
			return res, nil
		}
	}
	body, err := encodeBody(o, out)
	res.Body = body
	return res, err
}

// encodeBody encodes an output in the envelope of its context.
func encodeBody(o *Operation, out any) ([]byte, error) {
	if !dialectOf(o.Context()).OK {
		return marshal(out)
	}
	var buf bytes.Buffer
	buf.WriteString(okHead)
	if err := encode(&buf, out); err != nil {
		return nil, err
	}
	b := buf.Bytes()
	switch n := len(okHead); {
	case len(b) < n+2 || b[n] != '{':
		return b[n:], nil
	case b[n+1] != '}':
		b[n] = ','
		return b, nil
	}
	return append(b[:len(okHead)], '}'), nil
}

// okHead is how the object of a success begins.
const okHead = `{"ok":true`

// marshal is json.Marshal without the escapes that only matter inside a page.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	err := encode(&buf, v)
	return buf.Bytes(), err
}

func encode(buf *bytes.Buffer, v any) error {
	e := json.NewEncoder(buf)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	if err != nil {
		buf.Reset()
	} else {
		buf.Truncate(buf.Len() - 1) // the line end
	}
	return err
}

// refuse turns an error into the answer; res may carry headers and the log's facts.
func refuse(o *Operation, err error, res *Response) *Response {
	f := fault.From(err)
	if d := dialectOf(o.Context()); d.Refuse != nil {
		f = d.Refuse(f)
	}
	if res == nil {
		res = &Response{}
	}
	if res.Header == nil {
		res.Header = map[string]string{}
	}
	res.Fault, res.Raw, res.Status, res.Body = f, nil, f.Kind.Status(), FaultBody(f)
	if f.RetryAfter > 0 {
		res.Header["Retry-After"] = strconv.Itoa(f.RetryAfter)
	}
	return res
}

// FaultBody is the error envelope. A fault without a sentence, such as the bare 404 of
// the seal law, is exactly {"ok":false,"error":code}.
func FaultBody(f *fault.Fault) []byte {
	m := map[string]any{}
	if f.Message != "" {
		m["message"] = f.Message
	}
	if f.Field != "" {
		m["field"] = f.Field
	}
	if f.Fix != "" {
		m["fix"] = f.Fix
	}
	for k, v := range f.Extra {
		m[k] = v
	}
	head, err := marshal(f.Code)
	rest, err2 := marshal(m)
	if err != nil || err2 != nil {
		return []byte(`{"ok":false,"error":"internal_error"}`)
	}
	b := append([]byte(`{"ok":false,"error":`), head...)
	if len(m) > 0 {
		b = append(b, ',')
	}
	return append(b, rest[1:]...)
}

// Envelope wraps a REST success as its context's dialect says (Commons: {"data": …}), with
// what stands beside it.
func (o *Operation) Envelope(res *Response) []byte {
	if !dialectOf(o.Context()).Data {
		return res.Body
	}
	b := append([]byte(`{"data":`), res.Body...)
	for _, name := range slices.Sorted(maps.Keys(res.Beside)) {
		member, err := marshal(map[string]any{name: res.Beside[name]})
		if err == nil {
			b = append(append(b, ','), member[1:len(member)-1]...)
		}
	}
	return append(b, '}')
}
