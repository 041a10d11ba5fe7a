package help

import (
	"time"

	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/roll"
	"guildhall/pkg/table"
	"guildhall/pkg/textindex"
)

// Verification is the only label an entry ever carries.
const Verification = "requester-accepted"

// Entry is a stored knowledge entry: a snapshot taken when the work was accepted. Only
// Hidden ever changes.
type Entry struct {
	ID           string `json:"id"`
	RequestID    string `json:"request_id"`
	SubmissionID string `json:"submission_id"`
	ReviewID     string `json:"review_id"`

	Title              string `json:"title"`
	Problem            string `json:"problem"`
	AcceptanceCriteria string `json:"acceptance_criteria"`
	ResourcePolicy     string `json:"resource_policy"`
	Summary            string `json:"summary"`
	Method             string `json:"method"`
	Evidence           string `json:"evidence"`
	Limitations        string `json:"limitations"`

	Requester   Ref       `json:"requester"`
	Contributor Ref       `json:"contributor"`
	Body        string    `json:"acceptance_body"`
	Proof       string    `json:"acceptance_evidence"`
	CreatedAt   time.Time `json:"created_at"`

	Hidden bool       `json:"hidden,omitempty"`
	Place  roll.Place `json:"place"`
	Mark   string     `json:"mark"`
}

func (e Entry) hidden() bool { return e.Hidden }

func entryKey(id string) table.Key { return table.Key{PK: "help.KNOWLEDGE#" + id, SK: "ROOT"} }

func entryCounts(id string) table.Key { return countKey(entryKey(id)) }

// knowledge is the list of all entries, newest first.
var knowledge = roll.Roll{PK: "help.ROLL#knowledge", Member: "MEMBER#", Count: "COUNT", Field: "n_", Shards: shards}

// index finds entries by what they say (help.md 7).
var index = &textindex.Index{Name: "help.TEXT#knowledge", Context: "help", Kind: "help.index", Read: readTexts}

// newest is how many entries are looked through for a text too short for the index.
const newest = 1000

// readTexts reads the searched texts of entries.
func readTexts(c *op.Call, ids []string) (docs []textindex.Doc, err error) {
	keys := make([]table.Key, len(ids))
	for i, id := range ids {
		keys[i] = entryKey(id)
	}
	rows, err := c.Scan(keys...)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if !r.Found() {
			continue
		}
		var e Entry
		if err := op.Decode(r.Data, &e); err != nil {
			return nil, err
		}
		docs = append(docs, textindex.Doc{ID: e.ID, At: e.CreatedAt, Hidden: e.Hidden,
			Text: []string{e.Title, e.Problem, e.Summary, e.Method, e.Limitations}})
	}
	return docs, nil
}

// publish stages the entry of an acceptance.
func publish(c *op.Call, r Request, s Submission, v Review) (e Entry, err error) {
	e = Entry{ID: c.NewID(), RequestID: r.ID, SubmissionID: s.ID, ReviewID: v.ID, Title: r.Title, Problem: r.Problem,
		AcceptanceCriteria: r.AcceptanceCriteria, ResourcePolicy: r.ResourcePolicy, Summary: s.Summary, Method: s.Method,
		Evidence: s.Evidence, Limitations: s.Limitations, Requester: r.Requester, Contributor: s.Contributor,
		Body: v.Body, Proof: v.Evidence, CreatedAt: c.Now}
	if e.Place, err = knowledge.Open(c, shardOf(s.ID)); err != nil {
		return e, err
	}
	e.Mark = knowledge.Add(c, e.ID, e.Place)
	c.Create(entryKey(e.ID), e)
	index.Add(c, e.ID)
	return e, nil
}

// Acceptance is what the requester said when accepting.
type Acceptance struct {
	Verdict   string `json:"verdict" rule:"enum=pass"`
	Body      string `json:"body"`
	Evidence  string `json:"evidence"`
	CreatedAt Time   `json:"createdAt"`
}

// EntryOut is a knowledge entry on the wire (help.md 4.3).
type EntryOut struct {
	ID                 string     `json:"id"`
	RequestID          string     `json:"requestId"`
	SubmissionID       string     `json:"submissionId"`
	ReviewID           string     `json:"reviewId"`
	Title              string     `json:"title"`
	Problem            string     `json:"problem"`
	AcceptanceCriteria string     `json:"acceptanceCriteria"`
	ResourcePolicy     string     `json:"resourcePolicy"`
	Summary            string     `json:"summary"`
	Method             string     `json:"method"`
	Evidence           string     `json:"evidence"`
	Limitations        string     `json:"limitations"`
	Requester          Ref        `json:"requester"`
	Contributor        Ref        `json:"contributor"`
	Acceptance         Acceptance `json:"acceptance"`
	Verification       string     `json:"verification" rule:"enum=requester-accepted" doc:"The requester's own judgement. Reproduce what matters to you."`
	Reuses             int64      `json:"reuseCount"`
	CreatedAt          Time       `json:"createdAt"`
}

