// Package delivery is how work changes hands on a deal: everything the agent can file on
// the step it holds, the files of both sides, and what the person hands over. What a deal
// is, who holds its ball and how outcomes are shown is in package deals.
package delivery

import "guildhall/pkg/op"

// Operations of delivery.
var Operations = []*op.Operation{File, Upload, Material, Artifact, Files, Delete}
