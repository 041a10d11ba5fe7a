package registry

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"guildhall/pkg/bench/rulebook"
	"guildhall/pkg/op/optest"
)

// flaw is one way to break a registration and the problem it must be called by.
type flaw struct {
	path        string
	value       any
	code, field string
}

var long = strings.Repeat("x", 201)

var flaws = []flaw{
	{"colour", "red", "unknown_field", "colour"},
	{"agent_id", nil, "", ""}, // removing what is not there breaks nothing
	{"handle", nil, "missing_field", "handle"},
	{"handle", 7, "handle_invalid", "handle"},
	{"handle", "x y z", "handle_invalid", "handle"},
	{"handle", "Taken", "name_taken", "handle"},
	{"handle", "tAKEN ", "name_taken", "handle"},
	{"skills", nil, "missing_field", "skills"},
	{"skills", " \n\t", "skills_required", "skills"},
	{"skills", strings.Repeat("é", 2001), "skills_too_long", "skills"},
	{"skills", strings.Repeat("e\u0301", 2000), "", ""},
	{"skills", []any{}, "wrong_type", "skills"},
	{"skills", "Send me your password and I will do the rest.", "credential_language", "skills"},
	{"skills", "See https://example.com/skills", "link_in_text", "skills"},
	{"skills", "a\u0000b", "control_characters", "skills"},
	{"intro_blurb", strings.Repeat("b", 141), "intro_blurb_too_long", "intro_blurb"},
	{"intro_blurb", strings.Repeat("b", 140), "", ""},
	{"intro_blurb", "  ", "", ""},
	{"intro_blurb", "Please tell me your one-time code.", "credential_language", "intro_blurb"},
	{"disclosure", nil, "missing_field", "disclosure"},
	{"disclosure", "yes", "wrong_type", "disclosure"},
	{"disclosure.is_ai", nil, "missing_field", "disclosure.is_ai"},
	{"disclosure.is_ai", false, "is_ai_required", "disclosure.is_ai"},
	{"disclosure.is_ai", "true", "is_ai_required", "disclosure.is_ai"},
	{"disclosure.model", nil, "missing_field", "disclosure.model"},
	{"disclosure.model", "", "model_required", "disclosure.model"},
	{"disclosure.model", long, "too_long", "disclosure.model"},
	{"disclosure.model", "give me your login details", "credential_language", "disclosure.model"},
	{"disclosure.operator_label", nil, "missing_field", "disclosure.operator_label"},
	{"disclosure.operator_label", " ", "operator_label_required", "disclosure.operator_label"},
	{"disclosure.operator_label", "Open AI", "operator_is_model_maker", "disclosure.operator_label"},
	{"disclosure.operator_label", "anthropic.", "operator_is_model_maker", "disclosure.operator_label"},
	{"disclosure.operator_label", "Anthropic, PBC", "", ""},
	{"disclosure.operator_type", nil, "missing_field", "disclosure.operator_type"},
	{"disclosure.operator_type", "robot", "operator_type_invalid", "disclosure.operator_type"},
	{"disclosure.company_url", nil, "company_url_required", "disclosure.company_url"},
	{"disclosure.company_url", " ", "company_url_required", "disclosure.company_url"},
	{"disclosure.company_url", "http://ninedoors.example.com", "company_url_invalid", "disclosure.company_url"},
	{"disclosure.company_url", "https://localhost", "company_url_invalid", "disclosure.company_url"},
	{"disclosure.company_url", "https://10.0.0.1/", "company_url_invalid", "disclosure.company_url"},
	{"disclosure.company_url", "https://u:p@example.com/", "company_url_invalid", "disclosure.company_url"},
	{"disclosure.company_url", 5, "company_url_invalid", "disclosure.company_url"},
	{"system_record", nil, "missing_field", "system_record"},
	{"system_record.autonomy", nil, "missing_field", "system_record.autonomy"},
	{"system_record.autonomy", "supervised", "autonomy_invalid", "system_record.autonomy"},
	{"system_record.harness", nil, "missing_field", "system_record.harness"},
	{"system_record.harness", " ", "harness_required", "system_record.harness"},
	{"system_record.harness_version", long, "too_long", "system_record.harness_version"},
	{"system_record.base_models", nil, "missing_field", "system_record.base_models"},
	{"system_record.base_models", []any{}, "base_models_empty", "system_record.base_models"},
	{"system_record.base_models", "gpt", "wrong_type", "system_record.base_models"},
	{"system_record.base_models", []any{"gpt"}, "wrong_type", "system_record.base_models[0]"},
	{"system_record.base_models", []any{obj{"provider": "x"}}, "missing_field", "system_record.base_models[0].model"},
	{"system_record.base_models", []any{obj{"model": ""}}, "model_required", "system_record.base_models[0].model"},
	{"system_record.base_models", slices.Repeat([]any{obj{"model": "m"}}, 21), "too_long", "system_record.base_models"},
	{"system_record.base_models", slices.Repeat([]any{obj{"model": "m"}}, 20), "", ""},
	{"system_record.label", strings.Repeat("v", 65), "label_too_long", "system_record.label"},
	{"system_record.label", strings.Repeat("v", 64), "", ""},
	{"responsible_party", nil, "missing_field", "responsible_party"},
	{"responsible_party.legal_name", nil, "missing_field", "responsible_party.legal_name"},
	{"responsible_party.legal_name", "", "legal_name_required", "responsible_party.legal_name"},
	{"responsible_party.jurisdiction", "\t", "jurisdiction_required", "responsible_party.jurisdiction"},
	{"responsible_party.contact_ref", nil, "missing_field", "responsible_party.contact_ref"},
	{"responsible_party.contact_ref", "ops", "contact_ref_invalid", "responsible_party.contact_ref"},
	{"responsible_party.contact_ref", "a@b.example\r\nBcc: c@d.example", "contact_ref_invalid", "responsible_party.contact_ref"},
	{"responsible_party.contact_ref", strings.Repeat("a", 64) + "@" + strings.Repeat("b.", 95) + "example", "contact_ref_invalid", "responsible_party.contact_ref"},
	{"rules", nil, "missing_field", "rules"},
	{"rules.accepted", false, "rules_not_accepted", "rules.accepted"},
	{"rules.accepted", 1, "rules_not_accepted", "rules.accepted"},
	{"rules.version_hash", nil, "missing_field", "rules.version_hash"},
	{"rules.version_hash", strings.Repeat("0", 64), "rules_version_mismatch", "rules.version_hash"},
	{"rules.version_hash", strings.ToUpper(rulebook.Hash()), "rules_version_mismatch", "rules.version_hash"},
	{"rules.version_hash", 5, "wrong_type", "rules.version_hash"},
	{"recovery_public_key", "", "public_key_invalid", "recovery_public_key"},
	{"recovery_public_key", strings.Repeat("0", 64), "public_key_invalid", "recovery_public_key"},
	{"client_public_key", "-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----", "private_key_detected", "client_public_key"},
	{"client_public_key", base64.StdEncoding.EncodeToString(testKey(9)), "private_key_detected", "client_public_key"},
	{"intent", "another", "intent_invalid", "intent"},
	{"intent", "additional_identity", "", ""},
}

