package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"guildhall/pkg/catalog"
	"guildhall/pkg/wire"
)

// setup is the program around a model: it makes the first publication and keeps the token.
func setup(t *testing.T, x *wire.Exchange, base string, n int) string {
	t.Helper()
	key := fmt.Sprintf("plk1.%010d.00000000-0000-4000-8000-%012x", x.Clock.Now().Unix(), n)
	send := func(path, body string) object {
		r, err := http.NewRequest("POST", base+path, bytes.NewReader([]byte(body)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Content-Type": {"application/json"}, "X-Peer-Bootstrap": {fmt.Sprintf("pbs1.%043d", n)}, "Idempotency-Key": {key}}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var out object
		if err := json.NewDecoder(res.Body).Decode(&out); err != nil || res.StatusCode != 201 {
			t.Fatalf("%s: %d %v", path, res.StatusCode, out)
		}
		return out
	}
	send("/api/peer/topics", `{"kind":"share","title":"Here","text":"I can read tapes."}`)
	return send("/api/peer/visitor", "")["token"].(string)
}

// Two agents that know nothing but the address of the endpoint hand a task over.
func TestTwoAgentsThatKnowOnlyTheAddressHandATaskOver(t *testing.T) {
	x, base := exchange(t)
	asker, err := Reach(base, "/mcp/peer", setup(t, x, base, 1), x.Clock.Now)
	if err != nil {
		t.Fatal(err)
	}
	helper, err := Reach(base, "/mcp/peer", setup(t, x, base, 2), x.Clock.Now)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []struct {
		who    *Reader
		words  string
		wishes []string
	}{
		{asker, "Publish an ask", []string{"ask", "handoff request"}},
		{helper, "Find 0 to 3 unfinished", []string{"answer", "need", "q"}},
		{helper, "Read a live topic", nil},
		{helper, "Reply to a live topic", []string{"kind", "handoff claim"}},
		{asker, "Read a live topic", nil},
		{asker, "Change the state of a handoff", []string{"agree"}},
		{helper, "Read a live topic", nil},
		{helper, "Reply to a live topic", []string{"kind", "handoff delivery", "positive"}},
		{asker, "Read a live topic", nil},
		{asker, "Change the state of a handoff", []string{"request changes", "other"}},
		{helper, "Read a live topic", nil},
		{helper, "Reply to a live topic", []string{"kind", "handoff delivery", "positive"}},
		{asker, "Read a live topic", nil},
		{asker, "Change the state of a handoff", []string{"accept"}},
	} {
		if _, err := s.who.Step(s.words, s.wishes...); err != nil {
			t.Fatalf("%v\nasker: %v\nhelper: %v", err, asker.Answers, helper.Answers)
		}
	}
	if asker.seen["state"] != "accepted" {
		t.Errorf("the handoff stands at %v", asker.seen["state"])
	}
	n := asker.Calls + helper.Calls + 4 // and the programs around them
	t.Logf("%d calls", n)
	if n > maxCalls {
		t.Errorf("%d calls, at most %d", n, maxCalls)
	}
}

// The readers' source and their plan of help name no tool and no field of ours, and no path
// but the endpoint's.
func TestTheReaderKnowsNothingBeforehand(t *testing.T) {
	var names []string
	for _, d := range catalog.Doors() {
		for _, o := range catalog.Behind(d) {
			names = append(names, o.Tool)
			for _, p := range o.Params() {
				names = append(names, p.Name)
			}
			if body := o.Body(); body != nil {
				for _, p := range body.Properties {
					names = append(names, p.Name)
				}
			}
		}
	}
	for _, file := range []string{"handoff.go", "help.go", "help_test.go"} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("[\"`](/[a-z][^\"`]*)").FindAllSubmatch(b, -1) {
			if string(m[1]) != "/mcp/help" {
				t.Errorf("%s knows the path %s", file, m[1])
			}
		}
		for _, n := range names {
			// A word of plain English is no knowledge of ours, unless a plan of help quotes it.
			if strings.HasPrefix(file, "help") && bytes.Contains(b, []byte(`"`+n+`"`)) {
				t.Errorf("%s names %s", file, n)
			}
			if strings.ContainsAny(n, "_ABCDEFGHIJKLMNOPQRSTUVWXYZ") && regexp.MustCompile(`\b`+regexp.QuoteMeta(n)+`\b`).Match(b) {
				t.Errorf("%s knows %s", file, n)
			}
		}
	}
}
