package text

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// What PersonIdentity finds.
const (
	IdentityEmail   = "email address"
	IdentityPhone   = "phone number"
	IdentityAddress = "street address"
)

// PersonIdentity says whether s carries an email address, a phone number or a street address (bench contract 4.7): a text
// that does is not published and earns a warning at posting. It leans towards finding too much.
func PersonIdentity(s string) (kind string, found bool) {
	s = Fold(s)
	switch {
	case hasEmail(s):
		return IdentityEmail, true
	case hasPhone(s):
		return IdentityPhone, true
	case hasAddress(s):
		return IdentityAddress, true
	}
	return "", false
}

func hasEmail(s string) bool {
	if !strings.ContainsAny(s, "@") && !strings.Contains(s, "at") {
		return false
	}
	s = strings.NewReplacer(" [at] ", "@", "[at]", "@", " (at) ", "@", "(at)", "@").Replace(defang(strings.ToLower(s)))
	for i := 0; i < len(s); i++ {
		if s[i] != '@' || i == 0 || !wordDash(s[i-1]) && s[i-1] != '+' && s[i-1] < 0x80 {
			continue
		}
		n := run(s[i+1:], hostByte, maxHostBytes)
		host := strings.Trim(s[i+1:i+1+n], ".-")
		if dot := strings.LastIndexByte(host, '.'); dot > 0 && len(host)-dot > 2 && lower(host[dot+1]) {
			return true
		}
	}
	return false
}

func hostByte(c byte) bool { return alnum(c) || c == '.' || c == '-' || c >= 0x80 }

// Digits of a phone number, country code included.
const (
	minPhoneDigits = 7
	maxPhoneDigits = 15
)

var phoneWords = words("phone call text tel telephone mobile cell whatsapp sms number reach ring fon")

// hasPhone walks the digit sequences of s once and judges each by its print: +49 30 1234567, (415) 555-0100, 415-555-0100,
// 020 7946 0958, ten digits on end, or any seven digits behind a word like "call".
func hasPhone(s string) bool {
	for i := 0; i < len(s); {
		if !isDigit(s[i]) && s[i] != '+' && s[i] != '(' {
			i++
			continue
		}
		n, digits := phoneRun(s[i:])
		if n == 0 {
			i++
			continue
		}
		if digits >= minPhoneDigits && digits <= maxPhoneDigits && !glued(s, i, n) && phonePrint(s, i, s[i:i+n], digits) {
			return true
		}
		i += n
	}
	return false
}

func phoneRun(s string) (n, digits int) {
	last := 0
	for n < len(s) && n < 40 {
		c := s[n]
		switch {
		case isDigit(c):
			digits++
			last = n + 1
		case c == '+' && n > 0:
			return last, digits
		case c == '+' || c == '(' || c == ')' || c == ' ' || c == '-' || c == '.' || c == '/':
			if n-last >= 3 {
				return last, digits
			}
		default:
			return last, digits
		}
		n++
	}
	return last, digits
}

func glued(s string, i, n int) bool {
	return i > 0 && (alnum(s[i-1]) || s[i-1] == '$' || s[i-1] == '#' || s[i-1] == '_') || i+n < len(s) && (alnum(s[i+n]) || s[i+n] == '_' || s[i+n] == '%')
}

var phonePrints = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:\(\d{3}\) ?\d{3}[-. ]\d{4}|1?[-. ]?\d{3}[-. ]\d{3}[-. ]\d{4}|1?[2-9]\d{9}|0\d{1,4}[-./ ]\d{3,8}(?:[-./ ]\d{2,6}){0,3}|\(0\d{1,4}\) ?\d{3,8}(?:[- ]\d{2,5})?|0[1-9]\d{8,9}|0\d(?:[. ]\d{2}){4})$`)
})

func phonePrint(s string, at int, p string, digits int) bool {
	if p[0] == '+' {
		return digits >= 8
	}
	if phonePrints().MatchString(p) {
		return true
	}
	if looksLikeDate(p) {
		return false
	}
	toks := tokens(s[max(0, at-40):at])
	for _, t := range toks[max(0, len(toks)-3):] {
		if phoneWords.has(t) {
			return true
		}
	}
	return false
}

// looksLikeDate spares 2026-07-28 and 28.07.2026.
func looksLikeDate(p string) bool {
	return len(p) >= 8 && len(p) <= 10 && (strings.HasPrefix(p, "19") || strings.HasPrefix(p, "20") || strings.Contains(p, ".20") || strings.Contains(p, "/20"))
}

var streets = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:^|[^\w$.,:])\d{1,6}[a-z]?,? (?:(?:[\pL][\pL'.-]{0,24}|\d{1,3}(?:st|nd|rd|th)) ){1,4}(street|st|avenue|ave|road|rd|boulevard|blvd|lane|ln|drive|dr|court|ct|terrace|highway|hwy|parkway|pkwy|square|sq|place|pl|way|close|crescent|alley|row|circle|cir)\b` +
		`|(?:^|[^\pL])(?:p\.? ?o\.? ?box|postfach) \d{2,}` +
		`|\pL{3,30}(?:straße|strasse|str\.|allee|platz|gasse|weg) \d{1,4}\b` +
		`|\b\d{1,4},? (?:rue|avenue|boulevard|via|calle|rua|plaza|piazza) (?:d[eu]l?a? )?\pL{3,}` +
		`|\b(?:via|calle|rua|piazza|plaza) (?:d[eu]l?a? )?\pL{3,}(?: \pL{3,})?,? \d{1,4}\b`)
})

// everyday are words between a number and a street word that make it no address: "5 minute drive", "2 way", "1 place".
var everyday = words("minute minutes min mins hour hours day days week weeks mile miles km star best great good better other different more way ways place places of the in and or with for your my our a to step steps people person seat seats that this each")

func hasAddress(s string) bool {
	if !strings.ContainsAny(s, "0123456789") {
		return false
	}
	for _, m := range streets().FindAllString(s, -1) {
		if !everydayPhrase(m) {
			return true
		}
	}
	return false
}

// everydayPhrase judges a match: capital letters in it make it a name whatever the words are.
func everydayPhrase(m string) bool {
	capitals := 0
	for i, r := range m {
		if unicode.IsUpper(r) && (i == 0 || !unicode.IsLetter(rune(m[i-1]))) {
			capitals++
		}
	}
	if capitals >= 2 {
		return false
	}
	for _, w := range tokens(m) {
		if everyday.has(w) {
			return true
		}
	}
	return false
}
