package wants

import (
	"strconv"
	"strings"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/clock"
	"guildhall/pkg/op"
)

// Time prints whole seconds with a Z, as bench shows every time.
type Time time.Time

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, clock.Seconds(time.Time(t))), nil
}

// JSONSchema says that a Time is a date-time string.
func (Time) JSONSchema() op.Schema { return op.Schema{Type: "string", Format: "date-time"} }

// At makes a wire time of a stored one; nil stays null.
func At(t *time.Time) *Time {
	if t == nil || t.IsZero() {
		return nil
	}
	w := Time(*t)
	return &w
}

// dash is shown where there is nothing to count yet; never a made-up 0 %.
const dash = "—"

// PersonFacts are the person's record in words (bench.md 4.2).
type PersonFacts struct {
	AnswerSpeed string `json:"answer_speed"`
	FinishRate  string `json:"finish_rate"`
}

// FactsOf words a person's counted record.
func FactsOf(f account.Facts) PersonFacts {
	out := PersonFacts{AnswerSpeed: dash, FinishRate: dash}
	if f.Answers > 0 {
		mean := time.Duration(f.AnswerSeconds/int64(f.Answers)) * time.Second
		switch {
		case mean < time.Hour:
			out.AnswerSpeed = strconv.Itoa(max(1, int(mean/time.Minute))) + "m"
		case mean < 48*time.Hour:
			out.AnswerSpeed = strconv.Itoa(int(mean/time.Hour)) + "h"
		default:
			out.AnswerSpeed = strconv.Itoa(int(mean/(24*time.Hour))) + "d"
		}
	}
	if f.Ended > 0 {
		out.FinishRate = strconv.Itoa((100*f.Finished+f.Ended/2)/f.Ended) + "%"
	}
	return out
}

// Brief is what agents read of a want (bench.md 4.2). What differs by reader or moves
// with time (your_bid, person_facts) is filled in when it is read.
type Brief struct {
	TargetID     string        `json:"target_id"`
	Want         string        `json:"want"`
	Baseline     *float64      `json:"baseline"`
	FinishLine   string        `json:"finish_line"`
	Lane         Lane          `json:"lane"`
	TimelineDays *int          `json:"timeline_days"`
	PostedAt     Time          `json:"posted_at"`
	Frozen       *float64      `json:"frozen_probability"`
	PersonFacts  PersonFacts   `json:"person_facts"`
	PosterHouse  *House        `json:"poster_house"`
	Practice     bool          `json:"practice"`
	WorldFileURL *string       `json:"world_file_url"`
	WorldMissing bool          `json:"world_file_missing"`
	Context      PersonContext `json:"person_context"`
	TipInvited   bool          `json:"tip_invited"`
	Prior        []PriorShown  `json:"prior_attempts"`
	Past         []PastShown   `json:"past_attempts"`
	Rejected     []Rejected    `json:"rejected_bids"`
	Answers      []Published   `json:"public_answers"`
	Round        int           `json:"round"`
	RepostedAt   *Time         `json:"reposted_at"`
	YourBid      any           `json:"your_bid"`
	PulseCadence Cadence       `json:"pulse_cadence"`
}

// PersonContext is what the person typed at posting; nothing of it may be asked again.
type PersonContext struct {
	Location    *string      `json:"location"`
	Budget      *int64       `json:"budget"`
	Timeline    *string      `json:"timeline"`
	Baseline    []Answer     `json:"baseline"`
	Strategy    Strategy     `json:"strategy"`
	Attachments []FileInList `json:"attachments"`
}

// Strategy is how the sliders stand and what their ends mean.
type Strategy struct {
	Sliders *Sliders            `json:"sliders"`
	Axes    map[string][]string `json:"axes"`
	Note    *string             `json:"note"`
}

// FileInList is an attachment as the brief lists it.
type FileInList struct {
	Filename    string `json:"filename"`
	DownloadURL string `json:"download_url"`
	ContentType string `json:"content_type"`
	SizeBytes   *int64 `json:"size_bytes"`
}

// PriorShown is a prior attempt on the wire.
type PriorShown struct {
	PriorAttempt
	AgentRegistryNo *int `json:"agent_registry_no"`
	EndedAt         Time `json:"ended_at"`
}

// PastShown is a past attempt on the wire.
type PastShown struct {
	PastAttempt
	AgentRegistryNo *int `json:"agent_registry_no"`
	EndedAt         Time `json:"ended_at"`
}

// Rejected is a rejected bid on the wire.
type Rejected struct {
	RejectedBid
	RejectedAt Time `json:"rejected_at"`
}

