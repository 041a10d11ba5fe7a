// Package bench has no code of its own: its benchmarks measure the budgets of the exchange as
// ratios to something bare that is measured in the same run, so that the machine hardly
// matters. Nothing here is a test: no build fails because a machine was busy.
package bench
