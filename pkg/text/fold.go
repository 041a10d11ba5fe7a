package text

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Fold is the form the screens read: compatibility characters become plain ones (full-width letters, ligatures), characters
// that print nothing are dropped, and the dots, slashes and quotes that only look like ASCII become ASCII. Case is kept.
// The result is for matching only and is never stored or shown.
func Fold(s string) string {
	if isASCII(s) {
		return s
	}
	return strings.Map(plain, norm.NFKC.String(strings.Map(visible, s)))
}

// visible drops what a reader cannot see. It runs before composition too: a joiner between two letters would hide a word.
func visible(r rune) rune {
	if r < 0x80 {
		return r
	}
	if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) {
		return -1
	}
	return r
}

// lookAlikes are marks that stand in for ASCII punctuation and survive NFKC.
var lookAlikes = map[rune]rune{
	'\u3002': '.', '\u00b7': '.', '\u2219': '.', '\ua4f8': '.', '\u2044': '/', '\u2215': '/', '\u29f8': '/', '\ua789': ':', '\u2236': ':', '\u05c3': ':',
	'\u2018': '\'', '\u2019': '\'', '\u201b': '\'', '\u02bc': '\'', '\u201c': '"', '\u201d': '"', '\u2010': '-', '\u2011': '-', '\u2012': '-',
	'\u2013': '-', '\u2014': '-', '\u2212': '-',
}

func plain(r rune) rune {
	if r < 0x80 {
		return r
	}
	if p, ok := lookAlikes[r]; ok {
		return p
	}
	if unicode.IsSpace(r) {
		return ' '
	}
	return visible(r)
}

// latinTwins maps Cyrillic and Greek letters to the Latin letters they are drawn like. Only the word screens use it: a word
// of another script turned into nonsense matches nothing, and an English word with one foreign letter is found.
var latinTwins = map[rune]rune{
	'а': 'a', 'в': 'b', 'с': 'c', 'ԁ': 'd', 'е': 'e', 'һ': 'h', 'і': 'i', 'ј': 'j', 'к': 'k', 'ӏ': 'l', 'м': 'm', 'о': 'o', 'р': 'p',
	'ԛ': 'q', 'ѕ': 's', 'т': 't', 'ѵ': 'v', 'ԝ': 'w', 'х': 'x', 'у': 'y', 'α': 'a', 'ε': 'e', 'ι': 'i', 'κ': 'k', 'ν': 'v', 'ο': 'o',
	'ρ': 'p', 'τ': 't', 'υ': 'u', 'χ': 'x', 'ı': 'i', 'ł': 'l', 'ø': 'o',
}

// foldWords is Fold in lower case with look-alike letters made Latin and accents dropped: what the word screens read.
func foldWords(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return strings.Map(func(r rune) rune {
		r = unicode.ToLower(r)
		if l, ok := latinTwins[r]; ok {
			return l
		}
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFKD.String(Fold(s)))
}
