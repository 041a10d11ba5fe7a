package delivery_test

import (
	"strings"
	"testing"
)

// TestTilesAreRealAndTellApart: what the plan's tiles had to be, those of a filing have to be.
func TestTilesAreRealAndTellApart(t *testing.T) {
	d := newShelf(t).deal(append([]fields{choosing("Pick a hall")}, reviewed()[1:]...)...)
	d.pulses()
	tile := func(id, label string) fields { return fields{"id": id, "label": label} }
	for name, tiles := range map[string][]fields{
		"the same in capitals": {tile("a", "Old Mill"), tile("b", "OLD  MILL")}, "the same with what cannot be seen": {tile("a", "Old Mill"), tile("b", "Old\u200b Mill")},
		"one that offers nothing": {tile("a", "Old Mill"), tile("b", "Other (say which)")},
	} {
		if r := d.outcome(fields{"note": "x", "options": tiles}); r.Status != 422 || r.Str("error") != "options_invalid" {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
		}
	}
	d.outcome(fields{"note": "x", "options": []fields{tile("a", "Old Mill"), {"label": "New", "thumbnail_url": "HTTPS://Example.COM:443/a/../b.png#x y"}}}).Refused(422, "options_invalid")
	d.outcome(fields{"note": "x", "options": []fields{tile("a", "Old Mill"), {"label": "New", "thumbnail_url": "HTTPS://Example.COM:443/a/../b.png"}}}).Want(201)
	if s := d.step("2"); s.Str("har_blocks.0.config.options.1.thumbnail_url") != "https://example.com/b.png" {
		t.Errorf("another thumbnail than the one that was judged: %s", s.Body)
	}
}

// TestANameShownIsTheNameJudged: what is left out or cut away of a name never makes another ending of it.
func TestANameShownIsTheNameJudged(t *testing.T) {
	d := newShelf(t).deal(reviewed()...)
	for _, name := range []string{"run.ps1\u200b", "run.ps1\u202e", "run\u202e.\u2066ps1", "x:run.ps1", "run.ps1\u3000"} {
		d.attach(name, []byte("dir")).Refused(422, "type_not_allowed")
	}
	for _, name := range []string{strings.Repeat("x", 76) + ".ps1.txt", strings.Repeat("x", 78) + ".sh.txt", strings.Repeat("é", 251) + ".sh.txt"} {
		if r := d.attach(name, []byte("dir")).Want(201); !strings.HasSuffix(r.Str("filename"), "x.txt") && !strings.HasSuffix(r.Str("filename"), "é.txt") {
			t.Errorf("%s is shown as %s", name, r.Str("filename"))
		}
	}
}
