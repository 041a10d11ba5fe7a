package delivery_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"slices"
	"testing"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/closing"
	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/delivery"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/blob"
	"guildhall/pkg/blob/memblob"
	"guildhall/pkg/mail"
	"guildhall/pkg/mail/outbox"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/table"
)

// shelf is an exchange with a blob store, for the tests of files.
type shelf struct {
	*optest.Exchange
	t     testing.TB
	blobs *memblob.Store
	made  int
}

type silent struct{}

func (silent) Send(context.Context, mail.Mail) error { return nil }

func newShelf(t testing.TB, opts ...optest.Option) *shelf {
	w := &shelf{t: t}
	w.blobs = memblob.New(func() time.Time { return w.Now() }, blob.Signer{BaseURL: "http://guildhall.test", Keys: [][]byte{[]byte("sixteen bytes or more")}})
	opts = append([]optest.Option{optest.WithTimers(slices.Concat(deals.Timers, bids.Timers, wants.Timers, delivery.Timers)...),
		optest.WithEffects(slices.Concat(deals.Effects, wants.Effects, outbox.Effects, closing.Effects)...),
		optest.WithPorts(func(ctx context.Context, _ op.Touch) context.Context {
			return outbox.With(blob.With(ctx, w.blobs), outbox.Letters{Mailer: silent{}, From: "Guildhall <hall@guildhall.test>"})
		})}, opts...)
	w.Exchange = optest.New(t, opts...)
	return w
}

// fields is a JSON object.
type fields = map[string]any

// parties are a person and an agent with a deal.
type parties struct {
	*shelf
	person, agent     string // tokens
	personID, agentID string
	target, bid, id   string
}

func (w *shelf) maker() (id, token string) {
	w.t.Helper()
	w.made++
	w.Run("bench", func(c *op.Call) (err error) {
		id = c.NewID()
		a := registry.Agent{ID: id, Number: w.made, Handle: fmt.Sprintf("maker-%d", w.made), ReachableAt: c.Now, At: c.Now, Affiliation: registry.Independent,
			Operator: "Nine Doors Labs", Model: registry.Declared("Example Model 1"), System: registry.System{Label: "v1"}}
		c.Create(registry.AgentKey(id), a)
		token, err = account.AgentToken.Issue(c, id, nil, time.Time{})
		return err
	})
	return id, token
}

// asking makes a step of a free plan.
func asking(title, ask string, formats ...string) fields {
	blocks := []fields{}
	for i, f := range formats {
		b := fields{"id": fmt.Sprint("b", i), "title": "Your part", "format": f, "required": false}
		if f == "file_upload" && ask != "PROVIDE" {
			b["ask"] = "provide"
		}
		blocks = append(blocks, b)
	}
	return fields{"title": title, "ask": ask, "rounds": 1, "outcome_promise": "I will do my part.", "agent_court_estimate": 2, "person_minutes": 5,
		"line_item_amount": 0, "declared_odds": 0.6, "har_blocks": blocks}
}

// usual are the steps of most tests: files, then nothing but words, then a review.
func usual() []fields {
	return []fields{asking("Send photos", "PROVIDE", "file_upload"), asking("Send more", "PROVIDE", "file_upload", "media_upload"), asking("See the album", "APPROVE", "review_approve")}
}

// deal brings a free deal to the point where the agent works on its first step.
func (w *shelf) deal(steps ...fields) *parties {
	w.t.Helper()
	if len(steps) == 0 {
		steps = usual()
	}
	d := &parties{shelf: w}
	d.personID, d.person = w.Person(fmt.Sprintf("person%d@example.test", w.made))
	d.agentID, d.agent = w.maker()
	d.target = w.Do(wants.Post, optest.Req{Token: d.person, Body: fields{"want": "An album of our summer.", "lane": fields{"kind": "free"},
		"finish_line": fields{"tile": "object_at_door", "sentence": "An album."}}}).Want(201).Str("target_id")
	body := fields{"model_declared": "Example Model 1", "total_ask_cents": 0, "allocation": fields{"ad_spend": 0, "tools": 0, "agent_work": 0},
		"timeline_days": 7, "finish_line": "An object at the door", "finish_line_cents": 0, "pitch_title": "An album your family keeps",
		"pitch_body": "You send photos, I sort them, you get an album.", "smart_goals": []string{"Deliver one album within seven days."},
		"finalist_questions": [][]string{{"Which summer?", "How many pages?", "Who looks at it?", "What may not be in it?"}}, "steps": steps}
	d.bid = w.Do(bids.FileProposal, optest.Req{Token: d.agent, Path: d.at(""), Body: body}).Want(201).Str("proposal_id")
	w.Do(bids.Name, optest.Req{Token: d.person, Path: d.at(""), Body: fields{"proposal_id": d.bid}}).Want(201)
	w.Do(bids.Answer, optest.Req{Token: d.person, Path: d.at(""), Body: fields{"answers": []fields{{"ordinal": 1, "answer": "The last one."}}, "send": true}}).Want(200)
	w.Do(bids.FilePlan, optest.Req{Token: d.agent, Path: d.at(""), Body: fields{"steps": steps, "accept_rules": true}}).Want(200)
	d.id = w.Do(deals.Accept, optest.Req{Token: d.person, Path: d.at(""), Body: fields{"accept_rules": true}}).Want(201).Str("deal_id")
	w.Do(deals.Sign, optest.Req{Token: d.agent, Path: d.at(""), Body: fields{}}).Want(200)
	return d
}

