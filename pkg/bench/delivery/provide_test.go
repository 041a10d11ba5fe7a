package delivery_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/delivery"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/blob"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/table"
	"guildhall/pkg/table/faulty"
)

func zipOf(t *testing.T, name, content string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	f, err := z.Create(name)
	if err == nil {
		_, err = io.WriteString(f, content)
	}
	if err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestAnApprovalHandsOverTheFilesOfItsStepAndNothingElse(t *testing.T) {
	d := newShelf(t).waiting()
	before := d.step("2")
	if before.Str("upload_notice") != deals.UploadNotice || before.At("files") == nil {
		t.Errorf("nobody is told before the first file: %s", before.Body)
	}
	first := d.upload("2", `C:\Photos\beach.png`, png(100)).Want(201)
	second := d.upload("2", "notes.txt", []byte("The red one is ours.\n")).Want(201)
	if first.Str("filename") != "beach.png" || first.Num("size_bytes") != 100 || len(first.Str("sha256")) != 64 || first.Str("notice") != deals.UploadNotice {
		t.Errorf("%s", first.Body)
	}
	file := first.Str("file_id")
	d.fetch(d.agent, file).Refused(404, "not found")
	if c := d.current(); c.Num("released_materials_count") != 0 || c.At("released_materials") == nil || c.Num("target_usage_bytes") != 121 {
		t.Errorf("%s", c.Body)
	}
	d.answer("2", "approve", "responses", []fields{{"block_number": 1, "value": []fields{{"file_id": file, "filename": "mine.png"}}}}).Want(200)
	c := d.current()
	got, _ := c.At("released_materials.0").(map[string]any)
	if c.Num("released_materials_count") != 2 || got["file_id"] != file || got["filename"] != "beach.png" || got["content_type"] != "image/png" ||
		got["released_at"] != "2026-11-30T18:20:00Z" || got["download_url"] != "/api/bench/deals/"+d.id+"/materials/"+file {
		t.Errorf("%s", c.Body)
	}
	if c.Str("answers_bundle.responses.0.value.0.filename") != "beach.png" {
		t.Errorf("an answer names a file as it was uploaded: %s", c.Body)
	}
	r := d.fetch(d.agent, file).Want(200)
	body, err := io.ReadAll(r.Raw.Body)
	if err != nil || !bytes.Equal(body, png(100)) || r.Raw.Filename != "beach.png" || r.Raw.ContentType != "image/png" {
		t.Errorf("%q %+v", body, r.Raw)
	}
	d.fetch(d.agent, second.Str("file_id")).Want(200)
	if s := d.step("2"); s.Str("files.1.released_at") != "2026-11-30T18:20:00Z" || s.At("upload_notice") != nil {
		t.Errorf("%s", s.Body)
	}
	d.hand()
	third := d.upload("3", "later.png", png(9)).Want(201).Str("file_id")
	if c := d.current(); c.Num("released_materials_count") != 2 {
		t.Errorf("%s", c.Body)
	}
	d.fetch(d.agent, third).Refused(404, "not found")
}

func TestNothingNeedsToBeHandedOver(t *testing.T) {
	d := newShelf(t).waiting()
	d.answer("2", "approve").Want(200)
	if c := d.current(); c.Num("released_materials_count") != 0 || c.Num("current_step.step_number") != 3 {
		t.Errorf("%s", c.Body)
	}
}

func TestSilenceAndRefusalHandOverNothing(t *testing.T) {
	for name, end := range map[string]func(*parties){
		"silence":   func(d *parties) { d.Advance(14*24*time.Hour + time.Second) },
		"a decline": func(d *parties) { d.answer("2", "decline").Want(200) },
		"an end": func(d *parties) {
			d.Do(deals.EndDeal, optest.Req{Token: d.person, Path: d.at(""), Body: fields{"reason": "Enough."}}).Want(200)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newShelf(t).waiting()
			file := d.upload("2", "a.png", png(9)).Want(201).Str("file_id")
			end(d)
			d.fetch(d.agent, file).Refused(404, "not found")
			if c := d.current(); c.Num("released_materials_count") != 0 {
				t.Errorf("%s", c.Body)
			}
			d.upload("2", "b.png", png(9)).Refused(409, "step_not_waiting")
		})
	}
}

