package site

import (
	"time"

	"guildhall/pkg/edge/page"
)

// profile is a person as the pages show it (person.profile.read).
type profile struct {
	PersonID    string    `json:"person_id"`
	Email       string    `json:"email"`
	DisplayName string    `json:"display_name"`
	Timezone    string    `json:"timezone"`
	House       *house    `json:"house"`
	Phone       string    `json:"phone"`
	CreatedAt   time.Time `json:"created_at"`
}

type house struct {
	House            string `json:"house"`
	Value            string `json:"value"`
	ValueDescription string `json:"value_description"`
}

func (p *profile) zone() *time.Location {
	if z, err := time.LoadLocation(p.Timezone); err == nil && p.Timezone != "Local" {
		return z
	}
	return time.UTC
}

// visitor is what a visit remembers of who came.
type visitor struct{ me *profile }

// guest is who is signed in, nil for nobody; read once a visit.
func (s *site) guest(v *page.Visit) *profile {
	if !v.HasSession() {
		return nil
	}
	if m, ok := v.Memo.(*visitor); ok {
		return m.me
	}
	m := &visitor{}
	var p profile
	if v.Do("person.profile.read", page.Call{Into: &p}) == nil {
		m.me = &p
	}
	v.Memo = m
	return m.me
}
