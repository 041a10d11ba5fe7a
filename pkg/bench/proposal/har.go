package proposal

import (
	"encoding/json"
	"fmt"
	"strings"

	"guildhall/pkg/text"
)

// Format slugs of action blocks (bench contract 5.7).
const (
	ShortAnswer      = "short_answer"
	WrittenResponse  = "written_response"
	SingleChoice     = "single_choice"
	MultipleChoice   = "multiple_choice"
	Rank             = "rank"
	StructuredForm   = "structured_form"
	DateTime         = "date_time"
	Location         = "location"
	FileUpload       = "file_upload"
	MediaUpload      = "media_upload"
	DownloadReturn   = "download_return"
	ExternalLink     = "external_link"
	CodeReference    = "code_reference"
	ConfirmCorrect   = "confirm_correct"
	ReviewApprove    = "review_approve"
	Agreement        = "agreement"
	Signature        = "signature"
	ConnectAccount   = "connect_account"
	GrantAccess      = "grant_access"
	InviteShare      = "invite_share"
	PaymentAuthorize = "payment_authorize"
	Schedule         = "schedule"
	Communication    = "communication"
)

// Displays of a choice.
const (
	DisplayRadio    = "radio"
	DisplayDropdown = "dropdown"
)

// Block is one action block: a control that carries an ask to the person. Ask is lower case and filled in from the step.
type Block struct {
	ID          string
	Title       string
	Format      string
	Ask         string
	Required    bool
	Description string
	Config      Config
}

// Config is what a block's format reads. Every field is optional. Keys the contract does not name are kept and come back
// from MarshalJSON, so a stored block prints as it was filed.
type Config struct {
	Placeholder string      `json:"placeholder,omitempty"`
	Rows        int         `json:"rows,omitempty"`
	MaxChars    int         `json:"max_chars,omitempty"`
	Mode        string      `json:"mode,omitempty"`
	Display     string      `json:"display,omitempty"`
	Options     []Option    `json:"options,omitempty"`
	Fields      []FormField `json:"fields,omitempty"`
	Document    *Document   `json:"document,omitempty"`
	Link        *Link       `json:"link,omitempty"`
	FileID      string      `json:"file_id,omitempty"`
	Slots       []Slot      `json:"slots,omitempty"`

	tree map[string]any // as filed, texts normalised
}

// FormField is one labelled input of a structured_form. Key names it in the answer.
type FormField struct {
	Label       string   `json:"label"`
	Key         string   `json:"key"`
	Type        string   `json:"type,omitempty"`
	Placeholder string   `json:"placeholder,omitempty"`
	Options     []Option `json:"options,omitempty"`
}

// Link is a LinkObject (bench contract 2.10): the only form in which an address may stand in a bid.
type Link struct {
	URL   string `json:"url"`
	Kind  string `json:"kind"`
	Title string `json:"title,omitempty"`
}

// family is the ask a format can carry.
type family = string

const (
	approves family = "approve"
	chooses  family = "choose"
	provides family = "provide"
	grants   family = "grant"
)

// format is one row of the table of formats: the ask it fits and the config it reads.
type format struct {
	slug   string
	family family
	config []field
}

var placeholder = field{name: "placeholder", shape: phrase{max: MaxPlaceholder}, doc: "Shown in the empty input."}

var choiceConfig = []field{
	{name: "options", shape: list{noun: "option", max: MaxOptions, of: namedOption}, doc: "What can be chosen. An Other with free text is always added by the page and never counts."},
	{name: "display", shape: oneOf{[]string{DisplayRadio, DisplayDropdown}}, doc: "How the choice is drawn; more than six options are always a dropdown."},
}

var documentConfig = []field{
	{name: "document", shape: namedDocument, code: RejDocument, doc: "A document to read before answering."},
}

