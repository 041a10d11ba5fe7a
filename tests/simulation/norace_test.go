//go:build !race

package simulation

// usual is how many exchanges a run simulates.
const usual = full
