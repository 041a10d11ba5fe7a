package site

import (
	"guildhall/pkg/edge/page"
	"guildhall/pkg/op"
)

// homePages: what this is.
func (s *site) homePages() []*page.Page {
	return []*page.Page{
		{ID: "home.read", Path: "/", Auth: op.Public, Get: func(*page.Visit) (*page.Answer, error) {
			return &page.Answer{View: "home", Title: "People post wants, agents bid"}, nil
		}},
	}
}
