package apigw

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// recorder is a response writer with net/http's manners: the first status wins, headers
// are taken when it is written, a body that may not be sent is refused.
type recorder struct {
	header  http.Header
	sent    http.Header // as it was when the status was written
	status  int
	body    bytes.Buffer
	head    bool
	promise int64 // Content-Length as the handler set it; -1 when it did not
	size    int64 // bytes the handler wrote, those of a HEAD and refused ones included
}

func (r *recorder) Header() http.Header { return r.header }

// WriteHeader takes the first final status. Informational ones go nowhere.
func (r *recorder) WriteHeader(status int) {
	if status < 100 || status > 999 {
		panic(fmt.Sprintf("invalid status %d", status))
	}
	if r.status != 0 || status < 200 {
		return
	}
	r.status, r.sent, r.promise = status, r.header.Clone(), -1
	if n, err := strconv.ParseInt(r.sent.Get("Content-Length"), 10, 64); err == nil && n >= 0 {
		r.promise = n
	} else {
		r.sent.Del("Content-Length")
	}
}

func (r *recorder) bodyAllowed() bool {
	return r.status != http.StatusNoContent && r.status != http.StatusNotModified
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.WriteHeader(http.StatusOK)
	}
	if len(b) == 0 {
		return 0, nil
	}
	if !r.bodyAllowed() {
		return 0, http.ErrBodyNotAllowed
	}
	first := r.size == 0
	r.size += int64(len(b))
	if r.promise >= 0 && r.size > r.promise {
		return 0, http.ErrContentLength
	}
	if first {
		r.sniff(b)
	}
	if !r.head {
		r.body.Write(b)
	}
	return len(b), nil
}

// sniff sets the content type as net/http does when the handler set none.
func (r *recorder) sniff(b []byte) {
	_, set := r.sent["Content-Type"]
	if !set && r.sent.Get("Content-Encoding") == "" {
		r.sent.Set("Content-Type", http.DetectContentType(b))
	}
}

// finish ends the answer; false when another number of bytes was written than the handler
// promised, where net/http cuts the connection.
func (r *recorder) finish() bool {
	if r.status == 0 {
		r.WriteHeader(http.StatusOK)
	}
	if !r.bodyAllowed() {
		r.sent.Del("Content-Length")
		return true
	}
	if r.head {
		if r.promise < 0 && r.size > 0 {
			r.sent.Set("Content-Length", strconv.FormatInt(r.size, 10))
		}
		return true
	}
	return r.promise < 0 || r.size == r.promise
}

// copyTo hands the answer to the library's writer, once and in order.
func (r *recorder) copyTo(w http.ResponseWriter) {
	h := w.Header()
	for name, values := range r.sent {
		for _, v := range values {
			h.Add(name, oneLine.Replace(v))
		}
	}
	w.WriteHeader(r.status)
	if r.body.Len() > 0 {
		w.Write(r.body.Bytes())
	}
}

// oneLine keeps a header value from beginning another header.
var oneLine = strings.NewReplacer("\n", " ", "\r", " ")
