package openapi_test

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"guildhall/tests/openapi"
	"guildhall/tests/story"
)

// TestEveryAnswerOfEveryStoryIsAsTheDocumentSays runs the stories and holds each answer,
// refusals included, against the document that is served.
func TestEveryAnswerOfEveryStoryIsAsTheDocumentSays(t *testing.T) {
	files, err := filepath.Glob("../story/scripts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	_, base := exchange(t, nil)
	doc, err := openapi.Read(fetch(t, base+"/openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	seen := &told{wrong: map[string]bool{}, right: map[string]int{}}
	t.Run("stories", func(t *testing.T) {
		for _, f := range files {
			t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
				t.Parallel()
				_, base := exchange(t, func(h http.Handler) http.Handler { return listen(h, doc, seen) })
				story.Run(t, base, f)
			})
		}
	})
	for _, w := range seen.sorted() {
		t.Error(w)
	}
	t.Logf("%d of %d operations answered as the document says", len(seen.right), len(doc.Operations))
}

// told is what the stories told about the document.
type told struct {
	mu    sync.Mutex
	wrong map[string]bool
	right map[string]int // by operation
}

func (s *told) sorted() (all []string) {
	for w := range s.wrong {
		all = append(all, w)
	}
	slices.Sort(all)
	return all
}

func listen(h http.Handler, doc *openapi.Document, seen *told) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o := doc.At(r.Method, r.URL.EscapedPath())
		if o == nil {
			h.ServeHTTP(w, r)
			return
		}
		answer := &heard{ResponseWriter: w}
		h.ServeHTTP(answer, r)
		err := doc.Answers(o, answer.status, answer.Header().Get("Content-Type"), answer.body.Bytes())
		seen.mu.Lock()
		defer seen.mu.Unlock()
		if err == nil {
			seen.right[o.ID]++
			return
		}
		body := answer.body.String()
		seen.wrong[err.Error()+"\n"+body[:min(len(body), 600)]] = true
	})
}
