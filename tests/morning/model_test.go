package morning

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/catalog"
	"guildhall/pkg/clock"
	"guildhall/pkg/edge/jobs"
	"guildhall/pkg/table"
)

// The model. A hundred thousand people of one zone have their morning at the same instant. What
// each release writes is not assumed: 2,000 real ones are fired over the table in memory, and
// the partitions of their real commits are noted. They then stand for a hundred thousand:
// each fifty times, with partitions of their own wherever the real ones had (a person, a timed
// delivery, an agent with a hundred of them), and the shared ones in common (clock shards,
// shards of the public record).
//
// One release in thirty is the last of its timed delivery, which writes more.
//
// Who works is what the program and the infrastructure say: a tick a minute sends one message
// a shard (16); at most 16 functions run at once, each with up to 4 messages, one after the
// other; a message is a page of 100 timers, rows read ahead in batches of 100 keys, then one
// commit after the other; what is left goes into another message; a call begins nothing in
// its last seconds. A second sweep of a shard that is being worked on loses three commits and
// stops: these count as writes too.
//
// What is assumed is how long the table and the queue take, on the slow side and on the fast:
// the slow table decides how long the drain takes, the fast one how hot a partition gets. What
// follows later is left out: the mails themselves, whose rows are due behind the releases, and
// the job that takes the public record from its shards at its own pace.
const (
	people    = 100_000
	sampled   = 2_000
	drained   = 10 * time.Minute
	hottest   = 500 // writes a second of one partition: in a transaction each counts twice, and AWS gives a partition 1,000 units
	readTime  = 10 * time.Millisecond
	hop       = 300 * time.Millisecond // from sending a message to the call with it
	tickEvery = time.Minute
	maxLost   = 3
	// rowsAhead is how many rows a release names for its batch.
	rowsAhead = 2
)

// commitTimes are the latencies of a commit the model is asked about: assumed, not measured.
// Below about 6 ms the public record's four shards would pass the limit: a table that fast
// slows us down by itself there, and the sweep goes on after it.
var commitTimes = []time.Duration{8 * time.Millisecond, 15 * time.Millisecond, 30 * time.Millisecond, 60 * time.Millisecond}

