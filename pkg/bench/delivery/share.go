package delivery

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/drip"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/clock"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/text"
)

// Limits of a House's shared days.
const (
	houseShards  = 4
	DefaultHouse = 20
	MaxHouse     = 50
)

// shared is a day in a House. It says what the card says, and nothing of who shared it.
type shared struct {
	ID   string        `json:"id"`
	Card deals.DayCard `json:"card"`
	At   time.Time     `json:"at"`
}

// SharedDay is a shared day on the wire.
type SharedDay struct {
	Card     deals.DayCard `json:"card"`
	SharedAt record.Time   `json:"shared_at"`
}

// ShareOut is a day that was shared: now, or before.
type ShareOut struct {
	House string `json:"house"`
	SharedDay
}

// Share puts the card of a released day into the person's House: it credits the agent by
// name and links its Passport. A day is shared once (surface.md 3, bench.md 14).
var Share = op.Declare(op.Meta{
	ID: "person.schedule.share", Method: "POST", Path: "/api/person/deals/{deal_id}/schedule/days/{ordinal}/share", Auth: op.Person,
	Idempotent: op.KeyRequired, Limit: &wants.PersonWrites, Summary: "Share a day that has landed into your House.",
	Faults: []string{"not_released", "no_house"}, Contract: "surface.md 3, bench.md 14",
}, share)

func share(c *op.Call, in OfDay) (ShareOut, error) {
	p, _, err := op.Load[account.Person](c, account.PersonKey(c.Caller.ID))
	if err != nil {
		return ShareOut{}, err
	}
	out, n, house := ShareOut{}, in.number(), ""
	if p.House != nil {
		house = p.House.House
	}
	_, err = change(c, in.OfDaily, func(s *drip.Schedule) error {
		first, err := s.Share(n, house, c.Now)
		if err != nil {
			return err
		}
		day := s.Released[n-1]
		out = ShareOut{day.SharedIn, SharedDay{deals.CardOf(s, n), record.Time(day.SharedAt)}}
		if first {
			row := shared{ID: c.NewID(), Card: out.Card, At: c.Now}
			c.Create(table.Key{PK: housePartition(house, houseShard(s.ID)), SK: houseSK(row.At, row.ID)}, row)
		}
		return nil
	})
	return out, err
}

// housePartition is where a House's days lie. Names that differ in case or spacing alone are
// one House.
func housePartition(house string, shard int) string {
	sum := sha256.Sum256([]byte(strings.Join(strings.Fields(text.Fold(strings.ToLower(house))), " ")))
	return "bench.HOUSE#" + hex.EncodeToString(sum[:16]) + "#" + strconv.Itoa(shard)
}

func houseShard(schedule string) int {
	h := fnv.New32a()
	h.Write([]byte(schedule))
	return int(h.Sum32() % houseShards)
}

const housePrefix = "DAY#"

func houseSK(at time.Time, id string) string { return housePrefix + clock.Stamp(at) + "#" + id }

// HouseIn pages through the days of the own House.
type HouseIn struct {
	After string `query:"after"`
	Limit int    `query:"limit" rule:"min=0,max=50"`
}

// HouseOut is a page of them, newest first.
type HouseOut struct {
	House *string     `json:"house"`
	Days  []SharedDay `json:"days"`
	Next  *string     `json:"next_cursor"`
}

// ReadHouse shows the days that were shared into the caller's House, newest first.
var ReadHouse = op.Declare(op.Meta{
	ID: "person.house.read", Method: "GET", Path: "/api/person/house/days", Auth: op.Person, Summary: "Read the days shared into your House.",
	Faults: []string{"cursor_invalid"}, Contract: "bench.md 14",
}, readHouse)

func readHouse(c *op.Call, in HouseIn) (HouseOut, error) {
	p, _, err := op.Load[account.Person](c, account.PersonKey(c.Caller.ID))
	out := HouseOut{Days: []SharedDay{}}
	if err != nil || p.House == nil {
		return out, err
	}
	out.House = &p.House.House
	list, after := "person.house:"+housePartition(p.House.House, 0), ""
	if in.After != "" && !c.ReadCursor(list, in.After, &after) {
		return out, fault.New(fault.Invalid, "cursor_invalid", "Send the next_cursor of this list, or none.").At("after")
	}
	limit := cmp.Or(in.Limit, DefaultHouse)
	var rows []shared
	for shard := range houseShards {
		q := table.Query{PK: housePartition(p.House.House, shard), Reverse: true, Limit: limit + 1, After: after}.Prefix(housePrefix)
		page, err := c.Query(q)
		if err != nil {
			return out, err
		}
		for _, r := range page.Rows {
			var s shared
			if err := op.Decode(r.Data, &s); err != nil {
				return out, err
			}
			rows = append(rows, s)
		}
	}
	slices.SortFunc(rows, func(a, b shared) int { return cmp.Compare(houseSK(b.At, b.ID), houseSK(a.At, a.ID)) })
	for _, s := range rows[:min(len(rows), limit)] {
		out.Days = append(out.Days, SharedDay{s.Card, record.Time(s.At)})
	}
	if len(rows) > limit {
		next := c.Cursor(list, houseSK(rows[limit-1].At, rows[limit-1].ID))
		out.Next = &next
	}
	return out, nil
}
