package record

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// AuditRow is one row of the audit trail: who did what to whom, and what it changed.
type AuditRow struct {
	ID      string          `json:"id"`
	At      time.Time       `json:"at"`
	Actor   string          `json:"actor"` // "maker:<id>", "person:<id>", "system:" or "nobody"
	Action  string          `json:"action"`
	Subject string          `json:"subject"` // "agent:<id>", "target:<id>", "deal:<id>", …
	Before  json.RawMessage `json:"before,omitempty"`
	After   json.RawMessage `json:"after,omitempty"`
}

// Audit stages an audit row. actor is usually c.Caller.Key(). before and after are the
// changed fields only, nil for none: never a secret, a text of a person or an address.
func Audit(c *op.Call, actor, action, subject string, before, after any) error {
	row := AuditRow{ID: c.NewID(), At: c.Now, Actor: actor, Action: action, Subject: subject}
	for _, f := range []struct {
		to   *json.RawMessage
		from any
	}{{&row.Before, before}, {&row.After, after}} {
		if f.from == nil {
			continue
		}
		b, err := json.Marshal(f.from)
		if err != nil {
			return err
		}
		*f.to = b
	}
	c.Create(table.Key{PK: "bench.AUDIT#" + shard(subject), SK: "AUDIT#" + clock.Stamp(c.Now) + "#" + row.ID}, row)
	return nil
}

// Place is a position in the audit trail: behind the row with this time and id.
type Place struct {
	At time.Time `json:"at"`
	ID string    `json:"id"`
}

// Audited reads up to limit audit rows, newest first, behind a place (the zero Place is the
// beginning), merged over the shards by time and id, and tells whether more follow.
func Audited(c *op.Call, after Place, limit int) (rows []AuditRow, more bool, err error) {
	for n := range Shards {
		q := table.Query{PK: "bench.AUDIT#" + string(rune('0'+n)), Reverse: true, Limit: limit + 1}.Prefix("AUDIT#")
		if after.ID != "" {
			q.After = "AUDIT#" + clock.Stamp(after.At) + "#" + after.ID
		}
		p, err := c.Query(q)
		if err != nil {
			return nil, false, err
		}
		for _, r := range p.Rows {
			var a AuditRow
			if err := op.Decode(r.Data, &a); err != nil {
				return nil, false, err
			}
			rows = append(rows, a)
		}
	}
	slices.SortFunc(rows, func(a, b AuditRow) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.ID, a.ID))
	})
	if len(rows) > limit {
		return rows[:limit], true, nil
	}
	return rows, false, nil
}
