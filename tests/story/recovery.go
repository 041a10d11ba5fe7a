package story

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// key makes a fresh Ed25519 key: ed25519 $name. The variable holds the public key in base64;
// the private one stays here, under the same name.
func (s *script) key(words []string) {
	s.t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		s.fail("%v", err)
	}
	name := strings.TrimPrefix(words[1], "$")
	s.vars[name] = base64.StdEncoding.EncodeToString(public)
	if s.private == nil {
		s.private = map[string]ed25519.PrivateKey{}
	}
	s.private[name] = private
}

// sign signs a text with a key: sign $signature $key TEXT.
func (s *script) sign(words []string) {
	s.t.Helper()
	if len(words) != 4 {
		s.fail("a signature is: sign $NAME $KEY TEXT")
	}
	private, ok := s.private[strings.TrimPrefix(words[2], "$")]
	if !ok {
		s.fail("no key is called %s", words[2])
	}
	s.vars[strings.TrimPrefix(words[1], "$")] = base64.StdEncoding.EncodeToString(ed25519.Sign(private, []byte(s.fill(words[3]))))
}

// mailed takes the token out of the newest mail with a link: mailed $token EMAIL /confirm/….
// With a number behind it, so many such mails have come.
func (s *script) mailed(words []string) {
	s.t.Helper()
	if len(words) < 4 || len(words) > 5 {
		s.fail("a mailed link is: mailed $NAME EMAIL PATH [COUNT]")
	}
	s.expect(200, "POST", "/_dev/settle", "", nil)
	s.expect(200, "GET", "/_dev/mail?to="+url.QueryEscape(s.fill(words[2])), "", nil)
	link := regexp.MustCompile(regexp.QuoteMeta(s.fill(words[3])) + `\?token=([A-Za-z0-9_.-]+)`)
	list, _ := s.at("messages")
	messages, _ := list.([]any)
	found, n := "", 0
	for _, m := range messages {
		text, _ := m.(map[string]any)["text"].(string)
		if hit := link.FindStringSubmatch(text); hit != nil {
			found, n = hit[1], n+1
		}
	}
	if found == "" {
		s.fail("no mail to %s has a link to %s", words[2], words[3])
	}
	if len(words) == 5 && words[4] != strconv.Itoa(n) {
		s.fail("%d mails have a link to %s, want %s", n, words[3], words[4])
	}
	s.vars[strings.TrimPrefix(words[1], "$")] = found
}
