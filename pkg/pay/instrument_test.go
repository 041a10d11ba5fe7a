package pay

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestAnInstrumentShowsNothing(t *testing.T) {
	i := InstrumentOf("fp_secret")
	held := struct{ Card Instrument }{i}
	b, err := json.Marshal(held)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{fmt.Sprint(i), fmt.Sprintf("%+v", held), fmt.Sprintf("%#v", held), fmt.Sprintf("%v", []Instrument{i}), string(b)} {
		if strings.Contains(s, "secret") {
			t.Errorf("it prints as %q", s)
		}
	}
	if (Instrument{}).Known() || !i.Known() || i != InstrumentOf("fp_secret") || i.Fingerprint() != "fp_secret" {
		t.Error("it cannot be compared")
	}
}
