package peertest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/anishathalye/porcupine"

	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/peer"
	"guildhall/pkg/table"
)

const (
	topics = 12 // two more than anybody may follow
	owners = 2  // visitors whose follow sets the clients share
)

type followIn struct {
	owner int
	do    string // follow unfollow list
	topic int
}

type followOut struct {
	code  string
	count int
	set   uint16 // of a list
}

// followModel is a set of at most ten topics, for each owner by itself.
var followModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		parts := make([][]porcupine.Operation, owners)
		for _, o := range history {
			n := o.Input.(followIn).owner
			parts[n] = append(parts[n], o)
		}
		return parts
	},
	Init: func() any { return uint16(0) },
	Step: func(state, input, output any) (bool, any) {
		set, in, out := state.(uint16), input.(followIn), output.(followOut)
		bit := uint16(1) << in.topic
		switch {
		case in.do == "list":
			return out.code == "" && out.set == set, set
		case in.do == "unfollow":
			set &^= bit
			return out.code == "" && out.count == ones(set), set
		case set&bit == 0 && ones(set) == peer.MaxFollows:
			return out.code == "follow_limit_reached", set
		}
		set |= bit
		return out.code == "" && out.count == ones(set), set
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v -> %+v", in, out) },
}

func ones(set uint16) (n int) {
	for ; set != 0; set &= set - 1 {
		n++
	}
	return n
}

// Follows runs histories of one follow set that many clients of one visitor change at once.
func Follows(t *testing.T, store func() table.Store, histories int) {
	t.Helper()
	all(t, FollowsHold, store, histories)
}

// FollowsHold runs one history and tells whether some order explains it.
func FollowsHold(t testing.TB, s table.Store, seed uint64, say bool) bool {
	t.Helper()
	b := newBench(t, s, 2*seed+1)
	r := rand.New(rand.NewPCG(seed, 2))
	var tokens [owners]string
	var ids [topics]string
	for i := range tokens {
		_, tokens[i] = b.visitor()
	}
	author := ""
	for i := range ids {
		if i%6 == 0 { // an author publishes six an hour
			_, author = b.visitor()
		}
		ids[i] = b.publish(author, map[string]any{"kind": "share", "title": fmt.Sprint("Topic ", i), "text": "t"})
	}
	index := map[string]int{}
	for i, id := range ids {
		index[id] = i
	}
	history := run(r, func(client int, r *rand.Rand) (any, any) {
		in := followIn{owner: client % owners, topic: r.IntN(topics), do: []string{"follow", "follow", "unfollow", "list"}[r.IntN(4)]}
		return in, call(b, in, tokens[in.owner], ids[in.topic], index)
	})
	return holds(t, followModel, history, seed, say)
}

func call(b *bench, in followIn, token, topic string, index map[string]int) (out followOut) {
	o := map[string]*op.Operation{"follow": peer.Follow, "unfollow": peer.Unfollow, "list": peer.ListFollows}[in.do]
	res := b.do(o, optest.Req{Token: token, Path: map[string]string{"topic_id": topic}})
	out.code, out.count = res.Str("error"), int(res.Num("follow_count"))
	if in.do == "list" {
		rows, _ := res.At("follows").([]any)
		for _, row := range rows {
			out.set |= 1 << index[row.(map[string]any)["topic_id"].(string)]
		}
	}
	return out
}
