package steward

import (
	"time"

	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/drip"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/clock"
	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/text"
)

// MaxRestore is how much time one fault can give back.
const MaxRestore = 30 * path.Day

// Refusals of a fault.
var (
	RestoreInvalid = fault.New(fault.Invalid, "restore_invalid", "restore is how long the fault lasted, such as 90m or 36h, at most 720h.").At("restore")
	OneSubject     = fault.New(fault.Invalid, "one_subject", "Name either a deal or a schedule.").At("deal_id")
)

// FaultIn is a fault of the platform.
type FaultIn struct {
	DealID      string `json:"deal_id,omitempty" rule:"max=64"`
	ScheduleID  string `json:"schedule_id,omitempty" rule:"max=64"`
	Description string `json:"description" rule:"required,min=1,max=2000" doc:"What was broken, and how. Kept in the audit trail."`
	Restore     string `json:"restore" rule:"required,min=1,max=20" doc:"How long it lasted, such as 90m or 36h."`
}

func (in FaultIn) span() (time.Duration, bool) {
	span, err := time.ParseDuration(in.Restore)
	return span, err == nil && span >= time.Second && span <= MaxRestore
}

// Validate implements op.Validator.
func (in FaultIn) Validate() error {
	if _, ok := in.span(); !ok {
		return RestoreInvalid
	}
	if (in.DealID == "") == (in.ScheduleID == "") {
		return OneSubject
	}
	return nil
}

// Rows implements op.Prefetcher.
func (in FaultIn) Rows(string) []table.Key {
	if id.Valid(in.ScheduleID) {
		return []table.Key{drip.Key(in.ScheduleID)}
	}
	return deals.OfDeal{DealID: in.DealID}.Rows("")
}

// FaultRow is a fault and what was given back.
type FaultRow struct {
	FaultID     string       `json:"fault_id"`
	DealID      string       `json:"deal_id"`
	ScheduleID  *string      `json:"schedule_id"`
	StepNumber  int          `json:"step_number" doc:"0 on a timed delivery."`
	Description string       `json:"description"`
	Seconds     int64        `json:"restored_seconds"`
	To          string       `json:"restored_to" doc:"Who held the step: agent or person; nobody on a timed delivery, where no time runs against anybody."`
	By          string       `json:"by"`
	At          record.Time  `json:"at"`
	LapseAt     *record.Time `json:"lapse_at" doc:"When the person's silence counts now; null when the agent holds the step."`
	AgentLeft   *int64       `json:"agent_seconds_left" doc:"Agent time that is left now; null when the person holds the step."`
}

// FaultOut is the row after the change.
type FaultOut struct {
	Fault FaultRow `json:"fault"`
}

// FileFault records a fault of the platform and gives the time it cost back to whoever
// holds the step: more Agent time, or a later lapse. On a timed delivery it is a record: days
// that were missed are released by themselves, and nobody's clock runs (surface.md 4).
var FileFault = op.Declare(meta("fault.file", "POST", "/faults", "Record a fault of the platform and give the lost time back.",
	"restore_invalid", "one_subject", "deal is not active"), fileFault)

func fileFault(c *op.Call, in FaultIn) (FaultOut, error) {
	if in.ScheduleID != "" {
		return scheduleFault(c, in)
	}
	d, found, err := deals.Load(c, in.DealID)
	if err != nil {
		return FaultOut{}, err
	}
	if !found {
		return FaultOut{}, fault.BareNotFound
	}
	span, _ := in.span()
	if err := d.GiveBack(c.Now, span); err != nil {
		return FaultOut{}, err
	}
	s := d.Open()
	row := FaultRow{FaultID: c.NewID(), DealID: d.ID, StepNumber: s.Number, Description: text.Normalize(in.Description), Seconds: int64(span.Seconds()),
		To: path.WhoAgent, By: c.Caller.ID, At: record.Time(c.Now)}
	if s.State == path.Waiting {
		row.To, row.LapseAt = path.WhoPerson, record.At(s.LapseAt())
	} else {
		left := int64((d.Limit() - d.AgentUsed(c.Now)).Seconds())
		row.AgentLeft = &left
	}
	c.Create(table.Key{PK: deals.Key(d.ID).PK, SK: "FAULT#" + clock.Stamp(c.Now) + "#" + row.FaultID}, row)
	if err := record.Audit(c, c.Caller.Key(), string(path.TimeRestored), "deal:"+d.ID, nil,
		map[string]any{"fault_id": row.FaultID, "seconds": row.Seconds, "to": row.To, "description": row.Description}); err != nil {
		return FaultOut{}, err
	}
	return FaultOut{row}, deals.Commit(c, d, nil)
}

// scheduleFault records a fault on a timed delivery.
func scheduleFault(c *op.Call, in FaultIn) (FaultOut, error) {
	s, found, err := drip.Load(c, in.ScheduleID)
	if err != nil {
		return FaultOut{}, err
	}
	if !found {
		return FaultOut{}, fault.BareNotFound
	}
	row := FaultRow{FaultID: c.NewID(), DealID: s.DealID, ScheduleID: &s.ID, Description: text.Normalize(in.Description), To: "nobody",
		By: c.Caller.ID, At: record.Time(c.Now)}
	c.Create(table.Key{PK: drip.Key(s.ID).PK, SK: "FAULT#" + clock.Stamp(c.Now) + "#" + row.FaultID}, row)
	span, _ := in.span()
	return FaultOut{row}, record.Audit(c, c.Caller.Key(), "schedule.fault", "deal:"+s.DealID, nil,
		map[string]any{"fault_id": row.FaultID, "schedule_id": s.ID, "lasted_seconds": int64(span.Seconds()), "description": row.Description})
}
