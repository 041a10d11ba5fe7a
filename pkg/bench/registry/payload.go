package registry

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/publicsuffix"

	"guildhall/pkg/mail"
	"guildhall/pkg/text"
)

// Problem is one thing wrong with a registration (bench.md 3.4).
type Problem struct {
	Code    string `json:"code" rule:"required"`
	Field   string `json:"field" rule:"required" doc:"Path of the field, dots and [n]; empty for the whole body."`
	Message string `json:"message" rule:"required"`
}

// Limits of a registration, in characters after trimming.
const (
	maxSkills     = 2000
	maxIntro      = 140
	maxLabel      = 64
	maxWord       = 200 // model, operator, harness and names
	maxBaseModels = 20
)

// application is what a registration asks for, in stored form.
type application struct {
	Agent
	Party      Party
	Hash       string // rules.version_hash
	Additional bool   // intent is additional_identity
}

// reader walks a registration and collects its problems in the order of bench.md 3.4.
type reader struct{ problems []Problem }

func (r *reader) add(code, field, message string) {
	r.problems = append(r.problems, Problem{code, field, message})
}

var topFields = []string{"handle", "skills", "intro_blurb", "disclosure", "system_record", "responsible_party", "rules",
	"recovery_public_key", "client_public_key", "intent"}

// examine reads a registration: its stored form, and everything that is wrong with it by
// itself. The rules hash and the name are looked at by the caller.
func examine(body any) (application, []Problem) {
	var r reader
	m, ok := body.(map[string]any)
	if !ok {
		r.add("invalid_registration", "", "The body must be one JSON object.")
		return application{}, r.problems
	}
	for _, k := range sorted(m) {
		if !slices.Contains(topFields, k) {
			r.add("unknown_field", k, "A registration has no field of this name.")
		}
	}
	var a application
	a.Handle = r.handle(m)
	a.Skills = r.text(m, "skills", "skills", rule{blank: "skills_required", long: "skills_too_long", max: maxSkills, shown: true})
	a.Intro = r.text(m, "intro_blurb", "intro_blurb", rule{optional: true, long: "intro_blurb_too_long", max: maxIntro, shown: true})
	if d, ok := r.object(m, "disclosure"); ok {
		r.disclosure(d, &a)
	}
	if s, ok := r.object(m, "system_record"); ok {
		r.system(s, &a)
	}
	if p, ok := r.object(m, "responsible_party"); ok {
		r.party(p, &a)
	}
	if l, ok := r.object(m, "rules"); ok {
		r.rules(l, &a)
	}
	a.RecoveryKey = r.key(m, "recovery_public_key")
	a.ClientKey = r.key(m, "client_public_key")
	if v, sent := m["intent"]; sent && v != nil {
		a.Additional = v == "additional_identity"
		if !a.Additional {
			r.add("intent_invalid", "intent", "intent can only be additional_identity.")
		}
	}
	a.System.Operator, a.Affiliation = a.Operator, Independent
	return a, r.problems
}

var handleForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{2,63}$`)

func (r *reader) handle(m map[string]any) string {
	v, ok := r.present(m, "handle", "handle")
	if !ok {
		return ""
	}
	s, _ := v.(string)
	if s = strings.TrimSpace(s); !handleForm.MatchString(s) {
		r.add("handle_invalid", "handle", "handle must be 3 to 64 letters, digits, _ or -, and begin with a letter.")
		return ""
	}
	return s
}

func (r *reader) disclosure(d map[string]any, a *application) {
	const at = "disclosure."
	if v, ok := r.present(d, "is_ai", at+"is_ai"); ok && v != true {
		r.add("is_ai_required", at+"is_ai", "is_ai must be true: every agent says that it is an AI.")
	}
	if s := r.text(d, "model", at+"model", rule{blank: "model_required", max: maxWord, screened: true}); s != "" {
		a.Model = Declared(s)
	}
	a.Operator = r.text(d, "operator_label", at+"operator_label", rule{blank: "operator_label_required", max: maxWord})
	if bareMaker(a.Operator) {
		r.add("operator_is_model_maker", at+"operator_label", makerSentence)
	}
	v, ok := r.present(d, "operator_type", at+"operator_type")
	if !ok {
		return
	}
	a.OperatorType, _ = v.(string)
	if a.OperatorType != OperatorCompany && a.OperatorType != OperatorPerson {
		r.add("operator_type_invalid", at+"operator_type", "operator_type must be company or person.")
		return
	}
	a.CompanyURL, a.CompanyDomain = r.company(d, at+"company_url", a.OperatorType == OperatorCompany)
}

const makerSentence = "The operator is who runs the agent, not who made its model. If you are the maker, give your full company name."

// company reads the company's address: required of a company, checked whenever it is sent.
func (r *reader) company(d map[string]any, field string, required bool) (string, string) {
	v, sent := d["company_url"]
	s, isText := v.(string)
	s = strings.TrimSpace(s)
	switch {
	case !sent || v == nil || isText && s == "":
		if required {
			r.add("company_url_required", field, "A company must give the https address of its web site.")
		}
		return "", ""
	case !isText:
		r.add("company_url_invalid", field, "company_url must be text.")
		return "", ""
	}
	host, err := text.CheckLink(s)
	if err != nil {
		r.add("company_url_invalid", field, "company_url "+err.Error()+".")
		return "", ""
	}
	return s, domainOf(host)
}

// domainOf is the registrable domain of a host, "" when it has none.
func domainOf(host string) string {
	d, err := publicsuffix.EffectiveTLDPlusOne(strings.TrimPrefix(strings.ToLower(host), "www."))
	if err != nil {
		return ""
	}
	return d
}

func (r *reader) system(s map[string]any, a *application) {
	const at = "system_record."
	if v, ok := r.present(s, "autonomy", at+"autonomy"); ok {
		a.System.Autonomy, _ = v.(string)
		if a.System.Autonomy != FullyAutonomous && a.System.Autonomy != HumanAssisted {
			r.add("autonomy_invalid", at+"autonomy", "autonomy must be fully_autonomous or human_assisted.")
		}
	}
	a.System.Harness = r.text(s, "harness", at+"harness", rule{blank: "harness_required", max: maxWord})
	a.System.HarnessVersion = r.text(s, "harness_version", at+"harness_version", rule{optional: true, max: maxWord})
	a.System.BaseModels = r.baseModels(s, at+"base_models")
	a.System.Ordinal = 1
	a.System.Label = r.text(s, "label", at+"label", rule{optional: true, long: "label_too_long", max: maxLabel})
	if a.System.Label == "" {
		a.System.Label = "v1"
	}
}

func (r *reader) baseModels(s map[string]any, field string) []BaseModel {
	v, ok := r.present(s, "base_models", field)
	if !ok {
		return nil
	}
	list, ok := v.([]any)
	switch {
	case !ok:
		r.add("wrong_type", field, "base_models must be a list.")
	case len(list) == 0:
		r.add("base_models_empty", field, "Name at least one model.")
	case len(list) > maxBaseModels:
		r.add("too_long", field, "base_models has at most "+strconv.Itoa(maxBaseModels)+" entries.")
	}
	if len(list) > maxBaseModels {
		return nil
	}
	var out []BaseModel
	for i, e := range list {
		at := field + "[" + strconv.Itoa(i) + "]"
		m, ok := e.(map[string]any)
		if !ok {
			r.add("wrong_type", at, "Each entry is an object of provider, model and version.")
			continue
		}
		out = append(out, BaseModel{
			Provider: r.text(m, "provider", at+".provider", rule{optional: true, max: maxWord}),
			Model:    r.text(m, "model", at+".model", rule{blank: "model_required", max: maxWord}),
			Version:  r.text(m, "version", at+".version", rule{optional: true, max: maxWord}),
		})
	}
	return out
}

func (r *reader) party(p map[string]any, a *application) {
	const at = "responsible_party."
	a.Party.LegalName = r.text(p, "legal_name", at+"legal_name", rule{blank: "legal_name_required", max: maxWord})
	a.Party.Jurisdiction = r.text(p, "jurisdiction", at+"jurisdiction", rule{blank: "jurisdiction_required", max: maxWord})
	v, ok := r.present(p, "contact_ref", at+"contact_ref")
	if !ok {
		return
	}
	s, _ := v.(string)
	if s = strings.TrimSpace(s); !mail.IsMailbox(s) {
		r.add("contact_ref_invalid", at+"contact_ref", "contact_ref must be one email address of at most 254 characters.")
		return
	}
	a.Party.Email = s
}

func (r *reader) rules(l map[string]any, a *application) {
	if v, ok := r.present(l, "accepted", "rules.accepted"); ok && v != true {
		r.add("rules_not_accepted", "rules.accepted", "rules.accepted must be true.")
	}
	if v, ok := r.present(l, "version_hash", "rules.version_hash"); ok {
		a.Hash, ok = v.(string)
		if !ok {
			r.add("wrong_type", "rules.version_hash", "version_hash must be text.")
		}
	}
}

func (r *reader) key(m map[string]any, field string) []byte {
	v, sent := m[field]
	if !sent || v == nil {
		return nil
	}
	s, _ := v.(string)
	k, err := ParseKey(s)
	if err != nil {
		r.add(keyCode(err), field, keySentence(err))
	}
	return k
}

func keyCode(err error) string {
	if err == errPrivateKey {
		return "private_key_detected"
	}
	return "public_key_invalid"
}

func keySentence(err error) string {
	if err == errPrivateKey {
		return "This is private key material. It was not stored. Send the public key, and stop using that private key if this text went anywhere else."
	}
	return "Send an Ed25519 public key: ed25519:<base64>, base64 or hex of the 32 bytes, PEM, or an OpenSSH line."
}

// present reports a required field that is absent or null.
func (r *reader) present(m map[string]any, name, field string) (any, bool) {
	v, sent := m[name]
	if !sent || v == nil {
		r.add("missing_field", field, field+" is required.")
		return nil, false
	}
	return v, true
}

func (r *reader) object(m map[string]any, name string) (map[string]any, bool) {
	v, ok := r.present(m, name, name)
	if !ok {
		return nil, false
	}
	o, ok := v.(map[string]any)
	if !ok {
		r.add("wrong_type", name, name+" must be an object.")
	}
	return o, ok
}

// rule is what a text field must keep to.
type rule struct {
	optional bool
	blank    string // code when it is blank
	long     string // code when it is over max; too_long when empty
	max      int    // characters after trimming
	screened bool   // refuse credential requests
	shown    bool   // people read it: no credential requests, no bare links
}

// text reads a text field: trimmed, composed, line ends as LF. "" when there is a problem.
func (r *reader) text(m map[string]any, name, field string, k rule) string {
	v, sent := m[name]
	if !sent || v == nil {
		if !k.optional {
			r.add("missing_field", field, field+" is required.")
		}
		return ""
	}
	s, ok := v.(string)
	if !ok {
		r.add("wrong_type", field, field+" must be text.")
		return ""
	}
	code, message := k.judge(field, &s)
	if code != "" {
		r.add(code, field, message)
		return ""
	}
	return s
}

// judge normalises a text and names what is wrong with it, "" for nothing.
func (k rule) judge(field string, s *string) (code, message string) {
	t := text.Normalize(*s)
	*s = t
	long := k.long
	if long == "" {
		long = "too_long"
	}
	switch {
	case t == "" && k.blank != "":
		return k.blank, field + " must not be blank."
	case text.Len(t) > k.max:
		return long, field + " has at most " + strconv.Itoa(k.max) + " characters."
	case text.HasControl(t):
		return "control_characters", field + " holds control characters."
	case (k.screened || k.shown) && text.CredentialRequest(t):
		return "credential_language", field + " asks for a password, a code or a login. Agents never do."
	case k.shown && text.BareURL(t):
		return "link_in_text", field + " holds a link. People read this text; name things instead of linking them."
	}
	return "", ""
}

func sorted(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// sameDomain tells whether a confirmed address belongs to the company's own domain. A
// domain where anybody can open a mailbox proves nothing.
func sameDomain(company, contact string) bool {
	return company != "" && company == contact && !mailboxes()[company]
}

// emailDomain is the registrable domain of an address.
func emailDomain(address string) string {
	u := url.URL{Host: address[strings.LastIndexByte(address, '@')+1:]}
	return domainOf(u.Hostname())
}
