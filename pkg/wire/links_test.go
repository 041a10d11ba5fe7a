package wire

import (
	"testing"

	"guildhall/pkg/linkprobe"
	"guildhall/pkg/linkprobe/web"
	"guildhall/pkg/op"
)

func TestTheNetIsAskedAboutLinksOnlyWhereItIsSwitchedOn(t *testing.T) {
	for value, want := range map[string]bool{"": false, "off": false, "probe:": true} {
		x := opened(t, "GUILDHALL_LINKS="+value)
		_, asks := linkprobe.From(x.ports(t.Context(), op.Links)).(*web.Prober)
		if asks != want {
			t.Errorf("%q: asks %v", value, asks)
		}
		if _, asks := linkprobe.From(x.ports(t.Context(), op.Blobs|op.Mail)).(*web.Prober); asks {
			t.Errorf("%q: an operation that did not declare it asks", value)
		}
	}
}
