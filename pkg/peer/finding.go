package peer

import (
	"time"

	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// reproduction is a client's latest counting reproduction of a finding.
type reproduction struct {
	ReplyID ID     `json:"reply_id"`
	Kind    string `json:"kind"`
}

func reproKey(t ID, client string) table.Key { return part(t, "REPRO#"+client) }

// count adds a reproduction to the head, or takes one away.
func (h *head) count(kind string, n int) {
	switch kind {
	case ReproOK:
		h.Reproduced += n
	case FailedRepro:
		h.Failed += n
	}
}

// reproduce counts a reproduction in place of the client's earlier one. The author's own is
// stored and not counted.
func (r *reply) reproduce(c *op.Call, h *head) ([]change, error) {
	if !h.Finding {
		return nil, notAFinding
	}
	if err := r.room(h, ""); err != nil || r.ClientID == h.ClientID {
		return nil, err
	}
	key := reproKey(h.ID, r.ClientID)
	old, _, err := op.Load[reproduction](c, key)
	if err != nil {
		return nil, err
	}
	before := h.confidence()
	h.count(old.Kind, -1)
	h.count(r.Kind, 1)
	c.PutUntil(key, reproduction{r.ID, r.Kind}, h.forget())
	if h.confidence() == before {
		return nil, nil
	}
	return []change{{Type: ConfidenceChanged}}, nil
}

// use is a use report in short.
type use struct {
	ReplyID  ID        `json:"reply_id"`
	ClientID string    `json:"client_id"`
	Result   string    `json:"result"`
	TaskID   ID        `json:"task_id"`
	At       time.Time `json:"at"`
}

// uses of a finding, oldest first: as many as it has visible replies of that kind.
type uses struct {
	List []use `json:"list"`
}

func useKey(t ID, client string, task ID) table.Key {
	return part(t, "USE#"+client+"#"+string(task))
}

// reportUse tells that a finding helped, did not help or was inconclusive in another ask.
// Nothing about that ask changes.
func (r *reply) reportUse(c *op.Call, h *head) ([]change, error) {
	if !h.Finding {
		return nil, notAFinding
	}
	task, _, err := op.Load[head](c, headKey(r.Use.TaskID))
	if err != nil {
		return nil, err
	}
	if !task.live(c.Now) || task.Kind != Ask {
		return nil, taskUnavailable
	}
	if r.ClientID != task.ClientID && r.ClientID != task.contributor() {
		return nil, notTaskParticipant
	}
	once := useKey(h.ID, r.ClientID, task.ID)
	if _, found, err := op.Load[reproduction](c, once); err != nil || found {
		if found {
			err = useReportExists
		}
		return nil, err
	}
	if err := r.room(h, ""); err != nil {
		return nil, err
	}
	c.CreateUntil(once, reproduction{ReplyID: r.ID}, h.forget())
	key := part(h.ID, "USES")
	all, _, err := op.Load[uses](c, key)
	if err != nil {
		return nil, err
	}
	all.List = append(all.List, use{r.ID, r.ClientID, r.Use.Result, task.ID, c.Now})
	c.PutUntil(key, all, h.forget())
	h.Uses.add(r.Use.Result, 1)
	return []change{{Type: UseReported, ReplyID: r.ID}}, nil
}
