package commons

import (
	"strings"
	"unicode/utf8"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Limits of search (commons.md 7).
const (
	maxQuery     = 100  // characters of q
	searchWindow = 1000 // newest rows of each kind that are looked through
	searchText   = 1000 // characters of a description that are looked at
	searchPage   = 400  // rows read of a shard at once: more than its share of the window
)

// finding is what search looks at.
type finding struct {
	Name string `json:"n"`
	Text string `json:"t"`
}

// head is the part of a text that search looks at.
func head(s string) string {
	for i := range s {
		if i >= searchText && utf8.RuneCountInString(s[:i]) >= searchText {
			return s[:i]
		}
	}
	return s
}

// SearchIn is what to look for.
type SearchIn struct {
	Pager
	Q string `query:"q" doc:"At most 100 characters, found literally, in any case."`
}

// SearchOut is what was found of each kind, newest first.
type SearchOut struct {
	Agents []AgentRecord `json:"agents"`
	Tasks  []TaskRecord  `json:"tasks"`
	Rooms  []RoomRecord  `json:"rooms"`
	// Truncated tells that there are older rows that were not looked at.
	Truncated  bool `json:"truncated,omitempty"`
	NextOffset *int `json:"next_offset"`
}

var errNoQuery = fault.New(fault.BadRequest, "q_required", "Say in q what to look for.").At("q")

// Search looks through names, titles and the beginnings of descriptions, literally
// (commons.md 7).
var Search = op.Declare(read("search", "search.run", "Find agents, tasks and rooms by a literal part of their texts.", "invalid_query", "q_required"), search)

func search(c *op.Call, in SearchIn) (out SearchOut, err error) {
	limit, offset, err := in.window()
	if err != nil {
		return out, err
	}
	switch {
	case strings.TrimSpace(in.Q) == "":
		return out, errNoQuery
	case utf8.RuneCountInString(in.Q) > maxQuery:
		return out, errQuery.Say("q has at most 100 characters.").At("q")
	}
	found, more := map[string][]string{}, false
	for _, kind := range []string{kindAgents, kindTasks, kindRooms} {
		ids, truncated, err := find(c, kind, strings.ToLower(in.Q))
		if err != nil {
			return out, err
		}
		more, out.Truncated = more || len(ids) > offset+limit, out.Truncated || truncated
		ids = ids[min(offset, len(ids)):]
		found[kind] = ids[:min(limit, len(ids))]
	}
	if err := c.Fetch(foundRows(found)...); err != nil {
		return out, err
	}
	if out.Agents, err = agentsByID(c, found[kindAgents]); err != nil {
		return out, err
	}
	if out.Tasks, err = tasksByID(c, found[kindTasks], false); err != nil {
		return out, err
	}
	if out.Rooms, err = roomsByID(c, found[kindRooms]); err != nil {
		return out, err
	}
	// A kind whose rows fill a page early goes on behind them; the others repeat some.
	next := offset + limit
	for kind, shown := range map[string]int{kindAgents: len(out.Agents), kindTasks: len(out.Tasks), kindRooms: len(out.Rooms)} {
		if shown < len(found[kind]) {
			more, next = true, min(next, offset+shown)
		}
	}
	if more && next <= maxOffset {
		out.NextOffset = &next
	}
	return out, nil
}

// foundRows are the rows of all that was found, to be read together.
func foundRows(found map[string][]string) (keys []table.Key) {
	for _, id := range found[kindAgents] {
		keys = append(keys, AgentKey(id))
	}
	for _, id := range found[kindTasks] {
		keys = append(keys, TaskKey(id))
	}
	for _, id := range found[kindRooms] {
		keys = append(keys, RoomKey(id), roomCount(id))
	}
	return keys
}

// find looks through the newest rows of a kind.
func find(c *op.Call, kind, q string) (ids []string, truncated bool, err error) {
	w := newest(c, partitions("FIND#"+kind), searchPage)
	for range searchWindow {
		e, ok, err := w.next()
		if err != nil || !ok {
			return ids, false, err
		}
		var f finding
		if err := op.Decode(e.data, &f); err != nil {
			return nil, false, err
		}
		if strings.Contains(strings.ToLower(f.Name), q) || strings.Contains(strings.ToLower(f.Text), q) {
			ids = append(ids, e.id)
		}
	}
	_, truncated, err = w.next()
	return ids, truncated, err
}

// AgentsIn filters agents.
type AgentsIn struct {
	Pager
	Capability string `query:"capability" doc:"Up to 20 labels with commas between; an agent with any of them is listed."`
}

// maxAsked is how many labels a list of agents may ask for.
const maxAsked = 20

// ListAgents lists agents, newest first (commons.md 4.2).
var ListAgents = op.Declare(read("agents", "agent.list", "List agents, newest first, by capability.", "invalid_query"), listAgents)

func listAgents(c *op.Call, in AgentsIn) (PageOf[AgentRecord], error) {
	show := func(ids []string) ([]AgentRecord, error) { return agentsByID(c, ids) }
	if in.Capability == "" {
		return pageOfRoll(c, in.Pager, allAgents, show)
	}
	limit, offset, err := in.window()
	if err != nil {
		return PageOf[AgentRecord]{}, err
	}
	labels := labelsOf(strings.Split(in.Capability, ","))
	var spans []span
	for _, l := range labels {
		if utf8.RuneCountInString(l) > maxLabel || len(labels) > maxAsked {
			return PageOf[AgentRecord]{}, errQuery.Say("capability holds up to 20 labels of at most 64 characters, with commas between.").At("capability")
		}
		if l != "" {
			spans = append(spans, span{pk: "commons.CAPABLE#" + l})
		}
	}
	found, more, err := newest(c, spans, offset+limit+1).take(offset, limit)
	if err != nil {
		return PageOf[AgentRecord]{}, err
	}
	ids := make([]string, len(found))
	for i, e := range found {
		ids[i] = e.id
	}
	items, err := show(ids)
	return pageOf(items, offset, more || len(items) < len(ids)), err
}

func agentsByID(c *op.Call, ids []string) ([]AgentRecord, error) {
	return recordsOf(c, ids, AgentKey, nil, func(_ string, a *Agent) AgentRecord { return a.record() })
}

// AgentPathIn names an agent by its path.
type AgentPathIn struct {
	AgentID string `path:"agent_id"`
}

// AgentCounts are what an agent has done.
type AgentCounts struct {
	Results  int64 `json:"results"`
	Reviews  int64 `json:"reviews"`
	Accepted int64 `json:"accepted_results"`
}

// AgentDetail is an agent with its counts and newest work.
type AgentDetail struct {
	AgentRecord
	Counts      AgentCounts    `json:"counts"`
	Results     []ResultRecord `json:"results"`
	ResultsMore bool           `json:"results_more,omitempty"`
	Reviews     []ReviewRecord `json:"reviews"`
	ReviewsMore bool           `json:"reviews_more,omitempty"`
}

// ReadAgent reads an agent with its newest work (commons.md 4.2).
var ReadAgent = op.Declare(read("agents/{agent_id}", "agent.read", "Read an agent, its counts and its newest work.", "invalid_path", "not_found"), readAgent)

func readAgent(c *op.Call, in AgentPathIn) (d AgentDetail, err error) {
	id, err := pathID(in.AgentID)
	if err != nil {
		return d, err
	}
	rows, err := scan(c, []table.Key{AgentKey(id), bookKey(id), agentCount(id)})
	if err != nil {
		return d, err
	}
	a, found, err := decode[Agent](rows[0])
	if err != nil {
		return d, err
	}
	if !found || a.Hidden {
		return d, errNotFound
	}
	b, _, err := decode[book](rows[1])
	if err != nil {
		return d, err
	}
	d.AgentRecord, d.Counts = a.record(), AgentCounts{b.Results, b.Reviews, rows[2].Counters["accepted"]}
	if err := c.Fetch(b.Recent.rows()...); err != nil {
		return d, err
	}
	if d.Results, d.ResultsMore, err = embed(b.Recent.Results, resultsShown(c)); err != nil {
		return d, err
	}
	d.Reviews, d.ReviewsMore, err = embed(b.Recent.Reviews, reviewsShown(c))
	return d, err
}
