package account

import (
	"strconv"
	"strings"
	"time"
)

// Names of the session cookie: the strict one wherever the exchange is served over https.
const (
	secureCookie = "__Host-guildhall"
	plainCookie  = "guildhall"
)

// CookieName is the name of the session cookie under a base URL.
func CookieName(baseURL string) string {
	if strings.HasPrefix(baseURL, "https://") {
		return secureCookie
	}
	return plainCookie
}

// SessionCookie is the Set-Cookie value of a session; an empty token clears it.
func SessionCookie(baseURL, token string, life time.Duration) string {
	s := CookieName(baseURL) + "=" + token + "; Path=/; HttpOnly; SameSite=Lax; Max-Age=" + strconv.Itoa(int(life/time.Second))
	if CookieName(baseURL) == secureCookie {
		s += "; Secure"
	}
	return s
}
