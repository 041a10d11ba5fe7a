package wants

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"guildhall/pkg/text"
)

// Limits of what a want carries of its past. MaxHistoryBytes keeps its row and its brief
// far below what a row of the table holds, whatever the texts are.
const (
	MaxAttempts     = 50        // ended deals
	MaxRejected     = 50        // rejections
	MaxAnswers      = 200       // public answers
	MaxDeals        = 200       // ids of deals
	MaxHistoryBytes = 150 << 10 // of attempts, rejections and answers together, as JSON
)

// Causes of endings that are the agent's (bench.md 12.1).
const (
	AgentFailed   = "agent_failed"
	AgentWithdrew = "agent_withdrew"
)

// PriorAttempt is an ended deal as bidders see it (bench.md 4.6).
type PriorAttempt struct {
	AgentRegistryNo *string       `json:"agent_registry_no"`
	AgentHandle     string        `json:"agent_handle"`
	EndCause        string        `json:"end_cause"`
	EndedAt         time.Time     `json:"ended_at"`
	StepCount       int           `json:"step_count"`
	EstimateHours   *float64      `json:"agent_step_estimate_hours"`
	Steps           []AttemptStep `json:"steps"`
}

// AttemptStep is one step of a prior attempt.
type AttemptStep struct {
	Ordinal int    `json:"ordinal"`
	Title   string `json:"title"`
	State   string `json:"state"` // completed in_progress_at_failure not_reached
	Tipped  bool   `json:"tipped"`
}

// PastAttempt is what an agent said when it ended a deal (bench.md 4.6).
type PastAttempt struct {
	AgentRegistryNo *string   `json:"agent_registry_no"`
	AgentHandle     string    `json:"agent_handle"`
	EndCause        string    `json:"end_cause"`
	WithdrawalKind  *string   `json:"withdrawal_kind"`
	Reason          *string   `json:"reason"`
	BrokenStep      *int      `json:"broken_step_ordinal"`
	OddsAtBid       *float64  `json:"declared_odds_at_bid"`
	OddsLatest      *float64  `json:"declared_odds_latest"`
	MaterialityTest *string   `json:"materiality_test"`
	R109Exception   *string   `json:"r109_exception"`
	Finding         *string   `json:"finding" doc:"What the stewards found about this attempt; null while they found nothing."`
	EndedAt         time.Time `json:"ended_at"`
}

// RejectedBid is a rejection without a trace of whose bid it was (bench.md 4.7).
type RejectedBid struct {
	RejectedAt time.Time `json:"rejected_at"`
	Round      int       `json:"round"`
	Reason     string    `json:"reason"`
}

// PublicAnswer is a question of an ended attempt and the person's answer (bench.md 4.7).
type PublicAnswer struct {
	Round      int       `json:"round"`
	Question   string    `json:"question"`
	Answer     string    `json:"answer"`
	AnsweredAt time.Time `json:"answered_at"`
}

// Attempt is what an ended deal leaves behind on its want.
type Attempt struct {
	Prior   PriorAttempt
	Past    PastAttempt
	Answers []PublicAnswer // as asked and answered; filtered here
}

// Remember adds an ended deal to what later bidders read: what was done, what the agent
// said, and the person's answers where the person lets them be published.
func (w *Want) Remember(a Attempt) {
	a.Prior.StepCount = len(a.Prior.Steps)
	w.Prior, w.Past = append(w.Prior, a.Prior), append(w.Past, a.Past)
	if !w.Publish {
		return
	}
	for _, p := range a.Answers {
		if Publishable(p.Answer) {
			w.Answers = append(w.Answers, p)
		}
	}
}

// Found notes what the stewards found about the attempt that an agent ended then, and tells
// whether the want still carries it (bench.md 4.6, 12.3, 19.3).
func (w *Want) Found(agentNo string, ended time.Time, finding string) bool {
	i := slices.IndexFunc(w.Past, func(p PastAttempt) bool {
		return p.AgentRegistryNo != nil && *p.AgentRegistryNo == agentNo && p.EndedAt.Equal(ended)
	})
	if i >= 0 {
		w.Past[i].Finding = &finding
	}
	return i >= 0
}

// Publishable tells whether a person's words may be read by other agents: they carry no
// secret and nothing that says who the person is (bench.md 4.7).
func Publishable(s string) bool {
	_, secret := text.Secret(s)
	_, named := text.PersonIdentity(s)
	return !secret && !named && strings.TrimSpace(s) != ""
}

// ReopensAfter tells whether an ending opens a new round by itself: only what the agent did, and
// only when the person did not turn it off (bench.md 4.5, rule 180).
func (w *Want) ReopensAfter(cause string) bool {
	return w.AutoRepost && (cause == AgentFailed || cause == AgentWithdrew)
}

// hidden stands for a reason that says who somebody is.
const hidden = "The person's reason is not shown."

// Reason is a person's reason as agents may read it: as it was written, or a stand-in when
// it carries a secret or says who the person is.
func Reason(s string) string {
	if !Publishable(s) {
		return hidden
	}
	return s
}

// Reject adds a rejection to what later bidders read. names are what must not be in it,
// beside everything that is not publishable: whose bid it was.
func (w *Want) Reject(at time.Time, round int, reason string, names ...string) {
	shown := Reason(reason)
	if mentions(reason, names) {
		shown = hidden
	}
	w.Rejected = append([]RejectedBid{{RejectedAt: at, Round: round, Reason: shown}}, w.Rejected...)
}

func mentions(s string, names []string) bool {
	s = strings.ToLower(text.Fold(s))
	for _, n := range names {
		if n = strings.ToLower(text.Fold(n)); n != "" && strings.Contains(s, n) {
			return true
		}
	}
	return false
}

// bound drops the oldest of what the want carries until it fits.
func (w *Want) bound() {
	w.DealIDs = last(w.DealIDs, MaxDeals)
	w.Prior, w.Past, w.Answers = last(w.Prior, MaxAttempts), last(w.Past, MaxAttempts), last(w.Answers, MaxAnswers)
	w.Rejected = w.Rejected[:min(len(w.Rejected), MaxRejected)]
	slices.Reverse(w.Rejected) // oldest first, like the others
	lists := [][]int{sizes(w.Prior), sizes(w.Past), sizes(w.Answers), sizes(w.Rejected)}
	drop, total := make([]int, len(lists)), 0
	for _, l := range lists {
		total += sum(l)
	}
	for total > MaxHistoryBytes {
		largest := 0
		for i := range lists {
			if sum(lists[i][drop[i]:]) > sum(lists[largest][drop[largest]:]) {
				largest = i
			}
		}
		total -= lists[largest][drop[largest]]
		drop[largest]++
	}
	w.Prior, w.Past, w.Answers, w.Rejected = w.Prior[drop[0]:], w.Past[drop[1]:], w.Answers[drop[2]:], w.Rejected[drop[3]:]
	slices.Reverse(w.Rejected)
}

func last[T any](list []T, n int) []T { return list[max(0, len(list)-n):] }

// sizes are the lengths of a list's entries as JSON, in bytes.
func sizes[T any](list []T) []int {
	out := make([]int, len(list))
	for i := range list {
		b, err := json.Marshal(list[i])
		if err != nil {
			out[i] = MaxHistoryBytes // what cannot be stored leaves
		}
		out[i] += len(b)
	}
	return out
}

func sum(list []int) int {
	n := 0
	for _, x := range list {
		n += x
	}
	return n
}
