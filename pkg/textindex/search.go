package textindex

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Hit is a document that holds what was looked for.
type Hit struct {
	ID string
	At time.Time
}

// Found is the answer to a search, newest first.
type Found struct {
	Hits []Hit
	// Truncated: some documents that may hold it were not compared.
	Truncated bool
}

// maxListsRead bounds how many lists of a search are read, the rarest first.
const maxListsRead = 4

// Short tells whether a text is too short for the lists: then Compare the newest documents.
func Short(q string) bool { return utf8.RuneCountInString(q) < MinChars }

// Search finds the documents that hold q, of MinChars characters or more. It is complete
// when the rarest trigram of q is held by at most MaxCandidates documents; otherwise the
// newest MaxCandidates of those are compared.
func (x *Index) Search(c *op.Call, q string) (Found, error) {
	folded := Fold(q)
	// The waiting ones first: a document that stops waiting meanwhile is in the lists then.
	ids, truncated, err := x.newcomers(c)
	if err != nil {
		return Found{}, err
	}
	candidates, many, err := x.candidates(c, trigrams(folded))
	if err != nil {
		return Found{}, err
	}
	known, err := x.ids(c, candidates)
	if err != nil {
		return Found{}, err
	}
	hits, err := x.Compare(c, q, append(ids, known...))
	return Found{hits, truncated || many}, err
}

// Compare reads documents and keeps those that hold q, newest first.
func (x *Index) Compare(c *op.Call, q string, ids []string) (hits []Hit, err error) {
	folded := Fold(q)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	for part := range slices.Chunk(ids, MaxRead) {
		docs, err := x.Read(c, part)
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			if d.holds(folded) {
				hits = append(hits, Hit{d.ID, d.At})
			}
		}
	}
	slices.SortFunc(hits, func(a, b Hit) int { return cmp.Or(b.At.Compare(a.At), strings.Compare(b.ID, a.ID)) })
	return hits, nil
}

// newcomers lists the documents that wait, the newest MaxWaiting of each shard.
func (x *Index) newcomers(c *op.Call) (ids []string, truncated bool, err error) {
	for s := range shards {
		p, err := c.Query(table.Query{PK: x.waitingPK(s), Reverse: true, Limit: MaxWaiting, KeysOnly: true})
		if err != nil {
			return nil, false, err
		}
		truncated = truncated || p.More
		for _, r := range p.Rows {
			ids = append(ids, idOf(r.SK))
		}
	}
	return ids, truncated, nil
}

// held is the list of one trigram.
type held struct {
	tri string
	list
}

// candidates lists the numbers of the documents that may hold all trigrams, and whether
// there are more.
func (x *Index) candidates(c *op.Call, tris []string) (found []int64, many bool, err error) {
	lists, err := x.lists(c, tris)
	if err != nil || len(lists) < len(tris) {
		return nil, false, err
	}
	slices.SortFunc(lists, func(a, b held) int { return cmp.Compare(a.N, b.N) })
	for i, l := range lists[:min(len(lists), maxListsRead)] {
		if i > 0 && l.N > MaxCandidates {
			break // only a list that is read whole can rule a document out
		}
		numbers, err := x.newest(c, l)
		if err != nil {
			return nil, false, err
		}
		if i == 0 {
			found = numbers
			continue
		}
		set := make(map[int64]bool, len(numbers))
		for _, n := range numbers {
			set[n] = true
		}
		found = slices.DeleteFunc(found, func(n int64) bool { return !set[n] })
	}
	return found, lists[0].N > MaxCandidates, nil
}

// lists reads the lists of trigrams; one that no document holds is left out.
func (x *Index) lists(c *op.Call, tris []string) (all []held, err error) {
	for part := range slices.Chunk(tris, table.MaxGetKeys) {
		keys := make([]table.Key, len(part))
		for i, t := range part {
			keys[i] = x.listKey(t)
		}
		rows, err := c.Scan(keys...)
		if err != nil {
			return nil, err
		}
		for i, r := range rows {
			if !r.Found() {
				continue
			}
			h := held{tri: part[i]}
			if err := op.Decode(r.Data, &h.list); err != nil {
				return nil, err
			}
			all = append(all, h)
		}
	}
	return all, nil
}

// newest reads the newest MaxCandidates documents of a list.
func (x *Index) newest(c *op.Call, l held) (all []int64, err error) {
	var keys []table.Key
	for n, row := l.Len, l.Full-1; n < MaxCandidates && row >= 0; n, row = n+listRow, row-1 {
		keys = append(keys, x.fullKey(l.tri, row))
	}
	slices.Reverse(keys)
	if len(keys) > 0 {
		rows, err := c.Scan(keys...)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			var f fullRow
			if err := op.Decode(r.Data, &f); err != nil {
				return nil, err
			}
			all = append(all, numbers(f.Docs)...)
		}
	}
	all = append(all, numbers(l.Docs)...)
	return all[max(0, len(all)-MaxCandidates):], nil
}

// ids names documents by their numbers. One without a name is still waiting.
func (x *Index) ids(c *op.Call, numbers []int64) (ids []string, err error) {
	byRow := map[table.Key][]int64{}
	var keys []table.Key
	for _, n := range numbers {
		k := x.docsKey(n)
		if byRow[k] == nil {
			keys = append(keys, k)
		}
		byRow[k] = append(byRow[k], n)
	}
	for part := range slices.Chunk(keys, table.MaxGetKeys) {
		rows, err := c.Scan(part...)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			var names []string
			if r.Found() {
				if err := op.Decode(r.Data, &names); err != nil {
					return nil, err
				}
			}
			for _, n := range byRow[r.Key] {
				if at := int(n % docsInRow); at < len(names) && names[at] != "" {
					ids = append(ids, names[at])
				}
			}
		}
	}
	return ids, nil
}
