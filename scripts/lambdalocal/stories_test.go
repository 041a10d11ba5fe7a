//go:build lambdalocal

package lambdalocal

import (
	"flag"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"guildhall/tests/story"
)

var (
	templates = flag.String("templates", "../../dist-local/cdk.out", "folder of a synthesis with functions for this machine")
	s3Program = flag.String("s3", "../../bin/fakes3", "program that serves S3")
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
	never := map[string]bool{} // by no story so far
	first, programs := true, t.TempDir()
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			o := Options{Templates: *templates, Programs: programs, S3: *s3Program, Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))}
			if *verbose {
				o.Functions = os.Stderr
			}
			r, err := Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				idle := r.Idle()
				for name := range never {
					if !slices.Contains(idle, name) {
						delete(never, name)
					}
				}
				for _, name := range idle {
					if first {
						never[name] = true
					}
				}
				first = false
				for _, d := range r.Denied() {
					t.Errorf("the role does not allow it: %s", d)
				}
				r.Close()
			})
			story.Run(t, r.URL, f)
		})
	}
	t.Logf("%d functions were invoked by no story: %v", len(never), slices.Sorted(maps.Keys(never)))
	if *all && len(never) > 0 {
		t.Error("every function should be in a story")
	}
}
