package local

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"guildhall/pkg/table"
)

var ctx = context.Background()

func open(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func createTx(id, pk string) *table.Tx {
	return &table.Tx{ID: id, Writes: []table.Write{
		{Kind: table.Create, Key: table.Key{PK: pk, SK: "ROOT"}, Data: []byte(id)},
		{Kind: table.Create, Key: table.Key{PK: pk, SK: "mark " + id}},
	}}
}

func version1(t *testing.T, s *Store, pk string) string {
	t.Helper()
	rows, err := s.Get(ctx, table.Key{PK: pk, SK: "ROOT"})
	if err != nil {
		t.Fatal(err)
	}
	return rows[0].Version
}

// hold keeps the writer busy inside a transaction until release is called; what is sent
// meanwhile waits and joins that very group.
func (s *Store) hold(t *testing.T, change func(*session) (answer, broken error)) (release func() error) {
	t.Helper()
	begun, goOn, answer := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		answer <- s.writer.submit(ctx, newRequest(0, func(c *session) (error, error) {
			close(begun)
			<-goOn
			return change(c)
		}))
	}()
	<-begun
	return func() error {
		close(goOn)
		return <-answer
	}
}

func nothing(*session) (answer, broken error) { return nil, nil }

// send commits in the background, and returns once the commits wait in the queue in order.
func (s *Store) send(ctx context.Context, txs ...*table.Tx) (answers func() []error) {
	var wg sync.WaitGroup
	errs := make([]error, len(txs))
	for i, tx := range txs {
		before := len(s.writer.queue)
		wg.Go(func() { errs[i] = s.Commit(ctx, tx) })
		for len(s.writer.queue) == before {
			// The writer is held, so the queue only grows.
		}
	}
	return func() []error {
		wg.Wait()
		return errs
	}
}

func TestCommitsThatWaitShareOneSyncAndAreDecidedInOrder(t *testing.T) {
	s := open(t, t.TempDir())
	release := s.hold(t, nothing)
	answers := s.send(ctx, createTx("a1", "a"), createTx("a2", "a"), createTx("b1", "b"), createTx("a1", "a"),
		&table.Tx{ID: "a3", Writes: []table.Write{{Kind: table.Replace, Key: table.Key{PK: "a", SK: "ROOT"}, Version: "a1"}}})
	_, before := s.Syncs()
	if err := release(); err != nil {
		t.Fatal(err)
	}
	want := []error{nil, table.ErrConflict, nil, nil, nil}
	for i, err := range answers() {
		if !errors.Is(err, want[i]) {
			t.Errorf("commit %d answered %v, want %v", i, err, want[i])
		}
	}
	if _, after := s.Syncs(); after != before+1 {
		t.Errorf("%d groups for commits that waited together", after-before)
	}
	if a, b := version1(t, s, "a"), version1(t, s, "b"); a != "a3" || b != "b1" {
		t.Errorf("a is %q, b is %q", a, b)
	}
	rows, err := s.Query(ctx, table.Query{PK: "a"})
	if err != nil || len(rows.Rows) != 2 {
		t.Errorf("the refused commit of the group left something: %v, %v", rows.Rows, err)
	}
}

func TestABrokenGroupFailsAllItsCommitsAndLeavesNothing(t *testing.T) {
	s := open(t, t.TempDir())
	if err := s.Commit(ctx, createTx("c1", "c")); err != nil {
		t.Fatal(err)
	}
	release := s.hold(t, nothing)
	answers := s.send(ctx, createTx("a1", "a"), createTx("c2", "c"), createTx("b1", "b"))
	// The transaction is ended behind the group's back, so its COMMIT fails.
	end := make(chan error, 1)
	before := len(s.writer.queue)
	go func() {
		end <- s.writer.submit(ctx, newRequest(0, func(c *session) (error, error) {
			c.rollback()
			return nil, nil
		}))
	}()
	for len(s.writer.queue) == before {
		// The writer is held, so the queue only grows.
	}
	_ = release()
	for i, err := range answers() {
		// Not one of them may hear "done" or "conflict": what they met was undone.
		if err == nil || errors.Is(err, table.ErrConflict) {
			t.Errorf("commit %d answered %v", i, err)
		}
	}
	<-end
	if a, b := version1(t, s, "a"), version1(t, s, "b"); a != "" || b != "" {
		t.Errorf("a is %q, b is %q", a, b)
	}
	if err := s.Commit(ctx, createTx("a2", "a")); err != nil {
		t.Errorf("the writer does not recover: %v", err)
	}
}