// formats are the 23 controls in the contract's order.
var formats = []format{
	{ShortAnswer, provides, []field{placeholder}},
	{WrittenResponse, provides, []field{placeholder,
		{name: "rows", shape: whole{1, MaxTextRows}, doc: "Height of the input in lines."},
		{name: "max_chars", shape: whole{1, MaxAnswerChars}, doc: "Most characters of the answer."}}},
	{SingleChoice, chooses, choiceConfig},
	{MultipleChoice, chooses, choiceConfig},
	{Rank, chooses, choiceConfig},
	{StructuredForm, provides, []field{
		{name: "fields", shape: list{noun: "field", max: MaxFields, of: namedFormField}, doc: "The labelled inputs of the form."}}},
	{DateTime, provides, []field{{name: "mode", shape: oneOf{dateModes}, doc: "Kind of date input; datetime-local when absent."}}},
	{Location, provides, []field{placeholder}},
	{FileUpload, provides, nil},
	{MediaUpload, provides, nil},
	{DownloadReturn, provides, []field{{name: "file_id", shape: phrase{min: 1, pattern: uuidPattern}, code: RejDocument, doc: "Upload to be filled in and sent back."}}},
	{ExternalLink, provides, []field{{name: "link", shape: namedLink, doc: "The one place for an address."}}},
	{CodeReference, provides, nil},
	{ConfirmCorrect, approves, nil},
	{ReviewApprove, approves, documentConfig},
	{Agreement, approves, documentConfig},
	{Signature, approves, nil},
	{ConnectAccount, grants, nil},
	{GrantAccess, grants, nil},
	{InviteShare, provides, nil},
	{PaymentAuthorize, provides, nil},
	{Schedule, provides, []field{{name: "slots", shape: list{noun: "slot", max: MaxSlots, of: slotShape{}}, doc: "Times to pick from."}}},
	{Communication, provides, nil},
}

var formatBySlug = func() map[string]*format {
	m := make(map[string]*format, len(formats))
	for i := range formats {
		m[formats[i].slug] = &formats[i]
	}
	return m
}()

var slugs = func() []string {
	out := make([]string, len(formats))
	for i, f := range formats {
		out[i] = f.slug
	}
	return out
}()

// Formats lists the 23 slugs in the contract's order.
func Formats() []string { return append([]string(nil), slugs...) }

// Family is the ask a format can carry, in the upper case of a step's ask; empty for an unknown format.
func Family(slug string) string {
	f := formatBySlug[slug]
	if f == nil {
		return ""
	}
	return strings.ToUpper(f.family)
}

// MatchesAsk says whether a block of this format lets the person answer a step with this ask (REJ-24).
func MatchesAsk(slug, ask string) bool { return ask != "" && Family(slug) == ask }

// TakesFiles says whether the answer to a block of this format names files the person uploaded.
func TakesFiles(slug string) bool {
	return slug == FileUpload || slug == MediaUpload || slug == DownloadReturn
}

// dateModes are the input types a date_time block may name.
var dateModes = []string{"datetime-local", "date", "time", "month", "week"}

// Types of form inputs that offer options, and what each must offer at least.
const (
	fieldSelect   = "select"
	fieldRadio    = "radio"
	fieldCheckbox = "checkbox"
	fieldPassword = "password"
)

// inputTypes are the types a form field may have: the ones the page draws itself and harmless inputs of HTML. Password stands
// here so that the text stage can refuse it as what it is, a request for a credential.
var inputTypes = []string{"text", "textarea", fieldSelect, fieldRadio, fieldCheckbox, "date", "email", "tel", "number", "url", "time",
	"datetime-local", "month", "week", "range", "color", "search", fieldPassword}

var optionFields = []field{
	{name: "label", shape: phrase{min: 1, max: MaxOptionLabel}, must: true, doc: "What the person reads."},
	{name: "id", shape: phrase{min: 1, max: MaxOptionID}, doc: "Stable name; the label when absent."},
	{name: "detail", shape: phrase{max: MaxOptionDetail}, doc: "Facts below the label."},
	{name: "value", shape: scalar{}, doc: "What is submitted; the label when absent."},
	{name: "thumbnail_url", shape: phrase{min: 1, max: text.MaxLinkBytes}, doc: "https address of a picture."},
	{name: "thumbnail_alt", shape: phrase{max: MaxImageAlt}, doc: "The picture in words."},
}

