package catalog

import (
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/op"
)

// How the jobs run.
const (
	sweepBatch   = 4                // messages per call: one shard each
	sweepTimeout = 30 * time.Second // of one call
	sweepRetries = 5                // receives before the dead-letter queue
	tickEvery    = time.Minute
	tickTimeout  = 10 * time.Second
)

// TickID is the scheduled job that asks every context's sweep to look at its clock.
const TickID = "edge.clock.tick"

// DefaultFolder holds the function behind the API's $default route: it answers what no
// operation serves (404, 405 with Allow, OPTIONS) in the envelope of all refusals.
const DefaultFolder = "edge/default"

// Routes lists every operation and MCP endpoint as "METHOD /path", for the function that
// answers the rest.
func Routes() []string {
	var all []string
	for _, o := range Operations() {
		all = append(all, o.Method+" "+o.Path)
	}
	for _, d := range Doors() {
		all = append(all, "POST "+d.Path)
	}
	return all
}

// SweepID is the job that fires a context's timers and does its effects.
func SweepID(context string) string { return context + ".sweep" }

// Jobs lists every job by id: the tick and one sweep per context.
func Jobs() []op.Job {
	jobs := []op.Job{{
		ID: TickID, Summary: "Send one message per clock shard and context to the sweeps.",
		Every: tickEvery, Timeout: tickTimeout, Touches: op.Queue, Sends: Queues(), File: "pkg/catalog/job.go",
	}}
	for _, c := range Contexts {
		jobs = append(jobs, sweep(c))
	}
	return jobs
}

func sweep(context string) op.Job {
	touches := op.Table | op.Queue
	for _, e := range Effects(context) {
		touches |= e.Touches
	}
	return op.Job{
		ID: SweepID(context), Summary: "Fire what is due on one clock shard and do the side effects that wait there.",
		Queue: op.SweepQueue(context), Batch: sweepBatch, Timeout: sweepTimeout, Retries: sweepRetries,
		Touches: touches, Sends: []string{op.SweepQueue(context)}, File: "pkg/catalog/job.go",
	}
}

// Queues lists every queue a job reads.
func Queues() []string {
	var all []string
	for _, c := range Contexts {
		all = append(all, op.SweepQueue(c))
	}
	return all
}

// Messages is what one tick sends: a hint per context and clock shard.
func Messages() []op.Hint {
	var all []op.Hint
	for _, c := range Contexts {
		for shard := range clock.Shards {
			all = append(all, op.SweepHint(c, shard, 0))
		}
	}
	return all
}
