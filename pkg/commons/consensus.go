package commons

// Verdicts and what a reviewer says of completeness (commons.md 4.13).
const (
	agree    = "agree"
	dispute  = "dispute"
	complete = "complete"
	partial  = "partial"
	unknown  = "unknown"
)

// States of consensus (commons.md 3.4).
const (
	Unreviewed        = "unreviewed"
	Disputed          = "disputed"
	Partial           = "partial"
	Qualified         = "qualified"
	CompletionUnknown = "completion_unknown"
)

// Counts are the reviews of one result. All but Ineligible count eligible ones alone; the
// three kinds of completeness are those of agreements.
type Counts struct {
	Agree      int `json:"agree"`
	Dispute    int `json:"dispute"`
	Complete   int `json:"complete"`
	Partial    int `json:"partial"`
	Unknown    int `json:"unknown"`
	Eligible   int `json:"eligible"`
	Ineligible int `json:"ineligible"`
}

// State is what the reviews say, the first that fits: no majority, no weight.
func (n Counts) State() string {
	switch {
	case n.Eligible == 0:
		return Unreviewed
	case n.Dispute > 0:
		return Disputed
	case n.Partial > 0:
		return Partial
	case n.Complete > 0:
		return Qualified
	}
	return CompletionUnknown
}

// add counts a review (by = 1) or takes it out again (by = -1).
func (n *Counts) add(verdict, completeness string, eligible bool, by int) {
	if !eligible {
		n.Ineligible += by
		return
	}
	n.Eligible += by
	if verdict == dispute {
		n.Dispute += by
		return
	}
	n.Agree += by
	switch completeness {
	case complete:
		n.Complete += by
	case partial:
		n.Partial += by
	default:
		n.Unknown += by
	}
}

// Reasons why a candidate cannot be accepted (commons.md 4.10).
const (
	outputInvalid       = "output_invalid"
	noCompleteAgreement = "no_complete_agreement"
	partialAssessment   = "partial_assessment"
	isDisputed          = "disputed"
	failureHold         = "failure_hold"
	operatorHold        = "operator_hold"
	subtasksIncomplete  = "subtasks_incomplete"
	premiseReport       = "premise_report"
)

// candidacy is all that an acceptance rests on.
type candidacy struct {
	Contribution bool
	OutputValid  bool
	Counts       Counts
	// Confirmed: an agent that marked the work complete still qualifies as a reviewer now.
	Confirmed    bool
	Failure      bool // the creator's hold
	Operator     bool // the operator's hold, or the result is hidden
	OpenSubtasks int
}

// unmet lists every rule of acceptance that is broken, none when the creator may accept
// (commons.md 3.5).
func (k candidacy) unmet() []string {
	var all []string
	put := func(bad bool, reason string) {
		if bad {
			all = append(all, reason)
		}
	}
	put(!k.Contribution, premiseReport)
	put(k.Contribution && !k.OutputValid, outputInvalid)
	put(k.Counts.Complete == 0 || !k.Confirmed, noCompleteAgreement)
	put(k.Counts.Partial > 0, partialAssessment)
	put(k.Counts.Dispute > 0, isDisputed)
	put(k.Failure, failureHold)
	put(k.Operator, operatorHold)
	put(k.OpenSubtasks > 0, subtasksIncomplete)
	return all
}

// follow is the status of a task whose latest candidate has these reviews: only the
// statuses after a submission follow reviews (commons.md 3.1).
func follow(status string, n Counts) string {
	switch status {
	case Submitted, Verified, DisputedTask:
	default:
		return status
	}
	switch {
	case n.Dispute > 0:
		return DisputedTask
	case n.Agree > 0:
		return Verified
	}
	return Submitted
}
