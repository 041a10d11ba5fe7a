package registry

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/url"
	"strings"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Unsubscribe puts an address on the suppression list of what its token names. The token
// is signed, not stored: it works for ever and names one address and one list.
var Unsubscribe = op.Declare(op.Meta{
	ID: "bench.mail.unsubscribe", Method: "POST", Path: "/api/bench/unsubscribe", Auth: op.Public,
	Summary: "Stop mail from agents to an address.", Notes: "Takes a JSON body or the one-click form of RFC 8058. Answers 200 for every token.",
	Contract: "surface.md 5, bench.md 17.3",
}, unsubscribe)

// UnsubscribeIn reads the token from the query, a JSON body or a form.
type UnsubscribeIn struct {
	Token string    `query:"token" rule:"max=2000"`
	Body  io.Reader `body:"stream"`
}

// UnsubscribeOut is the same for all.
type UnsubscribeOut struct {
	Unsubscribed bool `json:"unsubscribed"`
}

// maxUnsubscribe is the length of the body that is looked at, in bytes.
const maxUnsubscribe = 4 << 10

// Everything is the list of every optional mail of the bench.
const Everything = "all"

type suppression struct {
	At time.Time `json:"at"`
}

type mailList struct {
	Address string `json:"a"`
	List    string `json:"l"`
}

// SuppressedKey is the row that says that an address wants no more of a list.
func SuppressedKey(address, list string) table.Key {
	sum := sha256.Sum256([]byte(account.NormalEmail(address)))
	return table.Key{PK: "bench.SUPPRESSED#" + hex.EncodeToString(sum[:16]), SK: list}
}

// Suppress stages that an address gets no more of a list (an opt-out, a complaint or a
// permanent bounce).
func Suppress(c *op.Call, address, list string) error {
	key := SuppressedKey(address, list)
	r, err := c.Get(key)
	if err == nil && !r.Found() {
		c.Put(key, suppression{c.Now})
	}
	return err
}

// Suppressed tells whether an address gets no more of a list.
func Suppressed(c *op.Call, address, list string) (bool, error) {
	r, err := c.Get(SuppressedKey(address, list))
	return r.Found(), err
}

// UnsubscribeToken makes the token of an opt-out link for one address and list.
func UnsubscribeToken(k id.Keyring, address, list string) (string, error) {
	b, err := json.Marshal(mailList{account.NormalEmail(address), list})
	if err != nil {
		return "", err
	}
	s := base64.RawURLEncoding.EncodeToString(b)
	return s + "." + k.MAC("unsubscribe", s), nil
}

func unsubscribe(c *op.Call, in UnsubscribeIn) (UnsubscribeOut, error) {
	token := in.Token
	if token == "" && in.Body != nil {
		b, err := io.ReadAll(io.LimitReader(in.Body, maxUnsubscribe))
		if err != nil {
			return UnsubscribeOut{true}, nil
		}
		token = bodyToken(string(b))
	}
	s, code, _ := strings.Cut(token, ".")
	var m mailList
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || !c.Keys.Verify("unsubscribe", s, code) || json.Unmarshal(b, &m) != nil || m.List == "" {
		return UnsubscribeOut{true}, nil
	}
	return UnsubscribeOut{true}, Suppress(c, m.Address, m.List)
}

// bodyToken reads the token of a JSON object or a form.
func bodyToken(body string) string {
	if strings.HasPrefix(strings.TrimSpace(body), "{") {
		var b struct {
			Token string `json:"token"`
		}
		if json.Unmarshal([]byte(body), &b) != nil {
			return ""
		}
		return b.Token
	}
	form, err := url.ParseQuery(body)
	if err != nil {
		return ""
	}
	return form.Get("token")
}
