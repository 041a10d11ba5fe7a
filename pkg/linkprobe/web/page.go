package web

import (
	"bytes"
	"encoding/binary"
	"mime"
	"strings"
	"unicode/utf16"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"guildhall/pkg/linkprobe"
	"guildhall/pkg/text/linkgate"
)

// readPage looks for a field that asks for a password, and for a page that leads on by itself.
func readPage(from string, body []byte) (next string, bad *finding) {
	z := html.NewTokenizer(bytes.NewReader(body))
	z.SetMaxBuf(linkprobe.MaxBody)
	to := ""
	for {
		switch z.Next() {
		case html.ErrorToken: // the end, or a tag larger than the page may be
			if to == "" {
				return "", nil
			}
			if next, bad = leadsTo(from, to); next == from {
				return "", nil // it only loads itself anew
			}
			return next, bad
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			switch {
			case t.DataAtom == atom.Input && asksForPassword(t.Attr):
				return "", rejected(linkgate.ReasonLoginPage, "The page behind the link asks for a password.")
			case t.DataAtom == atom.Meta && to == "" && strings.EqualFold(strings.TrimSpace(attribute(t.Attr, "http-equiv")), "refresh"):
				to = refreshTarget(attribute(t.Attr, "content"))
			}
		}
	}
}

func asksForPassword(attrs []html.Attribute) bool {
	if strings.EqualFold(strings.TrimSpace(attribute(attrs, "type")), "password") {
		return true
	}
	for word := range strings.FieldsSeq(strings.ToLower(attribute(attrs, "autocomplete"))) {
		if word == "current-password" || word == "one-time-code" {
			return true
		}
	}
	return false
}

// attribute is the first value of an attribute, as browsers take it.
func attribute(attrs []html.Attribute, key string) string {
	for _, a := range attrs {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// refreshTarget is the address in "5; url=https://…", "" when a page only loads itself anew.
func refreshTarget(content string) string {
	i := strings.IndexAny(content, ";,")
	if i < 0 {
		return ""
	}
	rest := strings.TrimSpace(content[i+1:])
	if len(rest) >= 3 && strings.EqualFold(rest[:3], "url") {
		if after, found := strings.CutPrefix(strings.TrimSpace(rest[3:]), "="); found {
			rest = strings.TrimSpace(after)
		}
	}
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		quote := rest[:1]
		rest, _, _ = strings.Cut(rest[1:], quote)
	}
	return strings.TrimSpace(rest)
}

// unpack makes UTF-8 of a page in UTF-16, which would hide every tag from a reader of bytes.
func unpack(contentType string, body []byte) []byte {
	var order binary.ByteOrder
	_, params, _ := mime.ParseMediaType(contentType)
	charset := strings.ToLower(params["charset"])
	switch {
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return body
	case bytes.HasPrefix(body, []byte("\xfe\xff")), charset == "utf-16be":
		order = binary.BigEndian
	case bytes.HasPrefix(body, []byte("\xff\xfe")), charset == "utf-16", charset == "utf-16le":
		order = binary.LittleEndian
	default:
		return body
	}
	units := make([]uint16, len(body)/2)
	for i := range units {
		units[i] = order.Uint16(body[2*i:])
	}
	return []byte(string(utf16.Decode(units)))
}
