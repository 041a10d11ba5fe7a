package linkgate_test

import (
	"testing"

	"guildhall/pkg/text/linkgate"
)

func TestProgramsBehindParametersAndPagesOfOthers(t *testing.T) {
	for raw, want := range map[string]string{
		"https://example.com/a;b.exe": linkgate.ReasonExecutable, "https://example.com/a%3Bb.EXE;c": linkgate.ReasonExecutable, "https://example.com/a.exe;b.pdf": linkgate.ReasonExecutable,
		"https://example.com/a;jsessionid=x.node1": "", "https://example.com/a;b.com": "", "https://example.com/x.docm": linkgate.ReasonExecutable, "https://example.com/x.webloc": linkgate.ReasonExecutable,
		"https://evil-com.translate.goog/": linkgate.ReasonRedirector, "https://translate.google.com/translate?u=evil.example": linkgate.ReasonRedirector,
	} {
		if v := linkgate.Check(raw, linkgate.Options{}); v.Reason != want {
			t.Errorf("%s: %q, want %q", raw, v.Reason, want)
		}
	}
}

func TestOneResourceHasOneName(t *testing.T) {
	for _, raw := range []string{"https://example.com/a%7Eb", "https://example.com/a~b?", "https://example.com/a~b#c?d", "https://EXAMPLE.com:443/x/../a%7eb?#"} {
		v := linkgate.Check(raw, linkgate.Options{})
		if got := linkgate.Same(v.URL); v.Status != linkgate.OK || got != "https://example.com/a~b" {
			t.Errorf("%s: %s %s", raw, v.Status, got)
		}
	}
	for _, raw := range []string{"https://example.com/a%2Fb", "https://example.com/a%25b", "https://example.com/a?b=%3F"} {
		if got := linkgate.Same(raw); got != raw {
			t.Errorf("%s means another thing than %s", got, raw)
		}
	}
}
