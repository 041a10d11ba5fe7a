package text

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// Names of what Secret finds. They may be shown and logged; the match itself never is.
const (
	SecretPrivateKey = "private key"
	SecretAWS        = "AWS access key"
	SecretGitHub     = "GitHub token"
	SecretStripe     = "Stripe key"
	SecretSlack      = "Slack token"
	SecretGoogle     = "Google key"
	SecretModel      = "model provider key"
	SecretService    = "service token"
	SecretJWT        = "signed token"
	SecretURL        = "address with a password"
	SecretBearer     = "bearer token"
	SecretHexKey     = "hexadecimal private key"
	SecretOwn        = "Guildhall token"
	SecretCard       = "card number"
	SecretPhrase     = "recovery phrase"
	SecretAssigned   = "password or key"
)

// Secret says whether s carries something that opens a door, and what kind (bench contract 2.10). Talking about secrets
// ("please reset your password") is clean; carrying one is not. The answer never includes the match.
func Secret(s string) (name string, found bool) {
	s = Fold(s)
	if name := prefixedSecret(s); name != "" {
		return name, true
	}
	for _, rule := range [...]struct {
		name string
		has  func(string) bool
	}{
		{SecretPrivateKey, hasPEM}, {SecretOwn, hasOwnToken}, {SecretJWT, hasJWT}, {SecretURL, hasURLPassword},
		{SecretBearer, hasBearer}, {SecretHexKey, hasHexKey}, {SecretCard, hasCard}, {SecretPhrase, hasPhrase},
		{SecretAssigned, hasAssignment},
	} {
		if rule.has(s) {
			return rule.name, true
		}
	}
	return "", false
}

// prefixRule is a token that announces itself: a fixed prefix, then at least min characters of a set.
type prefixRule struct {
	name, prefix string
	set          func(byte) bool
	min          int
	digit        bool // one of the characters read must be a digit, where the prefix also begins ordinary words
}

var prefixRules = []prefixRule{
	{SecretAWS, "AKIA", upperDigit, 16, false},
	{SecretAWS, "ASIA", upperDigit, 16, true},
	{SecretGitHub, "ghp_", word, 20, false},
	{SecretGitHub, "gho_", word, 20, false},
	{SecretGitHub, "ghu_", word, 20, false},
	{SecretGitHub, "ghs_", word, 20, false},
	{SecretGitHub, "ghr_", word, 20, false},
	{SecretGitHub, "github_pat_", word, 20, false},
	{SecretService, "glpat-", wordDash, 16, false},
	{SecretStripe, "sk_live_", word, 10, false},
	{SecretStripe, "sk_test_", word, 10, false},
	{SecretStripe, "rk_live_", word, 10, false},
	{SecretStripe, "rk_test_", word, 10, false},
	{SecretStripe, "whsec_", word, 16, false},
	{SecretSlack, "xoxa-", wordDash, 10, false},
	{SecretSlack, "xoxb-", wordDash, 10, false},
	{SecretSlack, "xoxp-", wordDash, 10, false},
	{SecretSlack, "xoxr-", wordDash, 10, false},
	{SecretSlack, "xoxs-", wordDash, 10, false},
	{SecretSlack, "xapp-", wordDash, 10, true},
	{SecretSlack, "hooks.slack.com/services/", wordSlash, 12, false},
	{SecretGoogle, "AIza", wordDash, 30, false},
	{SecretGoogle, "GOCSPX-", wordDash, 20, false},
	{SecretGoogle, "ya29.", wordDash, 20, false},
	{SecretModel, "sk-ant-", wordDash, 16, false},
	{SecretModel, "sk-", wordDash, 16, true},
	{SecretModel, "hf_", word, 30, false},
	{SecretService, "SG.", wordDash, 16, true},
	{SecretService, "npm_", word, 30, false},
	{SecretService, "dop_v1_", word, 30, false},
	{SecretService, "shpat_", word, 20, false},
	{SecretService, "pypi-", wordDash, 40, false},
	{SecretPrivateKey, "AGE-SECRET-KEY-1", upperDigit, 20, false},
	{SecretPrivateKey, "LS0tLS1CRUdJTi", base64Byte, 2, false}, // the base64 of a PEM opening line
	{SecretPrivateKey, "PuTTY-User-Key-File-", wordDash, 1, false},
}

