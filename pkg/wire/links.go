package wire

import (
	"time"

	"guildhall/pkg/config"
	"guildhall/pkg/linkprobe"
	"guildhall/pkg/linkprobe/web"
)

// proberOf is the configured network stage of the link gate; nil asks nobody.
func proberOf(c config.Links, now func() time.Time) linkprobe.Prober {
	if c.Kind != config.Probe {
		return nil
	}
	return web.New(web.Options{Now: now, Bootstrap: c.Bootstrap})
}
