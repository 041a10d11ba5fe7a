//go:build race

package simulation

// usual is how many exchanges a run under the race detector simulates: enough to bring every
// goroutine together with every other, at some tenth of the speed.
const usual = 40
