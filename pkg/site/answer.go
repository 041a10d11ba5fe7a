package site

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

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
