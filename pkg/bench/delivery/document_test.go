package delivery_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"guildhall/pkg/bench/delivery"
)

// FuzzDocument: whatever an agent sends as a document is refused or becomes one that is
// taken again unchanged.
func FuzzDocument(f *testing.F) {
	for _, s := range []string{`{"title":"A","blocks":[{"type":"paragraph","text":"Hi."}]}`, `{"blocks":[{"type":"bullets","items":["a","b"]},{"type":"day","ordinal":1,"date":"2026-12-07"}]}`,
		`{"blocks":[{"type":"video","youtube_id":"dQw4w9WgXcQ"},{"type":"image","file_id":"A1","alt":"x"}]}`, `{"blocks":null}`, `[]`, `{"blocks":[{"type":"heading","text":"see www.example.com/a"}]}`} {
		f.Add([]byte(s))
	}
	images := map[string]bool{"a1": true}
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, err := delivery.ParseDocument(raw, images)
		if err != nil {
			return
		}
		b, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		again, err := delivery.ParseDocument(b, images)
		if err != nil || !reflect.DeepEqual(d, again) {
			t.Fatalf("%s is taken as %s, and that as %+v: %v", raw, b, again, err)
		}
		if len(d.Blocks) < 1 || len(d.Blocks) > delivery.MaxDocumentBlocks {
			t.Fatalf("%d blocks", len(d.Blocks))
		}
	})
}
