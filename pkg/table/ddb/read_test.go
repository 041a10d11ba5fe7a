package ddb

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/table"
	"guildhall/pkg/table/ddb/stub"
)

// Each call takes the cheapest operation there is for it.
func TestOneRowIsNoBatchAndNoTransaction(t *testing.T) {
	server, s, _ := stage(t)
	ctx := context.Background()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	get := func(keys ...table.Key) func() {
		return func() { _, err := s.Get(ctx, keys...); must(err) }
	}
	write := func(id string, writes ...table.Write) func() {
		return func() { must(s.Commit(ctx, &table.Tx{ID: id, Writes: writes})) }
	}
	for _, c := range []struct {
		name string
		call func()
		want string
	}{
		{"read one", get(rowA), "GetItem"},
		{"read one twice", get(rowA, rowA), "GetItem"},
		{"read two", get(rowA, rowB), "BatchGetItem"},
		{"check one", write("c1", table.Write{Kind: table.Check, Key: rowA, Version: "v1"}), "GetItem"},
		{"check absence", write("c2", table.Write{Kind: table.Check, Key: rowB}), "GetItem"},
		{"create one", write("c3", create(rowB, "x")), "PutItem"},
		{"replace one", write("c4", replace(rowB, "c3", "y")), "PutItem"},
		{"delete one", write("c5", remove(rowB, "c4")), "DeleteItem"},
		{"add alone", write("c6", add(sumC, 1)), "TransactWriteItems"},
		{"write two", write("c7", create(rowB, "z"), add(sumC, 1)), "TransactWriteItems"},
		{"query", func() { _, err := s.Query(ctx, table.Query{PK: "p"}); must(err) }, "Query"},
		{"list", func() { _, _, err := s.List(ctx, "", 0); must(err) }, "Scan"},
		{"ping", func() { must(s.Ping(ctx)) }, "GetItem"},
	} {
		before := server.AllRequests()
		c.call()
		for op, n := range server.AllRequests() {
			want := 0
			if op == c.want {
				want = 1
			}
			if n-before[op] != want {
				t.Errorf("%s: %d requests of %s, want %d", c.name, n-before[op], op, want)
			}
		}
	}
	if server.WeakReads() > 0 {
		t.Error("a read was not strongly consistent")
	}
}

func TestUnprocessedKeysAreAskedForAgain(t *testing.T) {
	server, s, p := stage(t)
	var keys []table.Key
	for i := range 60 {
		k := table.Key{PK: "many", SK: fmt.Sprint(i)}
		commit(t, s, fmt.Sprint("many ", i), create(k, fmt.Sprint("data ", i)))
		keys = append(keys, k, k)
	}
	keys = keys[:table.MaxGetKeys]
	ask := func() error {
		rows, err := s.Get(context.Background(), keys...)
		for i, r := range rows {
			if r.Key != keys[i] || !strings.HasSuffix(string(r.Data), " "+keys[i].SK) {
				t.Fatalf("row %d is %v %q", i, r.Key, r.Data)
			}
		}
		return err
	}
	server.Inject(stub.Fault{Op: "BatchGetItem", Kind: stub.Unprocessed, N: 20},
		stub.Fault{Op: "BatchGetItem", Kind: stub.Unprocessed}, stub.Fault{Op: "BatchGetItem", Kind: stub.Unprocessed, N: 1})
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	if p.n != 1 {
		t.Errorf("%d pauses, want one, after the answer without a row", p.n)
	}
	before := server.Requests("BatchGetItem")
	server.Inject(times(stalledBatches, stub.Fault{Op: "BatchGetItem", Kind: stub.Unprocessed})...)
	if err := ask(); !errors.Is(err, table.ErrUnavailable) {
		t.Errorf("keys that stay unprocessed: %v", err)
	}
	if n := server.Requests("BatchGetItem") - before; n != stalledBatches {
		t.Errorf("%d requests, want %d", n, stalledBatches)
	}
}

// The walk is compared with plain Go over random keys, ranges and limits, on pages of
// DynamoDB that end early.
func TestEveryWalkSeesExactlyItsRange(t *testing.T) {
	const seed = 20261130
	rnd := rand.New(rand.NewPCG(seed, 1))
	server := stub.New()
	server.PageBytes = 3 * table.MaxKeyPart // like AWS's megabyte, room for two of the largest rows
	s, _ := open(t, server)
	sks := someKeys(rnd, 60)
	for i, sk := range sks {
		commit(t, s, fmt.Sprint("id", i), create(table.Key{PK: "p", SK: sk}, "some data"))
	}
	pick := func() string {
		if rnd.IntN(4) == 0 {
			return ""
		}
		return someKeys(rnd, 1)[0]
	}
	for n := range 400 {
		q := table.Query{PK: "p", From: pick(), To: pick(), After: pick(), Reverse: rnd.IntN(2) == 0,
			KeysOnly: rnd.IntN(2) == 0, Limit: rnd.IntN(12)}
		want := expected(sks, q)
		got, pages := walk(t, s, q)
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d, walk %d, %+v:\n got %q\nwant %q", seed, n, q, got, want)
		}
		if q.Limit > 0 && pages > len(want)/q.Limit+1 {
			t.Fatalf("seed %d, walk %d, %+v: %d pages for %d rows", seed, n, q, pages, len(want))
		}
	}
}