// waiting is a deal whose first step waits for the person.
func (w *shelf) waiting(steps ...fields) *parties {
	w.t.Helper()
	d := w.deal(steps...)
	d.hand()
	return d
}

// hand works on the step in hand and hands it over.
func (d *parties) hand() {
	d.t.Helper()
	for _, p := range path.Checkpoints {
		d.Do(deals.CheckIn, optest.Req{Token: d.agent, Path: d.at(""), Body: fields{"changed": "no change", "now": "Working.", "next": "More.", "progress_percent": p}}).Want(201)
	}
	body := fields{"note": "Your turn."}
	if d.current().Str("current_step.ask") == "APPROVE" {
		body["document"] = fields{"blocks": []fields{{"type": "paragraph", "text": "It is done."}}}
	}
	d.Do(delivery.File, optest.Req{Token: d.agent, Path: d.at(""), Body: body}).Want(201)
}

// at is the path of a call, on a step when one is named.
func (d *parties) at(step string) map[string]string {
	return map[string]string{"target_id": d.target, "proposal_id": d.bid, "deal_id": d.id, "step_id": step}
}

func (d *parties) current() optest.Res {
	d.t.Helper()
	return d.Do(deals.Current, optest.Req{Token: d.agent, Path: d.at("")}).Want(200)
}

func (d *parties) step(number string) optest.Res {
	d.t.Helper()
	return d.Do(deals.ReadStep, optest.Req{Token: d.person, Path: d.at(number)}).Want(200)
}

// answer answers a step; more are further members.
func (d *parties) answer(step, verdict string, more ...any) optest.Res {
	d.t.Helper()
	body := fields{"verdict": verdict}
	for i := 0; i < len(more); i += 2 {
		body[more[i].(string)] = more[i+1]
	}
	return d.Do(deals.AnswerStep, optest.Req{Token: d.person, Path: d.at(step), Body: body})
}

// form is a multipart body with one file.
func form(name string, content []byte) (body []byte, contentType string) {
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	p, err := m.CreateFormFile("file", name)
	if err == nil {
		_, err = p.Write(content)
	}
	if err != nil || m.Close() != nil {
		panic(err)
	}
	return b.Bytes(), m.FormDataContentType()
}

// send sends bytes as a step file.
func (d *parties) send(step string, body []byte, contentType string, key ...string) optest.Res {
	d.t.Helper()
	r := optest.Req{Token: d.person, Path: d.at(step), Type: contentType, Header: map[string]string{"Content-Type": contentType}, Stream: bytes.NewReader(body)}
	if len(key) > 0 {
		r.Key = key[0]
	}
	return d.Do(delivery.Upload, r)
}

// upload lays a file on a step.
func (d *parties) upload(step, name string, content []byte) optest.Res {
	d.t.Helper()
	body, typ := form(name, content)
	return d.send(step, body, typ)
}

// json sends the JSON of a staged upload.
func (d *parties) json(step string, body fields, key ...string) optest.Res {
	d.t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		d.t.Fatal(err)
	}
	return d.send(step, b, "application/json", key...)
}

// announce announces a file and puts its bytes where they belong.
func (d *parties) announce(step, name string, content []byte) (upload string) {
	d.t.Helper()
	sum := sha256.Sum256(content)
	r := d.json(step, fields{"filename": name, "content_type": "application/octet-stream", "size_bytes": len(content), "sha256": hex.EncodeToString(sum[:])}).Want(200)
	upload = r.Str("upload_id")
	if _, err := d.blobs.Put(context.Background(), blob.UploadKey(upload), bytes.NewReader(content), blob.PutOptions{}); err != nil {
		d.t.Fatal(err)
	}
	return upload
}

// fetch downloads a material as an agent.
func (d *parties) fetch(token, file string) optest.Res {
	d.t.Helper()
	return d.Do(delivery.Material, optest.Req{Token: token, Path: map[string]string{"deal_id": d.id, "file_id": file}})
}

func (d *parties) remove(token, file string) optest.Res {
	d.t.Helper()
	return d.Do(delivery.Delete, optest.Req{Token: token, Path: map[string]string{"file_id": file}})
}

// used is what the files of the want weigh.
func (d *parties) used() (n int64) {
	d.t.Helper()
	d.Run("bench", func(c *op.Call) (err error) { n, err = wants.UsedBytes(c, d.target); return err })
	return n
}

// stored lists the keys of the blob store that begin with a prefix.
func (w *shelf) stored(prefix string) (keys []string) {
	w.t.Helper()
	p, err := w.blobs.List(context.Background(), prefix, "", 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range p.Entries {
		keys = append(keys, e.Key)
	}
	return keys
}

// png is a picture of so many bytes, at least 8.
func png(size int) []byte {
	return append([]byte("\x89PNG\r\n\x1a\n"), bytes.Repeat([]byte("a"), size-8)...)
}

// eventsOf asks for an agent's feed.
func eventsOf(agent string) table.Query {
	return table.Query{PK: "bench.FEED#" + agent, Limit: 200}.Prefix("EVENT#")
}
