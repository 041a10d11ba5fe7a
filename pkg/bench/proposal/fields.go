package proposal

import (
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Stages of bench contract 5.11 in the order they run. Accepting is not a stage of the validator.
const (
	stageSchema = 1 + iota
	stageOdds
	stageCaps
	stageMoney
	stageTimeline
	stageAsk
	stageBlocks
	stageText
	stageOperator
	stagePitch
)

// Subsidies is the closed list of subsidy words (bench contract 15.7); NonePlanned is what an absent field means.
var Subsidies = []string{"none", NonePlanned, "agent_funded", "house_supported", "third_party", "other"}

// NonePlanned is the default of subsidy_declared.
const NonePlanned = "none_planned"

var asks = []string{Approve, Choose, Provide, Grant}

var cents = whole{0, MaxCents}

// topFields are the rows of the proposal object in table order. The pitch, the goal and the questions are judged in the last
// stage, each by its own code.
var topFields = []field{
	{name: "model_declared", shape: phrase{min: 1, max: MaxModel, line: true}, must: true, stage: stageSchema, code: RejSchema, doc: "Model the agent runs on."},
	{name: "total_ask_cents", shape: cents, must: true, stage: stageSchema, code: RejSchema, doc: "Whole price in US cents, at most the person's ceiling; 0 on a free target."},
	{name: "allocation", shape: allocationShape, must: true, stage: stageSchema, code: RejSchema, doc: "Where the total goes, in cents; the three add up to total_ask_cents."},
	{name: "timeline_days", shape: whole{1, MaxTimelineDays}, must: true, stage: stageSchema, code: RejSchema, doc: "Days from signing to the finish line, at most the person's."},
	{name: "finish_line", shape: phrase{min: 1, max: MaxFinishLine}, must: true, stage: stageSchema, code: RejSchema, doc: "The person's finish line, word for word."},
	{name: "finish_line_cents", shape: cents, stage: stageSchema, code: RejSchema, doc: "Cents released at the finish line; 0 when absent. With the line items it adds up to total_ask_cents."},
	{name: "subsidy_declared", shape: oneOf{Subsidies}, stage: stageSchema, code: RejSchema, doc: "Who else pays for the work; none_planned when absent."},
	{name: "operator_relationship_disclosure", shape: orNull{phrase{max: MaxDisclosure}}, stage: stageSchema, code: RejSchema, doc: "Any tie between operator and poster, or null."},
	{name: "pitch_title", shape: phrase{min: 1, max: MaxPitchTitle, line: true}, must: true, stage: stagePitch, code: RejPitch, doc: "Headline of the idea."},
	{name: "pitch_body", shape: phrase{min: 1, max: MaxPitchBody}, must: true, stage: stagePitch, code: RejPitch, doc: "Why this way."},
	{name: "smart_goals", shape: list{noun: "goal", min: Goals, max: Goals, of: phrase{min: 1, max: MaxGoal}}, must: true, stage: stagePitch, code: RejGoal, doc: "The one goal the bid commits to."},
	{name: "finalist_questions", shape: list{noun: "list", min: QuestionSets, max: QuestionSets,
		of: list{noun: "question", min: Questions, max: Questions, of: phrase{min: 1, max: MaxQuestion}}}, must: true, stage: stagePitch, code: RejQuestions, doc: "One list of four questions for the person, asked if the bid is named a finalist."},
	{name: "steps", shape: list{noun: "step", min: EasySteps, max: MaxSteps, of: named{"step", stepShape{}}}, must: true, stage: stageSchema, code: RejSchema, doc: "Execution steps: exactly 2 where frozen_probability is 0.5 or more, else 3 to 15."},
	{name: "person_cost_estimate", shape: costShape, stage: stageSchema, code: RejSchema, doc: "What the want may cost the person outside the deal."},
	{name: "campaign", shape: campaignShape, stage: stageSchema, code: RejSchema, doc: "Overviews of later targets; shown as estimates, never binding."},
}

var allocationShape = object{fields: []field{
	{name: "ad_spend", shape: cents, must: true},
	{name: "tools", shape: cents, must: true},
	{name: "agent_work", shape: cents, must: true},
}}

var costShape = object{
	fields: []field{
		{name: "low_cents", shape: orNull{cents}, doc: "Least, in cents, or null."},
		{name: "high_cents", shape: orNull{cents}, doc: "Most, in cents, or null."},
		{name: "note", shape: phrase{min: 1, max: MaxCostNote}, must: true, doc: "What it is for."},
	},
	rule: func(cost map[string]any) *problem {
		low, hasLow := cost["low_cents"].(int64)
		high, hasHigh := cost["high_cents"].(int64)
		if hasLow && hasHigh && low > high {
			return wrong("must not be more than high_cents").in("low_cents")
		}
		return nil
	},
}

var campaignShape = object{fields: []field{
	{name: "later_targets", must: true, shape: list{noun: "later target", max: MaxLaterTargets, of: object{fields: []field{
		{name: "goal", shape: phrase{min: 1, max: MaxCampaignGoal}, must: true},
		{name: "band", shape: phrase{min: 1, max: MaxCampaignText}, must: true},
		{name: "est_ask_range", shape: phrase{min: 1, max: MaxCampaignText}, must: true},
		{name: "est_timeline", shape: phrase{min: 1, max: MaxCampaignText}, must: true},
	}}}},
}}

// stepFields are the rows of the table of step fields, in its order.
var stepFields = []field{
	{name: "title", shape: phrase{min: 1, max: MaxTitle, line: true}, must: true, stage: stageSchema, code: RejSchema, doc: "The deliverable action, verb first."},
	{name: "minor_detail", shape: phrase{max: MaxMinorDetail}, stage: stageSchema, code: RejSchema, doc: "One more line; required when person_minutes is above 30."},
	{name: "ask", shape: someWord{asks}, must: true, stage: stageSchema, code: RejSchema, doc: "What the step puts to the person."},
	{name: "actor", shape: oneOf{[]string{Agent, Person}}, stage: stageSchema, code: RejSchema, doc: "Who acts. With APPROVE, agent makes the step a report the person acknowledges."},
	{name: "rounds", shape: whole{1, MaxRounds}, stage: stageCaps, code: RejCaps, doc: "How often the person may ask for changes; 1 when absent."},
	{name: "outcome_promise", shape: phrase{min: 1, max: MaxPromise}, must: true, stage: stageSchema, code: RejSchema, doc: "What the step hands over, in the first person. No guarantee of the end result."},
	{name: "agent_court_estimate", shape: decimal{MaxCourtHours}, must: true, stage: stageSchema, code: RejSchema, doc: "Hours the agent expects to hold the ball."},
	{name: "person_minutes", shape: whole{0, MaxPersonMinutes}, must: true, stage: stageSchema, code: RejSchema, doc: "Minutes the step takes the person; above 30 minor_detail says why."},
	{name: "line_item_amount", shape: cents, must: true, stage: stageSchema, code: RejSchema, doc: "Cents released when the step is approved; 0 is allowed."},
	{name: "declared_odds", shape: odds{}, must: true, stage: stageOdds, code: RejOdds, doc: "The agent's own chance, judged from this step on, that the person ends up with the thing: a fraction strictly between 0 and 1."},
	{name: "declared_odds_reason", shape: phrase{max: MaxOddsReason, line: true}, stage: stageOdds, code: RejOdds, doc: "The biggest risk left, in one line."},
	{name: "choose", shape: named{"choose", chooseShape}, ask: Choose, stage: stageSchema, code: RejSchema, doc: "The decision of a CHOOSE step; when absent, the first choice block is the decision."},
	{name: "provide", shape: provideShape{}, ask: Provide, stage: stageAsk, code: RejProvide, doc: "What a PROVIDE step asks for; a general upload when absent."},
	{name: "grant_request", shape: named{"grant_request", grantShape}, must: true, ask: Grant, stage: stageAsk, code: RejGrant, doc: "The access a GRANT step asks for."},
	{name: "har_blocks", shape: blockList, stage: stageSchema, code: RejSchema, doc: "Action blocks. Every step the person acts on carries at least one whose format fits its ask."},
}

var blockList = list{noun: "block", max: MaxBlocks, of: named{"block", blockShape{object{fields: blockFields}}}}

var chooseShape = object{
	fields: []field{
		{name: "prompt", shape: phrase{max: MaxPrompt}},
		{name: "selection_mode", shape: oneOf{[]string{SelectSingle, SelectUpToK}}, doc: "single when absent."},
		{name: "max_selections", shape: whole{MinChoices, MaxChoices}, doc: "Most options taken; required with up_to_k."},
		{name: "options", shape: list{noun: "option", min: MinChoices, max: MaxChoices, of: object{fields: optionFields}}, must: true},
	},
	rule: func(choose map[string]any) *problem {
		if choose["selection_mode"] == SelectUpToK {
			most, ok := choose["max_selections"].(int64)
			if !ok {
				return wrong("is required with selection_mode %s", SelectUpToK).in("max_selections")
			}
			if n := len(choose["options"].([]any)); int(most) > n {
				return wrong("must not be more than the %d options", n).in("max_selections")
			}
		}
		return distinctOptions(choose["options"])
	},
	more: func(out *jsonschema.Schema) {
		out.AllOf = append(out.AllOf, when("selection_mode", SelectUpToK, &jsonschema.Schema{Required: []string{"max_selections"}}))
	},
}

// grantShape holds what REJ-11 is about. Kind, exposure and capability are schema matters (grantSchema), the connector is
// judged against the catalog with the blocks; they pass through here.
var grantShape = object{more: grantMore, fields: []field{
	{name: "kind", shape: asIs{}}, {name: "exposure", shape: asIs{}}, {name: "capability", shape: asIs{}}, {name: "connector", shape: asIs{}},
	{name: "what", shape: phrase{min: 1, max: MaxGrantText}, must: true, doc: "The access in plain words."},
	{name: "why", shape: phrase{min: 1, max: MaxGrantText}, must: true},
	{name: "scope", shape: phrase{min: 1, max: MaxGrantText}, must: true, doc: "What it reaches and what not."},
	{name: "until", shape: phrase{min: 1, max: MaxGrantText}, must: true, doc: "When it ends; exactly target_end for a connected kind."},
}}

var grantSchema = object{fields: []field{
	{name: "kind", shape: oneOf{grantKinds}, code: RejSchema, doc: "How the access is given."},
	{name: "exposure", shape: phrase{max: MaxExposure}, code: RejSchema, doc: "Exactly agent_acts_through_connection for a connected kind."},
	{name: "capability", shape: phrase{min: 1, max: MaxCapability, pattern: &pattern{
		ok: isDotted, expr: `^\s*[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+\s*$`, say: "must be a dotted name such as email.send_as"}}, code: RejSchema, doc: "Dotted name of the capability, such as email.send_as."},
}}

// isDotted reads email.send_as: two or more lower-case names joined by dots.
func isDotted(s string) bool {
	names := strings.Split(s, ".")
	for _, n := range names {
		if n == "" || n[0] < 'a' || n[0] > 'z' || strings.Trim(n, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			return false
		}
	}
	return len(names) > 1
}
