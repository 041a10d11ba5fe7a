package site

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
)

// restore turns a saved answer back into what its inputs held.
func (b block) restore(saved json.RawMessage, into url.Values) {
	var text string
	if json.Unmarshal(saved, &text) == nil {
		into.Set(b.field(""), text)
		return
	}
	var v map[string]any
	if json.Unmarshal(saved, &v) != nil {
		return
	}
	str := func(key string) string { s, _ := v[key].(string); return s }
	yes := func(key string) bool { is, _ := v[key].(bool); return is }
	switch b.control() {
	case controlRadio:
		into.Set(b.field(""), place(b.Config.Options, str("choice")))
		into.Set(b.field("other"), str("other_text"))
	case controlCheck:
		for _, name := range texts(v["choices"]) {
			into.Add(b.field(""), place(b.Config.Options, name))
		}
		into.Set(b.field("other"), str("other_text"))
	case controlRank:
		for n, name := range texts(v["order"]) {
			into.Set(b.field(place(b.Config.Options, name)), strconv.Itoa(n+1))
		}
	case controlForm:
		b.restoreForm(v, into)
	case controlSlot:
		n := slices.IndexFunc(b.Config.Slots, func(s slot) bool { return s.ID != "" && s.ID == str("slot") || s.Label == str("slot") })
		into.Set(b.field(""), strconv.Itoa(n))
		into.Set(b.field("text"), str("slot"))
	case controlYesNo:
		into.Set(b.field(""), map[bool]string{true: "yes", false: "no"}[yes("confirmed")])
		into.Set(b.field("note"), str("correction"))
	case controlDone, controlAgree, controlRead:
		if yes("done") || yes("agreed") || yes("read_confirmed") {
			into.Set(b.field(""), "yes")
		}
		into.Set(b.field("note"), str("note"))
	case controlSign:
		into.Set(b.field(""), str("signed_name"))
	}
}

func (b block) restoreForm(v map[string]any, into url.Values) {
	for n, f := range b.Config.Fields {
		name := b.field(strconv.Itoa(n))
		switch saved := v[f.Key].(type) {
		case string:
			if f.Type == "select" || f.Type == "radio" {
				saved = place(f.Options, saved)
			}
			into.Set(name, saved)
		case float64:
			into.Set(name, strconv.FormatFloat(saved, 'f', -1, 64))
		case []any:
			for _, one := range texts(saved) {
				into.Add(name, place(f.Options, one))
			}
		}
	}
}

// place is where among the options a key stands, as an input's value.
func place(options []option, key string) string {
	if n := slices.IndexFunc(options, func(o option) bool { return o.key() == key }); n >= 0 {
		return strconv.Itoa(n)
	}
	return otherChoice
}

func texts(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, one := range list {
		if s, ok := one.(string); ok {
			out = append(out, s)
		}
	}
	return out
}
