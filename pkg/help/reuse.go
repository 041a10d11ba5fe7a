package help

import (
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/roll"
	"guildhall/pkg/table"
)

// Reuse is a stored reuse report.
type Reuse struct {
	ID          string     `json:"id"`
	KnowledgeID string     `json:"knowledge_id"`
	Reporter    Ref        `json:"reporter"`
	Relation    string     `json:"relation"`
	Note        string     `json:"note"`
	Evidence    string     `json:"evidence"`
	CreatedAt   time.Time  `json:"created_at"`
	Hidden      bool       `json:"hidden,omitempty"`
	Place       roll.Place `json:"place"`
	Mark        string     `json:"mark"`
}

func (u Reuse) hidden() bool { return u.Hidden }

func reuseKey(id string) table.Key { return table.Key{PK: "help.REUSE#" + id, SK: "ROOT"} }

// reuserKey says that an account reported its reuse of an entry.
func reuserKey(knowledgeID, accountID string) table.Key {
	return table.Key{PK: entryKey(knowledgeID).PK, SK: "REUSER#" + accountID}
}

// reusesOf is the list of an entry's reuse reports, newest first.
func reusesOf(knowledgeID string) roll.Roll {
	return roll.Roll{PK: entryKey(knowledgeID).PK, Member: "REUSE#", Count: "COUNT", Field: "reuses_"}
}

// ReuseOut is a reuse report on the wire (help.md 4.3).
type ReuseOut struct {
	ID          string `json:"id"`
	KnowledgeID string `json:"knowledgeId"`
	Reporter    Ref    `json:"reporter"`
	Relation    string `json:"reporterRelation" rule:"enum=requester|contributor|other"`
	Note        string `json:"note"`
	Evidence    string `json:"evidence"`
	CreatedAt   Time   `json:"createdAt"`
}

func (u Reuse) out() ReuseOut {
	return ReuseOut{u.ID, u.KnowledgeID, u.Reporter, u.Relation, u.Note, u.Evidence, Time(u.CreatedAt)}
}

// ReuseExists refuses a second report of one account on one entry.
var ReuseExists = fault.New(fault.Conflict, "reuse_exists", "You already reported that you used this entry.")

// ReuseIn reports a reuse.
type ReuseIn struct {
	KnowledgeID string `path:"knowledgeId"`
	Note        string `json:"note" rule:"required,min=1,max=2000" doc:"What you used it for."`
	Evidence    string `json:"evidence" rule:"required,min=1,max=2000" doc:"What came of it."`
}

// Validate implements op.Validator.
func (in ReuseIn) Validate() error { return screen(in) }

// Rows implements op.Prefetcher.
func (in ReuseIn) Rows(accountID string) []table.Key {
	keys := entryRows(in.KnowledgeID)
	if accountID == "" || keys == nil {
		return nil
	}
	return append(keys, accountKey(accountID), reuserKey(in.KnowledgeID, accountID))
}

// ReuseAnswer wraps a reuse report.
type ReuseAnswer struct {
	Reuse ReuseOut `json:"reuse"`
}

// ReportReuse says that an account used an entry: once per account, by anybody, the parties
// included. It raises no score and no label.
var ReportReuse = op.Declare(noted(write("reuse.report", "/api/knowledge/{knowledgeId}/reuse", "help_report_reuse", "4.1 H15", 201, &reuseLimit,
	"Report that you used an entry, once.", append([]string{"not_found", "reuse_exists"}, textFaults...)...), warning), reportReuse)

func reportReuse(c *op.Call, in ReuseIn) (out ReuseAnswer, err error) {
	e, err := load[Entry](c, in.KnowledgeID, entryKey)
	if err != nil {
		return out, err
	}
	first, found, err := op.Load[string](c, reuserKey(e.ID, c.Caller.ID))
	if err != nil {
		return out, err
	}
	if found {
		return out, ReuseExists.With("detail", map[string]any{"reuseId": first})
	}
	u := Reuse{ID: c.NewID(), KnowledgeID: e.ID, Relation: relation(e, c.Caller.ID), Note: trim(in.Note), Evidence: trim(in.Evidence), CreatedAt: c.Now}
	if u.Reporter, err = caller(c); err != nil {
		return out, err
	}
	if u.Place, err = reusesOf(e.ID).Open(c, 0); err != nil {
		return out, err
	}
	u.Mark = reusesOf(e.ID).Add(c, u.ID, u.Place)
	c.Create(reuseKey(u.ID), u)
	c.Create(reuserKey(e.ID, u.Reporter.ID), u.ID)
	return ReuseAnswer{u.out()}, nil
}

// relation is what an account has to do with an entry.
func relation(e Entry, accountID string) string {
	switch accountID {
	case e.Requester.ID:
		return "requester"
	case e.Contributor.ID:
		return "contributor"
	}
	return "other"
}

// ListReusesIn is a page of an entry's reuse reports.
type ListReusesIn struct {
	KnowledgeID string `path:"knowledgeId"`
	Paging
}

// Rows implements op.Prefetcher.
func (in ListReusesIn) Rows(string) []table.Key { return entryRows(in.KnowledgeID) }

// ReusesOut is a page of reuse reports, newest first.
type ReusesOut struct {
	Reuses []ReuseOut `json:"reuses"`
	Pages
}

// ListReuses lists the reuse reports of an entry, newest first.
var ListReuses = op.Declare(read("reuse.list", "/api/knowledge/{knowledgeId}/reuses", "help_list_reuses", "4.1 H14",
	"List the reuse reports of an entry, newest first.", "not_found", "invalid_limit", "invalid_offset"), listReuses)

func listReuses(c *op.Call, in ListReusesIn) (out ReusesOut, err error) {
	e, err := load[Entry](c, in.KnowledgeID, entryKey)
	if err != nil {
		return out, err
	}
	out.Reuses, out.Pages, err = page(c, in.Paging, reusesOf(e.ID), reuseKey, nil, func(f fetched) (ReuseOut, bool, error) {
		var u Reuse
		err := op.Decode(f.row.Data, &u)
		return u.out(), !u.Hidden, err
	})
	return out, err
}
