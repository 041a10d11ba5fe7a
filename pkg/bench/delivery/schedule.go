package delivery

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/drip"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/clock/morning"
	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/text"
)

// Limits of a timed delivery (bench.md 14).
const (
	MaxPieceTitle   = 200     // characters
	MaxScheduleBody = 3 << 20 // bytes
)

// daily is the one cadence there is.
const daily = "daily"

// Refusals of a timed delivery.
var (
	ScheduleExists  = fault.New(fault.Conflict, "schedule_exists", "This deal already has a timed delivery: it waits for the person's answer, or it is being delivered.")
	ScheduleInvalid = fault.New(fault.Invalid, "schedule_invalid", "A timed delivery is 1 to 60 pieces of {title, document}, one each day.")
)

// ScheduleIn is a timed delivery: pieces in day order.
type ScheduleIn struct {
	TargetID string          `path:"target_id"`
	Pieces   json.RawMessage `json:"pieces,omitempty" doc:"1 to 60 of {title, document}, in day order; each document as in an outcome. Sealed once filed."`
	StartsOn *string         `json:"starts_on,omitempty" doc:"YYYY-MM-DD, tomorrow or later where the person lives, at most 365 days ahead; the day after the approval when left out."`
	Cadence  *string         `json:"cadence,omitempty" doc:"daily, the only one there is."`
	Note     string          `json:"note,omitempty" doc:"The delivery note, 1 to 280 characters; we write one when it is left out."`
}

// Rows implements op.Prefetcher.
func (in ScheduleIn) Rows(account string) []table.Key {
	return FileIn{TargetID: in.TargetID}.Rows(account)
}

// ScheduleOut is the receipt of a timed delivery.
type ScheduleOut struct {
	ScheduleID string      `json:"schedule_id"`
	ReceiptID  string      `json:"receipt_id"`
	Pieces     int         `json:"pieces_count"`
	StartsOn   *string     `json:"starts_on"`
	FiledAt    record.Time `json:"filed_at"`
	StepID     string      `json:"step_id"`
	State      string      `json:"state"`
	Version    int         `json:"version"`
}

// FileSchedule hands the last step over as a timed delivery: the person approves the whole
// list at once, and gets one piece each morning (bench.md 14).
var FileSchedule = op.Declare(op.Meta{
	ID: "bench.schedule.file", Method: "POST", Path: "/api/bench/targets/{target_id}/delivery-schedule", Status: 201, Tool: "file_delivery_schedule",
	Auth: op.Maker, Scope: "deals:write", Idempotent: op.KeyRequired, Limit: &registry.Writes, MaxBody: MaxScheduleBody,
	Summary: "File a timed delivery on your last step: one piece each morning.",
	Faults: []string{"schedule_exists", "out_of_turn_filing", "progress_not_100", "schedule_invalid", "note_too_long", "link_in_outcome_text",
		"document_invalid", "outcome_secret", "outcome_off_platform_payment", "outcome_credential_request"},
	Contract: "bench.md 14",
}, fileSchedule)

func fileSchedule(c *op.Call, in ScheduleIn) (ScheduleOut, error) {
	d, err := unscheduled(c, in.TargetID)
	if err != nil {
		return ScheduleOut{}, err
	}
	step, err := d.CanSchedule()
	if err != nil {
		return ScheduleOut{}, err
	}
	s := &drip.Schedule{ID: c.NewID(), Receipt: c.NewID(), DealID: d.ID, TargetID: d.TargetID, AgentID: d.AgentID, PersonID: d.PersonID,
		Handle: d.Handle, AgentNo: d.AgentNo, Practice: d.Practice, Status: drip.Filed, FiledAt: c.Now}
	pieces, note, err := in.read(c, s)
	if err != nil {
		return ScheduleOut{}, err
	}
	o := &deals.Outcome{ID: s.Receipt, Kind: deals.KindSchedule, Version: step.Version + 1, Note: note, FiledAt: c.Now, Unanswered: step.Unread,
		Schedule: s.ID, Pieces: len(pieces)}
	o.SHA256, o.Bytes = weigh(pieces)
	if step, err = d.FileSchedule(c.Now, s.ID); err != nil {
		return ScheduleOut{}, err
	}
	s.Create(c, pieces)
	deals.PutOutcome(c, d, step, o, nil)
	out := ScheduleOut{ScheduleID: s.ID, ReceiptID: o.ID, Pieces: len(pieces), FiledAt: record.Time(c.Now), StepID: step.ID, State: step.State, Version: o.Version}
	if in.StartsOn != nil {
		out.StartsOn = in.StartsOn
	}
	return out, deals.Commit(c, d, map[record.Word]map[string]any{record.ScheduleFiled: {"receipt_id": o.ID, "sha256": o.SHA256, "pieces_count": len(pieces)}})
}

// unscheduled reads the signed deal of the calling agent on a target, and refuses one that
// has a timed delivery.
func unscheduled(c *op.Call, target string) (*path.Deal, error) {
	if !id.Valid(target) {
		return nil, fault.BareNotFound
	}
	r, found, err := op.Load[deals.Ref](c, deals.OnTargetKey(target, c.Caller.ID))
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fault.BareNotFound
	}
	if err := c.Fetch(deals.OfDeal(r).Rows(c.Caller.ID)...); err != nil {
		return nil, err
	}
	d, err := deals.Mine(c, r.DealID)
	if err != nil {
		return nil, err
	}
	if s, err := deals.Schedule(c, d); err != nil {
		return nil, err
	} else if s != nil && (s.Live() || s.Status == drip.Filed) {
		return nil, ScheduleExists
	}
	if d.Status != path.Signed {
		return nil, fault.BareNotFound
	}
	return d, nil
}

