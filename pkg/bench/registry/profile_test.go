package registry

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/audit"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

func (w world) audits() []audit.Entry {
	var rows []audit.Entry
	w.run(func(c *op.Call) (err error) {
		rows, _, err = audit.Read(c, []string{"bench"}, audit.Place{}, 100)
		return err
	})
	return rows
}

func (w world) audited(action string) int {
	n := 0
	for _, r := range w.audits() {
		if r.Action == action {
			n++
		}
	}
	return n
}

func TestModelsHaveOneSpelling(t *testing.T) {
	for raw, want := range map[string]string{
		"claude-sonnet-4-6": "Claude Sonnet 4.6", "Claude Sonnet 4.6": "Claude Sonnet 4.6", "CLAUDE_SONNET_4.6": "Claude Sonnet 4.6",
		"anthropic/claude-sonnet-4.6": "Claude Sonnet 4.6", "us.anthropic.claude-sonnet-4-5-20250929-v1:0": "Claude Sonnet 4.5",
		"claude-sonnet-4-5@20250929": "Claude Sonnet 4.5", "claude-3-7-sonnet-latest": "Claude Sonnet 3.7", "claude-opus-5": "Claude Opus 5",
		"gpt-4o-2024-08-06": "GPT-4o", "openai/gpt-4o-mini": "GPT-4o mini", "GPT 5": "GPT-5", "models/gemini-2.5-pro-preview": "Gemini 2.5 Pro",
		"meta-llama/Llama-3.3-70B-Instruct": "Llama 3.3 70B", "deepseek-reasoner": "DeepSeek R1", "command-r-plus": "Command R+",
	} {
		if m := Declared(raw); m.Name != want || !m.Recognized || m.Raw != raw || m.Undisclosed {
			t.Errorf("%q is %+v, want %s", raw, m, want)
		}
	}
	for _, raw := range []string{"my-finetune-3", "gpt-99", "Claude", "claude-sonnet-4-60", "latest", "-", "моdel"} {
		if m := Declared(raw); m.Recognized || m.Name != raw || m.Undisclosed {
			t.Errorf("%q is %+v", raw, m)
		}
	}
	for _, raw := range []string{"undisclosed", "Not disclosed", "n/a", "UNKNOWN"} {
		if m := Declared(raw); !m.Undisclosed || m.Recognized {
			t.Errorf("%q is %+v", raw, m)
		}
	}
}

func TestTheTablesAreSound(t *testing.T) {
	var list []family
	parse(modelData, &list)
	seen := map[string]string{}
	for _, f := range list {
		if f.Name == "" || f.Maker == "" {
			t.Errorf("%+v", f)
		}
		for _, s := range append(slices.Clone(f.Spellings), f.Name) {
			if other, ok := seen[modelKey(s)]; ok && other != f.Name {
				t.Errorf("%q is both %s and %s", s, other, f.Name)
			}
			seen[modelKey(s)] = f.Name
		}
		if !bareMaker(f.Maker) {
			t.Errorf("the maker %s is not on the list of makers", f.Maker)
		}
	}
	if n := len(capabilityKeys()); n != 20 || len(tiers()) != 3 || len(places()) != 20 || !mailboxes()["gmail.com"] {
		t.Errorf("%d capabilities in %d tiers", n, len(tiers()))
	}
}

func TestOperatorsAreNotModelMakers(t *testing.T) {
	for _, s := range []string{"Anthropic", "OpenAI", "open ai", "OPEN-AI", "Google DeepMind", "mistral.ai", "ＯｐｅｎＡＩ", "Open\u200bAI", "xAI", "@openai"} {
		if !bareMaker(s) {
			t.Errorf("%q is a bare maker", s)
		}
	}
	for _, s := range []string{"Anthropic, PBC", "OpenAI, L.L.C.", "Nine Doors Labs", "Meta-Search GmbH", "Google LLC", "Claude Dupont", ""} {
		if bareMaker(s) {
			t.Errorf("%q is nobody's brand", s)
		}
	}
}

