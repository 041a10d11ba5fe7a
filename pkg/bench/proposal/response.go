package proposal

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"guildhall/pkg/text"
)

// OtherChoice is how an answer names the Other that the page adds to every choice; its words stand in other_text.
const OtherChoice = "other"

// Verdicts of a review_approve block.
const (
	VerdictApprove = "approve"
	VerdictChanges = "request_changes"
)

// AnswerError is a person's answer that does not fit its block. Text ends a sentence that begins with the block's title.
type AnswerError struct {
	Block    int  // from 1; 0 when a single block was checked
	Mismatch bool // an approval beside a verdict that asks for changes
	Text     string
}

func (e *AnswerError) Error() string {
	if e.Block == 0 {
		return e.Text
	}
	return fmt.Sprintf("block %d: %s", e.Block, e.Text)
}

// CheckResponse holds one stored value against its block (last column of the table in bench contract 5.7). An empty answer
// has a legal form: whether a required block was answered is CheckAnswers' question.
func CheckResponse(b Block, value json.RawMessage) error {
	_, err := CleanResponse(b, value)
	return err
}

// CleanResponse is CheckResponse that also answers the value to store: texts normalised, choices by their key, unknown keys
// left out.
func CleanResponse(b Block, value json.RawMessage) (json.RawMessage, error) {
	v, err := parse(value)
	if err != nil {
		return nil, &AnswerError{Text: "the answer is not valid JSON"}
	}
	check := responses[b.Format]
	if check == nil {
		return nil, &AnswerError{Text: "the block has an unknown format"}
	}
	stored, p := check(b, v)
	if p != nil {
		return nil, &AnswerError{Text: p.coded("-").rejection().Detail}
	}
	return json.Marshal(stored)
}

// CheckAnswers holds all answers of a step together, by block number from 1. With approve set, every required block must be
// answered, except on PROVIDE, where nothing blocks approval (bench contract 5.7), and no review may ask for changes.
func CheckAnswers(s Step, values map[int]json.RawMessage, approve bool) error {
	for n, value := range values {
		if n < 1 || n > len(s.HARBlocks) {
			return &AnswerError{Block: n, Text: "the step has no such block"}
		}
		if err := CheckResponse(s.HARBlocks[n-1], value); err != nil {
			return &AnswerError{Block: n, Text: err.Error()}
		}
	}
	if err := selectionLimit(s, values); err != nil || !approve {
		return err
	}
	for i, b := range s.HARBlocks {
		value, given := values[i+1]
		if given && b.Format == ReviewApprove && WantsChanges(b, value) {
			return &AnswerError{Block: i + 1, Mismatch: true, Text: "asks for changes while the step is approved"}
		}
		if b.Required && s.Ask != Provide && (!given || !Answered(b, value)) {
			return &AnswerError{Block: i + 1, Text: "must be answered first"}
		}
	}
	return nil
}

// selectionLimit holds a several-choice answer of a CHOOSE step to the number its card declares.
func selectionLimit(s Step, values map[int]json.RawMessage) error {
	if s.Ask != Choose || s.Choose == nil {
		return nil
	}
	most := 1
	if s.Choose.SelectionMode == SelectUpToK {
		most = s.Choose.MaxSelections
	}
	i := slices.IndexFunc(s.HARBlocks, func(b Block) bool { return Family(b.Format) == Choose })
	if i < 0 || s.HARBlocks[i].Format != MultipleChoice {
		return nil
	}
	var answer struct {
		Choices []string `json:"choices"`
	}
	if json.Unmarshal(values[i+1], &answer) == nil && len(answer.Choices) > most {
		return &AnswerError{Block: i + 1, Text: fmt.Sprintf("takes at most %d choices", most)}
	}
	return nil
}

// WantsChanges says whether a review_approve answer sends the work back.
func WantsChanges(b Block, value json.RawMessage) bool {
	var answer struct {
		Verdict string `json:"verdict"`
	}
	return b.Format == ReviewApprove && json.Unmarshal(value, &answer) == nil && answer.Verdict == VerdictChanges
}

