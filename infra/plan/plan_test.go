package plan

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/catalog"
	"guildhall/pkg/op"
)

// One more part takes folders from the others and moves nothing between them.
func TestOneMorePartMovesOnlyItsShare(t *testing.T) {
	const folders = 2000
	moved := 0
	sizes := map[string]int{}
	for i := range folders {
		folder := fmt.Sprintf("bench/thing-%d", i)
		before, after := place(folder, 4), place(folder, 5)
		sizes[after]++
		if before == after {
			continue
		}
		moved++
		if after != "bench-5" {
			t.Errorf("%s moved from %s to %s", folder, before, after)
		}
	}
	if moved < folders/8 || moved > folders/3 {
		t.Errorf("%d of %d moved, about a fifth should", moved, folders)
	}
	for part, n := range sizes {
		if n < folders/8 || n > folders/3 {
			t.Errorf("%s has %d of %d", part, n, folders)
		}
	}
}

func TestAWriteSendsHintsToItsHomesSweepAndAReadToNobody(t *testing.T) {
	home := func(context, method string) Function {
		o := &op.Operation{Meta: op.Meta{ID: "person.want.post", Method: method, Path: "/x/{rest...}", Timeout: time.Second}, Home: context}
		return operation(o)
	}
	if got := home("bench", "POST").Sends; !slices.Equal(got, []string{"bench-sweep"}) {
		t.Errorf("a write sends to %v", got)
	}
	waking := &op.Operation{Meta: op.Meta{ID: "person.profile.update", Method: "PATCH", Path: "/x", Timeout: time.Second, Wakes: []string{"bench"}}, Home: "person"}
	if got := operation(waking).Sends; !slices.Equal(got, []string{"person-sweep", "bench-sweep"}) {
		t.Errorf("a write that wakes another group sends to %v", got)
	}
	read := home("bench", "GET")
	if len(read.Sends) != 0 || read.Changes {
		t.Errorf("a read sends to %v, changes %v", read.Sends, read.Changes)
	}
	if got := home("edge", "POST").Sends; got != nil {
		t.Errorf("an operation without a clock sends to %v", got)
	}
}

func TestAReadServesHEADAndTakesItsWholePathWhereItIsAlone(t *testing.T) {
	o := &op.Operation{Meta: op.Meta{ID: "a.b.c", Method: "GET", Path: "/x/{id}/{rest...}"}}
	if got := routes(o, false); !slices.Equal(got, []string{"GET /x/{id}/{rest+}", "HEAD /x/{id}/{rest+}"}) {
		t.Errorf("beside others: %v", got)
	}
	if got := routes(o, true); !slices.Equal(got, []string{"ANY /x/{id}/{rest+}"}) {
		t.Errorf("alone: %v", got)
	}
	o.Method = "PUT"
	if got := routes(o, true); !slices.Equal(got, []string{"PUT /x/{id}/{rest+}"}) {
		t.Errorf("a write: %v", got)
	}
}

func TestPathsThatOneAddressFitsOverlap(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"/a/{id}", "/a/register", true}, {"/a/{id}", "/{kind}/b", true}, {"/a/b", "/a/b", true}, {"/a/{id}", "/a/{id}/c", false},
		{"/a/{rest...}", "/a/b/c/d", true}, {"/a/{rest...}", "/b/c", false}, {"/a/b", "/a/c", false}, {"/", "/a", false},
	} {
		if overlap(c.a, c.b) != c.want || overlap(c.b, c.a) != c.want {
			t.Errorf("%s and %s: want %v", c.a, c.b, c.want)
		}
	}
}

func TestALongPollWaitsWithinTheAPIsTime(t *testing.T) {
	o := &op.Operation{Meta: op.Meta{ID: "bench.attention.read", Method: "GET", Path: "/x", Timeout: 29 * time.Second}}
	if f := operation(o); !f.Waits || f.Timeout != 29*time.Second {
		t.Errorf("waits %v, timeout %v", f.Waits, f.Timeout)
	}
	o.Timeout = op.DefaultTimeout
	if f := operation(o); f.Waits || f.Timeout != op.DefaultTimeout+slack {
		t.Errorf("waits %v, timeout %v", f.Waits, f.Timeout)
	}
}

func TestAnEndpointMayDoWhatItsOperationsMay(t *testing.T) {
	for _, d := range catalog.Doors() {
		f := door(d)
		for _, o := range catalog.Behind(d) {
			each := operation(o)
			if f.Touches&each.Touches != each.Touches || f.Timeout < each.Timeout {
				t.Errorf("%s lacks ports or time of %s", d.ID(), o.ID)
			}
			for _, q := range each.Sends {
				if !slices.Contains(f.Sends, q) {
					t.Errorf("%s cannot send to %s, %s can", d.ID(), q, o.ID)
				}
			}
		}
	}
}

