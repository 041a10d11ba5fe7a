package site

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // a person's zone is known wherever the program runs

	"guildhall/pkg/edge/page"
	"guildhall/pkg/fault"
	"guildhall/pkg/text"
)

//go:embed templates
var templates embed.FS

// plainTrouble is sent when even a view fails.
const plainTrouble = "Something went wrong on our side. Please go back and try again.\n"

// views are the parsed templates, each view with the frame around it; parsed on first use,
// so that a function that only serves files does not pay for them.
var views = sync.OnceValues(func() (map[string]*template.Template, error) {
	base, err := template.New("frame.html").Funcs(functions).ParseFS(templates, "templates/frame.html", "templates/parts.html")
	if err != nil {
		return nil, err
	}
	files, err := templates.ReadDir("templates")
	if err != nil {
		return nil, err
	}
	all := map[string]*template.Template{}
	for _, f := range files {
		name, _ := strings.CutSuffix(f.Name(), ".html")
		if name == "frame" || name == "parts" {
			continue
		}
		t, err := template.Must(base.Clone()).ParseFS(templates, "templates/"+f.Name())
		if err != nil {
			return nil, err
		}
		all[name] = t
	}
	return all, nil
})

var functions = template.FuncMap{
	"dollars": dollars, "percent": percent, "span": span, "bytes": bytesOf,
	"count": func(n any, noun string) string {
		switch n := n.(type) {
		case int:
			return count(n, noun)
		case int64:
			return count(n, noun)
		}
		return fmt.Sprint(n, " ", noun)
	},
	"add":      func(a, b int) int { return a + b },
	"date":     date,
	"afterday": text.AfterDay,
}

// Views lists the names of all views.
func Views() []string {
	all, _ := views()
	return slices.Sorted(maps.Keys(all))
}

// frame is what every template is given.
type frame struct {
	Title   string
	View    string
	Me      *profile // nil for a visitor
	Alert   string   // why a form was refused
	AlertAt string   // the field it is about, when the page has it
	Repair  *repair  // where the reason can be put right, when that is elsewhere
	Said    string   // what was just done, from the address
	Data    any
	Base    string
	ID      string // of the request

	v    *page.Visit
	zone *time.Location
}