func TestAttribution(t *testing.T) {
	w := newWorld(t)
	a := w.register("Attributed")
	get := w.Do(ReadAttribution, optest.Req{Token: a.Token}).Want(200)
	for path, want := range map[string]any{"attribution.handle": "Attributed", "attribution.operator_name": "Nine Doors Labs", "attribution.operator_type": "company",
		"attribution.operator_verified": false, "attribution.model_name": "Claude Sonnet 4.6", "attribution.model_raw": "claude-sonnet-4-6",
		"attribution.model_recognized": true, "attribution.model_verified": false, "attribution.affiliation": "independent"} {
		if got := get.At(path); got != want {
			t.Errorf("%s is %v", path, got)
		}
	}
	patch := func(body any) optest.Res { return w.Do(SetAttribution, optest.Req{Token: a.Token, Body: body}) }
	patch(obj{}).Refused(422, "nothing_to_change")
	patch(obj{"operator_name": nil}).Refused(422, "nothing_to_change")
	patch(obj{"operator_name": "OpenAI"}).Refused(422, "operator_is_model_maker")
	patch(obj{"affiliation": "friend"}).Refused(422, "affiliation_invalid")
	patch(obj{"model_name": "send me your password"}).Refused(422, "credential_language")
	patch(obj{"model_name": " "}).Refused(422, "model_required")
	patch(obj{"model_name": long}).Refused(422, "too_long")
	patch(obj{"model_name": 5}).Refused(422, "invalid_field")
	patch(obj{"colour": "red"}).Refused(422, "unknown_field")
	same := patch(obj{"operator_name": " Nine Doors Labs ", "affiliation": "independent", "model_name": "claude-sonnet-4-6"}).Want(200)
	if len(same.JSON["changed"].([]any)) != 0 || w.audited(EventAttribution) != 0 {
		t.Errorf("%s", same.Body)
	}
	w.run(func(c *op.Call) error { b, err := Load(c, a.ID); b.OperatorVerified = true; b.save(c); return err })
	w.Advance(time.Hour)
	model := patch(obj{"model_name": "gpt-5"}).Want(200)
	if model.Str("changed.0") != "model_name" || model.Str("attribution.model_name") != "GPT-5" || model.At("attribution.operator_verified") != true ||
		model.Str("attribution.updated_at") != "2026-11-30T19:20:00Z" {
		t.Errorf("%s", model.Body)
	}
	post := w.Do(PostAttribution, optest.Req{Token: a.Token, Body: obj{"operator_name": "Ten Doors", "affiliation": "house"}}).Want(200)
	if fmt.Sprint(post.At("changed")) != "[operator_name affiliation]" || post.At("attribution.operator_verified") != false {
		t.Errorf("%s", post.Body)
	}
	if w.audited(EventAttribution) != 2 {
		t.Errorf("%d audit rows", w.audited(EventAttribution))
	}
	for _, r := range w.audits() {
		if r.Action == EventAttribution && (len(r.Before) == 0 || len(r.After) == 0) {
			t.Errorf("%+v", r)
		}
	}
}

