package record

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Word is a type of public event. The vocabulary is closed (bench.md 25).
type Word string

// The ledger's vocabulary. The order is the order of cause and effect: events of one
// moment are sequenced in it.
const (
	TargetPosted        Word = "target.posted"
	TargetReposted      Word = "target.reposted"
	BidFiled            Word = "bid.filed"
	BidWithdrawn        Word = "bid.withdrawn"
	BidDeclined         Word = "bid.declined"
	BidExpired          Word = "bid.expired"
	FinalistNamed       Word = "finalist.named"
	FinalistHandoff     Word = "finalist.handoff"
	FinalistExpired     Word = "finalist.expired"
	PlanFiled           Word = "plan.filed"
	PlanRevised         Word = "plan.revised"
	DealAccepted        Word = "deal.accepted"
	DealFunded          Word = "deal.funded"
	DealSigned          Word = "deal.signed"
	DealAgentDeclined   Word = "deal.agent-declined"
	DealPickLapsed      Word = "deal.pick-lapsed"
	AgentCheckinOverdue Word = "agent.checkin.overdue"
	OddsRestated        Word = "odds.restated"
	ArtifactFiled       Word = "artifact.filed"
	OutcomeFiled        Word = "outcome.filed"
	ScheduleFiled       Word = "schedule.filed"
	AskOpened           Word = "ask.opened"
	AskReminded         Word = "ask.reminded"
	AskAnswered         Word = "ask.answered"
	AskChangesRequested Word = "ask.changes-requested"
	StepApproved        Word = "step.approved"
	ScheduleApproved    Word = "schedule.approved"
	StepReleased        Word = "step.released"
	MaterialsReleased   Word = "materials.released"
	GrantMinted         Word = "grant.minted"
	GrantSwapped        Word = "grant.swapped"
	StepOpened          Word = "step.opened"
	DeliveryReleased    Word = "delivery.released"
	ScheduleCompleted   Word = "schedule.completed"
	TargetAgentFailed   Word = "target.agent-failed"
	DealAgentWithdrew   Word = "deal.agent-withdrew"
	DealAgentAbandoned  Word = "deal.agent-abandoned"
	DealDeclined        Word = "deal.declined"
	DealLapsed          Word = "deal.lapsed"
	DealExpired         Word = "deal.expired"
	DealReturned        Word = "deal.returned"
	TargetResolved      Word = "target.resolved"
	TargetClosed        Word = "target.closed"
	GrantRevoked        Word = "grant.revoked"
	DealSubsidyReported Word = "deal.subsidy-reported"
	TipPaid             Word = "tip.paid"
	TipTransferred      Word = "tip.transferred"
	IntegrityOpened     Word = "integrity.opened"
	IntegrityDecided    Word = "integrity.decided"
	ScoresVoided        Word = "scores.voided"
	BreachFiled         Word = "breach.filed"
)

// Words is the closed vocabulary in its order.
var Words = []Word{
	TargetPosted, TargetReposted, BidFiled, BidWithdrawn, BidDeclined, BidExpired, FinalistNamed, FinalistHandoff,
	FinalistExpired, PlanFiled, PlanRevised, DealAccepted, DealFunded, DealSigned, DealAgentDeclined, DealPickLapsed,
	AgentCheckinOverdue, OddsRestated, ArtifactFiled, OutcomeFiled, ScheduleFiled, AskOpened, AskReminded, AskAnswered,
	AskChangesRequested, StepApproved, ScheduleApproved, StepReleased, MaterialsReleased, GrantMinted, GrantSwapped,
	StepOpened, DeliveryReleased, ScheduleCompleted, TargetAgentFailed, DealAgentWithdrew, DealAgentAbandoned,
	DealDeclined, DealLapsed, DealExpired, DealReturned, TargetResolved, TargetClosed, GrantRevoked,
	DealSubsidyReported, TipPaid, TipTransferred, IntegrityOpened, IntegrityDecided, ScoresVoided, BreachFiled,
}

// Refs says what a public event is about. AgentNo is the A-number as an integer, 0 for
// none. At is the time of the event; zero is now.
type Refs struct {
	TargetID string    `json:"target_id,omitempty"`
	DealID   string    `json:"deal_id,omitempty"`
	AgentNo  int       `json:"agent_no,omitempty"`
	At       time.Time `json:"-"`
}

// Pending is a public event that waits for its place in the log.
type Pending struct {
	ID    string          `json:"id"`
	Event Word            `json:"event"`
	At    time.Time       `json:"at"`
	Refs  Refs            `json:"refs"`
	Data  json.RawMessage `json:"data,omitempty"`
}

const pendingPrefix = "PENDING#"

// Ledger stages a public event: an outbox row that the sequencing job turns into a link of
// the log. What it carries becomes public: no text of a person or an agent, no identity.
// Events of practice targets are the caller's to leave out. A word outside the vocabulary
// is an internal error.
func Ledger(c *op.Call, word Word, refs Refs, data any) error {
	rank := slices.Index(Words, word)
	if rank < 0 {
		return fmt.Errorf("record: %q is no word of the ledger", word)
	}
	b, err := json.Marshal(data)
	if err != nil {
		return err
	}
	if data == nil {
		b = nil
	}
	p := Pending{ID: c.NewID(), Event: word, At: refs.At, Refs: refs, Data: b}
	if p.At.IsZero() {
		p.At = c.Now
	}
	subject := refs.TargetID
	if subject == "" {
		subject = fmt.Sprint(refs.DealID, refs.AgentNo)
	}
	sk := fmt.Sprintf("%s%s#%02d#%s", pendingPrefix, clock.Stamp(p.At), rank, p.ID)
	c.Create(table.Key{PK: PendingPartition(shard(subject)), SK: sk}, p)
	return nil
}

// PendingPartition is the partition of one shard of the pending ledger.
func PendingPartition(shard string) string { return "bench.LEDGER#" + shard }

// PendingPage reads the oldest pending events of a shard ("0".."3") with their keys, for the
// sequencing job, which deletes them in the commit that gives them their place.
func PendingPage(c *op.Call, shard string, limit int) (events []Pending, keys []table.Key, err error) {
	p, err := c.Query(table.Query{PK: PendingPartition(shard), Limit: limit}.Prefix(pendingPrefix))
	if err != nil {
		return nil, nil, err
	}
	for _, r := range p.Rows {
		var e Pending
		if err := op.Decode(r.Data, &e); err != nil {
			return nil, nil, err
		}
		events, keys = append(events, e), append(keys, r.Key)
	}
	return events, keys, nil
}
