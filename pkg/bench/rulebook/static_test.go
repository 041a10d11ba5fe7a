package rulebook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// contractCalls is the endpoint register of bench.md 2.3, the calls that 3.6, 3.15, 16.5 and 17.4 add to it,
// and the two discovery addresses.
var contractCalls = []string{
	"GET /.well-known/bookofhouses-agent.json",
	"GET /.well-known/boho-agent.json",
	"GET /api/bench/protocol",
	"POST /api/bench/agents/register",
	"POST /api/bench/agents/register/validate",
	"POST /api/bench/agents/recovery/challenge",
	"POST /api/bench/agents/recovery/complete",
	"POST /api/bench/oauth/token",
	"GET /api/bench/me",
	"GET /api/bench/me/attention",
	"POST /api/bench/me/pings/ack",
	"POST /api/bench/me/token/rotate",
	"POST /api/bench/me/recovery-key",
	"POST /api/bench/me/system-version",
	"GET, PATCH, POST /api/bench/me/attribution",
	"GET /api/bench/capabilities",
	"GET, PUT /api/bench/agents/capabilities",
	"GET /api/bench/board",
	"GET /api/bench/targets/open",
	"GET /api/bench/targets/{target_id}/brief",
	"GET /api/bench/targets/{target_id}/attachments/{filename}",
	"POST /api/bench/targets/{target_id}/proposals",
	"GET /api/bench/proposals/mine",
	"POST /api/bench/proposals/{proposal_id}/withdraw",
	"GET /api/bench/targets/{target_id}/proposals/{proposal_id}/answers",
	"POST /api/bench/targets/{target_id}/proposals/{proposal_id}/plan",
	"POST /api/bench/finalists/{proposal_id}/answers",
	"POST /api/bench/deals/{deal_id}/sign",
	"POST /api/bench/deals/{deal_id}/decline",
	"GET /api/bench/deals/{deal_id}/current-step",
	"POST /api/bench/deals/{deal_id}/check-ins",
	"GET /api/bench/deals/{deal_id}/steps/{step_id}/messages",
	"POST /api/bench/deals/{deal_id}/steps/{step_id}/messages",
	"POST /api/bench/deals/{deal_id}/steps/{step_id}/declared-odds",
	"POST /api/bench/deals/{deal_id}/steps/{step_id}/flag",
	"POST /api/bench/deals/{deal_id}/steps/{step_id}/fail",
	"POST /api/bench/deals/{deal_id}/withdraw",
	"POST /api/bench/deals/{deal_id}/subsidy",
	"POST /api/bench/targets/{target_id}/outcomes",
	"POST /api/bench/targets/{target_id}/delivery-schedule",
	"POST /api/bench/deals/{deal_id}/artifacts",
	"POST /api/bench/deals/{deal_id}/mailbox",
	"GET /api/bench/deals/{deal_id}/materials/{file_id}",
	"POST /api/bench/deals/{deal_id}/grants/{grant_id}/swap",
	"GET /api/bench/connectors",
	"GET /api/bench/events",
	"GET /api/bench/wallet",
	"POST /api/bench/me/payout-account/onboarding-link",
	"POST /api/bench/payout-account/session",
	"POST /api/bench/payout-account/sync",
	"POST /api/bench/payout-account/webhook",
	"POST /api/agent-email/approvals",
	"POST /api/agent-email/send",
	"POST /mcp",
	"GET /api/bench/board.json",
	"GET /api/bench/receipts.jsonl",
	"GET /api/bench/receipts/{deal_id}",
	"GET /api/bench/ledger.jsonl",
	"POST /api/bench/me/client-key",
	"POST /api/bench/me/contact/resend",
	"GET /api/bench/deals/{deal_id}/connector-authorizations",
	"POST /api/bench/deals/{deal_id}/connector-actions",
	"POST /api/bench/deals/{deal_id}/connector-actions/{action_id}/execute",
	"GET /api/agent-email/threads",
	"GET /api/agent-email/threads/{thread_id}",
	"POST /api/agent-email/threads/{thread_id}/reply",
	// What the contract leaves to the exchange, or tells in words only.
	"GET /api/bench/agents",
	"GET /api/bench/agents/{registry_no}",
	"GET /api/bench/targets/{target_id}/world-file",
	"POST /api/bench/agents/{maker_id}/recovery/request",
	"POST /api/bench/recovery/redeem",
	"POST /api/bench/contact/confirm",
	"POST /api/bench/me/breaches/{breach_id}/answer",
	"POST /api/bench/unsubscribe",
}

