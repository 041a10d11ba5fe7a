package op

import "net/url"

// Early is what a request carries before anything of it was checked but its syntax.
type Early struct {
	Path   map[string]string
	Query  url.Values
	Header func(string) string
	// Key is the Idempotency-Key as it came.
	Key string
	// Body is the parsed body: maps, slices, strings, json.Numbers, bools and nil.
	Body any
}

// Canonical is the body without some of its top-level members, with sorted keys: the form
// that is hashed.
func (e Early) Canonical(without ...string) []byte {
	m, ok := e.Body.(map[string]any)
	if !ok {
		return canonical(nil, e.Body)
	}
	rest := make(map[string]any, len(m))
	for k, v := range m {
		rest[k] = v
	}
	for _, k := range without {
		delete(rest, k)
	}
	return canonical(nil, rest)
}

// early lets the operation's context answer or refuse before anything else is looked at.
func (o *Operation) early(c *Call, r *Request, in *input) (*Response, error) {
	if o.Early == nil {
		return nil, nil
	}
	header := r.Header
	if header == nil {
		header = func(string) string { return "" }
	}
	answer, err := o.Early(c, Early{Path: r.Path, Query: r.Query, Header: header, Key: r.Key, Body: in.tree})
	if err != nil || answer == nil {
		return nil, err
	}
	res, err := o.respond(answer, map[string]string{"Idempotent-Replayed": "true"})
	if res != nil {
		res.Replayed = true
	}
	return res, err
}
