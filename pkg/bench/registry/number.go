package registry

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// A-numbers are claimed by row: one row per number, created only if absent, in one
// partition that is also the public list in its order. There is no counter row to fight
// over: a registration reads the newest claims and takes the lowest free number. While
// others register from elsewhere it takes one of the next few at random instead, so
// that parallel registrations do not meet at one number again and again; the numbers left
// out are taken by those that follow.
const (
	numbersPartition = "bench.NUMBERS"
	numbersWindow    = 64 // newest claims that are looked at, and the most numbers to choose from
	spreadPerRival   = 16 // numbers to choose from per registration that may still be going on

	// rivalry is how long a registration from elsewhere counts as one that may run beside
	// ours; longer than any takes with its retries.
	rivalry = 2 * time.Second
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
	mine := claim{AgentID: agentID, At: c.Now, From: c.Keys.MAC("address", c.Address)[:8]}
	newest := map[int]claim{}
	low := 0 // free numbers at or below it have been passed for good
	for i, r := range p.Rows {
		n, err := strconv.Atoi(r.SK)
		if err != nil {
			return 0, err
		}
		var other claim
		if err := op.Decode(r.Data, &other); err != nil {
			return 0, err
		}
		newest[n] = other
		if p.More && i == len(p.Rows)-1 {
			low = n
		}
	}
	pick := 0
	if spread := mine.spread(newest); spread > 1 {
		pick = int(binary.BigEndian.Uint16(c.Random(2))) % spread
	}
	n := freeNumber(newest, low, pick)
	c.Create(numberKey(n), mine)
	return n, nil
}

// spread is among how many free numbers a claim chooses: one, the lowest, unless others
// may be at it. Those from elsewhere count for a moment; those from the same address only
// when they began later and were faster, since they stand in a queue after a lost race.
func (k claim) spread(newest map[int]claim) int {
	rivals := 0
	for _, other := range newest {
		if other.At.After(k.At) || other.From != k.From && other.At.After(k.At.Add(-rivalry)) {
			rivals++
		}
	}
	return min(max(1, spreadPerRival*rivals), numbersWindow)
}

// freeNumber is the number above low that is free and has pick free ones below it.
func freeNumber(taken map[int]claim, low, pick int) int {
	for n := low + 1; ; n++ {
		if _, ok := taken[n]; ok {
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
