package help

import (
	"encoding/json"
	"strconv"
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// AuditRow says which steward did what to whom, and why. It has the form of every
// context's audit rows.
type AuditRow struct {
	ID      string          `json:"id"`
	At      time.Time       `json:"at"`
	Actor   string          `json:"actor"`
	Action  string          `json:"action"`
	Subject string          `json:"subject"` // "request:<id>", "account:<id>", …
	Before  json.RawMessage `json:"before,omitempty"`
	After   json.RawMessage `json:"after,omitempty"`
}

// audit stages an audit row of a flag that changed.
func audit(c *op.Call, action, kind, entityID, flag string, on bool, reason string) error {
	row := AuditRow{ID: c.NewID(), At: c.Now, Actor: c.Caller.Key(), Action: action, Subject: kind + ":" + entityID}
	var err error
	if row.Before, err = json.Marshal(map[string]any{flag: !on}); err != nil {
		return err
	}
	if row.After, err = json.Marshal(map[string]any{flag: on, "reason": reason}); err != nil {
		return err
	}
	c.Create(table.Key{PK: "help.AUDIT#" + strconv.Itoa(shardOf(row.Subject)), SK: "AUDIT#" + clock.Stamp(c.Now) + "#" + row.ID}, row)
	return nil
}
