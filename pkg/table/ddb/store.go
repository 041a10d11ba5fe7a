// Package ddb keeps the table in DynamoDB. It is the only package that imports
// guregu/dynamo or a DynamoDB client.
//
// An item has these attributes:
//
//	PK, SK  string keys
//	v       string, the id of the commit that wrote the item, or "counter"
//	d       binary, the row's data (absent when empty)
//	x       number, expiry in unix seconds, rounded up; the table's TTL attribute
//	c_NAME  number, one per counter field (see counterName)
//
// Reads are strongly consistent. A commit of one row is one conditional write, a commit of
// several is one TransactWriteItems whose ClientRequestToken is made from the commit id.
//
// Requests are repeated on two levels. The SDK repeats what failed on the way (lost
// connections, 5xx, throttling); this package repeats what lost a race inside DynamoDB
// (TransactionConflict and its relatives). Because a repeated request may follow one that
// was applied, a condition that fails on an item with our own commit id is a success.
package ddb

import (
	"context"
	"errors"
	"fmt"
	"time"

	smithytime "github.com/aws/smithy-go/time"
	"github.com/guregu/dynamo/v2"

	"guildhall/pkg/table"
)

// Options are all the values a Store needs; nothing is read from the environment.
type Options struct {
	Table  string // name of the table
	Region string
	// Endpoint replaces the AWS endpoint, for emulators; empty means AWS.
	Endpoint string
	// AccessKey, SecretKey and SessionToken sign the requests.
	AccessKey, SecretKey, SessionToken string

	// Backoff is the pause before repetition n (0, 1, ...) of a request. Nil: exponential
	// with full jitter.
	Backoff func(n int) time.Duration
	// Sleep waits, or returns early with the context's error. Nil: a timer. The SDK's own
	// repetitions pause for Backoff too, on a timer.
	Sleep func(ctx context.Context, d time.Duration) error
}

// Store is a table.Store and a table.Lister over one DynamoDB table. It is safe for
// concurrent use.
type Store struct {
	db      *dynamo.DB
	table   dynamo.Table
	backoff func(n int) time.Duration
	sleep   func(ctx context.Context, d time.Duration) error
}

var (
	_ table.Store  = (*Store)(nil)
	_ table.Lister = (*Store)(nil)
)

// New builds a Store. It sends nothing; see Ping.
func New(o Options) (*Store, error) {
	if o.Table == "" || o.Region == "" || o.AccessKey == "" || o.SecretKey == "" {
		return nil, errors.New("ddb: table, region, access key and secret key are required")
	}
	if o.Backoff == nil {
		o.Backoff = jittered()
	}
	if o.Sleep == nil {
		o.Sleep = smithytime.SleepWithContext
	}
	s := &Store{backoff: o.Backoff, sleep: o.Sleep}
	s.db = dynamo.NewFromIface(newClient(o, s))
	s.table = s.db.Table(o.Table)
	return s, nil
}

// pingKey is a row nobody writes.
var pingKey = table.Key{PK: "ping", SK: "ping"}

// Ping makes one cheap read, so that credentials, network and the table's existence are
// known to be good. It needs no permission beyond reading.
func (s *Store) Ping(ctx context.Context) error {
	if _, err := s.Get(ctx, pingKey); err != nil {
		return fmt.Errorf("ddb: ping: %w", err)
	}
	return nil
}
