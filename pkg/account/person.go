package account

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"guildhall/pkg/caller"
	"guildhall/pkg/fault"
	"guildhall/pkg/mail"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Roles a person can hold.
const (
	RoleSteward = "steward"
	RoleAdmin   = "platform_admin"
)

// House is the community a person belongs to, with the value the person declared.
type House struct {
	House            string `json:"house" rule:"required,min=1,max=120"`
	Value            string `json:"value" rule:"required,min=1,max=120"`
	ValueDescription string `json:"value_description" rule:"max=500"`
}

// Person is a stored person.
type Person struct {
	ID          string `json:"id"`
	Email       string `json:"email"`
	DisplayName string `json:"display_name,omitempty"`
	Timezone    string `json:"timezone,omitempty"` // IANA name; UTC when empty
	// Zones are the latest zones the person had, the present one last; empty while there was
	// but one. What fell due in an earlier one is due by it, even when nobody looked then.
	Zones     []Stay    `json:"zones,omitempty"`
	House     *House    `json:"house,omitempty"`
	Phone     string    `json:"phone,omitempty"`
	Roles     []string  `json:"roles,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	ClosedAt  time.Time `json:"closed_at,omitzero"`
	// Quiet stops optional mail; lapse reminders always go out.
	Quiet bool `json:"quiet,omitempty"`
	// Facts are the person's record for briefs: the answered asks and the ended deals.
	Facts Facts `json:"facts,omitzero"`
}

// Stay is a zone a person has from a moment on; zero is the beginning. Two may begin in one
// moment: they are numbered, from 0.
type Stay struct {
	Number int       `json:"number"`
	Zone   string    `json:"zone"`
	Since  time.Time `json:"since,omitzero"`
}

// maxStays bounds how many zones of a person are kept.
const maxStays = 8

// Move gives the person another zone.
func (p *Person) Move(zone string, at time.Time) {
	stays := p.Stays()
	p.Zones = append(stays, Stay{stays[len(stays)-1].Number + 1, zone, at})
	p.Zones = p.Zones[max(0, len(p.Zones)-maxStays):]
	p.Timezone = zone
}

// Stays are the latest zones the person had, the present one last.
func (p *Person) Stays() []Stay {
	if len(p.Zones) == 0 {
		return []Stay{{Zone: p.Timezone}}
	}
	return p.Zones
}

// Facts are counted from what happened, never guessed.
type Facts struct {
	Answers       int   `json:"answers,omitempty"`
	AnswerSeconds int64 `json:"answer_seconds,omitempty"` // sum over the answers
	Ended         int   `json:"ended,omitempty"`
	Finished      int   `json:"finished,omitempty"`
}

// PersonKey is the row of a person.
func PersonKey(id string) table.Key { return table.Key{PK: "person.PERSON#" + id, SK: "ROOT"} }

// EmailKey is the row that says who owns an address.
func EmailKey(email string) table.Key {
	sum := sha256.Sum256([]byte(NormalEmail(email)))
	return table.Key{PK: "person.EMAIL#" + hex.EncodeToString(sum[:16]), SK: "ROOT"}
}

// NormalEmail is the form addresses are compared in.
func NormalEmail(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

// ValidEmail tells whether s is an address that mail can be sent to, at most 254 bytes.
func ValidEmail(s string) bool { return mail.IsMailbox(s) }

type owner struct {
	PersonID string `json:"person_id"`
}

// FindPerson looks a person up by address.
func FindPerson(c *op.Call, email string) (p Person, found bool, err error) {
	o, found, err := op.Load[owner](c, EmailKey(email))
	if err != nil || !found {
		return p, false, err
	}
	return op.Load[Person](c, PersonKey(o.PersonID))
}

// EnsurePerson finds the person of an address or stages a new one.
func EnsurePerson(c *op.Call, email string) (Person, error) {
	p, found, err := FindPerson(c, email)
	if err != nil || found {
		return p, err
	}
	p = Person{ID: c.NewID(), Email: NormalEmail(email), CreatedAt: c.Now}
	c.Put(EmailKey(email), owner{PersonID: p.ID})
	c.Create(PersonKey(p.ID), p)
	return p, nil
}

// Save stages a changed person that was loaded by this call.
func (p Person) Save(c *op.Call) { c.Put(PersonKey(p.ID), p) }

// Zone is the person's time zone; UTC when none is set or it is unknown.
func (p Person) Zone() *time.Location {
	if z, err := time.LoadLocation(p.Timezone); err == nil {
		return z
	}
	return time.UTC
}

// Grant stages a role.
func Grant(c *op.Call, email, role string) (Person, error) {
	p, err := EnsurePerson(c, email)
	if err != nil {
		return p, err
	}
	if !slices.Contains(p.Roles, role) {
		p.Roles = append(p.Roles, role)
		p.Save(c)
	}
	return p, nil
}

// asPerson completes a session's caller with what the person's row says.
func asPerson(c *op.Call, who caller.Caller) (caller.Caller, error) {
	p, found, err := op.Load[Person](c, PersonKey(who.ID))
	if err != nil {
		return caller.Caller{}, err
	}
	if !found || !p.ClosedAt.IsZero() {
		return caller.Caller{}, fault.NoCredential
	}
	who.Roles, who.Email, who.Scopes = p.Roles, p.Email, nil
	return who, nil
}
