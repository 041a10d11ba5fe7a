package files

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"io"
	"slices"
	"strings"
	"testing"

	"guildhall/pkg/bench/proposal"
	"guildhall/pkg/bench/rulebook"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/spec"
)

// base is the address of the test's exchange.
const base = "http://guildhall.test"

// read calls an operation that answers a file.
func read(t *testing.T, o *op.Operation, path map[string]string) (body, contentType string) {
	t.Helper()
	r := optest.New(t).Do(o, optest.Req{Path: path}).Want(200)
	b, err := io.ReadAll(r.Raw.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), r.Raw.ContentType
}

func opened(t *testing.T) (files map[string][]byte, order []string) {
	t.Helper()
	body, contentType, ok := File(kitName)
	if !ok || contentType != "application/zip" {
		t.Fatalf("the kit is %v, %q", ok, contentType)
	}
	z, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	files = map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name], order = b, append(order, f.Name)
		if !f.Modified.UTC().Equal(kitTime) {
			t.Errorf("%s is of %v", f.Name, f.Modified)
		}
	}
	return files, order
}

func TestTheKitHoldsWhatIsServedAndItsHashes(t *testing.T) {
	files, order := opened(t)
	if want := append(slices.Clone(kitFiles), "manifest.json", "SHA256SUMS"); !slices.Equal(order, want) {
		t.Errorf("holds %v, want %v", order, want)
	}
	var m KitManifest
	if err := json.Unmarshal(files["manifest.json"], &m); err != nil || len(m.Files) != len(kitFiles) || m.Rules != rulebook.Hash() {
		t.Fatalf("%+v, %v", m, err)
	}
	for i, name := range kitFiles {
		served, _, _ := File(name)
		sum := sha256.Sum256(served)
		want := KitFile{name, len(served), hex.EncodeToString(sum[:])}
		if !bytes.Equal(files[name], served) || m.Files[i] != want || !strings.Contains(string(files["SHA256SUMS"]), want.SHA256+"  "+name+"\n") {
			t.Errorf("%s: %+v, want %+v", name, m.Files[i], want)
		}
	}
}

func TestTheKitIsTheSameBytesEachTime(t *testing.T) {
	a, err := makeKit()
	b, err2 := makeKit()
	if err != nil || err2 != nil || !bytes.Equal(a, b) {
		t.Errorf("%d and %d bytes, %v %v", len(a), len(b), err, err2)
	}
}

func TestEveryFrontDoorNamesTheSameContract(t *testing.T) {
	files, _ := opened(t)
	llms, _ := read(t, LLMs, nil)
	card, _ := read(t, AgentCard, nil)
	whole, _ := read(t, OpenAPI, nil)
	bench, _ := read(t, OpenAPIOf, map[string]string{"name": "bench.json"})
	skill, _ := read(t, Static, map[string]string{"name": "agent-skill.md"})
	quick, _ := read(t, Static, map[string]string{"name": "agent-quickstart.md"})
	want := spec.ContractVersion
	for name, c := range map[string]struct{ body, has string }{
		"llms.txt": {llms, "contract_version: " + want + "\n"}, "agent-card.json": {card, `"contract_version": "` + want + `"`},
		"openapi.json": {whole, `"x-contract-version": "` + want + `"`}, "bench.json": {bench, `"x-contract-version": "` + want + `"`},
		"agent-skill.md": {skill, "contract_version: " + want + "\n"}, "agent-quickstart.md": {quick, "contract_version: " + want + "\n"},
		"manifest.json": {string(files["manifest.json"]), `"contract_version": "` + want + `"`},
		"the schema":    {string(files[proposal.SchemaName]), want},
	} {
		if !strings.Contains(c.body, c.has) {
			t.Errorf("%s does not say %q", name, c.has)
		}
	}
	if proposal.ContractVersion != want {
		t.Errorf("the bid's contract is %s", proposal.ContractVersion)
	}
}

func TestLinksOfTheTextsAreAtTheExchangesAddress(t *testing.T) {
	for _, o := range []*op.Operation{LLMs, AgentCard, Robots, Sitemap} {
		body, _ := read(t, o, nil)
		if !strings.Contains(body, base) || strings.Contains(body, "{base}") {
			t.Errorf("%s:\n%s", o.ID, body)
		}
	}
}

func TestTheSitemapListsWhatRobotsAllow(t *testing.T) {
	body, contentType := read(t, Sitemap, nil)
	var set struct {
		URLs []struct {
			Loc string `xml:"loc"`
		} `xml:"url"`
	}
	if err := xml.Unmarshal([]byte(body), &set); err != nil || contentType != xmlType || len(set.URLs) != len(public) {
		t.Fatalf("%+v, %v, %q", set, err, contentType)
	}
	rules, _ := read(t, Robots, nil)
	if !strings.Contains(rules, "\nSitemap: "+base+"/sitemap.xml\n") {
		t.Errorf("robots.txt names no sitemap:\n%s", rules)
	}
	for _, u := range set.URLs {
		path := strings.TrimPrefix(u.Loc, base)
		for _, p := range private {
			if strings.HasPrefix(path, p) {
				t.Errorf("%s is in the sitemap and under %s", path, p)
			}
		}
	}
}

func TestWhatIsNotServedDoesNotExist(t *testing.T) {
	x := optest.New(t)
	for _, name := range []string{"agent-kit-v2.zip", "../files.go", "style.css/", "", "nothing.md", "AGENT-SKILL.md"} {
		x.Do(Static, optest.Req{Path: map[string]string{"name": name}}).Refused(404, "not found")
	}
	for _, name := range []string{"bench", "nothing.json", ".json", "../spec.json", "bench.JSON"} {
		x.Do(OpenAPIOf, optest.Req{Path: map[string]string{"name": name}}).Refused(404, "not found")
	}
}
