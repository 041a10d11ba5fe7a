package op

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

// macLen is how many hex digits of the code a cursor carries: 128 bits.
const macLen = 32

// Cursor makes an opaque, signed page position bound to a list and its filters.
func (c *Call) Cursor(list string, position any) string {
	b, err := json.Marshal(position)
	c.fail(err)
	s := base64.RawURLEncoding.EncodeToString(b)
	return s + "." + c.Keys.MAC("cursor:"+list, s)[:macLen]
}

// ReadCursor opens a cursor of this list; ok is false for any other string.
func (c *Call) ReadCursor(list, cursor string, position any) (ok bool) {
	s, code, found := strings.Cut(cursor, ".")
	if !found || len(code) != macLen || !c.verifyCursor(list, s, code) {
		return false
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	return err == nil && json.Unmarshal(b, position) == nil
}

func (c *Call) verifyCursor(list, s, code string) bool {
	for _, key := range append([][]byte{c.Keys.Current}, c.Keys.Previous...) {
		k := c.Keys
		k.Current = key
		if subtleEqual(k.MAC("cursor:"+list, s)[:macLen], code) {
			return true
		}
	}
	return false
}

func subtleEqual(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	var d byte
	for i := range len(a) {
		d |= a[i] ^ b[i]
	}
	return d == 0
}