// Published is a public answer on the wire.
type Published struct {
	PublicAnswer
	AnsweredAt Time `json:"answered_at"`
}

// Cadence says how often a working agent gives a sign of life (bench.md 8.4).
type Cadence struct {
	FirstPulseMinutes int   `json:"first_pulse_minutes"`
	IntervalMinutes   int   `json:"interval_minutes"`
	Checkpoints       []int `json:"checkpoints"`
	FinalCheckpoint   int   `json:"final_checkpoint"`
}

// PulseCadence is the one cadence there is.
var PulseCadence = Cadence{5, 30, []int{0, 25, 50, 75, 100}, 100}

var axes = map[string][]string{
	"polish": {"Scrappy", "Polished"}, "risk": {"Careful", "Aggressive"}, "novelty": {"Proven path", "Creative"},
}

// Show makes the brief of a want for one reader. yourBid is nil when the reader has none.
func (w *Want) Show(facts PersonFacts, tips bool, yourBid any) Brief {
	b := Brief{TargetID: w.ID, Want: w.words(), FinishLine: w.FinishText(), Lane: Lane{w.Lane.Kind, w.Ceiling()},
		TimelineDays: w.Timeline, PostedAt: Time(w.PostedAt), Frozen: w.Frozen, PersonFacts: facts, PosterHouse: w.House,
		Practice: w.Practice, WorldMissing: w.Practice && w.WorldFile == "", TipInvited: w.TipInvited && tips, Round: w.Round,
		RepostedAt: At(w.RepostedAt), YourBid: yourBid, PulseCadence: PulseCadence, Context: w.context(),
		Prior: w.priorShown(tips), Past: w.pastShown(), Rejected: []Rejected{}, Answers: []Published{}}
	if w.Practice && w.WorldFile != "" {
		url := "/api/bench/targets/" + w.ID + "/world-file"
		b.WorldFileURL = &url
	}
	for _, r := range w.Rejected {
		b.Rejected = append(b.Rejected, Rejected{r, Time(r.RejectedAt)})
	}
	for _, a := range w.Answers {
		b.Answers = append(b.Answers, Published{a, Time(a.AnsweredAt)})
	}
	return b
}

func (w *Want) priorShown(tips bool) []PriorShown {
	out := []PriorShown{}
	for _, p := range w.Prior {
		steps := make([]AttemptStep, len(p.Steps))
		for i, s := range p.Steps {
			s.Tipped = s.Tipped && tips
			steps[i] = s
		}
		p.Steps = steps
		out = append(out, PriorShown{p, number(p.AgentRegistryNo), Time(p.EndedAt)})
	}
	return out
}

// pastShown shows what agents said of endings. A reason of the person's is not the agent's
// to be read.
func (w *Want) pastShown() []PastShown {
	out := []PastShown{}
	for _, p := range w.Past {
		if p.EndCause != AgentFailed && p.EndCause != AgentWithdrew {
			p.Reason = nil
		}
		out = append(out, PastShown{p, number(p.AgentRegistryNo), Time(p.EndedAt)})
	}
	return out
}

// number reads the integer of an A-number, nil of anything else.
func number(no *string) *int {
	if no == nil {
		return nil
	}
	n, err := strconv.Atoi(strings.TrimPrefix(*no, "A-"))
	if err != nil {
		return nil
	}
	return &n
}

// words is the want's text with the notes added since, each with its date.
func (w *Want) words() string {
	s := w.Text
	for _, n := range w.Notes {
		s += "\n\n[" + n.At.UTC().Format(time.DateOnly) + "] " + n.Text
	}
	return s
}

func (w *Want) context() PersonContext {
	c := PersonContext{Budget: w.Ceiling(), Baseline: w.Baseline, Strategy: Strategy{Sliders: w.Strategy, Axes: axes}, Attachments: []FileInList{}}
	if c.Baseline == nil {
		c.Baseline = []Answer{}
	}
	if w.Location != "" {
		c.Location = &w.Location
	}
	if w.Strategic != "" {
		c.Strategy.Note = &w.Strategic
	}
	if w.Timeline != nil {
		s := strconv.Itoa(*w.Timeline) + " days"
		c.Timeline = &s
	}
	for _, f := range w.Files {
		size := f.SizeBytes
		c.Attachments = append(c.Attachments, FileInList{f.Filename, "/api/bench/targets/" + w.ID + "/attachments/" + f.Filename, f.ContentType, &size})
	}
	return c
}
