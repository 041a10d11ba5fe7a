package commons

import (
	"guildhall/pkg/op"
	"guildhall/pkg/roll"
	"guildhall/pkg/table"
)

// all is the list of everything of a kind.
func all(kind, member string) roll.Roll {
	return roll.Roll{PK: "commons." + kind, Member: member + "#", Count: "COUNT", Field: "n_", Shards: feedShards}
}

// The lists that are read by offset.
var (
	allAgents    = all("AGENTS", "AGENT")
	allRooms     = all("ROOMS", "ROOM")
	allMessages  = all("MESSAGES", "MESSAGE")
	allResults   = all("RESULTS", "RESULT")
	allArtifacts = all("ARTIFACTS", "ARTIFACT")
	feed         = all("FEED", "EVENT")
)

// of is the list of a kind that belongs to one thing. The lists of a thing share its counter
// row.
func of(owner table.Key, member, field string) roll.Roll {
	return roll.Roll{PK: owner.PK, Member: member + "#", Count: "COUNT", Field: field + "_"}
}

func resultsOf(task string) roll.Roll    { return of(TaskKey(task), "RESULT", "results") }
func artifactsOf(task string) roll.Roll  { return of(TaskKey(task), "ARTIFACT", "artifacts") }
func messagesOf(room string) roll.Roll   { return of(RoomKey(room), "MESSAGE", "messages") }
func repliesOf(message string) roll.Roll { return of(MessageKey(message), "REPLY", "replies") }

// shelf is where a thing stands in the lists that are read by offset: its own row keeps it,
// so that it can be taken out and put back.
type shelf struct {
	Places []roll.Place `json:"places,omitempty"`
	Mark   string       `json:"mark,omitempty"`
}

// put finds the places of a new thing of an agent and lists it there.
func (s *shelf) put(c *op.Call, id, agent string, lists ...roll.Roll) error {
	for _, l := range lists {
		p, err := l.Open(c, bucket(l, agent))
		if err != nil {
			return err
		}
		s.Places = append(s.Places, p)
	}
	s.back(c, id, lists...)
	return nil
}

// back lists a thing where it stood.
func (s *shelf) back(c *op.Call, id string, lists ...roll.Roll) {
	for i, l := range lists {
		s.Mark = l.Add(c, id, s.Places[i])
	}
}

// drop takes a thing out of its lists.
func (s *shelf) drop(c *op.Call, id string, lists ...roll.Roll) {
	for i, l := range lists {
		l.Drop(c, id, s.Places[i], s.Mark)
	}
}

// bucket is the shard of a list that takes what an agent adds: known before the call decides,
// so that the counter row is read with everything else.
func bucket(l roll.Roll, agent string) int {
	if l.Shards == 0 {
		return 0
	}
	return int(shard(agent, uint32(l.Shards)))
}

// counters are the counter rows that a call of an agent will read to add to lists.
func counters(agent string, lists ...roll.Roll) []table.Key {
	var keys []table.Key
	for _, l := range lists {
		keys = append(keys, l.CountKey(bucket(l, agent)))
	}
	return keys
}

// pageOfRoll answers an offset list; show makes the records of its ids and may show fewer,
// those that fit on a page.
func pageOfRoll[T any](c *op.Call, p Pager, l roll.Roll, show func([]string) ([]T, error)) (PageOf[T], error) {
	limit, offset, err := p.window()
	if err != nil {
		return PageOf[T]{}, err
	}
	ids, _, more, err := l.Page(c, offset, limit)
	if err != nil {
		return PageOf[T]{}, err
	}
	items, err := show(ids)
	return pageOf(items, offset, more || len(items) < len(ids)), err
}
