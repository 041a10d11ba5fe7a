package delivery

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"

	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/proposal"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/text"
	"guildhall/pkg/text/linkgate"
)

// Limits of an outcome (bench.md 2.11, 13.2).
const (
	MaxNote         = 280       // characters of the delivery note
	MaxOutcomeText  = 3000      // characters of an inline text
	MaxOutcomeBytes = 102400    // bytes of an inline text
	MaxStreamBytes  = 200 << 20 // bytes of a streamed outcome
	MaxItems        = 20        // items attached to a step for one hand-over
)

// FileIn is an outcome (bench.md 13.2). At most one of text, document, blocks and url comes
// with the note; a body of another media type than JSON is the outcome itself, with its
// words in headers. What is too large for one request is announced first (surface.md 7).
type FileIn struct {
	TargetID    string    `path:"target_id"`
	ContentType string    `header:"Content-Type"`
	SaidNote    string    `header:"X-Delivery-Note" doc:"On a stream: the delivery note."`
	SaidStep    string    `header:"X-Step-Ref" doc:"On a stream: number, id or title of the step."`
	SaidHold    string    `header:"X-Hold" doc:"On a stream: 1 attaches it as an item and hands nothing over."`
	Stream      io.Reader `body:"other" json:"-"`

	Note     string          `json:"note,omitempty" doc:"The delivery note, 1 to 280 characters."`
	StepRef  string          `json:"step_ref,omitempty" rule:"max=120" doc:"Number, id or title of the step, as text; the one you hold when left out."`
	Text     *string         `json:"text,omitempty" doc:"Inline text, at most 3000 characters, no links."`
	Document json.RawMessage `json:"document,omitempty" doc:"{title?, blocks}: 1 to 40 of {type: heading or paragraph, text}, {type: bullets, items}, {type: image, file_id, alt?}, {type: video, youtube_id, title?}, {type: day, ordinal, title?, date?}."`
	Blocks   json.RawMessage `json:"blocks,omitempty" doc:"On a CHOOSE step: at most one {type: NOTE, text} block."`
	Options  json.RawMessage `json:"options,omitempty" doc:"On a CHOOSE step: tiles that replace the plan's, 2 to 9 of {id?, label, detail?, thumbnail_url?, thumbnail_alt?}."`
	URL      *string         `json:"url,omitempty" doc:"A link; it passes the Link Gate."`
	Kind     string          `json:"kind,omitempty" rule:"enum=url|repo" doc:"What the link leads to; url when left out."`
	Hold     bool            `json:"hold,omitempty" doc:"Attach a link or a stream as an item: no clock stops, no ask opens."`

	Filename  *string `json:"filename,omitempty" rule:"min=1,max=255" doc:"Announces a file: answered with an upload address."`
	FileType  *string `json:"content_type,omitempty" rule:"min=1,max=127"`
	SizeBytes *int64  `json:"size_bytes,omitempty" rule:"min=1"`
	SHA256    *string `json:"sha256,omitempty" rule:"pattern=^[0-9a-f]{64}$"`
	UploadID  *string `json:"upload_id,omitempty" rule:"max=64" doc:"An announced file whose bytes have arrived: it is hashed, and the bytes are deleted."`
}

// Rows implements op.Prefetcher.
func (in FileIn) Rows(account string) []table.Key {
	if !id.Valid(in.TargetID) || account == "" {
		return nil
	}
	keys := []table.Key{deals.OnTargetKey(in.TargetID, account), record.HeadKey(account)}
	if in.UploadID != nil && id.Valid(*in.UploadID) {
		keys = append(keys, streamKey(*in.UploadID))
	}
	return keys
}

// FileOut is the receipt of an outcome, or the ticket of an announced file.
type FileOut struct {
	ReceiptID string       `json:"receipt_id,omitempty"`
	SHA256    string       `json:"sha256,omitempty"`
	SizeBytes int64        `json:"size_bytes,omitempty"`
	FiledAt   *record.Time `json:"filed_at,omitempty"`
	Kind      string       `json:"kind,omitempty"`
	StepID    string       `json:"step_id,omitempty"`
	State     string       `json:"state,omitempty"`
	Version   int          `json:"version,omitempty"`
	Held      bool         `json:"held,omitempty"`
	ticket
}

