package web

import (
	"bytes"

	"guildhall/pkg/text/filekind"
)

// runs says whether a body is a program, an installer or a script by its first bytes, whatever it is called. Pages are code
// to filekind, so that reason does not count here.
func runs(body []byte) bool {
	switch v := filekind.Head("", body[:min(len(body), filekind.HeadBytes)]); {
	case v.Refused == filekind.Program, v.Refused == filekind.Installer, v.Refused == filekind.Script:
		return true
	case v.Name == "zip":
		return packaged(body)
	case v.Name == "ole":
		whole, err := filekind.Check("", bytes.NewReader(body), int64(len(body)))
		return err == nil && whole.Refused == filekind.Installer
	}
	return len(body) > isoPlace+len(isoMark) && bytes.HasPrefix(body[isoPlace:], []byte(isoMark))
}

// isoMark stands at this place of a disc image.
const isoPlace, isoMark = 0x8001, "CD001"

// packaged finds the members that make a zip file an app. Their names stand in front of their contents, so the beginning of
// a large file is enough as a rule, and its index is not needed.
func packaged(body []byte) bool {
	for _, member := range []string{"AndroidManifest.xml", "META-INF/MANIFEST.MF", "classes.dex", "AppxManifest.xml", "install.rdf"} {
		if bytes.Contains(body, []byte(member)) {
			return true
		}
	}
	return bytes.Contains(body, []byte("Payload/")) && bytes.Contains(body, []byte(".app/"))
}

// archived says whether a body packs other files. Documents that are zip files inside are documents.
func archived(body []byte) bool {
	switch v := filekind.Head("", body[:min(len(body), filekind.HeadBytes)]); {
	case v.Refused == filekind.Opaque, v.Name == "gzip", v.Name == "tar":
		return true
	case v.Name == "zip":
		return !documentary(body)
	}
	return false
}

// documentary finds the first member of office documents and books.
func documentary(body []byte) bool {
	head := body[:min(len(body), filekind.HeadBytes)]
	return bytes.Contains(head, []byte("[Content_Types].xml")) || bytes.Contains(head, []byte("mimetypeapplication/"))
}
