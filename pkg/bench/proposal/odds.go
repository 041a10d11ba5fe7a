package proposal

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// odds is a chance as an agent declares it: a number strictly between 0 and 1 (bench contract 5.4). What looks like a
// percentage is answered with the fraction to send.
type odds struct{}

func (odds) check(v any) (any, *problem) {
	n, ok := v.(json.Number)
	if !ok {
		if s, isText := v.(string); isText {
			return nil, oddsText(s)
		}
		return nil, wrong("must be a number strictly between 0 and 1, not %s", kindOf(v))
	}
	f, ok := finite(n)
	switch {
	case !ok:
		return nil, wrong("must be a finite number strictly between 0 and 1")
	case f > 1 && f < 100:
		return nil, wrong("looks like a percentage: send %s instead of %s", fraction(f), n)
	case f == 1:
		return nil, wrong("must be less than 1: work still ahead is never certain")
	case f <= 0 || f > 1:
		return nil, wrong("must be strictly between 0 and 1")
	}
	return f, nil
}

// oddsText says what to send in place of a number written as text.
func oddsText(s string) *problem {
	s, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	switch {
	case err == nil && f > 0 && f < 1 && !percent:
		return wrong("must be a number, not text: send %s without quotes", strconv.FormatFloat(f, 'g', -1, 64))
	case err == nil && f > 0 && f < 100 && (percent || f > 1):
		return wrong("must be a number, not text, and looks like a percentage: send %s", fraction(f))
	}
	return wrong("must be a number strictly between 0 and 1, not text")
}

// fraction prints a percentage as the fraction it stands for, without the noise of binary division.
func fraction(percent float64) string {
	digits, exp, _ := strings.Cut(strconv.FormatFloat(percent, 'e', -1, 64), "e")
	e, _ := strconv.Atoi(exp)
	f, _ := strconv.ParseFloat(digits+"e"+strconv.Itoa(e-2), 64)
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// CheckOdds judges a chance outside a bid, such as a restatement: the value as JSON, and what is wrong with it as the end of
// a sentence ("must be strictly between 0 and 1"); empty when it is legal.
func CheckOdds(value json.RawMessage) (float64, string) {
	v, err := parse(value)
	if err != nil {
		return 0, "must be a number strictly between 0 and 1"
	}
	f, p := odds{}.check(v)
	if p != nil {
		return 0, p.text
	}
	return f.(float64), ""
}

func (odds) schema() *jsonschema.Schema {
	var zero, one float64 = 0, 1
	return &jsonschema.Schema{Type: "number", ExclusiveMinimum: &zero, ExclusiveMaximum: &one}
}
