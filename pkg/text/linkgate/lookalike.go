package linkgate

import (
	"strings"
	"sync"
)

// brand is a name that people trust and others pretend to be.
type brand struct {
	name    string
	word    bool // also an ordinary word or a short one: only disguised spellings and lures are refused
	domains set  // where the name itself is at home
}

// shield holds the protected names, by the forms a label is looked up under.
type shield struct {
	byName    map[string]*brand
	bySkel    map[string]*brand // skeletons
	byForeign map[string]*brand // loose skeletons of all names, for labels in foreign letters
	byLoose   map[string]*brand // skeletons with doubled letters made one
	bySwapped map[string]*brand // names with two neighbours changed
	homes     set               // every domain of every brand
	longest   int               // bytes of the longest of them
}

// guard reads data/protected.txt: a name, "word" where it is one, and its domains. A bare "*" among them says that the name
// is at home under every suffix.
var guard = sync.OnceValue(func() *shield {
	s := &shield{map[string]*brand{}, map[string]*brand{}, map[string]*brand{}, map[string]*brand{}, map[string]*brand{}, set{}, 0}
	for _, line := range lines("protected") {
		fields := strings.Fields(line)
		b := &brand{name: fields[0], domains: set{}}
		for _, f := range fields[1:] {
			if f == "word" {
				b.word = true
				continue
			}
			b.domains[f] = true
			if f == "*" {
				f = b.name + ".com"
			}
			s.homes[f] = true
			s.longest = max(s.longest, len(f))
		}
		s.add(b)
	}
	return s
})

// minTypoLetters is the length from which typing mistakes of a name are refused: shorter ones are too often other names.
const minTypoLetters = 6

func (s *shield) add(b *brand) {
	s.byName[b.name] = b
	s.bySkel[skeleton(b.name, b.folds())] = b
	s.byForeign[skeleton(b.name, true)] = b
	if b.word || len(b.name) < minTypoLetters {
		return
	}
	s.byLoose[single(skeleton(b.name, true))] = b
	for i := 1; i < len(b.name); i++ {
		swapped := b.name[:i-1] + b.name[i:i+1] + b.name[i-1:i] + b.name[i+1:]
		if swapped != b.name {
			s.bySwapped[swapped] = b
		}
	}
}

// folds says whether digits and letters that are merely similar (3 and e, i and l) count as the same for a brand.
func (b *brand) folds() bool { return !b.word && len(b.name) >= minTypoLetters }

// find is the brand that a label is or is drawn like, nil when there is none.
func (s *shield) find(label string) *brand {
	if b := s.byName[label]; b != nil {
		return b
	}
	if !ascii(label) {
		return s.byForeign[skeleton(label, true)]
	}
	for _, loose := range []bool{false, true} {
		if b := s.bySkel[skeleton(label, loose)]; b != nil && b.folds() == loose {
			return b
		}
	}
	if len(label) < minTypoLetters-1 {
		return nil
	}
	if b := s.byLoose[single(skeleton(label, true))]; b != nil {
		return b
	}
	return s.bySwapped[label]
}

// protectedName is find over the built-in list.
func protectedName(label string) *brand { return guard().find(label) }

// pretends refuses hosts that are drawn or spelled like a well-known name and belong to somebody else.
func (a *address) pretends(Options) *problem {
	s := guard()
	if s.owns(a) {
		return nil
	}
	own, _, _ := strings.Cut(a.domain, ".")
	if s.impersonates(own, a) || s.lures(own) {
		return &problem{ReasonLookalike, "The link's domain is spelled like a well-known name and belongs to somebody else."}
	}
	front := strings.TrimSuffix(strings.TrimSuffix(a.host, a.domain), ".")
	if front == "" {
		return nil
	}
	if s.wears(front) || s.wears(front+"."+own) {
		return &problem{ReasonLookalike, "The link puts a well-known domain in front of somebody else's."}
	}
	for label := range strings.SplitSeq(front, ".") {
		if b := s.find(label); b != nil && b.name != label || s.lures(label) {
			return &problem{ReasonLookalike, "The link's domain is spelled like a well-known name and belongs to somebody else."}
		}
	}
	return nil
}

// owns says whether a host is a brand's own. What customers keep below its hosting site (name.github.io) is not.
func (s *shield) owns(a *address) bool {
	for host := a.host; len(host) >= len(a.domain); {
		if s.homes[host] {
			return true
		}
		_, host, _ = strings.Cut(host, ".")
	}
	return false
}

// impersonates judges the label that was bought. The plain name is refused under suffixes where anybody buys it, but not
// under the suffix of a country, where its owner has bought it first, nor below a hosting site.
func (s *shield) impersonates(label string, a *address) bool {
	b := s.find(label)
	switch {
	case b == nil:
		return false
	case b.name != label:
		return true
	case b.word || b.domains["*"] || strings.TrimPrefix(a.domain, label+".") != a.icann:
		return false
	}
	country := a.icann[strings.LastIndexByte(a.icann, '.')+1:]
	return len(country) != 2 || openCountries[country]
}

// openCountries sold, or gave away, names to anybody: their two letters say nothing about who is behind a name.
var openCountries = setOf([]string{"tk", "ml", "ga", "cf", "gq", "pw", "cc", "ws", "to", "su", "st", "la", "co", "me", "io", "ai"})

// Lures are what false sites add to a name; the weak ones count beside names that are not also words.
var (
	lureWords = sync.OnceValue(func() set { return words("lures") })
	weakLures = sync.OnceValue(func() set { return words("luresweak") })
)

// lures finds a protected name beside a word that asks for trust: paypal-login, secure-paypal, paypallogin.
func (s *shield) lures(label string) bool {
	var word, name, lure, weak bool
	for t := range strings.SplitSeq(label, "-") {
		switch b := s.find(t); {
		case b != nil && b.word:
			word = true
		case b != nil:
			name = true
		case lureWords()[t]:
			lure = true
		case weakLures()[t]:
			weak = true
		case s.glued(t):
			return true
		}
	}
	return lure && (name || word) || weak && name
}

// glued is lures for words written as one. Ordinary words are left alone there.
func (s *shield) glued(token string) bool {
	for i := 3; i <= len(token)-3; i++ {
		for _, part := range [][2]string{{token[:i], token[i:]}, {token[i:], token[:i]}} {
			if lureWords()[part[0]] || weakLures()[part[0]] {
				if b := s.find(part[1]); b != nil && !b.word {
					return true
				}
			}
		}
	}
	return false
}

// wears finds a whole protected domain among labels that stand in front of somebody else's: paypal.com.evil.net, and
// paypal.com-secure.net.
func (s *shield) wears(front string) bool {
	for {
		for end := 1; end <= min(len(front), s.longest); end++ {
			if (end == len(front) || front[end] == '.' || front[end] == '-') && s.homes[front[:end]] {
				return true
			}
		}
		_, next, found := strings.Cut(front, ".")
		if !found {
			return false
		}
		front = next
	}
}
