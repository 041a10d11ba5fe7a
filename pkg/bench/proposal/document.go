package proposal

import (
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Document is something to read before an agreement or a review (bench contract 5.7). Texts and pictures only.
type Document struct {
	Title  string          `json:"title,omitempty"`
	Blocks []DocumentBlock `json:"blocks"`
}

// Types of document blocks in a bid or plan. Outcome documents have two more, which are not a proposal's matter.
const (
	Heading   = "heading"
	Paragraph = "paragraph"
	Bullets   = "bullets"
	Image     = "image"
)

// DocumentBlock is one part of a document; which fields it fills depends on its type.
type DocumentBlock struct {
	Type   string   `json:"type"`
	Text   string   `json:"text,omitempty"`
	Items  []string `json:"items,omitempty"`
	FileID string   `json:"file_id,omitempty"`
	Alt    string   `json:"alt,omitempty"`
}

var documentText = []field{{name: "text", shape: phrase{min: 1, max: MaxDocumentText}, must: true}}

// documentParts are the declared fields of each type of block.
var documentParts = map[string][]field{
	Heading:   documentText,
	Paragraph: documentText,
	Bullets:   {{name: "items", shape: list{noun: "item", min: 1, max: MaxBullets, of: phrase{min: 1, max: MaxBulletText}}, must: true}},
	Image: {
		{name: "file_id", shape: phrase{min: 1, pattern: uuidPattern}, must: true, doc: "UUID of an upload."},
		{name: "alt", shape: phrase{min: 1, max: MaxImageAlt}, must: true, doc: "The picture in words."},
	},
}

var documentTypes = []string{Heading, Paragraph, Bullets, Image}

var namedDocument = named{"document", object{
	open: true, // it stands inside a config, where every other key is kept
	fields: []field{
		{name: "title", shape: phrase{max: MaxDocumentTitle}},
		{name: "blocks", shape: list{noun: "part", min: 1, max: MaxDocumentBlocks, of: partShape{}}, must: true},
	},
	rule: func(doc map[string]any) *problem {
		images := 0
		for _, part := range doc["blocks"].([]any) {
			if part.(map[string]any)["type"] == Image {
				images++
			}
		}
		if images > MaxDocumentImages {
			return wrong("must hold at most %d images and holds %d", MaxDocumentImages, images).in("blocks")
		}
		return nil
	},
	more: func(out *jsonschema.Schema) {
		var image any = Image
		none, most := 0, MaxDocumentImages
		blocks := out.Properties["blocks"]
		blocks.Contains, blocks.MinContains, blocks.MaxContains = &jsonschema.Schema{Type: "object", Required: []string{"type"},
			Properties: map[string]*jsonschema.Schema{"type": {Const: &image}}}, &none, &most
	},
}}

// partShape is one document block: its type decides its fields.
type partShape struct{}

func (partShape) check(v any) (any, *problem) {
	given, ok := v.(map[string]any)
	if !ok {
		return nil, wrong("must be an object, not %s", kindOf(v))
	}
	kind, p := oneOf{documentTypes}.check(given["type"])
	if p != nil {
		return nil, p.in("type")
	}
	stored, p := object{fields: documentParts[kind.(string)], open: true}.check(given)
	if p != nil {
		return nil, p
	}
	part := stored.(map[string]any)
	part["type"] = kind
	return part, nil
}

func (partShape) schema() *jsonschema.Schema {
	out := &jsonschema.Schema{Type: "object", Required: []string{"type"},
		Properties: map[string]*jsonschema.Schema{"type": oneOf{documentTypes}.schema()}}
	for _, kind := range documentTypes {
		part := object{fields: documentParts[kind]}.schema()
		part.Type = ""
		out.AllOf = append(out.AllOf, when("type", kind, part))
	}
	return out
}

// uuidPattern is a UUID in its usual print, in either case.
var uuidPattern = &pattern{
	ok:   isUUID,
	expr: `^\s*[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\s*$`,
	say:  "must be a UUID",
}

func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if s[i] != '-' {
				return false
			}
		} else if strings.IndexByte("0123456789abcdefABCDEF", s[i]) < 0 {
			return false
		}
	}
	return true
}

// documentFrom reads a checked document out of its tree.
func documentFrom(v any) *Document {
	tree := obj(v)
	if tree == nil {
		return nil
	}
	doc := &Document{Title: str(tree, "title")}
	for _, p := range items(tree["blocks"]) {
		part := obj(p)
		b := DocumentBlock{Type: str(part, "type"), Text: str(part, "text"), FileID: str(part, "file_id"), Alt: str(part, "alt")}
		if b.Type == Bullets {
			b.Items = texts(part["items"])
		}
		doc.Blocks = append(doc.Blocks, b)
	}
	return doc
}
