package steward

import (
	"cmp"
	"encoding/json"

	"guildhall/pkg/audit"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
)

// Limits of the audit trail.
const (
	DefaultAudit = 50
	MaxAudit     = audit.MaxPage
)

// AuditIn pages through the trail.
type AuditIn struct {
	After string `query:"after"`
	Limit int    `query:"limit" rule:"min=0,max=100"`
	// Context leaves out the rest.
	Context string `query:"context" rule:"enum=bench|help|peer|commons" doc:"Only what was done there."`
}

// AuditView is a row of the trail.
type AuditView struct {
	ID      string          `json:"id"`
	Context string          `json:"context" doc:"Where it was done: bench, help, peer or commons."`
	At      record.Time     `json:"at"`
	Actor   string          `json:"actor"`
	Action  string          `json:"action"`
	Subject string          `json:"subject"`
	Before  json.RawMessage `json:"before" doc:"The changed fields before; null for none."`
	After   json.RawMessage `json:"after"`
}

// AuditOut is a page of the trail, newest first.
type AuditOut struct {
	Audit []AuditView `json:"audit"`
	Next  *string     `json:"next_cursor"`
}

// ReadAudit reads the audit trails of all contexts as one, newest first. Rows are never
// deleted (bench.md 23).
var ReadAudit = op.Declare(meta("audit.read", "GET", "/audit", "Read who did what, newest first.", "cursor_invalid"), readAudit)

func readAudit(c *op.Call, in AuditIn) (AuditOut, error) {
	list, contexts := "steward.audit:"+in.Context, audit.Contexts
	if in.Context != "" {
		contexts = []string{in.Context}
	}
	var after audit.Place
	if in.After != "" && !c.ReadCursor(list, in.After, &after) {
		return AuditOut{}, fault.New(fault.Invalid, "cursor_invalid", "Send the next_cursor of this list with the same context, or none.").At("after")
	}
	rows, more, err := audit.Read(c, contexts, after, cmp.Or(in.Limit, DefaultAudit))
	if err != nil {
		return AuditOut{}, err
	}
	out := AuditOut{Audit: []AuditView{}}
	for _, r := range rows {
		out.Audit = append(out.Audit, AuditView{r.ID, r.Context, record.Time(r.At), r.Actor, r.Action, r.Subject, r.Before, r.After})
	}
	if more {
		next := c.Cursor(list, rows[len(rows)-1].Place())
		out.Next = &next
	}
	return out, nil
}
