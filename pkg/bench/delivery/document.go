package delivery

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/proposal"
	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/text"
)

// Limits of an outcome document (bench.md 13.3).
const (
	MaxDocumentBlocks = 40
	MaxDocumentTitle  = 200  // characters
	MaxDocumentText   = 1000 // characters of a heading or paragraph
	MaxBullets        = 12
	MaxBullet         = 200 // characters
	MaxImages         = 6
	MaxAlt            = 300 // characters
	youtubeID         = 11  // characters
)

func badDocument(where, why string) error {
	return fault.New(fault.Invalid, "document_invalid", why).At(where)
}

// ParseDocument checks an outcome document, screens included; images names the uploads it
// may show. The refusal says what is wrong and where.
func ParseDocument(raw json.RawMessage, images map[string]bool) (*deals.Document, error) {
	d, err := shapeDocument(raw, images)
	if err != nil {
		return nil, err
	}
	return d, screenOutcome("document", d.Words())
}

// shapeDocument is ParseDocument without the screens. A link in a text is found before
// anything else that is wrong (bench.md 13.2).
func shapeDocument(raw json.RawMessage, images map[string]bool) (*deals.Document, error) {
	var d deals.Document
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, badDocument("document", "A document is {title?, blocks: [...]}.")
	}
	if text.BareURL(d.Words()) {
		return nil, LinkInText.At("document")
	}
	if name := unknown(raw, new(deals.Document)); name != "" {
		return nil, badDocument("document", "A document and its blocks have no field "+name+".")
	}
	d.Title = text.Normalize(d.Title)
	if text.Len(d.Title) > MaxDocumentTitle {
		return nil, badDocument("document.title", "The title is at most 200 characters.")
	}
	if len(d.Blocks) < 1 || len(d.Blocks) > MaxDocumentBlocks {
		return nil, badDocument("document.blocks", "A document has 1 to 40 blocks.")
	}
	shown := 0
	for i := range d.Blocks {
		b := &d.Blocks[i]
		if why := clean(b, images); why != "" {
			return nil, badDocument("document.blocks["+strconv.Itoa(i)+"]", why)
		}
		if b.Type == "image" {
			shown++
		}
	}
	if shown > MaxImages {
		return nil, badDocument("document.blocks", "A document shows at most 6 images.")
	}
	return &d, nil
}

// unknown is the name of a field that a shape does not have, in quotation marks; "" when raw
// has none such.
func unknown(raw json.RawMessage, shape any) string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(shape); err != nil {
		if _, name, found := strings.Cut(err.Error(), "unknown field "); found {
			return name
		}
	}
	return ""
}

// lost is the field of a block that its type does not have and that would be dropped; "" for
// none.
func lost(b, kept *deals.Block) string {
	for _, f := range []struct {
		name       string
		sent, kept bool
	}{{"text", b.Text != "", kept.Text != ""}, {"items", len(b.Items) > 0, len(kept.Items) > 0}, {"file_id", b.FileID != "", kept.FileID != ""},
		{"alt", text.Normalize(b.Alt) != "", kept.Alt != ""}, {"youtube_id", b.YoutubeID != "", kept.YoutubeID != ""},
		{"title", text.Normalize(b.Title) != "", kept.Title != ""}, {"ordinal", b.Ordinal != 0, kept.Ordinal != 0}, {"date", b.Date != "", kept.Date != ""}} {
		if f.sent && !f.kept {
			return f.name
		}
	}
	return ""
}

