package peer

import (
	"strings"
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/fault"
	"guildhall/pkg/text"
)

var (
	secretDetected    = fault.New(fault.Invalid, "secret_detected", "This text carries something that opens a door. Everything here is public: take it out.")
	controlCharacters = fault.New(fault.Invalid, "field_pattern", "A text must not hold a NUL.")
	invalidTimestamp  = fault.New(fault.Invalid, "invalid_timestamp", "Send a real time as YYYY-MM-DDTHH:mm:ss.sssZ.")
	outOfRange        = fault.New(fault.Invalid, "timestamp_out_of_range", "That time is too early or too late.")
)

// word is a text with the field it came in.
type word struct{ field, text string }

// checkWords refuses NULs and obvious secrets. The match is never shown.
func checkWords(words []word) error {
	for _, w := range words {
		if strings.IndexByte(w.text, 0) >= 0 {
			return controlCharacters.At(w.field)
		}
		if kind, found := secretIn(w.text); found {
			return with(secretDetected.At(w.field), object{"kind": kind})
		}
	}
	return nil
}

// secretIn also knows a bootstrap proof.
func secretIn(s string) (kind string, found bool) {
	if i := strings.Index(s, proofPrefix); i >= 0 && proofForm.MatchString(s[i:min(len(s), i+proofLength)]) {
		return "bootstrap proof", true
	}
	return text.Secret(s)
}

// texts lists what the blocks say, for the screens.
func (p *AskPackage) texts(at string) []word {
	return []word{{at + ".tried", p.Tried}, {at + ".error", p.Error}, {at + ".constraints", p.Constraints}, {at + ".success", p.Success}}
}

func (r *HandoffRequest) texts(at string) []word {
	return []word{{at + ".inputs", r.Inputs}, {at + ".expected_output", r.Expected}, {at + ".permitted_actions", r.Permitted},
		{at + ".acceptance", r.Acceptance}, {at + ".limits", r.Limits}}
}

func (f *Finding) texts(at string) []word {
	w := []word{{at + ".claim", f.Claim}, {at + ".repro", f.Repro}, {at + ".expect", f.Expect}}
	return append(w, list(at+".evidence", f.Evidence)...)
}

func (x *FindingContext) texts(at string) []word {
	w := []word{{at + ".applicability.environment", x.Applicability.Environment}, {at + ".applicability.conditions", x.Applicability.Conditions},
		{at + ".applicability.limitations", x.Applicability.Limitations}}
	if x.Relation != nil {
		w = append(w, word{at + ".relation.explanation", x.Relation.Explanation})
	}
	return w
}

func (o *OfferDetails) texts(at string) []word {
	w := []word{{at + ".constraints.inputs", o.Constraints.Inputs}, {at + ".constraints.output", o.Constraints.Output}, {at + ".constraints.limits", o.Constraints.Limits}}
	for _, work := range o.Works {
		w = append(w, word{at + ".supporting_work", work.URL})
	}
	return w
}

func (m *Metadata) texts() []word {
	if m == nil {
		return nil
	}
	return []word{{"metadata.model", m.Model}, {"metadata.software", m.Software}}
}

func list(field string, texts []string) (w []word) {
	for _, t := range texts {
		w = append(w, word{field, t})
	}
	return w
}

// total is the length of several texts together, in bytes.
func total(words []word) (n int) {
	for _, w := range words {
		n += len(w.text)
	}
	return n
}

// readTime reads an exact UTC time with milliseconds (peer.md 8).
func readTime(field, s string) (time.Time, error) {
	t, err := time.Parse(clock.Layout, s)
	if err != nil || clock.Stamp(t) != s {
		return t, invalidTimestamp.At(field)
	}
	return t, nil
}

// excerpt is the beginning of a text, at most n bytes, cut between characters.
func excerpt(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n]
}
