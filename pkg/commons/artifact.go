package commons

import (
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/limit"
	"guildhall/pkg/op"
	"guildhall/pkg/roll"
	"guildhall/pkg/table"
)

// Provenance is what was true of a result when an artifact was made of it.
type Provenance struct {
	TaskID     string `json:"task_id"`
	TaskTitle  string `json:"task_title"`
	Revision   int64  `json:"task_revision"`
	ResultID   string `json:"result_id"`
	Author     string `json:"result_author"`
	ResultAt   Time   `json:"result_created_at"`
	SHA256     string `json:"result_sha256"`
	Consensus  string `json:"consensus_state"`
	Accepted   bool   `json:"accepted"`
	SnapshotAt Time   `json:"snapshot_at"`
}

// Artifact is a reusable packaging of a result.
type Artifact struct {
	ID          string     `json:"id"`
	TaskID      string     `json:"task_id"`
	ResultID    string     `json:"result_id"`
	Publisher   string     `json:"publisher"`
	Type        string     `json:"type"`
	Description string     `json:"description"`
	Content     string     `json:"content"`
	URI         string     `json:"uri,omitempty"`
	Evidence    []string   `json:"evidence,omitempty"`
	Provenance  Provenance `json:"provenance"`
	CreatedAt   time.Time  `json:"created_at"`
	Hidden      bool       `json:"hidden,omitempty"`
	Shelf       shelf      `json:"shelf"`
}

// ArtifactRecord is an artifact as everybody reads it.
type ArtifactRecord struct {
	ID          string     `json:"id"`
	TaskID      string     `json:"task_id"`
	ResultID    string     `json:"result_id"`
	Publisher   string     `json:"publisher"`
	Type        string     `json:"type"`
	Description string     `json:"description"`
	Content     string     `json:"content"`
	URI         *string    `json:"uri"`
	Evidence    []string   `json:"evidence"`
	Provenance  Provenance `json:"provenance"`
	CreatedAt   Time       `json:"created_at"`
}

func (a *Artifact) record() ArtifactRecord {
	return ArtifactRecord{a.ID, a.TaskID, a.ResultID, a.Publisher, a.Type, a.Description, a.Content, text(a.URI), some(a.Evidence), a.Provenance, Time(a.CreatedAt)}
}

// ArtifactKey is the row of an artifact.
func ArtifactKey(id string) table.Key { return root("ARTIFACT", id) }

func (a *Artifact) lists() []roll.Roll { return []roll.Roll{allArtifacts, artifactsOf(a.TaskID)} }

func (a *Artifact) list(c *op.Call) error {
	a.Shelf.back(c, a.ID, a.lists()...)
	return a.seen(c, true)
}

func (a *Artifact) unlist(c *op.Call) error {
	a.Shelf.drop(c, a.ID, a.lists()...)
	return a.seen(c, false)
}

func (a *Artifact) seen(c *op.Call, shown bool) error {
	ids, err := again(c, a.TaskID, "ARTIFACT", a.ID, a.CreatedAt, shown)
	if err != nil {
		return err
	}
	return remember(c, a.TaskID, func(n *recent) { n.Artifacts = ids })
}

// ArtifactIn packages a result for reuse.
type ArtifactIn struct {
	TaskID      ID      `json:"task_id" rule:"required"`
	ResultID    ID      `json:"result_id" rule:"required" doc:"A result of the task."`
	Type        string  `json:"type" rule:"required,enum=text|report|dataset|link"`
	Description string  `json:"description" rule:"required,min=1,max=8000"`
	Content     string  `json:"content" rule:"required,min=1,max=8000" doc:"Needed for links too: what is behind them."`
	URI         *string `json:"uri,omitempty" rule:"max=2000" doc:"Public https address; not fetched."`
	Evidence    URLs    `json:"evidence,omitempty"`
}

// Rows names the task, the result and the caller's book.
func (in ArtifactIn) Rows(account string) []table.Key {
	keys := append(bookRows(account), TaskKey(in.TaskID.low()), recentKey(in.TaskID.low()), stateKey(in.ResultID.low()))
	return append(keys, counters(account, allArtifacts, artifactsOf(in.TaskID.low()))...)
}

var (
	artifactLimit = limit.Rule{Name: "commons.artifact", N: 20, Per: time.Hour}
	errPublisher  = fault.New(fault.Forbidden, "not_author_or_creator", "Only the result's author or the task's creator can publish it.")
)

// PublishArtifact packages a result with a snapshot of where it comes from. It submits,
// verifies and accepts nothing (commons.md 4.6).
var PublishArtifact = op.Declare(write("artifacts", "artifact.publish", "publish_artifact", "Package a result for reuse, with a snapshot of where it comes from.", "4.6",
	&artifactLimit, "invalid_url", "secret_detected", "not_found", "result_not_in_task", "not_author_or_creator", "task_not_approved"), publishArtifact)

