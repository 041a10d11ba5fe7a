package money

import "strings"

// orphanPrefix marks the retry of an orphan payment among the retries of lines.
const orphanPrefix = "orphan/"

func orphanSubject(s string) (payment string, ok bool) { return strings.CutPrefix(s, orphanPrefix) }

// retrySubject names a line in the subject of a retry timer.
func retrySubject(deal, kind, step string) string { return deal + "/" + kind + "/" + step }

func parseRetry(s string) (deal, kind, step string, ok bool) {
	parts := strings.Split(s, "/")
	if len(parts) != 3 {
		return "", "", "", false
	}
	return parts[0], parts[1], parts[2], true
}

// parseRelease reads the deal and the step out of a release's key at the processor.
func parseRelease(key string) (deal, step string, ok bool) {
	rest, ok := strings.CutPrefix(key, "release:")
	if !ok {
		return "", "", false
	}
	deal, step, ok = strings.Cut(rest, ":")
	return deal, step, ok
}
