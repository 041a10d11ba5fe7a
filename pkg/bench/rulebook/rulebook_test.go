package rulebook

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gowebpki/jcs"
)

// A new hash makes every registering agent accept new text, so it is changed here by hand and on purpose.
const goldenHash = "2308c72a1a3f635da71cf34f27d2d161dacf6db8ba031c842410f45774beb852"

const (
	minTextChars = 20
	maxTextChars = 600
)

func TestHashIsThePublishedOne(t *testing.T) {
	if got := Hash(); got != goldenHash {
		t.Errorf("rules_version_hash is %s, want %s", got, goldenHash)
	}
}

// recompute is bench.md 3.2 written a second time, from the YAML and with an independent canonicaliser.
func recompute(t *testing.T, rules []sourceRule) string {
	t.Helper()
	var list []map[string]any
	for _, kind := range []Kind{KindRule, KindGate} {
		for number := 1; number <= 194; number++ {
			for _, r := range rules {
				if r.Kind == kind && r.Number == number {
					list = append(list, map[string]any{"id": r.ID, "kind": r.Kind, "number": r.Number, "text": r.Text})
				}
			}
		}
	}
	loose, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	canonical, err := jcs.Transform(loose)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}

func TestHashAgreesWithAnIndependentCanonicaliser(t *testing.T) {
	if got := recompute(t, readSource(t).Rules); got != Hash() {
		t.Errorf("recomputed %s, Hash() %s", got, Hash())
	}
}

func TestHashIgnoresSourceOrderAndDisplayFields(t *testing.T) {
	rules := readSource(t).Rules
	slices.Reverse(rules)
	for i := range rules {
		rules[i].Title, rules[i].Section, rules[i].Surfaces = fmt.Sprint("title ", i), "elsewhere", nil
	}
	if got := hexSHA256(lawFile(t, rules)); got != Hash() {
		t.Errorf("hash moved to %s with order and display fields", got)
	}
}

func TestHashMovesWithEachPartOfTheLaw(t *testing.T) {
	changes := map[string]func(*sourceRule){
		"id":     func(r *sourceRule) { r.ID += "x" },
		"kind":   func(r *sourceRule) { r.Kind = KindGate },
		"number": func(r *sourceRule) { r.Number = 195 },
		"text":   func(r *sourceRule) { r.Text += " " },
	}
	for name, change := range changes {
		rules := readSource(t).Rules
		change(&rules[0])
		if hexSHA256(lawFile(t, rules)) == Hash() {
			t.Errorf("a changed %s leaves the hash as it was", name)
		}
	}
}