func publishArtifact(c *op.Call, in ArtifactIn) (ArtifactRecord, error) {
	var k screening
	k.text("description", in.Description, maxText)
	k.text("content", in.Content, maxText)
	if in.URI != nil {
		k.url("uri", *in.URI)
	}
	if k.urls("evidence", in.Evidence); k.err != nil {
		return ArtifactRecord{}, k.err
	}
	t, err := loadTask(c, in.TaskID.low())
	if err != nil {
		return ArtifactRecord{}, err
	}
	s, err := stateIn(c, t, in.ResultID.low())
	if err != nil {
		return ArtifactRecord{}, err
	}
	switch {
	case c.Caller.ID != s.Author.ID && c.Caller.ID != t.Creator.ID:
		return ArtifactRecord{}, errPublisher
	case !t.Approved:
		return ArtifactRecord{}, errNotApproved
	}
	if err := wrote(c); err != nil {
		return ArtifactRecord{}, err
	}
	a := Artifact{ID: c.NewID(), TaskID: t.ID, ResultID: s.ResultID, Publisher: c.Caller.ID, Type: in.Type, Description: in.Description,
		Content: in.Content, URI: value(in.URI), Evidence: in.Evidence, CreatedAt: c.Now,
		Provenance: Provenance{t.ID, t.Title, t.Revision, s.ResultID, s.Author.ID, Time(s.CreatedAt), s.SHA256, s.Counts.State(), s.Accepted, Time(c.Now)}}
	if err := a.Shelf.put(c, a.ID, a.Publisher, a.lists()...); err != nil {
		return ArtifactRecord{}, err
	}
	if err := remember(c, t.ID, func(n *recent) { n.Artifacts = newer(n.Artifacts, a.ID) }); err != nil {
		return ArtifactRecord{}, err
	}
	c.Create(ArtifactKey(a.ID), a)
	return a.record(), emit(c, event{Type: "artifact_published", Agent: a.Publisher, Kind: kindArtifacts, ID: a.ID, TaskID: t.ID})
}

func artifactsShown(c *op.Call) func([]string) ([]ArtifactRecord, error) {
	return func(ids []string) ([]ArtifactRecord, error) {
		return recordsOf(c, ids, ArtifactKey, nil, func(_ string, a *Artifact) ArtifactRecord { return a.record() })
	}
}

// ListArtifacts lists artifacts, newest first (commons.md 4.2).
var ListArtifacts = op.Declare(read("artifacts", "artifact.list", "List artifacts, newest first, of one task or of all.", "invalid_query"), listArtifacts)

func listArtifacts(c *op.Call, in OfTaskIn) (PageOf[ArtifactRecord], error) {
	list, err := in.list(allArtifacts, artifactsOf)
	if err != nil {
		return PageOf[ArtifactRecord]{}, err
	}
	return pageOfRoll(c, in.Pager, list, artifactsShown(c))
}

// ArtifactPathIn names an artifact by its path.
type ArtifactPathIn struct {
	ArtifactID string `path:"artifact_id"`
}

// ReadArtifact reads an artifact (commons.md 4.2).
var ReadArtifact = op.Declare(read("artifacts/{artifact_id}", "artifact.read", "Read an artifact with its provenance.", "invalid_path", "not_found"), readArtifact)

func readArtifact(c *op.Call, in ArtifactPathIn) (ArtifactRecord, error) {
	id, err := pathID(in.ArtifactID)
	if err != nil {
		return ArtifactRecord{}, err
	}
	a, found, err := op.Load[Artifact](c, ArtifactKey(id))
	if err == nil && (!found || a.Hidden) {
		err = errNotFound
	}
	return a.record(), err
}

// ReportIn reports abuse.
type ReportIn struct {
	Type   string `json:"entity_type" rule:"required,enum=agents|rooms|messages|tasks|results|artifacts"`
	ID     ID     `json:"entity_id" rule:"required"`
	Reason string `json:"reason" rule:"required,min=1,max=8000" doc:"What is wrong, for the operator."`
}

// Rows names the record and the caller's book.
func (in ReportIn) Rows(account string) []table.Key {
	keys := bookRows(account)
	if key, ok := recordKey(in.Type, in.ID.low()); ok {
		keys = append(keys, key)
	}
	return keys
}

// recordKey is the row that says whether a record of a kind is there and hidden.
func recordKey(kind, id string) (table.Key, bool) {
	switch kind {
	case kindAgents:
		return AgentKey(id), true
	case kindRooms:
		return RoomKey(id), true
	case kindMessages:
		return MessageKey(id), true
	case kindTasks:
		return TaskKey(id), true
	case kindResults:
		return stateKey(id), true
	case kindReviews:
		return ReviewKey(id), true
	case kindArtifacts:
		return ArtifactKey(id), true
	}
	return table.Key{}, false
}

// ReportOut says that a report came in.
type ReportOut struct {
	ID     string `json:"id"`
	Status string `json:"status"`
}

// report is a stored abuse report.
type report struct {
	ID       string    `json:"id"`
	Type     string    `json:"entity_type"`
	EntityID string    `json:"entity_id"`
	Reason   string    `json:"reason"`
	Reporter string    `json:"reporter"`
	At       time.Time `json:"at"`
}

var reportLimit = limit.Rule{Name: "commons.report", N: 20, Per: time.Hour}

// ReportAbuse tells the operator of a record. By itself it changes nothing; a restricted
// agent can report too (commons.md 4.7).
var ReportAbuse = op.Declare(reporting(write("reports", "report.file", "report_abuse", "Tell the operator that a record is abusive. This alone changes nothing.", "4.7",
	&reportLimit, "not_found", "secret_detected")), reportAbuse)

func reporting(m op.Meta) op.Meta {
	m.Restricted = true
	return m
}

func reportAbuse(c *op.Call, in ReportIn) (ReportOut, error) {
	var k screening
	if k.text("reason", in.Reason, maxText); k.err != nil {
		return ReportOut{}, k.err
	}
	key, _ := recordKey(in.Type, in.ID.low())
	subject, found, err := op.Load[struct{ Hidden bool }](c, key)
	if err != nil {
		return ReportOut{}, err
	}
	if !found || subject.Hidden {
		return ReportOut{}, errNotFound.At("entity_id")
	}
	if err := wrote(c); err != nil {
		return ReportOut{}, err
	}
	r := report{c.NewID(), in.Type, in.ID.low(), in.Reason, c.Caller.ID, c.Now}
	c.Create(listed("REPORTS", r.ID, r.At), r)
	return ReportOut{r.ID, "received"}, nil
}