// contractTools are the 45 tools of bench.md 21.2.
var contractTools = strings.Fields(`
	get_protocol get_proposal_schema get_capability_taxonomy list_public_board get_my_status get_attention
	ack_reachability_ping set_attribution get_my_capabilities declare_capabilities list_open_targets
	get_target_brief validate_proposal estimate_release_map sign_deal get_current_step read_step_messages
	post_step_message restate_declared_odds declare_step_failed withdraw_from_deal record_connector_swap
	file_document_outcome file_delivery_schedule get_wallet get_payout_onboarding_link get_connector_catalog
	get_connector_authorizations propose_connector_action execute_connector_action email_approval_request
	email_send email_threads email_thread_read email_reply submit_proposal list_my_proposals withdraw_proposal
	read_finalist_answers file_informed_plan decline_deal post_work_pulse file_outcome flag_step get_events`)

var markdownNames = []string{"agent-skill.md", "target-path-spec.md", "agent-quickstart.md", "agent-bid-pack.md"}

func document(t *testing.T, name string) string {
	t.Helper()
	body, contentType, ok := Static(name)
	if !ok || len(body) == 0 || contentType == "" {
		t.Fatalf("%s: %d bytes, type %q, %v", name, len(body), contentType, ok)
	}
	return string(body)
}

func TestStaticServesItsOwnNamesOnly(t *testing.T) {
	for name := range staticTypes {
		document(t, name)
	}
	for _, name := range []string{"", "rules.yaml", "../rules.yaml", "static/agent-skill.md", "AGENT-SKILL.md", "agent-api.openapi.json"} {
		if body, _, ok := Static(name); ok || body != nil {
			t.Errorf("%q is served", name)
		}
	}
}

func TestHashesCoverWhatIsServed(t *testing.T) {
	sums := Hashes()
	if len(sums) != len(staticTypes) {
		t.Errorf("%d hashes for %d documents", len(sums), len(staticTypes))
	}
	for name := range staticTypes {
		if want := hexSHA256([]byte(document(t, name))); sums[name] != want {
			t.Errorf("%s: hash %s, bytes %s", name, sums[name], want)
		}
	}
	if sums["rules.json"] != Hash() {
		t.Error("rules.json does not hash to the rules version")
	}
	sums["agent-skill.md"] = "changed"
	if Hashes()["agent-skill.md"] == "changed" {
		t.Error("a caller changed the hashes")
	}
}

func TestNoDocumentCanBeChangedThroughTheResult(t *testing.T) {
	for name := range staticTypes {
		first, _, _ := Static(name)
		first[0] ^= 0xff
		if again, _, _ := Static(name); again[0] == first[0] {
			t.Errorf("a caller changed %s", name)
		}
	}
}

func TestSkillNamesEveryRejectionCode(t *testing.T) {
	skill := document(t, "agent-skill.md")
	for n := 1; n <= 27; n++ {
		if row := fmt.Sprintf("\n| REJ-%02d | ", n); strings.Count(skill, row) != 1 {
			t.Errorf("agent-skill.md has no row for REJ-%02d", n)
		}
	}
}

func TestMarkdownStatesTheContractVersion(t *testing.T) {
	for _, name := range markdownNames {
		if strings.Count(document(t, name), "\ncontract_version: 2.15\n") != 1 {
			t.Errorf("%s has no version line", name)
		}
	}
	if head, _, _ := strings.Cut(document(t, "agent-skill.md"), "\n---\n"); !strings.Contains(head, "contract_version: 2.15") {
		t.Error("the version of agent-skill.md is not in its header")
	}
}

var (
	callPath  = regexp.MustCompile(`/(?:api/|mcp\b|\.well-known/)[A-Za-z0-9_{}$./-]*`)
	tableCall = regexp.MustCompile("(?m)^\\| ([A-Z, ]+) `(/[^`]+)`")
	shellVar  = regexp.MustCompile(`\$[A-Z_]+`)
)

// shape makes one word of every path parameter, however it is written.
func shape(path string) string {
	path = shellVar.ReplaceAllString(strings.TrimRight(path, "."), "{}")
	return regexp.MustCompile(`\{[a-z_]*\}`).ReplaceAllString(path, "{}")
}

func TestDocumentsNameOnlyCallsOfTheContract(t *testing.T) {
	known := map[string]bool{}
	for _, call := range contractCalls {
		known[shape(call[strings.Index(call, "/"):])] = true
	}
	for _, name := range markdownNames {
		for _, path := range callPath.FindAllString(document(t, name), -1) {
			if !known[shape(path)] {
				t.Errorf("%s names %s", name, path)
			}
		}
	}
}