// Refusals of an outcome, beyond those of the Path.
var (
	NoteRequired     = fault.New(fault.Invalid, "note_required", "Send a delivery note of 1 to 280 characters.").At("note")
	NoteTooLong      = fault.New(fault.Invalid, "note_too_long", "The delivery note is at most 280 characters.").At("note")
	NoteNotTaken     = fault.New(fault.Invalid, "note_not_taken", "A held item has no note. The note comes with the filing that hands over.").At("note")
	HoldNotTaken     = fault.New(fault.Invalid, "hold_not_taken", "Only links and streams are held.").At("hold")
	TooManyItems     = fault.New(fault.Invalid, "too_many_items", "A step carries at most 20 items. Hand them over first.")
	DocumentRequired = fault.New(fault.Invalid, "document_required", "An APPROVE step takes a document, a link or a stream, no bare text; a note alone only when the step already carries items.")
	TextTooLong      = fault.New(fault.Invalid, "outcome_text_too_long", "An inline text is at most 3000 characters.").At("text")
	LinkInText       = fault.New(fault.Invalid, "link_in_outcome_text", "Texts and documents hold no links. File a link as an outcome of its own; with hold it is an item beside what you file next.")
	OneForm          = fault.New(fault.Invalid, "one_form_only", "Send only one of text, document, blocks, url and a file.")
	OptionsInvalid   = fault.New(fault.Invalid, "options_invalid", "Send 2 to 9 options, each with a label of its own; only a CHOOSE step takes them.").At("options")
	OverDelivery     = fault.New(fault.Invalid, "options_are_the_delivery", "On a CHOOSE step the options are the delivery: put the facts into their details.").
				With("rej", "REJ-27")
	StreamTooLarge = fault.New(fault.TooLarge, "stream_too_large", "A streamed outcome is at most 200 MB.").With("limit_bytes", int64(MaxStreamBytes))
	StreamEmpty    = fault.New(fault.Invalid, "stream_empty", "There is nothing in this stream.")
)

// File files an outcome: the ball goes to the person, unless it is held (bench.md 13.2).
var File = op.Declare(op.Meta{
	ID: "bench.outcome.file", Method: "POST", Path: "/api/bench/targets/{target_id}/outcomes", Status: 201, OrStatus: 200, Tool: "file_outcome",
	ToolArgs: []string{"note", "step_ref", "text", "document", "blocks", "options", "url", "kind", "hold"},
	Auth:     op.Maker, Scope: "deals:write", Idempotent: op.KeyRequired, Limit: &registry.Writes, Touches: op.Blobs | op.Links,
	MaxBody: MaxStreamBytes, Timeout: uploadTimeout, Summary: "File an outcome on the step you hold.",
	Notes: "A body that is not JSON is hashed as it arrives and not kept: send its note as X-Delivery-Note. " +
		"hold attaches a link or a stream without handing over; the filing that hands over carries the note.",
	Also: []op.AlsoTool{{Tool: "file_document_outcome", Text: "File a sectioned document on the step you hold.", Args: []string{"document", "note", "step_ref"}}},
	Faults: []string{"out_of_turn_filing", "one_ball_violation", "too_many_items", "progress_not_100", "note_required", "note_too_long", "note_not_taken",
		"hold_not_taken", "one_form_only", "document_required", "outcome_text_too_long", "link_in_outcome_text", "document_invalid", "options_are_the_delivery",
		"options_invalid", "outcome_secret", "outcome_off_platform_payment", "outcome_credential_request", "link_rejected", "link_held",
		"stream_too_large", "stream_empty", "body_incomplete", "type_not_allowed", "upload_unknown", "upload_missing", "upload_mismatch"},
	Contract: "bench.md 13.2",
}, file)

// Forms of a filing.
const (
	formNote     = "note"
	formText     = "text"
	formDocument = "document"
	formBlocks   = "blocks"
	formLink     = "url"
	formStream   = "stream"
	formAnnounce = "announce"
	formClaim    = "upload_id"
)