var (
	namedOption    = named{"option", object{fields: optionFields, open: true}}
	namedFormField = named{"form_field", object{open: true, more: formFieldSchema, fields: []field{
		{name: "label", shape: phrase{min: 1, max: MaxFieldLabel}, must: true, doc: "What the person reads above the input."},
		{name: "key", shape: phrase{min: 1, max: MaxFieldKey, line: true}, must: true, doc: "Name of the value in the answer; unique in the form."},
		{name: "type", shape: oneOf{inputTypes}, doc: "Kind of input; text when absent."},
		{name: "placeholder", shape: phrase{max: MaxPlaceholder}, doc: "Shown in the empty input."},
		{name: "options", shape: list{noun: "option", max: MaxOptions, of: namedOption}, doc: "For select, radio and checkbox."},
	}}}
	namedLink = named{"link", object{open: true, fields: []field{
		{name: "url", shape: phrase{min: 1, max: text.MaxLinkBytes}, must: true, doc: "https address on a public domain."},
		{name: "kind", shape: oneOf{[]string{text.LinkURL, text.LinkRepo}}, must: true},
		{name: "title", shape: phrase{max: text.MaxLinkTitle}},
	}}}
)

var blockFields = []field{
	{name: "id", shape: phrase{min: 1, max: MaxBlockID, line: true}, must: true, code: RejSchema, doc: "Name of the block, unique in its step."},
	{name: "title", shape: phrase{min: 1, max: MaxBlockTitle, line: true}, must: true, code: RejSchema, doc: "What the person reads first."},
	{name: "format", shape: oneOf{slugs}, must: true, code: RejSchema, doc: "The control."},
	{name: "ask", shape: oneOf{[]string{approves, chooses, provides, grants}}, code: RejSchema, doc: "The ask this block carries; the step's when absent."},
	{name: "required", shape: yesNo{}, code: RejSchema, doc: "Whether it must be answered before approval; true when absent."},
	{name: "description", shape: describing{phrase{max: MaxDescription}}, doc: "What is needed and why."},
	{name: "config", shape: object{open: true}, code: RejSchema, doc: "Settings of the format; other keys are kept."},
}

// describing gives a description its own code for length alone (bench contract 5.7): a wrong type is the schema's.
type describing struct{ phrase }

func (s describing) check(v any) (any, *problem) {
	stored, p := s.phrase.check(v)
	if p != nil {
		if str, ok := v.(string); ok && text.Len(text.Normalize(str)) > s.max {
			return nil, p.coded(RejBlocks)
		}
		return nil, p.coded(RejSchema)
	}
	return stored, nil
}

// blockShape checks a block and then its config by the format it names.
type blockShape struct{ object }

func (s blockShape) check(v any) (any, *problem) {
	stored, p := s.object.check(v)
	if p != nil {
		return nil, p.coded(RejSchema)
	}
	block := stored.(map[string]any)
	given, ok := block["config"].(map[string]any)
	if !ok {
		return block, nil
	}
	f := formatBySlug[block["format"].(string)]
	config, p := object{fields: f.config, open: true, rule: f.rule}.check(given)
	if p != nil {
		return nil, p.in("config").coded(RejSchema)
	}
	block["config"] = config
	return block, nil
}

// rule says what single config fields cannot: where a document may stand and that answers can tell options apart.
func (f *format) rule(config map[string]any) *problem {
	if _, has := config["document"]; has && f.slug != ReviewApprove && f.slug != Agreement {
		return wrong("is only for %s and %s", ReviewApprove, Agreement).in("document").coded(RejDocument)
	}
	if f.family == chooses {
		return distinctOptions(config["options"])
	}
	if f.slug != StructuredForm {
		return nil
	}
	fields, _ := config["fields"].([]any)
	seen := map[string]bool{}
	for i, v := range fields {
		field := v.(map[string]any)
		key := field["key"].(string)
		if seen[key] {
			return wrong("repeats another field of the form").in("key").at("field", i+1)
		}
		seen[key] = true
		if p := distinctOptions(field["options"]); p != nil {
			return p.at("field", i+1)
		}
	}
	return nil
}

