package delivery_test

import (
	"io"
	"maps"
	"strings"
	"testing"

	"guildhall/pkg/bench/delivery"
	"guildhall/pkg/op/optest"
)

// wrong is one refusal of the outcome door with what it takes to meet it; "" is anything.
type wrong struct {
	code   string
	status int
	state  string // of the deal: fresh, pulsed or waiting
	ask    string // of its step
	form   string // text, document, link, blocks, stream or none
	put    func(*attempt)
}

// attempt is a filing; its words stand for both forms of one.
type attempt struct {
	stranger   bool
	note, step string
	body       fields
	bytes      io.Reader
	form       string
}

var longNote = strings.Repeat("x", delivery.MaxNote+1)

func filingText(s string) func(*attempt) { return func(a *attempt) { a.body["text"] = s } }

func filingDocument(d any) func(*attempt) { return func(a *attempt) { a.body["document"] = d } }

// table132 is the table of bench.md 13.2, in its order.
var table132 = []wrong{
	{code: "not found", status: 404, put: func(a *attempt) { a.stranger = true }},
	{code: "out_of_turn_filing", state: "waiting"},
	{code: "one_ball_violation", put: func(a *attempt) { a.step = "4" }},
	{code: "progress_not_100", state: "fresh"},
	{code: "note_required", put: func(a *attempt) { a.note = "" }},
	{code: "note_too_long", put: func(a *attempt) { a.note = longNote }},
	{code: "document_required", ask: "APPROVE", form: "text", put: filingText("Done.")},
	{code: "document_required", ask: "APPROVE", form: "none"},
	{code: "outcome_text_too_long", ask: "PROVIDE", form: "text", put: filingText(strings.Repeat("https://x.example/a ", 200))},
	{code: "link_in_outcome_text", ask: "PROVIDE", form: "text", put: filingText("password: hunter2hunter2 at https://x.example/a")},
	{code: "link_in_outcome_text", form: "document", put: filingDocument(doc(para("North Hall, River Room: https://x.example/a"), fields{"type": "poem"}))},
	{code: "document_invalid", form: "document", put: filingDocument(doc(para("North Hall, River Room."), fields{"type": "poem"}))},
	{code: "options_are_the_delivery", ask: "CHOOSE", form: "document", put: filingDocument(doc(para("North Hall, River Room. password: hunter2hunter2")))},
	{code: "options_are_the_delivery", ask: "CHOOSE", form: "blocks", put: func(a *attempt) { a.body["blocks"] = []fields{{"type": "KEY_FACTS"}} }},
	{code: "outcome_secret", put: func(a *attempt) { a.note = "password: hunter2hunter2, pay me directly by Venmo" }},
	{code: "outcome_off_platform_payment", put: func(a *attempt) { a.note = "Pay me directly by Venmo." }},
	{code: "outcome_credential_request", put: func(a *attempt) { a.note = "Please send me your password now." }},
	{code: "link_rejected", form: "link", put: func(a *attempt) { a.body["url"] = "http://x" }},
	{code: "link_held", form: "link", put: func(a *attempt) { a.body["url"] = tunnel }},
	{code: "stream_too_large", status: 413, form: "stream", put: func(a *attempt) { a.bytes = &endless{left: delivery.MaxStreamBytes + 1} }},
	{code: "stream_empty", form: "stream", put: func(a *attempt) { a.bytes = strings.NewReader("") }},
}

// meet is what two of them have in common; false when no filing can have both.
func meet(a, b string) (string, bool) {
	switch {
	case a == "":
		return b, true
	case b == "", a == b:
		return a, true
	}
	return "", false
}

// TestOfTwoFaultsTheFirstAnswers: every two refusals of the table that one filing can meet,
// and every one alone.
func TestOfTwoFaultsTheFirstAnswers(t *testing.T) {
	w := newShelf(t)
	steps := map[string]fields{"APPROVE": reviewed()[0], "CHOOSE": choosing("Pick a hall"), "PROVIDE": asking("Send photos", "PROVIDE", "file_upload")}
	at := map[string]*parties{}
	for ask, s := range steps {
		for _, state := range []string{"fresh", "pulsed", "waiting"} {
			d := w.deal(append([]fields{s}, reviewed()[1:]...)...)
			if at[ask+state] = d; state != "fresh" {
				d.pulses()
			}
			if state == "waiting" {
				d.outcome(fields{"note": "x", "document": doc(para("Done."))}).Want(201)
			}
		}
	}
	_, stranger := w.maker()
	pairs := 0
	for i, first := range table132 {
		for _, second := range table132[i:] {
			state, ok := meet(first.state, second.state)
			ask, fits := meet(first.ask, second.ask)
			form, same := meet(first.form, second.form)
			if !ok || !fits || !same {
				continue
			}
			if first.code == "stream_too_large" { // read to its end by a test of its own
				continue
			}
			if state == "" {
				state = "pulsed"
			}
			if ask == "" {
				ask = "APPROVE"
			}
			d := at[ask+state]
			a := &attempt{note: "Here it is.", body: fields{}, form: form}
			for _, f := range []wrong{second, first} { // what both set, the first has
				if f.put != nil {
					f.put(a)
				}
			}
			res := d.try(a, stranger)
			want := first.status
			if want == 0 {
				want = 422
			}
			if res.Status != want || res.Str("error") != first.code {
				t.Errorf("%s and %s on a %s step of a %s deal: %d %s", first.code, second.code, ask, state, res.Status, res.Body)
			}
			pairs++
		}
	}
	if pairs < 100 {
		t.Errorf("%d pairs were tried", pairs)
	}
}

// try files an attempt.
func (d *parties) try(a *attempt, stranger string) optest.Res {
	d.t.Helper()
	r := optest.Req{Token: d.agent, Path: d.at("")}
	if a.stranger {
		r.Token = stranger
	}
	if a.form == "stream" {
		r.Type, r.Stream, r.Header = "video/mp4", a.bytes, map[string]string{"X-Delivery-Note": a.note, "X-Step-Ref": a.step}
		return d.Do(delivery.File, r)
	}
	body := maps.Clone(a.body)
	if body["note"] = a.note; a.step != "" {
		body["step_ref"] = a.step
	}
	if a.form == "" { // a form that has no fault
		body["url"] = "https://example.com/album"
	}
	r.Body = body
	return d.Do(delivery.File, r)
}