func TestWhoMayLayFilesWhereAndWhen(t *testing.T) {
	w := newShelf(t)
	d := w.deal(asking("Send photos", "PROVIDE", "short_answer"), asking("See the album", "APPROVE", "review_approve"), asking("Sign it", "APPROVE", "review_approve", "file_upload"))
	_, other := w.Person("other@example.test")
	send := func(token, deal, step string) optest.Res {
		body, typ := form("a.png", png(9))
		return w.Do(delivery.Upload, optest.Req{Token: token, Path: map[string]string{"deal_id": deal, "step_id": step}, Type: typ,
			Header: map[string]string{"Content-Type": typ}, Stream: bytes.NewReader(body)})
	}
	send(d.person, d.id, "2").Refused(409, "step_not_waiting") // the agent works on it
	d.hand()
	send(other, d.id, "2").Refused(404, "not found")
	send(d.person, d.id, "9").Refused(404, "not found")
	send(d.person, d.id, "x").Refused(404, "not found")
	send(d.person, "00000000-0000-4000-8000-000000000000", "2").Refused(404, "not found")
	send(d.agent, d.id, "2").Refused(401, "unauthorized")
	send(d.person, d.id, "3").Refused(409, "step_not_waiting") // not its turn
	send(d.person, d.id, "1").Refused(409, "step_not_waiting")
	if left := w.stored("materials/"); len(left) != 0 {
		t.Errorf("refused files stay behind: %v", left)
	}
	send(d.person, d.id, "2").Want(201)
	d.answer("2", "approve").Want(200)
	send(d.person, d.id, "2").Refused(409, "step_not_waiting")
	d.hand()
	send(d.person, d.id, "3").Refused(409, "step_takes_no_files")
	d.answer("3", "approve").Want(200)
	d.hand()
	send(d.person, d.id, "4").Want(201) // a block asks for files, whatever the step's ask
	d.answer("4", "request_changes", "reason", "Not yet.").Want(200)
	if c := d.current(); c.Num("released_materials_count") != 1 {
		t.Errorf("a request for changes hands over files: %s", c.Body)
	}
	d.hand()
	d.answer("4", "approve").Want(200)
	if c := d.current(); c.Num("released_materials_count") != 2 {
		t.Errorf("%s", c.Body)
	}
}

func TestWhatAStepTakes(t *testing.T) {
	w := newShelf(t)
	d := w.waiting()
	for name, c := range map[string]struct {
		name   string
		bytes  []byte
		reason string
	}{
		"a program":          {"a.png", []byte("MZ\x90\x00 program"), "program"},
		"a script":           {"notes.txt", []byte("#!/bin/sh\nrm -rf /\n"), "script"},
		"a script by name":   {"run.ps1", []byte("hello"), "script"},
		"an installer":       {"setup.msi", []byte("hello"), "installer"},
		"a script in a zip":  {"album.zip", zipOf(t, "photos/run.sh", "#!/bin/sh\n"), "script"},
		"a program in a zip": {"album.zip", zipOf(t, "photo.png", "MZ\x90\x00"), "program"},
	} {
		r := d.upload("2", c.name, c.bytes).Refused(422, "type_not_allowed")
		if r.Str("reason") != c.reason || r.Str("message") == "" {
			t.Errorf("%s: %s", name, r.Body)
		}
		d.json("2", fields{"upload_id": d.announce("2", c.name, c.bytes)}).Refused(422, "type_not_allowed")
	}
	d.upload("2", "empty.png", nil).Refused(422, "file_empty")
	if left := w.stored("materials/"); len(left) != 0 || d.used() != 0 {
		t.Errorf("refused files stay behind: %v, %d bytes", left, d.used())
	}
	d.upload("2", "album.zip", zipOf(t, "photos/beach.png", string(png(90)))).Want(201)
}

