package proposal

import (
	"slices"

	"guildhall/pkg/text"
)

// draft is a bid or plan on its way through the stages. The maps are the parsed tree; a checked field is replaced by its
// stored form in place.
type draft struct {
	top    map[string]any
	steps  []map[string]any
	target Target
	plan   *Proposal // the accepted bid when this is an informed plan, whose frozen fields stand in top's place

	done []Step // assembled once the stages before the text scan have passed
}

// stage is one row of bench contract 5.11: the first problem ends the run.
type stage func(*draft) *problem

// checks are stages 1 to 9, the ones a dry run and a plan see; pitchStage follows for a bid.
var checks = []stage{
	(*draft).schemaStage, (*draft).oddsStage, (*draft).capsStage, (*draft).moneyStage, (*draft).timelineStage,
	(*draft).askStage, (*draft).blockStage, (*draft).textStage, (*draft).operatorStage,
}

func (d *draft) run(stages ...stage) *problem {
	for _, s := range stages {
		if p := s(d); p != nil {
			return p
		}
	}
	return nil
}

// eachStep runs one check over the steps in order.
func (d *draft) eachStep(check func(step map[string]any) *problem) *problem {
	for i, step := range d.steps {
		if p := check(step); p != nil {
			return p.at("step", i+1)
		}
	}
	return nil
}

// takeFields checks the fields of one stage in table order.
func takeFields(fields []field, obj map[string]any, stage int) *problem {
	for _, f := range fields {
		if f.stage != stage || f.ask != "" && f.ask != obj["ask"] {
			continue
		}
		if p := f.take(obj); p != nil {
			return p
		}
	}
	return nil
}

// schemaStage is stage 1. The steps stand in the table after the pitch, so their faults follow those of the fields before.
func (d *draft) schemaStage() *problem {
	for _, f := range topFields {
		if d.plan != nil && f.name != "steps" || f.stage != stageSchema {
			continue
		}
		take := f.take
		if f.name == "steps" {
			take = d.takeSteps
		}
		if p := take(d.top); p != nil {
			return p.coded(RejSchema)
		}
	}
	return nil
}

func (d *draft) takeSteps(top map[string]any) *problem {
	given, ok := top["steps"]
	if !ok {
		return wrong("is required").in("steps")
	}
	items, ok := given.([]any)
	if !ok {
		return wrong("must be a list, not %s", kindOf(given)).in("steps")
	}
	for i, item := range items {
		step, ok := item.(map[string]any)
		if !ok {
			return wrong("must be an object, not %s", kindOf(item)).at("step", i+1)
		}
		if p := stepSchema(step); p != nil {
			return p.at("step", i+1)
		}
		d.steps = append(d.steps, step)
	}
	return nil
}

// stepSchema is stage 1 for one step. A har_blocks that is no list is REJ-22's matter; so is an empty one.
func stepSchema(step map[string]any) *problem {
	blocks, given := step["har_blocks"]
	_, isList := blocks.([]any)
	if given && !isList {
		delete(step, "har_blocks")
		defer func() { step["har_blocks"] = blocks }()
	}
	if p := takeFields(stepFields, step, stageSchema); p != nil {
		return p
	}
	if grant, ok := step["grant_request"].(map[string]any); ok && step["ask"] == Grant {
		for _, f := range grantSchema.fields {
			if p := f.take(grant); p != nil {
				return p.in("grant_request")
			}
		}
	}
	if p := uniqueBlocks(step); p != nil {
		return p
	}
	return decision(step)
}

func uniqueBlocks(step map[string]any) *problem {
	seen := map[string]bool{}
	blocks, _ := step["har_blocks"].([]any)
	for i, b := range blocks {
		id := b.(map[string]any)["id"].(string)
		if seen[id] {
			return wrong("repeats another block of the step").in("id").at("block", i+1).coded(RejSchema)
		}
		seen[id] = true
	}
	return nil
}

