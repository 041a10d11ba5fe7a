package bids

import (
	"strconv"
	"strings"

	"guildhall/pkg/op"
)

// Operations of bids.
var Operations = []*op.Operation{FileProposal, Withdraw, Mine, ReadAnswers, FilePlan, Reply, Cards, ReadCard, Name, Unname, Reject, Ask, ReadDrafts, Answer,
	CheckProposal, EstimateReleases, ReadSchema}

// number reads the integer of an A-number.
func number(no string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(no, "A-"))
	if err != nil {
		return 0
	}
	return n
}
