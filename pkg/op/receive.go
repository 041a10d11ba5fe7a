package op

import (
	"mime"
	"net/url"

	"guildhall/pkg/fault"
	"guildhall/pkg/id"
)

// input is a received request: the parsed body and what was wrong with it.
type input struct {
	tree  any
	body  []byte
	token id.Token
	has   bool // a token that can be one was sent
}

// receive checks size, media type and JSON syntax, in this order.
func (o *Operation) receive(r *Request) (*input, error) {
	in := &input{body: r.Body}
	in.token, in.has = id.ParseToken(r.Token)
	if int64(len(r.Body)) > o.MaxJSON() {
		return nil, fault.BodyTooLarge.With("limit_bytes", o.MaxJSON())
	}
	if o.MaxQuery > 0 && r.QueryBytes > o.MaxQuery {
		return nil, fault.QueryTooLong.With("limit_bytes", o.MaxQuery)
	}
	if !o.takesBody() || o.TakesOther() && r.Stream != nil {
		return in, nil
	}
	if o.Auth == Webhook {
		return in, nil
	}
	if len(r.Body) == 0 {
		in.tree = map[string]any{}
		return in, nil
	}
	t, err := mediaType(r.ContentType)
	if o.FormBody && err == nil && t == "application/x-www-form-urlencoded" {
		return in, in.form()
	}
	if r.Transport == "rest" && (err != nil || t != jsonType) {
		return nil, fault.BadMediaType
	}
	tree, err := ParseStrict(r.Body)
	if err != nil {
		return nil, fault.BadJSON
	}
	in.tree = tree
	if _, ok := tree.(map[string]any); !ok && o.shape.raw == nil {
		return nil, fault.BadJSON
	}
	return in, nil
}

// jsonType is the media type of every body but forms and streams.
const jsonType = "application/json"

// mediaType is a content type without its parameters, which must be well formed.
func mediaType(s string) (string, error) {
	if s == jsonType { // as almost everybody writes it
		return s, nil
	}
	t, _, err := mime.ParseMediaType(s)
	return t, err
}

// form reads a form body as an object of strings.
func (in *input) form() error {
	v, err := url.ParseQuery(string(in.body))
	if err != nil {
		return fault.BadJSON.Say("The form body cannot be read.")
	}
	m := map[string]any{}
	for k := range v {
		m[k] = v.Get(k)
	}
	in.tree, in.body = m, canonical(nil, m)
	return nil
}

// value checks unknown fields, types, the operation's own rules and the general limits.
func (o *Operation) value(r *Request, in *input) (any, error) {
	schema := o.shape.body
	checked := o.takesBody() && o.shape.raw == nil && o.Auth != Webhook && r.Stream == nil
	if checked && !o.LooseBody {
		if p := schema.Unknown(in.tree, ""); p != nil {
			return nil, o.Word(p)
		}
	}
	if r.Wrong != nil {
		return nil, r.Wrong
	}
	body := in.body
	if checked && o.LooseBody {
		body = canonical(nil, schema.known(in.tree))
	}
	if dialectOf(o.Context()).StrictQuery {
		if p := o.shape.strange(r); p != nil {
			return nil, o.Word(p)
		}
	}
	v, p := o.shape.fill(o.In, r, body)
	if p != nil {
		if q := schema.checkTypes(in.tree, ""); checked && q != nil {
			p = q
		}
		return nil, o.Word(p)
	}
	if val, ok := v.(Validator); ok {
		if err := val.Validate(); err != nil {
			return nil, err
		}
	}
	if checked {
		if p := schema.Check(in.tree, ""); p != nil {
			return nil, o.Word(p)
		}
	}
	return v, nil
}
