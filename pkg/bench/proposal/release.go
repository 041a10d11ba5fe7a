package proposal

// Releases shows what each approval of a plan would pay out (bench contract 5.14). Amounts are cents.
type Releases struct {
	TotalAskCents   int64     `json:"total_ask_cents"`
	Releases        []Release `json:"releases"`
	FinishLineCents int64     `json:"finish_line_cents"`
	SumsMatch       bool      `json:"sums_match"`
}

// Release is the payout of one step. Step counts from 1; Cumulative includes this step.
type Release struct {
	Step           int    `json:"step"`
	Title          string `json:"title"`
	Ask            string `json:"ask"`
	LineItemAmount int64  `json:"line_item_amount"`
	Cumulative     int64  `json:"cumulative"`
}

// ReleaseMap is the release map of a proposal. SumsMatch holds the line items against the total, and the allocation too.
func ReleaseMap(p *Proposal) Releases {
	m := Releases{TotalAskCents: p.TotalAskCents, FinishLineCents: p.FinishLineCents, Releases: make([]Release, len(p.Steps))}
	var sum int64
	for i, s := range p.Steps {
		sum += s.LineItemAmount
		m.Releases[i] = Release{Step: i + 1, Title: s.Title, Ask: s.Ask, LineItemAmount: s.LineItemAmount, Cumulative: sum}
	}
	m.SumsMatch = sum+p.FinishLineCents == p.TotalAskCents && p.Allocation.AdSpend+p.Allocation.Tools+p.Allocation.AgentWork == p.TotalAskCents
	return m
}

// EstimateReleases reads a proposal object that need not be legal yet: it only has to have the form stage 1 asks for, so that
// an agent can see the sums it is still working on.
func EstimateReleases(raw []byte) (Releases, *Rejection) {
	d, rej := newDraft(raw, Target{})
	if rej != nil {
		return Releases{}, rej
	}
	if p := d.schemaStage(); p != nil {
		return Releases{}, p.rejection()
	}
	for _, step := range d.steps {
		d.done = append(d.done, Step{Title: str(step, "title"), Ask: str(step, "ask"), LineItemAmount: num(step, "line_item_amount")})
	}
	return ReleaseMap(d.proposal()), nil
}