func prefixedSecret(s string) string {
	for _, r := range prefixRules {
		for at := 0; ; {
			i := strings.Index(s[at:], r.prefix)
			if i < 0 {
				break
			}
			i += at
			at = i + len(r.prefix)
			// A token begins a word: "task-list" holds "sk-" and is none.
			if i > 0 && alnum(s[i-1]) {
				continue
			}
			if r.follows(s[at:]) {
				return r.name
			}
		}
	}
	return ""
}

// follows reads at most min bytes, so a text made of prefixes stays linear; a digit is looked for in twice that.
func (r prefixRule) follows(rest string) bool {
	n, digit := 0, !r.digit
	for n < len(rest) && n < 2*r.min && r.set(rest[n]) {
		digit = digit || isDigit(rest[n])
		n++
	}
	return n >= r.min && digit
}

func hasPEM(s string) bool {
	for at := 0; ; {
		i := strings.Index(s[at:], "-----BEGIN ")
		if i < 0 {
			return false
		}
		at += i + len("-----BEGIN ")
		head := s[at:min(len(s), at+60)]
		if end := strings.IndexByte(head, '\n'); end >= 0 {
			head = head[:end]
		}
		if strings.Contains(head, "PRIVATE KEY") {
			return true
		}
	}
}

// hasOwnToken finds gh_<kind>_<account id>_<secret>, our own credentials.
func hasOwnToken(s string) bool {
	for at := 0; ; {
		i := strings.Index(s[at:], "gh_")
		if i < 0 {
			return false
		}
		at += i + len("gh_")
		kind := run(s[at:], lower, 24)
		id := at + kind + 1
		if kind == 0 || id >= len(s) || s[id-1] != '_' {
			continue
		}
		n := run(s[id:], alnumDash, 64)
		secret := id + n + 1
		if n > 0 && secret < len(s) && s[secret-1] == '_' && run(s[secret:], wordDash, 16) >= 16 {
			return true
		}
	}
}

// hasJWT finds three dot-separated base64url parts whose first begins with an encoded "{".
func hasJWT(s string) bool {
	for at := 0; ; {
		i := strings.Index(s[at:], "eyJ")
		if i < 0 {
			return false
		}
		at += i
		head := run(s[at:], wordDash, len(s))
		dot := at + head
		if dot < len(s) && s[dot] == '.' && head >= 10 {
			body := run(s[dot+1:], wordDash, len(s))
			end := dot + 1 + body
			if body >= 8 && end < len(s) && s[end] == '.' {
				return true
			}
		}
		at = dot // the whole run was read: no byte is read twice
	}
}

// hasURLPassword finds scheme://user:password@host.
func hasURLPassword(s string) bool {
	for at := 0; ; {
		i := strings.Index(s[at:], "://")
		if i < 0 {
			return false
		}
		at += i + len("://")
		rest := s[at:min(len(s), at+512)]
		if end := strings.IndexAny(rest, "/?# \t\n\"'<>"); end >= 0 {
			rest = rest[:end]
		}
		userinfo, _, ok := strings.Cut(rest, "@")
		if _, password, has := strings.Cut(userinfo, ":"); ok && has && password != "" {
			return true
		}
	}
}

func hasBearer(s string) bool {
	const word = "bearer"
	for at := 0; at+len(word) < len(s); {
		i := strings.IndexAny(s[at:], "bB")
		if i < 0 || at+i+len(word) > len(s) {
			return false
		}
		at += i
		if !strings.EqualFold(s[at:at+len(word)], word) {
			at++
			continue
		}
		at += len(word)
		rest := strings.TrimLeft(s[at:min(len(s), at+200)], " \t:")
		n := run(rest, bearerByte, 128)
		if n >= 24 || n >= 12 && strings.ContainsAny(rest[:n], "0123456789") {
			return true
		}
	}
	return false
}

// hasHexKey finds 0x and exactly 64 hexadecimal digits, the usual print of a wallet's private key.
func hasHexKey(s string) bool {
	for at := 0; ; {
		i := strings.Index(s[at:], "0x")
		if i < 0 {
			return false
		}
		at += i + 2
		if run(s[at:], hexByte, 65) == 64 && (at+64 == len(s) || !alnum(s[at+64])) {
			return true
		}
	}
}

