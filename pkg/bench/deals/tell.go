package deals

import (
	"slices"
	"time"

	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/record"
)

// quiet are the events an agent's feed leaves out: its own signs of life, what another
// event of the same commit says better, and what is not its business.
var quiet = []record.Word{path.PulseFiled, record.DealFunded, record.AskOpened, path.ReviewClosed}

// tell writes an event into the agent's feed.
func (x *change) tell(e *path.Event) error {
	if slices.Contains(quiet, e.Word) || e.Word == path.MessagePosted && e.Who != path.WhoPerson {
		return nil
	}
	d := x.d
	out := record.E{Type: string(e.Word), TargetID: d.TargetID, ProposalID: d.ProposalID, DealID: d.ID, At: e.At}
	data := map[string]any{}
	if s := d.Step(e.Step); s != nil {
		out.StepID = s.ID
		data["step_number"] = s.Number
	}
	for k, v := range facts(e) {
		data[k] = v
	}
	for k, v := range x.data[e.Word] {
		data[k] = v
	}
	if len(data) > 0 {
		out.Data = data
	}
	return record.Event(x.c, d.AgentID, out)
}

// facts are the members of an event by their names on the wire.
func facts(e *path.Event) map[string]any {
	switch e.Word {
	case record.DealAccepted:
		return map[string]any{"sign_by": record.Time(e.Due)}
	case path.SignReminded:
		return map[string]any{"hours": e.N}
	case record.AskReminded:
		return map[string]any{"day": e.N, "lapse_at": record.Time(e.Due)}
	case record.StepOpened, record.DealSigned:
		return map[string]any{"next_due_at": record.Time(e.Due)}
	case record.AskAnswered:
		return map[string]any{"verdict": e.Cause, "round": e.N}
	case record.AskChangesRequested:
		return map[string]any{"round": e.N, "next_due_at": record.Time(e.Due)}
	case record.StepApproved:
		return map[string]any{"cause": e.Cause}
	case record.StepReleased:
		return map[string]any{"cause": e.Cause, "amount_cents": e.Cents}
	case record.DealReturned:
		return map[string]any{"amount_cents": e.Cents, "end_cause": e.Cause}
	case record.AgentCheckinOverdue, path.ReviewOpened:
		return map[string]any{"misses": e.N}
	case path.TimeRestored:
		return map[string]any{"seconds": int64(e.Span.Span() / time.Second), "given_to": e.Who}
	case path.TimeWarned:
		return map[string]any{"percent": e.N}
	case record.OddsRestated:
		return map[string]any{"declared_odds": e.Odds}
	case record.MaterialsReleased:
		return map[string]any{"files": e.N}
	case record.OutcomeFiled:
		return map[string]any{"version": e.N, "kind": e.Kind}
	case record.ScheduleFiled:
		return map[string]any{"version": e.N, "schedule_id": e.Schedule}
	case record.ScheduleApproved:
		return map[string]any{"cause": e.Cause, "schedule_id": e.Schedule}
	}
	if ending(e.Word) {
		return map[string]any{"end_cause": e.Cause}
	}
	return rare(e)
}

// rare are the members of what the stewards decided or gave back.
func rare(e *path.Event) map[string]any {
	switch e.Word {
	case record.IntegrityDecided, record.ScoresVoided:
		return map[string]any{"finding": e.Kind}
	case path.TimeRestored:
		return map[string]any{"seconds": int64(e.Span.Span() / time.Second), "to": e.Who}
	}
	return nil
}

// ending tells whether a word ends a deal.
func ending(w record.Word) bool {
	switch w {
	case record.TargetResolved, record.TargetAgentFailed, record.DealAgentWithdrew, record.DealAgentAbandoned,
		record.DealDeclined, record.DealLapsed, record.DealExpired, record.DealAgentDeclined, record.DealPickLapsed:
		return true
	}
	return false
}

// ledger writes a public event: no text, no identity of a person, no money but that of
// resolved deals (bench.md 20).
func (x *change) ledger(e *path.Event) error {
	d := x.d
	if d.Practice || !slices.Contains(record.Words, e.Word) {
		return nil
	}
	return record.Ledger(x.c, e.Word, record.Refs{TargetID: d.TargetID, DealID: d.ID, AgentNo: d.AgentNo, At: e.At}, x.public(e))
}

func (x *change) public(e *path.Event) any {
	d := x.d
	switch e.Word {
	case record.DealSigned:
		return signedFacts(d)
	case record.DealAccepted, record.DealFunded, record.DealReturned:
		return nil
	case record.DealAgentDeclined, record.DealPickLapsed:
		return map[string]any{"end_cause": e.Cause}
	case record.StepApproved, record.StepReleased:
		return map[string]any{"step": e.Step, "cause": e.Cause}
	case record.OddsRestated:
		return map[string]any{"step": e.Step, "odds": e.Odds}
	case record.AgentCheckinOverdue:
		return map[string]any{"step": e.Step, "misses": e.N}
	case record.AskReminded:
		return map[string]any{"step": e.Step, "day": e.N}
	case record.OutcomeFiled, record.ScheduleFiled:
		return map[string]any{"step": e.Step, "version": e.N}
	case record.ScheduleApproved:
		return map[string]any{"step": e.Step, "cause": e.Cause}
	case record.IntegrityDecided, record.ScoresVoided:
		return map[string]any{"finding": e.Kind}
	}
	if ending(e.Word) {
		return endedFacts(d, e)
	}
	return map[string]any{"step": e.Step}
}

// signedFacts is what the public may know of a signing: everything the figures need.
func signedFacts(d *path.Deal) any {
	odds := []*float64{}
	for _, s := range d.Steps {
		if s.Kind == path.Execution {
			odds = append(odds, s.AtBid)
		}
	}
	return map[string]any{"model": d.Model, "m": d.Committed(), "days": d.Days, "free": d.Free(), "house": d.House,
		"frozen_probability": d.Frozen, "declared_odds": odds}
}

// endedFacts is what the public may know of an ending. Amounts are shown of resolved deals
// only.
func endedFacts(d *path.Deal, e *path.Event) any {
	m := map[string]any{"end_cause": e.Cause, "m": d.Committed(), "k": d.Approved(), "reached": d.Reached(), "stale": d.Stale,
		"free": d.Free(), "frozen_probability": d.Frozen, "agent_seconds": int64(d.AgentTime.Span().Seconds()), "days": d.Days}
	if e.Step > 0 {
		m["step"] = e.Step
	}
	if e.Kind != "" {
		m["withdrawal_kind"] = e.Kind
	}
	switch e.Word {
	case record.TargetAgentFailed:
		m["excluded_from_denominators"] = false
	case record.TargetResolved:
		m["total_cents"], m["released_cents"], m["returned_cents"] = d.TotalCents, d.Money.Released, d.Money.Returned
		m["on_time"] = d.AgentTime.Span() <= d.Limit()
		if d.Score > 0 {
			m["satisfaction"] = d.Score
		}
	}
	return m
}