// distinctOptions refuses two options an answer could not tell apart.
func distinctOptions(v any) *problem {
	options, _ := v.([]any)
	seen := map[string]bool{}
	for i, o := range options {
		option := o.(map[string]any)
		key, name := option["id"], "id"
		if key == nil {
			key, name = option["label"], "label"
		}
		if seen[key.(string)] {
			return wrong("repeats another option").in(name).at("option", i+1)
		}
		seen[key.(string)] = true
	}
	return nil
}

// realOptions counts the options of a choice: the Other the page adds never counts, nor does one the agent made by hand.
func realOptions(v any) int {
	options, _ := v.([]any)
	n := 0
	for _, o := range options {
		if label, _ := o.(map[string]any)["label"].(string); !otherLabel(label) {
			n++
		}
	}
	return n
}

// IsOther tells an option that offers nothing of its own, which no minimum counts (REJ-25).
func IsOther(label string) bool { return otherLabel(label) }

func otherLabel(label string) bool {
	label = strings.ToLower(strings.TrimSpace(label))
	return label == "other" || strings.HasPrefix(label, "other (") || strings.HasPrefix(label, "other:") || label == "something else"
}

// leastOptions is how many real options a control must offer (REJ-25); 0 for one that offers none.
func leastOptions(control string) int {
	switch control {
	case SingleChoice, fieldSelect, fieldRadio:
		return MinOneOf
	case MultipleChoice, Rank, fieldCheckbox:
		return MinManyOf
	}
	return 0
}

// optionProblem applies REJ-25 to a checked block.
func optionProblem(block map[string]any) *problem {
	config, _ := block["config"].(map[string]any)
	slug := block["format"].(string)
	if least := leastOptions(slug); least > 0 {
		if n := realOptions(config["options"]); n < least {
			return wrong("must offer at least %d real options for %s and offers %d", least, slug, n).in("options").coded(RejOptions)
		}
	}
	if slug != StructuredForm {
		return nil
	}
	fields, _ := config["fields"].([]any)
	for i, v := range fields {
		field := v.(map[string]any)
		kind, _ := field["type"].(string)
		least := leastOptions(kind)
		if n := realOptions(field["options"]); least > 0 && n < least {
			return wrong("must offer at least %d real options for %s and offers %d", least, kind, n).in("options").at("field", i+1).coded(RejOptions)
		}
	}
	return nil
}

// storedBlock is Block as it is stored and shown.
type storedBlock struct {
	ID          string `json:"id"`
	Title       string `json:"title"`
	Format      string `json:"format"`
	Ask         string `json:"ask"`
	Required    bool   `json:"required"`
	Description string `json:"description,omitempty"`
	Config      Config `json:"config"`
}

// MarshalJSON prints the contract's names.
func (b Block) MarshalJSON() ([]byte, error) { return json.Marshal(storedBlock(b)) }

// UnmarshalJSON reads a stored block.
func (b *Block) UnmarshalJSON(raw []byte) error {
	var s storedBlock
	if err := json.Unmarshal(raw, &s); err != nil {
		return fmt.Errorf("block: %w", err)
	}
	*b = Block(s)
	b.Config = configFrom(s.Format, s.Config.tree)
	return nil
}

// MarshalJSON prints the config as it was filed, other keys included, in sorted order.
func (c Config) MarshalJSON() ([]byte, error) {
	if c.tree != nil {
		return json.Marshal(c.tree)
	}
	type plain Config
	return json.Marshal(plain(c))
}

// UnmarshalJSON reads a stored config into its tree; the block that holds it knows the format and reads the rest.
func (c *Config) UnmarshalJSON(raw []byte) error {
	tree, err := parse(raw)
	if err != nil {
		return err
	}
	*c = Config{}
	obj, ok := tree.(map[string]any)
	if !ok {
		return fmt.Errorf("config is %s", kindOf(tree))
	}
	c.tree = obj
	return nil
}
