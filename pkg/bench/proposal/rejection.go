package proposal

import (
	"fmt"
	"strings"
)

// Codes a bid or a plan can be refused with (bench contract 5.12). REJ-10 is reserved for the self-deal check, which is a
// steward's work and never fires.
const (
	RejSchema     = "REJ-01"
	RejCeiling    = "REJ-02"
	RejTimeline   = "REJ-03"
	RejAsk        = "REJ-04"
	RejSums       = "REJ-05"
	RejRecurring  = "REJ-06"
	RejLink       = "REJ-07"
	RejCredential = "REJ-08"
	RejGrant      = "REJ-11"
	RejCaps       = "REJ-12"
	RejProvide    = "REJ-13"
	RejGoal       = "REJ-14"
	RejQuestions  = "REJ-15"
	RejOdds       = "REJ-16"
	RejMoreGrants = "REJ-18"
	RejGuarantee  = "REJ-19"
	RejPitch      = "REJ-21"
	RejBlocks     = "REJ-22"
	RejDocument   = "REJ-23"
	RejControl    = "REJ-24"
	RejOptions    = "REJ-25"
	RejConnector  = "REJ-26"
)

// messages is the one general sentence of each code; the detail says where and what.
var messages = map[string]string{
	RejSchema:     "A field is missing or does not have the form the schema asks for.",
	RejCeiling:    "The total is more than this person agreed to spend.",
	RejTimeline:   "The plan takes longer than this person allows.",
	RejAsk:        "A step asks for something other than APPROVE, CHOOSE, PROVIDE or GRANT.",
	RejSums:       "The amounts do not add up to the total, to the cent.",
	RejRecurring:  "The total is paid once; nothing may ask for a repeated payment.",
	RejLink:       "Links may only appear as link objects, never inside text.",
	RejCredential: "A step must not ask a person for a password, a code or a login.",
	RejGrant:      "A GRANT step must say what, why, scope and until.",
	RejCaps:       "The number of steps, rounds or minutes is outside the limits.",
	RejProvide:    "The provide block of a PROVIDE step is broken.",
	RejGoal:       "There must be exactly one goal.",
	RejQuestions:  "There must be exactly one list of exactly four questions.",
	RejOdds:       "Every step carries the agent's own odds, a number between 0 and 1.",
	RejMoreGrants: "The informed plan asks for more access than the bid did.",
	RejGuarantee:  "An outcome promise may commit to work, not guarantee the end result.",
	RejPitch:      "The pitch needs a title and a body within their lengths.",
	RejBlocks:     "A step that waits on the person must carry action blocks.",
	RejDocument:   "A document to read is outside its form or its limits.",
	RejControl:    "No action block of the step lets the person answer its ask.",
	RejOptions:    "A choice must offer enough real options.",
	RejConnector:  "The connector does not match the catalog.",
}

// Rejection is why a bid or plan is refused. Nothing was written. Code is REJ-NN, Message the rule in one sentence, Detail
// the place and the fault ("step 3: declared_odds is required (rule 121)").
type Rejection struct {
	Code    string
	Message string
	Detail  string
}

// Error lets a rejection travel as an error; it never holds more than the agent may see.
func (r *Rejection) Error() string { return r.Code + ": " + r.Detail }

// Reject builds a rejection of a known code, for the few codes that operations emit themselves.
func Reject(code, detail string) *Rejection {
	return &Rejection{Code: code, Message: messages[code], Detail: detail}
}

// problem is a fault on its way out of nested values: each level adds its part of the place.
type problem struct {
	code  string   // empty until a level that knows its code is passed
	where []string // "step 3", "block 2": outermost first
	name  string   // dotted field name inside the last of them
	text  string
}

func wrong(format string, args ...any) *problem { return &problem{text: fmt.Sprintf(format, args...)} }

// coded sets the code unless a deeper level already did.
func (p *problem) coded(code string) *problem {
	if p.code == "" {
		p.code = code
	}
	return p
}

// in puts the problem inside a named field. A list's items name themselves ("option 4"), so their list adds nothing.
func (p *problem) in(field string) *problem {
	switch {
	case len(p.where) > 0:
	case p.name == "":
		p.name = field
	default:
		p.name = field + "." + p.name
	}
	return p
}

// at puts the problem inside item number n (from 1) of a list.
func (p *problem) at(noun string, n int) *problem {
	p.where = append([]string{fmt.Sprintf("%s %d", noun, n)}, p.where...)
	return p
}

func (p *problem) rejection() *Rejection {
	var b strings.Builder
	b.WriteString(strings.Join(p.where, ", "))
	if len(p.where) > 0 && p.name != "" {
		b.WriteString(": ")
	} else if len(p.where) > 0 {
		b.WriteString(" ")
	}
	if p.name != "" {
		b.WriteString(p.name + " ")
	}
	b.WriteString(p.text)
	return Reject(p.code, b.String())
}
