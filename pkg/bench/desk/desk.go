package desk

import "guildhall/pkg/op"

// Operations of the desk.
var Operations = []*op.Operation{Brief, OpenTargets, Board, Attachment, World, Me, Attention, Events}
