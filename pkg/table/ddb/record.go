package ddb

import (
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/guregu/dynamo/v2"

	"guildhall/pkg/table"
)

// Names of the attributes; changing one orphans every stored row.
const (
	attrPK      = "PK"
	attrSK      = "SK"
	attrVersion = "v"
	attrData    = "d"
	attrExpires = "x"
)

// record is a row in the form guregu/dynamo stores and loads.
type record struct{ table.Row }

// MarshalDynamoItem writes the row as an item.
func (r record) MarshalDynamoItem() (dynamo.Item, error) {
	item := dynamo.Item{
		attrPK:      text(r.PK),
		attrSK:      text(r.SK),
		attrVersion: text(r.Version),
	}
	if len(r.Data) > 0 {
		item[attrData] = &types.AttributeValueMemberB{Value: r.Data}
	}
	if !r.Expires.IsZero() {
		item[attrExpires] = number(expirySeconds(r.Expires))
	}
	return item, nil
}

// UnmarshalDynamoItem reads an item. An empty item, which some emulators return for a
// missing one, is a row that was not found.
func (r *record) UnmarshalDynamoItem(item dynamo.Item) error {
	r.Row = table.Row{}
	for name, av := range item {
		if err := r.set(name, av); err != nil {
			return fmt.Errorf("ddb: attribute %q of a stored row: %w", name, err)
		}
	}
	return nil
}

func (r *record) set(name string, av types.AttributeValue) (err error) {
	switch name {
	case attrPK:
		r.PK, err = asText(av)
	case attrSK:
		r.SK, err = asText(av)
	case attrVersion:
		r.Version, err = asText(av)
	case attrData:
		b, ok := av.(*types.AttributeValueMemberB)
		if !ok {
			return fmt.Errorf("%T is not binary", av)
		}
		r.Data = b.Value
	case attrExpires:
		n, err := asNumber(av)
		if err != nil {
			return err
		}
		r.Expires = time.Unix(n, 0).UTC()
	default:
		return r.setCounter(name, av)
	}
	return err
}

// setCounter reads a counter field. An attribute of any other name was written by a newer
// version of the program, or by an operator's tool, and is left alone.
func (r *record) setCounter(name string, av types.AttributeValue) error {
	field, ok := counterField(name)
	if !ok {
		return nil
	}
	n, err := asNumber(av)
	if err != nil {
		return err
	}
	if r.Counters == nil {
		r.Counters = make(map[string]int64)
	}
	r.Counters[field] = n
	return nil
}

// expirySeconds rounds up: a store must not forget a row before its time.
func expirySeconds(t time.Time) int64 {
	n := t.Unix()
	if t.Nanosecond() > 0 {
		n++
	}
	return n
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func asText(av types.AttributeValue) (string, error) {
	s, ok := av.(*types.AttributeValueMemberS)
	if !ok {
		return "", fmt.Errorf("%T is not text", av)
	}
	return s.Value, nil
}

func asNumber(av types.AttributeValue) (int64, error) {
	n, ok := av.(*types.AttributeValueMemberN)
	if !ok {
		return 0, fmt.Errorf("%T is not a number", av)
	}
	return strconv.ParseInt(n.Value, 10, 64)
}
