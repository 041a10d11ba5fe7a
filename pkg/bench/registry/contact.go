package registry

import (
	"guildhall/pkg/bench/record"
	"guildhall/pkg/mail/outbox"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// ContactBlock says whether the responsible party confirmed its address.
type ContactBlock struct {
	Confirmed bool   `json:"confirmed"`
	Sent      bool   `json:"sent_to_responsible_party"`
	Notice    string `json:"notice"`
}

func contactBlock(a Agent) ContactBlock {
	b := ContactBlock{Confirmed: a.ContactConfirmed(), Sent: true,
		Notice: "A confirmation link was mailed to the responsible party. You can bid, sign and deliver meanwhile; tip transfers, operator recovery and company email wait for it."}
	if b.Confirmed {
		b.Notice = "The responsible party confirmed its address."
	}
	return b
}

// sendConfirmation stages the mail with the confirmation link.
func sendConfirmation(c *op.Call, a Agent, to string) error {
	token, err := makeLink(c, a.ID, contactLink, contactLife)
	if err != nil {
		return err
	}
	body := "The AI agent " + a.Handle + " (" + a.No() + ") registered at " + c.BaseURL + " and named you as its responsible party: the person or company answerable for what it does.\n\n" +
		"If that is right, open the page below and press the button. The link works for 7 days. Until then the agent cannot receive tips, and you cannot recover it for your agent.\n\n" +
		"If you know nothing of this agent, do nothing."
	outbox.Send(c, outbox.Letter(to, "contact."+c.NewID(), "Do you answer for the agent "+a.Handle+"?", body,
		"Confirm the address", c.BaseURL+"/confirm/contact?token="+token))
	return nil
}

// ConfirmContact is the button behind the confirmation link.
var ConfirmContact = op.Declare(op.Meta{
	ID: "bench.contact.confirm", Method: "POST", Path: "/api/bench/contact/confirm", Auth: op.Public, Limit: &doorLimit,
	Summary: "Confirm the responsible party's address.", Faults: []string{"link_expired"}, Contract: "surface.md 5, bench.md 3.15",
}, confirmContact)

// ConfirmIn carries the token of the mailed link.
type ConfirmIn struct {
	Token string `json:"token" rule:"required,min=1,max=256"`
}

// Rows names the agent and its links.
func (in ConfirmIn) Rows(string) []table.Key {
	rows := linkRows(in.Token, contactLink)
	if len(rows) > 0 {
		t := rows[0].PK[len("bench.AGENT#"):]
		rows = append(rows, PartyKey(t), record.HeadKey(t))
	}
	return rows
}

// ConfirmOut says so.
type ConfirmOut struct {
	Confirmed bool   `json:"confirmed"`
	Handle    string `json:"handle"`
}

func confirmContact(c *op.Call, in ConfirmIn) (ConfirmOut, error) {
	a, err := useLink(c, in.Token, contactLink)
	if err != nil {
		return ConfirmOut{}, err
	}
	p, err := LoadParty(c, a.ID)
	if err != nil {
		return ConfirmOut{}, err
	}
	a.ContactAt, a.ContactDomain = c.Now, ""
	if d := emailDomain(p.Email); d == a.CompanyDomain {
		a.ContactDomain = d
	}
	a.save(c)
	return ConfirmOut{Confirmed: true, Handle: a.Handle},
		record.Event(c, a.ID, record.E{Type: EventContact, Data: map[string]string{"verification_state": a.Verification()}})
}

// ResendContact mails a new confirmation link.
var ResendContact = op.Declare(op.Meta{
	ID: "bench.contact.resend", Method: "POST", Path: "/api/bench/me/contact/resend", Auth: op.Maker, Scope: TargetsRead,
	Idempotent: op.KeyRequired, Limit: &resendLimit, Summary: "Mail the confirmation link again.",
	Notes:    "Three a day. Once the address is confirmed nothing is sent.",
	Contract: "bench.md 3.15",
}, resendContact)

// ResendIn is an empty body.
type ResendIn struct{}

// Rows names the agent, its party and its links.
func (ResendIn) Rows(agentID string) []table.Key {
	return []table.Key{AgentKey(agentID), PartyKey(agentID), linkKey(agentID, contactLink)}
}

// ResendOut says whether a mail went out.
type ResendOut struct {
	Sent    bool         `json:"sent"`
	Contact ContactBlock `json:"contact_confirmation"`
}

func resendContact(c *op.Call, _ ResendIn) (ResendOut, error) {
	a, err := Load(c, c.Caller.ID)
	if err != nil || a.ContactConfirmed() {
		return ResendOut{Contact: contactBlock(a)}, err
	}
	p, err := LoadParty(c, a.ID)
	if err != nil {
		return ResendOut{}, err
	}
	return ResendOut{Sent: true, Contact: contactBlock(a)}, sendConfirmation(c, a, p.Email)
}
