package peer

import (
	"slices"
	"time"

	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// ChangeOut is a change as it is shown. Duplicates have the same change_id.
type ChangeOut struct {
	ChangeID string `json:"change_id"`
	TopicID  ID     `json:"topic_id"`
	Type     string `json:"type"`
	ReplyID  *ID    `json:"reply_id"`
	Revision *int64 `json:"revision"`
	At       Time   `json:"at"`
}

// FeedOut is a page of changes, oldest first. Save next_cursor, and drain while has_more.
type FeedOut struct {
	Changes    []ChangeOut `json:"changes"`
	NextCursor string      `json:"next_cursor"`
	HasMore    bool        `json:"has_more"`
}

// defaultPage is how many changes or topics a page holds unless more are asked for.
const defaultPage = 20

// strand is one feed of a scope on its way into a page: what it has to offer, oldest first,
// and how far a reader gets with each.
type strand struct {
	items []item
	more  bool
	// done is told how far the page went.
	done func(item)
}

// item is an entry of a strand: a change to show, or only a number to go past.
type item struct {
	out *ChangeOut
	at  time.Time
	n   int64
}

// read makes a page of a scope.
func (s scope) read(c *op.Call, cursor string, limit int) (FeedOut, error) {
	at := feedCursor{At: make([]int64, len(s.topics))}
	fresh := cursor == ""
	if !fresh {
		var err error
		if at, err = s.open(c, cursor); err != nil {
			return FeedOut{}, err
		}
	}
	r := feedReader{c: c, scope: s, at: &at, fresh: fresh, limit: limit}
	strands, err := r.strands()
	if err != nil {
		return FeedOut{}, err
	}
	out := FeedOut{Changes: []ChangeOut{}}
	out.HasMore = merge(strands, limit, &out)
	out.NextCursor, err = s.cursor(c, at)
	return out, err
}

// merge takes the oldest item of all strands, again and again, each strand in its own order,
// and tells whether anything is left.
func merge(strands []*strand, limit int, out *FeedOut) bool {
	for {
		var next *strand
		for _, s := range strands {
			switch {
			case len(s.items) == 0 && s.more:
				return true // what follows in it may be older than what the others have
			case len(s.items) > 0 && (next == nil || s.items[0].at.Before(next.items[0].at)):
				next = s
			}
		}
		if next == nil {
			return false
		}
		it := next.items[0]
		if it.out != nil && len(out.Changes) == limit {
			return true
		}
		if it.out != nil {
			out.Changes = append(out.Changes, *it.out)
		}
		next.items = next.items[1:]
		next.done(it)
	}
}

// feedReader collects the strands of a scope.
type feedReader struct {
	c     *op.Call
	scope scope
	at    *feedCursor
	fresh bool // there was no cursor
	limit int
}

func (r *feedReader) strands() (all []*strand, err error) {
	keys := []table.Key{restoreKey}
	for _, t := range r.scope.topics {
		keys = append(keys, headKey(t))
	}
	if r.scope.own != "" {
		keys = append(keys, ownHeadKey(r.scope.own))
	}
	if err := r.c.Fetch(keys...); err != nil {
		return nil, err
	}
	for i, t := range r.scope.topics {
		s, err := r.topic(i, t)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	if r.scope.own == "" {
		return all, nil
	}
	mine, err := r.own()
	return append(all, mine...), err
}

// topic is the strand of one topic of the scope.
func (r *feedReader) topic(i int, t ID) (*strand, error) {
	h, _, err := op.Load[head](r.c, headKey(t))
	if err != nil {
		return nil, err
	}
	if !h.live(r.c.Now) {
		return r.gone(i, t), nil
	}
	r.at.Gone &^= 1 << i
	if r.fresh {
		if r.at.At[i], err = r.start(headKey(t).PK, &h.numbers); err != nil {
			return nil, err
		}
	}
	s := &strand{done: func(it item) { r.at.At[i] = it.n }}
	rows, more, err := r.changes(headKey(t).PK, r.at.At[i], h.Seq)
	s.more = more
	for _, x := range rows {
		s.items = append(s.items, item{out: r.show(x, &h), at: x.At, n: x.N})
	}
	return s, err
}

// start is the number behind which the changes that are kept begin.
func (r *feedReader) start(pk string, n *numbers) (int64, error) {
	lo, hi := n.oldest(r.c.Now)
	return r.before(pk, changeSK, lo, hi, func(row table.Row) (time.Time, error) {
		var x change
		err := op.Decode(row.Data, &x)
		return x.At, err
	})
}

// startOfEnds is the number behind which the own topics begin that ended while changes are
// kept, or have not ended.
func (r *feedReader) startOfEnds(topics int64) (int64, error) {
	return r.before(ownHeadKey(r.scope.own).PK, ownTopicSK, 0, topics+1, func(row table.Row) (time.Time, error) {
		var t ownTopic
		err := op.Decode(row.Data, &t)
		return t.ExpiresAt, err
	})
}

// probes is how many rows one step of a search looks at.
const probes = 50

// before finds the last number from lo on, below hi, whose row is too old to be served or no
// longer there. Numbers follow time closely enough.
func (r *feedReader) before(pk string, sk func(int64) string, lo, hi int64, timeOf func(table.Row) (time.Time, error)) (int64, error) {
	oldest := r.c.Now.Add(-FeedLife)
	for hi-lo > 1 {
		step := max(1, (hi-lo)/(probes+1))
		var keys []table.Key
		for n := lo + step; n < hi && len(keys) < probes; n += step {
			keys = append(keys, table.Key{PK: pk, SK: sk(n)})
		}
		rows, err := r.c.Scan(keys...)
		if err != nil {
			return 0, err
		}
		from := lo
		for i, row := range rows {
			n := from + step*int64(i+1)
			at := time.Time{}
			if row.Found() {
				if at, err = timeOf(row); err != nil {
					return 0, err
				}
			}
			if at.After(oldest) {
				hi = n
				break
			}
			lo = n
		}
	}
	return lo, nil
}

// gone tells once that a topic of the scope cannot be read: expired, hidden and unknown look
// alike, and its earlier changes are served no more.
func (r *feedReader) gone(i int, t ID) *strand {
	if r.at.Gone&(1<<i) != 0 {
		return &strand{}
	}
	return &strand{items: []item{{out: goneChange(t, r.c.Now), at: r.c.Now}}, done: func(item) { r.at.Gone |= 1 << i }}
}

func goneChange(t ID, now time.Time) *ChangeOut {
	return &ChangeOut{ChangeID: string(t) + ".unavailable", TopicID: t, Type: TopicGone, At: Time(now)}
}

// changes reads what stands behind a number in a feed whose newest is seq. What the reader
// has not seen and is no longer kept is a gap.
func (r *feedReader) changes(pk string, after, seq int64) (rows []change, more bool, err error) {
	if after >= seq {
		return nil, false, nil
	}
	p, err := r.c.Query(table.Query{PK: pk, From: changeSK(after + 1), To: table.PrefixEnd("CHANGE#"), Limit: r.limit + 1})
	if err != nil {
		return nil, false, err
	}
	oldest := r.c.Now.Add(-FeedLife)
	next := after + 1
	for _, row := range p.Rows {
		var x change
		if err := op.Decode(row.Data, &x); err != nil {
			return nil, false, err
		}
		old := !x.At.After(oldest)
		if !r.fresh && (x.N != next || old) {
			return nil, false, updatesGap
		}
		if next++; !old {
			rows = append(rows, x)
		} else {
			rows = append(rows, change{N: x.N, At: x.At})
		}
	}
	if len(p.Rows) == 0 && !r.fresh {
		return nil, false, updatesGap // all of it is gone
	}
	return rows, p.More, nil
}

// show is a change as a reader sees it; nil for one that is not shown: it is too old, or
// tells of a reply that was hidden.
func (r *feedReader) show(x change, h *head) *ChangeOut {
	if x.Type == "" || x.Type == TopicGone {
		return nil
	}
	out := &ChangeOut{ChangeID: x.id(), TopicID: x.TopicID, Type: x.Type, Revision: x.Rev, At: Time(x.At)}
	if x.ReplyID == "" {
		return out
	}
	if h.shows(x.ReplyID) {
		out.ReplyID = &x.ReplyID
		return out
	}
	if x.Type == ReplyAdded || x.Type == UseReported {
		return nil
	}
	return out
}

// own are the strands of the caller's topics: their changes, and the ends of those that
// expired. Topics that the scope names themselves are left to their own strands.
func (r *feedReader) own() ([]*strand, error) {
	own, _, err := op.Load[ownHead](r.c, ownHeadKey(r.scope.own))
	if err != nil {
		return nil, err
	}
	if r.fresh {
		if r.at.Own, err = r.start(ownHeadKey(r.scope.own).PK, &own.numbers); err != nil {
			return nil, err
		}
		if r.at.Ended, err = r.startOfEnds(own.Topics); err != nil {
			return nil, err
		}
	}
	rows, more, err := r.changes(ownHeadKey(r.scope.own).PK, r.at.Own, own.Seq)
	if err != nil {
		return nil, err
	}
	ends, moreEnds, err := r.ends(own.Topics)
	if err != nil {
		return nil, err
	}
	var keys []table.Key
	for _, x := range rows {
		if x.TopicID != "" {
			keys = append(keys, headKey(x.TopicID))
		}
	}
	for _, e := range ends {
		keys = append(keys, headKey(e.TopicID))
	}
	if err := r.c.Fetch(keys...); err != nil {
		return nil, err
	}
	changed := &strand{more: more, done: func(it item) { r.at.Own = it.n }}
	ended := &strand{more: moreEnds, done: func(it item) { r.at.Ended = it.n }}
	told := map[ID]bool{}
	for _, x := range rows {
		it := item{at: x.At, n: x.N}
		if it.out, err = r.showOwn(x, told); err != nil {
			return nil, err
		}
		changed.items = append(changed.items, it)
	}
	for _, e := range ends {
		it := item{at: e.ExpiresAt, n: e.N}
		h, _, err := op.Load[head](r.c, headKey(e.TopicID))
		if err != nil {
			return nil, err
		}
		if h.HiddenAt.IsZero() && !told[e.TopicID] && !slices.Contains(r.scope.topics, e.TopicID) {
			it.out = goneChange(e.TopicID, r.c.Now)
		}
		ended.items = append(ended.items, it)
	}
	return []*strand{changed, ended}, nil
}

// showOwn is a change in the caller's own feed; nil for one that is not shown there.
func (r *feedReader) showOwn(x change, told map[ID]bool) (*ChangeOut, error) {
	if x.TopicID == "" || slices.Contains(r.scope.topics, x.TopicID) {
		return nil, nil
	}
	h, _, err := op.Load[head](r.c, headKey(x.TopicID))
	if err != nil {
		return nil, err
	}
	if h.live(r.c.Now) {
		return r.show(x, &h), nil
	}
	if x.Type != TopicGone || told[x.TopicID] || h.ID != "" && h.HiddenAt.IsZero() {
		return nil, nil
	}
	told[x.TopicID] = true
	return goneChange(x.TopicID, r.c.Now), nil
}

// ends are own topics that have expired behind the place of the reader, oldest first.
func (r *feedReader) ends(topics int64) (all []ownTopic, more bool, err error) {
	if r.at.Ended >= topics {
		return nil, false, nil
	}
	p, err := r.c.Query(table.Query{PK: ownHeadKey(r.scope.own).PK, From: ownTopicSK(r.at.Ended + 1), To: table.PrefixEnd("TOPIC#"), Limit: r.limit + 1})
	if err != nil {
		return nil, false, err
	}
	for _, row := range p.Rows {
		var t ownTopic
		if err := op.Decode(row.Data, &t); err != nil {
			return nil, false, err
		}
		if r.c.Now.Before(t.ExpiresAt) {
			return all, false, nil
		}
		all = append(all, t)
	}
	return all, p.More, nil
}
