package openapi_test

import (
	"encoding/json"
	"encoding/xml"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// status is what an address answers to a GET by nobody.
func status(t *testing.T, address string) int {
	t.Helper()
	res, err := http.DefaultTransport.RoundTrip(get(t, address))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

func get(t *testing.T, address string) *http.Request {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func TestEveryFrontDoorLeadsSomewhere(t *testing.T) {
	_, base := exchange(t, nil)
	links := map[string]int{}
	text := string(fetch(t, base+"/llms.txt"))
	for _, l := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(text, -1) {
		links[l[1]] = http.StatusOK
		if strings.Contains(l[1], "/mcp") {
			links[l[1]] = http.StatusMethodNotAllowed // it takes POST
		}
	}
	var set struct {
		URLs []struct {
			Loc string `xml:"loc"`
		} `xml:"url"`
	}
	if err := xml.Unmarshal(fetch(t, base+"/sitemap.xml"), &set); err != nil {
		t.Fatal(err)
	}
	for _, u := range set.URLs {
		links[u.Loc] = http.StatusOK
	}
	var card struct {
		URL       string                 `json:"url"`
		Docs      string                 `json:"documentationUrl"`
		Endpoints []struct{ URL string } `json:"additionalInterfaces"`
	}
	if err := json.Unmarshal(fetch(t, base+"/.well-known/agent-card.json"), &card); err != nil {
		t.Fatal(err)
	}
	links[card.URL], links[card.Docs] = http.StatusMethodNotAllowed, http.StatusOK
	for _, e := range card.Endpoints {
		links[e.URL] = http.StatusMethodNotAllowed
	}
	if len(links) < 15 {
		t.Errorf("only %d links", len(links))
	}
	for l, want := range links {
		if got := status(t, l); !strings.HasPrefix(l, base+"/") || got != want {
			t.Errorf("%s answers %d, want %d", l, got, want)
		}
	}
	if got := fetch(t, base+"/static/agent-kit-v1.zip"); string(got[:2]) != "PK" {
		t.Errorf("the kit begins with %q", got[:2])
	}
}
