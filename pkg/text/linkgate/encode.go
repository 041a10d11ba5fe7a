package linkgate

import "strings"

const (
	unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
	pathBytes  = unreserved + "!$&'()*+,;=:@/"
	queryBytes = pathBytes + "?"
	hexDigits  = "0123456789ABCDEF"
)

// encode writes what is not in plain as %XX and keeps what is encoded already, its digits in upper case; ok is false for
// a percent sign without two hex digits behind it.
func encode(s, plain string) (out string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '%':
			if i+2 >= len(s) || unhex(s[i+1]) < 0 || unhex(s[i+2]) < 0 {
				return "", false
			}
			b.WriteString(strings.ToUpper(s[i : i+3]))
			i += 2
		case strings.IndexByte(plain, c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
		}
	}
	return b.String(), true
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// decode undoes one round of percent signs; what encodes nothing stays.
func decode(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && unhex(s[i+1]) >= 0 && unhex(s[i+2]) >= 0 {
			b = append(b, byte(unhex(s[i+1])<<4|unhex(s[i+2])))
			i += 2
			continue
		}
		b = append(b, s[i])
	}
	return string(b)
}

// Same names what an address that Check wrote leads to: two addresses that a server cannot
// tell apart have the same. The fragment is never sent, an empty query asks nothing, and a
// letter behind a percent sign is that letter (RFC 3986 6.2.2.2).
func Same(normal string) string {
	normal, _, _ = strings.Cut(normal, "#")
	normal = strings.TrimSuffix(normal, "?")
	var b strings.Builder
	for i := 0; i < len(normal); i++ {
		if normal[i] == '%' && i+2 < len(normal) && unhex(normal[i+1]) >= 0 && unhex(normal[i+2]) >= 0 {
			if c := byte(unhex(normal[i+1])<<4 | unhex(normal[i+2])); strings.IndexByte(unreserved, c) >= 0 {
				b.WriteByte(c)
				i += 2
				continue
			}
		}
		b.WriteByte(normal[i])
	}
	return b.String()
}

// maxDecodings is how often names are decoded before they are judged: servers behind servers decode more than once.
const maxDecodings = 4

// deepDecode decodes until nothing changes.
func deepDecode(s string) string {
	for range maxDecodings {
		d := decode(s)
		if d == s {
			break
		}
		s = d
	}
	return s
}

// decent looks behind the percent signs: no NUL anywhere, and nothing invisible in a path. A query may carry line ends: it
// often holds somebody's text.
func decent(escaped string, path bool) bool {
	if !strings.Contains(escaped, "%") {
		return true
	}
	plain := deepDecode(escaped)
	if !path {
		return strings.IndexByte(plain, 0) < 0
	}
	return strings.IndexFunc(plain, hidden) < 0
}

// resolve removes dot segments as browsers do, encoded dots included.
func resolve(path string) string {
	if !strings.Contains(path, ".") && !strings.Contains(path, "%2E") {
		return path
	}
	var out []string
	segments := strings.Split(path[1:], "/")
	for i, s := range segments {
		last := i == len(segments)-1
		switch strings.ReplaceAll(s, "%2E", ".") {
		case ".":
		case "..":
			out = out[:max(len(out)-1, 0)]
		default:
			out = append(out, s)
			continue
		}
		if last {
			out = append(out, "")
		}
	}
	return "/" + strings.Join(out, "/")
}
