package account

import (
	"cmp"
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/sms"
	"guildhall/pkg/table"
)

// Profile is what a person sees of their own account.
type Profile struct {
	PersonID    string   `json:"person_id"`
	Email       string   `json:"email"`
	DisplayName string   `json:"display_name"`
	Timezone    string   `json:"timezone"`
	House       *House   `json:"house"`
	Phone       string   `json:"phone"`
	Roles       []string `json:"roles"`
	CreatedAt   Instant  `json:"created_at"`
}

// Instant prints whole seconds with a Z.
type Instant time.Time

// MarshalJSON implements json.Marshaler.
func (t Instant) MarshalJSON() ([]byte, error) {
	return []byte(`"` + time.Time(t).UTC().Truncate(time.Second).Format(time.RFC3339) + `"`), nil
}

// JSONSchema implements op.Schemer.
func (Instant) JSONSchema() op.Schema { return op.Schema{Type: "string", Format: "date-time"} }

func (p Person) profile() Profile {
	out := Profile{p.ID, p.Email, p.DisplayName, p.Timezone, p.House, p.Phone, p.Roles, Instant(p.CreatedAt)}
	if out.Timezone == "" {
		out.Timezone = "UTC"
	}
	if out.Roles == nil {
		out.Roles = []string{}
	}
	return out
}

// NoInput is the input of a call that takes nothing.
type NoInput struct{}

// Me reads the own profile (surface.md 3).
var Me = op.Declare(op.Meta{
	ID: "person.profile.read", Method: "GET", Path: "/api/person/me",
	Auth: op.Person, Summary: "Read your profile.", Contract: "surface.md 3",
}, func(c *op.Call, _ NoInput) (Profile, error) {
	p, _, err := op.Load[Person](c, PersonKey(c.Caller.ID))
	return p.profile(), err
})

// ProfileIn changes what is sent and leaves the rest.
type ProfileIn struct {
	DisplayName *string         `json:"display_name,omitempty" rule:"max=80" doc:"Never shown to agents."`
	Timezone    *string         `json:"timezone,omitempty" rule:"max=64" doc:"IANA name; days begin in it."`
	House       op.Field[House] `json:"house,omitzero"`
	// Phone is only for texts the person opted in to; agents never see it.
	Phone op.Field[string] `json:"phone,omitzero" doc:"For texts you opt in to; international form, null or empty to remove."`
}

// Validate implements op.Validator.
func (in ProfileIn) Validate() error {
	if z := in.Timezone; z != nil {
		if _, err := time.LoadLocation(*z); err != nil || *z == "Local" || *z == "" {
			return fault.New(fault.Invalid, "timezone_unknown", "Send the IANA name of a time zone, for example Europe/Lisbon.").At("timezone")
		}
	}
	if p := in.Phone.Value; p != nil && *p != "" && !sms.IsNumber(*p) {
		return fault.New(fault.Invalid, "phone_invalid", "Send the number in international form: a plus, the country code and the rest, 7 to 15 digits, for example +15551234567.").At("phone")
	}
	return nil
}

// Update changes the own profile (surface.md 3).
var Update = op.Declare(op.Meta{
	ID: "person.profile.update", Method: "PATCH", Path: "/api/person/me",
	Auth: op.Person, Idempotent: op.KeyRequired, Limit: &writeLimit, Summary: "Change your profile.",
	Faults: []string{"timezone_unknown", "phone_invalid"}, Wakes: []string{mornings}, Contract: "surface.md 3",
}, update)

// ZoneChanged is the kind of the timer by which a new time zone tells the group whose
// mornings are the person's to time them anew, and a closed account that there are none any
// more. Its subject is the person's id, a # and an id of the change.
const ZoneChanged = "person.zone-changed"

// mornings is the group whose clocks follow the person's mornings.
const mornings = "bench"

func update(c *op.Call, in ProfileIn) (Profile, error) {
	p, _, err := op.Load[Person](c, PersonKey(c.Caller.ID))
	if err != nil {
		return Profile{}, err
	}
	if in.DisplayName != nil {
		p.DisplayName = *in.DisplayName
	}
	if in.Timezone != nil && *in.Timezone != p.Timezone {
		p.Move(*in.Timezone, c.Now)
		c.ArmIn(mornings, ZoneChanged, p.ID+"#"+c.NewID(), c.Now)
	}
	if in.Phone.Sent {
		p.Phone = ""
		if v := in.Phone.Value; v != nil {
			p.Phone = *v
		}
	}
	if in.House.Sent {
		p.House = in.House.Value
	}
	p.Save(c)
	return p.profile(), nil
}

