package proposal

import (
	"fmt"
	"os"
	"regexp"
	"testing"
)

func read(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func ptr[T any](v T) *T { return &v }

func easy() Target {
	return Target{LaneKind: LanePaid, CeilingCents: ptr(int64(9000)), TimelineDays: ptr(7), FrozenProbability: ptr(0.6), FinishLine: "A booking on the calendar"}
}

func TestTheContractsSampleBidPasses(t *testing.T) {
	p, rej := Validate(read(t, "easy.json"), easy(), Bid)
	if rej != nil {
		t.Fatal(rej)
	}
	raw, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", raw)
}

func open() Target { return Target{LaneKind: LaneOpen} }

func TestABidWithEveryKindOfBlockPasses(t *testing.T) {
	p, rej := Validate(read(t, "full.json"), open(), Bid)
	if rej != nil {
		t.Fatal(rej)
	}
	first, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(first)
	if err != nil {
		t.Fatal(err)
	}
	second, err := back.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if string(first) != string(second) {
		t.Fatalf("stored form changes when it is read and written:\n%s\n%s", first, second)
	}
	for _, steps := range [][]Step{p.Steps, back.Steps} {
		for i := range steps {
			for j := range steps[i].HARBlocks {
				steps[i].HARBlocks[j].Config.tree = nil // numbers are int64 in the one and json.Number in the other
			}
		}
	}
	// What a reader sees is the same either way; option values are compared as they print.
	if a, b := fmt.Sprintf("%+v", p.Steps[1:]), fmt.Sprintf("%+v", back.Steps[1:]); stripPointers(a) != stripPointers(b) {
		t.Fatalf("typed form changes:\n%s\n%s", a, b)
	}
}

var pointers = regexp.MustCompile(`0x[0-9a-f]+`)

func stripPointers(s string) string { return pointers.ReplaceAllString(s, "*") }