// clean normalises a block and says what is wrong with it.
func clean(b *deals.Block, images map[string]bool) string {
	n := deals.Block{Type: b.Type}
	switch b.Type {
	case "heading", "paragraph":
		n.Text = text.Normalize(b.Text)
		if l := text.Len(n.Text); l < 1 || l > MaxDocumentText {
			return "The text of a " + b.Type + " is 1 to 1000 characters."
		}
	case "bullets":
		if len(b.Items) < 1 || len(b.Items) > MaxBullets {
			return "A list has 1 to 12 items."
		}
		for _, item := range b.Items {
			item = text.Normalize(item)
			if l := text.Len(item); l < 1 || l > MaxBullet {
				return "An item is 1 to 200 characters."
			}
			n.Items = append(n.Items, item)
		}
	case "image":
		n.FileID, n.Alt = imageID(b.FileID), text.Normalize(b.Alt)
		if !images[n.FileID] {
			return "file_id must be an upload of this deal."
		}
		if text.Len(n.Alt) > MaxAlt {
			return "The description of an image is at most 300 characters."
		}
	case "video":
		n.YoutubeID, n.Title = b.YoutubeID, text.Normalize(b.Title)
		if !youtube(n.YoutubeID) || text.Len(n.Title) > MaxDocumentTitle {
			return "A video names the 11 characters of its youtube_id and a title of at most 200."
		}
	case "day":
		n.Ordinal, n.Title, n.Date = b.Ordinal, text.Normalize(b.Title), b.Date
		if _, err := time.Parse(time.DateOnly, n.Date); n.Ordinal < 1 || n.Date != "" && err != nil || text.Len(n.Title) > MaxDocumentTitle {
			return "A day has an ordinal from 1, and at most a title and a date such as 2026-12-01."
		}
	default:
		return "The types are heading, paragraph, bullets, image, video and day."
	}
	if field := lost(b, &n); field != "" {
		return "A " + b.Type + " block has no " + field + "."
	}
	*b = n
	return ""
}

func youtube(s string) bool {
	if len(s) != youtubeID {
		return false
	}
	return strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

// Images finds out which of the images that documents name are uploads of the deal. The
// documents need not be well formed.
func Images(c *op.Call, deal string, documents ...json.RawMessage) (map[string]bool, error) {
	keys := imageKeys(deal, documents...)
	if err := c.Fetch(keys...); err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, k := range keys {
		r, err := c.Get(k)
		if err != nil {
			return nil, err
		}
		if r.Found() {
			there[deals.ImageID(k)] = true
		}
	}
	return there, nil
}

// imageKeys are the rows of the images that documents name, each once.
func imageKeys(deal string, documents ...json.RawMessage) []table.Key {
	var keys []table.Key
	for _, raw := range documents {
		var d deals.Document
		if json.Unmarshal(raw, &d) != nil {
			continue
		}
		for _, b := range d.Blocks[:min(len(d.Blocks), MaxDocumentBlocks)] {
			key := deals.ImageKey(deal, imageID(b.FileID))
			if b.Type == "image" && id.Valid(imageID(b.FileID)) && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

func imageID(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

// readDocument checks a document and, on a CHOOSE step, that it does not deliver the
// options a second time (bench.md 13.4).
func (f *filing) readDocument() error {
	images, err := Images(f.c, f.d.ID, f.in.Document)
	if err != nil {
		return err
	}
	d, err := shapeDocument(f.in.Document, images)
	if err != nil {
		return err
	}
	if f.s.Ask == proposal.Choose && restates(d.Words(), f.planned) {
		return OverDelivery.At("document")
	}
	f.o.Kind, f.kept = deals.KindDocument, &deals.Kept{Document: d}
	f.screened = append(f.screened, [2]string{"document", d.Words()})
	return nil
}

// restates tells whether a text names two or more of the step's options.
func restates(words string, planned *proposal.Step) bool {
	if planned == nil {
		return false
	}
	folded, named := squeeze(words), map[string]bool{}
	for _, b := range planned.HARBlocks {
		if proposal.Family(b.Format) != proposal.Choose {
			continue
		}
		for _, o := range b.Config.Options {
			if label := squeeze(o.Label); label != "" && strings.Contains(folded, label) {
				named[label] = true
			}
		}
	}
	return len(named) >= 2
}

// squeeze folds case and white space.
func squeeze(s string) string {
	return strings.Join(strings.Fields(strings.ToLower(text.Fold(s))), " ")
}