// Answered says whether a value that passed CheckResponse is an answer: words written, something chosen, the box ticked, the
// thing done.
func Answered(b Block, value json.RawMessage) bool {
	v, err := parse(value)
	if err != nil {
		return false
	}
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v) != ""
	case []any:
		return len(v) > 0
	case map[string]any:
		return answeredObject(b, v)
	}
	return false
}

func answeredObject(b Block, v map[string]any) bool {
	has := func(key string) bool { return strings.TrimSpace(str(v, key)) != "" }
	switch b.Format {
	case SingleChoice:
		return has("choice") || has("other_text")
	case MultipleChoice:
		return len(items(v["choices"])) > 0 || has("other_text")
	case Rank:
		return len(items(v["order"])) >= len(b.Config.Options)
	case StructuredForm:
		for _, f := range b.Config.Fields {
			if s, isText := v[f.Key].(string); isText && strings.TrimSpace(s) != "" || !isText && v[f.Key] != nil {
				return true
			}
		}
		return len(b.Config.Fields) == 0
	case ConfirmCorrect:
		return v["confirmed"] != nil
	case ReviewApprove:
		return has("verdict")
	case Agreement:
		return v["agreed"] == true
	case Signature:
		return has("signed_name")
	case ConnectAccount:
		return has("authorization_id")
	case GrantAccess:
		return v["granted"] == true
	case Schedule:
		return has("slot")
	}
	return v["done"] == true
}

// response checks the value of one format and answers the form to store.
type response func(b Block, v any) (any, *problem)

var responses = map[string]response{
	ShortAnswer: shaped(phrase{max: MaxShortAnswer}), Location: shaped(phrase{max: MaxShortAnswer}),
	CodeReference:   shaped(phrase{max: DefaultAnswerChars}),
	WrittenResponse: writtenResponse, SingleChoice: singleChoice, MultipleChoice: multipleChoice, Rank: rankOrder,
	StructuredForm: formValues, DateTime: dateTime,
	FileUpload: shaped(fileList), MediaUpload: shaped(fileList), DownloadReturn: shaped(fileList),
	ExternalLink: shaped(doneShape), InviteShare: shaped(doneShape), PaymentAuthorize: shaped(doneShape), Communication: shaped(doneShape),
	ConfirmCorrect: shaped(object{fields: []field{{name: "confirmed", shape: yesNo{}, must: true}, {name: "correction", shape: comment}}}),
	ReviewApprove:  reviewVerdict,
	Agreement:      shaped(object{fields: []field{{name: "agreed", shape: yesNo{}, must: true}}}),
	Signature: shaped(object{fields: []field{{name: "signed_name", shape: phrase{min: 1, max: MaxSignedNameChars, line: true}, must: true},
		{name: "signed_at", shape: phrase{min: 1, pattern: instant}, must: true}}}),
	ConnectAccount: shaped(object{fields: []field{{name: "authorization_id", shape: phrase{min: 1, max: MaxResourceChars, line: true}, must: true}}}),
	GrantAccess:    shaped(object{fields: []field{{name: "granted", shape: yesNo{}, must: true}, {name: "note", shape: comment}}}),
	Schedule:       scheduleSlot,
}

