package registry

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// A-numbers are claimed by row: one row per number, created only if absent, in one
// partition that is also the public list in its order. There is no counter row to fight
// over: a registration reads the newest claims and takes the lowest free number. While
// registrations overtake each other it takes one of the next few at random instead, so
// that parallel registrations do not meet at one number again and again; the numbers left
// out are taken by those that follow.
const (
	numbersPartition = "bench.NUMBERS"
	numbersWindow    = 64 // newest claims that are looked at, and the most numbers to choose from
	spreadPerRival   = 8  // numbers to choose from per registration that overtook this one
)

func numberKey(n int) table.Key {
	return table.Key{PK: numbersPartition, SK: fmt.Sprintf("%09d", n)}
}

// takeNumber stages the claim of a free A-number.
func takeNumber(c *op.Call, agentID string) (int, error) {
	p, err := c.Query(table.Query{PK: numbersPartition, Reverse: true, Limit: numbersWindow})
	if err != nil {
		return 0, err
	}
	taken, low, rivals := map[int]bool{}, 0, 0
	for i, r := range p.Rows {
		n, err := strconv.Atoi(r.SK)
		if err != nil {
			return 0, err
		}
		var other claim
		if err := op.Decode(r.Data, &other); err != nil {
			return 0, err
		}
		taken[n] = true
		if other.At.After(c.Now) {
			rivals++
		}
		if p.More && i == len(p.Rows)-1 {
			low = n
		}
	}
	pick := 0
	if rivals > 0 {
		pick = int(binary.BigEndian.Uint16(c.Random(2))) % min(spreadPerRival*rivals, numbersWindow)
	}
	n := freeNumber(taken, low, pick)
	c.Create(numberKey(n), claim{AgentID: agentID, At: c.Now})
	return n, nil
}

// freeNumber is the number above low that is free and has pick free ones below it.
func freeNumber(taken map[int]bool, low, pick int) int {
	for n := low + 1; ; n++ {
		if taken[n] {
			continue
		}
		if pick == 0 {
			return n
		}
		pick--
	}
}

// maxNumber is the highest A-number a reference can name.
const maxNumber = 999_999_999

// parseNumber reads "A-0023", in either case, zeros in front allowed.
func parseNumber(s string) (int, bool) {
	if len(s) < 3 || len(s) > 2+9 || (s[0] != 'A' && s[0] != 'a') || s[1] != '-' {
		return 0, false
	}
	n, err := strconv.ParseUint(s[2:], 10, 32)
	return int(n), err == nil && n > 0 && n <= maxNumber
}
