// Package text holds the pure rules about strangers' words: how a length is counted, which characters are refused, and the
// screens that keep secrets, links, credential requests and off-platform money out of texts that others will read.
//
// Nothing here does I/O, keeps state or looks at a clock. Every function runs in time linear in its input, so a hostile
// megabyte costs milliseconds. Screens work on a folded copy of the text (see Fold), so zero-width characters, full-width
// letters and mixed case change nothing.
package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Normalize turns CR LF and lone CR into LF, composes the text to NFC and trims outer white space: the form every text is
// measured, screened and stored in (bench contract 2.11).
func Normalize(s string) string {
	if strings.IndexByte(s, '\r') >= 0 {
		s = strings.ReplaceAll(s, "\r\n", "\n")
		s = strings.ReplaceAll(s, "\r", "\n")
	}
	if !isASCII(s) {
		s = norm.NFC.String(s)
	}
	return strings.TrimSpace(s)
}

// Len counts Unicode code points after NFC composition. It does not trim: measure Normalize(s) where a limit counts trimmed
// text.
func Len(s string) int {
	if isASCII(s) {
		return len(s)
	}
	if !norm.NFC.IsNormalString(s) {
		s = norm.NFC.String(s)
	}
	return utf8.RuneCountInString(s)
}

// HasControl says whether s holds a control character other than newline and tab (after Normalize there is no CR left).
func HasControl(s string) bool {
	for _, r := range s {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return true
		}
	}
	return false
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Printable drops the control characters HasControl finds, for texts a rule says may not be refused.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, s)
}
