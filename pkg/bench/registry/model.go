package registry

import (
	_ "embed"
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"guildhall/pkg/text"
)

// The tables stewards edit (bench.md 3.12): one canonical spelling per model family, the
// brands of model makers, and the domains anybody can have a mailbox under.
var (
	//go:embed data/models.json
	modelData []byte
	//go:embed data/model_makers.json
	makerData []byte
	//go:embed data/mailbox_providers.json
	mailboxData []byte
)

type family struct {
	Name      string   `json:"name"`
	Maker     string   `json:"maker"`
	Spellings []string `json:"spellings"`
}

var families = sync.OnceValue(func() map[string]string {
	var list []family
	parse(modelData, &list)
	m := map[string]string{}
	for _, f := range list {
		for _, s := range append(f.Spellings, f.Name) {
			m[modelKey(s)] = f.Name
		}
	}
	return m
})

var makers = sync.OnceValue(func() map[string]bool {
	var list []string
	parse(makerData, &list)
	m := map[string]bool{}
	for _, s := range list {
		m[brandKey(s)] = true
	}
	return m
})

var mailboxes = sync.OnceValue(func() map[string]bool {
	var list []string
	parse(mailboxData, &list)
	m := map[string]bool{}
	for _, s := range list {
		m[s] = true
	}
	return m
})

// parse reads an embedded table; the tests read every one of them.
func parse(b []byte, v any) {
	if err := json.Unmarshal(b, v); err != nil {
		panic("registry: an embedded table is broken: " + err.Error())
	}
}

var (
	nonWord = regexp.MustCompile(`[^a-z0-9+]+`)
	// what hosts and makers hang on a model's name: dates, revisions, aliases
	modelTail = regexp.MustCompile(`-(20\d{6}|20\d\d-\d\d-\d\d|v\d+(-\d+)?|latest|preview|exp|experimental)$`)
	modelHead = regexp.MustCompile(`^(us|eu|apac|global|models|openrouter|bedrock|vertex|azure|together|fireworks|groq|` +
		`anthropic|openai|google|meta-llama|meta|x-ai|xai|mistral|mistralai|deepseek-ai|qwen|alibaba|moonshotai|zhipu|z-ai|cohere|amazon|microsoft|ibm)-`)
	undisclosed = map[string]bool{"undisclosed": true, "not-disclosed": true, "unknown": true, "n-a": true, "na": true,
		"none": true, "private": true, "confidential": true, "secret": true, "proprietary": true, "unspecified": true, "redacted": true}
)

// modelKey is the form model names are compared in.
func modelKey(s string) string {
	return strings.Trim(nonWord.ReplaceAllString(strings.ToLower(text.Fold(s)), "-"), "-")
}

// maxTrims bounds how many heads and tails are taken off a model's name.
const maxTrims = 6

// Declared turns a declared model into the stored one: the canonical spelling of a family
// we know, the declared spelling verbatim otherwise.
func Declared(raw string) Model {
	raw = text.Normalize(raw)
	m := Model{Name: raw, Raw: raw}
	key := modelKey(raw)
	if undisclosed[key] {
		m.Undisclosed = true
		return m
	}
	for range maxTrims {
		if name, ok := families()[key]; ok {
			m.Name, m.Recognized = name, true
			return m
		}
		next := modelTail.ReplaceAllString(key, "")
		if next == key {
			next = modelHead.ReplaceAllString(key, "")
		}
		if next == key {
			break
		}
		key = next
	}
	return m
}

// brandKey is the form brands are compared in: letters and digits only.
func brandKey(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(text.Fold(s)))
}

// bareMaker tells whether an operator label is only the brand of a model maker. A maker
// that runs an agent itself signs with its full company name, which passes.
func bareMaker(label string) bool { return makers()[brandKey(label)] }