// decision holds the choose payload and the choice block of a CHOOSE step together: one alone is the decision, two must list
// the same labels (bench contract 5.8). Too few options of a block are REJ-25, a later stage.
func decision(step map[string]any) *problem {
	block, n := choiceBlock(step)
	if step["ask"] != Choose || block == nil {
		return nil
	}
	config, _ := block["config"].(map[string]any)
	offered := labels(config["options"])
	choose, has := step["choose"].(map[string]any)
	if !has {
		if len(offered) > MaxChoices {
			return wrong("must offer at most %d choices and offers %d", MaxChoices, len(offered)).in("options").at("block", n).coded(RejSchema)
		}
		return nil
	}
	if len(offered) > 0 && !slices.Equal(labels(choose["options"]), offered) {
		return wrong("must list the same labels as the choose payload").in("options").at("block", n).coded(RejSchema)
	}
	return nil
}

// choiceBlock is the first block of the step that can carry a choice, and its number from 1.
func choiceBlock(step map[string]any) (map[string]any, int) {
	blocks, _ := step["har_blocks"].([]any)
	for i, b := range blocks {
		block := b.(map[string]any)
		if formatBySlug[block["format"].(string)].family == chooses {
			return block, i + 1
		}
	}
	return nil, 0
}

// labels answers the labels of checked options in sorted order.
func labels(v any) []string {
	options, _ := v.([]any)
	out := make([]string, len(options))
	for i, o := range options {
		out[i] = o.(map[string]any)["label"].(string)
	}
	slices.Sort(out)
	return out
}

// oddsStage is stage 2. Its message for a missing number names the rule, since that is the commonest refusal of all.
func (d *draft) oddsStage() *problem {
	return d.eachStep(func(step map[string]any) *problem {
		if _, given := step["declared_odds"]; !given {
			return wrong("is required (rule 121)").in("declared_odds").coded(RejOdds)
		}
		return takeFields(stepFields, step, stageOdds)
	})
}

// capsStage is stage 3: the number of steps, then rounds and minutes step by step.
func (d *draft) capsStage() *problem {
	if n := len(d.steps); !d.target.HoldsSteps(n) {
		least, most := d.target.StepBounds()
		if least == most {
			return wrong("must hold exactly %d steps on an Easy target and hold %d", least, n).in("steps").coded(RejCaps)
		}
		return wrong("must hold %d to %d steps and hold %d", least, most, n).in("steps").coded(RejCaps)
	}
	return d.eachStep(func(step map[string]any) *problem {
		if p := takeFields(stepFields, step, stageCaps); p != nil {
			return p
		}
		if detail, _ := step["minor_detail"].(string); step["person_minutes"].(int64) > FreePersonMinutes && detail == "" {
			return wrong("above %d must be explained in minor_detail", FreePersonMinutes).in("person_minutes").coded(RejCaps)
		}
		return nil
	})
}

// moneyStage is stage 4: the ceiling, then both sums.
func (d *draft) moneyStage() *problem {
	total, finish := d.amount("total_ask_cents"), d.amount("finish_line_cents")
	switch ceiling := d.target.CeilingCents; {
	case d.target.LaneKind == LaneFree && total > 0:
		return wrong("must be 0 on a free target").in("total_ask_cents").coded(RejCeiling)
	case ceiling != nil && total > *ceiling:
		return wrong("is %d and this person's ceiling is %d", total, *ceiling).in("total_ask_cents").coded(RejCeiling)
	}
	if d.plan == nil {
		a := d.top["allocation"].(map[string]any)
		if sum := a["ad_spend"].(int64) + a["tools"].(int64) + a["agent_work"].(int64); sum != total {
			return wrong("adds up to %d and total_ask_cents is %d", sum, total).in("allocation").coded(RejSums)
		}
	}
	sum := finish
	for _, step := range d.steps {
		sum += step["line_item_amount"].(int64)
	}
	if sum != total {
		return wrong("and finish_line_cents add up to %d and total_ask_cents is %d", sum, total).in("line_item_amount").coded(RejSums)
	}
	return nil
}

