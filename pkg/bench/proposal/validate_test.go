package proposal

import (
	"os"
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
