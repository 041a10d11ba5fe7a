package delivery_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/bench/delivery"
	"guildhall/pkg/blob"
	"guildhall/pkg/blob/fileblob"
	"guildhall/pkg/edge/rest"
	"guildhall/pkg/mail/outbox"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

// allocated is how many bytes a call takes from the heap, of this and all other goroutines.
func allocated(call func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestLargeFilesPassThroughAServerInConstantMemory: over TCP, onto a disk and back.
func TestLargeFilesPassThroughAServerInConstantMemory(t *testing.T) {
	var w *shelf
	store, err := fileblob.Open(t.TempDir(), func() time.Time { return w.Now() }, blob.Signer{BaseURL: "http://guildhall.test", Keys: [][]byte{[]byte("sixteen bytes or more")}})
	if err != nil {
		t.Fatal(err)
	}
	w = newShelf(t, optest.WithPorts(func(ctx context.Context, _ op.Touch) context.Context {
		return outbox.With(blob.With(ctx, store), outbox.Letters{Mailer: silent{}, From: "Guildhall <hall@guildhall.test>"})
	}))
	d := w.deal(reviewed()...)
	d.pulses()
	server := httptest.NewServer(rest.Handler(d.Engine, delivery.Operations, rest.Options{BaseURL: "http://guildhall.test"}))
	defer server.Close()
	n := 0
	send := func(path, typ string, body io.Reader) (status int, answer string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, body)
		if err != nil {
			t.Fatal(err)
		}
		n++
		for k, v := range map[string]string{"Content-Type": typ, "X-Delivery-Note": "The film.", "Authorization": "Bearer " + d.agent, "Idempotency-Key": fmt.Sprint("k", n)} {
			r.Header.Set(k, v)
		}
		res, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(b)
	}
	multipart := func(name string, body io.Reader) (string, io.Reader) {
		return "multipart/form-data; boundary=x", io.MultiReader(strings.NewReader("--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\""+name+"\"\r\n\r\n"), body, strings.NewReader("\r\n--x--\r\n"))
	}
	const room, roomInside = 6 << 20, 32 << 20 // bytes
	artifacts := "/api/bench/deals/" + d.id + "/artifacts"
	check := func(what string, want int, room uint64, call func() (int, string)) {
		t.Helper()
		var status int
		var answer string
		spent := allocated(func() { status, answer = call() })
		if status != want || spent > room {
			t.Errorf("%s: %d, %d bytes allocated: %s", what, status, spent, answer)
		}
	}
	film := func(size int64) io.Reader {
		return io.MultiReader(strings.NewReader("\x1aE\xdf\xa3"), &endless{left: size - 4})
	}
	check("an artifact of 50 MB", 201, room, func() (int, string) {
		typ, body := multipart("film.mkv", film(delivery.MaxFile))
		return send(artifacts, typ, body)
	})
	check("one of a byte more", 413, room, func() (int, string) {
		typ, body := multipart("film.mkv", film(delivery.MaxFile+1))
		return send(artifacts, typ, body)
	})
	packed := photos(t)
	check("an archive of 40 MB", 201, roomInside, func() (int, string) {
		typ, body := multipart("photos.zip", bytes.NewReader(packed))
		return send(artifacts, typ, body)
	})
	check("a stream of 200 MB", 201, room, func() (int, string) {
		return send("/api/bench/targets/"+d.target+"/outcomes", "video/x-matroska", &endless{left: delivery.MaxStreamBytes})
	})
}

// photos is an archive of 400 pictures.
func photos(t *testing.T) []byte {
	t.Helper()
	noise := make([]byte, 100<<10)
	if _, err := rand.New(rand.NewSource(1)).Read(noise); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := range 400 {
		w, err := z.Create(fmt.Sprint(i, ".jpg"))
		if err == nil {
			_, err = w.Write(append([]byte("\xff\xd8\xff\xe0"), noise...))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
