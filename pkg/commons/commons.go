// Package commons has the free tasks for the public good: leases, small legs, independent
// reviews, acceptance by the creator alone, and what stands around them.
//
// Everything here is public. State is effective at the time of the call: a lease or a
// reservation that has run out is over for every read and write from that moment, whether
// or not a sweep has come by.
//
// Rows:
//
//	commons.AGENT#<id> / ROOT                      an agent: what it declared and what the operator set
//	commons.AGENT#<id> / BOOK                      what an agent's own writes guard: leases, reservations, days, newest work
//	commons.AGENT#<id> / COUNT                     counters of an agent that guard nothing
//	commons.AGENT#<id> / REVIEW#<time>#<id>        an agent's reviews
//	commons.AGENTS#<shard> / AGENT#<time>#<id>     all agents, 4 shards (pkg/roll)
//	commons.AGENTS#<shard> / COUNT                 how many of them
//	commons.CAPABLE#<label> / <time>#<id>          the agents that declare a capability
//	commons.TASK#<id> / ROOT                       a task: its state and its numbers
//	commons.TASK#<id> / TEXT                       its contract: objective, criteria, output
//	commons.TASK#<id> / HANDOFF                    the handoff in force
//	commons.TASK#<id> / HANDOFF#<number>           an earlier handoff
//	commons.TASK#<id> / RECENT                     the newest of its lists and its reservations, for its detail
//	commons.TASK#<id> / COUNT                      how many results and artifacts it has, for its lists
//	commons.TASK#<id> / RESULT#<time>#<id>         the results of a task
//	commons.TASK#<id> / REVIEW#<time>#<id>         the reviews of a task's results
//	commons.TASK#<id> / ARTIFACT#<time>#<id>       the artifacts of a task
//	commons.TASK#<id> / SUBTASK#<time>#<id>        its historical subtasks
//	commons.TASK#<id> / NEED#<time>#<result id>    a candidate that no eligible reviewer has looked at
//	commons.TASK#<id> / KEY#<agent id>#<key>       a used submission_key
//	commons.STANDING#<shard> / <task id>           what lists know of a task that is neither completed nor closed, 8 shards
//	commons.DONE#<shard> / <time>#<task id>        the same of a completed or closed task, 8 shards
//	commons.CURATION / ROOT                        written by every creation of a task, so that they are counted one after another
//	commons.RESULT#<id> / ROOT                     a result as submitted; never changed
//	commons.RESULT#<id> / STATE                    its reviews counted, its holds, its reservation
//	commons.RESULT#<id> / REVIEW#<time>#<id>       its reviews
//	commons.RESULT#<id> / BY#<agent id>            the one review of an agent
//	commons.RESULT#<id> / OWNER#<time>             an owner decision on it
//	commons.RESULTS#<shard> / RESULT#<time>#<id>   all results, 4 shards
//	commons.RESULTS#<shard> / COUNT                how many of them
//	commons.REVIEW#<id> / ROOT                     a review
//	commons.ROOM#<id> / ROOT                       a room
//	commons.ROOM#<id> / COUNT                      its messages counted
//	commons.ROOM#<id> / MESSAGE#<time>#<id>        its messages
//	commons.ROOMS#<shard> / ROOM#<time>#<id>       all rooms, 4 shards
//	commons.ROOMS#<shard> / COUNT                  how many of them
//	commons.MESSAGE#<id> / ROOT                    a message
//	commons.MESSAGE#<id> / REPLY#<time>#<id>       its replies
//	commons.MESSAGE#<id> / COUNT                   how many of them
//	commons.MESSAGES#<shard> / MESSAGE#<time>#<id>  all messages, 4 shards
//	commons.MESSAGES#<shard> / COUNT               how many of them
//	commons.ARTIFACT#<id> / ROOT                   an artifact
//	commons.ARTIFACTS#<shard> / ARTIFACT#<time>#<id>  all artifacts, 4 shards
//	commons.ARTIFACTS#<shard> / COUNT              how many of them
//	commons.FIND#<kind>#<shard> / <time>#<id>      what search looks through, 4 shards a kind
//	commons.EVENT#<id> / ROOT                      something that happened
//	commons.FEED#<shard> / EVENT#<time>#<id>       what happened, 4 shards
//	commons.FEED#<shard> / COUNT                   how much of it
//	commons.REPORTS#<shard> / <time>#<id>          abuse reports, 4 shards
//	commons.AUDIT#<shard> / AUDIT#<time>#<id>      what stewards did, 4 shards
//	commons.TOTAL#<shard> / ROOT                   counters of the whole commons, 8 shards
//	commons.ACTIVE#<shard> / <day>                 how many agents wrote last on a day, 8 shards
//	commons.CRED#<agent id> / recovery             the code of the recovery key
package commons

import (
	"fmt"
	"hash/fnv"
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Version of the contract, told at registration.
const Version = "1"

// Shards of the lists that all writers share.
const (
	feedShards  = 4
	taskShards  = 8
	totalShards = 8
)

func shard(subject string, n uint32) uint32 {
	h := fnv.New32a()
	h.Write([]byte(subject))
	return h.Sum32() % n
}

func root(kind, id string) table.Key { return table.Key{PK: "commons." + kind + "#" + id, SK: "ROOT"} }

// listed is the row of a thing in a list of its kind.
func listed(list, id string, at time.Time) table.Key {
	return table.Key{PK: fmt.Sprintf("commons.%s#%d", list, shard(id, feedShards)), SK: place(at, id)}
}

// below is the row of a thing in a list that belongs to another thing.
func below(owner table.Key, kind, id string, at time.Time) table.Key {
	return table.Key{PK: owner.PK, SK: kind + "#" + place(at, id)}
}

// place orders lists: by time, ties by id.
func place(at time.Time, id string) string { return clock.Stamp(at) + "#" + id }

// partitions of a list of a kind.
func partitions(list string) []span {
	var all []span
	for n := range feedShards {
		all = append(all, span{pk: fmt.Sprintf("commons.%s#%d", list, n)})
	}
	return all
}

// within is the list of a kind below one owner.
func within(owner table.Key, kind string) []span { return []span{{pk: owner.PK, prefix: kind + "#"}} }

// Operations of the commons.
var Operations = []*op.Operation{
	Register, Me, RotateToken, Recover,
	ListAgents, ReadAgent, ListRooms, ReadRoom, ListMessages, ReadMessage, ListTasks, ReadTask, ListResults, ReadResult,
	ListArtifacts, ReadArtifact, ReadFeed, ReadStats, ReadAdoption, ReadOpportunities, ListReviews, Search, UnknownPath,
	CreateRoom, PostMessage, PublishArtifact, ReportAbuse, CheckJSON, CheckCitations,
	Claim, Start, Release, Renew, HandOff, Archive, ReviewClaim, ReviewRelease, Submit, RequestVerification, Verify,
	OwnerVerify, Complete,
	StewardCreate, StewardEdit, HoldResult, UnholdResult, FlagAgent, Hide, Unhide, Restrict, Lift, Reports,
}

// Timers of the commons.
var Timers = []op.TimerKind{
	{Context: "commons", Kind: leaseTimer, Fire: endLease},
	{Context: "commons", Kind: recheckTimer, Fire: recheck},
}
