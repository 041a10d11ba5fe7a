// Package textindex finds the documents of a collection that hold a text: literally, in any
// case, without ranking. It keeps, for every three characters that follow one another in a
// document (a trigram), the list of the documents that hold them. The documents with the
// rarest trigram of what is looked for are candidates, and each is then read and compared.
//
// A document that is added is waiting at first: searches read the waiting ones as they
// are, so it is found at once. A timer writes the lists a few rows a commit. What a list
// holds never decides an answer, only what is compared: a document that was hidden, or is
// gone, is left out when it is read.
//
// Rows, below the name the owner gives an index:
//
//	<index>#NEW#<shard> / <time>#<id>       a document that waits, 4 shards
//	<index>#HEAD / ROOT                     the documents being written, and who writes them
//	<index>#DOCS / <8 digits>               the ids of 256 documents, by their numbers
//	<index>#TRI#<hex of the trigram> / HEAD    how many documents hold it, and the newest of them
//	<index>#TRI#<hex of the trigram> / <8 digits>  1,000 older documents that hold it
package textindex

import (
	"fmt"
	"hash/fnv"
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Limits of an index.
const (
	// MaxCandidates is how many documents a search compares at most, besides the waiting ones.
	MaxCandidates = 2000
	// MinChars is the length in characters from which a search uses the lists.
	MinChars = 3
	// MaxWaiting is how many waiting documents a search compares at most, per shard.
	MaxWaiting = 250

	shards    = 4
	docsInRow = 256  // ids of one DOCS row
	listRow   = 1000 // documents of one full row of a list
)

// Doc is a document as its owner reads it.
type Doc struct {
	ID     string
	At     time.Time
	Text   []string // the texts that are searched, each by itself
	Hidden bool     // found by nobody
}

// Index is one index.
type Index struct {
	Name    string // begins the PKs: "help.TEXT#knowledge"
	Context string // owner of the timers
	Kind    string // of the timer that writes the lists
	// Read reads documents, hidden ones too, in any order; one that is gone is left out. It
	// is given at most MaxRead ids and should use Call.Scan.
	Read func(c *op.Call, ids []string) ([]Doc, error)
}

// MaxRead is how many documents are read at once.
const MaxRead = table.MaxGetKeys

func (x *Index) waitingPK(shard int) string { return fmt.Sprintf("%s#NEW#%d", x.Name, shard) }

func shardOf(id string) int {
	h := fnv.New32a()
	h.Write([]byte(id))
	return int(h.Sum32() % shards)
}

// waiting is the row of a document that waits; its SK is the subject of its timer.
func (x *Index) waiting(subject string) table.Key {
	return table.Key{PK: x.waitingPK(shardOf(idOf(subject))), SK: subject}
}

func subjectOf(id string, at time.Time) string { return clock.Stamp(at) + "#" + id }

func idOf(subject string) string { return subject[min(len(subject), len(clock.Layout)+1):] }

func (x *Index) headKey() table.Key { return table.Key{PK: x.Name + "#HEAD", SK: "ROOT"} }

func (x *Index) docsKey(number int64) table.Key {
	return table.Key{PK: x.Name + "#DOCS", SK: fmt.Sprintf("%08d", number/docsInRow)}
}

func (x *Index) listKey(tri string) table.Key {
	return table.Key{PK: fmt.Sprintf("%s#TRI#%x", x.Name, tri), SK: "HEAD"}
}

func (x *Index) fullKey(tri string, row int64) table.Key {
	return table.Key{PK: fmt.Sprintf("%s#TRI#%x", x.Name, tri), SK: fmt.Sprintf("%08d", row)}
}

// Add stages that a document made in this very commit is indexed soon. Searches find it
// from this commit on.
func (x *Index) Add(c *op.Call, id string) {
	subject := subjectOf(id, c.Now)
	c.Create(x.waiting(subject), struct{}{})
	c.Arm(x.Kind, subject, c.Now)
}

// Timer is the timer kind that writes the lists.
func (x *Index) Timer() op.TimerKind {
	return op.TimerKind{Context: x.Context, Kind: x.Kind, Fire: x.fire}
}
