package commons

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/op/optest"
)

func TestJSONIsCheckedAsOneValue(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, c := range []struct{ text, kind, formatted string }{
		{`{}`, "object", `{}`}, {`[]`, "array", `[]`}, {`"x"`, "string", `"x"`}, {`1`, "number", `1`}, {`true`, "boolean", `true`}, {`null`, "null", `null`},
		{` {"b":1,"a":[1.50,1e400,12345678901234567890]} `, "object", "{\n  \"a\": [\n    1.50,\n    1e400,\n    12345678901234567890\n  ],\n  \"b\": 1\n}"},
		{`{"a":1,"a":2}`, "object", "{\n  \"a\": 2\n}"}, {`"<&>\u2028"`, "string", `"<&>\u2028"`}, {nested(200), "array", ""}, {"\n\t1\n", "number", "1"}, {`"[[[["`, "string", `"[[[["`}, {`"\\\"["`, "string", `"\\\"["`},
	} {
		out, err := checkJSON(nil, JSONIn{Text: c.text, Format: true})
		if err != nil || !out.Valid || out.Type != c.kind || c.formatted != "" && (out.Formatted == nil || *out.Formatted != c.formatted) {
			t.Errorf("%s: %+v %v", c.text, out, err)
		}
		if out, _ := checkJSON(nil, JSONIn{Text: c.text}); out.Formatted != nil {
			t.Errorf("%s was formatted unasked", c.text)
		}
	}
	for _, text := range []string{"", " ", "{", "[1,]", "{'a':1}", "1 2", "nul", `{"a":1}}`, "```json\n{}\n```", nested(201), `"` + "\n" + `"`, "01", "NaN", "{\"a\"}", "// x\n1"} {
		if out, err := checkJSON(nil, JSONIn{Text: text, Format: true}); err != nil || out.Valid || out.Error == "" || out.Formatted != nil || out.Type != "" {
			t.Errorf("%q: %+v %v", text, out, err)
		}
	}
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,"x"]}`, "", "[[[", `"\u0000"`, "1e5", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := parseJSON(text)
		if err != nil {
			return
		}
		if !json.Valid([]byte(text)) {
			t.Errorf("%q is taken for JSON", text)
		}
		s, err := indent(v)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		again, err := parseJSON(s)
		if err != nil {
			t.Fatalf("%q formatted is %q: %v", text, s, err)
		}
		if twice, _ := indent(again); twice != s {
			t.Errorf("%q formats to %q, then to %q", text, s, twice)
		}
	})
}

func FuzzCitations(f *testing.F) {
	for _, s := range []string{"10.1000/x", "arXiv:2101.00001v2", "https://doi.org/10.1/x", "http://a.example:80/?utm_a=1", "//", "http://[::1]:80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c := cite(s)
		if (c.Type == citeNone) != (c.Normalized == nil) {
			t.Errorf("%q: %+v", s, c)
		}
		if c.Type == citeDOI || c.Type == citeArXiv {
			if d := cite(*c.Normalized); d.Normalized == nil || *d.Normalized != *c.Normalized {
				t.Errorf("%q is %s, which is %+v", s, *c.Normalized, d)
			}
		}
	})
}

func TestCitationsAreBroughtIntoOneForm(t *testing.T) {
	for source, want := range map[string]string{
		"10.1000/ABC": "doi:10.1000/abc", "doi:10.1000/ABC": "doi:10.1000/abc", "DOI: 10.1000/abc": "doi:10.1000/abc", "https://doi.org/10.1000/ABC": "doi:10.1000/abc", "http://dx.doi.org/10.1000/a%3Cb": "doi:10.1000/a<b",
		"arXiv:2101.00001": "arxiv:2101.00001", "arxiv:2101.00001v2": "arxiv:2101.00001v2", "https://arxiv.org/abs/2101.00001v1": "arxiv:2101.00001v1", "https://arxiv.org/pdf/2101.00001v1.pdf": "arxiv:2101.00001v1",
		"https://arxiv.org/pdf/2101.00001": "arxiv:2101.00001", "10.48550/arXiv.2101.00001": "arxiv:2101.00001", "https://doi.org/10.48550/arXiv.2101.00001": "arxiv:2101.00001", "arXiv:hep-th/9901001v3": "arxiv:hep-th/9901001v3",
		"HTTPS://Example.COM": "https://example.com/", "https://example.com:443/a#b": "https://example.com/a", "http://example.com:80/a?b=1&utm_source=x&c=2": "http://example.com/a?b=1&c=2", "https://example.com:8443/": "https://example.com:8443/",
		"https://example.com/A?UTM_campaign=1": "https://example.com/A", " https://example.com/a ": "https://example.com/a", "https://arxiv.org/list": "https://arxiv.org/list",
		"a book": "", "ftp://example.com": "", "10.1000": "", "arxiv:abc": "", "doi:": "", "mailto:a@example.com": "", "https://": "", "12.1000/abc": "", "2101.00001": "",
	} {
		c := cite(source)
		if value(c.Normalized) != want {
			t.Errorf("%q: %q, want %q", source, value(c.Normalized), want)
		}
	}
	out, err := checkCitations(nil, CitationsIn{Sources{"https://a.example/x", "b", "http://a.example/x#y", "arXiv:2101.00001", "10.48550/arxiv.2101.00001", "arXiv:2101.00001v1", "b"}})
	if err != nil || fmt.Sprint(out.Groups) != "[{https://a.example/x [0 2]} {arxiv:2101.00001 [3 4]}]" || out.Counts != (CitationCounts{7, 5, 2, 3, 2}) {
		t.Errorf("%+v %v", out, err)
	}
}

func TestHelpersStoreNothing(t *testing.T) {
	w := newWorld(t)
	before := w.Store.Len()
	w.Do(CheckJSON, optest.Req{Body: obj{"text": "{}"}}).Want(200)
	w.Do(CheckCitations, optest.Req{Body: obj{"sources": []string{"10.1000/x"}}}).Want(200)
	if w.Store.Len() != before {
		t.Error("a helper stored something")
	}
	for range helperLimit.N - 2 {
		w.Do(CheckJSON, optest.Req{Body: obj{"text": "{}"}}).Want(200)
	}
	w.Do(CheckJSON, optest.Req{Body: obj{"text": "{}"}}).Refused(429, "rate_limited")
	w.Advance(time.Minute)
	w.Do(CheckJSON, optest.Req{Body: obj{"text": "{}"}}).Want(200)
}

func TestOutputsAreHeldAgainstTheContract(t *testing.T) {
	for _, c := range []struct {
		format, content string
		keys            []string
		ok              bool
		problems        int
	}{
		{formatText, "anything", nil, true, 0}, {formatMarkdown, "```json\n{}\n```", nil, true, 0}, {formatJSON, `{"a":1}`, nil, true, 0}, {formatJSON, `[1]`, nil, true, 0},
		{formatJSON, `{"a":1}`, []string{"a"}, true, 0}, {formatJSON, `{"a":null}`, []string{"a"}, true, 0}, {formatJSON, `{"a":1}`, []string{"a", "b", "c"}, true, 2}, {formatJSON, `[1]`, []string{"a"}, true, 1},
		{formatJSON, `{"A":1}`, []string{"a"}, true, 1}, {formatJSON, "```json\n{\"a\":1}\n```", []string{"a"}, false, 0}, {formatJSON, `{"a":1`, nil, false, 0}, {formatJSON, `{"a":1} trailing`, nil, false, 0}, {formatJSON, "", nil, false, 0},
	} {
		k := Contract{Format: c.format, Keys: c.keys}
		problems, ok := checkOutput(k, c.content)
		if ok != c.ok || len(problems) != c.problems || validOutput(k, c.content) != (c.ok && c.problems == 0) {
			t.Errorf("%s %q %v: %v %v", c.format, c.content, c.keys, problems, ok)
		}
	}
}

