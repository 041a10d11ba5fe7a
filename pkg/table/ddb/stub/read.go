package stub

import (
	"iter"
	"slices"
	"strings"
)

type getInput struct {
	Key            item
	ConsistentRead bool
	expressions
}

func (s *Server) getItem(in getInput) (any, *refusal) {
	k, r := keyOf(in.Key)
	if r != nil {
		return nil, r
	}
	out := map[string]any{}
	i := s.load(k)
	if i != nil {
		out["Item"] = i.project(in.projection())
	}
	out["ConsumedCapacity"] = s.consumed(s.readUnits(i.bytes(), in.ConsistentRead), 0)
	return out, nil
}

type batchKeys struct {
	Keys           []item
	ConsistentRead bool
}

func (s *Server) batchGetItem(in struct{ RequestItems map[string]batchKeys }, f Fault) (any, *refusal) {
	responses, left := map[string][]item{}, map[string]batchKeys{}
	reads, bytes, answered := 0.0, 0, 0
	for name, ask := range in.RequestItems {
		if len(ask.Keys) == 0 || len(ask.Keys) > maxBatchKeys {
			return nil, invalid("Too many items requested for the BatchGetItem call")
		}
		seen := map[key]bool{}
		rest := batchKeys{ConsistentRead: ask.ConsistentRead}
		responses[name] = []item{}
		for _, named := range ask.Keys {
			k, r := keyOf(named)
			if r != nil {
				return nil, r
			}
			if seen[k] {
				return nil, invalid("Provided list of item keys contains duplicates")
			}
			seen[k] = true
			i := s.load(k)
			if bytes+i.bytes() > maxBatchBytes || (f.Kind == Unprocessed && answered >= f.N) {
				rest.Keys = append(rest.Keys, named)
				continue
			}
			answered++
			bytes += i.bytes()
			reads += s.readUnits(i.bytes(), ask.ConsistentRead)
			if i != nil {
				responses[name] = append(responses[name], i)
			}
		}
		slices.Reverse(responses[name]) // DynamoDB promises no order
		if len(rest.Keys) > 0 {
			left[name] = rest
		}
	}
	return map[string]any{
		"Responses": responses, "UnprocessedKeys": left, "ConsumedCapacity": []any{s.consumed(reads, 0)},
	}, nil
}

type queryInput struct {
	ConsistentRead    bool
	Limit             *int
	ScanIndexForward  *bool
	ExclusiveStartKey item
	KeyConditions     any
	expressions
}

func (s *Server) query(in queryInput) (any, *refusal) {
	if in.KeyConditions != nil {
		return nil, invalid("the adapter should send KeyConditionExpression")
	}
	matches, r := in.condition(in.KeyConditionExpression)
	if r != nil {
		return nil, r
	}
	for _, v := range in.ExpressionAttributeValues {
		if text, ok := v.text("S"); !ok || text == "" || len(text) > maxSortKey {
			return nil, invalid("One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit of %d bytes", maxSortKey)
		}
	}
	pk, ok := in.partition()
	if !ok {
		return nil, invalid("Query condition missed key schema element: PK")
	}
	return s.page(in, matches, func(k key) bool { return k.pk == pk })
}

// partition finds "PK = :value" in the key condition.
func (e expressions) partition() (string, bool) {
	rest, ok := strings.CutPrefix(e.KeyConditionExpression, "PK = ")
	if !ok {
		return "", false
	}
	name, _, _ := strings.Cut(rest, " ")
	return e.ExpressionAttributeValues[name].text("S")
}

func (s *Server) scan(in queryInput) (any, *refusal) {
	return s.page(in, func(item) bool { return true }, func(key) bool { return true })
}

// page cuts an answer at the limit or the page size and says where it stopped. Like
// DynamoDB it does not look ahead: a page that ends at its limit always has a last key.
func (s *Server) page(in queryInput, matches func(item) bool, within func(key) bool) (any, *refusal) {
	if in.Limit != nil && *in.Limit < 1 {
		return nil, invalid("Limit must be at least 1")
	}
	items, bytes := []item{}, 0
	out := map[string]any{}
	for k := range s.walk(in) {
		i := s.load(k)
		if !within(k) || !matches(i) {
			continue
		}
		if bytes > 0 && bytes+i.bytes() > s.PageBytes {
			out["LastEvaluatedKey"] = items[len(items)-1].project([]string{"PK", "SK"})
			break
		}
		bytes += i.bytes()
		items = append(items, i)
		if in.Limit != nil && len(items) == *in.Limit {
			out["LastEvaluatedKey"] = i.project([]string{"PK", "SK"})
			break
		}
	}
	for n, i := range items {
		items[n] = i.project(in.projection())
	}
	out["Items"], out["Count"], out["ScannedCount"] = items, len(items), len(items)
	out["ConsumedCapacity"] = s.consumed(s.readUnits(bytes, in.ConsistentRead), 0)
	return out, nil
}

// walk yields the keys in the order asked, behind the start key, which need not exist (any
// more).
func (s *Server) walk(in queryInput) iter.Seq[key] {
	order := s.order
	if in.ScanIndexForward != nil && !*in.ScanIndexForward {
		if in.ExclusiveStartKey != nil {
			at, _ := slices.BinarySearchFunc(order, in.ExclusiveStartKey.key(), compareKeys)
			order = order[:at]
		}
		return func(yield func(key) bool) {
			for _, k := range slices.Backward(order) {
				if !yield(k) {
					return
				}
			}
		}
	}
	if in.ExclusiveStartKey != nil {
		at, there := slices.BinarySearchFunc(order, in.ExclusiveStartKey.key(), compareKeys)
		if there {
			at++
		}
		order = order[at:]
	}
	return slices.Values(order)
}
