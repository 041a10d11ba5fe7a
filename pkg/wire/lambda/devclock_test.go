//go:build devclock

package lambda

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func TestTheRunnerOnThisMachineTellsTheTime(t *testing.T) {
	want := time.Date(2026, 3, 8, 10, 59, 0, 0, time.UTC)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"ok":true,"now":%q}`, want.Format(time.RFC3339Nano))
	}))
	defer s.Close()
	now, err := exchangeClock(func(string) string { return s.URL + "/_dev/clock" })
	if err != nil {
		t.Fatal(err)
	}
	if got := now(); !got.Equal(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestOnlyALoopbackRunnerIsAsked(t *testing.T) {
	for _, address := range []string{"", "http://clock.example/", "https://127.0.0.1/", "http://192.0.2.1/", "http://localhost.example/", "http://127.0.0.1.example/", "://"} {
		if _, err := exchangeClock(func(string) string { return address }); err == nil {
			t.Errorf("%q was taken", address)
		}
	}
}
