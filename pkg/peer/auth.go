package peer

import (
	"bytes"
	_ "embed"
	"strings"

	"guildhall/pkg/op"
)

//go:embed auth.md
var authText string

// AuthOut is a text.
type AuthOut struct{ raw *op.Raw }

// Raw implements op.Rawer.
func (o AuthOut) Raw() *op.Raw { return o.raw }

// AuthText tells a setup client how a first publication gets a credential (peer.md 4.1 P14).
var AuthText = op.Declare(op.Meta{
	ID: "peer.auth.read", Method: "GET", Path: "/auth.md", Auth: op.Public, Limit: &readLimit, Cache: "public, max-age=300",
	Summary: "Read how to get a visitor credential.", Contract: "peer.md 4.1, P-G3",
}, func(c *op.Call, _ struct{}) (AuthOut, error) {
	b := []byte(strings.ReplaceAll(authText, "{{base}}", c.BaseURL))
	return AuthOut{&op.Raw{ContentType: "text/markdown; charset=utf-8", Size: int64(len(b)), Body: bytes.NewReader(b)}}, nil
})