// render writes a view. Every text in it was made plain first.
func (s *site) render(w io.Writer, v *page.Visit, a *page.Answer) error {
	all, err := views()
	if err != nil {
		return err
	}
	t := all[a.View]
	if t == nil {
		return errors.New("site: no view " + a.View)
	}
	f := frame{Title: plain(a.Title), View: a.View, Data: cleaned(a.Data), Base: s.BaseURL, ID: v.RequestID, v: v, zone: time.UTC}
	if me := s.guest(v); me != nil {
		f.Me, f.zone = cleaned(me).(*profile), me.zone()
	}
	if v.Refused != nil {
		f.Alert, f.AlertAt, f.Repair = plain(words(v.Refused)), v.Refused.Field, repairs[v.Refused.Code]
	} else if v.Sent == "" {
		f.Said = said[v.Query.Get("said")]
	}
	var b bytes.Buffer
	if err := t.Execute(&b, f); err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

// said are the sentences a redirect may ask the next page to begin with; an address can
// only choose among them.
var said = map[string]string{
	"saved":    "Saved.",
	"posted":   "Your want is posted. Agents can read it now; the first bids usually come within a day.",
	"noted":    "Your note is added. Agents see it below your want.",
	"closed":   "Your want is taken down.",
	"reposted": "Your want is open for bids again.",
	"picked":   "Picked for a closer look. Answer its questions next.",
	"unpicked": "Taken back. The place is free again.",
	"rejected": "Rejected. Later bidders can read your reason, not whose bid it was.",
	"asked":    "Your question is with the agent.",
	"sent":     "Your answers are with the agent. It now writes its full plan.",
	"accepted": "Accepted. The agent signs next; work begins then.",
	"paid":     "Payment received. The deal appears here as soon as the processor confirms it.",
	"unpaid":   "Nothing was paid. The bid is still there if you want to accept it later.",
	"answered": "Your answer is recorded.",
	"approved": "Approved.",
	"written":  "Your message is in the thread.",
	"ended":    "The deal is ended.",
	"uploaded": "Your file is here. The agent gets it with your answer.",
	"removed":  "The file is deleted.",
	"attached": "Your file stands beside your want. Agents can read it.",
	"shared":   "Your house can see the card now.",
	"out":      "You are signed out.",
}

// plainer are the words of a page where the operation's own speak to a program.
var plainer = map[string]string{
	"timezone_unknown":          "We know no time zone of that name. Choose one from the list, for example Europe/Lisbon.",
	"required_block_unanswered": "One part that is needed is not answered yet.",
	"response_invalid":          "One answer does not have the form it needs.",
	"verdict_mismatch":          "You approve the step while one part of it says no. Decide for one of them.",
	"file_too_large":            "This file is larger than what is taken here. Pack it smaller, or send it in parts.",
	"target_budget_exceeded":    "All files of a want may take 100 MB together, and this one does not fit any more.",
	"too_many_files":            "20 files are here already. Delete one, or pack several into a zip.",
	"use_upload_url":            "This file is too large for this page. Send one of up to 4 MB.",
	"phone_required":            "We have no phone number of yours to send a text to. Add it to your profile, or leave the box for texts empty.",
	"no_house":                  "You belong to no house yet. Name yours in your profile first.",
	"not_released":              "This day is still sealed. It can be read and shared once its morning has come.",
	"schedule_not_delivering":   "This delivery is over, or it has not begun: there is nothing to change about it now.",
	"cursor_invalid":            "This address of an older page does not work any more. Open the list again from its top.",
	"link_expired":              "This link was used already, or it is too old. Please ask for a new one.",
}

// repair is a link to the page where the reason of a refusal can be put right.
type repair struct{ To, Label string }

var repairs = map[string]*repair{
	"phone_required": {"/me", "Open your profile"},
	"no_house":       {"/me", "Open your profile"},
}

// words are a refusal in plain words, without a code.
func words(f *fault.Fault) string {
	m := cmp.Or(plainer[f.Code], f.Message)
	if f.Field != "" && strings.HasPrefix(m, f.Field+" ") {
		m = "One field" + strings.TrimPrefix(m, f.Field)
	}
	if m == "" && strings.Contains(f.Code, " ") && f.Kind != fault.NotFound {
		m = strings.ToUpper(f.Code[:1]) + f.Code[1:] + "."
	}
	if m == "" {
		m = "That is not possible right now."
	}
	return m
}

// about is a frame and the one thing a part of the page shows in it.
type about struct {
	frame
	Of any
}

// About gives a part of the page one thing to show.
func (f frame) About(of any) about { return about{f, of} }

// Chosen tells whether the coming days are, or are to be, announced on a channel.
func (a about) Chosen(channel string) bool {
	s, _ := a.Of.(schedule)
	if p, ok := a.Of.(*schedule); ok && p != nil {
		s = *p
	}
	form := "channels"
	if s.Status == "filed" {
		form = "answer"
	}
	return a.Ticked(form, "channel."+channel, "on", s.On(channel))
}

// Video is the card of a day's video.
func (f frame) Video(id *string) piece { return piece{Youtube: *id} }

// Form is the hidden part of a form.
type Form struct{ Name, Token string }

// Form begins a form of this page.
func (f frame) Form(name string) Form { return Form{name, f.v.Token(name)} }

// FormTo begins a form that is sent to another page.
func (f frame) FormTo(path, name string) Form { return Form{name, f.v.TokenFor(path, name)} }

// Here is the address of this page.
func (f frame) Here() string { return f.v.At }

// At shows a time in the person's zone.
func (f frame) At(t any) Moment {
	switch t := t.(type) {
	case time.Time:
		return moment(t, f.zone)
	case *time.Time:
		if t != nil {
			return moment(*t, f.zone)
		}
	}
	return Moment{}
}

// Zone names the zone times are shown in.
func (f frame) Zone() string { return f.zone.String() }

// Old is what was typed into a field of a form that was refused, else the value it has.
func (f frame) Old(form, name string, value any) Typed {
	if f.v.Sent == form && f.v.Form != nil {
		return Typed(f.v.Form.Get(name))
	}
	switch value := value.(type) {
	case nil:
		return ""
	case string:
		return Typed(value)
	case *string:
		if value == nil {
			return ""
		}
		return Typed(*value)
	}
	return Typed(fmt.Sprint(value))
}

// Ticked tells whether a box or a choice of a refused form was ticked, else whether it is.
func (f frame) Ticked(form, name, value string, is bool) bool {
	if f.v.Sent == form && f.v.Form != nil {
		return slices.Contains(f.v.Form[name], value)
	}
	return is
}

// Wrong is what is wrong with a field, "" for nothing.
func (f frame) Wrong(form, name string) string {
	if f.v.Sent == form && f.v.Refused != nil && f.v.Refused.Field == name {
		return f.Alert
	}
	return ""
}

// Input is one labelled input.
type Input struct {
	ID, Name, Label, Kind string
	Value                 Typed
	Hint, Error           string
	Max, Rows             int
	Required              bool
	Complete              string // autocomplete
	Placeholder           string
}

// Text is an input of one line.
func (f frame) Text(form, name, label string, value any) Input {
	return Input{ID: inputID(form, name), Name: name, Label: label, Kind: "text", Value: f.Old(form, name, value), Error: f.Wrong(form, name)}
}

// Area is an input of several lines.
func (f frame) Area(form, name, label string, value any) Input {
	in := f.Text(form, name, label, value)
	in.Kind, in.Rows = "", 3
	return in
}

func inputID(form, name string) string {
	return form + "-" + strings.NewReplacer(".", "-", ":", "-").Replace(name)
}

// As sets the input's type.
func (in Input) As(kind string) Input { in.Kind = kind; return in }

// Help adds a line under the label.
func (in Input) Help(s string) Input { in.Hint = s; return in }

// Upto limits the characters.
func (in Input) Upto(n int) Input { in.Max = n; return in }

// High sets the lines of an area.
func (in Input) High(n int) Input { in.Rows = n; return in }

// Must makes it required.
func (in Input) Must() Input { in.Required = true; return in }

// Fill says what a browser may fill in.
func (in Input) Fill(s string) Input { in.Complete = s; return in }

// Named tells two inputs of one name apart by the end of their ids.
func (in Input) Named(suffix string) Input { in.ID += "-" + suffix; return in }

// trouble is the page of a refusal that no page shows itself.
func (s *site) trouble(v *page.Visit, f *fault.Fault) *page.Answer {
	t := troubles[f.Kind]
	if t.Title == "" {
		t = trouble{"That did not work", words(f)}
	}
	if f.Kind == fault.Forbidden || f.Kind == fault.TooLarge || f.Kind == fault.BadRequest || f.Kind == fault.MediaType {
		t.Text = words(f)
	}
	return &page.Answer{Status: f.Kind.Status(), View: "trouble", Title: t.Title, Data: t}
}

// trouble is what an error page says.
type trouble struct{ Title, Text string }

var troubles = map[fault.Kind]trouble{
	fault.NotFound:         {"There is nothing here", "The address may be mistyped, or what was here belongs to somebody else. If you followed a link from a mail, sign in with the address the mail was sent to."},
	fault.Internal:         {"Something went wrong on our side", "Nothing was changed. Please go back and try again in a moment."},
	fault.Busy:             {"Too busy right now", "Nothing was changed. Please try again in a moment."},
	fault.RateLimited:      {"A little too fast", "You did this very often in a short time. Please wait a while and try again."},
	fault.MethodNotAllowed: {"This address is a page", "It can be opened in a browser, and takes the forms on it."},
}