// An archive is looked into wherever in it something lies, in the store as in the call.
func TestALargeArchiveIsLookedIntoToItsEnd(t *testing.T) {
	d := newShelf(t).waiting()
	pack := func(last string) []byte {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for _, m := range []struct{ name, content string }{{"beach.png", string(png(5<<19 + 11))}, {"pier.png", string(png(1 << 20))}, {last, "echo hello\n"}} {
			f, err := z.CreateHeader(&zip.FileHeader{Name: m.name, Method: zip.Store})
			if err == nil {
				_, err = io.WriteString(f, m.content)
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
	if r := d.upload("2", "a.zip", pack("words.sh")).Refused(422, "type_not_allowed"); r.Str("member") != "words.sh" {
		t.Errorf("%s", r.Body)
	}
	d.json("2", fields{"upload_id": d.announce("2", "a.zip", pack("words.sh"))}).Refused(422, "type_not_allowed")
	d.upload("2", "a.zip", pack("words.txt")).Want(201)
	d.json("2", fields{"upload_id": d.announce("2", "a.zip", pack("words.txt"))}).Want(201)
}

func TestTwoFaultsAtOnce(t *testing.T) {
	d := newShelf(t).waiting(asking("Send photos", "PROVIDE", "short_answer"), asking("Send more", "PROVIDE", "file_upload"), asking("See the album", "APPROVE", "review_approve"))
	program := []byte("MZ\x90\x00")
	d.upload("9", "a.exe", program).Refused(404, "not found")
	d.upload("3", "a.exe", program).Refused(409, "step_not_waiting") // what the step is comes before what the file is
	d.send("2", program, "image/png").Refused(415, "unsupported_media_type")
	d.Run("bench", func(c *op.Call) error { return wants.Spend(c, d.target, wants.MaxFileBytes) })
	d.upload("2", "a.exe", program).Refused(422, "type_not_allowed") // and what the file is before its weight
	d.upload("2", "a.png", png(delivery.MaxFile+1)).Refused(413, "file_too_large")
	d.upload("2", "a.png", png(9)).Refused(413, "target_budget_exceeded")
}

func TestLimitsOfAStep(t *testing.T) {
	d := newShelf(t).waiting()
	over := png(delivery.MaxFile + 1)
	d.upload("2", "a.png", over).Refused(413, "file_too_large")
	d.json("2", fields{"filename": "a", "content_type": "image/png", "size_bytes": len(over), "sha256": strings.Repeat("a", 64)}).Refused(413, "file_too_large")
	d.upload("2", "a.png", over[:delivery.MaxFile]).Want(201)
	for n := range deals.MaxStepFiles - 1 {
		d.upload("2", fmt.Sprint(n, ".png"), png(9)).Want(201)
	}
	d.upload("2", "one.png", png(9)).Refused(409, "too_many_files")
	d.json("2", fields{"filename": "a", "content_type": "image/png", "size_bytes": 9, "sha256": strings.Repeat("a", 64)}).Refused(409, "too_many_files")
	file := d.step("2").Str("files.0.file_id")
	d.remove(d.person, file).Want(200)
	d.upload("2", "one.png", png(9)).Want(201)
	d.answer("2", "approve").Want(200)
	d.hand()
	d.upload("3", "a.png", png(9)).Want(201) // each step counts for itself
}

// The budget is full to the byte and never over it, whoever uploads at the same moment.
func TestParallelUploadsFillTheBudgetExactly(t *testing.T) {
	w := newShelf(t)
	d := w.waiting()
	const size, fit = 5 << 20, 3
	w.Run("bench", func(c *op.Call) error { return wants.Spend(c, d.target, wants.MaxFileBytes-size*fit) })
	body, typ := form("a.png", png(size))
	counts := map[int]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			r := d.send("2", body, typ)
			mu.Lock()
			defer mu.Unlock()
			counts[r.Status]++
		})
	}
	all.Wait()
	for counts[201] < fit && counts[503] > 0 { // somebody lost every race; what is left of the room is still there
		counts[503]--
		counts[d.send("2", body, typ).Status]++
	}
	if counts[201] != fit || d.used() != wants.MaxFileBytes || len(w.stored("materials/")) != fit {
		t.Errorf("%v: %d bytes, %d files", counts, d.used(), len(w.stored("materials/")))
	}
	r := d.upload("2", "one.txt", []byte("x")).Refused(413, "target_budget_exceeded")
	if r.Num("target_usage_bytes") != wants.MaxFileBytes || r.Num("target_budget_bytes") != wants.MaxFileBytes {
		t.Errorf("%s", r.Body)
	}
	d.json("2", fields{"filename": "a", "content_type": "image/png", "size_bytes": 1, "sha256": strings.Repeat("a", 64)}).Refused(413, "target_budget_exceeded")
}