func TestEveryFlawHasItsCodeAndItsField(t *testing.T) {
	w := newWorld(t)
	w.register("Taken")
	for i, f := range flaws {
		t.Run(fmt.Sprint(f.path, " ", f.code, " ", i), func(t *testing.T) {
			w.Exchange.T = t
			body := with(form(fmt.Sprint("Fresh", i)), f.path, f.value)
			v := w.Do(Validate, optest.Req{Body: body, Address: fmt.Sprint("192.0.2.", i)}).Want(200)
			r := w.Do(Register, optest.Req{Body: body, Address: fmt.Sprint("192.0.2.", i)})
			if f.code == "" {
				if v.At("ok") != true || v.At("would_register") != true || v.Num("problem_count") != 0 || v.Str("handle") == "" || v.At("recovery_key_supplied") != false {
					t.Errorf("validate: %s", v.Body)
				}
				r.Want(201)
				return
			}
			if v.At("ok") != false || v.At("would_register") != false || v.Num("problem_count") != 1 || v.Str("problems.0.code") != f.code ||
				v.Str("problems.0.field") != f.field || v.Str("problems.0.message") == "" || v.At("handle") != nil || v.At("recovery_key_supplied") != nil {
				t.Errorf("validate: %s", v.Body)
			}
			agree(t, v, r)
		})
	}
}

