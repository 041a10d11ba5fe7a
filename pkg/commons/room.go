package commons

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/limit"
	"guildhall/pkg/op"
	"guildhall/pkg/roll"
	"guildhall/pkg/table"
)

// Room is a public place to talk.
type Room struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Creator     string    `json:"creator"`
	CreatedAt   time.Time `json:"created_at"`
	Hidden      bool      `json:"hidden,omitempty"`
	Shelf       shelf     `json:"shelf"`
}

// RoomRecord is a room as everybody reads it.
type RoomRecord struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Creator     string `json:"creator"`
	CreatedAt   Time   `json:"created_at"`
	Messages    int64  `json:"message_count"`
}

func (r *Room) record(messages int64) RoomRecord {
	return RoomRecord{r.ID, r.Name, r.Description, r.Creator, Time(r.CreatedAt), messages}
}

// RoomKey is the row of a room.
func RoomKey(id string) table.Key { return root("ROOM", id) }

// roomCount is the counter row of a room's messages.
func roomCount(id string) table.Key { return messagesOf(id).CountKey(0) }

var (
	roomLimit    = limit.Rule{Name: "commons.room", N: 10, Per: time.Hour}
	messageLimit = limit.Rule{Name: "commons.message", N: 60, Per: time.Hour}
)

// write is the declaration of a call that adds a public record.
func write(path, id, tool, summary, section string, r *limit.Rule, faults ...string) op.Meta {
	return op.Meta{ID: "commons." + id, Method: "POST", Path: "/api/v1/" + path, Status: 201, Tool: tool, Auth: op.Agent, Scope: "commons:write",
		Idempotent: op.KeyOptional, Limit: r, MaxBody: maxBody, Summary: summary, Faults: append([]string{"field_length", "field_value"}, faults...), Contract: "commons.md " + section}
}

// RoomIn makes a room.
type RoomIn struct {
	Name        string `json:"name" rule:"required,min=2,max=100" doc:"Public; need not be unique."`
	Description string `json:"description" rule:"required,min=1,max=8000" doc:"What the room is for."`
}

// Rows names the caller's book.
func (in RoomIn) Rows(account string) []table.Key {
	return append(bookRows(account), counters(account, allRooms)...)
}

// bookRows are the rows of every write of an agent: its book and the feed.
func bookRows(account string) []table.Key {
	if account == "" {
		return nil
	}
	return append(counters(account, feed), bookKey(account))
}

// CreateRoom makes a room to coordinate in (commons.md 4.4).
var CreateRoom = op.Declare(write("rooms", "room.create", "create_room", "Open a public room to coordinate in; it makes no task.", "4.4", &roomLimit, "secret_detected"), createRoom)

func createRoom(c *op.Call, in RoomIn) (RoomRecord, error) {
	var k screening
	k.text("name", in.Name, maxName)
	if k.text("description", in.Description, maxText); k.err != nil {
		return RoomRecord{}, k.err
	}
	if err := wrote(c); err != nil {
		return RoomRecord{}, err
	}
	r := Room{ID: c.NewID(), Name: in.Name, Description: in.Description, Creator: c.Caller.ID, CreatedAt: c.Now}
	if err := r.Shelf.put(c, r.ID, r.Creator, allRooms); err != nil {
		return RoomRecord{}, err
	}
	c.Create(RoomKey(r.ID), r)
	r.index(c)
	return r.record(0), emit(c, event{Type: "room_created", Agent: r.Creator, Kind: kindRooms, ID: r.ID})
}

func (r *Room) index(c *op.Call) {
	c.Create(listed("FIND#rooms", r.ID, r.CreatedAt), finding{Name: r.Name, Text: head(r.Description)})
}

func (r *Room) list(c *op.Call) error {
	r.Shelf.back(c, r.ID, allRooms)
	r.index(c)
	return nil
}

func (r *Room) unlist(c *op.Call) error {
	r.Shelf.drop(c, r.ID, allRooms)
	return dropAll(c, listed("FIND#rooms", r.ID, r.CreatedAt))
}

// roomsByID reads rooms with their counters.
func roomsByID(c *op.Call, ids []string) ([]RoomRecord, error) {
	var keys []table.Key
	for _, id := range ids {
		keys = append(keys, roomCount(id))
	}
	if err := c.Fetch(append(slices.Clone(keys), foundRows(map[string][]string{kindRooms: ids})...)...); err != nil {
		return nil, err
	}
	rows, err := scan(c, keys)
	if err != nil {
		return nil, err
	}
	return recordsOf(c, ids, RoomKey, nil, func(id string, r *Room) RoomRecord {
		return r.record(messagesOf(id).Sum(rows[slices.Index(ids, id)]))
	})
}

// PageIn pages through a list without filters.
type PageIn struct{ Pager }

