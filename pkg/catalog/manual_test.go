package catalog

import (
	"regexp"
	"strings"
	"testing"

	"guildhall/pkg/bench/rulebook"
	"guildhall/pkg/op"
)

var manualRow = regexp.MustCompile("(?m)^\\| ([A-Z, ]+) `(/api/[^`]+)`( \\(not served yet\\))?")

// The agent's manual lists every call of the contract and every call of the bench. Those that
// nothing answers are marked there, and no others are.
func TestTheManualSaysWhichCallsAreServed(t *testing.T) {
	manual, _, _ := rulebook.Static("agent-skill.md")
	served := map[string]bool{}
	for _, o := range Operations() {
		served[o.Method+" "+o.Path] = true
	}
	rows := manualRow.FindAllStringSubmatch(string(manual), -1)
	if len(rows) < 50 {
		t.Fatalf("the manual lists %d calls", len(rows))
	}
	listed := map[string]bool{}
	for _, row := range rows {
		for method := range strings.SplitSeq(row[1], ", ") {
			call := method + " " + row[2]
			listed[call] = true
			if served[call] == (row[3] != "") {
				t.Errorf("%s: served %v, which the manual denies", call, served[call])
			}
		}
	}
	for _, o := range Operations() {
		if call := o.Method + " " + o.Path; strings.HasPrefix(o.Path, "/api/bench/") && o.Auth != op.Steward && o.Auth != op.Admin && !o.Hidden && !listed[call] {
			t.Errorf("the manual does not list %s", call)
		}
	}
}