// amount reads an amount of the bid, or the frozen one when this is a plan. An absent amount is 0.
func (d *draft) amount(name string) int64 {
	if d.plan != nil && name == "total_ask_cents" {
		return d.plan.TotalAskCents
	}
	n, _ := d.top[name].(int64)
	return n
}

// timelineStage is stage 5.
func (d *draft) timelineStage() *problem {
	days, _ := d.top["timeline_days"].(int64)
	if d.plan != nil {
		days = int64(d.plan.TimelineDays)
	}
	if limit := d.target.TimelineDays; limit != nil && days > int64(*limit) {
		return wrong("is %d and this person's limit is %d", days, *limit).in("timeline_days").coded(RejTimeline)
	}
	return nil
}

// askStage is stage 6: the ask is one of four, then its payload.
func (d *draft) askStage() *problem {
	return d.eachStep(func(step map[string]any) *problem {
		if _, p := (oneOf{asks}).check(step["ask"]); p != nil {
			return p.in("ask").coded(RejAsk)
		}
		return takeFields(stepFields, step, stageAsk)
	})
}

// blockStage is stage 7: blocks present, a control that fits the ask, enough options, a connector of the catalog.
func (d *draft) blockStage() *problem {
	p := d.eachStep(func(step map[string]any) *problem {
		if p := blockGates(step); p != nil {
			return p
		}
		if grant, ok := step["grant_request"].(map[string]any); ok && step["ask"] == Grant {
			if p := connectorProblem(grant); p != nil {
				return p.in("grant_request").coded(RejConnector)
			}
		}
		return nil
	})
	if p != nil {
		return p
	}
	for _, step := range d.steps {
		d.done = append(d.done, stepFrom(step))
	}
	return nil
}

func blockGates(step map[string]any) *problem {
	given, has := step["har_blocks"]
	blocks, isList := given.([]any)
	ask := step["ask"].(string)
	actor, _ := step["actor"].(string)
	held := !acknowledged(ask, actor)
	if has && !isList {
		return wrong("must be a list, not %s", kindOf(given)).in("har_blocks").coded(RejBlocks)
	}
	if held && len(blocks) == 0 {
		return wrong("is required: the step waits on the person (rule 168)").in("har_blocks").coded(RejBlocks)
	}
	if held && !slices.ContainsFunc(blocks, func(b any) bool { return MatchesAsk(b.(map[string]any)["format"].(string), ask) }) {
		return wrong("must hold a control for %s", ask).in("har_blocks").coded(RejControl)
	}
	for i, b := range blocks {
		if p := optionProblem(b.(map[string]any)); p != nil {
			return p.at("block", i+1)
		}
	}
	return nil
}

// operatorStage is stage 9, the self-deal check. Whether bidder and poster are linked is a steward's judgement, so this stage
// has nothing to refuse (bench contract 5.12 REJ-10); it stands here to keep its place in the order.
func (d *draft) operatorStage() *problem { return nil }

// pitchStage is stage 10: goal, questions, pitch, in this order and not in the table's.
func (d *draft) pitchStage() *problem {
	for _, name := range [...]string{"smart_goals", "finalist_questions", "pitch_title", "pitch_body"} {
		i := slices.IndexFunc(topFields, func(f field) bool { return f.name == name })
		if p := topFields[i].take(d.top); p != nil {
			return p.coded(topFields[i].code)
		}
	}
	return nil
}

// textStage is stage 8. A text is read where it stands in the tables; what is wrong with it first is the answer.
func (d *draft) textStage() *problem {
	for _, f := range topFields {
		switch {
		case f.name == "steps":
			if p := d.eachStep(scanStep); p != nil {
				return p
			}
		case d.plan != nil:
		case f.name == "finish_line" && d.top[f.name] == text.Normalize(d.target.FinishLine):
			// the person's own words, restated as the contract asks
		default:
			if p := bidScan.value(d.top[f.name], f.name); p != nil {
				return p.in(f.name)
			}
		}
	}
	return nil
}
