package plan

import (
	"fmt"
	"hash/fnv"
)

// Limits of a stack.
const (
	MaxFunctions = 55  // a stack may have 500 resources, a function has 6 or 7
	MaxResources = 450 // of CloudFormation's 500
	MaxSecrets   = 60  // dynamic references of one template, CloudFormation's own limit
	// MaxIntegrations of one HTTP API, API Gateway's own limit, which it does not raise.
	MaxIntegrations = 300
	// MaxRoutes of one HTTP API, unless AWS was asked for more.
	MaxRoutes = 300
)

// parts is into how many stacks a group is split. A function's place depends on its folder
// and this number alone, so that new operations move no others. When a test says that a
// stack is full, raise the number: docs/deploy.md says how to move functions between stacks.
var parts = map[string]int{"bench": 4, "person": 2}

// Stack is the stack a function stands in: "bench-2".
func (f Function) Stack() string { return place(f.Folder, max(1, parts[f.Group()])) }

// place picks the part with the highest hash of (part, folder): one more part takes its
// share from each of the others and moves nothing between them.
func place(folder string, n int) string {
	best, highest := 1, uint64(0)
	for part := 1; part <= n; part++ {
		h := fnv.New64a()
		fmt.Fprintf(h, "%s %d", folder, part)
		if sum := mix(h.Sum64()); sum > highest {
			best, highest = part, sum
		}
	}
	return fmt.Sprintf("%s-%d", Function{Folder: folder}.Group(), best)
}

// mix spreads the bits of a hash: FNV's last byte hardly reaches the high ones.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// Stacks lists the stacks of a plan in the order of first use, with their functions.
func Stacks(all []Function) (names []string, functions map[string][]Function) {
	functions = map[string][]Function{}
	for _, f := range all {
		s := f.Stack()
		if functions[s] == nil {
			names = append(names, s)
		}
		functions[s] = append(functions[s], f)
	}
	return names, functions
}
