package help

import (
	"cmp"
	"slices"
	"strconv"

	"guildhall/pkg/account"
	"guildhall/pkg/clock"
	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

func moderation(verb, summary string, faults ...string) op.Meta {
	return op.Meta{ID: "steward.help." + verb, Method: "POST", Path: "/api/steward/moderation/help/" + verb, Auth: op.Steward,
		Idempotent: op.KeyRequired, Summary: summary, Faults: faults, Contract: "surface.md 4, help.md 9"}
}

// The stewards' calls on help.
var (
	Hide     = op.Declare(moderation("hide", "Hide something others wrote; it stays stored."), func(c *op.Call, in HideIn) (HideOut, error) { return setHidden(c, in, true) })
	Unhide   = op.Declare(moderation("unhide", "Show something again that was hidden.", "offer_exists"), func(c *op.Call, in HideIn) (HideOut, error) { return setHidden(c, in, false) })
	Restrict = op.Declare(moderation("restrict", "Take away an account's right to write."), func(c *op.Call, in RestrictIn) (RestrictOut, error) { return setRestricted(c, in, true) })
	Lift     = op.Declare(moderation("lift", "Give an account its right to write back."), func(c *op.Call, in RestrictIn) (RestrictOut, error) { return setRestricted(c, in, false) })
)

// HideIn names a row and says why.
type HideIn struct {
	EntityType string `json:"entity_type" rule:"required,enum=request|offer|submission|review|knowledge|reuse"`
	EntityID   string `json:"entity_id" rule:"required,min=1,max=64"`
	Reason     string `json:"reason" rule:"required,min=1,max=2000" doc:"Kept in the audit trail."`
}

// Rows implements op.Prefetcher.
func (in HideIn) Rows(string) []table.Key {
	if k, ok := entityKey(in.EntityType, in.EntityID); ok {
		return []table.Key{k}
	}
	return nil
}

// HideOut is the row after the change.
type HideOut struct {
	EntityType string `json:"entity_type"`
	EntityID   string `json:"entity_id"`
	Hidden     bool   `json:"hidden"`
}

func setHidden(c *op.Call, in HideIn, on bool) (out HideOut, err error) {
	key, ok := entityKey(in.EntityType, in.EntityID)
	if !ok {
		return out, fault.BareNotFound
	}
	v, found, err := loaders[in.EntityType](c, key)
	if err != nil {
		return out, err
	}
	if !found {
		return out, fault.BareNotFound
	}
	out = HideOut{in.EntityType, in.EntityID, on}
	if v.hidden() == on {
		return out, nil
	}
	if err := v.hide(c, on); err != nil {
		return out, err
	}
	action := "help.hide"
	if !on {
		action = "help.unhide"
	}
	return out, audit(c, action, in.EntityType, in.EntityID, "hidden", on, trim(in.Reason))
}

// RestrictIn names an account and says why.
type RestrictIn struct {
	AccountID string `json:"account_id" rule:"required,min=1,max=64"`
	Reason    string `json:"reason" rule:"required,min=1,max=2000" doc:"Kept in the audit trail."`
}

// Rows implements op.Prefetcher.
func (in RestrictIn) Rows(string) []table.Key {
	if !id.Valid(in.AccountID) {
		return nil
	}
	return []table.Key{accountKey(in.AccountID), account.HelpKey.Row(in.AccountID, "")}
}

// RestrictOut is the account after the change.
type RestrictOut struct {
	AccountID  string `json:"account_id"`
	Handle     string `json:"handle"`
	Restricted bool   `json:"restricted"`
}

func setRestricted(c *op.Call, in RestrictIn, on bool) (out RestrictOut, err error) {
	if !id.Valid(in.AccountID) {
		return out, fault.BareNotFound
	}
	a, found, err := op.Load[Account](c, accountKey(in.AccountID))
	if err != nil {
		return out, err
	}
	if !found {
		return out, fault.BareNotFound
	}
	out = RestrictOut{a.ID, a.Handle, on}
	if a.Restricted == on {
		return out, nil
	}
	a.Restricted = on
	c.Put(accountKey(a.ID), a)
	if err := account.HelpKey.Restrict(c, a.ID, on); err != nil {
		return out, err
	}
	action := "help.restrict"
	if !on {
		action = "help.lift"
	}
	return out, audit(c, action, "account", a.ID, "restricted", on, trim(in.Reason))
}

// reportsPage is how many reports a page has.
const reportsPage = 50

// ReportsIn pages through the reports of abuse.
type ReportsIn struct {
	After string `query:"after"`
}

// ReportOut is a report as stewards see it.
type ReportOut struct {
	ID             string `json:"id"`
	ReporterID     string `json:"reporter_id"`
	ReporterHandle string `json:"reporter_handle"`
	EntityType     string `json:"entity_type"`
	EntityID       string `json:"entity_id"`
	Reason         string `json:"reason"`
	CreatedAt      Time   `json:"created_at"`
}

// ReportsOut is a page of reports, newest first.
type ReportsOut struct {
	Reports    []ReportOut `json:"reports"`
	NextCursor *string     `json:"next_cursor"`
}

var cursorInvalid = fault.New(fault.Invalid, "cursor_invalid", "Send the cursor exactly as the page before gave it, or none.").At("after")

// Reports lists the reports of abuse, newest first.
var Reports = op.Declare(op.Meta{
	ID: "steward.help.reports", Method: "GET", Path: "/api/steward/moderation/help/reports", Auth: op.Steward,
	Summary: "List reports of abuse in help, newest first.", Faults: []string{"cursor_invalid"}, Contract: "surface.md 4, help.md H-G14",
}, listReports)

func listReports(c *op.Call, in ReportsIn) (ReportsOut, error) {
	const list = "help.reports"
	out, after := ReportsOut{Reports: []ReportOut{}}, ""
	if in.After != "" && !c.ReadCursor(list, in.After, &after) {
		return out, cursorInvalid
	}
	var all []Report
	for s := range shards {
		p, err := c.Query(table.Query{PK: "help.REPORT#" + strconv.Itoa(s), Reverse: true, After: after, Limit: reportsPage + 1}.Prefix("REPORT#"))
		if err != nil {
			return out, err
		}
		for _, row := range p.Rows {
			var r Report
			if err := op.Decode(row.Data, &r); err != nil {
				return out, err
			}
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b Report) int { return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID)) })
	for _, r := range all[:min(len(all), reportsPage)] {
		out.Reports = append(out.Reports, ReportOut{r.ID, r.Reporter.ID, r.Reporter.Handle, r.EntityType, r.EntityID, r.Reason, Time(r.CreatedAt)})
	}
	if len(all) > reportsPage {
		last := all[reportsPage-1]
		next := c.Cursor(list, "REPORT#"+clock.Stamp(last.CreatedAt)+"#"+last.ID)
		out.NextCursor = &next
	}
	return out, nil
}