func TestAContextThatEndsInTheQueueTakesTheCommitBack(t *testing.T) {
	s := open(t, t.TempDir())
	release := s.hold(t, nothing)
	ending, cancel := context.WithCancel(ctx)
	gone, stays := s.send(ending, createTx("a1", "a")), s.send(ctx, createTx("b1", "b"))
	cancel()
	if err := gone()[0]; !errors.Is(err, context.Canceled) || !errors.Is(err, table.ErrUnavailable) {
		t.Errorf("answered %v", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if err := stays()[0]; err != nil {
		t.Errorf("its neighbour answered %v", err)
	}
	if a, b := version1(t, s, "a"), version1(t, s, "b"); a != "" || b != "b1" {
		t.Errorf("a is %q, b is %q", a, b)
	}
}

func TestAContextThatEndsUnderWayStillLearnsTheOutcome(t *testing.T) {
	s := open(t, t.TempDir())
	ending, cancel := context.WithCancel(ctx)
	err := s.writer.submit(ending, newRequest(0, func(c *session) (answer, broken error) {
		cancel()
		return c.commit(createTx("a1", "a"))
	}))
	if err != nil || version1(t, s, "a") != "a1" {
		t.Errorf("answered %v, the row has version %q", err, version1(t, s, "a"))
	}
}

func TestALockHeldElsewhereIsUnavailableToWritersAndNothingToReaders(t *testing.T) {
	s := open(t, t.TempDir())
	if err := s.Commit(ctx, createTx("a1", "a")); err != nil {
		t.Fatal(err)
	}
	// Wait for one millisecond instead of ten seconds.
	release := s.hold(t, func(c *session) (error, error) {
		_, err := c.conn.ExecContext(ctx, "PRAGMA busy_timeout = 1")
		return err, nil
	})
	if err := release(); err != nil {
		t.Fatal(err)
	}
	unlock := lock(t, s)
	if err := s.Commit(ctx, createTx("b1", "b")); !errors.Is(err, table.ErrUnavailable) || errors.Is(err, table.ErrConflict) {
		t.Errorf("commit answered %v", err)
	}
	if v := version1(t, s, "a"); v != "a1" {
		t.Errorf("read version %q under the lock", v)
	}
	unlock()
	if err := s.Commit(ctx, createTx("b2", "b")); err != nil || version1(t, s, "b") != "b2" {
		t.Errorf("after the lock: %v", err)
	}
}

// lock holds the file's write lock on a connection of its own, as another process would.
func lock(t *testing.T, s *Store) (unlock func()) {
	t.Helper()
	var path string
	if err := s.reads.QueryRow("SELECT file FROM pragma_database_list").Scan(&path); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open(driver, dsn(path))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	return func() {
		if _, err := db.Exec("ROLLBACK"); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestTheWriterSyncsEveryGroup(t *testing.T) {
	s := open(t, t.TempDir())
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "query_only": "0"} {
		var got string
		release := s.hold(t, func(c *session) (error, error) {
			return c.conn.QueryRowContext(ctx, "PRAGMA "+pragma).Scan(&got), nil
		})
		if err := release(); err != nil || got != want {
			t.Errorf("%s is %q (%v), want %q", pragma, got, err, want)
		}
	}
}

func TestAReaderCannotWrite(t *testing.T) {
	s := open(t, t.TempDir())
	if _, err := s.reads.Exec("DELETE FROM rows"); err == nil {
		t.Error("a reader deleted rows")
	}
}

func TestEveryReadIsARangeOfTheKeyIndex(t *testing.T) {
	s := open(t, t.TempDir())
	texts := map[string][]any{getOne: {"p", "s"}, getMany: {`[["p","s"]]`}, list: {"p", "s", 10}}
	for _, q := range []table.Query{{}, {From: "a"}, {After: "b"}, {To: "z"}, {To: "z", After: "b"}} {
		for _, q.Reverse = range []bool{false, true} {
			for _, q.KeysOnly = range []bool{false, true} {
				q.PK = "p"
				text, args := pageStatement(q, 10)
				texts[text] = args
			}
		}
	}
	for text, args := range texts {
		rows, err := s.reads.Query("EXPLAIN QUERY PLAN "+text, args...)
		if err != nil {
			t.Fatal(err)
		}
		plan := ""
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			plan += detail + "; "
		}
		rows.Close()
		ranged := strings.Contains(plan, " USING INDEX sqlite_autoindex_rows_1 (pk=?") || text == list && strings.Contains(plan, "((pk,sk)>(?,?))")
		if !ranged || strings.Contains(plan, "TEMP B-TREE") || strings.Contains(plan, "SCAN rows") {
			t.Errorf("%s\nis %s", text, plan)
		}
	}
}

func TestCountersSpoiledByHandFailTheirRowAlone(t *testing.T) {
	s := open(t, t.TempDir())
	sum := table.Key{PK: "sum", SK: "n"}
	release := s.hold(t, func(c *session) (error, error) {
		_, err := c.conn.ExecContext(ctx, "INSERT INTO rows (pk, sk, version, counters) VALUES ('sum', 'n', 'counter', 'spoiled')")
		return err, nil
	})
	answers := s.send(ctx, createTx("a1", "a"), &table.Tx{ID: "s", Writes: []table.Write{
		{Kind: table.Create, Key: table.Key{PK: "b", SK: "ROOT"}}, {Kind: table.Add, Key: sum, Adds: map[string]int64{"n": 1}},
	}}, createTx("c1", "c"))
	if err := release(); err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(answers()[0] == nil, answers()[1] == nil, answers()[2] == nil)
	if got != "true false true" || version1(t, s, "b") != "" {
		t.Errorf("answered %v", answers())
	}
	if _, err := s.Get(ctx, sum); err == nil {
		t.Error("the spoiled row reads")
	}
}
