package account

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// LinkExpired is the answer to a used, old or unknown link, all alike (surface.md 5).
var LinkExpired = fault.New(fault.Unauthorized, "link_expired", "This link has been used or is too old. Please ask for a new one.")

// Link is a stored single-use link. Its secret is only in the mail.
type Link struct {
	Purpose string          `json:"purpose"`
	Data    json.RawMessage `json:"data"`
	Expires time.Time       `json:"expires"`
}

// secretLen is the length of a link's secret in bytes.
const secretLen = 32

func linkKey(context, secret string) table.Key {
	sum := sha256.Sum256([]byte(secret))
	return table.Key{PK: context + ".LINK#" + hex.EncodeToString(sum[:16]), SK: "ROOT"}
}

// NewLink stages a single-use link of a context for one purpose and returns its secret.
func NewLink(c *op.Call, context, purpose string, data any, life time.Duration) string {
	secret := base64.RawURLEncoding.EncodeToString(c.Random(secretLen))
	b, err := json.Marshal(data)
	if err != nil {
		panic("account: link data cannot be encoded: " + err.Error())
	}
	expires := c.Now.Add(life)
	c.CreateUntil(linkKey(context, secret), Link{purpose, b, expires}, expires.Add(24*time.Hour))
	return secret
}

// UseLink reads a link and stages its end. Any link that is not alive for this purpose
// is LinkExpired.
func UseLink(c *op.Call, context, purpose, secret string, data any) error {
	if len(secret) != base64.RawURLEncoding.EncodedLen(secretLen) {
		return LinkExpired
	}
	key := linkKey(context, secret)
	l, found, err := op.Load[Link](c, key)
	if err != nil {
		return err
	}
	if !found || l.Purpose != purpose || !c.Now.Before(l.Expires) {
		return LinkExpired
	}
	c.Delete(key)
	return json.Unmarshal(l.Data, data)
}
