package site

import (
	"slices"
	"strings"
	"time"
)

// card is one part of a delivery.
type card struct {
	Card    string   `json:"card"`
	Title   string   `json:"title"`
	Outcome *outcome `json:"outcome"`
}

// Field is the name of the input for what should change in it.
func (c card) Field() string { return "change." + c.Card }

// Question asks for what should change in it.
func (c card) Question() string {
	what := "what was delivered"
	switch o := c.Outcome; {
	case o.Kind == "schedule":
		what = "the list of days"
	case o.URL != nil:
		what = "\u201c" + *o.URL + "\u201d"
	case o.Kind == "stream" && o.Filename != nil:
		what = "\u201c" + *o.Filename + "\u201d"
	case o.Kind == "stream" || o.Kind == "file":
		what = "\u201c" + c.Title + "\u201d"
	}
	return "What should change in " + what + "?"
}

// Shown tells whether there is more to it than the note above the delivery.
func (c card) Shown() bool {
	o := c.Outcome
	return o != nil && (o.Note != nil || o.Text != nil || o.Document != nil || o.URL != nil || slices.Contains([]string{"file", "stream", "schedule"}, o.Kind))
}

// outcome is something the agent filed.
type outcome struct {
	ReceiptID  string    `json:"receipt_id"`
	Kind       string    `json:"kind"`
	Version    int       `json:"version"`
	Note       *string   `json:"note"`
	SHA256     string    `json:"sha256"`
	Bytes      int64     `json:"size_bytes"`
	FiledAt    time.Time `json:"filed_at"`
	Item       bool      `json:"item"` // added while the work went on
	Unanswered int       `json:"unanswered_at_filing"`
	Text       *string   `json:"text"`
	Document   *document `json:"document"`
	Title      *string   `json:"title"`
	Filename   *string   `json:"filename"`
	Type       *string   `json:"content_type"`
	URL        *string   `json:"url"`
	Host       *string   `json:"host"`
	LinkKind   *string   `json:"link_kind"`
	Download   *string   `json:"download_url"`
}

// Repo tells whether a link leads to a repository.
func (o outcome) Repo() bool { return o.LinkKind != nil && *o.LinkKind == "repo" }

// Sort says what kind of file it is, "" for what most people have no word for.
func (o outcome) Sort() string {
	if o.Type == nil {
		return ""
	}
	kind, _, _ := strings.Cut(*o.Type, ";")
	if word := fileWords[kind]; word != "" {
		return word
	}
	kind, _, _ = strings.Cut(kind, "/")
	return fileWords[kind]
}

var fileWords = map[string]string{"image": "a picture", "video": "a video", "audio": "a recording", "text": "a text", "text/csv": "a table",
	"application/pdf": "a PDF", "application/zip": "a zip archive"}

// versions parts what was delivered last from what was delivered before it; each keeps the
// order in which it came. An agent files again only what is new: whole tells whether the
// last hand-over has words of its own, so that nothing before it needs to be read.
func versions(cards []card) (newest, earlier []card, whole bool) {
	last := 0
	for _, c := range cards {
		if c.Shown() {
			last = max(last, c.Outcome.Version)
		}
	}
	for _, c := range cards {
		switch {
		case !c.Shown():
		case c.Outcome.Version == last:
			newest, whole = append(newest, c), whole || c.Outcome.Document != nil || c.Outcome.Text != nil
		default:
			earlier = append(earlier, c)
		}
	}
	return newest, earlier, whole
}

// document is a sectioned delivery, or one to read before answering.
type document struct {
	Title  string  `json:"title"`
	Blocks []piece `json:"blocks"`
}

// Daily tells whether it is a list of days.
func (d document) Daily() bool { return len(d.Blocks) > 0 && d.Blocks[0].Type == "day" }

type piece struct {
	Type    string   `json:"type"`
	Text    string   `json:"text"`
	Items   []string `json:"items"`
	Alt     string   `json:"alt"`
	Youtube string   `json:"youtube_id"`
	Title   string   `json:"title"`
	Ordinal int      `json:"ordinal"`
	Date    string   `json:"date"`
	Image   string   `json:"image_url"`
}

// Watch is where a video plays. It is a link and no frame: nothing is loaded from elsewhere
// before the person decides to go there.
func (p piece) Watch() string { return watch(p.Youtube) }

func watch(id string) string { return "https://www.youtube.com/watch?v=" + id }

// daily tells whether a timed delivery waits for the person's answer.
func (s *step) daily() bool {
	return s.Scored && slices.ContainsFunc(s.Cards, func(c card) bool { return c.Outcome != nil && c.Outcome.Kind == "schedule" })
}
