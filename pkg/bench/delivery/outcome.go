package delivery

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

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
)

// Limits of an outcome (bench.md 2.11, 13.2).
const (
	MaxNote         = 280    // characters of the delivery note
	MaxOutcomeText  = 3000   // characters of an inline text
	MaxOutcomeBytes = 102400 // bytes of an inline text
)

// FileIn is an outcome (bench.md 13.2). Exactly one of text, document and blocks may come
// with the note, or none: a note alone.
type FileIn struct {
	TargetID string          `path:"target_id"`
	Note     string          `json:"note,omitempty" doc:"The delivery note, 1 to 280 characters."`
	StepRef  string          `json:"step_ref,omitempty" rule:"max=120" doc:"Number, id or title of the step; the one you hold when left out."`
	Text     *string         `json:"text,omitempty" doc:"Inline text, at most 3000 characters, no links."`
	Document json.RawMessage `json:"document,omitempty" doc:"A sectioned document."`
	Blocks   json.RawMessage `json:"blocks,omitempty" doc:"On a CHOOSE step: at most one NOTE block."`
	Options  json.RawMessage `json:"options,omitempty" doc:"On a CHOOSE step: tiles that replace the plan's."`
}

// Rows implements op.Prefetcher.
func (in FileIn) Rows(account string) []table.Key {
	if !id.Valid(in.TargetID) || account == "" {
		return nil
	}
	return []table.Key{deals.OnTargetKey(in.TargetID, account), record.HeadKey(account)}
}

// FileOut is the receipt of an outcome.
type FileOut struct {
	ReceiptID string      `json:"receipt_id"`
	SHA256    string      `json:"sha256"`
	FiledAt   record.Time `json:"filed_at"`
	Kind      string      `json:"kind"`
	StepID    string      `json:"step_id"`
	State     string      `json:"state"`
	Version   int         `json:"version"`
}

// Refusals of an outcome, beyond those of the Path.
var (
	NoteRequired     = fault.New(fault.Invalid, "note_required", "Send a delivery note of 1 to 280 characters.").At("note")
	NoteTooLong      = fault.New(fault.Invalid, "note_too_long", "The delivery note is at most 280 characters.").At("note")
	DocumentRequired = fault.New(fault.Invalid, "document_required", "An APPROVE step takes a document; a note alone only when the step already carries items.")
	TextTooLong      = fault.New(fault.Invalid, "outcome_text_too_long", "An inline text is at most 3000 characters.").At("text")
	LinkInText       = fault.New(fault.Invalid, "link_in_outcome_text", "File a link as an outcome of its own, not inside a text.")
	OneForm          = fault.New(fault.Invalid, "one_form_only", "Send only one of text, document and blocks.")
	OptionsInvalid   = fault.New(fault.Invalid, "options_invalid", "Send 2 to 9 options, each with a label of its own; only a CHOOSE step takes them.").At("options")
	OverDelivery     = fault.New(fault.Invalid, "options_are_the_delivery", "On a CHOOSE step the options are the delivery: put the facts into their details.").
				With("rej", "REJ-27")
)

// File files an outcome: the ball goes to the person (bench.md 13.2).
var File = op.Declare(op.Meta{
	ID: "bench.outcome.file", Method: "POST", Path: "/api/bench/targets/{target_id}/outcomes", Status: 201, Tool: "file_outcome",
	Auth: op.Maker, Scope: "deals:write", Idempotent: op.KeyRequired, Limit: &registry.Writes, Summary: "File an outcome on the step you hold.",
	Also: []op.AlsoTool{{Tool: "file_document_outcome", Text: "File a sectioned document on the step you hold.", Args: []string{"document", "note", "step_ref"}}},
	Faults: []string{"out_of_turn_filing", "one_ball_violation", "progress_not_100", "note_required", "note_too_long", "one_form_only",
		"document_required", "outcome_text_too_long", "link_in_outcome_text", "document_invalid", "options_are_the_delivery",
		"options_invalid", "outcome_secret", "outcome_off_platform_payment", "outcome_credential_request"},
	Contract: "bench.md 13.2",
}, file)

func file(c *op.Call, in FileIn) (FileOut, error) {
	d, err := deals.Working(c, in.TargetID)
	if err != nil {
		return FileOut{}, err
	}
	s, err := d.CanFile(text.Normalize(in.StepRef), false)
	if err != nil {
		return FileOut{}, err
	}
	plan, err := deals.LoadPlan(c, d.ID)
	if err != nil {
		return FileOut{}, err
	}
	o, kept, err := in.read(s, plan.Of(s))
	if err != nil {
		return FileOut{}, err
	}
	o.ID, o.FiledAt, o.Version, o.Unanswered = c.NewID(), c.Now, s.Version+1, s.Unread
	if _, err := d.File(c.Now, o.Kind); err != nil {
		return FileOut{}, err
	}
	deals.PutOutcome(c, d, s, o, kept)
	return receiptOf(o, s), deals.Commit(c, d, map[record.Word]map[string]any{record.OutcomeFiled: {"receipt_id": o.ID, "sha256": o.SHA256}})
}

func receiptOf(o *deals.Outcome, s *path.Step) FileOut {
	return FileOut{o.ID, o.SHA256, record.Time(o.FiledAt), o.Kind, s.ID, s.State, o.Version}
}

