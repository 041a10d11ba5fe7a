package text

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNormalizeTrimsComposesAndUnifiesLines(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "  a  ": "a", "a\r\nb": "a\nb", "a\rb": "a\nb", "\u00a0a\u2003": "a", "e\u0301": "\u00e9", "a\n": "a", "\r\n": "", "\uac01": "\uac01", "\u1100\u1161\u11a8": "\uac01",
	} {
		if got := Normalize(in); got != want {
			t.Errorf("Normalize(%q) = %q", in, got)
		}
		if got := Normalize(Normalize(in)); got != want {
			t.Errorf("Normalize is not stable on %q", in)
		}
	}
}

func TestLenCountsComposedCodePoints(t *testing.T) {
	for in, want := range map[string]int{"": 0, "abc": 3, "\u00e9": 1, "e\u0301": 1, "\U0001f600": 1, "\U0001f468\u200d\U0001f469\u200d\U0001f467": 5, "\u1100\u1161\u11a8": 1, "ab\n": 3} {
		if got := Len(in); got != want {
			t.Errorf("Len(%q) = %d", in, got)
		}
	}
}

func TestControlCharactersAreSeen(t *testing.T) {
	for in, want := range map[string]bool{"": false, "a\nb\tc": false, "a\rb": true, "\x00": true, "a\x1b[0m": true, "\x7f": true, "\u0085": true, "\u200b": false, "é": false} {
		if got := HasControl(in); got != want {
			t.Errorf("HasControl(%q) = %v", in, got)
		}
		if HasControl(Printable(in)) {
			t.Errorf("Printable(%q) still has one", in)
		}
	}
}

func TestFoldShowsWhatAReaderSees(t *testing.T) {
	for in, want := range map[string]string{"abc": "abc", "a\u200bb": "ab", "\uff21\uff22": "AB", "a\u2024b": "a.b", "\u2019": "'", "ﬁ": "fi", "a\u00a0b": "a b", "\ufeffx": "x", "a\U000e0041b": "ab"} {
		if got := Fold(in); got != want {
			t.Errorf("Fold(%q) = %q; want %q", in, got, want)
		}
	}
}

// screens are all judgements over strangers' text.
var screens = map[string]func(string) bool{
	"Secret":             func(s string) bool { _, f := Secret(s); return f },
	"BareURL":            BareURL,
	"CredentialRequest":  CredentialRequest,
	"RecurringPayment":   RecurringPayment,
	"BlanketGuarantee":   BlanketGuarantee,
	"OffPlatformPayment": OffPlatformPayment,
	"PersonIdentity":     func(s string) bool { _, f := PersonIdentity(s); return f },
	"CheckLink":          func(s string) bool { _, err := CheckLink(s); return err == nil },
}

// hostile are texts made to make a careless screen slow: many almost-matches.
var hostile = map[string]string{
	"prefixes": "sk-sk-AKIAghp_eyJ", "dots": "a.a.a.", "slashes": "a.b/c.d/", "digits": "4", "spaced digits": "4111 1", "colons": "password: ", "schemes": "a://b:", "at": "a@", "words": "no per month ", "fees": "no monthly fee, ",
	"apostrophes": "don'", "zero width": "a\u200b", "full width": "\uff41", "hex": "0xabcdef0123456789", "brackets": "[.]", "bearer": "bearer b", "own": "gh_a_b_", "gh": "gh_", "jwt": "eyJa.eyJa", "streets": "12 a b c d ", "send": "send your ", "combining": "e\u0301\u0301", "mnemonic": "mnemonic abc ", "passw": "passwpassword", "spoken": "password is a ", "seed": "seed phrase is ", "eyJ": "eyJeyJ.", "key value": "key = key: ", "plus": "+1(", "begin": "-----BEGIN ",
}

// BenchmarkScreensOnOneMegabyte shows that no screen is worse than linear: on each hostile megabyte each takes well under a
// second, where a quadratic one would take hours.
func BenchmarkScreensOnOneMegabyte(b *testing.B) {
	for name, unit := range hostile {
		s := strings.Repeat(unit, 1<<20/len(unit))
		for screen, judge := range screens {
			b.Run(screen+"/"+name, func(b *testing.B) {
				for b.Loop() {
					judge(s)
				}
			})
		}
	}
}

func BenchmarkScreensOnACleanBid(b *testing.B) {
	s := strings.Repeat("I will bring three places with a free table for nine. I will not bring places over your budget. ", 60)
	for screen, judge := range screens {
		b.Run(screen, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				judge(s)
			}
		})
	}
}

// A screen that were quadratic in its input would not come back from this test.
func TestScreensComeBackFromHostileTexts(t *testing.T) {
	for _, unit := range hostile {
		s := strings.Repeat(unit, 1<<17/len(unit))
		for _, judge := range screens {
			judge(s)
		}
	}
}

func FuzzScreens(f *testing.F) {
	for _, unit := range hostile {
		f.Add(unit + unit)
	}
	f.Add("send me your password: hunter2 at https://example.com/x for $30 per month")
	f.Fuzz(func(t *testing.T, s string) {
		n := Normalize(s)
		if utf8.ValidString(s) && Normalize(n) != n {
			t.Fatalf("Normalize is not stable: %q", s)
		}
		if Len(s) < 0 || HasControl(Printable(s)) {
			t.Fatalf("lengths or controls: %q", s)
		}
		for name, judge := range screens {
			if first, again := judge(s), judge(s); first != again {
				t.Fatalf("%s changes its mind on %q", name, s)
			}
		}
		// What no reader can see must not hide what a screen finds.
		if utf8.ValidString(s) && !strings.ContainsAny(s, "\u200b") {
			hidden := strings.Join(strings.Split(s, ""), "\u200b")
			if BareURL(s) != BareURL(hidden) {
				t.Fatalf("zero-width characters change BareURL on %q", s)
			}
		}
	})
}