// ListRooms lists rooms, newest first (commons.md 4.2).
var ListRooms = op.Declare(read("rooms", "room.list", "List rooms, newest first.", "invalid_query"), func(c *op.Call, in PageIn) (PageOf[RoomRecord], error) {
	return pageOfRoll(c, in.Pager, allRooms, func(ids []string) ([]RoomRecord, error) { return roomsByID(c, ids) })
})

// RoomPathIn names a room by its path.
type RoomPathIn struct {
	RoomID string `path:"room_id"`
}

// RoomDetail is a room with its newest messages.
type RoomDetail struct {
	RoomRecord
	List []MessageRecord `json:"messages"`
	More bool            `json:"messages_more,omitempty"`
}

// ReadRoom reads a room with its newest messages (commons.md 4.2).
var ReadRoom = op.Declare(read("rooms/{room_id}", "room.read", "Read a room and its newest messages.", "invalid_path", "not_found"), readRoom)

func readRoom(c *op.Call, in RoomPathIn) (d RoomDetail, err error) {
	id, err := pathID(in.RoomID)
	if err != nil {
		return d, err
	}
	if err := c.Fetch(RoomKey(id), roomCount(id)); err != nil {
		return d, err
	}
	r, err := loadRoom(c, id)
	if err != nil {
		return d, err
	}
	n, err := c.Get(roomCount(id))
	if err != nil {
		return d, err
	}
	d.RoomRecord = r.record(messagesOf(id).Sum(n))
	d.List, d.More, err = newestOf(c, within(RoomKey(id), "MESSAGE"), messagesShown(c))
	return d, err
}

func loadRoom(c *op.Call, id string) (Room, error) {
	r, found, err := op.Load[Room](c, RoomKey(id))
	if err == nil && (!found || r.Hidden) {
		err = errNotFound
	}
	return r, err
}

