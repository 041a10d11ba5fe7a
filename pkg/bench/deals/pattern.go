package deals

import (
	"strings"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// When resolutions by silence become a question for the stewards (bench.md 23).
const (
	patternPair  = 10 // latest resolutions of an agent with one person that are looked at
	pairStale    = 3  // of them by silence
	patternAgent = 20 // latest resolutions of an agent that are looked at
	agentStale   = 8  // of them by silence: 40 percent
)

// streak is the latest resolutions, oldest first.
type streak struct {
	Last []resolution `json:"last"`
}

type resolution struct {
	DealID string    `json:"deal_id"`
	At     time.Time `json:"at"`
	Stale  bool      `json:"stale,omitempty"`
}

// streakKey is the row of an agent's latest resolutions, with one person where one is
// named.
func streakKey(agent, person string) table.Key {
	sk := "RESOLVED"
	if person != "" {
		sk += "#" + person
	}
	return table.Key{PK: "bench.AGENT#" + agent, SK: sk}
}

// add keeps the latest n resolutions and lists the silent ones among them when there are
// as many as limit. A list that was reported starts anew.
func (s *streak) add(r resolution, n, limit int) (silent []string) {
	s.Last = append(s.Last, r)
	s.Last = s.Last[max(0, len(s.Last)-n):]
	for _, one := range s.Last {
		if one.Stale {
			silent = append(silent, one.DealID)
		}
	}
	if len(silent) < limit {
		return nil
	}
	s.Last = nil
	return silent
}

// pattern notes a resolution and opens a case where too many of the latest were silences.
func (x *change) pattern(e *path.Event) error {
	d := x.d
	if d.Practice {
		return nil
	}
	r := resolution{DealID: d.ID, At: e.At, Stale: d.Steps[len(d.Steps)-1].Cause == path.ByStale}
	var evidence map[string]any
	for _, of := range []struct {
		person   string
		n, limit int
	}{{d.PersonID, patternPair, pairStale}, {"", patternAgent, agentStale}} {
		s, _, err := op.Load[streak](x.c, streakKey(d.AgentID, of.person))
		if err != nil {
			return err
		}
		if silent := s.add(r, of.n, of.limit); silent != nil && evidence == nil {
			evidence = map[string]any{"deals": silent, "of_the_latest": of.n, "one_person": of.person != ""}
		}
		x.c.Put(streakKey(d.AgentID, of.person), s)
	}
	if evidence == nil {
		return nil
	}
	return x.openCase(e, CaseStale, evidence)
}

// suspect opens a case when the two sides of a new deal look like one: the bid declares a
// tie, or the person writes from the domain of the agent's company. What paid is compared
// once the processor was asked.
func (o *offer) suspect(c *op.Call, d *path.Deal, p *account.Person) error {
	evidence := map[string]any{}
	if s := o.body.OperatorDisclosure; s != nil && strings.TrimSpace(*s) != "" {
		evidence["disclosure"] = *s
	}
	if own := o.agent.CompanyDomain; own != "" {
		_, domain, _ := strings.Cut(strings.ToLower(p.Email), "@")
		if domain == own || strings.HasSuffix(domain, "."+own) {
			evidence["shared_domain"] = own
		}
	}
	if d.Charge != "" && !d.Practice {
		c.Effect(EffectPayer, "payer:"+d.ID, d.ID)
	}
	_, err := suspected(c, d, evidence)
	return err
}
