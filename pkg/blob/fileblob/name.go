package fileblob

import (
	"strings"
)

// A key becomes a path below objects/: every segment but the last is a directory, whose
// name ends in dirMark, so that the keys "a" and "a/b" never meet. Bytes other than a-z,
// 0-9, hyphen, underscore and a dot that is not first are written as % and two hex digits:
// no name is special to any system, and none differs from another by case alone.
const (
	dirMark = "="
	hexDigs = "0123456789abcdef"
)

// path is the file of a valid key, relative to the store's root, with slashes.
func path(key string) string {
	segs := strings.Split(key, "/")
	for i, seg := range segs {
		segs[i] = escape(seg)
		if i < len(segs)-1 {
			segs[i] += dirMark
		}
	}
	return objectsDir + "/" + strings.Join(segs, "/")
}

func plain(c byte, first bool) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' && !first
}

func escape(seg string) string {
	var b strings.Builder
	for i := range len(seg) {
		if c := seg[i]; plain(c, i == 0) {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(hexDigs[c>>4])
			b.WriteByte(hexDigs[c&15])
		}
	}
	return b.String()
}

// unescape reads a file name back; false for names this store did not write.
func unescape(name string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] != '%' {
			b.WriteByte(name[i])
			continue
		}
		if i+2 >= len(name) {
			return "", false
		}
		hi, lo := strings.IndexByte(hexDigs, name[i+1]), strings.IndexByte(hexDigs, name[i+2])
		if hi < 0 || lo < 0 {
			return "", false
		}
		b.WriteByte(byte(hi<<4 | lo))
		i += 2
	}
	seg := b.String()
	return seg, seg != "" && escape(seg) == name
}
