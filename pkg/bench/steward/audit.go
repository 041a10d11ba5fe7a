package steward

import (
	"cmp"
	"encoding/json"

	"guildhall/pkg/bench/record"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
)

// Limits of the audit trail.
const (
	DefaultAudit = 50
	MaxAudit     = 100
)

// AuditIn pages through the trail.
type AuditIn struct {
	After string `query:"after"`
	Limit int    `query:"limit" rule:"min=0,max=100"`
}

// AuditView is a row of the trail.
type AuditView struct {
	ID      string          `json:"id"`
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

// ReadAudit reads the audit trail, newest first. Rows are never deleted (bench.md 23).
var ReadAudit = op.Declare(meta("audit.read", "GET", "/audit", "Read who did what, newest first.", "cursor_invalid"), readAudit)

func readAudit(c *op.Call, in AuditIn) (AuditOut, error) {
	var after record.Place
	if in.After != "" && !c.ReadCursor("steward.audit", in.After, &after) {
		return AuditOut{}, fault.New(fault.Invalid, "cursor_invalid", "Send the next_cursor of this list, or none.").At("after")
	}
	rows, more, err := record.Audited(c, after, cmp.Or(in.Limit, DefaultAudit))
	if err != nil {
		return AuditOut{}, err
	}
	out := AuditOut{Audit: []AuditView{}}
	for _, r := range rows {
		out.Audit = append(out.Audit, AuditView{r.ID, record.Time(r.At), r.Actor, r.Action, r.Subject, r.Before, r.After})
	}
	if more {
		last := rows[len(rows)-1]
		next := c.Cursor("steward.audit", record.Place{At: last.At, ID: last.ID})
		out.Next = &next
	}
	return out, nil
}
