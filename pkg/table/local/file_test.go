package local_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/table"
	"guildhall/pkg/table/local"
)

var row = table.Key{PK: "p", SK: "row"}

func commit(t testing.TB, s table.Store, id string, writes ...table.Write) {
	t.Helper()
	if err := s.Commit(ctx, &table.Tx{ID: id, Writes: writes}); err != nil {
		t.Fatal(err)
	}
}

func TestOpenMakesFilesForTheirOwnerAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "data")
	s := open(t, dir)
	commit(t, s, "1", table.Write{Kind: table.Create, Key: row})
	for path, want := range map[string]os.FileMode{
		dir: os.ModeDir | 0o700, dir + "/guildhall.db": 0o600, dir + "/guildhall.db-wal": 0o600, dir + "/guildhall.db-shm": 0o600,
	} {
		info, err := os.Stat(path)
		if err != nil || info.Mode() != want {
			t.Errorf("%s: mode %v (%v), want %v", filepath.Base(path), info.Mode(), err, want)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || left[0].Name() != "guildhall.db" {
		t.Errorf("a closed store is %v (%v), want one file", left, err)
	}
}

func TestAStoreOpenedAgainIsTheSame(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	sum := table.Key{PK: "p", SK: "sum"}
	expires := time.Date(2031, 5, 6, 7, 8, 9, 10e6, time.UTC)
	commit(t, s, "1", table.Write{Kind: table.Create, Key: row, Data: []byte("data"), Expires: expires},
		table.Write{Kind: table.Add, Key: sum, Adds: map[string]int64{"n": 3}})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	rows := must(t, open(t, dir), row, sum)
	if r := rows[0]; r.Version != "1" || string(r.Data) != "data" || !r.Expires.Equal(expires) {
		t.Errorf("%+v", r)
	}
	if rows[1].Counters["n"] != 3 {
		t.Errorf("%+v", rows[1])
	}
}

func TestAnyDirectoryNameWill(t *testing.T) {
	for _, name := range []string{"with space", "a?b#c", "50%25", "ümläut", "semi;colon&x=y", "file:x", "'quoted\""} {
		dir := filepath.Join(t.TempDir(), name)
		s := open(t, dir)
		commit(t, s, "1", table.Write{Kind: table.Create, Key: row})
		if info, err := os.Stat(filepath.Join(dir, "guildhall.db")); err != nil || info.Size() == 0 {
			t.Errorf("%q: the file is elsewhere: %v", name, err)
		}
	}
}

func TestOpenRefusesWhatIsNotItsFile(t *testing.T) {
	raw := func(t *testing.T, path, text string) {
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string]func(t *testing.T, path string){
		"another program's database": func(t *testing.T, path string) { raw(t, path, "CREATE TABLE rows (id)") },
		"a later schema":             func(t *testing.T, path string) { raw(t, path, "CREATE TABLE t (id); PRAGMA user_version = 2") },
		"no database": func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte("a text of more than a hundred bytes, "+string(make([]byte, 4096))), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, prepare := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "guildhall.db")
			prepare(t, path)
			s, err := local.Open(ctx, filepath.Dir(path))
			if err == nil {
				s.Close()
				t.Fatal("it was opened")
			}
			if errors.Is(err, table.ErrUnavailable) {
				t.Errorf("%v: waiting would not help", err)
			}
		})
	}
	t.Run("a file where the directory should be", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := local.Open(ctx, path); !errors.Is(err, table.ErrUnavailable) {
			t.Errorf("answered %v", err)
		}
	})
}

func TestAClosedStoreIsUnavailable(t *testing.T) {
	s := open(t, t.TempDir())
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, get := s.Get(ctx, row)
	_, query := s.Query(ctx, table.Query{PK: "p"})
	_, _, list := s.List(ctx, "", 1)
	_, purge := s.Purge(ctx, time.Unix(1, 0), 1)
	tx := &table.Tx{ID: "1", Writes: []table.Write{{Kind: table.Create, Key: row}}}
	for name, err := range map[string]error{
		"get": get, "query": query, "list": list, "purge": purge, "commit": s.Commit(ctx, tx),
	} {
		if !errors.Is(err, table.ErrUnavailable) {
			t.Errorf("%s answered %v", name, err)
		}
	}
}

func TestCloseUnderLoadKeepsWhatWasAcknowledgedAndRefusesTheRest(t *testing.T) {
	for round := range 10 {
		dir := t.TempDir()
		s := open(t, dir)
		const writers = 8
		var wg sync.WaitGroup
		var acked [writers]int
		warm := make(chan struct{}, writers*1000)
		for w := range writers {
			wg.Go(func() {
				for {
					key := table.Key{PK: "p", SK: fmt.Sprint(w, "-", acked[w])}
					err := s.Commit(ctx, &table.Tx{ID: key.SK, Writes: []table.Write{{Kind: table.Create, Key: key}}})
					if err != nil {
						if !errors.Is(err, table.ErrUnavailable) {
							t.Error(err)
						}
						return
					}
					acked[w]++
					select {
					case warm <- struct{}{}:
					default:
					}
				}
			})
		}
		for range 1 + round*5 {
			<-warm
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		again := open(t, dir)
		for w := range writers {
			rows := must(t, again, table.Key{PK: "p", SK: fmt.Sprint(w, "-", acked[w]-1)}, table.Key{PK: "p", SK: fmt.Sprint(w, "-", acked[w])})
			if acked[w] > 0 && !rows[0].Found() || rows[1].Found() {
				t.Errorf("writer %d: %d acknowledged, last there %v, next there %v", w, acked[w], rows[0].Found(), rows[1].Found())
			}
		}
	}
}

func TestPurgeRemovesWhatExpiredOldestFirst(t *testing.T) {
	s := open(t, t.TempDir())
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, at := range map[string]time.Time{
		"never": {}, "now": now, "later": now.Add(time.Second), "before": now.Add(-time.Millisecond),
		"hour": now.Add(-time.Hour), "day": now.Add(-24 * time.Hour), "antique": time.Unix(-5, 0),
	} {
		commit(t, s, name, table.Write{Kind: table.Create, Key: table.Key{PK: "p", SK: name}, Expires: at})
	}
	for i, want := range []struct {
		removed int
		left    []string
	}{
		{2, []string{"before", "hour", "later", "never", "now"}},
		{2, []string{"later", "never", "now"}},
		{0, []string{"later", "never", "now"}},
	} {
		n, err := s.Purge(ctx, now, 2)
		if err != nil || n != want.removed {
			t.Fatalf("step %d: removed %d, %v", i, n, err)
		}
		page, err := s.Query(ctx, table.Query{PK: "p"})
		if err != nil || fmt.Sprint(sks(page.Rows)) != fmt.Sprint(want.left) {
			t.Fatalf("step %d: left %v, %v", i, sks(page.Rows), err)
		}
	}
}

func sks(rows []table.Row) (out []string) {
	for _, r := range rows {
		out = append(out, r.SK)
	}
	return out
}
