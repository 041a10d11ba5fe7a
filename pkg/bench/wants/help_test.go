package wants_test

import (
	"bytes"
	"encoding/json"
	"mime/multipart"
	"net/url"

	"guildhall/pkg/bench/benchtest"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op/optest"
)

func jsonRaw(s string) json.RawMessage { return json.RawMessage(s) }

// query makes a query of names and values; empty values are left out.
func query(pairs ...string) url.Values {
	q := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}

// stewardOf is a person with the steward's role.
type stewardOf struct {
	w     *world
	token string
}

func (w *world) steward() stewardOf {
	_, token := w.Person("steward@people.example.test", "steward")
	return stewardOf{w, token}
}

func (s stewardOf) set(tile, lane string, p any) optest.Res {
	s.w.T.Helper()
	return s.w.Do(wants.SetClass, optest.Req{Token: s.token, Path: map[string]string{"tile": tile, "lane_kind": lane}, Body: obj{"probability": p}}).Want(200)
}

// png is a picture of n bytes, as far as its beginning says.
func png(n int) []byte { return append([]byte("\x89PNG\r\n\x1a\n"), bytes.Repeat([]byte{7}, n)...) }

// form makes a multipart body of files and fields: name, filename ("" for a field), content.
func form(parts ...[3]string) (body []byte, contentType string) {
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	for _, p := range parts {
		if p[1] == "" {
			_ = m.WriteField(p[0], p[2])
			continue
		}
		f, _ := m.CreateFormFile(p[0], p[1])
		_, _ = f.Write([]byte(p[2]))
	}
	_ = m.Close()
	return b.Bytes(), m.FormDataContentType()
}

func (w *world) attach(p person, target, filename string, content []byte) optest.Res {
	w.T.Helper()
	body, typ := form([3]string{"file", filename, string(content)})
	return w.upload(p, target, body, typ)
}

func (w *world) upload(p person, target string, body []byte, contentType string) optest.Res {
	w.T.Helper()
	return w.Do(wants.Attach, optest.Req{Token: p.Token, Path: benchtest.On(target), Type: contentType, Stream: bytes.NewReader(body),
		Header: map[string]string{"Content-Type": contentType}})
}

func text(v any) string { b, _ := json.Marshal(v); return string(b) }
