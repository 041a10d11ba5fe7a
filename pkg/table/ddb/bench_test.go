package ddb

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"guildhall/pkg/table"
	"guildhall/pkg/table/ddb/stub"
)

// The pairs of benchmarks show what the adapter costs over the SDK's own client, on one and
// the same stub: compare the two lines of a pair, not lines of different runs.

func benchStore(b *testing.B) *Store {
	web := httptest.NewServer(stub.New())
	b.Cleanup(web.Close)
	s, err := New(Options{Table: "t", Region: "eu-west-1", Endpoint: web.URL, AccessKey: "k", SecretKey: "s"})
	if err != nil {
		b.Fatal(err)
	}
	for i := range 40 {
		k := table.Key{PK: "p", SK: string(rune('A' + i))}
		tx := &table.Tx{ID: "v" + k.SK, Writes: []table.Write{create(k, strings.Repeat("d", 1000))}}
		if err := s.Commit(context.Background(), tx); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	return s
}

// raw is the SDK's client of the same store.
func raw(s *Store) *dynamodb.Client { return s.db.Client().(*client).Client }

func BenchmarkGetOne(b *testing.B) {
	s := benchStore(b)
	for b.Loop() {
		if _, err := s.Get(context.Background(), table.Key{PK: "p", SK: "A"}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGetOneSDK(b *testing.B) {
	c := raw(benchStore(b))
	for b.Loop() {
		_, err := c.GetItem(context.Background(), &dynamodb.GetItemInput{TableName: aws.String("t"), ConsistentRead: aws.Bool(true),
			Key: map[string]types.AttributeValue{attrPK: text("p"), attrSK: text("A")}})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkQuery20(b *testing.B) {
	s := benchStore(b)
	for b.Loop() {
		p, err := s.Query(context.Background(), table.Query{PK: "p", Limit: 20})
		if err != nil || len(p.Rows) != 20 {
			b.Fatal(err)
		}
	}
}

func BenchmarkQuery20SDK(b *testing.B) {
	c := raw(benchStore(b))
	for b.Loop() {
		_, err := c.Query(context.Background(), &dynamodb.QueryInput{TableName: aws.String("t"), ConsistentRead: aws.Bool(true),
			Limit: aws.Int32(20), KeyConditionExpression: aws.String("PK = :pk"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":pk": text("p")}})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	s := benchStore(b)
	tx := &table.Tx{ID: "c", Writes: []table.Write{
		{Kind: table.Check, Key: table.Key{PK: "p", SK: "A"}, Version: "vA"},
		{Kind: table.Check, Key: table.Key{PK: "p", SK: "B"}, Version: "vB"}}}
	for b.Loop() {
		if err := s.Commit(context.Background(), tx); err != nil {
			b.Fatal(err)
		}
	}
}
