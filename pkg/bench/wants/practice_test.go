package wants_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/benchtest"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
)

func world1(n int) obj {
	var list []obj
	for i := range n {
		list = append(list, obj{"name": fmt.Sprint("Host ", i), "script": "Says yes to a table for nine."})
	}
	return obj{"counterparties": list}
}

func (w *world) practice(body obj) (id string, err error) {
	w.T.Helper()
	in, err := wants.ReadPractice([]byte(text(body)))
	if err != nil {
		return "", err
	}
	w.Run("bench", func(c *op.Call) error {
		v, err := wants.CreatePractice(c, in)
		id = v.ID
		return err
	})
	return id, nil
}

func TestAPracticeTarget(t *testing.T) {
	w := newWorld(t)
	id, err := w.practice(benchtest.With(benchtest.With(benchtest.Posting(), "world_file", world1(2)), "person_email", "Poster@people.example.test"))
	if err != nil {
		t.Fatal(err)
	}
	v, b := w.Want(id), w.shown(id, true)
	if !v.Practice || !b.Practice || b.WorldMissing || b.WorldFileURL == nil || *b.WorldFileURL != "/api/bench/targets/"+id+"/world-file" {
		t.Errorf("%+v", b)
	}
	w.Run("bench", func(c *op.Call) error {
		p, found, err := account.FindPerson(c, "poster@people.example.test")
		if !found || p.ID != v.PersonID {
			t.Errorf("posted by %s", v.PersonID)
		}
		f, found, err2 := wants.LoadWorld(c, id)
		var file wants.WorldFile
		if !found || json.Unmarshal(f, &file) != nil || len(file.Counterparties) != 2 || file.Counterparties[1].Name != "Host 1" {
			t.Errorf("%s", f)
		}
		if err == nil {
			err = err2
		}
		return err
	})
	if words := w.ledger(id); len(words) != 0 {
		t.Errorf("practice is in no public data: %v", words)
	}
	bare, err := w.practice(benchtest.Posting())
	if b := w.shown(bare, true); err != nil || !b.WorldMissing || b.WorldFileURL != nil {
		t.Errorf("%v %+v", err, b)
	}
	if b := w.shown(w.Post(w.Poster("ada"), benchtest.Posting()), true); b.WorldMissing || b.Practice || b.WorldFileURL != nil {
		t.Errorf("an ordinary want misses no world file: %+v", b)
	}
}

func TestRefusalsOfAPracticeFile(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		body obj
		code string
	}{
		"a short want":     {benchtest.With(benchtest.Posting(), "want", "short"), "want_too_short"},
		"no lane":          {benchtest.With(benchtest.Posting(), "lane", nil), "missing_field"},
		"51 in the world":  {benchtest.With(benchtest.Posting(), "world_file", world1(51)), "invalid_field"},
		"a nameless one":   {benchtest.With(benchtest.Posting(), "world_file", obj{"counterparties": []obj{{"script": "x"}}}), "missing_field"},
		"a long script":    {benchtest.With(benchtest.Posting(), "world_file", obj{"counterparties": []obj{{"name": "x", "script": strings.Repeat("x", 8001)}}}), "invalid_field"},
		"a bell":           {benchtest.With(benchtest.Posting(), "world_file", obj{"counterparties": []obj{{"name": "x", "script": "\u0007"}}}), "invalid_field"},
		"no address":       {benchtest.With(benchtest.Posting(), "person_email", "nobody"), "invalid_field"},
		"an unknown field": {benchtest.With(benchtest.Posting(), "worldfile", obj{}), "unknown_field"},
	} {
		if _, err := w.practice(c.body); fault.From(err).Code != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := wants.ReadPractice([]byte(`{"want":`)); fault.From(err).Code != "invalid_json" {
		t.Error(err)
	}
	big := benchtest.With(benchtest.Posting(), "world_file", world1(50))
	for _, p := range big["world_file"].(obj)["counterparties"].([]obj) {
		p["script"] = strings.Repeat("é", 8000)
	}
	if _, err := w.practice(big); fault.From(err).Field != "world_file" {
		t.Errorf("a world file over 300 KB: %v", err)
	}
}