var (
	comment   = phrase{max: MaxCommentChars}
	doneShape = object{fields: []field{{name: "done", shape: yesNo{}, must: true}, {name: "note", shape: comment}}}
	fileList  = list{noun: "file", max: MaxFiles, of: object{fields: []field{
		{name: "file_id", shape: phrase{min: 1, pattern: uuidPattern}, must: true},
		{name: "filename", shape: phrase{min: 1, max: MaxFilenameChars, line: true, pattern: filename}, must: true},
	}}}
	filename = &pattern{ok: func(s string) bool { return !strings.ContainsAny(s, `/\`) && s != "." && s != ".." }, say: "must be a plain file name"}
	instant  = &pattern{ok: func(s string) bool { _, err := time.Parse(time.RFC3339, s); return err == nil }, say: "must be a time such as 2026-11-30T18:20:00Z"}
)

func shaped(s shape) response {
	return func(_ Block, v any) (any, *problem) { return s.check(v) }
}

func writtenResponse(b Block, v any) (any, *problem) {
	return phrase{max: b.Config.AnswerChars()}.check(v)
}

// AnswerChars is how many characters a written_response may have.
func (c Config) AnswerChars() int {
	if c.MaxChars == 0 {
		return DefaultAnswerChars
	}
	return c.MaxChars
}

// TextRows is how many lines high its input is drawn.
func (c Config) TextRows() int {
	if c.Rows == 0 {
		return DefaultTextRows
	}
	return c.Rows
}

var otherText = field{name: "other_text", shape: phrase{max: MaxOtherText}}

// pick finds the option an answer names: by id first, then by label.
func pick(options []Option, name string) (Option, bool) {
	for _, o := range options {
		if o.ID != "" && o.ID == name {
			return o, true
		}
	}
	for _, o := range options {
		if o.Label == name {
			return o, true
		}
	}
	return Option{}, false
}

func singleChoice(b Block, v any) (any, *problem) {
	stored, p := object{fields: []field{{name: "choice", shape: phrase{max: MaxOptionLabel}, must: true}, otherText}}.check(v)
	if p != nil {
		return nil, p
	}
	answer := stored.(map[string]any)
	name := answer["choice"].(string)
	if name == "" {
		return answer, nil
	}
	o, ok := pick(b.Config.Options, name)
	switch {
	case ok:
		answer["choice"], answer["value"] = o.Key(), o.Value
		if o.Value == nil {
			answer["value"] = o.Label
		}
		return answer, nil
	case name == OtherChoice && str(answer, "other_text") != "":
		answer["value"] = answer["other_text"]
		return answer, nil
	case name == OtherChoice:
		return nil, wrong("is required with Other").in("other_text")
	}
	return nil, wrong("is not one of the options").in("choice")
}

func multipleChoice(b Block, v any) (any, *problem) { return severalOf(b, v, "choices") }

func rankOrder(b Block, v any) (any, *problem) { return severalOf(b, v, "order") }

func severalOf(b Block, v any, key string) (any, *problem) {
	stored, p := object{fields: []field{{name: key, shape: list{noun: "choice", max: MaxOptions + 1, of: phrase{min: 1, max: MaxOptionLabel}}, must: true}, otherText}}.check(v)
	if p != nil {
		return nil, p
	}
	answer := stored.(map[string]any)
	seen := map[string]bool{}
	for i, name := range items(answer[key]) {
		o, ok := pick(b.Config.Options, name.(string))
		if ok {
			name = o.Key()
			items(answer[key])[i] = name
		}
		switch {
		case !ok && name != OtherChoice:
			return nil, wrong("is not one of the options").at("choice", i+1)
		case !ok && str(answer, "other_text") == "":
			return nil, wrong("is required with Other").in("other_text")
		case seen[name.(string)]:
			return nil, wrong("is named twice").at("choice", i+1)
		}
		seen[name.(string)] = true
	}
	return answer, nil
}

// formValues checks the values of a structured_form by the type of each field. A choice inside a form takes any text: what
// matches no option is its Other.
func formValues(b Block, v any) (any, *problem) {
	given, ok := v.(map[string]any)
	if !ok {
		return nil, wrong("must be an object, not %s", kindOf(v))
	}
	out := map[string]any{}
	for _, f := range b.Config.Fields {
		value, has := given[f.Key]
		if !has {
			continue
		}
		stored, p := fieldShape(f).check(value)
		if p != nil {
			return nil, p.in(f.Key)
		}
		out[f.Key] = stored
	}
	for key := range given {
		if _, known := out[key]; !known && len(b.Config.Fields) > 0 {
			return nil, wrong("the form has no field of this name").in(text.Printable(key))
		}
	}
	return out, nil
}

func fieldShape(f FormField) shape {
	switch f.Type {
	case fieldCheckbox:
		return list{noun: "choice", max: MaxOptions + 1, of: phrase{max: MaxOtherText}}
	case "date":
		return phrase{max: MaxShortAnswer, pattern: dateForm("date")}
	case fieldSelect, fieldRadio:
		return phrase{max: MaxOtherText}
	case "number", "range":
		return scalar{}
	}
	return phrase{max: DefaultAnswerChars}
}

// dateLayouts are the texts browsers submit for each input type.
var dateLayouts = map[string][]string{
	"datetime-local": {"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04"},
	"date":           {"2006-01-02"}, "time": {"15:04", "15:04:05"}, "month": {"2006-01"},
}

// dateForm accepts the text of a date input, alone or followed by a space and a time zone. Empty is a cleared input.
func dateForm(mode string) *pattern {
	return &pattern{say: "must be a date or time as the input writes it", ok: func(s string) bool {
		if s == "" {
			return true
		}
		for _, layout := range dateLayouts[mode] {
			if len(s) < len(layout) {
				continue
			}
			if _, err := time.Parse(layout, s[:len(layout)]); err == nil && zoneText(s[len(layout):]) {
				return true
			}
		}
		var year, week int
		n, _ := fmt.Sscanf(s, "%4d-W%2d", &year, &week)
		return mode == "week" && n == 2 && len(s) == len("2026-W01") && week >= 1 && week <= 53
	}}
}

func zoneText(rest string) bool {
	zone, spaced := strings.CutPrefix(rest, " ")
	if rest == "" || rest == "Z" {
		return true
	}
	return spaced && zone != "" && len(zone) <= 64 && strings.Trim(zone, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-/:") == ""
}

func dateTime(b Block, v any) (any, *problem) {
	return phrase{max: MaxShortAnswer, line: true, pattern: dateForm(b.Config.InputMode())}.check(v)
}

// InputMode is the input type of a date_time block.
func (c Config) InputMode() string {
	if c.Mode == "" {
		return dateModes[0]
	}
	return c.Mode
}

func reviewVerdict(b Block, v any) (any, *problem) {
	stored, p := object{fields: []field{{name: "verdict", shape: oneOf{[]string{VerdictApprove, VerdictChanges}}, must: true},
		{name: "comment", shape: comment}, {name: "read_confirmed", shape: yesNo{}}}}.check(v)
	if p != nil {
		return nil, p
	}
	answer := stored.(map[string]any)
	if b.Config.Document != nil && answer["verdict"] == VerdictApprove && answer["read_confirmed"] != true {
		return nil, wrong("must be true before approving: the document has to be read").in("read_confirmed")
	}
	return answer, nil
}

func scheduleSlot(b Block, v any) (any, *problem) {
	stored, p := object{fields: []field{{name: "slot", shape: phrase{max: MaxShortAnswer}, must: true}}}.check(v)
	if p != nil || len(b.Config.Slots) == 0 {
		return stored, p
	}
	answer := stored.(map[string]any)
	name := answer["slot"].(string)
	for _, s := range b.Config.Slots {
		if name == "" || name == s.ID || name == s.Label {
			return answer, nil
		}
	}
	return nil, wrong("is not one of the slots").in("slot")
}

// WithOptions is the block with other tiles: an outcome on a CHOOSE step may bring the options its research found (bench
// contract 13.4). The block itself is unchanged.
func (b Block) WithOptions(options []Option) Block {
	tree := make(map[string]any, len(b.Config.tree)+1)
	for k, v := range b.Config.tree {
		tree[k] = v
	}
	list := make([]any, len(options))
	for i, o := range options {
		one := map[string]any{"label": o.Label}
		for k, v := range map[string]string{"id": o.ID, "detail": o.Detail, "thumbnail_url": o.ThumbnailURL, "thumbnail_alt": o.ThumbnailAlt} {
			if v != "" {
				one[k] = v
			}
		}
		if o.Value != nil {
			one["value"] = o.Value
		}
		list[i] = one
	}
	tree["options"] = list
	b.Config = configFrom(b.Format, tree)
	return b
}