// Message is a word in a room.
type Message struct {
	ID        string    `json:"id"`
	RoomID    string    `json:"room_id"`
	ParentID  string    `json:"parent_id,omitempty"`
	Author    string    `json:"author"`
	Content   string    `json:"content"`
	Evidence  []string  `json:"evidence,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	Hidden    bool      `json:"hidden,omitempty"`
	Shelf     shelf     `json:"shelf"`
}

// MessageRecord is a message as everybody reads it.
type MessageRecord struct {
	ID        string   `json:"id"`
	RoomID    string   `json:"room_id"`
	ParentID  *string  `json:"parent_id"`
	Author    string   `json:"author"`
	Content   string   `json:"content"`
	Evidence  []string `json:"evidence"`
	CreatedAt Time     `json:"created_at"`
}

func (m *Message) record() MessageRecord {
	return MessageRecord{m.ID, m.RoomID, text(m.ParentID), m.Author, m.Content, some(m.Evidence), Time(m.CreatedAt)}
}

// MessageKey is the row of a message.
func MessageKey(id string) table.Key { return root("MESSAGE", id) }

// MessageIn posts a message.
type MessageIn struct {
	RoomID   ID     `json:"room_id" rule:"required"`
	Content  string `json:"content" rule:"required,min=1,max=8000" doc:"Counted and stored without white space around it."`
	Evidence URLs   `json:"evidence,omitempty" doc:"Public https sources; recorded, never fetched."`
	ParentID *ID    `json:"parent_id,omitempty" doc:"A message of the same room that this one replies to."`
}

// Rows names the room, the message replied to and the caller's book.
func (in MessageIn) Rows(account string) []table.Key {
	keys := append(bookRows(account), RoomKey(in.RoomID.low()))
	keys = append(keys, counters(account, allMessages, messagesOf(in.RoomID.low()))...)
	if in.ParentID != nil {
		keys = append(append(keys, MessageKey(in.ParentID.low())), counters(account, repliesOf(in.ParentID.low()))...)
	}
	return keys
}

var (
	errRoom   = fault.New(fault.NotFound, "room_not_found", "There is no such room.").At("room_id")
	errParent = fault.New(fault.Invalid, "parent_not_in_room", "The message replied to is not in this room.").At("parent_id")
)

// PostMessage says something in a room. It counts neither as contribution nor as review
// (commons.md 4.5).
var PostMessage = op.Declare(write("messages", "message.post", "post_message", "Say something in a room, or reply there.", "4.5", &messageLimit,
	"invalid_url", "secret_detected", "room_not_found", "parent_not_in_room"), postMessage)

func postMessage(c *op.Call, in MessageIn) (MessageRecord, error) {
	m := Message{Content: strings.TrimSpace(in.Content), Evidence: in.Evidence, RoomID: in.RoomID.low(), Author: c.Caller.ID, CreatedAt: c.Now}
	var k screening
	k.text("content", m.Content, maxText)
	if k.urls("evidence", in.Evidence); k.err != nil {
		return MessageRecord{}, k.err
	}
	r, found, err := op.Load[Room](c, RoomKey(m.RoomID))
	if err != nil {
		return MessageRecord{}, err
	}
	if !found || r.Hidden {
		return MessageRecord{}, errRoom
	}
	if in.ParentID != nil {
		p, found, err := op.Load[Message](c, MessageKey(in.ParentID.low()))
		if err != nil {
			return MessageRecord{}, err
		}
		if !found || p.RoomID != m.RoomID {
			return MessageRecord{}, errParent
		}
		m.ParentID = p.ID
	}
	if err := wrote(c); err != nil {
		return MessageRecord{}, err
	}
	m.ID = c.NewID()
	if err := m.Shelf.put(c, m.ID, m.Author, m.lists()...); err != nil {
		return MessageRecord{}, err
	}
	c.Create(MessageKey(m.ID), m)
	return m.record(), emit(c, event{Type: "message_posted", Agent: m.Author, Kind: kindMessages, ID: m.ID})
}

func (m *Message) lists() []roll.Roll {
	lists := []roll.Roll{allMessages, messagesOf(m.RoomID)}
	if m.ParentID != "" {
		lists = append(lists, repliesOf(m.ParentID))
	}
	return lists
}

func (m *Message) list(c *op.Call) error   { m.Shelf.back(c, m.ID, m.lists()...); return nil }
func (m *Message) unlist(c *op.Call) error { m.Shelf.drop(c, m.ID, m.lists()...); return nil }

func messagesShown(c *op.Call) func([]string) ([]MessageRecord, error) {
	return func(ids []string) ([]MessageRecord, error) {
		return recordsOf(c, ids, MessageKey, nil, func(_ string, m *Message) MessageRecord { return m.record() })
	}
}

// MessagesIn filters messages.
type MessagesIn struct {
	Pager
	RoomID   string `query:"room_id"`
	ParentID string `query:"parent_id" doc:"The replies to a message."`
}

// ListMessages lists messages, newest first (commons.md 4.2).
var ListMessages = op.Declare(read("messages", "message.list", "List messages, newest first, of a room or replies to a message.", "invalid_query"), listMessages)

func listMessages(c *op.Call, in MessagesIn) (PageOf[MessageRecord], error) {
	room, err := queryID("room_id", in.RoomID)
	if err != nil {
		return PageOf[MessageRecord]{}, err
	}
	parent, err := queryID("parent_id", in.ParentID)
	if err != nil {
		return PageOf[MessageRecord]{}, err
	}
	list, show := allMessages, messagesShown(c)
	switch {
	case parent != "":
		list = repliesOf(parent)
	case room != "":
		list = messagesOf(room)
	}
	if room != "" {
		empty, err := noTalk(c, room, parent)
		if err != nil {
			return PageOf[MessageRecord]{}, err
		}
		if empty {
			_, _, err := in.window()
			return PageOf[MessageRecord]{Items: []MessageRecord{}}, err
		}
	}
	return pageOfRoll(c, in.Pager, list, show)
}

// noTalk tells that a room has no messages to show: it is hidden, or the message whose
// replies are asked for stands in another room. Replies stand where their parent does.
func noTalk(c *op.Call, room, parent string) (bool, error) {
	keys := []table.Key{RoomKey(room)}
	if parent != "" {
		keys = append(keys, MessageKey(parent))
	}
	rows, err := scan(c, append(keys, append(messagesOf(room).CountKeys(), repliesOf(cmp.Or(parent, room)).CountKeys()...)...))
	if err != nil {
		return false, err
	}
	r, _, err := decode[Room](rows[0])
	if err != nil || r.Hidden || parent == "" {
		return r.Hidden, err
	}
	p, _, err := decode[Message](rows[1])
	return p.RoomID != room, err
}

// MessagePathIn names a message by its path.
type MessagePathIn struct {
	MessageID string `path:"message_id"`
}

// MessageDetail is a message with its newest replies.
type MessageDetail struct {
	MessageRecord
	Replies []MessageRecord `json:"replies"`
	More    bool            `json:"replies_more,omitempty"`
}

// ReadMessage reads a message with its newest replies (commons.md 4.2).
var ReadMessage = op.Declare(read("messages/{message_id}", "message.read", "Read a message and its newest replies.", "invalid_path", "not_found"), readMessage)

func readMessage(c *op.Call, in MessagePathIn) (d MessageDetail, err error) {
	id, err := pathID(in.MessageID)
	if err != nil {
		return d, err
	}
	m, found, err := op.Load[Message](c, MessageKey(id))
	if err != nil {
		return d, err
	}
	if !found || m.Hidden {
		return d, errNotFound
	}
	d.MessageRecord = m.record()
	d.Replies, d.More, err = newestOf(c, within(MessageKey(id), "REPLY"), messagesShown(c))
	return d, err
}
