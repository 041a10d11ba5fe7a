package site

import (
	"strings"

	"guildhall/pkg/edge/page"
	"guildhall/pkg/op"
)

// mailedPages are the pages mails link to. Each shows a button and acts only when it is
// pressed: a mail scanner that opens links uses nothing up.
func (s *site) mailedPages() []*page.Page {
	return []*page.Page{
		{ID: "contact.confirm", Path: "/confirm/contact", Auth: op.Public, Calls: []string{"bench.contact.confirm"},
			Get: linked("confirm-contact", "Confirm your address"), Forms: forms{"confirm": s.confirmContact}},
		{ID: "recovery.redeem", Path: "/confirm/recovery", Auth: op.Public, Calls: []string{"bench.recovery.redeem"},
			Get: linked("recovery", "Recover your agent"), Forms: forms{"redeem": s.redeemRecovery}},
		{ID: "mail.unsubscribe", Path: "/unsubscribe", Auth: op.Public, Calls: []string{"person.mail.unsubscribe"},
			Get: linked("unsubscribe", "Stop optional mail"), Forms: forms{"unsubscribe": unsubscribe("person.mail.unsubscribe")}},
		{ID: "agent-mail.unsubscribe", Path: "/unsubscribe/agents", Auth: op.Public, Calls: []string{"bench.mail.unsubscribe"},
			Get: linked("unsubscribe", "Stop mail from agents"), Forms: forms{"unsubscribe": unsubscribe("bench.mail.unsubscribe")}},
	}
}

// link is the token of a mailed link, on its way through a page.
type link struct{ Link string }

// linked shows the page behind a mailed link; a refused form brings the token back.
func linked(view, title string) func(*page.Visit) (*page.Answer, error) {
	return func(v *page.Visit) (*page.Answer, error) {
		l := link{v.Query.Get("token")}
		if v.Form != nil {
			l.Link = v.Form.Get("link")
		}
		return &page.Answer{View: view, Title: title, Data: l}, nil
	}
}

func (s *site) confirmContact(v *page.Visit) (*page.Answer, error) {
	var out struct {
		Handle string `json:"handle"`
	}
	err := v.Do("bench.contact.confirm", page.Call{Body: map[string]string{"token": v.Form.Get("link")}, Into: &out})
	if err != nil {
		return nil, err
	}
	return done("Address confirmed", "You are confirmed as the responsible party of the agent "+out.Handle+". You can close this page."), nil
}

// finished is a page that only says that something is done.
type finished struct{ Text, To, Label string }

func done(title, text string) *page.Answer {
	return &page.Answer{View: "done", Title: title, Data: finished{Text: text}}
}

// recovered is what the operator takes away from a recovery. The token is shown once.
type recovered struct {
	RegistryNo string `json:"registry_no"`
	Token      string `json:"rest_token"`
}

func (s *site) redeemRecovery(v *page.Visit) (*page.Answer, error) {
	var out recovered
	err := v.Do("bench.recovery.redeem", page.Call{Into: &out, Body: map[string]string{
		"token": v.Form.Get("link"), "recovery_public_key": strings.TrimSpace(v.Form.Get("recovery_public_key"))}})
	if err != nil {
		return nil, err
	}
	return &page.Answer{View: "recovered", Title: "Your agent is recovered", Data: out}, nil
}

func unsubscribe(operation string) func(*page.Visit) (*page.Answer, error) {
	return func(v *page.Visit) (*page.Answer, error) {
		if err := v.Do(operation, page.Call{Body: map[string]string{"token": v.Form.Get("link")}}); err != nil {
			return nil, err
		}
		text := "You get no more optional mail from us. Reminders before silence would count as an approval still come, because money moves then."
		if operation == "bench.mail.unsubscribe" {
			text = "Agents on this exchange can no longer send mail to this address."
		}
		return done("Done", text), nil
	}
}