// read checks a filing in the order of bench.md 13.2 and gives what is to be stored.
func (in *FileIn) read(s *path.Step, planned *proposal.Step) (*deals.Outcome, *deals.Kept, error) {
	o := &deals.Outcome{Kind: deals.KindNote, Note: text.Normalize(in.Note)}
	switch n := text.Len(o.Note); {
	case n == 0:
		return nil, nil, NoteRequired
	case n > MaxNote:
		return nil, nil, NoteTooLong
	}
	forms := 0
	for _, sent := range []bool{in.Text != nil, sent(in.Document), sent(in.Blocks)} {
		if sent {
			forms++
		}
	}
	if forms > 1 {
		return nil, nil, OneForm
	}
	var kept *deals.Kept
	var err error
	switch {
	case in.Text != nil:
		kept, err = in.readText(s)
		o.Kind = deals.KindText
	case sent(in.Document):
		kept, err = in.readDocument(s, planned)
		o.Kind = deals.KindDocument
	case sent(in.Blocks):
		err = readBlocks(in.Blocks, s)
	case s.Ask == proposal.Approve && s.Items == 0 && s.Version == 0:
		err = DocumentRequired // a note alone hands over what the step already carries
	}
	if err != nil {
		return nil, nil, err
	}
	if err := readOptions(o, in.Options, s, planned); err != nil {
		return nil, nil, err
	}
	if err := screenOutcome("note", o.Note); err != nil {
		return nil, nil, err
	}
	return o, kept, digest(o, kept)
}

func sent(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

func (in *FileIn) readText(s *path.Step) (*deals.Kept, error) {
	t := text.Normalize(*in.Text)
	switch {
	case s.Ask == proposal.Approve:
		return nil, DocumentRequired
	case len(t) > MaxOutcomeBytes:
		return nil, fault.BodyTooLarge.With("limit_bytes", MaxOutcomeBytes)
	case text.Len(t) > MaxOutcomeText:
		return nil, TextTooLong
	case t == "":
		return nil, fault.InvalidField.At("text").Say("text must not be empty.")
	case text.BareURL(t):
		return nil, LinkInText.At("text")
	}
	return &deals.Kept{Text: t}, screenOutcome("text", t)
}

// digest fills in the receipt: hash and size of what was delivered. A note alone is its
// own delivery.
func digest(o *deals.Outcome, kept *deals.Kept) error {
	body := []byte(o.Note)
	if kept != nil && kept.Document != nil {
		var err error
		if body, err = json.Marshal(kept.Document); err != nil {
			return err
		}
	} else if kept != nil {
		body = []byte(kept.Text)
	}
	sum := sha256.Sum256(body)
	o.SHA256, o.Bytes = hex.EncodeToString(sum[:]), int64(len(body))
	return nil
}

// screenOutcome refuses what no delivered text may carry (bench.md 2.10).
func screenOutcome(field, s string) error {
	if _, found := text.Secret(s); found {
		return fault.New(fault.Invalid, "outcome_secret", "Take passwords, keys and card numbers out.").At(field)
	}
	switch {
	case text.OffPlatformPayment(s):
		return fault.New(fault.Invalid, "outcome_off_platform_payment", "Money moves on the platform only: take the payment request out.").At(field)
	case text.CredentialRequest(s):
		return fault.New(fault.Invalid, "outcome_credential_request", "A delivery never asks for a password or a code.").At(field)
	case text.BareURL(s):
		return LinkInText.At(field)
	case text.HasControl(s):
		return fault.InvalidField.At(field).Say(field + " must be plain text without control characters.")
	}
	return nil
}

// readBlocks takes the one NOTE block a CHOOSE step may carry (REJ-27).
func readBlocks(raw json.RawMessage, s *path.Step) error {
	var blocks []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &blocks); err != nil {
		return fault.InvalidField.At("blocks").Say("blocks must be a list of at most one NOTE block.")
	}
	if s.Ask != proposal.Choose || len(blocks) != 1 || blocks[0].Type != "NOTE" {
		return OverDelivery.At("blocks")
	}
	if text.Len(text.Normalize(blocks[0].Text)) > MaxNote {
		return NoteTooLong.At("blocks[0].text")
	}
	return screenOutcome("blocks[0].text", blocks[0].Text)
}

// readOptions takes tiles that replace the plan's for this round (bench.md 13.4).
func readOptions(o *deals.Outcome, raw json.RawMessage, s *path.Step, planned *proposal.Step) error {
	if !sent(raw) {
		return nil
	}
	var list []proposal.Option
	if s.Ask != proposal.Choose || planned == nil || o.Kind != deals.KindNote || json.Unmarshal(raw, &list) != nil {
		return OptionsInvalid
	}
	if len(list) < leastTiles(planned) || len(list) > proposal.MaxChoices {
		return OptionsInvalid
	}
	seen := map[string]bool{}
	for i := range list {
		one := &list[i]
		one.ID, one.Label, one.Detail = text.Normalize(one.ID), text.Normalize(one.Label), text.Normalize(one.Detail)
		if one.Label == "" || seen[one.Key()] || text.Len(one.Label) > proposal.MaxOptionLabel || text.Len(one.Detail) > proposal.MaxOptionDetail ||
			text.Len(one.ID) > proposal.MaxOptionID || text.Len(one.ThumbnailAlt) > proposal.MaxImageAlt {
			return OptionsInvalid
		}
		seen[one.Key()] = true
		if one.ThumbnailURL != "" {
			if _, err := text.CheckLink(one.ThumbnailURL); err != nil {
				return OptionsInvalid.Say("thumbnail_url must be an https address on a public domain.")
			}
		}
		if err := screenOutcome("options", one.Label+"\n"+one.Detail+"\n"+one.ThumbnailAlt); err != nil {
			return err
		}
	}
	o.Options = list
	return nil
}

// leastTiles is how many options the step's control needs at least (REJ-25).
func leastTiles(planned *proposal.Step) int {
	least := proposal.MinChoices
	for _, b := range planned.HARBlocks {
		if b.Format == proposal.MultipleChoice || b.Format == proposal.Rank {
			least = max(least, proposal.MinManyOf)
		}
	}
	return least
}
