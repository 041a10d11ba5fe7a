package linkgate

import (
	"embed"
	"strings"
	"sync"
)

// The lists are text files: one entry a line, # begins a remark. They are read once, when the first link is checked.
//
//go:embed data/*.txt
var files embed.FS

// lines reads a list without its remarks and empty lines, in order.
func lines(name string) []string {
	raw, err := files.ReadFile("data/" + name + ".txt")
	if err != nil {
		panic("linkgate: " + err.Error()) // the file is compiled in
	}
	var out []string
	for line := range strings.Lines(string(raw)) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

type set map[string]bool

func setOf(names []string) set {
	s := make(set, len(names))
	for _, n := range names {
		s[n] = true
	}
	return s
}

// words reads a list of words, several on a line.
func words(name string) set {
	return setOf(strings.Fields(strings.Join(lines(name), " ")))
}

// hosts says whether the set names a host or a domain above it.
func (s set) hosts(host string) bool { return s.at(host, "") }

// at is hosts for entries with a path behind the host.
func (s set) at(host, path string) bool {
	for {
		if s[host+path] {
			return true
		}
		_, parent, found := strings.Cut(host, ".")
		if !found {
			return false
		}
		host = parent
	}
}

var (
	shorteners  = sync.OnceValue(func() set { return setOf(lines("shorteners")) })
	redirectors = sync.OnceValue(func() set { return setOf(lines("redirectors")) })
	special     = sync.OnceValue(func() set { return setOf(lines("special")) })
	tunnels     = sync.OnceValue(func() set { return setOf(lines("tunnels")) })
	codeHosts   = sync.OnceValue(func() set { return setOf(lines("codehosts")) })
	loginHosts  = sync.OnceValue(func() set { return setOf(lines("loginhosts")) })
	loginWords  = sync.OnceValue(func() set { return words("loginwords") })
	executables = sync.OnceValue(func() set { return words("executables") })
	archives    = sync.OnceValue(func() set { return words("archives") })
	transfer    = sync.OnceValue(func() set { return setOf(lines("transfer")) })
)

// DefaultTransfer lists the hosts that archives may be fetched from when a steward has set no list.
func DefaultTransfer() []string { return lines("transfer") }

// maxRedirectSegments is how much of a path an entry of the list of redirectors may name.
const maxRedirectSegments = 3

// redirects refuses addresses that only lead somewhere else: nobody can judge where.
func (a *address) redirects(Options) *problem {
	if shorteners().hosts(a.host) {
		return &problem{ReasonShortener, "The link is shortened, so nobody can see where it leads. Send the address it leads to."}
	}
	path := ""
	for i, s := range append([]string{""}, a.segments()...) {
		if i > maxRedirectSegments {
			break
		}
		if i > 0 {
			path += "/" + strings.ToLower(s)
		}
		if redirectors().at(a.host, path) {
			return &problem{ReasonRedirector, "The link is a redirect page of another site. Send the address it leads to."}
		}
	}
	return nil
}

// tunnels holds names that anybody gives a machine at home within seconds: they have no age and no owner to look up.
func (a *address) tunnels(Options) *problem {
	if tunnels().hosts(a.host) {
		return &problem{ReasonTunnel, "The link leads through a tunnel to somebody's own machine. A steward looks at it first."}
	}
	return nil
}
