package text

import "strings"

// maxEnding is the longest ending of a file name that is kept, in characters with its dot.
const maxEnding = 20

// ShortName cuts a file name to so many characters, before its ending: what a name ends in
// says what a computer does with the file, and a cut never makes another ending of it.
func ShortName(name string, most int) string {
	runes := []rune(name)
	if len(runes) <= most {
		return name
	}
	ending := []rune(name[max(strings.LastIndexByte(name, '.'), 0):])
	if len(ending) > min(maxEnding, most/2) || ending[0] != '.' {
		ending = []rune("_") // no ending: what is before it must not become one
	}
	return string(runes[:most-len(ending)]) + string(ending)
}
