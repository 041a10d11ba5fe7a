package site

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// blockView is a block as the page draws it, filled with what was typed or saved.
type blockView struct {
	Block    block
	Control  control
	Required bool
	Wrong    string // why the answer was not accepted
	Inputs   []blockInput
	Other    *blockInput
	Files    []named // uploaded for it
}

// Line tells whether the block is one input that its title labels.
func (v blockView) Line() bool {
	return v.Control == controlText || v.Control == controlArea || v.Control == controlDate
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

// drawing draws the inputs of one block, filled with what they held.
type drawing struct {
	b        block
	was      url.Values
	required bool
}

// in is an input; end tells several of one block apart.
func (d drawing) in(end, kind, label string) blockInput {
	name := d.b.field(end)
	return blockInput{Name: name, Kind: kind, Label: label, Typed: Typed(d.was.Get(name)), Required: d.required}
}

// tick is one thing to tick.
func (d drawing) tick(end, kind, label, value string) blockInput {
	i := d.in(end, kind, label)
	i.Value, i.Ticked = value, slices.Contains(d.was[i.Name], value)
	return i
}

// words is an input for words beside what is ticked.
func (d drawing) words(end, label string) *blockInput {
	i := d.in(end, "text", label)
	i.Required = false
	return &i
}

// view fills a block: what was typed into a refused form wins over what is saved.
func (b block) view(s step, typed url.Values) blockView {
	v := blockView{Block: b, Control: b.control(), Required: (b.Required == nil || *b.Required) && s.Step.Ask != "PROVIDE"}
	d := drawing{b, typed, v.Required}
	if typed == nil {
		d.was = url.Values{}
		for _, r := range s.Saved {
			if r.Number == b.Number {
				b.restore(r.Value, d.was)
			}
		}
	}
	switch v.Control {
	case controlFiles:
		v.Files = s.chosen(b.Number)
	case controlText, controlArea, controlDate, controlSign:
		v.Inputs = []blockInput{d.line(v.Control)}
	case controlRadio, controlCheck, controlRank, controlSlot:
		v.Inputs = d.options(v.Control)
		if v.Control == controlRadio || v.Control == controlCheck {
			v.Other = d.words("other", "Something else, in your words")
		}
	case controlForm:
		v.Inputs = d.fields()
	case controlYesNo:
		v.Inputs = []blockInput{d.tick("", "radio", "Yes, this is correct", "yes"), d.tick("", "radio", "No", "no")}
		v.Other = d.words("note", "What is not correct")
	case controlDone:
		v.Inputs, v.Other = []blockInput{d.tick("", "checkbox", "I have done this", "yes")}, d.words("note", "A note for the agent")
	case controlRead:
		v.Inputs = []blockInput{d.tick("", "checkbox", "I have read this", "yes")}
	case controlAgree:
		v.Inputs = []blockInput{d.tick("", "checkbox", "I agree", "yes")}
	}
	return v
}

// Limits of what is typed into a block, in characters (bench.md 2.11, 5.7).
const (
	maxLine = 500
	maxText = 5000
	maxName = 120
)

// line is the one input of a block that takes words.
func (d drawing) line(c control) blockInput {
	i := d.in("", "text", d.b.Title)
	i.Hint, i.Max = d.b.Config.Placeholder, maxLine
	switch c {
	case controlArea:
		i.Rows, i.Max = cmp.Or(d.b.Config.Rows, 4), cmp.Or(d.b.Config.MaxChars, maxText)
	case controlDate:
		i.Kind = cmp.Or(d.b.Config.Mode, "datetime-local")
	case controlSign:
		i.Label, i.Max = "Type your full name to sign", maxName
	}
	return i
}

// options are the inputs of a block that offers some.
func (d drawing) options(c control) (out []blockInput) {
	if c == controlSlot {
		for n, o := range d.b.Config.Slots {
			out = append(out, d.tick("", "radio", o.Label, strconv.Itoa(n)))
		}
		if len(out) == 0 {
			out = append(out, d.in("text", "text", "When it suits you"))
		}
		return out
	}
	for n, o := range d.b.Config.Options {
		var i blockInput
		switch c {
		case controlRank:
			i = d.in(strconv.Itoa(n), "number", o.Label)
			i.Max = len(d.b.Config.Options)
		case controlRadio:
			i = d.tick("", "radio", o.Label, strconv.Itoa(n))
		default:
			i = d.tick("", "checkbox", o.Label, strconv.Itoa(n))
			i.Required = false // one of them is enough
		}
		i.Hint = o.Detail
		out = append(out, i)
	}
	switch c {
	case controlRadio:
		out = append(out, d.tick("", "radio", "Something else", otherChoice))
	case controlCheck:
		i := d.tick("", "checkbox", "Something else", otherChoice)
		i.Required = false
		out = append(out, i)
	}
	return out
}

// fields are the inputs of a form inside a block.
func (d drawing) fields() (out []blockInput) {
	d.required = false // the form as a whole is
	for n, f := range d.b.Config.Fields {
		end := strconv.Itoa(n)
		switch f.Type {
		case "select", "radio", "checkbox":
			kind := map[string]string{"select": "radio", "radio": "radio", "checkbox": "checkbox"}[f.Type]
			for k, o := range f.Options {
				out = append(out, d.tick(end, kind, f.Label+": "+o.Label, strconv.Itoa(k)))
			}
		default:
			i := d.in(end, cmp.Or(f.Type, "text"), f.Label)
			if !slices.Contains([]string{"text", "textarea", "date", "number", "email", "tel", "time", "month"}, i.Kind) {
				i.Kind = "text"
			}
			i.Hint, i.Max, i.Rows = f.Placeholder, maxText, 3
			if i.Kind == "number" {
				i.Max = 0
			}
			if i.Kind != "textarea" {
				i.Rows = 0
			}
			out = append(out, i)
		}
	}
	return out
}
