package record

import (
	"guildhall/pkg/audit"
	"guildhall/pkg/op"
)

// Audit stages a row of the bench's audit trail. actor is usually c.Caller.Key(). before and
// after are the changed fields only, nil for none: never a secret, a text of a person or an
// address.
func Audit(c *op.Call, actor, action, subject string, before, after any) error {
	return audit.Write(c, "bench", actor, action, subject, before, after)
}
