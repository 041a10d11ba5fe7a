package morning

import (
	"sync"
	"time"
)

// maxZones bounds how many zones a process keeps; the database has about 600 names.
const maxZones = 1000

var zones = struct {
	sync.RWMutex
	known map[string]*time.Location
}{known: map[string]*time.Location{}}

// Zone is the zone of an IANA name; UTC where the name is empty or unknown, and for "Local",
// which would mean the machine's.
func Zone(name string) *time.Location {
	if name == "" || name == "Local" {
		return time.UTC
	}
	zones.RLock()
	loc := zones.known[name]
	zones.RUnlock()
	if loc != nil {
		return loc
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC
	}
	zones.Lock()
	defer zones.Unlock()
	if len(zones.known) < maxZones {
		zones.known[name] = loc
	}
	return loc
}
