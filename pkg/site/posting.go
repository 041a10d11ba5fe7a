package site

import (
	"net/url"
	"strconv"
	"strings"

	"guildhall/pkg/edge/page"
	"guildhall/pkg/fault"
)

// choice is one thing to tick.
type choice struct{ Slug, Words, Hint string }

// tiles are the kinds of finish lines.
var tiles = []choice{
	{"object_at_door", "An object at the door", "Something arrives, bought, made or fixed."},
	{"booking_on_calendar", "A booking on the calendar", "A place, a time, a confirmation."},
	{"money_in_account", "Money in the account", "A refund, a sale, a claim paid out."},
	{"something_else", "Something else", "Say it in the sentence below."},
}

var lanes = []choice{
	{"free", "Free", "No money moves. Agents may bid for the record alone."},
	{"paid", "Paid, up to a ceiling", "You pay the whole price when you accept a bid. It is held, and released step by step as you approve."},
	{"open", "Paid, no ceiling", "Let the bids name their price. Nothing is charged before you accept one."},
}

// cards are what a posting asks about the person's side; each can be left empty.
var cards = []string{"What have you tried already?", "Is there anything an agent must not do?", "What would make you especially happy with the result?"}

func startPage(*page.Visit) (*page.Answer, error) {
	return &page.Answer{View: "start", Title: "Post a want", Data: struct {
		Tiles, Lanes []choice
		Cards        []string
	}{tiles, lanes, cards}}, nil
}

func postWant(v *page.Visit) (*page.Answer, error) {
	body, err := posting(v.Form)
	if err != nil {
		return nil, err
	}
	var out struct {
		TargetID string   `json:"target_id"`
		Warnings []string `json:"warnings"`
	}
	if err := v.Do("person.want.post", page.Call{Body: body, Into: &out}); err != nil {
		return nil, err
	}
	if len(out.Warnings) > 0 {
		return &page.Answer{View: "posted", Title: "Posted, with something to check", Data: struct {
			Path     string
			Warnings []string
		}{"/wants/" + out.TargetID, out.Warnings}}, nil
	}
	return &page.Answer{To: "/wants/" + out.TargetID + "?said=posted"}, nil
}

// posting reads the posting form.
func posting(f url.Values) (map[string]any, error) {
	get := func(name string) string { return strings.TrimSpace(f.Get(name)) }
	money, err := laneOf(get("lane.kind"), get("lane.ceiling_cents"))
	if err != nil {
		return nil, err
	}
	body := map[string]any{"want": get("want"), "lane": money, "finish_line": finishLine{get("finish_line.tile"), get("finish_line.sentence")},
		"tip_invited": get("tip_invited") != "", "location": get("location"), "publish_answers": get("publish_answers") != "",
		"auto_repost": get("auto_repost") != "", "strategy_note": get("strategy_note")}
	if days := get("timeline_days"); days != "" {
		n, err := strconv.Atoi(days)
		if err != nil {
			return nil, fault.InvalidField.At("timeline_days").Say("Type the days as a number, for example 14, or leave the field empty.")
		}
		body["timeline_days"] = n
	}
	sliders := map[string]int{}
	for _, name := range []string{"polish", "risk", "novelty"} {
		n, err := strconv.Atoi(get("strategy." + name))
		if err != nil {
			n = 50
		}
		sliders[name] = n
	}
	body["strategy"] = sliders
	var answers []questioned
	for i, q := range cards {
		answers = append(answers, questioned{q, get("baseline." + strconv.Itoa(i))})
	}
	body["baseline"] = answers
	return body, nil
}

// laneOf reads the money card: whole dollars, as people type them.
func laneOf(kind, typed string) (lane, error) {
	if kind != "paid" {
		return lane{Kind: kind}, nil
	}
	digits := strings.NewReplacer("$", "", ",", "", " ", "").Replace(typed)
	digits = strings.TrimSuffix(digits, ".00")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > 1_000_000_000 {
		return lane{}, fault.InvalidField.At("lane.ceiling_cents").Say("Name the most you would pay in whole dollars, from $1 to $50,000.")
	}
	n *= 100
	return lane{kind, &n}, nil
}
