//go:build lambdalocal

package lambdalocal

import (
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"guildhall/tests/story"
)

var (
	templates = flag.String("templates", "../../dist-local/cdk.out", "folder of a synthesis with functions for this machine")
	all       = flag.Bool("all", false, "fail when a function was never invoked")
	verbose   = flag.Bool("functions", false, "show what the functions write")
)

// TestStories runs every story of tests/story through the synthesised template, each on a
// deployment of its own: scripts/lambda-local.sh stories builds what it needs.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("../../tests/story/scripts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	invoked, deployed := map[string]bool{}, 0
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			o := Options{Templates: *templates, Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))}
			if *verbose {
				o.Functions = os.Stderr
			}
			r, err := Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				for _, name := range r.Invoked() {
					invoked[name] = true
				}
				deployed = len(r.deployment.Functions)
				for _, d := range r.Denied() {
					t.Errorf("the role does not allow it: %s", d)
				}
				r.Close()
			})
			story.Run(t, r.URL, f)
		})
	}
	t.Logf("stories invoked %d of %d functions", len(invoked), deployed)
	if *all && len(invoked) < deployed {
		t.Errorf("%d functions were never invoked", deployed-len(invoked))
	}
}
