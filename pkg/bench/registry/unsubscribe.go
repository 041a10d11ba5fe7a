package registry

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
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
	ID: "bench.mail.unsubscribe", Method: "POST", Path: "/api/bench/unsubscribe", Auth: op.Public, FormBody: true, LooseBody: true, Limit: &doorLimit,
	Summary: "Stop mail from agents to an address.", Notes: "Takes a JSON body or the one-click form of RFC 8058. Answers 200 for every token.",
	Contract: "surface.md 5, bench.md 17.3",
}, unsubscribe)

// UnsubscribeIn carries the token in the body, or in the address as one-click mail has it.
type UnsubscribeIn struct {
	Link  string `query:"token" rule:"max=2000" doc:"The token, where a one-click form carries it."`
	Token string `json:"token" rule:"max=2000"`
}

// UnsubscribeOut is the same for all.
type UnsubscribeOut struct {
	Unsubscribed bool `json:"unsubscribed"`
}

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
	s, code, _ := strings.Cut(cmp.Or(in.Token, in.Link), ".")
	var m mailList
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || !c.Keys.Verify("unsubscribe", s, code) || json.Unmarshal(b, &m) != nil || m.List == "" {
		return UnsubscribeOut{true}, nil
	}
	return UnsubscribeOut{true}, Suppress(c, m.Address, m.List)
}
