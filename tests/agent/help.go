package agent

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Newcomer is a reader that nobody keeps a token for: it makes itself an account with the tool
// whose description begins with these words, and shows from then on what that tool's
// description says to show.
func Newcomer(base, door, words string, table map[string]any, now func() time.Time) (*Reader, error) {
	r, err := Reach(base, door, "", now)
	if err != nil {
		return nil, err
	}
	r.table = table
	if _, err := r.Step(words); err != nil {
		return nil, err
	}
	for _, t := range r.tools {
		if m := shown.FindStringSubmatch(t.Description); m != nil && strings.HasPrefix(t.Description, words) {
			r.token, _ = r.seen[m[1]].(string)
		}
	}
	if r.token == "" {
		return nil, fmt.Errorf("no description says what to show: %v", r.Answers)
	}
	return r, nil
}

// shown finds what to show in the words about a tool.
var shown = regexp.MustCompile(`Send (\w+) as Authorization: Bearer`)

// compound is a name made of a thing and a member of it.
var compound = regexp.MustCompile(`^([a-z]+)([A-Z][a-z]+)$`)

// part is the member of a thing that a compound name asks for, where an answer told of one
// such thing or of several; of several, the first's.
func (r *Reader) part(name string) any {
	m := compound.FindStringSubmatch(name)
	if m == nil {
		return nil
	}
	member := strings.ToLower(m[2])
	for _, thing := range []string{m[1], m[1] + "s"} {
		one := r.seen[thing]
		if list, _ := one.([]any); len(list) > 0 {
			one = list[0]
		}
		if v := at(one)[member]; v != nil {
			return v
		}
	}
	return nil
}
