package catalog

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/op"
)

func TestTheCatalogIsSound(t *testing.T) {
	for _, p := range Problems(All()) {
		t.Error(p)
	}
	for _, p := range parts {
		if p.Context != "" && !slices.Contains(Contexts, p.Context) {
			t.Errorf("%s: no context is called %s", p.Path, p.Context)
		}
		for _, k := range p.Timers {
			if k.Context != p.Context {
				t.Errorf("%s: timer %s is of context %q, its package of %q", p.Path, k.Kind, k.Context, p.Context)
			}
		}
	}
}

func TestEveryRouteHasItsPlaceInOneRouter(t *testing.T) {
	mux := http.NewServeMux()
	for _, o := range Operations() {
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("%s: %v", o.ID, p)
				}
			}()
			mux.HandleFunc(o.Method+" "+o.Path, func(http.ResponseWriter, *http.Request) {})
		}()
	}
}

func TestKindsAreUniqueInASweep(t *testing.T) {
	for _, c := range Contexts {
		seen := map[string]bool{}
		for _, k := range Timers(c) {
			if seen[k.Kind] || k.Kind == "" || k.Fire == nil {
				t.Errorf("%s: timer kind %q is declared twice or fires nothing", c, k.Kind)
			}
			seen[k.Kind] = true
		}
		for _, k := range Effects(c) {
			if seen[k.Kind] || k.Kind == "" || k.Do == nil {
				t.Errorf("%s: effect kind %q is declared twice or does nothing", c, k.Kind)
			}
			seen[k.Kind] = true
		}
	}
}

type in struct {
	ID string `path:"id"`
}

func declare(change func(*op.Meta)) *op.Operation {
	m := op.Meta{ID: "help.thing.read", Method: "GET", Path: "/api/help/things/{id}", Tool: "read_thing",
		Auth: op.Public, Summary: "Read a thing."}
	change(&m)
	return op.Declare(m, func(*op.Call, in) (struct{}, error) { return struct{}{}, nil })
}

func TestProblemsAreFound(t *testing.T) {
	other := func(m *op.Meta) { m.ID, m.Path, m.Tool = "help.other.read", "/api/help/others/{id}", "read_other" }
	cases := []struct {
		name, want string
		change     func(*op.Meta)
	}{
		{"sound", "", func(m *op.Meta) { other(m) }},
		{"same id", "id help.thing.read is also", func(m *op.Meta) { other(m); m.ID = "help.thing.read" }},
		{"same route with another wildcard", "route GET /api/help/things/{} is also", func(m *op.Meta) { other(m); m.Path = "/api/help/things/{id...}" }},
		{"same tool", "tool help/read_thing is also", func(m *op.Meta) { other(m); m.Tool = "read_thing" }},
		{"same tool, another case", "", func(m *op.Meta) { other(m); m.Tool, m.ToolCase = "read_thing", "what=other" }},
		{"same folder", "folder help/thing-read is also", func(m *op.Meta) { other(m); m.ID = "help.thing_read" }},
		{"serves nobody", "serves nobody", func(m *op.Meta) { other(m); m.Auth = "" }},
		{"unknown auth", "serves nobody", func(m *op.Meta) { other(m); m.Auth = "everyone" }},
		{"unknown group", "no group is called shop", func(m *op.Meta) { other(m); m.ID = "shop.other.read" }},
		{"odd id", "an id is words", func(m *op.Meta) { other(m); m.ID = "help.Other" }},
		{"input not in path", "not in the path", func(m *op.Meta) { other(m); m.Path = "/api/help/others" }},
		{"a read with a key", "takes no Idempotency-Key", func(m *op.Meta) { other(m); m.Idempotent = op.KeyRequired }},
		{"fault twice", "named twice", func(m *op.Meta) { other(m); m.Faults = []string{"a", "b", "a"} }},
		{"status", "is no success", func(m *op.Meta) { other(m); m.Status = 404 }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := strings.Join(Problems([]*op.Operation{declare(func(*op.Meta) {}), declare(c.change)}), "\n")
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q in it", got, c.want)
			}
		})
	}
}

func TestJobsSweepEveryContextAndTickEveryMinute(t *testing.T) {
	queues := Queues()
	for _, j := range Jobs() {
		switch {
		case j.ID == TickID:
			if j.Every != time.Minute || !slices.Equal(j.Sends, queues) {
				t.Errorf("the tick is %+v", j)
			}
		case !slices.Contains(queues, j.Queue) || j.Batch < 1 || j.Retries < 1 || j.Timeout <= 0:
			t.Errorf("%s: a sweep reads its queue in bounded batches: %+v", j.ID, j)
		}
		if !slices.Contains(Groups, strings.Split(j.Folder(), "/")[0]) {
			t.Errorf("%s: folder %s", j.ID, j.Folder())
		}
	}
	if n := len(Messages()); n != len(Contexts)*clock.Shards {
		t.Errorf("a tick sends %d messages, want one per context and shard", n)
	}
}
