package deals

import "strings"

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
