package stub

import "encoding/json"

// writeInput is a PutItem, DeleteItem, UpdateItem or one action of a transaction.
type writeInput struct {
	Item                                item
	Key                                 item
	ReturnValuesOnConditionCheckFailure string
	expressions
}

// plan is a checked write: what it finds, whether its condition holds, what it leaves.
type plan struct {
	key   key
	old   item
	new   item // nil: the item is removed
	holds bool
	looks bool // a check: nothing changes
	shows bool // send the old item when the condition fails
}

// action is what a write does.
type action int

const (
	put action = iota
	del
	update
	check
)

func (s *Server) plan(a action, in writeInput) (plan, *refusal) {
	named := in.Key
	if a == put {
		named = in.Item
	}
	k, r := keyOf(named)
	if r != nil {
		return plan{}, r
	}
	condition, r := in.condition(in.ConditionExpression)
	if r != nil {
		return plan{}, r
	}
	p := plan{key: k, old: s.load(k), looks: a == check}
	p.holds = condition(p.old)
	p.shows = in.ReturnValuesOnConditionCheckFailure == "ALL_OLD" && !s.NoOldImages && p.old != nil
	switch a {
	case put:
		p.new = in.Item
	case check:
		p.new = p.old
	case update:
		change, r := in.update()
		if r != nil {
			return plan{}, r
		}
		base := p.old
		if base == nil {
			base = in.Key
		}
		p.new = change(base)
	}
	if p.new.bytes() > maxItemBytes+s.Slack {
		return plan{}, invalid("Item size has exceeded the maximum allowed size")
	}
	return p, nil
}

func (s *Server) apply(p plan) {
	switch {
	case p.looks:
	case p.new == nil:
		s.remove(p.key)
	default:
		s.store(p.new)
	}
}

// units is the price of a write, also of one whose condition fails.
func (p plan) units() float64 {
	if !p.holds {
		return units(p.old.bytes(), writeUnit)
	}
	return units(max(p.old.bytes(), p.new.bytes()), writeUnit)
}

func (s *Server) putItem(in writeInput) (any, *refusal)    { return s.write(put, in) }
func (s *Server) deleteItem(in writeInput) (any, *refusal) { return s.write(del, in) }
func (s *Server) updateItem(in writeInput) (any, *refusal) { return s.write(update, in) }

func (s *Server) write(a action, in writeInput) (any, *refusal) {
	p, r := s.plan(a, in)
	if r != nil {
		return nil, r
	}
	used := s.consumed(0, p.units())
	if !p.holds {
		r := refuse("ConditionalCheckFailedException", "The conditional request failed")
		if p.shows {
			r.body["Item"] = p.old
		}
		return nil, r
	}
	s.apply(p)
	return map[string]any{"ConsumedCapacity": used}, nil
}

type transactInput struct {
	ClientRequestToken string
	TransactItems      []struct {
		Put, Delete, Update, ConditionCheck *writeInput
	}
}

func (s *Server) transactWriteItems(in transactInput) (any, *refusal) {
	switch {
	case len(in.TransactItems) == 0 || len(in.TransactItems) > maxTxItems:
		return nil, invalid("Member must have length less than or equal to %d", maxTxItems)
	case len(in.ClientRequestToken) > maxTokenChars:
		return nil, invalid("Member must have length less than or equal to %d", maxTokenChars)
	}
	content, err := json.Marshal(in.TransactItems)
	if err != nil {
		return nil, invalid("%v", err)
	}
	if used, ok := s.tokens[in.ClientRequestToken]; ok && !s.NoTokens {
		if used != string(content) {
			return nil, refuse("IdempotentParameterMismatchException", "the token was used with other parameters")
		}
		return map[string]any{"ConsumedCapacity": []any{s.consumed(0, 0)}}, nil
	}
	plans, r := s.plans(in)
	if r != nil {
		return nil, r
	}
	used, failed := 0.0, false
	reasons := make([]reason, len(plans))
	for i, p := range plans {
		used += 2 * p.units()
		reasons[i].Code = "None"
		if !p.holds {
			failed = true
			reasons[i] = reason{Code: "ConditionalCheckFailed", Message: "The conditional request failed"}
			if p.shows {
				reasons[i].Item = p.old
			}
		}
	}
	capacity := s.consumed(0, used)
	if failed {
		return nil, canceled(reasons)
	}
	for _, p := range plans {
		s.apply(p)
	}
	s.tokens[in.ClientRequestToken] = string(content)
	return map[string]any{"ConsumedCapacity": []any{capacity}}, nil
}

func (s *Server) plans(in transactInput) ([]plan, *refusal) {
	plans := make([]plan, len(in.TransactItems))
	seen := map[key]bool{}
	bytes := 0
	for i, t := range in.TransactItems {
		var r *refusal
		switch {
		case t.Put != nil:
			plans[i], r = s.plan(put, *t.Put)
		case t.Delete != nil:
			plans[i], r = s.plan(del, *t.Delete)
		case t.Update != nil:
			plans[i], r = s.plan(update, *t.Update)
		case t.ConditionCheck != nil:
			plans[i], r = s.plan(check, *t.ConditionCheck)
		default:
			r = invalid("TransactItems can only contain one of Check, Put, Update or Delete")
		}
		if r != nil {
			return nil, r
		}
		k := plans[i].key
		if seen[k] {
			return nil, invalid("Transaction request cannot include multiple operations on one item")
		}
		seen[k] = true
		if bytes += plans[i].new.bytes() - s.Slack; bytes > maxTxBytes {
			return nil, invalid("Transaction size exceeded the limit of %d bytes", maxTxBytes)
		}
	}
	return plans, nil
}