func TestAcceptanceNamesEveryRuleThatIsNotMet(t *testing.T) {
	sound := candidacy{Contribution: true, OutputValid: true, Counts: Counts{Agree: 1, Complete: 1, Eligible: 1}, Confirmed: true}
	for _, c := range []struct {
		want   string
		change func(*candidacy)
	}{
		{"", func(*candidacy) {}}, {outputInvalid, func(k *candidacy) { k.OutputValid = false }}, {premiseReport, func(k *candidacy) { k.Contribution, k.OutputValid = false, false }},
		{noCompleteAgreement, func(k *candidacy) { k.Counts.Complete = 0 }}, {noCompleteAgreement, func(k *candidacy) { k.Confirmed = false }}, {partialAssessment, func(k *candidacy) { k.Counts.Partial = 1 }},
		{isDisputed, func(k *candidacy) { k.Counts.Dispute = 1 }}, {failureHold, func(k *candidacy) { k.Failure = true }}, {operatorHold, func(k *candidacy) { k.Operator = true }}, {subtasksIncomplete, func(k *candidacy) { k.OpenSubtasks = 1 }},
		{strings.Join([]string{outputInvalid, noCompleteAgreement, partialAssessment, isDisputed, failureHold, operatorHold, subtasksIncomplete}, " "), func(k *candidacy) {
			*k = candidacy{Contribution: true, Counts: Counts{Partial: 1, Dispute: 1}, Failure: true, Operator: true, OpenSubtasks: 2}
		}},
	} {
		k := sound
		c.change(&k)
		if got := strings.Join(k.unmet(), " "); got != c.want {
			t.Errorf("%+v: %q, want %q", k, got, c.want)
		}
	}
}
