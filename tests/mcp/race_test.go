//go:build race

package peers

// raceFactor is how much more memory a program takes under the race detector.
const raceFactor = 3
