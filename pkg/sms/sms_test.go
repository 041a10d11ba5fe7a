package sms

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPartsAreCountedAsTheyArePaidFor(t *testing.T) {
	for body, want := range map[string]int{
		"": 1, "a": 1,
		strings.Repeat("a", 160): 1, strings.Repeat("a", 161): 2, strings.Repeat("a", 306): 2, strings.Repeat("a", 307): 3,
		strings.Repeat("€", 80): 1, strings.Repeat("€", 81): 2, // two characters each
		strings.Repeat("ж", 70): 1, strings.Repeat("ж", 71): 2, strings.Repeat("ж", 134): 2, strings.Repeat("ж", 135): 3,
		strings.Repeat("😀", 35): 1, strings.Repeat("😀", 36): 2, // two units each
		strings.Repeat("a", 70) + "…": 2, strings.Repeat("a", 70) + "...": 1,
	} {
		if got := Parts(body); got != want {
			t.Errorf("%.12q… of %d characters: %d parts, want %d", body, utf8.RuneCountInString(body), got, want)
		}
	}
}

func TestASentenceIsCutSoThatTheLinkStaysWhole(t *testing.T) {
	const link = "https://exchange.example/deals/1f0c?day=3"
	for what, c := range map[string]struct{ sentence, link, want string }{
		"short":             {"Day 3 is here.", link, "Day 3 is here. " + link},
		"no link":           {"Day 3 is here.", "", "Day 3 is here."},
		"only a link":       {"", link, link},
		"lines":             {" Day 3\r\n is\there.\u2028", link, "Day 3 is here. " + link},
		"hidden":            {"Day\u202e 3\x00\u200b.", link, "Day 3 . " + link},
		"a stranger's link": {"See https://evil.example/x now", link, "See https evil.example/x now " + link},
		"long":              {strings.Repeat("a", 400), link, strings.Repeat("a", MaxBody-len(link)-4) + "... " + link},
		"long, far letters": {strings.Repeat("ж", 400), link, strings.Repeat("ж", 201-len(link)-4) + "... " + link},
		"a link too long":   {"Day 3.", "https://exchange.example/" + strings.Repeat("p", 400), "Day 3."},
		"a link with text":  {"Day 3.", link + " and more", "Day 3."},
		"no UTF-8":          {"a\xffb", "", "a?b"},
	} {
		if got := Text(c.sentence, c.link); got != c.want {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}

func FuzzATextMadeOfAnythingIsValid(f *testing.F) {
	f.Add("Day 3: \"Bread\"", "https://exchange.example/deals/1")
	f.Add("a\x00b://c\u2028://", "x y")
	f.Add(strings.Repeat("😀{", 300), "https://exchange.example/"+strings.Repeat("ж", 60))
	f.Fuzz(func(t *testing.T, sentence, link string) {
		body := Text(sentence, link)
		if body == "" {
			return // nothing was said
		}
		if err := (Message{To: "+15550100200", Body: body, Key: "k"}).Valid(); err != nil {
			t.Fatalf("%q of %q and %q: %v", body, sentence, link, err)
		}
	})
}
