package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"guildhall/pkg/linkprobe"
	"guildhall/pkg/text/linkgate"
)

// Bounds of asking a registry (RFC 9082, 9083, 9224).
const (
	maxBootstrap     = 1 << 20 // bytes
	maxRecord        = 1 << 18 // bytes
	maxRegistryHops  = 2       // redirects between registries
	bootstrapKeep    = 24 * time.Hour
	maxRegistryNames = 5000 // suffixes of the bootstrap file
)

// age is what a registry said of a domain.
type age struct {
	registered time.Time
	err        error
}

// registry remembers which server answers for which suffix.
type registry struct {
	turn    chan struct{} // held while reading or fetching
	servers map[string]string
	until   time.Time
}

// lookUp begins to ask how old the domain of a hop is, once per domain. Names that everybody knows are not asked about.
func (v *visit) lookUp(ctx context.Context, g linkgate.Verdict) {
	if v.ages[g.Bought] != nil || linkgate.Established(g.Bought) {
		return
	}
	a := &age{}
	v.ages[g.Bought] = a
	v.looks.Go(func() { a.registered, a.err = v.registered(ctx, g.Bought) })
}

// aged weighs what the registries said against what the walk found: rejected first, then a young domain, then whatever
// else held the link.
func (v *visit) aged(bad *finding) *finding {
	if bad != nil && bad.status == linkgate.Rejected {
		return bad
	}
	unknown := false
	for _, a := range v.ages {
		if a.err != nil {
			unknown = true
		} else if a.registered.After(v.out.Registered) {
			v.out.Registered = a.registered
		}
	}
	switch {
	case !v.out.Registered.IsZero() && v.out.At.Sub(v.out.Registered) < linkprobe.YoungAge:
		return held(linkprobe.ReasonYoungDomain, "The link's domain was registered less than 30 days ago. A steward looks at it first.")
	case bad == nil && unknown:
		return held(linkprobe.ReasonAgeUnknown, "Nobody could say when the link's domain was registered. A steward looks at it first.")
	}
	return bad
}

var errNoDate = errors.New("web: the registry gives no date of registration")

// registered asks the registry of a domain when it was registered.
func (p *Prober) registered(ctx context.Context, domain string) (time.Time, error) {
	server, err := p.server(ctx, domain)
	if err != nil {
		return time.Time{}, err
	}
	var record struct {
		Events []struct {
			Action string `json:"eventAction"`
			Date   string `json:"eventDate"`
		} `json:"events"`
	}
	if err := p.read(ctx, strings.TrimSuffix(server, "/")+"/domain/"+domain, maxRecord, &record); err != nil {
		return time.Time{}, err
	}
	for _, e := range record.Events {
		if e.Action != "registration" {
			continue
		}
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime, time.DateOnly} {
			if t, err := time.Parse(layout, e.Date); err == nil {
				return t.UTC(), nil
			}
		}
	}
	return time.Time{}, errNoDate
}

// server finds the registry's server for a domain in the bootstrap file, which is fetched when it is first needed and once
// a day.
func (p *Prober) server(ctx context.Context, domain string) (string, error) {
	r := &p.registry
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if now := p.now(); r.servers == nil || !now.Before(r.until) {
		var file struct {
			Services [][][]string `json:"services"`
		}
		if err := p.read(ctx, p.bootstrap, maxBootstrap, &file); err != nil {
			return "", err
		}
		r.servers, r.until = serversOf(file.Services), now.Add(bootstrapKeep)
	}
	for suffix := domain; suffix != ""; {
		_, suffix, _ = strings.Cut(suffix, ".")
		if s := r.servers[suffix]; s != "" {
			return s, nil
		}
	}
	return "", fmt.Errorf("web: no registry is listed for %s", domain)
}

// serversOf reads [[suffixes],[urls]] pairs; a registry without https does not count.
func serversOf(services [][][]string) map[string]string {
	out := map[string]string{}
	for _, s := range services {
		if len(s) < 2 {
			continue
		}
		for _, url := range s[1] {
			if !strings.HasPrefix(url, "https://") {
				continue
			}
			for _, suffix := range s[0] {
				if len(out) < maxRegistryNames {
					out[strings.ToLower(suffix)] = url
				}
			}
			break
		}
	}
	return out
}

// read fetches a JSON document from a registry under the same rules for addresses as every page.
func (p *Prober) read(ctx context.Context, address string, most int64, into any) error {
	for range maxRegistryHops + 1 {
		res, err := p.get(ctx, address, "application/rdap+json, application/json")
		if err != nil {
			return err
		}
		if moves(res.StatusCode) {
			to, bad := leadsTo(address, res.Header.Get("Location"))
			_ = res.Body.Close()
			if bad != nil {
				return errors.New(bad.detail)
			}
			address = to
			continue
		}
		raw, err := io.ReadAll(io.LimitReader(res.Body, most))
		_ = res.Body.Close()
		if err != nil {
			return err
		}
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("web: the registry answers %d", res.StatusCode)
		}
		return json.Unmarshal(raw, into)
	}
	return errors.New("web: the registry leads on too often")
}
