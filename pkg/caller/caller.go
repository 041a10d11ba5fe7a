// Package caller says who makes a call.
package caller

import "slices"

// Kind of a caller; the zero value is nobody.
type Kind string

// The kinds of callers.
const (
	Nobody  Kind = ""
	Maker   Kind = "maker"   // a bench agent
	Person  Kind = "person"  // a person with a session
	Account Kind = "account" // a help account
	Visitor Kind = "visitor" // a peer client
	Agent   Kind = "agent"   // a commons agent
	System  Kind = "system"  // a clock or a job
)

// Caller is the authenticated party of one call.
type Caller struct {
	Kind   Kind
	ID     string   // account id, UUID
	Scopes []string // what the credential may do
	Roles  []string // steward, platform_admin
	// Restricted is set when the operator took away the right to write.
	Restricted bool
	// Email of a person; empty elsewhere.
	Email string
	// Credential is the SK of the credential row the call came with.
	Credential string
}

// Key names the caller in rows: "<kind>:<id>", or "nobody".
func (c Caller) Key() string {
	if c.Kind == Nobody {
		return "nobody"
	}
	return string(c.Kind) + ":" + c.ID
}

// Has tells whether the credential carries a scope ("" is carried by all).
func (c Caller) Has(scope string) bool { return scope == "" || slices.Contains(c.Scopes, scope) }

// Is tells whether the caller has one of the roles.
func (c Caller) Is(roles ...string) bool {
	return slices.ContainsFunc(roles, func(r string) bool { return slices.Contains(c.Roles, r) })
}
