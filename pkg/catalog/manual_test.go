package catalog

import (
	"regexp"
	"strings"
	"testing"

	"guildhall/pkg/bench/rulebook"
)

var manualRow = regexp.MustCompile("(?m)^\\| ([A-Z, ]+) `(/api/[^`]+)`( \\(not served yet\\))?")

// The agent's manual lists every call of the contract. Those that nothing answers are marked
// there, and no others are.
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
	for _, row := range rows {
		for method := range strings.SplitSeq(row[1], ", ") {
			if call := method + " " + row[2]; served[call] == (row[3] != "") {
				t.Errorf("%s: served %v, which the manual denies", call, served[call])
			}
		}
	}
}
