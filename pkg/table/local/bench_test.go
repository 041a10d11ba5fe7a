package local

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/table"
)

const (
	clients    = 32
	perClient  = 20   // commits of each client in one turn
	benchBytes = 1024 // data of a row
)

// BenchmarkDurableCommits puts 32 clients of the store beside the bare engine in one run, turn
// by turn on the same disk: SQLite fed by one loop that has 32 such commits ready for every
// sync, without queue, goroutines or answers. The ratio is what DESIGN 15 budgets at 0.6.
func BenchmarkDurableCommits(b *testing.B) {
	s := open(b, b.TempDir())
	raw := newRawEngine(b, b.TempDir())
	data := make([]byte, benchBytes)
	var ours, bare time.Duration
	commits, groups := s.Syncs()
	for turn := range b.N {
		start := time.Now()
		var wg sync.WaitGroup
		for c := range clients {
			wg.Go(func() {
				for n := range perClient {
					if err := s.Commit(ctx, benchTx(turn, c, n, data)); err != nil {
						b.Error(err)
					}
				}
			})
		}
		wg.Wait()
		middle := time.Now()
		for n := range perClient {
			raw.group(b, turn, n, data)
		}
		ours, bare = ours+middle.Sub(start), bare+time.Since(middle)
	}
	total := float64(b.N * clients * perClient)
	c, g := s.Syncs()
	b.ReportMetric(total/ours.Seconds(), "commits/s")
	b.ReportMetric(total/bare.Seconds(), "raw-commits/s")
	b.ReportMetric(bare.Seconds()/ours.Seconds(), "ratio")
	b.ReportMetric(float64(c-commits)/float64(g-groups), "commits/sync")
	b.ReportMetric(0, "ns/op")
}

// benchTx is a usual commit: a row checked, one created, one replaced.
func benchTx(turn, client, n int, data []byte) *table.Tx {
	pk := fmt.Sprint("client", client)
	tx := &table.Tx{ID: benchID(turn, client, n), Writes: []table.Write{
		{Kind: table.Check, Key: table.Key{PK: pk, SK: "GUARD"}},
		{Kind: table.Create, Key: table.Key{PK: pk, SK: benchID(turn, client, n)}, Data: data},
		{Kind: table.Create, Key: table.Key{PK: pk, SK: "HEAD"}, Data: data},
	}}
	if turn+n > 0 {
		head := &tx.Writes[2]
		head.Kind, head.Version = table.Replace, benchID(turn, client, n-1)
		if n == 0 {
			head.Version = benchID(turn-1, client, perClient-1)
		}
	}
	return tx
}

func benchID(turn, client, n int) string { return fmt.Sprintf("%06d-%02d-%02d", turn, client, n) }

// rawEngine is the same file, schema and settings with the same statements for the same
// commits, prepared, in groups of exactly one commit per client.
type rawEngine struct{ begin, end, save, release, guard, create, replace *sql.Stmt }

func newRawEngine(b *testing.B, dir string) *rawEngine {
	path, err := prepareFile(dir)
	if err != nil {
		b.Fatal(err)
	}
	db, err := sql.Open(driver, dsn(path, "synchronous(FULL)", "fullfsync(1)", walSize))
	if err != nil {
		b.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	b.Cleanup(func() { db.Close() })
	conn, err := db.Conn(ctx)
	if err == nil {
		err = prepareSchema(ctx, conn)
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	prepare := func(text string) *sql.Stmt {
		stmt, err := conn.PrepareContext(ctx, text)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { stmt.Close() })
		return stmt
	}
	return &rawEngine{
		begin: prepare("BEGIN IMMEDIATE"), end: prepare("COMMIT"), save: prepare("SAVEPOINT s"), release: prepare("RELEASE s"),
		guard:   prepare("SELECT count(*) FROM rows WHERE pk = ? AND sk = ?"),
		create:  prepare("INSERT INTO rows (pk, sk, version, data) VALUES (?, ?, ?, ?)"),
		replace: prepare("INSERT OR REPLACE INTO rows (pk, sk, version, data) VALUES (?, ?, ?, ?)"),
	}
}

func (e *rawEngine) group(b *testing.B, turn, n int, data []byte) {
	run := func(stmt *sql.Stmt, args ...any) {
		if _, err := stmt.Exec(args...); err != nil {
			b.Fatal(err)
		}
	}
	run(e.begin)
	for client := range clients {
		pk, id := fmt.Sprint("client", client), benchID(turn, client, n)
		run(e.save)
		var found int
		if err := e.guard.QueryRow(pk, "GUARD").Scan(&found); err != nil || found != 0 {
			b.Fatal(found, err)
		}
		run(e.create, pk, id, id, data)
		run(e.replace, pk, "HEAD", id, data)
		run(e.release)
	}
	run(e.end)
}

// BenchmarkOneClient is what a caller alone waits for a durable commit.
func BenchmarkOneClient(b *testing.B) {
	s := open(b, b.TempDir())
	data := make([]byte, benchBytes)
	for i := 0; b.Loop(); i++ {
		if err := s.Commit(ctx, benchTx(i/perClient, 0, i%perClient, data)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReads(b *testing.B) {
	s := open(b, b.TempDir())
	const rows = 10_000
	key := func(i int) table.Key {
		return table.Key{PK: fmt.Sprint("p", i%100), SK: fmt.Sprintf("row %05d", i/100)}
	}
	for i := 0; i < rows; {
		tx := &table.Tx{ID: fmt.Sprint("fill", i)}
		for ; len(tx.Writes) < table.MaxTxRows; i++ {
			tx.Writes = append(tx.Writes, table.Write{Kind: table.Create, Key: key(i), Data: make([]byte, benchBytes)})
		}
		if err := s.Commit(ctx, tx); err != nil {
			b.Fatal(err)
		}
	}
	ending, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, n := range []int{1, 4, 20} {
		b.Run(fmt.Sprint("get of ", n), func(b *testing.B) {
			keys := make([]table.Key, n)
			for i := 0; b.Loop(); i++ {
				for k := range keys {
					keys[k] = key((i + k*7919) % rows)
				}
				if _, err := s.Get(ending, keys...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("page of 20", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if _, err := s.Query(ending, table.Query{PK: key(i % (rows / 2)).PK, From: key(i % (rows / 2)).SK, Limit: 20}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkOpen is the store's part of a start from an empty directory.
func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		s, err := Open(ctx, b.TempDir())
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