func TestRegistryIsComplete(t *testing.T) {
	var want []string
	for n := 1; n <= 194; n++ {
		if n != 4 && n != 18 {
			want = append(want, fmt.Sprintf("rule-%03d", n))
		}
	}
	if len(want) != RuleCount {
		t.Fatalf("RuleCount is %d, the numbers make %d", RuleCount, len(want))
	}
	for n := 1; n <= GateCount; n++ {
		want = append(want, fmt.Sprintf("gate-%d", n))
	}
	var got []string
	for _, r := range Rules() {
		got = append(got, r.ID)
		id := fmt.Sprintf("rule-%03d", r.Number)
		if r.Kind == KindGate {
			id = fmt.Sprintf("gate-%d", r.Number)
		}
		if r.ID != id {
			t.Errorf("%s has kind %s and number %d", r.ID, r.Kind, r.Number)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("entries are %v", got)
	}
}

var sentenceEnd = regexp.MustCompile(`[.!?]( |$)`)

func TestEveryTextIsOneToThreePlainSentences(t *testing.T) {
	texts, titles := map[string]string{}, map[string]string{}
	for _, r := range Rules() {
		if n := utf8.RuneCountInString(r.Text); n < minTextChars || n > maxTextChars {
			t.Errorf("%s has %d characters", r.ID, n)
		}
		if n := len(sentenceEnd.FindAllString(r.Text, -1)); n < 1 || n > 3 || !strings.HasSuffix(r.Text, ".") {
			t.Errorf("%s has %d sentences", r.ID, n)
		}
		if strings.TrimSpace(r.Text) != r.Text || strings.Contains(r.Text, "  ") || strings.Contains(r.Text, "\n") {
			t.Errorf("%s has stray white space", r.ID)
		}
		for _, c := range r.Text + r.Title {
			if c > 0x7e { // no typographic marks: the text reads the same in every terminal and hash tool
				t.Errorf("%s holds %q", r.ID, c)
			}
		}
		if other := texts[fold(r.Text)]; other != "" {
			t.Errorf("%s repeats %s", r.ID, other)
		}
		if other := titles[fold(r.Title)]; other != "" || r.Title == "" {
			t.Errorf("%s has the title of %q", r.ID, other)
		}
		texts[fold(r.Text)], titles[fold(r.Title)] = r.ID, r.ID
	}
}

func fold(s string) string { return strings.Join(strings.Fields(strings.ToLower(s)), " ") }

// Two rules that share most of their words say the same thing twice.
func TestNoTwoRulesSayTheSame(t *testing.T) {
	const mostWords = 0.6
	rules := Rules()
	words := make([]map[string]bool, len(rules))
	for i, r := range rules {
		words[i] = map[string]bool{}
		for _, w := range strings.FieldsFunc(fold(r.Text), func(c rune) bool { return c == ' ' || c == ',' || c == '.' }) {
			words[i][w] = true
		}
	}
	for i := range rules {
		for j := range i {
			shared := 0
			for w := range words[i] {
				if words[j][w] {
					shared++
				}
			}
			union := len(words[i]) + len(words[j]) - shared
			if float64(shared) > mostWords*float64(union) {
				t.Errorf("%s and %s share %d of %d words", rules[i].ID, rules[j].ID, shared, union)
			}
		}
	}
}

var surfaces = []string{
	"api", "bid", "brief", "deal", "delivery", "email", "finalist", "mcp", "money",
	"passport", "person", "posting", "public", "steward", "thread",
}

func TestDisplayFieldsAreFromTheClosedLists(t *testing.T) {
	var chapters []string
	for _, c := range readSource(t).Chapters {
		chapters = append(chapters, c.Slug)
	}
	for _, r := range Rules() {
		if !slices.Contains(chapters, r.Section) {
			t.Errorf("%s is in chapter %q", r.ID, r.Section)
		}
		if len(r.Surfaces) == 0 {
			t.Errorf("%s names no surface", r.ID)
		}
		for _, s := range r.Surfaces {
			if !slices.Contains(surfaces, s) {
				t.Errorf("%s has surface %q", r.ID, s)
			}
		}
	}
	if len(strings.Fields(string(displayJSON))) == 0 || strings.Count(string(displayJSON), `"section"`) != RuleCount+GateCount {
		t.Errorf("display.json does not describe each entry once")
	}
}

// The numbers that bench.md groups into sets stay together in one chapter.
func TestChaptersFollowTheSetsOfTheContract(t *testing.T) {
	sets := []struct {
		from, to int
		chapter  string
	}{
		{60, 79, "walk"}, {101, 111, "access"}, {112, 115, "bidcraft"}, {116, 120, "threads"},
		{121, 132, "odds"}, {167, 177, "wanttoplan"}, {178, 187, "delivery"}, {188, 194, "timed"},
	}
	for _, r := range Rules() {
		for _, set := range sets {
			in := r.Kind == KindRule && r.Number >= set.from && r.Number <= set.to
			if in != (r.Section == set.chapter) {
				t.Errorf("%s is in chapter %q, set %q is %d..%d", r.ID, r.Section, set.chapter, set.from, set.to)
			}
		}
	}
}

// cited holds, for the numbers that bench.md 26 gives a meaning, words their text cannot do without.
var cited = map[string][]string{
	"rule-052": {"REJ-19"}, "rule-060": {"exactly one of four", "REJ-04"}, "rule-061": {"one open ask", "out_of_turn_filing"},
	"rule-062": {"fund", "held", "release", "returned"}, "rule-063": {"14 days", "3, 7 and 12", "stale", "lapsed", "free target"},
	"rule-067": {"artifact", "stream", "text", "link", "document", "note", "timed delivery"}, "rule-068": {"contract governs"},
	"rule-069": {"payout account", "payout_not_ready"}, "rule-070": {"final", "no revision"}, "rule-074": {"split", "route"},
	"rule-079": {"self-dealing", "silence"}, "rule-080": {"System Record", "supersedes"}, "rule-081": {"7 days", "409"},
	"rule-087": {"immutable"}, "rule-090": {"5 minutes", "30 minutes"}, "rule-092": {"PROVIDE", "releases"},
	"rule-095": {"plan without numbers is not a plan"}, "rule-097": {"compliance", "abandonment", "1000"},
	"rule-098": {"declared"}, "rule-099": {"scores", "pays"}, "rule-100": {"0, 25, 50, 75 or 100", "100 percent"},
	"rule-102": {"never watches"}, "rule-104": {"password"}, "rule-106": {"GRANT"}, "rule-107": {"equivalent", "no price"},
	"rule-108": {"nine tests"}, "rule-109": {"homework", "four exceptions"}, "rule-110": {"email.send_as"}, "rule-111": {"again"},
	"rule-112": {"one pitch", "one goal", "four questions", "legal eligibility"}, "rule-113": {"answers", "informed plan"},
	"rule-114": {"keeps working"}, "rule-115": {"world file", "world_file_missing"}, "rule-116": {"thread"},
	"rule-117": {"current step", "pulse"}, "rule-118": {"before it files"}, "rule-119": {"id"},
	"rule-120": {"unanswered_elsewhere", "late_answer"}, "rule-121": {"strictly between 0 and 1", "REJ-16"},
	"rule-122": {"Before each step"}, "rule-123": {"scored against the one outcome"}, "rule-130": {"1 in 1"},
	"rule-131": {"added", "500"}, "rule-132": {"failed"}, "rule-135": {"prior_attempts"}, "rule-136": {"repost"},
	"rule-141": {"cannot be called back"}, "rule-163": {"legacy exception"}, "rule-167": {"HAR block", "23 formats"},
	"rule-168": {"REJ-22", "REJ-24"}, "rule-169": {"high-school sophomore"}, "rule-170": {"six options", "date_time"},
	"rule-171": {"leads"}, "rule-173": {"prior attempts"}, "rule-174": {"12 quiet hours", "24 hours", "48 hours"},
	"rule-178": {"3000 characters"}, "rule-179": {"no link"}, "rule-180": {"fails or withdraws", "at once"},
	"rule-184": {"1 to 40 blocks", "document_invalid"}, "rule-185": {"REJ-27", "options_are_the_delivery"},
	"rule-186": {"claimed once", "already_registered"}, "rule-188": {"resolves the deal"}, "rule-189": {"feed", "at approval"},
	"rule-191": {"Delivering - time-based schedule"}, "rule-192": {"credits the agent"}, "rule-193": {"platform fault"},
	"gate-3": {"Paid access", "legitimate"},
}

func TestCitedRulesStateTheirLaw(t *testing.T) {
	texts := map[string]string{}
	for _, r := range Rules() {
		texts[r.ID] = r.Text
	}
	for id, words := range cited {
		for _, w := range words {
			if !strings.Contains(texts[id], w) {
				t.Errorf("%s does not say %q", id, w)
			}
		}
	}
}

func TestRulesCannotBeChangedThroughTheResult(t *testing.T) {
	first := Rules()
	first[0].Text, first[0].Surfaces[0] = "changed", "changed"
	if again := Rules(); again[0].Text == "changed" || again[0].Surfaces[0] == "changed" {
		t.Error("a caller changed the registry")
	}
}