// form is the one form a filing has; one is false when it has several.
func (in *FileIn) form() (form string, one bool) {
	form, n := formNote, 0
	for _, f := range []struct {
		name string
		sent bool
	}{{formText, in.Text != nil}, {formDocument, sent(in.Document)}, {formBlocks, sent(in.Blocks)}, {formLink, in.URL != nil},
		{formStream, in.Stream != nil}, {formClaim, in.UploadID != nil},
		{formAnnounce, in.Filename != nil || in.FileType != nil || in.SizeBytes != nil || in.SHA256 != nil}} {
		if f.sent {
			form, n = f.name, n+1
		}
	}
	return form, n <= 1
}

// filing is one outcome while it is checked.
type filing struct {
	c       *op.Call
	in      FileIn
	form    string
	hold    bool
	d       *path.Deal
	s       *path.Step
	planned *proposal.Step // nil on the platform's own steps
	o       *deals.Outcome
	kept    *deals.Kept
	verdict linkgate.Verdict // of the rules, about the link
	// screened are the texts the screens look at, by field.
	screened [][2]string
}

func file(c *op.Call, in FileIn) (FileOut, error) {
	f := &filing{c: c, in: in, o: &deals.Outcome{Kind: deals.KindNote}}
	if err := f.words(); err != nil {
		return FileOut{}, err
	}
	if err := f.turn(); err != nil {
		return FileOut{}, err
	}
	if f.form == formAnnounce {
		return f.announce()
	}
	for _, check := range []func() error{f.note, f.read, f.screen, f.link, f.stream} {
		if err := check(); err != nil {
			return FileOut{}, err
		}
	}
	return f.commit()
}

// words takes the words of a streamed filing from its headers.
func (f *filing) words() error {
	if f.in.Stream == nil {
		f.hold = f.in.Hold
		return nil
	}
	f.in.Note, f.in.StepRef = f.in.SaidNote, f.in.SaidStep
	switch f.in.SaidHold {
	case "1", "true":
		f.hold = true
	case "", "0", "false":
	default:
		return fault.InvalidField.At("X-Hold").Say("X-Hold is 1 or left out.")
	}
	return nil
}

// rows are what the filing's form needs beside the deal.
func (f *filing) rows(deal string) []table.Key {
	switch {
	case f.in.URL != nil:
		f.gate()
		return []table.Key{deals.LinkKey(deals.LinkID(deal, f.verdict.URL)), probeKey(f.verdict.URL), f.c.ChargeKey(heldRule, deal)}
	case sent(f.in.Document):
		return imageKeys(deal, f.in.Document)
	}
	return nil
}

// turn reads the deal and refuses a filing that is not due.
func (f *filing) turn() (err error) {
	if f.d, err = deals.Working(f.c, f.in.TargetID, f.rows); err != nil {
		return err
	}
	var one bool
	f.form, one = f.in.form()
	// An item needs no pulse, and a file may be on its way before the work is at 100 percent.
	if f.s, err = f.d.CanFile(text.Normalize(f.in.StepRef), f.hold || f.form == formAnnounce); err != nil {
		return err
	}
	if f.hold && f.s.Items >= MaxItems {
		return TooManyItems
	}
	plan, err := deals.LoadPlan(f.c, f.d.ID)
	if err != nil {
		return err
	}
	f.planned = plan.Of(f.s)
	if !one && f.form == formAnnounce {
		return OneForm
	}
	return nil
}

// note checks the words that lead the outcome, and that it has one form.
func (f *filing) note() error {
	f.o.Note = text.Normalize(f.in.Note)
	n := text.Len(f.o.Note)
	_, one := f.in.form()
	switch {
	case f.hold && n > 0:
		return NoteNotTaken
	case !f.hold && n == 0:
		return NoteRequired
	case n > MaxNote:
		return NoteTooLong
	case !one:
		return OneForm
	case f.hold && f.form != formLink && f.form != formStream && f.form != formClaim:
		return HoldNotTaken
	}
	f.screened = append(f.screened, [2]string{"note", f.o.Note})
	return nil
}

