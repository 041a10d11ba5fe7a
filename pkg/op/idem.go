package op

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"time"
	"unicode/utf8"

	"guildhall/pkg/fault"
	"guildhall/pkg/table"
)

// idempotency is what an Idempotency-Key means for one request.
type idempotency struct {
	o  *Operation
	r  *Request
	in *input

	hash     string
	conflict bool
}

// replay is the stored answer of a committed write.
type replay struct {
	Hash   string            `json:"hash"`
	Status int               `json:"status"`
	Body   json.RawMessage   `json:"body"`
	Header map[string]string `json:"header,omitempty"`
	At     time.Time         `json:"at"`
}

// wanted tells whether the request carries a key that this operation honours.
func (k idempotency) wanted() bool {
	return k.o.Idempotent != KeyIgnored && validKey(k.r.Key)
}

func validKey(s string) bool {
	return s != "" && utf8.ValidString(s) && utf8.RuneCountInString(s) <= MaxKeyLen
}

func (k idempotency) row(who string) table.Key {
	sum := sha256.Sum256([]byte(k.r.Key))
	return table.Key{PK: k.o.Context() + ".IDEM#" + who + "#" + k.o.ID + "#" + hex.EncodeToString(sum[:16]), SK: "ROOT"}
}

// keep is how long a used key stands for its answer.
func (k idempotency) keep() time.Duration { return cmp.Or(dialectOf(k.o.Context()).Keep, KeepReplays) }

// who owns the key: the account, or nobody where no credential is needed.
func (k idempotency) who(account string) string {
	if account == "" || k.o.Auth == Public {
		return "nobody"
	}
	return account
}

// fault is the refusal of a missing, overlong or used key.
func (k idempotency) fault() error {
	switch {
	case k.conflict:
		return fault.KeyConflict
	case k.o.Idempotent == KeyRequired && !validKey(k.r.Key):
		return fault.KeyRequired
	case k.o.Idempotent == KeyOptional && k.r.Key != "" && !validKey(k.r.Key):
		return fault.KeyRequired
	}
	return nil
}

// fingerprint is the hash of the path ids and the body: with sorted keys, or as it came
// where it is a stream, with the X- headers that say the rest of it.
func (k *idempotency) fingerprint() string {
	if k.hash == "" {
		b := make([]byte, 0, 512)
		for _, n := range PathNames(k.o.Path) {
			b = canonical(b, k.r.Path[n])
		}
		b = canonical(b, k.in.tree)
		if s, ok := k.r.Stream.(*digested); ok {
			b = append(b, s.sum()...)
			b = k.o.shape.words(b, k.r)
		}
		sum := sha256.Sum256(b)
		k.hash = hex.EncodeToString(sum[:])
	}
	return k.hash
}

// lookup returns the stored answer when the key was used for this very request, and
// remembers a conflict when it was used for another one: a limit answers before that.
func (k *idempotency) lookup(c *Call) (*Response, error) {
	if !k.wanted() {
		return nil, nil
	}
	old, found, err := Load[replay](c, k.row(k.who(c.Caller.ID)))
	if err != nil || !found || !old.At.Add(k.keep()).After(c.Now) {
		return nil, err
	}
	if old.Hash != k.fingerprint() {
		k.conflict = true
		return nil, nil
	}
	h := map[string]string{"Idempotent-Replayed": "true"}
	for n, v := range old.Header {
		h[n] = v
	}
	return &Response{Status: old.Status, Header: h, Body: old.Body, Replayed: true}, nil
}

// overtaken looks again before a call with a key is refused for what it read: its twin may
// have committed between two of its reads, so that it saw what the twin did but not that it
// was the twin. Then the call is decided again, and replays. late is true when it must be,
// or when looking failed.
func (k *idempotency) overtaken(c *Call, refusal error) (late bool, err error) {
	var f *fault.Fault
	if !k.wanted() || c.err != nil || !errors.As(refusal, &f) || f.Kind == fault.Internal {
		return false, nil
	}
	key := k.row(k.who(c.Caller.ID))
	rows, err := c.Scan(key)
	if err != nil {
		return true, err
	}
	for _, r := range rows {
		if r.Found() && r.Version != c.rows[key].Version {
			return true, table.ErrConflict
		}
	}
	return false, nil
}

// record stages the answer under the key. Secrets are left out of it.
func (k *idempotency) record(c *Call, out any, res *Response) error {
	if !k.wanted() || res.Raw != nil {
		return nil
	}
	body := res.Body
	if bare, secret := withoutSecrets(out); secret {
		b, err := encodeBody(k.o, bare)
		if err != nil {
			return err
		}
		body = b
	}
	rec := replay{Hash: k.fingerprint(), Status: res.Status, Body: body, At: c.Now}
	if h, ok := out.(Headerer); ok {
		rec.Header = map[string]string{}
		for n, v := range h.Headers() {
			if n != "Set-Cookie" {
				rec.Header[n] = v
			}
		}
	}
	data, err := rec.encode()
	if err == nil {
		c.put(k.row(k.who(c.Caller.ID)), data, c.Now.Add(k.keep()))
	}
	return err
}

// encode is Encode for an answer whose body is encoded already: nobody reads it again.
func (r replay) encode() ([]byte, error) {
	body := r.Body
	r.Body = nil
	b, err := marshal(r)
	if err != nil || body == nil {
		return b, err
	}
	head, tail, _ := bytes.Cut(b, []byte("null")) // the body: hash and status stand before it
	return pack(slices.Concat(head, body, tail))
}

// withoutSecrets copies an output without its fields tagged secret:"true", at any depth
// of structs.
func withoutSecrets(out any) (any, bool) {
	v, found := scrub(reflect.ValueOf(out))
	if !found {
		return out, false
	}
	return v.Interface(), true
}

func scrub(v reflect.Value) (reflect.Value, bool) {
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		inner, found := scrub(v.Elem())
		if !found {
			return v, false
		}
		cp := reflect.New(inner.Type())
		cp.Elem().Set(inner)
		return cp, true
	}
	if v.Kind() != reflect.Struct {
		return v, false
	}
	found := false
	cp := reflect.New(v.Type()).Elem()
	cp.Set(v)
	for i := range v.NumField() {
		f := cp.Field(i)
		if !f.CanSet() {
			continue
		}
		if v.Type().Field(i).Tag.Get("secret") == "true" {
			f.SetZero()
			found = true
		} else if inner, secret := scrub(f); secret {
			f.Set(inner)
			found = true
		}
	}
	return cp, found
}
