package steward

import (
	"slices"
	"strings"

	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/text"
)

// Findings (bench.md 12.3, 23).
const (
	Upheld        = "r109_exception_upheld"
	Rejected      = "r109_exception_rejected"
	StaleProven   = "stale_pattern_confirmed"
	StaleCleared  = "stale_pattern_cleared"
	TieProven     = "self_deal_confirmed"
	TieCleared    = "self_deal_cleared"
	Lifted        = "liveness_lifted"
	KeptSuspended = "liveness_suspended"
	BreachProven  = "breach_confirmed"
	BreachCleared = "breach_cleared"
	Noted         = "chargeback_noted"
	DealEnded     = "deal_ended"   // of an agent that was delisted
	DealLeft      = "deal_left_on" // its clocks go on
)

// Walls that a finding stands for (bench.md 2.13); a report names its own.
const (
	wallSelfDealing = 6
	wallStaleness   = 11
)

// maxCitation is how many characters of a finding are published as a breach's citation.
const maxCitation = 1000

// finding is one way to decide a case.
type finding struct {
	name   string
	voids  bool // scores: two different stewards must agree
	breach bool // files a breach event with what was written as its citation
	do     func(*decision) error
}

// findings by kind of case.
var findings = map[string][]finding{
	deals.CaseException:  {{name: Upheld, voids: true}, {name: Rejected}},
	deals.CaseStale:      {{name: StaleProven, breach: true}, {name: StaleCleared}},
	deals.CaseSelfDeal:   {{name: TieProven, voids: true, breach: true, do: (*decision).voidRest}, {name: TieCleared}},
	deals.CaseLiveness:   {{name: Lifted, do: (*decision).lift}, {name: KeptSuspended, do: (*decision).keep}},
	deals.CaseBreach:     {{name: BreachProven, breach: true}, {name: BreachCleared}},
	deals.CaseChargeback: {{name: Noted}},
	deals.CaseLinkHeld:   {{name: LinkReleased, do: (*decision).release}, {name: LinkRejected, do: (*decision).reject}},
}

// ofDelisted decide about a running deal whose agent was taken off the exchange.
var ofDelisted = []finding{{name: DealEnded, do: (*decision).strike}, {name: DealLeft}}

func findingsOf(k *deals.Case) []finding {
	if k.Evidence[delistedEvidence] != nil {
		return ofDelisted
	}
	return findings[k.Kind]
}

func names(k *deals.Case) []string {
	out := []string{}
	for _, f := range findingsOf(k) {
		out = append(out, f.name)
	}
	return out
}

// Refusals of a decision.
var (
	FindingUnknown = fault.New(fault.Invalid, "finding_unknown", "That is no finding of this kind of case.").At("finding")
	AlreadyDecided = fault.New(fault.Conflict, "already_decided", "This case is decided. Decisions are not taken back.")
	SecondNeeded   = fault.New(fault.Conflict, "second_steward_needed", "You have said so already: another steward has to agree.")
	WallNeeded     = fault.New(fault.Invalid, "wall_required", "Say which of the eleven walls was broken: the report names none.").At("wall")
	TooLong        = fault.New(fault.Invalid, "citation_too_long", "A finding that files a breach is published: at most 1000 characters.").At("written")
)

// DecideIn is a steward's finding.
type DecideIn struct {
	CaseID  string `path:"case_id"`
	Finding string `json:"finding" rule:"required,min=1,max=64"`
	Written string `json:"written" rule:"required,min=1,max=2000" doc:"Why. Published where the finding files a breach."`
	Wall    *int   `json:"wall,omitempty" rule:"min=1,max=11" doc:"Of a breach whose report names no wall."`
}

// Rows implements op.Prefetcher.
func (in DecideIn) Rows(string) []table.Key { return []table.Key{deals.CaseKey(in.CaseID)} }

// DecideOut is the case after it.
type DecideOut struct {
	Case CaseRow `json:"case"`
}

// Decide records a steward's finding on a case (bench.md 12.3, 23). A finding that voids
// scores needs two different stewards; once one of them has found so, so does any other.
// History is never rewritten: what follows is new rows.
var Decide = op.Declare(meta("case.decide", "POST", "/cases/{case_id}/decide", "Decide a case; a finding that voids scores needs two stewards.",
	"finding_unknown", "already_decided", "second_steward_needed", "wall_required", "citation_too_long"), decide)

// decision is one finding while it is carried out.
type decision struct {
	c    *op.Call
	in   DecideIn
	kase *deals.Case
	f    finding
	wall int
	deal *path.Deal // nil when the case has none
}

func decide(c *op.Call, in DecideIn) (DecideOut, error) {
	k, found, err := op.Load[deals.Case](c, deals.CaseKey(in.CaseID))
	if err != nil {
		return DecideOut{}, err
	}
	if !found {
		return DecideOut{}, fault.BareNotFound
	}
	if err := c.Fetch(k.Around()...); err != nil {
		return DecideOut{}, err
	}
	in.Written = text.Normalize(in.Written)
	x := &decision{c: c, in: in, kase: &k}
	if err := x.refuse(); err != nil {
		return DecideOut{}, err
	}
	before := k.State
	x.vote()
	k.Save(c)
	if k.State == deals.CaseClosed {
		if err := x.carryOut(); err != nil {
			return DecideOut{}, err
		}
	}
	if err := record.Audit(c, c.Caller.Key(), "case.decided", "case:"+k.ID, map[string]any{"state": before},
		map[string]any{"state": k.State, "finding": in.Finding, "kind": k.Kind}); err != nil {
		return DecideOut{}, err
	}
	row, err := show(c, &k)
	return DecideOut{row}, err
}