// read checks what was sent, by its form, up to the screens.
func (f *filing) read() error {
	var err error
	switch f.form {
	case formText:
		err = f.readText()
	case formDocument:
		err = f.readDocument()
	case formBlocks:
		err = f.readBlocks()
	case formNote:
		if f.s.Ask == proposal.Approve && f.s.Items == 0 && f.s.Version == 0 {
			err = DocumentRequired // a note alone hands over what the step already carries
		}
	}
	if err != nil {
		return err
	}
	return f.readOptions()
}

func sent(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

func (f *filing) readText() error {
	t := text.Normalize(*f.in.Text)
	switch {
	case f.s.Ask == proposal.Approve:
		return DocumentRequired
	case len(t) > MaxOutcomeBytes:
		return fault.BodyTooLarge.With("limit_bytes", MaxOutcomeBytes)
	case text.Len(t) > MaxOutcomeText:
		return TextTooLong
	case t == "":
		return fault.InvalidField.At("text").Say("text must not be empty.")
	case text.BareURL(t):
		return LinkInText.At("text")
	}
	f.o.Kind, f.kept = deals.KindText, &deals.Kept{Text: t}
	f.screened = append(f.screened, [2]string{"text", t})
	return nil
}

// readBlocks takes the one NOTE block a CHOOSE step may carry (REJ-27).
func (f *filing) readBlocks() error {
	var blocks []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(f.in.Blocks, &blocks); err != nil {
		return fault.InvalidField.At("blocks").Say("blocks must be a list of at most one NOTE block.")
	}
	if f.s.Ask != proposal.Choose || len(blocks) != 1 || blocks[0].Type != "NOTE" {
		return OverDelivery.At("blocks")
	}
	t := text.Normalize(blocks[0].Text)
	if text.Len(t) > MaxNote {
		return NoteTooLong.At("blocks[0].text")
	}
	f.screened = append(f.screened, [2]string{"blocks[0].text", t})
	if t != "" {
		f.kept, f.o.Block = &deals.Kept{Text: t}, true
	}
	return nil
}

// screen refuses what no delivered text may carry.
func (f *filing) screen() error {
	for _, s := range f.screened {
		if err := screenOutcome(s[0], s[1]); err != nil {
			return err
		}
	}
	return nil
}

// commit stages the outcome: as an item, or as the hand-over.
func (f *filing) commit() (FileOut, error) {
	if err := digest(f.o, f.kept); err != nil {
		return FileOut{}, err
	}
	o, c, word := f.o, f.c, record.OutcomeFiled
	o.ID, o.FiledAt, o.Version, o.Unanswered, o.Held = c.NewID(), c.Now, f.s.Version+1, f.s.Unread, f.hold
	var err error
	if f.hold {
		word = path.ItemAttached
		_, err = f.d.Attach(c.Now, word)
	} else {
		_, err = f.d.File(c.Now, o.Kind)
	}
	if err != nil {
		return FileOut{}, err
	}
	deals.PutOutcome(c, f.d, f.s, o, f.kept)
	return receiptOf(o, f.s), deals.Commit(c, f.d, map[record.Word]map[string]any{word: {"receipt_id": o.ID, "sha256": o.SHA256, "kind": o.Kind}})
}

func receiptOf(o *deals.Outcome, s *path.Step) FileOut {
	return FileOut{ReceiptID: o.ID, SHA256: o.SHA256, SizeBytes: o.Bytes, FiledAt: record.At(o.FiledAt), Kind: o.Kind, StepID: s.ID, State: s.State,
		Version: o.Version, Held: o.Held}
}

// digest fills in the receipt: hash and size of what was delivered. A note alone and a
// link are their own delivery.
func digest(o *deals.Outcome, kept *deals.Kept) error {
	if o.SHA256 != "" { // a stream brings its own
		return nil
	}
	body := []byte(o.Note)
	if kept != nil && kept.Document != nil {
		var err error
		if body, err = json.Marshal(kept.Document); err != nil {
			return err
		}
	} else if kept != nil {
		body = []byte(kept.Text)
	}
	if o.Kind == deals.KindLink {
		body = []byte(o.URL)
	}
	sum := sha256.Sum256(body)
	o.SHA256, o.Bytes = hex.EncodeToString(sum[:]), int64(len(body))
	return nil
}
