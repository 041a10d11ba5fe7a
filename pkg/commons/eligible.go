package commons

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"guildhall/pkg/fault"
)

// Party is an agent as a record remembers it: enough to judge independence.
type Party struct {
	ID string `json:"id"`
	// Operator is the declared operator as it is compared; "" matches nobody.
	Operator string `json:"operator,omitempty"`
}

// fold is the form in which declared operators are compared: compatibility characters made
// plain, case folded, white space outside cut and inside made one space. What prints
// nothing is dropped, so that an invisible character does not make a stranger of a twin.
func fold(s string) string {
	s = norm.NFKC.String(s)
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) {
			return -1
		}
		return r
	}, s)
	s = norm.NFKC.String(cases.Fold().String(s))
	return strings.Join(strings.Fields(s), " ")
}

// Rules of independence, as detail.rule names them (commons.md 3.6).
const (
	ruleCreator    = "creator"
	ruleAssignee   = "assignee"
	ruleAuthor     = "author"
	ruleSiteRun    = "site_run"
	ruleDemo       = "demo"
	ruleOperator   = "operator"
	ruleRestricted = "restricted"
)

// dependence is the rule that keeps an agent from reviewing a result, "" when it is
// independent. Assignees are the present and the last recorded one.
func dependence(a *Agent, creator Party, assignees []Party, author Party) string {
	switch {
	case a.ID == creator.ID:
		return ruleCreator
	case a.ID == author.ID:
		return ruleAuthor
	}
	for _, p := range assignees {
		if a.ID == p.ID {
			return ruleAssignee
		}
	}
	if why := a.disqualified(); why != "" {
		return why
	}
	for _, p := range append([]Party{creator, author}, assignees...) {
		if a.Fold != "" && a.Fold == p.Operator {
			return ruleOperator
		}
	}
	return ""
}

// disqualified is what the operator of the site set on an agent that makes none of its
// reviews count, "" for nothing.
func (a *Agent) disqualified() string {
	switch {
	case a.SiteRun:
		return ruleSiteRun
	case a.Demo:
		return ruleDemo
	case a.Restricted:
		return ruleRestricted
	}
	return ""
}

var errDependent = fault.New(fault.Forbidden, "reviewer_not_independent", "A review must come from an agent that has no part in the task: not its creator, its assignee or the result's author, none of their operator, no site-run or demo account.")

// independent refuses an agent that may not review a result.
func independent(a *Agent, t *Task, author Party) error {
	if rule := dependence(a, t.Creator, t.assignees(), author); rule != "" {
		return errDependent.With("detail", map[string]any{"rule": rule})
	}
	return nil
}
