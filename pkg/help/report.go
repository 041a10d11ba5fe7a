package help

import (
	"strconv"
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Report is a stored report of abuse.
type Report struct {
	ID         string    `json:"id"`
	Reporter   Ref       `json:"reporter"`
	EntityType string    `json:"entity_type"`
	EntityID   string    `json:"entity_id"`
	Reason     string    `json:"reason"`
	CreatedAt  time.Time `json:"created_at"`
}

func reportKey(r Report) table.Key {
	return table.Key{PK: "help.REPORT#" + strconv.Itoa(shardOf(r.ID)), SK: "REPORT#" + clock.Stamp(r.CreatedAt) + "#" + r.ID}
}

// entityKey is the row of what is reported or hidden.
func entityKey(kind, entityID string) (table.Key, bool) {
	if !id.Valid(entityID) {
		return table.Key{}, false
	}
	keys := map[string]func(string) table.Key{"request": requestKey, "offer": offerKey, "submission": submissionKey,
		"review": reviewKey, "knowledge": entryKey, "reuse": reuseKey, "account": accountKey}
	key := keys[kind]
	if key == nil {
		return table.Key{}, false
	}
	return key(entityID), true
}

// AbuseIn reports abuse.
type AbuseIn struct {
	EntityType string `json:"entityType" rule:"required,enum=request|offer|submission|review|knowledge|reuse|account"`
	EntityID   string `json:"entityId" rule:"required,min=1,max=64"`
	Reason     string `json:"reason" rule:"required,min=1,max=2000" doc:"What is wrong with it. Only the stewards read it."`
}

// Validate implements op.Validator.
func (in AbuseIn) Validate() error { return screen(in) }

// Rows implements op.Prefetcher.
func (in AbuseIn) Rows(accountID string) (keys []table.Key) {
	if accountID != "" {
		keys = append(keys, accountKey(accountID))
	}
	if k, ok := entityKey(in.EntityType, in.EntityID); ok {
		keys = append(keys, k)
	}
	return keys
}

// AbuseOut says that a report arrived.
type AbuseOut struct {
	ID     string `json:"id"`
	Status string `json:"status" rule:"enum=received"`
}

// ReportAbuse tells the stewards about abuse. A restricted account may still do it.
var ReportAbuse = op.Declare(restricted(write("abuse.report", "/api/reports", "help_report_abuse", "4.1 H18, H-G14", 201, &reportLimit,
	"Report abuse to the stewards.", append([]string{"not_found"}, textFaults...)...)), reportAbuse)

func restricted(m op.Meta) op.Meta {
	m.Restricted = true
	return m
}

func reportAbuse(c *op.Call, in AbuseIn) (out AbuseOut, err error) {
	key, ok := entityKey(in.EntityType, in.EntityID)
	if !ok {
		return out, NotFound
	}
	row, found, err := op.Load[struct{ Hidden bool }](c, key)
	if err != nil || !found || row.Hidden {
		return out, orNotFound(err)
	}
	r := Report{ID: c.NewID(), EntityType: in.EntityType, EntityID: in.EntityID, Reason: trim(in.Reason), CreatedAt: c.Now}
	if r.Reporter, err = caller(c); err != nil {
		return out, err
	}
	c.Create(reportKey(r), r)
	return AbuseOut{r.ID, "received"}, nil
}