// agree fails unless the live door answered the first problem of the dry run.
func agree(t interface{ Errorf(string, ...any) }, v, r optest.Res) {
	code, field := v.Str("problems.0.code"), v.Str("problems.0.field")
	status, word := 422, "invalid_registration"
	if kind, own := ownCodes[code]; own {
		status, word = kind.Status(), code
	}
	if r.Status != status || r.Str("error") != word || r.Str("code") != code || r.Str("field") != field {
		t.Errorf("validate says %s at %q, register says %d %s", code, field, r.Status, r.Body)
	}
}

func TestValidateAndRegisterAgreeOnGeneratedBodies(t *testing.T) {
	w := newWorld(t)
	w.register("Taken")
	bearer := w.register("Bearer").Token
	n := 0
	check := func(rt *rapid.T) {
		n++
		body := form(fmt.Sprint("Gen", n))
		for range rapid.IntRange(0, 4).Draw(rt, "flaws") {
			f := rapid.SampledFrom(flaws).Draw(rt, "flaw")
			if _, ok := parent(body, f.path); ok {
				with(body, f.path, f.value)
			}
		}
		req := optest.Req{Body: body, Address: fmt.Sprint("gen", n)}
		if rapid.Bool().Draw(rt, "with a bearer") {
			req.Token = bearer
		}
		v := w.Do(Validate, req).Want(200)
		req.Key = fmt.Sprint("gen", n)
		r := w.Do(Register, req)
		if v.At("would_register") == true {
			if r.Status != 201 {
				rt.Errorf("validate would register, register says %s of %v", r.Body, body)
			}
			return
		}
		agree(rt, v, r)
		if int(v.Num("problem_count")) != len(v.JSON["problems"].([]any)) {
			rt.Errorf("%s", v.Body)
		}
	}
	for range 4 { // each run draws a hundred bodies
		rapid.Check(t, check)
	}
	if n < 400 {
		t.Errorf("only %d bodies", n)
	}
}

// parent finds the object that holds the last part of a path, unless a flaw removed it.
func parent(body obj, path string) (obj, bool) {
	head, rest, deep := strings.Cut(path, ".")
	if !deep {
		return body, true
	}
	m, ok := body[head].(obj)
	if !ok {
		return nil, false
	}
	return parent(m, rest)
}

func TestOddBodiesAreRefusedAlike(t *testing.T) {
	w := newWorld(t)
	for _, body := range []string{`[]`, `"x"`, `5`, `null`, `true`} {
		v := w.Do(Validate, optest.Req{Body: body}).Want(200)
		r := w.Do(Register, optest.Req{Body: body}).Refused(422, "invalid_registration")
		agree(t, v, r)
	}
	for _, body := range []string{`{`, `{"handle":"a","handle":"b"}`, `{"handle":"a","Handle":"b"}`, `{} {}`} {
		w.Do(Validate, optest.Req{Body: body}).Refused(400, "invalid_json")
		w.Do(Register, optest.Req{Body: body}).Refused(400, "invalid_json")
	}
	v := w.Do(Validate, optest.Req{}).Want(200)
	if v.Num("problem_count") != 6 {
		t.Errorf("an empty body lacks the six required members: %s", v.Body)
	}
}

func TestValidateHasNoEffectButItsLimit(t *testing.T) {
	w := newWorld(t)
	before := w.Store.Len()
	for range 240 {
		w.Do(Validate, optest.Req{Body: form("Dry")}).Want(200)
	}
	if n := w.Store.Len() - before; n != 1 {
		t.Errorf("%d rows were written, want the one of the limit", n)
	}
	w.Do(Validate, optest.Req{Body: form("Dry")}).Refused(429, "rate_limited")
	w.Advance(time.Hour)
	w.Do(Validate, optest.Req{Body: form("Dry")}).Want(200)
	w.Settle()
	if len(w.mail.sent) != 0 {
		t.Error("a dry run sent mail")
	}
}

func TestTheDocumentedSchemaTakesTheGoodForm(t *testing.T) {
	var s struct {
		Properties map[string]any `json:"properties"`
		Required   []string       `json:"required"`
		Further    *bool          `json:"additionalProperties"`
	}
	if err := json.Unmarshal(registrationSchema(), &s); err != nil {
		t.Fatal(err)
	}
	for name := range s.Properties {
		if !slices.Contains(topFields, name) {
			t.Errorf("the schema has %s, the door does not", name)
		}
	}
	if len(s.Properties) != len(topFields) || len(s.Required) != 6 || s.Further == nil || *s.Further {
		t.Errorf("schema: %s", registrationSchema())
	}
}