func (e Entry) out(counts table.Row) EntryOut {
	return EntryOut{ID: e.ID, RequestID: e.RequestID, SubmissionID: e.SubmissionID, ReviewID: e.ReviewID, Title: e.Title, Problem: e.Problem,
		AcceptanceCriteria: e.AcceptanceCriteria, ResourcePolicy: e.ResourcePolicy, Summary: e.Summary, Method: e.Method, Evidence: e.Evidence,
		Limitations: e.Limitations, Requester: e.Requester, Contributor: e.Contributor,
		Acceptance:   Acceptance{Pass, e.Body, e.Proof, Time(e.CreatedAt)},
		Verification: Verification, Reuses: reusesOf(e.ID).Sum(counts), CreatedAt: Time(e.CreatedAt)}
}

// SearchIn is a page of entries.
type SearchIn struct {
	Paging
	Q string `query:"q" rule:"max=200" doc:"A text that title, problem, summary, method or limitations hold literally, in any case."`
}

// KnowledgeOut is a page of entries, newest first.
type KnowledgeOut struct {
	Knowledge []EntryOut `json:"knowledge"`
	Pages
	Truncated *bool `json:"searchTruncated,omitempty" doc:"With q: entries that may match were left out."`
}

// SearchKnowledge lists the entries, or those that hold a text.
var SearchKnowledge = op.Declare(noted(read("knowledge.search", "/api/knowledge", "help_search_knowledge", "4.1 H12, 7",
	"List accepted results, newest first, or find those that hold a text.", "invalid_limit", "invalid_offset", "q_too_long"),
	"An accepted result is its requester's own judgement: reproduce what matters to you. A q of three characters or more finds every entry that holds it, "+
		"unless even its rarest three characters stand in more than 2,000 entries: then the newest 2,000 of those are compared. A shorter q looks at the newest 1,000 entries. "+
		"searchTruncated says when something was left out."), searchKnowledge)

func searchKnowledge(c *op.Call, in SearchIn) (out KnowledgeOut, err error) {
	show := func(f fetched) (EntryOut, bool, error) {
		var e Entry
		err := op.Decode(f.row.Data, &e)
		return e.out(f.counts), !e.Hidden, err
	}
	q := trim(in.Q)
	if q == "" {
		out.Knowledge, out.Pages, err = page(c, in.Paging, knowledge, entryKey, entryCounts, show)
		return out, err
	}
	found, err := find(c, q)
	if err != nil {
		return out, err
	}
	var ids []string
	for _, h := range found.Hits[min(in.Offset, len(found.Hits)):min(in.Offset+in.limit(), len(found.Hits))] {
		ids = append(ids, h.ID)
	}
	fetched, cut, err := rows(c, ids, entryKey, entryCounts)
	if err != nil {
		return out, err
	}
	out.Knowledge, out.Truncated = []EntryOut{}, &found.Truncated
	for _, f := range fetched {
		e, _, err := show(f)
		if err != nil {
			return out, err
		}
		out.Knowledge = append(out.Knowledge, e)
	}
	more := cut || in.Offset+len(ids) < len(found.Hits)
	out.Pages = in.pages(int64(len(found.Hits)), len(fetched), len(ids), more && len(ids) > 0)
	return out, nil
}

// find looks for a text: in the index, or through the newest entries when it is too short.
func find(c *op.Call, q string) (textindex.Found, error) {
	if !textindex.Short(q) {
		return index.Search(c, q)
	}
	ids, _, more, err := knowledge.Page(c, 0, newest)
	if err != nil {
		return textindex.Found{}, err
	}
	hits, err := index.Compare(c, q, ids)
	return textindex.Found{Hits: hits, Truncated: more}, err
}

// EntryIn names an entry.
type EntryIn struct {
	KnowledgeID string `path:"knowledgeId"`
}

func entryRows(knowledgeID string) []table.Key {
	if !id.Valid(knowledgeID) {
		return nil
	}
	return []table.Key{entryKey(knowledgeID), entryCounts(knowledgeID)}
}

// Rows implements op.Prefetcher.
func (in EntryIn) Rows(string) []table.Key { return entryRows(in.KnowledgeID) }

// EntryAnswer wraps an entry.
type EntryAnswer struct {
	Entry EntryOut `json:"entry"`
}

// ReadKnowledge reads one entry.
var ReadKnowledge = op.Declare(noted(read("knowledge.read", "/api/knowledge/{knowledgeId}", "help_read_knowledge", "4.1 H13", "Read one accepted result.", "not_found"),
	"It is its requester's own judgement: reproduce what matters to you."),
	func(c *op.Call, in EntryIn) (out EntryAnswer, err error) {
		e, err := load[Entry](c, in.KnowledgeID, entryKey)
		if err != nil {
			return out, err
		}
		counts, err := c.Get(entryCounts(e.ID))
		return EntryAnswer{e.out(counts)}, err
	})
