package mem

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// checked fails when the blocks are not what order promises.
func (o *order) checked(t *testing.T) {
	t.Helper()
	n := 0
	var last *entry
	for _, b := range o.blocks {
		if len(b) == 0 || len(b) > blockSize {
			t.Fatalf("a block of %d entries", len(b))
		}
		for i := range b {
			if last != nil && !last.before(b[i].pk, b[i].sk) {
				t.Fatalf("%q/%q is not before %q/%q", last.pk, last.sk, b[i].pk, b[i].sk)
			}
			last = &b[i]
			n++
		}
	}
	if n != o.size {
		t.Fatalf("%d entries, size says %d", n, o.size)
	}
}

func TestOrderAgreesWithAMapUnderRandomChanges(t *testing.T) {
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var o order
		model := map[[2]string]*row{}
		for step := range 20_000 {
			// Grow, shrink to almost nothing, and grow again.
			grow := step/5_000%2 == 0
			k := [2]string{fmt.Sprint(rng.IntN(5)), fmt.Sprint(rng.IntN(1500))}
			if rng.IntN(4) == 0 != grow {
				r := &row{}
				o.put(k[0], k[1], r)
				model[k] = r
			} else {
				o.drop(k[0], k[1])
				delete(model, k)
			}
			if o.get(k[0], k[1]) != model[k] {
				t.Fatalf("seed %d step %d: %q differs", seed, step, k)
			}
			if step%1000 == 0 {
				o.checked(t)
			}
		}
		var want []string
		for k := range model {
			want = append(want, k[0]+"\x00"+k[1])
		}
		slices.Sort(want)
		var got, back []string
		for p := o.seek("", ""); o.at(p) != nil; p = o.next(p) {
			got = append(got, o.at(p).pk+"\x00"+o.at(p).sk)
		}
		for p, ok := o.prev(o.seek("\xff", "")); ok; p, ok = o.prev(p) {
			back = append(back, o.at(p).pk+"\x00"+o.at(p).sk)
		}
		slices.Reverse(back)
		if !slices.Equal(got, want) || !slices.Equal(back, want) {
			t.Fatalf("seed %d: %d forward, %d back, want %d", seed, len(got), len(back), len(want))
		}
	}
}

func TestOrderKeepsFewBlocksWhetherFilledInOrderAgainstItOrAtRandom(t *testing.T) {
	const n = 100_000
	for name, key := range map[string]func(int) int{
		"in order":  func(i int) int { return i },
		"backwards": func(i int) int { return n - i },
		"scattered": func(i int) int { return i * 7919 % n },
	} {
		var o order
		for i := range n {
			o.put("p", fmt.Sprintf("%06d", key(i)), nil)
		}
		o.checked(t)
		if most := 2*n/blockSize + 2; len(o.blocks) > most {
			t.Errorf("%s: %d blocks, at most %d", name, len(o.blocks), most)
		}
		for i := range n {
			if i%1000 != 0 {
				o.drop("p", fmt.Sprintf("%06d", key(i)))
			}
		}
		o.checked(t)
		if most := 2; len(o.blocks) > most {
			t.Errorf("%s: %d rows are left in %d blocks", name, o.size, len(o.blocks))
		}
	}
}
