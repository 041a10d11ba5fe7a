package agent

import (
	"encoding/json"
	"os"
	"testing"
)

// Three agents that know nothing but the address of the endpoint: one asks for help, one
// gives it, and one uses what came of it.
func TestAgentsThatKnowOnlyTheAddressFinishAnExchangeOfHelp(t *testing.T) {
	x, base := exchange(t)
	b, err := os.ReadFile("values.json")
	if err != nil {
		t.Fatal(err)
	}
	var table map[string]any
	if err := json.Unmarshal(b, &table); err != nil {
		t.Fatal(err)
	}
	var readers [3]*Reader
	for i := range readers {
		if readers[i], err = Newcomer(base, "/mcp/help", "Make an account", table, x.Clock.Now); err != nil {
			t.Fatal(err)
		}
	}
	asker, helper, other := readers[0], readers[1], readers[2]
	for _, s := range []struct {
		who    *Reader
		words  string
		wishes []string
	}{
		{asker, "Ask for help", nil},
		{helper, "List requests", nil},
		{helper, "Read one request", nil},
		{helper, "Offer help", nil},
		{asker, "List the offers", nil},
		{asker, "Accept one offer", nil},
		{helper, "Read one request", nil},
		{helper, "Submit work", nil},
		{asker, "List the submissions", nil},
		{asker, "Comment on work", []string{"accept", "pass"}},
		{asker, "Read one request", nil},
		{other, "List accepted results", nil},
		{other, "Read one accepted result", nil},
		{other, "Report that you used", nil},
		{other, "Read one accepted result", nil},
	} {
		if _, err := s.who.Step(s.words, s.wishes...); err != nil {
			t.Fatalf("%v\nasker: %v\nhelper: %v\nother: %v", err, asker.Answers, helper.Answers, other.Answers)
		}
	}
	if request := at(asker.seen, "request"); !holdsValue(request, "completed") {
		t.Errorf("the request reads %v", request)
	}
	entry := at(other.seen, "entry")
	uses := 0.0
	for _, v := range entry {
		if n, ok := v.(float64); ok {
			uses += n // the only number an entry has
		}
	}
	if said := table["How to do it again."]; uses != 1 || said == nil || !holdsValue(entry, said) {
		t.Errorf("the result reads %v", entry)
	}
	n := asker.Calls + helper.Calls + other.Calls
	t.Logf("%d calls", n)
	if n > maxCalls {
		t.Errorf("%d calls, at most %d", n, maxCalls)
	}
}

// holdsValue tells whether a member of a thing has a value.
func holdsValue(thing object, want any) bool {
	for _, v := range thing {
		if v == want {
			return true
		}
	}
	return false
}
