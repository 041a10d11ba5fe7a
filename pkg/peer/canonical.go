package peer

import (
	"encoding/json"
	"unicode/utf8"
)

// canonicalBytes is the length of a value as canonical JSON (RFC 8785): sorted keys do not
// change it, escapes do.
func canonicalBytes(v any) int {
	b, err := json.Marshal(v)
	if err != nil {
		return maxInt
	}
	var tree any
	if json.Unmarshal(b, &tree) != nil {
		return maxInt
	}
	return lengthOf(tree)
}

// maxInt stands for what has no JSON: too long for every limit.
const maxInt = int(^uint(0) >> 1)

// lengthOf measures what the blocks are made of: objects, lists, texts and booleans.
func lengthOf(v any) int {
	switch v := v.(type) {
	case map[string]any:
		n := 2 + max(0, len(v)-1)
		for k, e := range v {
			n += lengthOfText(k) + 1 + lengthOf(e)
		}
		return n
	case []any:
		n := 2 + max(0, len(v)-1)
		for _, e := range v {
			n += lengthOf(e)
		}
		return n
	case string:
		return lengthOfText(v)
	default:
		b, _ := json.Marshal(v)
		return len(b)
	}
}

// lengthOfText is a string with its quotes: only quotes, backslashes and control characters
// are escaped.
func lengthOfText(s string) int {
	n := 2
	for _, r := range s {
		switch {
		case r == '"', r == '\\', r == '\b', r == '\t', r == '\n', r == '\f', r == '\r':
			n += 2
		case r < ' ':
			n += 6
		default:
			n += utf8.RuneLen(r)
		}
	}
	return n
}