// read checks a timed delivery and completes the schedule with it.
func (in *ScheduleIn) read(c *op.Call, s *drip.Schedule) (pieces []drip.Piece, note string, err error) {
	note = text.Normalize(in.Note)
	if text.Len(note) > MaxNote {
		return nil, "", NoteTooLong
	}
	if in.Cadence != nil && *in.Cadence != daily {
		return nil, "", ScheduleInvalid.At("cadence").Say("The one cadence is daily.")
	}
	if err := in.begin(c, s); err != nil {
		return nil, "", err
	}
	list, err := in.list()
	if err != nil {
		return nil, "", err
	}
	if note == "" {
		note = fmt.Sprintf("%d days, one each morning.", len(list))
		if len(list) == 1 {
			note = "1 day, one morning."
		}
	}
	if err := screenOutcome("note", note); err != nil {
		return nil, "", err
	}
	docs := make([]json.RawMessage, len(list))
	for i := range list {
		docs[i] = list[i].Document
	}
	images, err := Images(c, s.DealID, docs...)
	if err != nil {
		return nil, "", err
	}
	for i := range list {
		if err := list[i].seal(s, images); err != nil {
			return nil, "", within("pieces["+strconv.Itoa(i)+"]", err)
		}
	}
	return list.stored(), note, nil
}

// begin reads starts_on as a date of the person's zone.
func (in *ScheduleIn) begin(c *op.Call, s *drip.Schedule) error {
	if in.StartsOn == nil {
		return nil
	}
	p, _, err := op.Load[account.Person](c, account.PersonKey(s.PersonID))
	if err != nil {
		return err
	}
	zone := morning.Zone(p.Timezone)
	first := morning.Tomorrow(zone, c.Now)
	last := morning.DateIn(zone, c.Now).Add(drip.MaxAhead)
	d, err := morning.ParseDate(*in.StartsOn)
	if err != nil || d.Compare(first) < 0 || d.After(last) {
		return ScheduleInvalid.At("starts_on").With("detail", fmt.Sprintf("starts_on is a date from %s to %s.", first, last)).
			With("earliest", first.String()).Say("starts_on is YYYY-MM-DD, tomorrow or later where the person lives, and at most 365 days ahead.")
	}
	s.StartsOn = d
	return nil
}

// part is a piece while it is checked.
type part struct {
	Title    string          `json:"title"`
	Document json.RawMessage `json:"document"`
	sealed   json.RawMessage
}

type parts []part

// list reads the pieces' shape.
func (in *ScheduleIn) list() (parts, error) {
	var list parts
	if !sent(in.Pieces) || json.Unmarshal(in.Pieces, &list) != nil || len(list) < 1 || len(list) > drip.MaxPieces {
		return nil, ScheduleInvalid.At("pieces")
	}
	if name := unknown(in.Pieces, new(parts)); name != "" {
		return nil, ScheduleInvalid.At("pieces").Say("A piece is {title, document} and has no field " + name + ".")
	}
	for i := range list {
		p := &list[i]
		p.Title = strings.Join(strings.Fields(text.Normalize(p.Title)), " ") // the subject of a mail, too: one line
		if n := text.Len(p.Title); n < 1 || n > MaxPieceTitle || !sent(p.Document) {
			return nil, ScheduleInvalid.At("pieces[" + strconv.Itoa(i) + "]").Say("A piece has a title of 1 to 200 characters and a document.")
		}
	}
	return list, nil
}

// seal checks a piece's words and document, and notes what the cards show of it.
func (p *part) seal(s *drip.Schedule, images map[string]bool) error {
	if err := screenOutcome("title", p.Title); err != nil {
		return err
	}
	d, err := ParseDocument(p.Document, images)
	if err != nil {
		return err
	}
	h := drip.Heading{Title: p.Title}
	for _, b := range d.Blocks {
		if b.Type == "video" && h.Video == "" {
			h.Video = b.YoutubeID
		}
	}
	s.Pieces = append(s.Pieces, h)
	p.sealed, err = plain(d)
	return err
}

// plain is the JSON of a value without the escapes for HTML, which make six bytes of one.
func plain(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func (l parts) stored() []drip.Piece {
	out := make([]drip.Piece, len(l))
	for i, p := range l {
		out[i] = drip.Piece{Title: p.Title, Document: p.sealed}
	}
	return out
}

// weigh is the receipt's hash and size: of the sealed pieces, one JSON text a line.
func weigh(pieces []drip.Piece) (sum string, size int64) {
	h := sha256.New()
	for _, p := range pieces {
		b, _ := plain(p) // strings and checked JSON: it cannot fail
		n, _ := h.Write(append(b, '\n'))
		size += int64(n)
	}
	return hex.EncodeToString(h.Sum(nil)), size
}

// within says in which piece something is wrong.
func within(piece string, err error) error {
	var f *fault.Fault
	if !errors.As(err, &f) {
		return err
	}
	if f.Field == "" {
		return f.At(piece)
	}
	return f.At(piece + "." + f.Field)
}
