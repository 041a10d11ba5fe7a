package text

import (
	"strings"
	"sync"
	"unicode"
)

// The word screens read a text as a list of lower-case words and clause marks. Each looks at a bounded number of words
// around a key word, so the work is linear in the text.

// stop and comma are the marks kept between words: the end of a sentence and a pause inside one.
const (
	stop  = "."
	comma = ","
)

// tokens splits a text into words. Apostrophes vanish (dont, wont), dashes split (auto renew, one time), amounts stay whole
// ($30, 12.50), a slash is a word of its own ($30 / month).
func tokens(s string) []string {
	s = foldWords(s)
	out := make([]string, 0, len(s)/5+1)
	start := -1
	var held strings.Builder // a word that lost an apostrophe
	flush := func(end int) {
		if start < 0 {
			return
		}
		w := s[start:end]
		if held.Len() > 0 {
			w = held.String() + w
			held.Reset()
		}
		if w != "" {
			out = append(out, w)
		}
		start = -1
	}
	for i, r := range s {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '@' || r == '%' || r == '_':
			if start < 0 {
				start = i
			}
		case r == '$' || r == '€' || r == '£':
			if start >= 0 && !strings.HasSuffix(s[:i], "us") {
				flush(i)
			}
			if start < 0 {
				start = i
			}
		case r == '\'' && start >= 0:
			held.WriteString(s[start:i])
			start = i + 1
		case r == '.' && start >= 0 && i+1 < len(s) && (isDigit(s[i+1]) || lower(s[i+1])):
			// inside 12.50 or example.com
		default:
			flush(i)
			switch r {
			case '.', '!', '?', ';', '\n':
				out = append(out, stop)
			case ',', ':', '(', ')':
				out = append(out, comma)
			case '/', '+', '&':
				out = append(out, string(r))
			}
		}
	}
	flush(len(s))
	return out
}

// Reading is a text split into words once, for callers that put several of the word screens to it.
type Reading struct{ toks []string }

// Read prepares a text for the word screens.
func Read(s string) Reading { return Reading{tokens(s)} }

// set is a list of words looked up at once. The lists are written as one text each and taken apart on first use: a function
// that links this package and reads no text pays nothing at its start.
type set struct {
	list string
	once sync.Once
	all  map[string]bool
}

func words(list string) *set { return &set{list: list} }

func (s *set) has(w string) bool {
	if s == nil {
		return false
	}
	s.once.Do(func() {
		s.all = map[string]bool{}
		for _, w := range strings.Fields(s.list) {
			s.all[w] = true
		}
	})
	return s.all[w]
}

// phrases are word sequences, filed under their first word on first use.
type phrases struct {
	list  []string
	once  sync.Once
	first map[string][][]string
}

func phrasesOf(list ...string) *phrases { return &phrases{list: list} }

// at answers how many words of toks, from i on, one of the phrases matches; 0 is none. "*" in a phrase is any one word.
func (p *phrases) at(toks []string, i int) int {
	p.once.Do(func() {
		p.first = map[string][][]string{}
		for _, l := range p.list {
			f := strings.Fields(l)
			p.first[f[0]] = append(p.first[f[0]], f)
		}
	})
	for _, want := range p.first[toks[i]] {
		if matches(toks[i:], want) {
			return len(want)
		}
	}
	return 0
}

func matches(toks, want []string) bool {
	if len(toks) < len(want) {
		return false
	}
	for j, w := range want {
		if w != "*" && toks[j] != w || w == "*" && (toks[j] == stop || toks[j] == comma) {
			return false
		}
	}
	return true
}

// before says whether a word of the set stands among the n words before i, inside the sentence.
func before(toks []string, i, n int, s *set) bool {
	for j := i - 1; j >= 0 && j >= i-n && toks[j] != stop; j-- {
		if s.has(toks[j]) {
			return true
		}
	}
	return false
}

// after is before, looking the other way.
func after(toks []string, i, n int, s *set) bool {
	for j := i + 1; j < len(toks) && j <= i+n && toks[j] != stop; j++ {
		if s.has(toks[j]) {
			return true
		}
	}
	return false
}

var (
	negators   = words("no not never without zero none neither nor dont doesnt wont cannot cant isnt arent wouldnt nobody nothing 0 $0")
	notNegator = words("less more later fewer only just problem worries matter question doubt")
	turns      = words("but then instead just simply however although though yet")
)

// negated says whether the word at i is under a "no", "never" or "without" of the same clause, at most n words back. A list
// ("no setup, monthly or hidden fees") carries its "no" on as long as only words of the list stand between.
func negated(toks []string, i, n int, list *set) bool {
	inList := true
	for j := i - 1; j >= 0 && j >= i-n; j-- {
		w := toks[j]
		if w == stop || turns.has(w) {
			return false
		}
		if negators.has(w) {
			return j+1 >= len(toks) || !notNegator.has(toks[j+1])
		}
		if w == comma && !inList {
			return false
		}
		if w != comma && !list.has(w) {
			inList = false
			if j > 0 && toks[j-1] == comma {
				return false
			}
		}
	}
	return false
}
