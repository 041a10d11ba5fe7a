package site

import (
	"cmp"
	"encoding/json"
	"net/url"
	"strconv"
)

// block is one thing a step asks of the person (bench.md 5.7).
type block struct {
	Number      int    `json:"block_number"`
	ID          string `json:"id"`
	Title       string `json:"title"`
	Format      string `json:"format"`
	Required    *bool  `json:"required"`
	Description string `json:"description"`
	Config      struct {
		Placeholder string      `json:"placeholder"`
		Rows        int         `json:"rows"`
		MaxChars    int         `json:"max_chars"`
		Mode        string      `json:"mode"`
		Options     []option    `json:"options"`
		Fields      []formField `json:"fields"`
		Document    *document   `json:"document"`
		Slots       []slot      `json:"slots"`
		Link        *exit       `json:"link"`
	} `json:"config"`
}

// exit is a link that leads away from the platform.
type exit struct {
	URL   string `json:"url"`
	Title string `json:"title"`
}

// Host is where it leads.
func (e exit) Host() string {
	u, err := url.Parse(e.URL)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

type option struct {
	ID     string `json:"id"`
	Label  string `json:"label"`
	Detail string `json:"detail"`
}

func (o option) key() string { return cmp.Or(o.ID, o.Label) }

type formField struct {
	Label       string   `json:"label"`
	Key         string   `json:"key"`
	Type        string   `json:"type"`
	Placeholder string   `json:"placeholder"`
	Options     []option `json:"options"`
}

// slot is a time to pick, written as an object or as its bare label.
type slot struct {
	ID    string `json:"id"`
	Label string `json:"label"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *slot) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &s.Label)
	}
	type plainSlot slot
	return json.Unmarshal(b, (*plainSlot)(s))
}

// control is how a format is drawn; several formats share one.
type control string

const (
	controlText   control = "text"
	controlArea   control = "area"
	controlDate   control = "date"
	controlRadio  control = "radio"
	controlCheck  control = "check"
	controlRank   control = "rank"
	controlForm   control = "form"
	controlYesNo  control = "yesno"
	controlRead   control = "read"
	controlAgree  control = "agree"
	controlSign   control = "sign"
	controlDone   control = "done"
	controlSlot   control = "slot"
	controlFiles  control = "files" // uploaded by forms of their own
	controlNone   control = "none"  // nothing to type: the button is the answer
	controlAbsent control = "absent"
)

var controls = map[string]control{
	"short_answer": controlText, "location": controlText, "written_response": controlArea, "code_reference": controlArea, "date_time": controlDate,
	"single_choice": controlRadio, "multiple_choice": controlCheck, "rank": controlRank, "structured_form": controlForm,
	"confirm_correct": controlYesNo, "review_approve": controlRead, "agreement": controlAgree, "signature": controlSign,
	"external_link": controlDone, "invite_share": controlDone, "payment_authorize": controlDone, "communication": controlDone,
	"schedule": controlSlot, "grant_access": controlNone,
	"file_upload": controlFiles, "media_upload": controlFiles, "download_return": controlFiles,
}

// control is how this block is drawn; a review without a document to read asks for nothing
// but the button.
func (b block) control() control {
	c := cmp.Or(controls[b.Format], controlAbsent)
	if c == controlRead && b.Config.Document == nil {
		return controlNone
	}
	return c
}

// field names an input of the block.
func (b block) field(end string) string {
	name := "har_" + strconv.Itoa(b.Number)
	if end != "" {
		name += "." + end
	}
	return name
}
