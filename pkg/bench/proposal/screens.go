package proposal

import (
	"maps"
	"slices"
	"strings"

	"guildhall/pkg/text"
	"guildhall/pkg/text/linkgate"
)

// scan is a set of screens run over every text of a value (bench contract 2.10).
type scan struct {
	credentials bool // REJ-08 concerns steps alone
	links       bool // inside the config of an external_link block
}

var bidScan, stepScan = scan{}, scan{credentials: true}

// stepTexts are the fields of a step that hold text, in table order.
var stepTexts = []string{"title", "minor_detail", "outcome_promise", "declared_odds_reason", "choose", "provide", "grant_request", "har_blocks"}

// scanStep reads a step field by field. A payload that belongs to another ask is not stored and not read.
func scanStep(step map[string]any) *problem {
	for _, name := range stepTexts {
		i := slices.IndexFunc(stepFields, func(f field) bool { return f.name == name })
		if ask := stepFields[i].ask; ask != "" && ask != step["ask"] {
			continue
		}
		if p := stepScan.value(step[name], name); p != nil {
			return p.in(name)
		}
		if name == "outcome_promise" && text.BlanketGuarantee(str(step, name)) {
			return wrong("guarantees the end result; promise your own work instead (rule 52)").in(name).coded(RejGuarantee)
		}
	}
	return nil
}

// nouns name the items of a list in a detail by the key the list stands under.
var nouns = map[string]string{
	"har_blocks": "block", "options": "option", "fields": "field", "items": "item", "blocks": "part", "slots": "slot", "resources": "resource",
	"actions": "action", "smart_goals": "goal", "finalist_questions": "question list", "later_targets": "later target", "accepted_formats": "format",
}

// value walks any part of the tree; key is what it stands under. Keys of an object are read in sorted order so that the first
// fault is always the same one.
func (s scan) value(v any, key string) *problem {
	switch v := v.(type) {
	case string:
		return s.text(v)
	case []any:
		noun := nouns[key]
		if noun == "" {
			noun = strings.TrimSpace(key + " item")
		}
		for i, item := range v {
			if p := s.value(item, ""); p != nil {
				return p.at(noun, i+1)
			}
		}
	case map[string]any:
		return s.object(v)
	}
	return nil
}

func (s scan) object(obj map[string]any) *problem {
	keys := make([]string, 0, len(obj))
	for k := range obj {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		if text.BareURL(k) {
			return wrong("has a key that is a link").coded(RejLink)
		}
		if p := s.member(obj, k); p != nil {
			return p.in(k)
		}
	}
	return nil
}

// member is one value of an object. The two places where an address is legal are judged as addresses.
func (s scan) member(obj map[string]any, key string) *problem {
	switch {
	case key == "thumbnail_url" && obj["label"] != nil:
		return linkProblem(obj[key])
	case key == "config":
		s.links = obj["format"] == ExternalLink
	case key == "link" && s.links:
		if link, ok := obj[key].(map[string]any); ok {
			if p := linkProblem(link["url"]); p != nil {
				return p.in("url")
			}
			rest := maps.Clone(link)
			delete(rest, "url")
			return s.object(rest)
		}
	case key == "type" && obj[key] == fieldPassword:
		return wrong("asks the person for a password").coded(RejCredential)
	}
	return s.value(obj[key], key)
}

// linkProblem lets a link object through the Link Gate's rules. In a bid a link that a steward
// would have to look at is refused too: a bid does not wait.
func linkProblem(v any) *problem {
	url, _ := v.(string)
	if _, err := text.CheckLink(url); err != nil {
		return wrong("%s", err.Error()).coded(RejLink)
	}
	if v := linkgate.Check(url, linkgate.Options{}); v.Status != linkgate.OK {
		return wrong("does not pass the Link Gate (%s): %s", v.Reason, v.Detail).coded(RejLink)
	}
	return nil
}

func (s scan) text(t string) *problem {
	words := text.Read(t)
	switch {
	case words.RecurringPayment():
		return wrong("asks for a repeated payment; the total is paid once").coded(RejRecurring)
	case text.BareURL(t):
		return wrong("holds a link; links are only legal as link objects").coded(RejLink)
	case s.credentials && words.CredentialRequest():
		return wrong("asks the person for a password, a code or a login").coded(RejCredential)
	}
	return nil
}

// Secret says whether any text of a body carries a secret, and of what kind: an informed plan may not, whatever key it stands
// under (bench contract 2.10). A body that is no JSON carries none; Validate refuses it.
func Secret(raw []byte) (name string, found bool) {
	v, err := parse(raw)
	if err != nil {
		return "", false
	}
	return secretIn(v)
}

func secretIn(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return text.Secret(v)
	case []any:
		for _, item := range v {
			if name, found := secretIn(item); found {
				return name, true
			}
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if name, found := text.Secret(k); found {
				return name, true
			}
			if name, found := secretIn(v[k]); found {
				return name, true
			}
			// "password": "hunter22" says as much as password: hunter22.
			if s, ok := v[k].(string); ok {
				if name, found := text.Secret(k + ": " + s); found && !strings.ContainsAny(s, " ") {
					return name, true
				}
			}
		}
	}
	return "", false
}
