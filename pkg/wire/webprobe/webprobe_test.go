package webprobe

import (
	"testing"
	"time"

	"guildhall/pkg/config"
	"guildhall/pkg/linkprobe"
	"guildhall/pkg/linkprobe/web"
	"guildhall/pkg/wire/lambda"
)

func TestAFunctionIsGivenTheProber(t *testing.T) {
	port, err := open(lambda.Opening{Config: config.Config{Links: config.Links{Kind: config.Probe}}, Now: func() time.Time { return time.Time{} }})
	if err != nil {
		t.Fatal(err)
	}
	if _, is := linkprobe.From(port(t.Context())).(*web.Prober); !is {
		t.Error("there is no prober in the context")
	}
}