func TestSkillListsEveryCallOnce(t *testing.T) {
	var listed []string
	for _, m := range tableCall.FindAllStringSubmatch(document(t, "agent-skill.md"), -1) {
		listed = append(listed, m[1]+" "+m[2])
	}
	want := slices.Sorted(slices.Values(contractCalls))
	if got := slices.Sorted(slices.Values(listed)); !slices.Equal(got, want) {
		for _, call := range want {
			if !slices.Contains(got, call) {
				t.Errorf("section 24 lacks %s", call)
			}
		}
		t.Errorf("section 24 lists %d calls, the contract has %d", len(got), len(want))
	}
}

func TestSkillNamesEveryTool(t *testing.T) {
	skill := document(t, "agent-skill.md")
	for _, tool := range contractTools {
		if !strings.Contains(skill, "`"+tool+"`") {
			t.Errorf("agent-skill.md does not name %s", tool)
		}
	}
}

func TestDocumentsUseNoForbiddenWords(t *testing.T) {
	for name := range staticTypes {
		body := document(t, name)
		if i := strings.Index(body, "\u2014"); i >= 0 {
			t.Errorf("%s holds an em dash at byte %d", name, i)
		}
		// One call of the contract is named so; the word has no other business here.
		body = strings.ToLower(strings.ReplaceAll(body, "/api/bench/payout-account/session", ""))
		for _, word := range []string{"tollbench", "bookofhouses.com", "session", "/work/", "{base_url}", "todo"} {
			if strings.Contains(body, word) {
				t.Errorf("%s says %q", name, word)
			}
		}
		if !utf8.ValidString(body) {
			t.Errorf("%s is not UTF-8", name)
		}
	}
}

var (
	markdownLink = regexp.MustCompile(`\]\(([^)]+)\)`)
	jsonBlock    = regexp.MustCompile("(?s)```json\n(.*?)```")
)

func TestMarkdownLinksLead(t *testing.T) {
	page := document(t, "the-rules.html")
	for _, name := range markdownNames {
		for _, m := range markdownLink.FindAllStringSubmatch(strings.ReplaceAll(document(t, name), "\n", " "), -1) {
			target, anchor, _ := strings.Cut(strings.TrimPrefix(m[1], "/static/"), "#")
			if _, _, ok := Static(target); !ok {
				t.Errorf("%s links to %s", name, m[1])
			}
			if anchor != "" && !strings.Contains(page, `id="`+anchor+`"`) {
				t.Errorf("%s links to a missing anchor %s", name, m[1])
			}
		}
	}
}

var (
	element = regexp.MustCompile(`<(/?)([a-z][a-z0-9]*)([^>]*)>`)
	idValue = regexp.MustCompile(` id="([^"]+)"`)
)

func TestRulesPageIsSelfContained(t *testing.T) {
	page := document(t, "the-rules.html")
	tags := strings.Join(element.FindAllString(page, -1), "")
	for _, bad := range []string{"<script", "<img", "<style", " style=", "http:", "https:", "src=", "@import", " on"} {
		if strings.Contains(tags, bad) {
			t.Errorf("the page has %q in a tag", bad)
		}
	}
	if strings.Count(page, "<link") != 1 || !strings.Contains(page, `<link rel="stylesheet" href="/static/site.css">`) {
		t.Error("the page does not have exactly its one stylesheet")
	}
	if !strings.Contains(page, Hash()) {
		t.Error("the page does not print the hash")
	}
	ids := map[string]bool{}
	for _, m := range idValue.FindAllStringSubmatch(page, -1) {
		if ids[m[1]] {
			t.Errorf("id %s is used twice", m[1])
		}
		ids[m[1]] = true
	}
	for _, id := range []string{"walk", "bidcraft", "wanttoplan", "odds"} {
		if !ids[id] {
			t.Errorf("the page has no #%s", id)
		}
	}
	for _, r := range Rules() {
		if !ids[r.ID] {
			t.Errorf("the page has no #%s", r.ID)
		}
	}
	for _, m := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(page, -1) {
		if !ids[m[1]] {
			t.Errorf("the page links to a missing #%s", m[1])
		}
	}
}

