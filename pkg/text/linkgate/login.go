package linkgate

import "strings"

// pageEndings are cut off before a segment is compared: login.php is login.
var pageEndings = []string{".php", ".html", ".htm", ".aspx", ".asp", ".jsp", ".jsf", ".do", ".cgi", ".action", ".xhtml", ".cfm"}

// signsIn refuses pages that ask for a login (bench contract 13.5): hosts that do nothing else, whole path segments that say so,
// and the same words as a query's action or as the route of a one-page site.
func (a *address) signsIn(Options) *problem {
	if loginHosts().hosts(a.host) || loginLabel(a.host, a.domain) || a.loginPath() || loginQuery(a.query) || loginRoute(a.fragment) {
		return &problem{ReasonLoginPage, "The link leads to a login page. People are never asked to sign in elsewhere."}
	}
	return nil
}

// loginLabel finds a host whose first label in front of its domain is made for logins.
func loginLabel(host, domain string) bool {
	first, _, _ := strings.Cut(host, ".")
	switch first {
	case "login", "signin", "sign-in", "logon", "sso", "idp", "oauth", "auth":
		return host != domain
	}
	return false
}

// loginPath looks at whole segments. On code hosts and wikis the second and later ones are names that somebody gave
// (github.com/owner/login, wiki/Login), so there they count only below an account page.
func (a *address) loginPath() bool {
	all := a.segments()
	names := codeHosts().hosts(a.host)
	for i, s := range all {
		s = loginWord(s)
		switch {
		case i > 0 && names && !accountWords[loginWord(all[0])]:
			return false
		case i > 0 && strings.EqualFold(all[i-1], "wiki"):
		case loginWords()[s]:
			return true
		case i > 0 && loginWords()[loginWord(all[i-1])+"/"+s]:
			return true
		}
	}
	return false
}

var accountWords = setOf([]string{"user", "users", "account", "accounts", "session", "sessions", "oauth", "auth", "profile"})

func loginWord(segment string) string {
	s := fileName(segment)
	for _, e := range pageEndings {
		if cut, found := strings.CutSuffix(s, e); found {
			return cut
		}
	}
	return s
}

var actionKeys = setOf([]string{"action", "do", "view", "page", "p", "mode", "op", "route", "r", "screen", "task", "cmd", "act"})

func loginQuery(query string) bool {
	for pair := range strings.SplitSeq(query, "&") {
		key, value, _ := strings.Cut(pair, "=")
		if actionKeys[strings.ToLower(deepDecode(key))] && loginWords()[loginWord(strings.Trim(deepDecode(value), "/"))] {
			return true
		}
	}
	return false
}

// loginRoute reads fragments that are routes: #/login, #!/signin.
func loginRoute(fragment string) bool {
	route, found := strings.CutPrefix(strings.TrimPrefix(deepDecode(fragment), "!"), "/")
	if !found {
		return false
	}
	route, _, _ = strings.Cut(route, "?")
	for s := range strings.SplitSeq(route, "/") {
		if loginWords()[loginWord(s)] {
			return true
		}
	}
	return false
}
