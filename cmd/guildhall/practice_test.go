package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAPracticeTargetIsCreatedWhileAServerRuns(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "practice.json")
	write := func(s string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	create := func() (int, string, string) {
		var out, errs bytes.Buffer
		status := run(context.Background(), []string{"practice", "create", file, "--data", dir}, &out, &errs)
		return status, out.String(), errs.String()
	}
	p := start(t, "serve", "--dev", "--data", dir, "--addr", "127.0.0.1:0")
	write(`{"want":"Learn the ropes.","finish_line":{"tile":"something_else","sentence":"It went well."},"lane":{"kind":"free","ceiling_cents":null},
		"world_file":{"counterparties":[{"name":"The baker","script":"Says yes to everything."}]},"person_email":"pat@example.com"}`)
	status, out, errs := create()
	id, ok := strings.CutPrefix(strings.TrimSpace(out), "practice target ")
	id, ok2 := strings.CutSuffix(id, " is open")
	if status != 0 || !ok || !ok2 {
		t.Fatalf("ended with %d: %s%s", status, out, errs)
	}
	if got := postersWants(t, p.base, "pat@example.com"); !strings.Contains(got, id) {
		t.Errorf("the poster does not see %s: %s", id, got)
	}
	for body, want := range map[string]string{
		`{`:                  "invalid_json",
		`{"want":"Half."}`:   "practice.json: ",
		`{"wish":"Unknown"}`: "wish",
	} {
		write(body)
		if status, out, errs := create(); status != 1 || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%s ends with %d: %q %q", body, status, out, errs)
		}
	}
}

// postersWants is the list of wants of the person with that address.
func postersWants(t *testing.T, base, email string) string {
	t.Helper()
	res, err := http.Post(base+"/_dev/persons", "application/json", strings.NewReader(`{"email":"`+email+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var person struct{ Token string }
	if err := json.NewDecoder(res.Body).Decode(&person); err != nil {
		t.Fatal(err)
	}
	req, _ := http.NewRequest("GET", base+"/api/person/wants", nil)
	req.Header.Set("Authorization", "Bearer "+person.Token)
	list, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer list.Body.Close()
	var b bytes.Buffer
	_, _ = b.ReadFrom(list.Body)
	return b.String()
}