func TestAFileOfWhichNothingWasCommittedIsRemoved(t *testing.T) {
	var store *faulty.Store
	w := newShelf(t, optest.WithStore(func(s table.Store) table.Store { store = faulty.Wrap(s); return store }))
	d := w.waiting()
	if _, err := store.Inject(faulty.Fault{Mode: faulty.Conflict, Times: 6}); err != nil {
		t.Fatal(err)
	}
	d.upload("2", "a.png", png(9)).Refused(503, "busy")
	if left := w.stored("materials/"); len(left) != 0 {
		t.Errorf("%v stay behind", left)
	}
	d.upload("2", "a.png", png(9)).Want(201)
}

func TestAStagedFile(t *testing.T) {
	w := newShelf(t)
	d := w.waiting()
	up := d.announce("2", "beach.png", png(1000))
	claim := fields{"upload_id": up}
	d.json("3", claim).Refused(409, "step_not_waiting")
	first := d.json("2", claim, "k").Want(201)
	again := d.json("2", claim, "k").Want(201) // a retried claim replays
	if !again.Replayed || !bytes.Equal(first.Body, again.Body) || first.Str("file_id") != up || first.Str("filename") != "beach.png" || d.used() != 1000 {
		t.Errorf("%s and %s", first.Body, again.Body)
	}
	d.json("2", claim).Refused(404, "upload_unknown")
	d.answer("2", "approve").Want(200)
	d.fetch(d.agent, up).Want(200)
}

// A claim that lost its races is made again and finds its bytes; two claims at once make
// one file.
func TestAClaimCanBeMadeAgain(t *testing.T) {
	var store *faulty.Store
	w := newShelf(t, optest.WithStore(func(s table.Store) table.Store { store = faulty.Wrap(s); return store }))
	d := w.waiting()
	claim := fields{"upload_id": d.announce("2", "a.png", png(64))}
	if _, err := store.Inject(faulty.Fault{Mode: faulty.Conflict, Times: 6}); err != nil {
		t.Fatal(err)
	}
	d.json("2", claim).Refused(503, "busy")
	var all sync.WaitGroup
	made := make(chan int, 2)
	for range 2 {
		all.Go(func() { made <- d.json("2", claim).Status })
	}
	all.Wait()
	if a, b := <-made, <-made; a+b != 201+404 {
		t.Errorf("%d and %d", a, b)
	}
	if n := len(d.stepFiles("2")); n != 1 || d.used() != 64 {
		t.Errorf("%d files, %d bytes", n, d.used())
	}
	d.answer("2", "approve").Want(200)
	d.fetch(d.agent, claim["upload_id"].(string)).Want(200)
}

func (d *parties) stepFiles(step string) []any {
	d.t.Helper()
	list, _ := d.step(step).At("files").([]any)
	return list
}

func TestAnAnswerNamesOnlyWhatLiesOnItsStep(t *testing.T) {
	w := newShelf(t)
	d, foreign := w.waiting(), w.waiting()
	mine := d.upload("2", "a.png", png(9)).Want(201).Str("file_id")
	theirs := foreign.upload("2", "b.png", png(9)).Want(201).Str("file_id")
	value := func(files ...string) []fields {
		list := []fields{}
		for _, f := range files {
			list = append(list, fields{"file_id": f, "filename": "x.png"})
		}
		return []fields{{"block_number": 1, "value": list}}
	}
	for _, bad := range [][]fields{value(theirs), value(mine, theirs), value(mine, mine), value("00000000-0000-4000-8000-000000000000")} {
		d.answer("2", "approve", "responses", bad).Refused(422, "response_invalid")
		d.Do(deals.SaveDraft, optest.Req{Token: d.person, Path: d.at("2"), Body: fields{"responses": bad}}).Refused(422, "response_invalid")
	}
	d.Do(deals.SaveDraft, optest.Req{Token: d.person, Path: d.at("2"), Body: fields{"responses": value(mine)}}).Want(200)
	if c := d.current(); len(c.At("har_responses").([]any)) != 0 {
		t.Errorf("the agent reads of a file before it is handed over: %s", c.Body)
	}
	d.remove(d.person, mine).Want(200)
	d.answer("2", "approve").Want(200) // the draft named a file that is gone
	if c := d.current(); c.Num("released_materials_count") != 0 || strings.Contains(string(c.Body), mine) {
		t.Errorf("%s", c.Body)
	}
}