func TestRulesPageClosesItsTags(t *testing.T) {
	var open []string
	for _, m := range element.FindAllStringSubmatch(document(t, "the-rules.html"), -1) {
		switch {
		case slices.Contains([]string{"meta", "link"}, m[2]):
		case m[1] == "":
			open = append(open, m[2])
		case len(open) == 0 || open[len(open)-1] != m[2]:
			t.Fatalf("</%s> closes %v", m[2], open)
		default:
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Errorf("left open: %v", open)
	}
}

// Examples are copied by agents, so they have to hold what the text around them asks for.

type exampleOption struct {
	Label string `json:"label"`
}

type exampleStep struct {
	Title          string  `json:"title"`
	MinorDetail    string  `json:"minor_detail"`
	Ask            string  `json:"ask"`
	OutcomePromise string  `json:"outcome_promise"`
	PersonMinutes  int     `json:"person_minutes"`
	LineItem       int     `json:"line_item_amount"`
	DeclaredOdds   float64 `json:"declared_odds"`
	HARBlocks      []struct {
		ID     string `json:"id"`
		Title  string `json:"title"`
		Format string `json:"format"`
		Config struct {
			Options []exampleOption `json:"options"`
		} `json:"config"`
	} `json:"har_blocks"`
}

type exampleBid struct {
	TotalAsk   *int           `json:"total_ask_cents"`
	Allocation map[string]int `json:"allocation"`
	FinishLine int            `json:"finish_line_cents"`
	PitchTitle string         `json:"pitch_title"`
	PitchBody  string         `json:"pitch_body"`
	SmartGoals []string       `json:"smart_goals"`
	Questions  [][]string     `json:"finalist_questions"`
	Steps      []exampleStep  `json:"steps"`
}

func TestExampleBidsObeyTheRules(t *testing.T) {
	bids := 0
	for _, name := range markdownNames {
		for _, m := range jsonBlock.FindAllStringSubmatch(document(t, name), -1) {
			var bid exampleBid
			if err := json.Unmarshal([]byte(m[1]), &bid); err != nil {
				t.Errorf("%s: %v in %.60q", name, err, m[1])
				continue
			}
			if bid.TotalAsk != nil {
				bids++
				checkBid(t, name, bid)
			}
		}
	}
	if bids != 3 {
		t.Errorf("found %d example bids", bids)
	}
}

func checkBid(t *testing.T, name string, bid exampleBid) {
	t.Helper()
	lines, parts := bid.FinishLine, 0
	for _, s := range bid.Steps {
		lines += s.LineItem
		checkStep(t, name, s)
	}
	for _, cents := range bid.Allocation {
		parts += cents
	}
	if lines != *bid.TotalAsk || parts != *bid.TotalAsk {
		t.Errorf("%s: lines %d, allocation %d, total %d", name, lines, parts, *bid.TotalAsk)
	}
	if len(bid.Steps) < 2 || len(bid.Steps) > 3 {
		t.Errorf("%s: %d steps", name, len(bid.Steps))
	}
	if len(bid.SmartGoals) != 1 || len(bid.Questions) != 1 || len(bid.Questions[0]) != 4 {
		t.Errorf("%s: goals %d, questions %v", name, len(bid.SmartGoals), bid.Questions)
	}
	if len(bid.PitchTitle) < 1 || len(bid.PitchTitle) > 120 || len(bid.PitchBody) < 1 || len(bid.PitchBody) > 600 {
		t.Errorf("%s: pitch of %d and %d characters", name, len(bid.PitchTitle), len(bid.PitchBody))
	}
}

func checkStep(t *testing.T, name string, s exampleStep) {
	t.Helper()
	fits := map[string][]string{
		"CHOOSE": {"single_choice"}, "PROVIDE": {"structured_form"}, "APPROVE": {"review_approve", "confirm_correct"},
	}
	if len(s.Title) < 1 || len(s.Title) > 60 || len(s.MinorDetail) > 140 || !strings.HasPrefix(s.OutcomePromise, "I will ") {
		t.Errorf("%s: step %q breaks a text rule", name, s.Title)
	}
	if s.DeclaredOdds <= 0 || s.DeclaredOdds >= 1 || s.PersonMinutes > 30 {
		t.Errorf("%s: step %q has odds %v and %d minutes", name, s.Title, s.DeclaredOdds, s.PersonMinutes)
	}
	if len(s.HARBlocks) != 1 || !slices.Contains(fits[s.Ask], s.HARBlocks[0].Format) {
		t.Fatalf("%s: step %q has no control for %s", name, s.Title, s.Ask)
	}
	if b := s.HARBlocks[0]; b.ID == "" || b.Title == "" || s.Ask == "CHOOSE" && len(b.Config.Options) < 2 {
		t.Errorf("%s: step %q has an incomplete control", name, s.Title)
	}
}

// Bodies in the curl examples are JSON as well, where they are complete.
func TestCurlBodiesAreJSON(t *testing.T) {
	body := regexp.MustCompile(`(?s)-d '(\{.*?\})'`)
	found := 0
	for _, name := range markdownNames {
		for _, m := range body.FindAllStringSubmatch(document(t, name), -1) {
			if strings.Contains(m[1], "[ ...") {
				continue
			}
			found++
			if !json.Valid(bytes.TrimSpace([]byte(m[1]))) {
				t.Errorf("%s: not JSON: %.80s", name, m[1])
			}
		}
	}
	if found < 10 {
		t.Errorf("found only %d bodies", found)
	}
}
