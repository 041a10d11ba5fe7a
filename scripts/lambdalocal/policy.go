package lambdalocal

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Statement allows actions on resources; the resources of our roles end in a wildcard at
// most. One without resources allows them on all but those of But.
type Statement struct{ Actions, Resources, But []string }

// Policy is what a role allows.
type Policy []Statement

// Allows tells whether a role allows an action on a resource.
func (p Policy) Allows(action, resource string) bool {
	return slices.ContainsFunc(p, func(s Statement) bool {
		return slices.Contains(s.Actions, action) && slices.ContainsFunc(s.Resources, func(r string) bool { return covers(r, resource) })
	})
}

func covers(pattern, resource string) bool {
	prefix, open := strings.CutSuffix(pattern, "*")
	return pattern == resource || open && strings.HasPrefix(resource, prefix)
}

// deny notes that a role does not allow what its function did, and is the error it gets.
func (r *Runner) deny(function, action, resource string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	line := fmt.Sprintf("%s: %s on %s", function, action, resource)
	if !slices.Contains(r.denied, line) {
		r.denied = append(r.denied, line)
		r.log.Error("the role does not allow it", "function", function, "action", action, "resource", resource)
	}
	return fmt.Errorf("AccessDeniedException: the role of %s does not allow %s on %s", function, action, resource)
}

// allow checks a call of a function against its role.
func (r *Runner) allow(function, action, resource string) error {
	f := r.deployment.Functions[function]
	if f == nil {
		return r.deny(function, action, resource) // nobody we started
	}
	if f.Role.Allows(action, resource) {
		return nil
	}
	return r.deny(function, action, resource)
}

// allowPort checks a call over the loopback ports: mail by any identity of the account, texts
// by a right that is not bound to topics, and objects of the bucket.
func (r *Runner) allowPort(function, action, key string) error {
	f := r.deployment.Functions[function]
	if f == nil {
		return r.deny(function, action, key)
	}
	for _, s := range f.Role {
		if !slices.Contains(s.Actions, action) {
			continue
		}
		if len(s.But) > 0 {
			return nil // a phone has no ARN that a statement could exclude
		}
		for _, resource := range s.Resources {
			_, objects, _ := strings.Cut(strings.TrimPrefix(resource, "arn:aws:s3:::"), "/")
			if key == "" || covers(objects, path.Clean(key)) {
				return nil
			}
		}
	}
	return r.deny(function, action, key)
}