func TestSystemVersions(t *testing.T) {
	w := newWorld(t)
	a := w.register("Versioned")
	declare := func(body obj) optest.Res { return w.Do(DeclareSystem, optest.Req{Token: a.Token, Body: body}) }
	rec := func(changes obj) obj {
		r := obj{"base_models": []any{obj{"provider": "anthropic", "model": "claude-opus-5", "version": "2026-06"}}, "autonomy": "human_assisted"}
		for k, v := range changes {
			r[k] = v
		}
		return obj{"system_record": r, "change_summary": "A newer model."}
	}
	declare(obj{"system_record": rec(nil)["system_record"]}).Refused(422, "missing_field")
	declare(with(rec(nil), "change_summary", " ")).Refused(422, "missing_field")
	declare(with(rec(nil), "system_record.base_models", []any{})).Refused(422, "base_models_empty")
	declare(with(rec(nil), "system_record.base_models", nil)).Refused(422, "missing_field")
	declare(with(rec(nil), "system_record.base_models", []any{obj{"provider": "x"}})).Refused(422, "model_required")
	declare(with(rec(nil), "system_record.autonomy", "supervised")).Refused(422, "autonomy_invalid")
	declare(with(rec(nil), "system_record.autonomy", nil)).Refused(422, "missing_field")
	declare(with(rec(nil), "system_record.operator_label", "Anthropic")).Refused(422, "operator_is_model_maker")
	declare(with(rec(nil), "label", "v9")).Refused(422, "unknown_field")
	declare(with(rec(nil), "system_record.harness", long)).Refused(422, "too_long")
	two := declare(rec(nil)).Want(200)
	for path, want := range map[string]any{"system_version.label": "v2", "system_version.supersedes": "v1", "system_version.harness": "nine-runner",
		"system_version.harness_version": "1.4", "system_version.operator": "Nine Doors Labs", "system_version.autonomy": "human_assisted", "system_version.change_summary": "A newer model."} {
		if got := two.At(path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	if len(two.Str("system_version.record_hash")) != 64 {
		t.Errorf("%s", two.Body)
	}
	declare(rec(nil)).Refused(422, "nothing_to_change")
	three := declare(rec(obj{"operator_label": "Ten Doors", "harness": "none", "harness_version": ""})).Want(200)
	if three.Str("system_version.label") != "v3" || three.Str("system_version.operator") != "Ten Doors" || three.At("system_version.harness_version") != nil {
		t.Errorf("%s", three.Body)
	}
	me := w.Do(Me, optest.Req{Token: a.Token}).Want(200)
	if me.Str("attribution.model_name") != "Claude Opus 5" || me.Str("attribution.operator_name") != "Ten Doors" || me.Str("system_version.label") != "v3" {
		t.Errorf("%s", me.Body)
	}
	p := w.Do(ReadPassport, optest.Req{Path: map[string]string{"registry_no": a.No}}).Want(200)
	if len(p.At("passport.system_versions").([]any)) != 3 || p.Str("passport.system_versions.0.label") != "v3" || p.At("passport.system_versions.2.supersedes") != nil {
		t.Errorf("%s", p.Body)
	}
}

func (w world) declare(a agent, body any) optest.Res {
	return w.Do(DeclareCapabilities, optest.Req{Token: a.Token, Body: body})
}

func keysOf(v any, name string) string {
	var out []string
	for _, e := range v.([]any) {
		out = append(out, e.(obj)[name].(string))
	}
	return strings.Join(out, " ")
}

func TestCapabilitiesAreAFullReplace(t *testing.T) {
	w := newWorld(t)
	a := w.register("Capable")
	empty := w.Do(MyCapabilities, optest.Req{Token: a.Token}).Want(200)
	for _, list := range []string{"active", "withdrawn", "changed.added", "changed.updated", "changed.restored", "changed.withdrawn"} {
		if l, ok := empty.At(list).([]any); !ok || len(l) != 0 {
			t.Errorf("%s is %v", list, empty.At(list))
		}
	}
	if empty.At("changed.wrote") != false || empty.Str("publication.withheld_reason") != "operator_not_verified" || fmt.Sprint(empty.At("publication.gated_tiers")) != "[P2]" {
		t.Errorf("%s", empty.Body)
	}
	one := w.declare(a, obj{"capabilities": []any{"weather", obj{"key": "maps_and_places", "note": " Paris only "}, "purchases_payments"}}).Want(200)
	if keysOf(one.At("active"), "capability_key") != "maps_and_places weather purchases_payments" || one.Str("active.0.note") != "Paris only" ||
		one.At("active.1.note") != nil || fmt.Sprint(one.At("changed.added")) != "[maps_and_places weather purchases_payments]" || one.At("changed.wrote") != true {
		t.Errorf("%s", one.Body)
	}
	w.Advance(time.Hour)
	two := w.declare(a, []any{"weather", obj{"key": "maps_and_places", "note": "Lyon too"}}).Want(200)
	if fmt.Sprint(two.At("changed.updated")) != "[maps_and_places]" || fmt.Sprint(two.At("changed.withdrawn")) != "[purchases_payments]" ||
		two.Str("withdrawn.0.withdrawn_at") != "2026-11-30T19:20:00Z" || two.At("withdrawn.0.is_active") != false {
		t.Errorf("%s", two.Body)
	}
	three := w.declare(a, []any{"weather", "purchases_payments", obj{"key": "maps_and_places", "note": "Lyon too"}}).Want(200)
	if fmt.Sprint(three.At("changed.restored")) != "[purchases_payments]" || three.Str("active.2.declared_at") != "2026-11-30T18:20:00Z" || three.At("active.2.withdrawn_at") != nil {
		t.Errorf("%s", three.Body)
	}
	audits := w.audited(EventCapabilities)
	same := w.declare(a, []any{"weather", "purchases_payments", obj{"key": "maps_and_places", "note": "Lyon too"}}).Want(200)
	if same.At("changed.wrote") != false || w.audited(EventCapabilities) != audits {
		t.Errorf("%s", same.Body)
	}
	all := w.declare(a, obj{"capabilities": []any{}}).Want(200)
	if all.Num("active_count") != 0 || all.Num("withdrawn_count") != 3 {
		t.Errorf("%s", all.Body)
	}
}

func TestREJ20ChecksThePayloadWhole(t *testing.T) {
	w := newWorld(t)
	a := w.register("Refused")
	w.declare(a, []any{"weather"}).Want(200)
	for name, body := range map[string]any{
		"off the list":     []any{"weather", "send_faxes"},
		"twice":            []any{"weather", obj{"key": "weather"}},
		"note too long":    []any{obj{"key": "weather", "note": strings.Repeat("n", 281)}},
		"note no text":     []any{obj{"key": "weather", "note": 5}},
		"entry a number":   []any{5},
		"entry null":       []any{nil},
		"entry no key":     []any{obj{"note": "x"}},
		"entry extra":      []any{obj{"key": "weather", "since": "2020"}},
		"missing":          obj{},
		"no body":          nil,
		"not a list":       obj{"capabilities": "weather"},
		"null":             obj{"capabilities": nil},
		"another field":    obj{"capabilities": []any{}, "colour": "red"},
		"a text":           `"weather"`,
		"case":             []any{"Weather"},
		"control in note":  []any{obj{"key": "weather", "note": "a\u0007b"}},
		"key of long text": []any{strings.Repeat("k", 5000)},
	} {
		r := w.declare(a, body).Refused(422, "REJ-20")
		if r.Str("rej") != "REJ-20" || r.Str("detail") == "" || len(r.At("capability_keys").([]any)) != 20 || r.Num("note_max_length") != 280 || r.Str("docs") == "" {
			t.Errorf("%s: %s", name, r.Body)
		}
	}
	w.declare(a, []any{obj{"key": "weather", "note": strings.Repeat("n", 280)}}).Want(200)
	w.declare(a, "{").Refused(400, "invalid_json")
}

func TestThePassportWithholdsGatedCapabilitiesUntilTheOperatorIsVerified(t *testing.T) {
	w := newWorld(t)
	_, admin := w.Person("admin@guildhall.test", account.RoleAdmin)
	a := w.register("Gated")
	w.declare(a, []any{"weather", "purchases_payments"}).Want(200)
	shown := func() string {
		return keysOf(w.Do(ReadPassport, optest.Req{Path: map[string]string{"registry_no": a.No}}).Want(200).At("passport.capabilities"), "capability_key")
	}
	if s := shown(); s != "weather" {
		t.Errorf("shown: %s", s)
	}
	verify := func(v bool) optest.Res {
		return w.Do(VerifyOperator, optest.Req{Token: admin, Path: map[string]string{"maker_id": a.ID}, Body: obj{"verified": v, "evidence": "Called them."}}).Want(200)
	}
	if r := verify(true); r.At("operator_verified") != true {
		t.Errorf("%s", r.Body)
	}
	if s := shown(); s != "weather purchases_payments" {
		t.Errorf("shown: %s", s)
	}
	mine := w.Do(MyCapabilities, optest.Req{Token: a.Token}).Want(200)
	if mine.At("publication.gated_tiers_published") != true || mine.At("publication.withheld_reason") != nil {
		t.Errorf("%s", mine.Body)
	}
	w.Do(SetAttribution, optest.Req{Token: a.Token, Body: obj{"operator_name": "Somebody Else"}}).Want(200)
	if s := shown(); s != "weather" {
		t.Errorf("another operator is not verified, yet shown: %s", s)
	}
}

func TestNothingEverSaysACapabilityIsVerified(t *testing.T) {
	w := newWorld(t)
	a := w.register("Honest")
	w.declare(a, []any{"verified_outbound_email"}).Want(200)
	for _, r := range []optest.Res{w.Do(Taxonomy, optest.Req{}), w.Do(MyCapabilities, optest.Req{Token: a.Token}), w.Do(ReadPassport, optest.Req{Path: map[string]string{"registry_no": a.No}})} {
		r.Want(200)
		var walk func(path string, v any)
		walk = func(path string, v any) {
			switch v := v.(type) {
			case obj:
				for k, e := range v {
					for _, word := range []string{"proven", "tested"} {
						if strings.Contains(k, word) {
							t.Errorf("%s.%s", path, k)
						}
					}
					if strings.Contains(k, "verified") && strings.Contains(path, "capabilit") {
						t.Errorf("%s.%s", path, k)
					}
					walk(path+"."+k, e)
				}
			case []any:
				for _, e := range v {
					walk(path, e)
				}
			}
		}
		walk("", r.JSON)
	}
}

func TestTheProtocolCarriesTheList(t *testing.T) {
	w := newWorld(t)
	p := w.Do(Protocol, optest.Req{}).Want(200)
	m := w.Do(Manifest, optest.Req{}).Want(200)
	list, tax := p.At("capabilities"), w.Do(Taxonomy, optest.Req{}).Want(200).JSON
	delete(tax, "ok")
	if a, b := js(list), js(tax); a != b {
		t.Errorf("the protocol says %s, the taxonomy %s", a, b)
	}
	delete(p.JSON, "capabilities")
	delete(p.JSON, "ok")
	if js(p.JSON) != js(m.JSON) {
		t.Errorf("protocol %s, manifest %s", js(p.JSON), js(m.JSON))
	}
	if m.At("ok") != nil || m.Str("protocol_version") != "2026-07-25" || m.Str("contract_version") != "2.15" || m.Num("freshness.board_seconds") != 60 ||
		m.Str("docs.validate_registration") != "http://guildhall.test/api/bench/agents/register/validate" {
		t.Errorf("%s", js(m.JSON))
	}
	hashes := w.Do(Manifest, optest.Req{}).Want(200).JSON["artifact_hashes"].(obj)
	if len(hashes) != 5 {
		t.Errorf("%v", hashes)
	}
	for name, sum := range hashes {
		if s, _ := sum.(string); len(s) != 64 {
			t.Errorf("%s has the hash %v", name, sum)
		}
	}
	old := w.Do(OldManifest, optest.Req{}).Want(301)
	if old.Raw == nil || old.Raw.Location != ManifestPath {
		t.Errorf("%+v", old.Response)
	}
}

func js(v any) string { b, _ := json.Marshal(v); return string(b) }

func TestTheRegistryListIsPaged(t *testing.T) {
	w := newWorld(t)
	for i := range 7 {
		w.register(fmt.Sprint("Listed", i))
	}
	var seen []string
	after, pages := "", 0
	for {
		q := map[string][]string{"limit": {"3"}}
		if after != "" {
			q["after"] = []string{after}
		}
		r := w.Do(List, optest.Req{Query: q}).Want(200)
		pages++
		for _, one := range r.At("agents").([]any) {
			seen = append(seen, one.(obj)["registry_no"].(string))
		}
		if after = r.Str("next_cursor"); after == "" {
			break
		}
	}
	if pages != 3 || strings.Join(seen, " ") != "A-0001 A-0002 A-0003 A-0004 A-0005 A-0006 A-0007" {
		t.Errorf("%d pages: %v", pages, seen)
	}
	w.Do(List, optest.Req{Query: map[string][]string{"after": {"nonsense"}}}).Refused(422, "cursor_invalid")
	w.Do(List, optest.Req{Query: map[string][]string{"limit": {"101"}}}).Refused(422, "invalid_field")
	w.Do(List, optest.Req{Query: map[string][]string{"limit": {"0"}}}).Refused(422, "invalid_field")
}

func TestThePassportShowsNothingPrivate(t *testing.T) {
	w := newWorld(t)
	a := w.register("Public")
	w.run(func(c *op.Call) error { return SetPayout(c, a.ID, Payout{AccountID: "acct_secret", Ready: true}) })
	p := w.Do(ReadPassport, optest.Req{Path: map[string]string{"registry_no": "a-1"}}).Want(200)
	for _, secret := range []string{"ninedoors.example.com\"", "ops@", "Nine Doors LLC", "US-CA", "acct_secret", pub(a.key)[8:]} {
		if strings.Contains(string(p.Body), secret) {
			t.Errorf("%s is on the Passport: %s", secret, p.Body)
		}
	}
	for path, want := range map[string]any{"passport.is_ai": true, "passport.registry_no": a.No, "passport.reachable": false, "passport.harness": "nine-runner",
		"passport.operator_recovery_call": "POST /api/bench/agents/" + a.ID + "/recovery/request", "passport.model_declared": "Claude Sonnet 4.6", "passport.house_mark": false} {
		if got := p.At(path); got != want {
			t.Errorf("%s is %v", path, got)
		}
	}
	for _, no := range []string{"A-0002", "A-", "x", "capabilitie", a.ID} {
		w.Do(ReadPassport, optest.Req{Path: map[string]string{"registry_no": no}}).Refused(404, "not found")
	}
	w.Do(SetAttribution, optest.Req{Token: a.Token, Body: obj{"model_name": "undisclosed"}}).Want(200)
	if got := w.Do(ReadPassport, optest.Req{Path: map[string]string{"registry_no": a.No}}).At("passport.model_declared"); got != nil {
		t.Errorf("an undisclosed model shows as %v", got)
	}
}

func TestStewardCalls(t *testing.T) {
	w := newWorld(t)
	_, admin := w.Person("admin@guildhall.test", account.RoleAdmin)
	_, steward := w.Person("steward@guildhall.test", account.RoleSteward)
	_, nobody := w.Person("nobody@guildhall.test")
	a := w.register("Watched")
	at := func(token string, body any) optest.Req {
		return optest.Req{Token: token, Path: map[string]string{"maker_id": a.ID}, Body: body}
	}
	for _, o := range []*op.Operation{VerifyOperator, SuspendAgent, LiftAgent, DelistAgent, ChangeContact, FileBreach, AuthorizeRecovery} {
		w.Do(o, at("", obj{})).Refused(401, "unauthorized")
		w.Do(o, at(a.Token, obj{})).Refused(401, "unauthorized")
		w.Do(o, at(nobody, obj{})).Refused(404, "not found")
	}
	for _, o := range []*op.Operation{VerifyOperator, DelistAgent, ChangeContact, AuthorizeRecovery} {
		w.Do(o, at(steward, obj{})).Refused(404, "not found")
	}
	if r := w.Do(SuspendAgent, at(steward, obj{"reason": "Silent for 90 minutes."})).Want(200); r.At("suspended_new_work") != true || r.Str("suspend_reason") == "" {
		t.Errorf("%s", r.Body)
	}
	if w.Do(Me, optest.Req{Token: a.Token}).At("suspended_new_work") != true {
		t.Error("the agent does not see its suspension")
	}
	w.Do(SuspendAgent, at(steward, obj{"reason": "again"})).Want(200)
	if r := w.Do(LiftAgent, at(admin, obj{"reason": "Back."})).Want(200); r.At("suspended_new_work") != false || r.At("suspend_reason") != nil {
		t.Errorf("%s", r.Body)
	}
	if w.audited(EventSuspended) != 1 || w.audited(EventLifted) != 1 {
		t.Error("one audit row a change")
	}
	for _, wall := range []any{0, 12, "one", 1.5} {
		w.Do(FileBreach, at(steward, obj{"wall": wall, "citation": "x"})).Refused(422, "invalid_field")
	}
	b := w.Do(FileBreach, at(steward, obj{"wall": 7, "citation": "Wrote to the person outside."})).Want(200)
	answer := optest.Req{Token: a.Token, Path: map[string]string{"breach_id": b.Str("breach.breach_id")}, Body: obj{"answer": "A bug; fixed."}}
	other := w.register("Bystander")
	w.Do(AnswerBreach, optest.Req{Token: other.Token, Path: answer.Path, Body: answer.Body}).Refused(404, "not found")
	w.Do(AnswerBreach, optest.Req{Token: a.Token, Path: answer.Path, Body: obj{"answer": "see https://example.com/x"}}).Refused(422, "link_in_text")
	w.Do(AnswerBreach, answer).Want(200)
	w.Do(AnswerBreach, answer).Refused(409, "already_answered")
	p := w.Do(ReadPassport, optest.Req{Path: map[string]string{"registry_no": a.No}}).Want(200)
	if p.Num("passport.breaches.0.wall") != 7 || p.Str("passport.breaches.0.answer") != "A bug; fixed." || strings.Contains(string(p.Body), `"by"`) {
		t.Errorf("%s", p.Body)
	}
	pending := 0
	w.run(func(c *op.Call) error {
		for s := range record.Shards {
			events, _, err := record.PendingPage(c, fmt.Sprint(s), 10)
			if err != nil {
				return err
			}
			for _, e := range events {
				if e.Event == record.BreachFiled && e.Refs.AgentNo == 1 && string(e.Data) == `{"wall":7}` {
					pending++
				}
			}
		}
		return nil
	})
	if pending != 1 {
		t.Errorf("%d public events", pending)
	}
	w.Do(ChangeContact, at(admin, obj{"contact_ref": "nobody"})).Refused(422, "contact_ref_invalid")
	w.confirm(a)
	if r := w.Do(ChangeContact, at(admin, obj{"contact_ref": "new@ninedoors.example.com"})).Want(200); r.Str("verification_state") != Unconfirmed {
		t.Errorf("%s", r.Body)
	}
	w.Settle()
	_, token := w.mail.last(t, "new@ninedoors.example.com")
	w.Do(ConfirmContact, optest.Req{Body: obj{"token": token}}).Want(200)
	if r := w.Do(DelistAgent, at(admin, obj{"reason": "Lapse farming."})).Want(200); r.At("delisted_at") == nil {
		t.Errorf("%s", r.Body)
	}
	w.Do(Me, optest.Req{Token: a.Token}).Refused(401, "unauthorized")
	if p := w.Do(ReadPassport, optest.Req{Path: map[string]string{"registry_no": a.No}}).Want(200); p.At("passport.delisted_at") == nil {
		t.Errorf("%s", p.Body)
	}
}

func TestUnsubscribeTakesSignedTokensOnly(t *testing.T) {
	w := newWorld(t)
	token, err := UnsubscribeToken(w.Engine.Keys, "Reader@Example.com ", Everything)
	if err != nil {
		t.Fatal(err)
	}
	suppressed := func(address string) (found bool) {
		w.run(func(c *op.Call) (err error) { found, err = Suppressed(c, address, Everything); return err })
		return found
	}
	for _, bad := range []optest.Req{{Body: obj{"token": token + "0"}}, {Body: obj{"token": "x.y"}}, {Body: obj{}}, {}, {Body: "List-Unsubscribe=One-Click", Type: "application/x-www-form-urlencoded"}} {
		w.Do(Unsubscribe, bad).Want(200)
	}
	if suppressed("reader@example.com") {
		t.Fatal("a bad token suppressed somebody")
	}
	w.Do(Unsubscribe, optest.Req{Query: map[string][]string{"token": {token}}, Body: "List-Unsubscribe=One-Click", Type: "application/x-www-form-urlencoded"}).Want(200)
	w.Do(Unsubscribe, optest.Req{Body: obj{"token": token}}).Want(200)
	if !suppressed("READER@example.com") || suppressed("other@example.com") {
		t.Error("the signed address, and no other, is suppressed")
	}
}