// workers reads from the infrastructure how many functions read one queue at once.
func workers(t testing.TB) int {
	b, err := os.ReadFile(filepath.Join("..", "..", "infra", "cloud", "function.go"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^\s*sweepers = (\d+)$`).FindSubmatch(b)
	if m == nil {
		t.Fatal("infra/cloud/function.go says no longer how many sweepers there are")
	}
	n, _ := strconv.Atoi(string(m[1]))
	return n
}

// shared tells whether a partition is one of a fixed few: its name ends in a shard's number.
var shared = regexp.MustCompile(`#\d{1,2}$`)

// sweepMessage is a look at a shard, visible from a time on.
type sweepMessage struct {
	shard   int
	visible time.Duration
}

// model is one run.
type model struct {
	commit   time.Duration
	batch    int
	limit    time.Duration // within which a call begins a row
	due      [clock.Shards][][]string
	gone     [clock.Shards]int           // releases of the shard that are done
	busy     [clock.Shards]time.Duration // until when somebody is at the shard
	messages []sweepMessage
	writes   map[string]map[int]int // by partition and second
	alone    map[string]int         // most writes to a partition that one release has to itself, by kind
	calls    int
	lost     int
	end      time.Duration
}

func newModel(t testing.TB, commits [][]string, commitTime time.Duration) *model {
	m := &model{commit: commitTime, writes: map[string]map[int]int{}, alone: map[string]int{}}
	for _, j := range catalog.Jobs() {
		if j.ID == catalog.SweepID("bench") {
			m.batch, m.limit = j.Batch, j.Timeout-jobs.Reserve
		}
	}
	if m.batch == 0 || m.limit <= 0 {
		t.Fatal("no job sweeps the bench")
	}
	m.scale(t, commits)
	for minute := time.Duration(0); minute < drained; minute += tickEvery {
		for shard := range clock.Shards {
			m.messages = append(m.messages, sweepMessage{shard: shard, visible: minute + hop})
		}
	}
	return m
}

// scale makes the sampled releases many. A partition that is written by one release alone takes
// no more than that one writes: it is noted as alone and left out of the seconds.
func (m *model) scale(t testing.TB, commits [][]string) {
	releases := map[string]int{} // that write to a partition
	for _, pks := range commits {
		for _, pk := range slices.Compact(slices.Sorted(slices.Values(pks))) {
			releases[pk]++
		}
	}
	for _, pks := range commits {
		for _, pk := range pks {
			if kind, _, _ := strings.Cut(pk, "#"); releases[pk] == 1 {
				m.alone[kind] = max(m.alone[kind], count(pks, pk))
			}
		}
	}
	for copied := range people / len(commits) {
		for _, pks := range commits {
			var own []string
			for _, pk := range pks {
				switch {
				case shared.MatchString(pk):
					own = append(own, pk)
				case releases[pk] > 1:
					own = append(own, fmt.Sprint(pk, "/", copied))
				}
			}
			shard := shardOf(t, pks)
			m.due[shard] = append(m.due[shard], own)
		}
	}
}

func count(pks []string, pk string) (n int) {
	for _, p := range pks {
		if p == pk {
			n++
		}
	}
	return n
}

// shardOf is the clock shard of a release: its commit removes a row there.
func shardOf(t testing.TB, pks []string) int {
	for _, pk := range pks {
		if s, ok := strings.CutPrefix(pk, "bench.CLOCK#"); ok {
			n, err := strconv.Atoi(s)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("a release that moves no timer: %v", pks)
	return 0
}

// run lets the workers take messages until none is left.
func (m *model) run(workers int) {
	free := make([]time.Duration, workers)
	for len(m.messages) > 0 {
		slices.SortStableFunc(m.messages, func(a, b sweepMessage) int { return cmp.Compare(a.visible, b.visible) })
		w := slices.Index(free, slices.Min(free))
		now := max(free[w], m.messages[0].visible)
		n := 0
		for n < len(m.messages) && n < m.batch && m.messages[n].visible <= now {
			n++
		}
		batch := slices.Clone(m.messages[:n])
		m.messages = m.messages[n:]
		free[w] = m.call(now, batch)
	}
}

// call deals with the messages of one call and returns when it ends.
func (m *model) call(now time.Duration, batch []sweepMessage) time.Duration {
	m.calls++
	stop := now + m.limit
	for _, msg := range batch {
		s := msg.shard
		now += readTime // the page
		left := m.due[s][m.gone[s]:]
		switch {
		case len(left) == 0:
			continue
		case now < m.busy[s]: // somebody else is there
			for range maxLost {
				now += m.commit
				m.wrote(now, clock.Partition("bench", s))
				m.lost++
			}
			continue
		}
		n := min(len(left), jobs.PerMessage)
		done := 0
		for i := range n {
			if now >= stop {
				break
			}
			if i%(table.MaxGetKeys/rowsAhead) == 0 {
				now += readTime
			}
			now += m.commit
			m.wrote(now, left[i]...)
			done++
		}
		m.gone[s], m.busy[s], m.end = m.gone[s]+done, now, max(m.end, now)
		if done < len(left) {
			m.messages = append(m.messages, sweepMessage{shard: s, visible: now + hop})
		}
	}
	return now
}

func (m *model) wrote(at time.Duration, pks ...string) {
	for _, pk := range pks {
		if m.writes[pk] == nil {
			m.writes[pk] = map[int]int{}
		}
		m.writes[pk][int(at/time.Second)]++
	}
}

// peaks are the most writes a second by kind of partition.
func (m *model) peaks() map[string]int {
	out := maps.Clone(m.alone)
	for pk, seconds := range m.writes {
		kind, _, _ := strings.Cut(pk, "#")
		for _, n := range seconds {
			out[kind] = max(out[kind], n)
		}
	}
	return out
}

func TestAHundredThousandMorningsHeatNoPartitionAndDrainInTenMinutes(t *testing.T) {
	for _, c := range []struct {
		name     string
		channels []string
	}{{"the feed alone", nil}, {"with a mail to everybody", []string{"email"}}} {
		h := newHall(t, sampled, mixed, c.channels...)
		h.dawn()
		releases := h.ledger.releases()
		if len(releases) != sampled {
			t.Fatalf("%d commits of releases noted, want %d", len(releases), sampled)
		}
		for _, latency := range commitTimes {
			m := newModel(t, releases, latency)
			m.run(workers(t))
			peaks := m.peaks()
			t.Logf("%s, commits of %v: drained after %v in %d calls, %d commits lost; most writes a second %v", c.name, latency,
				m.end.Round(time.Second), m.calls, m.lost, peaks)
			for s := range clock.Shards {
				if m.gone[s] != len(m.due[s]) {
					t.Errorf("%s, commits of %v: %d of %d on shard %d are out", c.name, latency, m.gone[s], len(m.due[s]), s)
				}
			}
			if m.end > drained {
				t.Errorf("%s, commits of %v: drained after %v, want at most %v", c.name, latency, m.end, drained)
			}
			for _, kind := range slices.Sorted(maps.Keys(peaks)) {
				if peaks[kind] > hottest {
					t.Errorf("%s, commits of %v: a partition of %s takes %d writes a second, want at most %d", c.name, latency, kind, peaks[kind], hottest)
				}
			}
		}
	}
}

// releases are the commits that released a piece: they write a timed delivery.
func (l *ledger) releases() (out [][]string) {
	for _, pks := range l.commits {
		if slices.ContainsFunc(pks, func(pk string) bool { return strings.HasPrefix(pk, "bench.DRIP#") }) {
			out = append(out, pks)
		}
	}
	return out
}
