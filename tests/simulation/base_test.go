package simulation

import (
	"context"
	"fmt"
	"sync"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/rulebook"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/pay/simulated"
)

const (
	agents  = 8
	payable = 7 // agents whose payouts are ready; the last one's never are
	people  = 5
	desks   = 2 // stewards, the first an administrator too
)

// party is somebody who calls.
type party struct {
	id, token string
	n         int  // agents and people, from 0
	out       bool // an agent that was delisted
}

// base is an exchange seeds start from: everybody is there, wants are posted, bids are filed,
// and some are finalists already. It is made by the same operations, under the same audit.
type base struct {
	audit  *audit
	agents [agents]party
	people [people]party
	desk   [desks]party
	wants  []*want
	now    time.Time
}

// bases is how many different ones there are. A seed's own is seed mod bases.
const bases = 24

var made [bases]struct {
	once sync.Once
	base *base
	err  any
}

func baseOf(seed uint64) *base {
	m := &made[seed%bases]
	m.once.Do(func() {
		defer func() { m.err = recover() }()
		m.base = makeBase(seed % bases)
	})
	if m.err != nil {
		panic(m.err)
	}
	return m.base
}

// newBank is a processor that knows the agents, in their order, so that its ids are the same
// in every exchange.
func (s *sim) newBank(a *[agents]party) {
	var err error
	s.bank, err = simulated.New(simulated.Options{Clock: s.clock, BaseURL: "http://guildhall.test", WebhookSecret: hookSecret, Order: s.shuffled})
	must(err)
	for _, p := range a[:payable] {
		must(s.bank.SetReady(p.id, true))
	}
}

func makeBase(n uint64) *base {
	s := newSim(1_000_000_000 + n)
	s.now = optest.Start
	s.audit = newAudit(s.clock)
	s.start()
	s.register()
	s.newBank(&s.agents)
	s.notices()
	for _, lane := range []string{"free", "open", "paid"} {
		s.ok(wants.SetClass, s.desk[0], map[string]string{"tile": "booking_on_calendar", "lane_kind": lane}, m{"probability": 0.55})
	}
	for i := range people {
		w := s.postBy(s.people[i])
		for range 2 + s.r.IntN(3) {
			s.bidOn(w, s.agents[s.r.IntN(payable)])
		}
	}
	for range 6 * people {
		s.market(s.wants[s.r.IntN(people)], false)
	}
	s.sweepNow()
	return &base{audit: s.audit, agents: s.agents, people: s.people, desk: s.desk, wants: s.wants, now: s.now}
}

// register brings everybody into an empty exchange.
func (s *sim) register() {
	for i := range s.agents {
		res := s.send(registry.Register, &op.Request{Address: fmt.Sprintf("192.0.2.%d", i+1), Key: fmt.Sprintf("register-%d", i), Body: []byte(text(m{
			"handle": fmt.Sprintf("Maker-%d", i), "skills": "Booking tables.",
			"disclosure":        m{"is_ai": true, "model": "Example Model 1", "operator_label": "Two Cooks", "operator_type": "person"},
			"system_record":     m{"autonomy": "fully_autonomous", "harness": "custom", "base_models": []m{{"provider": "example", "model": "one", "version": "1"}}},
			"responsible_party": m{"legal_name": "Ann Other", "jurisdiction": "US-CA", "contact_ref": fmt.Sprintf("owner%d@example.test", i)},
			"rules":             m{"accepted": true, "version_hash": rulebook.Hash()}}))})
		if res.Status != 201 {
			fail("registration answers %d %s", res.Status, res.Body)
		}
		var out struct {
			ID    string `json:"maker_id"`
			Token string `json:"rest_token"`
		}
		read(res, &out)
		s.agents[i] = party{id: out.ID, token: out.Token, n: i}
		for range 2 {
			s.ok(registry.AckPing, s.agents[i], nil, m{})
		}
	}
	for i := range s.people {
		s.people[i] = s.person(i, fmt.Sprintf("person%d@example.test", i))
	}
	for i, zone := range zones {
		s.ok(account.Update, s.people[i], nil, m{"timezone": zone, "phone": fmt.Sprintf("+1555010012%d", i)})
	}
	s.desk[0] = s.person(0, "first@hall.test", "steward", "platform_admin")
	s.desk[1] = s.person(1, "second@hall.test", "steward")
}

// zones of the people: where mornings come early, late, twice or not at all.
var zones = [people]string{"America/New_York", "Europe/Berlin", "Asia/Kathmandu", "Pacific/Apia", "Australia/Lord_Howe"}

// person makes one with a session that lasts.
func (s *sim) person(n int, address string, roles ...string) (out party) {
	must(s.engine.Run(context.Background(), s.now, "person", func(c *op.Call) error {
		p, err := account.EnsurePerson(c, address)
		if err != nil {
			return err
		}
		if p.Roles = append(p.Roles, roles...); len(roles) > 0 {
			if err := c.Fetch(account.PersonKey(p.ID)); err != nil {
				return err
			}
			p.Save(c)
		}
		token, err := account.Session.Issue(c, p.ID, nil, c.Now.Add(10*365*day))
		out = party{id: p.ID, token: token, n: n}
		return err
	}))
	return out
}
