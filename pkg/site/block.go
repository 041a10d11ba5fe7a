package site

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// block is one thing a step asks of the person (bench.md 5.7).
type block struct {
	Number      int    `json:"block_number"`
	ID          string `json:"id"`
	Title       string `json:"title"`
	Format      string `json:"format"`
	Required    *bool  `json:"required"`
	Description string `json:"description"`
	Config      struct {
		Placeholder string      `json:"placeholder"`
		Rows        int         `json:"rows"`
		MaxChars    int         `json:"max_chars"`
		Mode        string      `json:"mode"`
		Options     []option    `json:"options"`
		Fields      []formField `json:"fields"`
		Document    *document   `json:"document"`
		Slots       []slot      `json:"slots"`
		Link        *struct {
			URL   string `json:"url"`
			Title string `json:"title"`
		} `json:"link"`
	} `json:"config"`
}

type option struct {
	ID     string `json:"id"`
	Label  string `json:"label"`
	Detail string `json:"detail"`
}

func (o option) key() string { return cmp.Or(o.ID, o.Label) }

type formField struct {
	Label       string   `json:"label"`
	Key         string   `json:"key"`
	Type        string   `json:"type"`
	Placeholder string   `json:"placeholder"`
	Options     []option `json:"options"`
}

// slot is a time to pick, written as an object or as its bare label.
type slot struct {
	ID    string `json:"id"`
	Label string `json:"label"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *slot) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &s.Label)
	}
	type plainSlot slot
	return json.Unmarshal(b, (*plainSlot)(s))
}

// control is how a format is drawn; several formats share one.
type control string

const (
	controlText   control = "text"
	controlArea   control = "area"
	controlDate   control = "date"
	controlRadio  control = "radio"
	controlCheck  control = "check"
	controlRank   control = "rank"
	controlForm   control = "form"
	controlYesNo  control = "yesno"
	controlRead   control = "read"
	controlAgree  control = "agree"
	controlSign   control = "sign"
	controlDone   control = "done"
	controlSlot   control = "slot"
	controlNone   control = "none" // nothing to type: the button is the answer
	controlAbsent control = "absent"
)

var controls = map[string]control{
	"short_answer": controlText, "location": controlText, "written_response": controlArea, "code_reference": controlArea, "date_time": controlDate,
	"single_choice": controlRadio, "multiple_choice": controlCheck, "rank": controlRank, "structured_form": controlForm,
	"confirm_correct": controlYesNo, "review_approve": controlRead, "agreement": controlAgree, "signature": controlSign,
	"external_link": controlDone, "invite_share": controlDone, "payment_authorize": controlDone, "communication": controlDone,
	"schedule": controlSlot, "grant_access": controlNone,
}

// control is how this block is drawn; a review without a document to read asks for nothing
// but the button.
func (b block) control() control {
	c := cmp.Or(controls[b.Format], controlAbsent)
	if c == controlRead && b.Config.Document == nil {
		return controlNone
	}
	return c
}

// field names an input of the block.
func (b block) field(end string) string {
	name := "har_" + strconv.Itoa(b.Number)
	if end != "" {
		name += "." + end
	}
	return name
}

// blockView is a block as the page draws it, filled with what was typed or saved.
type blockView struct {
	Block    block
	Control  control
	Required bool
	Wrong    string // why the answer was not accepted
	Inputs   []blockInput
	Other    *blockInput
}

// blockInput is one input of a block.
type blockInput struct {
	Name, Kind, Label, Hint, Value string
	Typed                          Typed
	Ticked                         bool
	Max, Rows                      int
	Required                       bool
}

// ID is the input's id on the page.
func (i blockInput) ID() string {
	return strings.NewReplacer(".", "-", " ", "-").Replace(i.Name) + "-" + i.Value
}

// view fills a block: what was typed into a refused form wins over what is saved.
func (b block) view(s step, typed url.Values) blockView {
	v := blockView{Block: b, Control: b.control(), Required: (b.Required == nil || *b.Required) && s.Step.Ask != "PROVIDE"}
	was := typed
	if was == nil {
		was = url.Values{}
		for _, r := range s.Saved {
			if r.Number == b.Number {
				b.restore(r.Value, was)
			}
		}
	}
	in := func(end, kind, label string) blockInput {
		return blockInput{Name: b.field(end), Kind: kind, Label: label, Typed: Typed(was.Get(b.field(end))), Required: v.Required}
	}
	tick := func(end, kind, label, value string) blockInput {
		i := in(end, kind, label)
		i.Value, i.Ticked = value, slices.Contains(was[i.Name], value)
		return i
	}
	switch v.Control {
	case controlText, controlArea, controlDate:
		i := in("", "text", b.Title)
		i.Hint, i.Rows, i.Max = b.Config.Placeholder, cmp.Or(b.Config.Rows, 4), cmp.Or(b.Config.MaxChars, 5000)
		if v.Control == controlText {
			i.Max = 500
		}
		if v.Control == controlDate {
			i.Kind = cmp.Or(b.Config.Mode, "datetime-local")
		}
		v.Inputs = []blockInput{i}
	case controlRadio, controlCheck:
		kind := map[control]string{controlRadio: "radio", controlCheck: "checkbox"}[v.Control]
		for n, o := range b.Config.Options {
			i := tick("", kind, o.Label, strconv.Itoa(n))
			i.Hint = o.Detail
			v.Inputs = append(v.Inputs, i)
		}
		v.Inputs = append(v.Inputs, tick("", kind, "Something else", otherChoice))
		other := in("other", "text", "Something else, in your words")
		v.Other = &other
	case controlRank:
		for n, o := range b.Config.Options {
			i := in(strconv.Itoa(n), "number", o.Label)
			i.Hint, i.Max = o.Detail, len(b.Config.Options)
			v.Inputs = append(v.Inputs, i)
		}
	case controlForm:
		v.Inputs = b.formInputs(in, tick)
	case controlSlot:
		for n, o := range b.Config.Slots {
			v.Inputs = append(v.Inputs, tick("", "radio", o.Label, strconv.Itoa(n)))
		}
		if len(b.Config.Slots) == 0 {
			v.Inputs = []blockInput{in("text", "text", "When it suits you")}
		}
	case controlYesNo:
		v.Inputs = []blockInput{tick("", "radio", "Yes, this is correct", "yes"), tick("", "radio", "No", "no")}
		other := in("note", "text", "What is not correct")
		v.Other = &other
	case controlDone:
		v.Inputs = []blockInput{tick("", "checkbox", "I have done this", "yes")}
		other := in("note", "text", "A note for the agent")
		v.Other = &other
	case controlRead:
		v.Inputs = []blockInput{tick("", "checkbox", "I have read this", "yes")}
	case controlAgree:
		v.Inputs = []blockInput{tick("", "checkbox", "I agree", "yes")}
	case controlSign:
		i := in("", "text", "Type your full name to sign")
		i.Max = 120
		v.Inputs = []blockInput{i}
	}
	return v
}

func (b block) formInputs(in func(end, kind, label string) blockInput, tick func(end, kind, label, value string) blockInput) []blockInput {
	var out []blockInput
	for n, f := range b.Config.Fields {
		end := strconv.Itoa(n)
		switch f.Type {
		case "select", "radio", "checkbox":
			kind := map[string]string{"select": "radio", "radio": "radio", "checkbox": "checkbox"}[f.Type]
			for k, o := range f.Options {
				i := tick(end, kind, f.Label+": "+o.Label, strconv.Itoa(k))
				i.Required = false
				out = append(out, i)
			}
		default:
			i := in(end, cmp.Or(f.Type, "text"), f.Label)
			if !slices.Contains([]string{"text", "textarea", "date", "number", "email", "tel", "time", "month"}, i.Kind) {
				i.Kind = "text"
			}
			i.Hint, i.Max, i.Rows, i.Required = f.Placeholder, 5000, 3, false
			out = append(out, i)
		}
	}
	return out
}

// otherChoice is how an answer names what the person put in own words.
const otherChoice = "other"

// answer is a block's answer as the operation takes it.
type answer struct {
	Number int `json:"block_number"`
	Value  any `json:"value"`
}

// responsesOf reads the answers to a step's blocks from its form. What was left empty is
// left out: the operation says what is missing.
func responsesOf(s step, f url.Values, verdict string, now time.Time) []answer {
	out := []answer{}
	for _, b := range s.Blocks {
		if v, ok := b.read(f, verdict, now); ok {
			out = append(out, answer{b.Number, v})
		}
	}
	return out
}

// read reads one block's answer; ok is false where nothing was answered.
func (b block) read(f url.Values, verdict string, now time.Time) (value any, ok bool) {
	get := func(end string) string { return strings.TrimSpace(f.Get(b.field(end))) }
	ticked := get("") == "yes"
	switch b.control() {
	case controlText, controlArea, controlDate:
		return get(""), get("") != ""
	case controlRadio:
		name := pick(b.Config.Options, get(""))
		return map[string]any{"choice": name, "other_text": get("other")}, name != ""
	case controlCheck:
		names := []string{}
		for _, one := range f[b.field("")] {
			if name := pick(b.Config.Options, one); name != "" {
				names = append(names, name)
			}
		}
		return map[string]any{"choices": names, "other_text": get("other")}, len(names) > 0
	case controlRank:
		return b.ranked(f)
	case controlForm:
		return b.filled(f)
	case controlSlot:
		if n, err := strconv.Atoi(get("")); err == nil && n >= 0 && n < len(b.Config.Slots) {
			return map[string]any{"slot": cmp.Or(b.Config.Slots[n].ID, b.Config.Slots[n].Label)}, true
		}
		return map[string]any{"slot": get("text")}, get("text") != ""
	case controlYesNo:
		return map[string]any{"confirmed": ticked, "correction": get("note")}, get("") != ""
	case controlDone:
		return map[string]any{"done": ticked, "note": get("note")}, ticked || get("note") != ""
	case controlAgree:
		return map[string]any{"agreed": ticked}, ticked
	case controlRead:
		return map[string]any{"verdict": "approve", "read_confirmed": true}, ticked && verdict == "approve"
	case controlSign:
		return map[string]any{"signed_name": get(""), "signed_at": now.UTC().Format(time.RFC3339)}, get("") != ""
	}
	return nil, false
}

// pick is the key of the option an input names by its place, or of the person's own words.
func pick(options []option, place string) string {
	if place == otherChoice {
		return otherChoice
	}
	n, err := strconv.Atoi(place)
	if err != nil || n < 0 || n >= len(options) {
		return ""
	}
	return options[n].key()
}

// ranked orders the options by the numbers typed beside them.
func (b block) ranked(f url.Values) (any, bool) {
	type placed struct {
		key   string
		place int
	}
	var all []placed
	for n, o := range b.Config.Options {
		if place := number(f.Get(b.field(strconv.Itoa(n)))); place > 0 {
			all = append(all, placed{o.key(), place})
		}
	}
	slices.SortStableFunc(all, func(a, b placed) int { return cmp.Compare(a.place, b.place) })
	names := []string{}
	for _, p := range all {
		names = append(names, p.key)
	}
	return map[string]any{"order": names}, len(names) > 0
}

// filled reads the fields of a form.
func (b block) filled(f url.Values) (any, bool) {
	out := map[string]any{}
	for n, field := range b.Config.Fields {
		name := b.field(strconv.Itoa(n))
		typed := strings.TrimSpace(f.Get(name))
		switch field.Type {
		case "checkbox":
			names := []string{}
			for _, one := range f[name] {
				if key := pick(field.Options, one); key != "" {
					names = append(names, key)
				}
			}
			if len(names) > 0 {
				out[field.Key] = names
			}
		case "select", "radio":
			if key := pick(field.Options, typed); key != "" {
				out[field.Key] = key
			}
		default:
			if typed != "" {
				out[field.Key] = typed
			}
		}
	}
	return out, len(out) > 0
}

func number(s string) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		return 0
	}
	return n
}
