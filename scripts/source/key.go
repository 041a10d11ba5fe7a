package source

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// KeyShape is one line of a package comment that describes rows:
//
//	<a tab>bench.AGENT#<id> / ROOT        an agent
type KeyShape struct {
	Dir, PK, SK, Meaning string
}

var keyLine = regexp.MustCompile(`^\t(\S+\.\S.*?) / (\S.*?)(?:\s{2,}(\S.*))?$`)

// Keys collects the key shapes written in comments, by key.
func (t *Tree) Keys() []KeyShape {
	var all []KeyShape
	for _, f := range t.Files {
		if f.Test || !strings.HasPrefix(f.Dir, "pkg/") {
			continue
		}
		for _, group := range f.AST.Comments {
			for line := range strings.Lines(group.Text()) {
				if m := keyLine.FindStringSubmatch(strings.TrimRight(line, "\n ")); m != nil {
					all = append(all, KeyShape{f.Dir, m[1], m[2], m[3]})
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b KeyShape) int {
		return cmp.Or(cmp.Compare(a.PK, b.PK), cmp.Compare(a.SK, b.SK), cmp.Compare(a.Dir, b.Dir))
	})
	return all
}
