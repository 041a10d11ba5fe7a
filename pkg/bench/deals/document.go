package deals

import (
	"strings"

	"guildhall/pkg/table"
)

// Document is a sectioned delivery.
type Document struct {
	Title  string  `json:"title,omitempty"`
	Blocks []Block `json:"blocks"`
}

// Block is a part of a document; which members it has depends on its type.
type Block struct {
	Type      string   `json:"type"`
	Text      string   `json:"text,omitempty"`       // heading, paragraph
	Items     []string `json:"items,omitempty"`      // bullets
	FileID    string   `json:"file_id,omitempty"`    // image
	Alt       string   `json:"alt,omitempty"`        // image
	ImageURL  string   `json:"image_url,omitempty"`  // image, when it is shown to the person; not stored
	YoutubeID string   `json:"youtube_id,omitempty"` // video
	Title     string   `json:"title,omitempty"`      // video, day
	Ordinal   int      `json:"ordinal,omitempty"`    // day
	Date      string   `json:"date,omitempty"`       // day
}

// Words is every text of the document, for the screens.
func (d *Document) Words() string {
	all := []string{d.Title}
	for _, b := range d.Blocks {
		all = append(all, b.Text, b.Alt, b.Title)
		all = append(all, b.Items...)
	}
	return strings.Join(all, "\n")
}

// ShowImages says, for the deal's person, where each image of the document is.
func (d *Document) ShowImages(deal string) {
	for i := range d.Blocks {
		if b := &d.Blocks[i]; b.Type == "image" {
			b.ImageURL = dealPath(deal) + "/images/" + b.FileID
		}
	}
}

// dealPath is where the person's operations on a deal are.
func dealPath(deal string) string { return "/api/person/deals/" + deal }

// ImageKey is the row of an image the agent uploaded for the documents of a deal; its value
// is a KeptFile.
func ImageKey(deal, file string) table.Key { return child(deal, imagePrefix+file) }

// ImageID is the id in such a row's key.
func ImageID(k table.Key) string { return strings.TrimPrefix(k.SK, imagePrefix) }

const imagePrefix = "IMAGE#"