// refuse refuses what cannot be decided, or not so.
func (x *decision) refuse() error {
	list := findingsOf(x.kase)
	i := slices.IndexFunc(list, func(f finding) bool { return f.name == x.in.Finding })
	switch {
	case i < 0:
		return FindingUnknown.With("findings", names(x.kase))
	case x.kase.State == deals.CaseClosed:
		return AlreadyDecided
	case slices.ContainsFunc(x.kase.Votes, func(v deals.Vote) bool { return v.By == x.c.Caller.ID && v.Finding == x.in.Finding }):
		return SecondNeeded
	}
	if x.f = list[i]; !x.f.breach {
		return nil
	}
	switch n, named := x.kase.Evidence["wall"].(float64); {
	case x.kase.Kind == deals.CaseSelfDeal:
		x.wall = wallSelfDealing
	case x.kase.Kind == deals.CaseStale:
		x.wall = wallStaleness
	case x.in.Wall != nil:
		x.wall = *x.in.Wall
	case !named:
		return WallNeeded
	default:
		x.wall = int(n)
	}
	if len([]rune(x.in.Written)) > maxCitation {
		return TooLong
	}
	return nil
}

// vote counts the finding. One steward is enough where no scores are at stake; where one
// has voted to void them, two must say the same, whatever they say.
func (x *decision) vote() {
	k := x.kase
	k.Votes = slices.DeleteFunc(k.Votes, func(v deals.Vote) bool { return v.By == x.c.Caller.ID })
	k.Votes = append(k.Votes, deals.Vote{By: x.c.Caller.ID, Finding: x.f.name, Written: x.in.Written, At: x.c.Now})
	voids, same := false, 0
	for _, v := range k.Votes {
		voids = voids || slices.ContainsFunc(findingsOf(k), func(f finding) bool { return f.voids && f.name == v.Finding })
		if v.Finding == x.f.name {
			same++
		}
	}
	if voids && same < 2 {
		k.State = deals.CaseSecond
		return
	}
	k.State, k.Finding, k.Written, k.ClosedAt = deals.CaseClosed, x.f.name, x.in.Written, x.c.Now
}

// carryOut does what follows from a closed case.
func (x *decision) carryOut() error {
	if err := x.load(); err != nil {
		return err
	}
	if x.f.do != nil {
		if err := x.f.do(x); err != nil {
			return err
		}
	}
	if x.f.breach {
		if err := registry.AddBreach(x.c, x.kase.AgentID, x.wall, x.in.Written); err != nil {
			return err
		}
	}
	if x.deal == nil {
		return nil
	}
	if x.kase.Kind == deals.CaseBreach {
		x.thank()
	} else {
		x.deal.Decide(x.c.Now, x.f.name, x.f.voids)
	}
	return deals.Commit(x.c, x.deal, map[record.Word]map[string]any{record.IntegrityDecided: {"case_id": x.kase.ID, "written": x.in.Written}})
}

func (x *decision) load() error {
	if x.kase.DealID == "" {
		return nil
	}
	d, found, err := deals.Load(x.c, x.kase.DealID)
	if found {
		x.deal = d
	}
	return err
}

// thank tells the person who reported the agent that the report was looked at.
func (x *decision) thank() {
	if x.kase.Evidence[delistedEvidence] != nil {
		return
	}
	what := "They found no breach of the rules."
	if x.f.breach {
		what = "They found that the agent broke a rule, and its public record says so."
	}
	deals.Tell(x.c, x.deal.PersonID, deals.Notice{Kind: "report.decided", DealID: x.deal.ID, WantID: x.deal.TargetID,
		Subject: "Your report was looked at", Body: "Our stewards looked at your report about " + x.deal.Handle + ". " + what,
		Link: "/deals/" + x.deal.ID, At: x.c.Now}, true, false)
}

// lift ends a suspension that silence brought.
func (x *decision) lift() error {
	x.closeReview()
	a, err := registry.Load(x.c, x.kase.AgentID)
	if err != nil || a.SuspendReason != deals.SilenceReason {
		return err
	}
	_, err = registry.Lift(x.c, a.ID, x.in.Written)
	return err
}

// keep makes the suspension the stewards' own.
func (x *decision) keep() error {
	x.closeReview()
	return registry.KeepSuspended(x.c, x.kase.AgentID, x.in.Written)
}

// closeReview ends the deal's clock of the review.
func (x *decision) closeReview() {
	if x.deal != nil && x.kase.OpenedAt.Equal(x.deal.Review.OpenedAt) {
		x.deal.CloseReview(x.c.Now)
	}
}

// strike ends a running deal of a delisted agent as the agent's failure.
func (x *decision) strike() error {
	if x.deal == nil || !x.deal.Live() {
		return nil
	}
	return x.deal.Strike(x.c.Now, "the agent was taken off the exchange: "+strings.TrimSpace(x.in.Written))
}

// voidRest voids the other deals of two sides that are one, a few a commit.
func (x *decision) voidRest() error {
	if x.deal != nil {
		x.c.Arm(timerVoid, x.kase.ID, x.c.Now)
	}
	return nil
}