func TestSettingsSayWhatIsWrong(t *testing.T) {
	good := Defaults()
	good.MailFrom = "Guildhall <notices@example.com>"
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	if got := good.MailDomain(); got != "example.com" {
		t.Errorf("mail domain %q", got)
	}
	for want, change := range map[string]func(*Settings){
		"mailFrom is needed":    func(s *Settings) { s.MailFrom = "" },
		"is no sender":          func(s *Settings) { s.MailFrom = "nobody" },
		"name \"Guild Hall\"":   func(s *Settings) { s.Name = "Guild Hall" },
		"name \"a-very-long-na": func(s *Settings) { s.Name = "a-very-long-name-of-an-exchange" },
		"go together":           func(s *Settings) { s.Domain = "hall.example.com" },
		"give one of them":      func(s *Settings) { s.Domain, s.Certificate, s.BaseURL = "a.example", "arn", "https://b.example" },
		"write https://HOST":    func(s *Settings) { s.BaseURL = "http://b.example" },
		"alarmEmail":            func(s *Settings) { s.AlarmEmail = "nobody" },
		"tips is on or off":     func(s *Settings) { s.Tips = "maybe" },
		"texts is on or off":    func(s *Settings) { s.Texts = "sns:" },
		"links is on or off":    func(s *Settings) { s.Links = "probe:" },
		"arch \"riscv\"":        func(s *Settings) { s.Arch = "riscv" },
		"rate is at least 1":    func(s *Settings) { s.Waiting, s.Rate = -1, 1 },
	} {
		s := good
		change(&s)
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	domain := good
	domain.Domain, domain.Certificate = "hall.example.com", "arn:aws:acm:eu-west-1:1:certificate/x"
	if err := domain.Check(); err != nil || domain.BaseURL != "https://hall.example.com" {
		t.Errorf("%v, base URL %q", err, domain.BaseURL)
	}
}

func TestAFunctionThatIsNotBuiltIsNamed(t *testing.T) {
	err := Built(t.TempDir(), []Function{{Folder: "bench/thing-do"}})
	if err == nil || !strings.Contains(err.Error(), "functions/bench/thing-do is not built: run make functions") {
		t.Error(err)
	}
}

// keyed is how a literal looks with which the key of a file begins.
var keyed = regexp.MustCompile(`^[a-z][a-z-]*/(%.*)?$`)

// beginnings lists the literals of a context's sources that begin keys of files.
func beginnings(t *testing.T, dir string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil || !slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"guildhall/pkg/blob"` }) {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if s, err := strconv.Unquote(lit.Value); err == nil && keyed.MatchString(s) {
					found = append(found, s[:strings.Index(s, "/")+1])
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestEveryBeginningOfAFilesKeyIsGranted(t *testing.T) {
	if !slices.Contains(beginnings(t, "../../pkg/bench"), "attachments/") {
		t.Error("the beginning of a want's attachments is not seen, so others are not either")
	}
	for dir, home := range map[string]string{"bench": "bench", "help": "help", "peer": "peer", "commons": "commons", "account": "person"} {
		for _, p := range beginnings(t, filepath.Join("..", "..", "pkg", dir)) {
			if !slices.Contains(prefixes[home], p) {
				t.Errorf("pkg/%s keeps files under %s: name it in prefixes, or its functions may not touch them", dir, p)
			}
		}
	}
}

// Only the job that does the effects of bench sends texts, and only where they are switched on.
func TestOnlyOneJobMaySendTexts(t *testing.T) {
	for texts, want := range map[string]string{"off": "", "on": "bench/sweep"} {
		s, got := Defaults(), ""
		s.Texts = texts
		for _, f := range Functions() {
			for _, g := range s.Grants(f) {
				if slices.Contains(g.Actions, "sns:Publish") {
					got += f.Folder
				}
			}
		}
		if got != want {
			t.Errorf("texts %s: %q may send, want %q", texts, got, want)
		}
	}
}

// adapters are the packages that bring the ports to functions.
var adapters = map[op.Touch]string{op.Mail: "sesmail", op.Blobs: "s3blobs", op.Payments: "stripepay", op.Texts: "snstext", op.Links: "webprobe"}

// A function whose role allows mail and that links no adapter for it would not start.
func TestAFunctionLinksTheAdaptersOfWhatItTouches(t *testing.T) {
	for touch, adapter := range adapters {
		if _, err := os.Stat("../../pkg/wire/" + adapter); err != nil {
			t.Logf("there is no pkg/wire/%s: functions that touch its port do not start on AWS", adapter)
			continue
		}
		for _, f := range Functions() {
			src, err := os.ReadFile("../../functions/" + f.Folder + "/main.go")
			if err != nil {
				t.Error(err)
				continue
			}
			if links := strings.Contains(string(src), `"guildhall/pkg/wire/`+adapter+`"`); links != f.Touches.Has(touch) {
				t.Errorf("functions/%s: links %s %v, touches its port %v", f.Folder, adapter, links, f.Touches.Has(touch))
			}
		}
	}
}
