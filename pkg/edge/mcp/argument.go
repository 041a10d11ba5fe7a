package mcp

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
)

// maxPathValue bounds a value that stands in a path, in bytes: it must fit a table key. REST
// has the same limit on a part of its paths.
const maxPathValue = 900

// badKey stands for an Idempotency-Key that is no string: it is no valid one either, so the
// engine refuses it where it refuses those.
const badKey = "\xff"

// legal tells whether a value can be a part of a path.
func legal(s string) bool {
	return s != "" && s != "." && s != ".." && len(s) <= maxPathValue && strings.IndexByte(s, 0) < 0
}

// request makes the request that the REST twin of a call would have been. Its error is what
// REST's router would have answered before the operation was reached.
func (c *choice) request(args map[string]json.RawMessage, path map[string]string) (*op.Request, error) {
	r := &op.Request{Transport: "mcp", ContentType: "application/json", Path: path, Query: url.Values{}}
	if r.Path == nil {
		r.Path = map[string]string{}
	}
	if raw, sent := args[keyArgument]; sent && !c.ownKey {
		delete(args, keyArgument)
		r.Key = keyOf(raw)
	}
	members := map[string]json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		p, isParam := c.params[name]
		var err error
		switch raw := args[name]; {
		case isParam && p.From == "path" && path[name] == "":
			err = setPath(r, name, raw)
		case isParam && p.From == "query" && c.op.ToolQuery == "":
			err = setQuery(r, p, raw)
		case name == c.op.ToolQuery && name != "":
			err = setQueries(r, raw)
		case name == c.op.ToolArg && name != "":
			r.Body = raw
		case c.body && c.op.ToolArg == "" && c.takes(name):
			members[name] = raw
		case r.Wrong == nil:
			r.Wrong = c.op.Word(&op.Problem{Field: name, Keyword: "unknown", Name: name})
		}
		if err != nil {
			return nil, err
		}
	}
	if len(members) > 0 {
		r.Body = object(members)
	}
	return r, nil
}

// keyOf reads an idempotency key.
func keyOf(raw json.RawMessage) string {
	var s *string
	switch err := json.Unmarshal(raw, &s); {
	case err != nil:
		return badKey
	case s == nil:
		return ""
	}
	return *s
}

// object puts members together to an object again, each value as it was sent.
func object(members map[string]json.RawMessage) []byte {
	b := []byte{'{'}
	for i, name := range slices.Sorted(maps.Keys(members)) {
		if i > 0 {
			b = append(b, ',')
		}
		k, _ := json.Marshal(name)
		b = append(append(append(b, k...), ':'), members[name]...)
	}
	return append(b, '}')
}

// text is an argument as a path or a query string would carry it; sent is false for null.
func text(raw json.RawMessage) (s string, sent bool) {
	if bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		return "", false
	}
	if s, ok := scalar(raw); ok {
		return s, true
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return "", false
	}
	return b.String(), true
}

func setPath(r *op.Request, name string, raw json.RawMessage) error {
	s, sent := text(raw)
	if !sent {
		return nil
	}
	if !legal(s) {
		return fault.RouteNotFound
	}
	r.Path[name] = s
	return nil
}

// setQuery takes a scalar as it is and a list as several values, or, where the operation
// reads one string, as one with commas.
func setQuery(r *op.Request, p op.Param, raw json.RawMessage) error {
	var list []json.RawMessage
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
		if err := json.Unmarshal(raw, &list); err != nil {
			return errQuery
		}
	} else {
		list = []json.RawMessage{raw}
	}
	var values []string
	for _, e := range list {
		s, sent := text(e)
		switch {
		case !sent:
			continue
		case strings.IndexByte(s, 0) >= 0:
			return errQuery
		}
		values = append(values, s)
	}
	if len(values) > 1 && p.Schema.Type == "string" {
		values = []string{strings.Join(values, ",")}
	}
	if len(values) > 0 {
		r.Query[p.Name] = values
	}
	return nil
}

// setQueries takes an object of strings as the query.
func setQueries(r *op.Request, raw json.RawMessage) error {
	var values map[string]*string
	if err := json.Unmarshal(raw, &values); err != nil {
		return errQuery
	}
	for name, v := range values {
		if v == nil || strings.IndexByte(*v+name, 0) >= 0 {
			return errQuery
		}
		r.Query.Set(name, *v)
	}
	return nil
}
