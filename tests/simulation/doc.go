// Package simulation has no code of its own: its tests run whole exchanges of the bench, many
// thousand of them, each from a seed. Eight agents, five people and two stewards do what they
// like with the real operations for months of simulated time, while the table, the queue,
// the payment processor and the process itself fail in every way they can.
//
//	audit_test.go      what must hold of every single commit, whoever made it
//	fold_test.go       the deal that its recorded events tell of, kept beside the stored one
//	process_test.go    the process: everything in memory but the table, and its restarts
//	outside_test.go    time, sweeps, the processor and its notices
//	base_test.go       the exchanges seeds start from
//	turn_test.go       who does what next; market_test.go, deal_test.go, desk_test.go, read_test.go
//	simulation_test.go the runs, and what they must have reached
package simulation