// An upload and an approval that meet: either the file is handed over and was counted, or
// it was too late.
func TestAnUploadDoesNotPassAnApproval(t *testing.T) {
	w := newShelf(t)
	for range 10 {
		d := w.waiting()
		done := make(chan int)
		go func() { done <- d.upload("2", "a.png", png(9)).Status }()
		d.answer("2", "approve").Want(200)
		status := <-done
		c := d.current()
		if want := map[int]float64{201: 1, 409: 0}[status]; status != 201 && status != 409 || c.Num("released_materials_count") != want {
			t.Fatalf("%d: %s", status, c.Body)
		}
	}
}

func TestMaterialsAreTheirAgentsAlone(t *testing.T) {
	w := newShelf(t)
	d, second := w.waiting(), w.waiting()
	file := d.upload("2", "a.png", png(9)).Want(201).Str("file_id")
	d.answer("2", "approve").Want(200)
	d.fetch(second.agent, file).Refused(404, "not found")
	second.fetch(second.agent, file).Refused(404, "not found")
	second.fetch(d.agent, file).Refused(404, "not found")
	d.fetch(d.person, file).Refused(401, "unauthorized")
	d.fetch("", file).Refused(401, "unauthorized")
	d.fetch(d.agent, "x").Refused(404, "not found")
	d.fetch(d.agent, file).Want(200)
	narrow := ""
	w.Run("bench", func(c *op.Call) (err error) {
		narrow, err = account.AgentToken.Issue(c, d.agentID, []string{"targets:read"}, time.Time{})
		return err
	})
	d.fetch(narrow, file).Refused(401, "unauthorized")
}

func TestMaterialsAreServedForFourteenDaysAfterTheEnd(t *testing.T) {
	d := newShelf(t).waiting()
	file := d.upload("2", "a.png", png(9)).Want(201).Str("file_id")
	d.answer("2", "approve").Want(200)
	d.Do(deals.EndDeal, optest.Req{Token: d.person, Path: d.at(""), Body: fields{"reason": "Enough."}}).Want(200)
	d.Advance(deals.ServeAfterEnd - time.Millisecond)
	d.fetch(d.agent, file).Want(200)
	if d.current().Num("released_materials_count") != 1 {
		t.Error("the list is shorter than what is served")
	}
	d.Advance(time.Millisecond)
	d.fetch(d.agent, file).Refused(404, "not found")
	if d.current().Num("released_materials_count") != 0 {
		t.Error("the list is longer than what is served")
	}
}

// linking is a store that gives links, as S3 does.
type linking struct{ blob.Store }

func (linking) SignGet(_ context.Context, key string, d blob.Download) (string, error) {
	return "https://files.test/" + key + "?as=" + d.Filename + "&until=" + d.Expires.Format(time.RFC3339), nil
}

func TestALargeFileIsFetchedFromWhereItLies(t *testing.T) {
	w := newShelf(t)
	d := w.waiting()
	small, large := d.upload("2", "a.png", png(4<<20)).Want(201).Str("file_id"), d.upload("2", "b.png", png(4<<20+1)).Want(201).Str("file_id")
	d.answer("2", "approve").Want(200)
	r := d.fetch(d.agent, large).Want(200) // this store gives no links
	if n, err := io.Copy(io.Discard, r.Raw.Body); err != nil || n != 4<<20+1 {
		t.Errorf("%d bytes, %v", n, err)
	}
	w.Engine.Ports = func(ctx context.Context, _ op.Touch) context.Context { return blob.With(ctx, linking{w.blobs}) }
	if r := d.fetch(d.agent, small).Want(200); r.Raw.Location != "" {
		t.Errorf("%+v", r.Raw)
	}
	r = d.fetch(d.agent, large).Want(200)
	if !strings.HasSuffix(r.Raw.Location, "/"+large+"?as=b.png&until=2026-11-30T18:25:00Z") || r.Raw.Body != nil {
		t.Errorf("%+v", r.Raw)
	}
}
