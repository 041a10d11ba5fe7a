package filekind

import (
	"archive/zip"
	"io"
	"path"
	"strings"
)

// Documents that are zip files.
var (
	docx = Kind{"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", ".docx"}
	xlsx = Kind{"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", ".xlsx"}
	pptx = Kind{"pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation", ".pptx"}
	odt  = Kind{"odt", "application/vnd.oasis.opendocument.text", ".odt"}
	ods  = Kind{"ods", "application/vnd.oasis.opendocument.spreadsheet", ".ods"}
	odp  = Kind{"odp", "application/vnd.oasis.opendocument.presentation", ".odp"}
	epub = Kind{"epub", "application/epub+zip", ".epub"}
)

// zipKind tells a document by the members it begins with.
func zipKind(files []*zip.File) Kind {
	for i, f := range files {
		switch {
		case i == 0 && f.Name == "mimetype" && f.Method == zip.Store && f.UncompressedSize64 < 100:
			return byMimetype(f)
		case f.Name == "word/document.xml":
			return docx
		case f.Name == "xl/workbook.xml":
			return xlsx
		case f.Name == "ppt/presentation.xml":
			return pptx
		}
	}
	return zipped
}

func byMimetype(f *zip.File) Kind {
	r, err := f.Open()
	if err != nil {
		return zipped
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, 100))
	if err != nil {
		return zipped
	}
	for _, k := range []Kind{odt, ods, odp, epub} {
		if strings.TrimSpace(string(b)) == k.ContentType {
			return k
		}
	}
	return zipped
}

// insideOf is the reason for which a member of this name is refused in an archive of a
// kind: what makes a package out of a zip file, and where documents keep their macros.
func insideOf(k Kind, name string) string {
	lower := strings.ToLower(strings.ReplaceAll(name, `\`, "/"))
	switch base := path.Base(lower); {
	case base == "vbaproject.bin", base == "vbadata.xml", base == "script-lc.xml", base == "script-lb.xml", strings.Contains(lower, "/macrosheets/"), strings.Contains(lower, "/activex/"):
		return Macros
	case (k == odt || k == ods || k == odp) && (strings.HasPrefix(lower, "basic/") || strings.HasPrefix(lower, "scripts/")):
		return Macros
	case lower == "meta-inf/manifest.mf", lower == "androidmanifest.xml", lower == "appxmanifest.xml", strings.HasPrefix(lower, "payload/") && strings.Contains(lower, ".app/"),
		strings.Contains(lower, ".app/contents/macos/"):
		return Installer
	}
	return ""
}