var assignment = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(passw(?:or)?d|passcode|passphrase|pwd|(?:api|access|private|auth|secret)[ _-]?key|secret|token)["'` + "`" +
		`\]]?\s{0,40}(?::|=)[=>]?\s{0,40}["'` + "`" + `]?(\S{4,})`)
})

// MinAssignedChars is the length from which any value after "password:" counts as a secret. Shorter values of a password
// count when they mix letters with digits or marks.
const (
	MinAssignedChars  = 8
	minPasswordDigits = 4
)

func hasAssignment(s string) bool {
	if !strings.ContainsAny(s, ":=") && !strings.Contains(s, " is ") {
		return false
	}
	low := strings.ToLower(s)
	if !strings.Contains(low, "pass") && !strings.Contains(low, "pwd") && !strings.Contains(low, "key") && !strings.Contains(low, "secret") && !strings.Contains(low, "token") {
		return false
	}
	for _, m := range assignment().FindAllStringSubmatchIndex(low, -1) {
		key, value := low[m[2]:m[3]], strings.TrimRight(low[m[4]:m[5]], "\"'`,;.)")
		if masked(value) {
			continue
		}
		if utf8.RuneCountInString(value) >= MinAssignedChars {
			return true
		}
		if strings.HasPrefix(key, "pass") || key == "pwd" {
			if len(value) >= minPasswordDigits && mixed(value) {
				return true
			}
		}
	}
	return spokenPassword(low)
}

// spokenPassword finds "the password is hunter2x": a sentence, so the value must look made up.
func spokenPassword(low string) bool {
	for at := 0; ; {
		i := strings.Index(low[at:], "passw")
		if i < 0 {
			return false
		}
		at += i + len("passw")
		rest := low[at:min(len(low), at+80)]
		_, rest, ok := strings.Cut(rest, " is ")
		if !ok || strings.ContainsAny(low[at:at+len("ord")], " ") {
			continue
		}
		value, _, _ := strings.Cut(strings.TrimLeft(rest, "\"'` "), " ")
		value = strings.TrimRight(value, "\"'`,;.!?)")
		if len(value) >= 6 && mixed(value) {
			return true
		}
	}
}

// masked is a value that hides itself already: ******** or [redacted].
func masked(v string) bool {
	return strings.Trim(v, "*•.x_-") == "" || strings.Trim(v, "[]<>()") == "redacted"
}

func mixed(v string) bool {
	letters, others := false, false
	for _, r := range v {
		if r >= 'a' && r <= 'z' {
			letters = true
		} else if r != '-' && r != '\'' && r != '/' {
			others = true
		}
	}
	return letters && others
}

// hasPhrase finds a wallet's recovery words: the announcement, then at least ten bare words on end.
func hasPhrase(s string) bool {
	low := strings.ToLower(s)
	for _, lead := range [...]string{"seed phrase", "recovery phrase", "mnemonic", "seed words", "recovery words"} {
		for at := 0; ; {
			i := strings.Index(low[at:], lead)
			if i < 0 {
				break
			}
			at += i + len(lead)
			after := low[at:min(len(low), at+300)]
			rest := strings.TrimLeft(after, " :=\n\t\"'")
			if len(rest) < len(after) && bareWords(rest) >= minPhraseWords {
				return true
			}
		}
	}
	return false
}

// minPhraseWords is fewer than the twelve of a real phrase, so that one left out does not hide the rest.
const minPhraseWords = 10

func bareWords(s string) int {
	n := 0
	for _, w := range strings.Fields(s) {
		if len(w) < 3 || len(w) > 8 || run(w, lower, len(w)) != len(w) {
			break
		}
		n++
	}
	return n
}

func run(s string, set func(byte) bool, limit int) int {
	n := 0
	for n < len(s) && n < limit && set(s[n]) {
		n++
	}
	return n
}

func isDigit(c byte) bool    { return c >= '0' && c <= '9' }
func lower(c byte) bool      { return c >= 'a' && c <= 'z' }
func upper(c byte) bool      { return c >= 'A' && c <= 'Z' }
func alnum(c byte) bool      { return isDigit(c) || lower(c) || upper(c) }
func alnumDash(c byte) bool  { return alnum(c) || c == '-' }
func word(c byte) bool       { return alnum(c) || c == '_' }
func wordDash(c byte) bool   { return alnum(c) || c == '_' || c == '-' }
func wordSlash(c byte) bool  { return word(c) || c == '/' }
func upperDigit(c byte) bool { return isDigit(c) || upper(c) }
func hexByte(c byte) bool    { return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }
func base64Byte(c byte) bool { return alnum(c) || c == '+' || c == '/' || c == '=' }
func bearerByte(c byte) bool { return base64Byte(c) || c == '-' || c == '_' || c == '.' || c == '~' }