// someKeys makes sorted distinct keys of few letters, so that many are prefixes of others.
func someKeys(rnd *rand.Rand, n int) []string {
	seen := map[string]bool{}
	for len(seen) < n {
		var b strings.Builder
		for range 1 + rnd.IntN(4) {
			b.WriteString([]string{"a", "b", "#", "\x01", "é", "\U0010ffff"}[rnd.IntN(6)])
		}
		if rnd.IntN(20) == 0 {
			b.WriteString(strings.Repeat("z", table.MaxKeyPart-b.Len()))
		}
		seen[b.String()] = true
	}
	var out []string
	for k := range seen {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func expected(sks []string, q table.Query) []string {
	var out []string
	for _, sk := range sks {
		behind := q.After == "" || sk > q.After
		if q.Reverse {
			behind = q.After == "" || sk < q.After
		}
		if sk >= q.From && (q.To == "" || sk < q.To) && behind {
			out = append(out, sk)
		}
	}
	if q.Reverse {
		slices.Reverse(out)
	}
	return out
}

func walk(t *testing.T, s table.Store, q table.Query) (sks []string, pages int) {
	t.Helper()
	for {
		p, err := s.Query(context.Background(), q)
		if err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		pages++
		for _, r := range p.Rows {
			sks = append(sks, r.SK)
			if !r.Found() || (len(r.Data) == 0) != q.KeysOnly {
				t.Fatalf("%+v: row %v has version %q and %d bytes", q, r.Key, r.Version, len(r.Data))
			}
		}
		if !p.More {
			return sks, pages
		}
		if len(p.Rows) == 0 {
			t.Fatalf("%+v: more behind an empty page", q)
		}
		q.After = p.Rows[len(p.Rows)-1].SK
	}
}

// A page goes on behind the last key seen, even if that row is deleted in between.
func TestAPageOutlivesTheRowItResumesBehind(t *testing.T) {
	server := stub.New()
	server.PageBytes = 100 // two rows
	s, _ := open(t, server)
	for i := range 6 {
		commit(t, s, fmt.Sprint("id", i), create(table.Key{PK: "p", SK: fmt.Sprint(i)}, strings.Repeat("d", 30)))
	}
	server.Inject(stub.Fault{Op: "Query", Then: func() {
		commit(t, s, "gone", remove(table.Key{PK: "p", SK: "1"}, "id1"))
	}})
	sks, pages := walk(t, s, table.Query{PK: "p"})
	if got := strings.Join(sks, " "); got != "0 1 2 3 4 5" || pages != 1 {
		t.Errorf("%s in %d pages", got, pages)
	}
}

// A megabyte of rows ends a page, and reading it takes little more than a megabyte.
func TestLargePagesReadLittleTwice(t *testing.T) {
	server, s, _ := stage(t)
	for i := range 12 {
		k := table.Key{PK: "large", SK: fmt.Sprint("row ", 10+i)}
		commit(t, s, fmt.Sprint("id", i), create(k, strings.Repeat("d", 200<<10)))
	}
	before, _ := server.Units()
	p, err := s.Query(context.Background(), table.Query{PK: "large"})
	if err != nil || len(p.Rows) != 6 || !p.More {
		t.Fatalf("%d rows, more %v, %v", len(p.Rows), p.More, err)
	}
	after, _ := server.Units()
	if rows := (after - before) / 50; rows > 7.2 {
		t.Errorf("read the capacity of %.1f rows for a page of 6 and one to look ahead", rows)
	}
}

func TestListPositionsOfOthersAreRefused(t *testing.T) {
	_, s, _ := stage(t)
	for _, after := range []string{"?", "bm8", "WyIiLCIiXQ", "WzEsMl0"} {
		if _, _, err := s.List(context.Background(), after, 10); !errors.Is(err, table.ErrInvalid) {
			t.Errorf("%q: %v", after, err)
		}
	}
}

func TestExpiryIsNeverEarly(t *testing.T) {
	_, s, _ := stage(t)
	at := time.Date(2026, 11, 30, 18, 20, 0, 1, time.UTC)
	w := create(rowB, "x")
	w.Expires = at
	commit(t, s, "v2", w)
	if got := load(t, s, rowB).Expires; got.Before(at) || got.Sub(at) > time.Second {
		t.Errorf("%v became %v", at, got)
	}
}

func TestTokensFitAndDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, id := range []string{"a", "9b2d7c1e-6a0f-4a55-8f1e-2f1d6a1f0c3b", strings.Repeat("a", 36),
		strings.Repeat("a", 37), strings.Repeat("a", 38), "é", "with space"} {
		k := token(id)
		if len(k) == 0 || len(k) > 36 || !plain(k) || k != token(id) {
			t.Errorf("token of %q is %q", id, k)
		}
		if seen[k] != "" {
			t.Errorf("%q and %q share a token", id, seen[k])
		}
		seen[k] = id
	}
}

func TestUsageIsWhatDynamoDBSays(t *testing.T) {
	server, s, _ := stage(t)
	r0, w0 := server.Units()
	ctx, u := WithUsage(context.Background())
	for _, err := range []error{
		s.Commit(ctx, &table.Tx{ID: "u1", Writes: []table.Write{create(rowB, strings.Repeat("d", 1500))}}),
		s.Commit(ctx, &table.Tx{ID: "u2", Writes: []table.Write{replace(rowB, "u1", "x"), add(sumC, 1)}}),
		s.Commit(ctx, &table.Tx{ID: "u3", Writes: []table.Write{remove(rowB, "u2")}}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	server.Inject(stub.Fault{Op: "Query", Kind: stub.Throttle})
	if _, err := s.Query(ctx, table.Query{PK: "p"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(ctx, rowA, rowB); err != nil {
		t.Fatal(err)
	}
	r1, w1 := server.Units()
	if u.ReadUnits != r1-r0 || u.WriteUnits != w1-w0 || u.ReadUnits != 3 || u.WriteUnits != 2+4+2+1 {
		t.Errorf("reads %v of %v, writes %v of %v", u.ReadUnits, r1-r0, u.WriteUnits, w1-w0)
	}
	if u.Attempts != 6 {
		t.Errorf("%d attempts, want 6", u.Attempts)
	}
}

func TestPausesGrowAndStayUnderTheirCap(t *testing.T) {
	pause := jittered()
	for n := range 40 {
		for range 50 {
			d := pause(n)
			if limit := min(50*time.Millisecond<<min(n, 10), backoffCap); d < 0 || d > limit {
				t.Fatalf("pause %d is %v, over %v", n, d, limit)
			}
		}
	}
}

func TestNewNamesWhatIsMissing(t *testing.T) {
	full := Options{Table: "t", Region: "r", AccessKey: "a", SecretKey: "s"}
	for name, o := range map[string]Options{
		"table":  {Region: "r", AccessKey: "a", SecretKey: "s"},
		"region": {Table: "t", AccessKey: "a", SecretKey: "s"},
		"access": {Table: "t", Region: "r", SecretKey: "s"},
		"secret": {Table: "t", Region: "r", AccessKey: "a"},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
	if _, err := New(full); err != nil {
		t.Error(err)
	}
}

func TestCounterNamesAreWordsAndComeBack(t *testing.T) {
	seen := map[string]string{}
	for _, field := range []string{"n", "bids_open", "odd field/é", "_", "_x", "__x", "_x20", "a_x5Fx", "x", "", "C_n", "日"} {
		name := counterName(field)
		for i := range len(name) {
			if !isWord(name[i]) {
				t.Errorf("%q becomes %q", field, name)
			}
		}
		if back, ok := counterField(name); !ok || back != field {
			t.Errorf("%q becomes %q becomes %q", field, name, back)
		}
		if other, there := seen[name]; there {
			t.Errorf("%q and %q share a name", field, other)
		}
		seen[name] = field
	}
	if got := counterName("bids_open"); got != "c_bids_open" {
		t.Errorf("an ordinary name became %q", got)
	}
	for _, name := range []string{"PK", "n", "c", "c__x", "c__xZZ", "c__x2"} {
		if field, ok := counterField(name); ok {
			t.Errorf("%q is read as field %q", name, field)
		}
	}
}

// The SDK alone loses two or three in a hundred of these answers (see pkg/awshttp).
func TestNoLargeAnswerIsLostOnTheWay(t *testing.T) {
	_, s, _ := stage(t)
	for i := range 200 {
		commit(t, s, fmt.Sprint("id", i), create(table.Key{PK: "large", SK: fmt.Sprint(i)}, strings.Repeat("d", 1000)))
	}
	ctx, u := WithUsage(context.Background())
	const calls = 300
	for range calls {
		if _, err := s.Query(ctx, table.Query{PK: "large"}); err != nil {
			t.Fatal(err)
		}
	}
	if u.Attempts != calls {
		t.Errorf("%d requests for %d calls", u.Attempts, calls)
	}
}
