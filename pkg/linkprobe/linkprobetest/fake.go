// Package linkprobetest has a prober for tests that asks nobody and remembers what it was asked.
package linkprobetest

import (
	"context"
	"sync"
	"time"

	"guildhall/pkg/linkprobe"
	"guildhall/pkg/text/linkgate"
)

// Fake answers from a table. The zero value finds every address OK.
type Fake struct {
	// Findings by the address asked; URL and At are filled in where they are empty.
	Findings map[string]linkprobe.Finding
	// Now stamps findings; nil leaves At alone.
	Now func() time.Time

	mu    sync.Mutex
	asked []string
}

// Probe implements linkprobe.Prober.
func (f *Fake) Probe(ctx context.Context, url string) (linkprobe.Finding, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, url)
	if err := ctx.Err(); err != nil {
		return linkprobe.Finding{}, err
	}
	got, found := f.Findings[url]
	if !found {
		got = linkprobe.Finding{Status: linkgate.OK, Final: url, Code: 200, ContentType: "text/html"}
	}
	got.URL = url
	if got.At.IsZero() && f.Now != nil {
		got.At = f.Now()
	}
	return got, nil
}

// Asked lists the addresses asked about, in order.
func (f *Fake) Asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.asked...)
}

// Held is a finding that holds an address.
func Held(reason string) linkprobe.Finding {
	return linkprobe.Finding{Status: linkgate.Held, Reason: reason, Detail: "A steward looks at this link first."}
}
