package ddb

import (
	"fmt"
	"strconv"
	"strings"
)

// A counter's attribute is named c_ and the field. What is no letter, digit or underscore is
// written _xHH, byte by byte, so that the name can stand in an expression as it is: emulators
// disagree about placeholders. An underscore that would look like such a sequence is escaped
// too; every other name stays readable.
const (
	counterMark = "c_"
	escapeMark  = "_x"
)

func counterName(field string) string {
	var b strings.Builder
	b.WriteString(counterMark)
	for i := range len(field) {
		c := field[i]
		if isWord(c) && !strings.HasPrefix(field[i:], escapeMark) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, escapeMark+"%02X", c)
		}
	}
	return b.String()
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// counterField is the field of a counter's attribute; not ok when it is none.
func counterField(name string) (field string, ok bool) {
	rest, ok := strings.CutPrefix(name, counterMark)
	if !ok {
		return "", false
	}
	var b strings.Builder
	for {
		plain, code, escaped := strings.Cut(rest, escapeMark)
		b.WriteString(plain)
		if !escaped {
			return b.String(), true
		}
		if len(code) < 2 {
			return "", false
		}
		c, err := strconv.ParseUint(code[:2], 16, 8)
		if err != nil {
			return "", false
		}
		b.WriteByte(byte(c))
		rest = code[2:]
	}
}
