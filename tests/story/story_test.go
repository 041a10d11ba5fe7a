package story_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"guildhall/pkg/config"
	"guildhall/pkg/wire"
	"guildhall/tests/story"
)

// TestScripts runs every script against an exchange of its own. With GUILDHALL_STORY_URL
// set they all run against the exchange there, one after another.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("scripts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			if base := os.Getenv("GUILDHALL_STORY_URL"); base != "" {
				story.Run(t, base, f)
				return
			}
			t.Parallel()
			story.Run(t, exchange(t), f)
		})
	}
}

// exchange starts an exchange in memory with local controls.
func exchange(t *testing.T) string { return started(t, wire.Options{}) }

// measured starts one that logs what each request costs.
func measured(t *testing.T, log *slog.Logger) string {
	return started(t, wire.Options{Measure: true, Log: log})
}

func started(t *testing.T, o wire.Options) string {
	t.Helper()
	keys, err := config.NewKeys(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(nil)
	base := "http://" + s.Listener.Addr().String()
	o.BaseURL, o.Dev, o.Tips, o.Keys = base, true, true, wire.KeysOf(keys)
	x, err := wire.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { x.Runner.Run(ctx); close(done) }()
	s.Config.Handler = x.Handler()
	s.Start()
	t.Cleanup(func() {
		x.Stop()
		s.Close()
		stop()
		<-done
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return base
}
