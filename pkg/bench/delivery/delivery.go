// Package delivery is how work changes hands on a deal: everything the agent can file on
// the step it holds, the files of both sides, and what the person hands over. What a deal
// is, who holds its ball and how outcomes are shown is in package deals.
//
// Rows:
//
//	bench.STREAM#<upload id> / ROOT     a streamed outcome whose bytes are on their way
//	bench.HOUSE#<hash>#<shard> / DAY#<time>#<id>   a day that a person shared into its House, 4 shards by schedule
//	bench.LINKCHECK#<hash> / ROOT       what a probe found behind an address, for a day
package delivery

import "guildhall/pkg/op"

// Operations of delivery.
var Operations = []*op.Operation{File, FileArtifact, PutImage, ReadImage, Upload, Material, Artifact, Files, Own, Delete,
	FileSchedule, ReadDaily, ReadDay, Pause, Resume, Stop, SetChannels, Share, ReadHouse}