// UnsubscribeIn names the mail whose optional kin shall stop.
type UnsubscribeIn struct {
	Token string `json:"token" rule:"max=200"`
	// Link carries the token in one-click requests of mail clients (RFC 8058).
	Link string `query:"token"`
}

// Unsubscribe stops optional mail, never lapse reminders. It answers alike whatever the
// token is (surface.md 5).
var Unsubscribe = op.Declare(op.Meta{
	ID: "person.mail.unsubscribe", Method: "POST", Path: "/api/person/unsubscribe",
	Auth: op.Public, LooseBody: true, FormBody: true, Limit: &linkLimit, Summary: "Stop optional mail.", Contract: "surface.md 5",
}, unsubscribe)

func unsubscribe(c *op.Call, in UnsubscribeIn) (SignInOut, error) {
	id, ok := OpenUnsubscribe(c, cmp.Or(in.Token, in.Link))
	if !ok {
		return SignInOut{}, nil
	}
	p, found, err := op.Load[Person](c, PersonKey(id))
	if err == nil && found && !p.Quiet {
		p.Quiet = true
		p.Save(c)
	}
	return SignInOut{}, err
}

// UnsubscribeToken is the signed token of a person's unsubscribe link; it never expires.
func UnsubscribeToken(c *op.Call, personID string) string { return c.Cursor("unsubscribe", personID) }

// OpenUnsubscribe reads an unsubscribe token.
func OpenUnsubscribe(c *op.Call, token string) (personID string, ok bool) {
	ok = c.ReadCursor("unsubscribe", token, &personID)
	return personID, ok
}

// LiveDeals is the counter-like row that says how many live deals a person has; deals
// keep it, so that an account with a live deal cannot be closed.
//
//	person.PERSON#<person id> / LIVE              live deals of a person
func LiveDeals(personID string) table.Key {
	return table.Key{PK: "person.PERSON#" + personID, SK: "LIVE"}
}

// Live is the value of the LiveDeals row.
type Live struct {
	Deals map[string]bool `json:"deals"`
}

// CloseAccount ends an account without a live deal (surface.md 3).
var CloseAccount = op.Declare(op.Meta{
	ID: "person.account.close", Method: "POST", Path: "/api/person/close-account",
	Auth: op.Person, Idempotent: op.KeyRequired, Limit: &writeLimit, Summary: "Close your account.",
	Faults: []string{"live_deal"}, Wakes: []string{mornings}, Contract: "surface.md 3",
}, closeAccount)

func closeAccount(c *op.Call, _ NoInput) (SignInOut, error) {
	if err := c.Fetch(PersonKey(c.Caller.ID), LiveDeals(c.Caller.ID)); err != nil {
		return SignInOut{}, err
	}
	live, _, err := op.Load[Live](c, LiveDeals(c.Caller.ID))
	if err != nil {
		return SignInOut{}, err
	}
	if len(live.Deals) > 0 {
		return SignInOut{}, fault.New(fault.Conflict, "live_deal", "You have a deal that is still running. End it or let it finish, then close your account.")
	}
	p, _, err := op.Load[Person](c, PersonKey(c.Caller.ID))
	if err != nil {
		return SignInOut{}, err
	}
	p.ClosedAt, p.Phone = c.Now, "" // nobody is texted any more
	p.Save(c)
	c.Check(LiveDeals(p.ID))
	if err := c.Fetch(EmailKey(p.Email)); err != nil {
		return SignInOut{}, err
	}
	c.Delete(EmailKey(p.Email))
	c.Effect(EffectClosed, p.ID, nil)
	c.ArmIn(mornings, ZoneChanged, p.ID+"#"+c.NewID(), c.Now)
	return SignInOut{}, Session.Revoke(c, p.ID)
}

// Operations of accounts.
var Operations = []*op.Operation{SignIn, Complete, SignOut, Me, Update, Unsubscribe, CloseAccount, Block}
