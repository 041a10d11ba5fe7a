package bids_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"guildhall/pkg/bench/benchtest"
	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/proposal"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

func TestADryRunWritesNothingAndPromisesNothing(t *testing.T) {
	w := newWorld(t)
	p, m := w.Poster("ada"), w.Maker("Maker")
	target := w.Easy(p)
	dry := func(m maker, target string, body any) optest.Res {
		return w.Do(bids.CheckProposal, optest.Req{Token: w.mcp(m), Transport: "mcp", Path: benchtest.On(target), Body: body})
	}
	before := w.Store.Stats()
	r := dry(m, target, benchtest.With(benchtest.With(benchtest.Bid(), "pitch_title", nil), "smart_goals", nil)).Want(200)
	if string(r.Body) != `{"ok":true,"not_checked":["REJ-14","REJ-15","REJ-21"]}` {
		t.Errorf("%s", r.Body)
	}
	if s := w.Store.Stats().Since(before); s.Commits != 1 { // the test's own MCP token
		t.Errorf("%+v", s)
	}
	r = dry(m, target, benchtest.With(benchtest.Bid(), "total_ask_cents", 30000)).Refused(422, "REJ-02")
	if r.Str("rej") != "REJ-02" || r.Str("detail") == "" || fmt.Sprint(r.At("not_checked")) != "[REJ-14 REJ-15 REJ-21]" {
		t.Errorf("%s", r.Body)
	}
	dry(m, "x", benchtest.Bid()).Refused(404, "target not found or not open")
	w.File(m, target)
	dry(m, target, benchtest.Bid()).Want(200)
	w.Edit(target, func(_ *op.Call, v *wants.Want) error { v.BidID, v.DealID = "b", "d"; return nil })
	dry(w.Maker("Other"), target, benchtest.Bid()).Refused(404, "target not found or not open")
	dry(m, target, benchtest.Bid()).Want(200) // it holds a live bid
	if r := w.Do(bids.CheckProposal, optest.Req{Token: w.mcp(m, "targets:read"), Transport: "mcp", Path: benchtest.On(target), Body: benchtest.Bid()}).Want(401); r.Str("missing_scope") != "proposals:write" {
		t.Errorf("%s", r.Body)
	}
}

func TestAReleaseMap(t *testing.T) {
	w := newWorld(t)
	m := w.Maker("Maker")
	estimate := func(body any) optest.Res {
		return w.Do(bids.EstimateReleases, optest.Req{Token: m.Token, Body: body})
	}
	r := estimate(benchtest.Bid()).Want(200)
	if got := string(r.Body); got != `{"ok":true,"total_ask_cents":9000,"releases":[{"step":1,"title":"Choose the restaurant","ask":"CHOOSE","line_item_amount":4000,"cumulative":4000},{"step":2,"title":"Approve the held table","ask":"APPROVE","line_item_amount":4000,"cumulative":8000}],"finish_line_cents":1000,"sums_match":true}` {
		t.Error(got)
	}
	if r := estimate(benchtest.With(benchtest.Bid(), "finish_line_cents", 999)).Want(200); r.At("sums_match") != false {
		t.Errorf("%s", r.Body)
	}
	estimate(obj{}).Refused(422, "REJ-01")
}

func TestTheSchemaOfAProposal(t *testing.T) {
	w := newWorld(t)
	r := w.Do(bids.ReadSchema, optest.Req{Token: w.Maker("Maker").Token}).Want(200)
	var served, file map[string]any
	if json.Unmarshal(r.Body, &served) != nil || json.Unmarshal(proposal.Schema(), &file) != nil {
		t.Fatalf("%s", r.Body)
	}
	delete(served, "ok")
	if fmt.Sprint(served) != fmt.Sprint(file) || file["properties"] == nil {
		t.Error("the tool gives another schema than the file")
	}
	w.Do(bids.ReadSchema, optest.Req{}).Refused(401, "unauthorized")
}

func TestToolsWithoutARoute(t *testing.T) {
	for _, o := range []*op.Operation{bids.CheckProposal, bids.EstimateReleases, bids.ReadSchema} {
		if !o.ToolOnly || o.Tool == "" {
			t.Errorf("%s has a route", o.ID)
		}
	}
}
