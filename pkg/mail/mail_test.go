package mail

import (
	"strings"
	"testing"
)

func TestAMailboxIsOneBareAddress(t *testing.T) {
	for s, want := range map[string]bool{
		"a@example.com": true, "first.last+tag@sub.example.co": true, "o'neill@example.com": true, "jörg@example.com": true,
		strings.Repeat("l", 64) + "@example.com": true, strings.Repeat("l", 65) + "@example.com": false,
		"a@" + strings.Repeat("d", 63) + ".com": true, "a@" + strings.Repeat("d", 64) + ".com": false,
		"a@" + strings.Repeat("d.", 130) + "com": false,
		"":                                       false, "@": false, "a": false, "a@": false, "@example.com": false, "a@b": false, "a@@example.com": false,
		"a@example.com@example.org": false, "a b@example.com": false, "a@example..com": false, "a..b@example.com": false,
		".a@example.com": false, "a.@example.com": false, "a@-example.com": false, "a@example-.com": false, "a@exam_ple.com": false,
		"a@example.com.": false, "a@.example.com": false, "a@[127.0.0.1]": false, "\"a b\"@example.com": false, "a,b@example.com": false,
		"<a@example.com>": false, "a@example.com\n": false, "a\r\n@example.com": false, "a\x00@example.com": false, "a@exämple.com": false, "a\u00a0b@example.com": false, "a\u2028b@example.com": false, "a\u0085@example.com": false,
	} {
		if IsMailbox(s) != want {
			t.Errorf("IsMailbox(%q) is %v", s, !want)
		}
	}
}

func TestASenderIsAMailboxOrANameAndOne(t *testing.T) {
	for s, want := range map[string]bool{
		"a@example.com": true, "Guild Hall <a@example.com>": true, "<a@example.com>": true, "Zunft <a@example.com>": true,
		"Guildhall a@example.com": false, "Guildhall <a@example.com": false, "Guildhall a@example.com>": false,
		"A <a@example.com> <b@example.com>": false, "A, B <a@example.com>": false, "\"A\" <a@example.com>": false,
		"A\r\nBcc: x@example.com <a@example.com>": false, "": false,
	} {
		if IsSender(s) != want {
			t.Errorf("IsSender(%q) is %v", s, !want)
		}
	}
}

func FuzzAMailThatIsValidHasNoLineInAHeader(f *testing.F) {
	f.Add("ada@example.org", "Guildhall <a@example.com>", "subject", "X-Name", "value")
	f.Add("a@b.c\r\nBcc: d@e.f", "a@b.c", "s\n", "Bcc", "v\r\n")
	f.Fuzz(func(t *testing.T, to, from, subject, name, value string) {
		m := Mail{To: to, From: from, Subject: subject, Text: "t", Key: "k", Headers: map[string]string{name: value}}
		if m.Valid() != nil {
			return
		}
		for _, s := range []string{to, from, subject, name, value} {
			if strings.ContainsAny(s, "\r\n\x00\u0085\u2028") {
				t.Fatalf("a line break in %q of a valid mail", s)
			}
		}
		if strings.Count(to, "@") != 1 || strings.ContainsAny(to, ", ;<>") {
			t.Fatalf("more than one recipient in %q", to)
		}
	})
}
