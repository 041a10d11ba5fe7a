package linkgate

import (
	"slices"
	"strings"
)

// fileName is a name as the person's machine would keep it: decoded, without parameters, trailing dots or blanks.
func fileName(segment string) string {
	segment, _, _ = strings.Cut(segment, ";")
	return strings.ToLower(strings.TrimRight(strings.TrimSpace(segment), ". "))
}

// segments are the decoded names of the path, empty ones left out. A decoded slash or backslash parts them too: a server may
// decode first.
func (a *address) segments() []string {
	path := strings.ReplaceAll(deepDecode(a.path), "\\", "/")
	return slices.DeleteFunc(strings.Split(path, "/"), func(s string) bool { return s == "" })
}

// tails are last segments that only say what to do with the name before them: /setup.exe/download.
var tails = setOf([]string{"download", "downloads", "raw", "get", "latest", "file", "view", "open", "stream", "dl"})

// file is the name that the path serves, "" when it serves none: the last segment that is not just a verb. The owner and the
// repository of a code host are no file names (acme.sh is a repository), nor is what its pages show of one.
func (a *address) file() string {
	all := a.segments()
	if codeHosts().hosts(a.host) {
		if len(all) <= 2 || a.pageOfCode(all) {
			return ""
		}
		all = all[2:]
	}
	for len(all) > 1 && tails[strings.ToLower(all[len(all)-1])] {
		all = all[:len(all)-1]
	}
	if len(all) == 0 {
		return ""
	}
	return fileName(all[len(all)-1])
}

// pageOfCode says whether the path of a code host shows a file as a page: /owner/name/blob/main/install.sh.
func (a *address) pageOfCode(all []string) bool {
	rest := all[2:]
	if i := slices.Index(all, "-"); i >= 2 && i+1 < len(all) { // GitLab: /group/…/name/-/blob/…
		rest = all[i+1:]
	}
	pages := []string{"blob", "tree", "blame", "commits", "commit", "issues", "pull", "pulls", "merge_requests", "wiki", "compare", "discussions", "src"}
	return slices.Contains(pages, rest[0]) && !strings.Contains(strings.ToLower(a.query), "raw")
}

// nameKeys are query parameters that commonly carry the name of the file to send.
var nameKeys = setOf([]string{"file", "filename", "file_name", "name", "fn", "f", "path", "download", "dl", "attachment", "src", "source", "doc", "asset",
	"response-content-disposition", "rscd", "content-disposition"})

// fileNames are the names an address may serve: the path's, and those that the query names.
func (a *address) fileNames() (path string, query []string) {
	for pair := range strings.SplitSeq(a.query, "&") {
		key, value, keyed := strings.Cut(pair, "=")
		if !keyed {
			value = key
		} else if !nameKeys[strings.ToLower(deepDecode(key))] {
			continue
		}
		value = strings.Trim(strings.ReplaceAll(deepDecode(strings.ReplaceAll(value, "+", " ")), "\\", "/"), "\"' ;")
		if i := strings.LastIndexAny(value, "/=\"'"); i >= 0 { // attachment; filename="setup.exe"
			value = value[i+1:]
		}
		query = append(query, fileName(value))
	}
	if all := a.segments(); len(all) > 0 { // what some servers take for parameters, others take for the name
		_, behind, _ := strings.Cut(all[len(all)-1], ";")
		for name := range strings.SplitSeq(behind, ";") {
			query = append(query, fileName(name))
		}
	}
	return a.file(), query
}

// extensions are the endings of a file name, the last one first: a.pdf.exe has exe and pdf. A name that only is an ending
// (.exe) has none before the dot and counts all the same.
func extensions(name string) []string {
	parts := strings.Split(name, ".")
	if len(parts) < 2 {
		return nil
	}
	parts = parts[1:]
	for i, p := range parts {
		parts[i] = strings.TrimSpace(p)
	}
	slices.Reverse(parts)
	return parts
}

// alsoNames are executable endings that are ordinary in names too (example.com, node.app): they count at the end of a path only,
// not inside a name and not in a query.
var alsoNames = setOf([]string{"com", "app", "sh", "pkg", "run"})

// executes refuses programs, whoever serves them (bench contract 13.5), also behind a second ending and in a query that names
// the file. The probe looks at what is really sent.
func (a *address) executes(Options) *problem {
	p := &problem{ReasonExecutable, "The link leads to a program. People are never sent programs."}
	path, query := a.fileNames()
	if Name(path) == ReasonExecutable {
		return p
	}
	for _, name := range query {
		for _, e := range extensions(name) {
			if executables()[e] && !alsoNames[e] {
				return p
			}
		}
	}
	return nil
}

// downloads refuses archives and images outside the transfer list.
func (a *address) downloads(o Options) *problem {
	path, query := a.fileNames()
	for _, name := range append(query, path) {
		e := extensions(name)
		if len(e) == 0 || !archives()[e[0]] {
			continue
		}
		if !o.Transfers(a.host) {
			return &problem{ReasonDirectDownload, "The link downloads an archive. Deliver it as a file, or put it on a host of the transfer list."}
		}
	}
	return nil
}

// isRepo asks a repository link to name one: owner and name on a code host, any path elsewhere.
func (a *address) isRepo(o Options) *problem {
	if o.Kind != KindRepo {
		return nil
	}
	need := 1
	if codeHosts().hosts(a.host) {
		need = 2
	}
	if len(a.segments()) < need {
		return &problem{ReasonNotARepo, "The link is said to be a repository and names none."}
	}
	return nil
}
