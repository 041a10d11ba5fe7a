package help

import (
	trail "guildhall/pkg/audit"
	"guildhall/pkg/op"
)

// audit stages an audit row of a flag that changed.
func audit(c *op.Call, action, kind, entityID, flag string, on bool, reason string) error {
	return trail.Write(c, "help", c.Caller.Key(), action, kind+":"+entityID, map[string]any{flag: !on}, map[string]any{flag: on, "reason": reason})
}
